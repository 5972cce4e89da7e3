//! `JUnit` XML, parsed leniently: only features that all writers share are required. There is no
//! standard; the elements are those of the Ant task and of Maven Surefire's schema (`flakyFailure`,
//! `rerunFailure`).

use replay_base::cancel::Bound;
use replay_base::limits::{MAX_TEST_ERRORS, MAX_TEST_OUTPUT_BYTES, MAX_TEST_SUITES};

use super::collector::{ResultCollector, join_id, millis};
use super::kept_output::KeptOutput;
use super::results::Sources;
use super::xml::{self, XmlPart, XmlTag};
use super::{jvm_text, stack};
use crate::model::{Case, Frame, State};

/// Maximum bytes buffered of one text.
const MAX_RAW_BYTES: usize = 32 * MAX_TEST_OUTPUT_BYTES;
/// Default name of pytest's suite (`junit_suite_name`).
const PYTEST_SUITE: &str = "pytest";

/// A failure, an error or a skip.
#[derive(Default)]
pub(crate) struct JunitFault {
    /// `true` for an error, `false` for a failure.
    pub is_error: bool,
    /// The attribute `type`.
    pub kind: String,
    /// The attribute `message`.
    pub message: String,
    /// Text of the element.
    pub text: String,
    /// Frames, if `text` has none.
    pub frames: Vec<Frame>,
}

/// A `testcase`.
#[derive(Default)]
pub(crate) struct JunitCase {
    pub name: String,
    pub class: String,
    /// Attribute of the case, or of the suite around it.
    pub file: String,
    pub line: Option<u32>,
    /// Duration in seconds.
    pub time: Option<f64>,
    /// Name of the suite around it.
    pub suite: String,
    /// Names of all suites around it, outermost first.
    pub around: Vec<String>,
    /// `true` if the file and `around` identify the test, as a reporter's events do.
    pub is_in_file: bool,
    pub faults: Vec<JunitFault>,
    /// Its `skipped`.
    pub skipped: Option<JunitFault>,
    /// `system-out`.
    pub out: KeptOutput,
    /// `system-err`.
    pub err: KeptOutput,
    /// Attempts before the last one.
    pub attempts: u64,
    /// State in the attributes of the case, if that is not a pass.
    pub stated: Option<State>,
}

/// Owner of a text in the document.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextOwner {
    Nothing,
    Fault,
    Out,
    Err,
}

/// Reads a document. Returns true if it has begun, and true if it is complete.
pub(crate) fn collect(
    document: &[u8],
    bound: Bound<'_>,
    collector: &mut ResultCollector<'_>,
) -> (bool, bool) {
    collect_with(document, bound, collector, |_| {})
}

/// Reads the report of a writer whose cases `adapt` has to complete.
pub(crate) fn parse_with<'a>(
    sources: &Sources<'a>,
    bound: Bound<'_>,
    adapt: impl FnMut(&mut JunitCase),
) -> ResultCollector<'a> {
    let mut collector = ResultCollector::new(sources.root);
    let (begun, ended) = collect_with(sources.report, bound, &mut collector, adapt);
    (collector.results.begun, collector.results.ended) = (begun, ended);
    collector
}

fn collect_with(
    document: &[u8],
    bound: Bound<'_>,
    collector: &mut ResultCollector<'_>,
    mut adapt: impl FnMut(&mut JunitCase),
) -> (bool, bool) {
    let mut wrong = Vec::new();
    let mut each = |mut element| {
        adapt(&mut element);
        add(collector, element);
    };
    let state = read(document, bound, &mut each, &mut |told| wrong.push(told));
    // Counters of a suite are believed if they are worse than its cases.
    for SuiteFailure { class, message } in wrong {
        collector.results.passed = Some(false);
        collector.run_error(Some(class), &message, Vec::new());
    }
    state
}

/// A failure that a suite reports, and its test cases do not.
struct SuiteFailure {
    class: &'static str,
    message: String,
}

