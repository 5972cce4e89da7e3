//! `JUnit` XML, parsed leniently: only features that all writers share are required. There is no
//! standard; the elements are those of the Ant task and of Maven Surefire's schema (`flakyFailure`,
//! `rerunFailure`).

use quick_xml::Reader;
use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::{BytesStart, Event};
use replay_base::cancel::Bound;
use replay_base::limits::{MAX_TEST_ERRORS, MAX_TEST_OUTPUT_BYTES, MAX_TEST_SUITES};

use super::collector::{ResultCollector, join_id, millis};
use super::kept_output::KeptOutput;
use super::results::Sources;
use super::{jvm_text, stack};
use crate::model::{Case, Frame, State};

/// Maximum bytes buffered of one text.
const MAX_RAW_BYTES: usize = 32 * MAX_TEST_OUTPUT_BYTES;
/// Default name of pytest's suite (`junit_suite_name`).
const PYTEST_SUITE: &str = "pytest";
/// Events between two checks of the time limit.
const EVENTS_PER_CHECK: usize = 256;

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
    let state = read(
        document,
        bound,
        |mut element| {
            adapt(&mut element);
            add(collector, element);
        },
        |told| wrong.push(told),
    );
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
    fn of(tag: &BytesStart<'_>) -> Self {
        let number = |name: &[u8]| match attribute(tag, name).trim() {
            "" => Some(0),
            text => text.parse::<u64>().ok(),
        };
        let omitted = [b"skipped".as_slice(), b"disabled"].map(|name| number(name).unwrap_or(0));
        let [skipped, disabled] = omitted;
        // A count that is no number agrees with no contents.
        let counted = |name: &[u8]| number(name).unwrap_or(u64::MAX);
        let declared = [
            // Some writers count omitted tests without writing their cases.
            counted(b"tests").saturating_sub(skipped.saturating_add(disabled)),
            counted(b"failures").saturating_add(counted(b"errors")),
        ];
        Self {
            name: attribute(tag, b"name"),
            file: attribute(tag, b"file"),
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
    fn fault(&self, tag: &BytesStart<'_>) -> SuiteFailure {
        let what = String::from_utf8_lossy(tag.local_name().as_ref()).into_owned();
        let words = [attribute(tag, b"type"), attribute(tag, b"message")].join(" ");
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
pub(crate) fn cases(bytes: &[u8], bound: Bound<'_>, each: impl FnMut(JunitCase)) -> (bool, bool) {
    read(bytes, bound, each, |_| {})
}

/// Like [`cases`]; also calls `wrong` for each failure that only a suite reports.
fn read(
    bytes: &[u8],
    bound: Bound<'_>,
    mut each: impl FnMut(JunitCase),
    mut wrong: impl FnMut(SuiteFailure),
) -> (bool, bool) {
    let text = String::from_utf8_lossy(bytes);
    let mut reader = Reader::from_str(&text);
    let config = reader.config_mut();
    (
        config.check_end_names,
        config.allow_unmatched_ends,
        config.allow_dangling_amp,
    ) = (false, true, true);
    let mut suites: Vec<Suite> = Vec::new();
    let mut root: Option<Suite> = None;
    let mut each = |element: JunitCase, suites: &mut [Suite], root: &mut Option<Suite>| {
        suites
            .iter_mut()
            .chain(root)
            .for_each(|suite| suite.count_case(&element));
        each(element);
    };
    let mut begun = false;
    let mut open: Option<JunitCase> = None;
    let mut target = TextOwner::Nothing;
    // Nesting depth inside earlier attempts: their output is not the test's.
    let mut attempt = 0_u32;
    for index in 0_usize.. {
        if index.is_multiple_of(EVENTS_PER_CHECK) && bound.is_over() {
            return (begun, false);
        }
        let Ok(event) = reader.read_event() else {
            return (begun, false);
        };
        let is_empty = matches!(event, Event::Empty(_));
        match event {
            Event::Start(tag) | Event::Empty(tag) => match (tag.local_name().as_ref(), &mut open) {
                (b"testsuites", _) => {
                    begun = true;
                    let whole = Suite::of(&tag);
                    if is_empty {
                        whole.mismatch().into_iter().for_each(&mut wrong);
                    } else {
                        root = Some(whole);
                    }
                }
                (b"testsuite", _) if is_empty => {
                    begun = true;
                    Suite::of(&tag).mismatch().into_iter().for_each(&mut wrong);
                }
                (b"testsuite", _) if suites.len() < MAX_TEST_SUITES => {
                    begun = true;
                    suites.push(Suite::of(&tag));
                }
                (b"testcase", _) => {
                    let around = suites
                        .last()
                        .map(|suite| (suite.name.clone(), suite.file.clone()));
                    let (suite, file) = around.unwrap_or_default();
                    let mut element = element(&tag, suite, file);
                    element.around = suites.iter().map(|suite| suite.name.clone()).collect();
                    if is_empty {
                        each(element, &mut suites, &mut root);
                    } else {
                        open = Some(element);
                    }
                }
                (
                    b"flakyFailure" | b"flakyError" | b"rerunFailure" | b"rerunError",
                    Some(element),
                ) => {
                    element.attempts += 1;
                    attempt += u32::from(!is_empty);
                }
                (b"failure" | b"error", None) => {
                    suites
                        .iter_mut()
                        .chain(&mut root)
                        .for_each(|suite| suite.counted[1] += 1);
                    let nowhere = Suite::default();
                    wrong(
                        suites
                            .last()
                            .or(root.as_ref())
                            .unwrap_or(&nowhere)
                            .fault(&tag),
                    );
                }
                (name, Some(element)) if attempt == 0 => {
                    target = start_element(element, &tag, name, is_empty);
                }
                _ => {}
            },
            Event::End(tag) => match tag.local_name().as_ref() {
                b"testcase" => {
                    if let Some(element) = open.take() {
                        each(element, &mut suites, &mut root);
                    }
                }
                b"testsuite" => suites
                    .pop()
                    .and_then(|suite| suite.mismatch())
                    .into_iter()
                    .for_each(&mut wrong),
                b"testsuites" => root
                    .take()
                    .and_then(|root| root.mismatch())
                    .into_iter()
                    .for_each(&mut wrong),
                b"flakyFailure" | b"flakyError" | b"rerunFailure" | b"rerunError" => {
                    attempt = attempt.saturating_sub(1);
                }
                b"failure" | b"error" | b"skipped" | b"system-out" | b"system-err" => {
                    target = TextOwner::Nothing;
                }
                _ => {}
            },
            Event::Text(text) => append(open.as_mut(), target, &String::from_utf8_lossy(&text)),
            Event::CData(text) => append(open.as_mut(), target, &String::from_utf8_lossy(&text)),
            // Only XML's predefined entities: entities of the document are never expanded.
            Event::GeneralRef(name) => {
                if let Ok(Some(character)) = name.resolve_char_ref() {
                    append(open.as_mut(), target, character.encode_utf8(&mut [0; 4]));
                } else if let Some(text) =
                    resolve_predefined_entity(&String::from_utf8_lossy(&name))
                {
                    append(open.as_mut(), target, text);
                }
            }
            Event::Eof => {
                return (
                    begun,
                    begun && open.is_none() && suites.is_empty() && root.is_none(),
                );
            }
            _ => {}
        }
    }
    (begun, false)
}

fn element(tag: &BytesStart<'_>, suite: String, file: String) -> JunitCase {
    let own = attribute(tag, b"file");
    JunitCase {
        name: attribute(tag, b"name"),
        class: attribute(tag, b"classname"),
        file: if own.is_empty() { file } else { own },
        line: attribute(tag, b"line").parse().ok(),
        time: attribute(tag, b"time").replace(',', "").parse().ok(),
        stated: [b"status".as_slice(), b"result"]
            .into_iter()
            .fold(None, |said, name| {
                let state = parse_state(&attribute(tag, name));
                if said.is_some_and(State::is_failure) {
                    said
                } else {
                    state.or(said)
                }
            }),
        suite,
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
fn start_element(
    element: &mut JunitCase,
    tag: &BytesStart<'_>,
    name: &[u8],
    is_empty: bool,
) -> TextOwner {
    let fault = |is_error| JunitFault {
        is_error,
        kind: attribute(tag, b"type"),
        message: attribute(tag, b"message"),
        ..JunitFault::default()
    };
    let target = match name {
        b"failure" | b"error" if element.faults.len() < MAX_TEST_ERRORS => {
            element.faults.push(fault(name == b"error"));
            TextOwner::Fault
        }
        b"skipped" => {
            element.skipped = Some(fault(false));
            TextOwner::Nothing
        }
        b"system-out" => TextOwner::Out,
        b"system-err" => TextOwner::Err,
        _ => TextOwner::Nothing,
    };
    if is_empty { TextOwner::Nothing } else { target }
}

fn attribute(tag: &BytesStart<'_>, name: &[u8]) -> String {
    let found = tag
        .attributes()
        .with_checks(false)
        .flatten()
        .find(|attribute| attribute.key.as_ref() == name);
    let Some(found) = found else {
        return String::new();
    };
    let text = String::from_utf8_lossy(&found.value);
    unescape(&text).map_or_else(|_| text.clone().into_owned(), std::borrow::Cow::into_owned)
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