/// Counters in the attributes of a suite, and counts of its contents.
#[derive(Default)]
struct Suite {
    name: String,
    file: String,
    declared: [u64; 2],
    counted: [u64; 2],
}

impl Suite {
    fn of(tag: &XmlTag<'_>) -> Self {
        let number = |name: &str| match tag.attribute(name).trim() {
            "" => Some(0),
            text => text.parse::<u64>().ok(),
        };
        let [skipped, disabled] = ["skipped", "disabled"].map(|name| number(name).unwrap_or(0));
        // A count that is no number agrees with no contents.
        let counted = |name: &str| number(name).unwrap_or(u64::MAX);
        let declared = [
            // Some writers count omitted tests without writing their cases.
            counted("tests").saturating_sub(skipped.saturating_add(disabled)),
            counted("failures").saturating_add(counted("errors")),
        ];
        Self {
            name: tag.attribute("name"),
            file: tag.attribute("file"),
            declared,
            counted: [0; 2],
        }
    }

    /// Counts a test case.
    fn count_case(&mut self, element: &JunitCase) {
        self.counted[0] += 1;
        self.counted[1] += element.faults.len() as u64;
    }

    /// Compares attributes and contents of the suite. pytest counts subtests, which have no case.
    fn mismatch(&self) -> Option<SuiteFailure> {
        let [tests, failures] = self.declared;
        let [cases, faults] = self.counted;
        let is_short = if self.name == PYTEST_SUITE {
            tests > 0 && cases == 0
        } else {
            tests > cases
        };
        (failures > faults || is_short).then(|| SuiteFailure {
            class: "counts disagree",
            message: format!(
                "the suite `{}` announces {tests} tests and {failures} failures, but contains \
                 {cases} tests and {faults} failures",
                self.name
            ),
        })
    }

    /// Returns a failure or an error outside every test case, such as in a set-up.
    fn fault(&self, tag: &XmlTag<'_>) -> SuiteFailure {
        let what = tag.name();
        let words = ["type", "message"]
            .map(|name| tag.attribute(name))
            .join(" ");
        let message = format!(
            "the suite `{}` has `<{what}>` outside of its tests: {}",
            self.name,
            words.trim()
        );
        SuiteFailure {
            class: "suite",
            message: message.trim_end_matches(": ").to_owned(),
        }
    }
}

/// Calls `each` for every test case. Returns true if the document has begun, and true if it is
/// complete.
pub(crate) fn cases(
    bytes: &[u8],
    bound: Bound<'_>,
    mut each: impl FnMut(JunitCase),
) -> (bool, bool) {
    read(bytes, bound, &mut each, &mut |_| {})
}

/// Like [`cases`]; also calls `wrong` for each failure that only a suite reports.
fn read(
    bytes: &[u8],
    bound: Bound<'_>,
    each: &mut dyn FnMut(JunitCase),
    wrong: &mut dyn FnMut(SuiteFailure),
) -> (bool, bool) {
    let mut reader = JunitReader {
        each,
        wrong,
        has_begun: false,
        root: None,
        suites: Vec::new(),
        open: None,
        target: TextOwner::Nothing,
        attempts: 0,
    };
    let is_whole = xml::read(bytes, bound, |part| match part {
        XmlPart::Start(tag) => reader.start(tag),
        XmlPart::End(name) => reader.end(name),
        XmlPart::Text(text) => append(reader.open.as_mut(), reader.target, text),
    });
    let is_open = reader.open.is_some() || !reader.suites.is_empty() || reader.root.is_some();
    let has_begun = reader.has_begun;
    (has_begun, has_begun && is_whole.is_some() && !is_open)
}

/// Reader of a document.
struct JunitReader<'a> {
    each: &'a mut dyn FnMut(JunitCase),
    wrong: &'a mut dyn FnMut(SuiteFailure),
    has_begun: bool,
    /// The element around all suites.
    root: Option<Suite>,
    suites: Vec<Suite>,
    open: Option<JunitCase>,
    target: TextOwner,
    /// Nesting depth inside earlier attempts: their output is not the test's.
    attempts: u32,
}

impl JunitReader<'_> {
    fn start(&mut self, tag: &XmlTag<'_>) {
        self.has_begun |= matches!(tag.name(), "testsuites" | "testsuite");
        match (tag.name(), &mut self.open) {
            ("testsuites", _) => self.root = Some(Suite::of(tag)),
            ("testsuite", _) if self.suites.len() < MAX_TEST_SUITES => {
                self.suites.push(Suite::of(tag));
            }
            ("testcase", _) => self.open = Some(element(tag, &self.suites)),
            ("flakyFailure" | "flakyError" | "rerunFailure" | "rerunError", Some(element)) => {
                element.attempts += 1;
                self.attempts += 1;
            }
            ("failure" | "error", None) => {
                self.around().for_each(|suite| suite.counted[1] += 1);
                let nowhere = Suite::default();
                let suite = self.suites.last().or(self.root.as_ref());
                (self.wrong)(suite.unwrap_or(&nowhere).fault(tag));
            }
            (_, Some(element)) if self.attempts == 0 => self.target = start_element(element, tag),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "testcase" => {
                if let Some(element) = self.open.take() {
                    self.around().for_each(|suite| suite.count_case(&element));
                    (self.each)(element);
                }
            }
            "testsuite" | "testsuites" => {
                let is_root = name == "testsuites";
                let ended = if is_root {
                    self.root.take()
                } else {
                    self.suites.pop()
                };
                let mismatch = ended.and_then(|suite| suite.mismatch());
                mismatch.into_iter().for_each(&mut self.wrong);
            }
            "flakyFailure" | "flakyError" | "rerunFailure" | "rerunError" => {
                self.attempts = self.attempts.saturating_sub(1);
            }
            "failure" | "error" | "skipped" | "system-out" | "system-err" => {
                self.target = TextOwner::Nothing;
            }
            _ => {}
        }
    }

    /// Returns all elements around a test case.
    fn around(&mut self) -> impl Iterator<Item = &mut Suite> {
        self.suites.iter_mut().chain(&mut self.root)
    }
}

fn element(tag: &XmlTag<'_>, suites: &[Suite]) -> JunitCase {
    let around = suites.last();
    let own = tag.attribute("file");
    let file = around
        .map(|suite| suite.file.clone())
        .filter(|_| own.is_empty());
    let stated = ["status", "result"].map(|name| parse_state(&tag.attribute(name)));
    let worst = stated
        .into_iter()
        .flatten()
        .find(|state| state.is_failure());
    JunitCase {
        name: tag.attribute("name"),
        class: tag.attribute("classname"),
        file: file.unwrap_or(own),
        line: tag.attribute("line").parse().ok(),
        time: tag.attribute("time").replace(',', "").parse().ok(),
        stated: worst.or(stated[1]).or(stated[0]),
        suite: around.map(|suite| suite.name.clone()).unwrap_or_default(),
        around: suites.iter().map(|suite| suite.name.clone()).collect(),
        ..JunitCase::default()
    }
}

/// Parses the state in an attribute, if that is not a pass. Knows the words of `GoogleTest`
/// (`status="notrun" result="suppressed"`), `CTest`, behave and `NUnit`.
fn parse_state(word: &str) -> Option<State> {
    let word: String = word
        .chars()
        .filter(char::is_ascii_alphabetic)
        .map(|next| next.to_ascii_lowercase())
        .collect();
    match word.as_str() {
        "fail" | "failed" | "failure" | "undefined" => Some(State::Failed),
        "error" | "errored" | "broken" => Some(State::Errored),
        "timeout" | "timedout" => Some(State::TimedOut),
        "crash" | "crashed" | "aborted" => Some(State::Crashed),
        "skip" | "skipped" | "notrun" | "suppressed" | "disabled" | "ignored" | "pending"
        | "untested" | "inconclusive" => Some(State::Skipped),
        "todo" => Some(State::Todo),
        _ => None,
    }
}

/// Handles the start of an element in a test case; returns the owner of its text.
fn start_element(element: &mut JunitCase, tag: &XmlTag<'_>) -> TextOwner {
    let fault = |is_error| JunitFault {
        is_error,
        kind: tag.attribute("type"),
        message: tag.attribute("message"),
        ..JunitFault::default()
    };
    match tag.name() {
        "failure" | "error" if element.faults.len() < MAX_TEST_ERRORS => {
            element.faults.push(fault(tag.name() == "error"));
            return TextOwner::Fault;
        }
        "skipped" => element.skipped = Some(fault(false)),
        "system-out" => return TextOwner::Out,
        "system-err" => return TextOwner::Err,
        _ => {}
    }
    TextOwner::Nothing
}

fn append(element: Option<&mut JunitCase>, target: TextOwner, text: &str) {
    let Some(element) = element else { return };
    match (target, element.faults.last_mut()) {
        (TextOwner::Out, _) => element.out.push(text),
        (TextOwner::Err, _) => element.err.push(text),
        (TextOwner::Fault, Some(fault)) => {
            let room = MAX_RAW_BYTES.saturating_sub(fault.text.len());
            fault.text.push_str(&text[..text.floor_char_boundary(room)]);
        }
        _ => {}
    }
}

fn add(collector: &mut ResultCollector<'_>, element: JunitCase) {
    let state = if element.faults.iter().any(|fault| fault.is_error) {
        State::Errored
    } else if !element.faults.is_empty() {
        State::Failed
    } else {
        match (&element.skipped, element.stated) {
            (_, Some(said)) if said.is_failure() => said,
            (Some(skip), _) if skip.kind.contains("xfail") => State::ExpectedFailure,
            (Some(skip), _) if skip.kind.contains("todo") => State::Todo,
            (Some(_), _) => State::Skipped,
            (None, said) => said.unwrap_or(State::Passed),
        }
    };
    let name = element.name.trim();
    let around = if element.class.is_empty() {
        element.suite.trim()
    } else {
        element.class.trim()
    };
    // Some writers put the same text into both.
    let around = if around == name { "" } else { around };
    let source = collector.class_file(element.class.trim());
    let file = source.or_else(|| (!element.file.is_empty()).then_some(&*element.file));
    let file = file.map(|file| {
        collector.add_file(file);
        collector.path(file)
    });
    let suites: Vec<&str> = if element.is_in_file {
        element.around.iter().map(String::as_str).collect()
    } else {
        [around]
            .into_iter()
            .filter(|name| !name.is_empty())
            .collect()
    };
    let start = file.as_deref().filter(|_| element.is_in_file);
    let parts = start
        .into_iter()
        .chain(suites.iter().copied())
        .chain([name]);
    let mut case = Case::new(collector.name(&join_id(parts)), collector.name(name), state);
    case.line = element.line;
    case.suite = collector.suite(&suites);
    case.file = file;
    case.duration_ms = element.time.and_then(millis);
    case.retries = element.attempts;
    if state.is_failure() {
        for fault in &element.faults {
            let (text, mut frames) = stack::split_trace(&fault.text);
            if frames.is_empty() {
                frames.clone_from(&fault.frames);
            }
            // Some writers put the whole message into the element, and its first line into the
            // attribute.
            let own = text
                .trim()
                .strip_prefix(fault.kind.as_str())
                .map_or(text.trim(), |rest| rest.trim_start_matches(": "));
            let is_whole =
                own.starts_with(fault.message.as_str()) || fault.message == "collection failure";
            let message = if is_whole && !own.is_empty() {
                own
            } else {
                &fault.message
            };
            let class = (!fault.kind.is_empty()).then_some(fault.kind.as_str());
            let mut error = collector.error(class, message.trim());
            jvm_text::add_details(collector, &mut error, &fault.text);
            error.stack = collector.stack(frames);
            case.errors.push(error);
        }
        if element.faults.is_empty() {
            case.errors.push(collector.error(
                None,
                "the report marks this test as failed without a message",
            ));
        }
        case.stdout = collector.output(&element.out.text());
        case.stderr = collector.output(&element.err.text());
    }
    collector.add(case);
}
