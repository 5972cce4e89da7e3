//! Collector of parsed test results. Its limits bound the memory for a report of any size.

use replay_base::limits::{
    MAX_KEPT_FAILURES, MAX_KEPT_TESTS, MAX_LEFT_OUT, MAX_PATH_BYTES, MAX_RUN_FAULTS,
    MAX_TEST_ERRORS, MAX_TEST_NAME_BYTES, MAX_TEST_OUTPUT_BYTES, MAX_TEST_SUITES,
    MAX_TEST_TEXT_BYTES,
};

use super::class_sources::ClassSources;
use super::results::TestResults;
use super::{stack, visible_text};
use crate::model::{Case, FileError, Frame, Listed, Phase, RunError, Slow, TestError};

/// Tests told as the slowest.
const MAX_SLOWEST_TESTS: usize = 5;
/// Largest size of the details of all failed tests of a run, in bytes. Beyond it only their names
/// are kept.
const MAX_TEST_DETAIL_BYTES: usize = 512 * 1024;

/// Maximum bytes of a test's message after the total limit is reached.
const SHORT_MESSAGE_BYTES: usize = 160;

pub(crate) struct ResultCollector<'a> {
    pub results: TestResults,
    /// JVM only: sources of the project.
    pub classes: Option<&'a ClassSources>,
    root: &'a str,
    detail_bytes: usize,
}

impl<'a> ResultCollector<'a> {
    /// Creates a collector for a run in `root`.
    pub(crate) fn new(root: &'a str) -> Self {
        Self {
            results: TestResults::default(),
            classes: None,
            root,
            detail_bytes: 0,
        }
    }

    /// Returns the working directory of the run.
    pub(crate) fn root(&self) -> &'a str {
        self.root
    }

    /// Returns a path in its reported form.
    pub(crate) fn path(&mut self, path: &str) -> String {
        let path = stack::relative(path, self.root);
        self.name(path)
    }

    /// Returns the path of a class's source, if the project has one.
    pub(crate) fn class_file(&self, class: &str) -> Option<&'a str> {
        self.classes?.of_class(class)
    }

    /// Cleans and shortens a name or an id.
    pub(crate) fn name(&mut self, name: &str) -> String {
        let (name, cut) = visible_text::name(name, MAX_TEST_NAME_BYTES);
        self.results.truncated.bytes += cut;
        name
    }

    /// Records a file that the runner has collected, by the runner's own path.
    pub(crate) fn add_file(&mut self, file: &str) {
        let file = stack::relative(file, self.root);
        if !self.results.files.contains(file)
            && self.results.files.len() < MAX_KEPT_TESTS
            && file.len() <= MAX_PATH_BYTES
        {
            self.results.files.insert(file.to_owned());
        }
    }

    /// Records the version of the runner: the next word in the line that begins with `lead`.
    pub(crate) fn find_version(&mut self, text: &str, lead: &str) {
        let rest = text.lines().find_map(|line| line.strip_prefix(lead));
        let version = rest.and_then(|rest| rest.split(' ').next());
        self.results.version = version.map(|version| self.name(version));
    }

    pub(crate) fn suite<S: AsRef<str>>(&mut self, names: &[S]) -> Vec<String> {
        names
            .iter()
            .take(MAX_TEST_SUITES)
            .map(|name| self.name(name.as_ref()))
            .collect()
    }

    /// Cleans and shortens a message or a value.
    pub(crate) fn text(&mut self, text: &str) -> String {
        let (text, cut) =
            visible_text::head(&stack::without_root(text, self.root), MAX_TEST_TEXT_BYTES);
        self.results.truncated.bytes += cut;
        text
    }

    /// Cleans and shortens the output of a test; returns `None` if no visible text is left.
    pub(crate) fn output(&mut self, text: &str) -> Option<String> {
        let (text, cut) = visible_text::tail(text, MAX_TEST_OUTPUT_BYTES);
        self.results.truncated.bytes += cut;
        (!text.trim().is_empty()).then_some(text)
    }

    /// Orders and shortens a stack.
    pub(crate) fn stack(&mut self, mut frames: Vec<Frame>) -> Vec<Frame> {
        if let Some(classes) = self.classes {
            frames = classes.locate(frames);
        }
        let mut frames = stack::ordered(frames);
        for frame in &mut frames {
            frame.file = self.path(&frame.file);
            frame.function = frame.function.take().map(|name| self.name(&name));
        }
        frames
    }

    /// Adds a test, whose texts have been through the functions above.
    pub(crate) fn add(&mut self, mut case: Case) {
        let results = &mut self.results;
        results.summary.count(case.state, case.is_flaky());
        if let Some(duration_ms) = case.duration_ms {
            let at = results
                .slowest
                .partition_point(|slow| slow.duration_ms >= duration_ms);
            if at < MAX_SLOWEST_TESTS && duration_ms > 0 {
                results.slowest.insert(
                    at,
                    Slow {
                        id: case.id.clone(),
                        duration_ms,
                    },
                );
                results.slowest.truncate(MAX_SLOWEST_TESTS);
            }
        }
        if results.tests.len() < MAX_KEPT_TESTS {
            results.tests.push(Listed {
                id: case.id.clone(),
                state: case.state,
                duration_ms: case.duration_ms,
            });
        } else {
            results.truncated.others += 1;
        }
        if !case.state.is_failure() {
            return;
        }
        if results.failures.len() >= MAX_KEPT_FAILURES {
            results.truncated.failures += 1;
            return;
        }
        case.errors.truncate(MAX_TEST_ERRORS);
        let bytes = size(&case);
        if self.detail_bytes + bytes > MAX_TEST_DETAIL_BYTES {
            shorten(&mut case);
            self.results.truncated.bytes += bytes.saturating_sub(size(&case)) as u64;
        }
        self.detail_bytes += size(&case);
        self.results.failures.push(case);
    }

    /// Counts known tests that were never reached.
    pub(crate) fn add_not_run(&mut self, count: u64) {
        let summary = &mut self.results.summary;
        summary.not_run = summary.not_run.saturating_add(count);
        summary.total = summary.total.saturating_add(count);
    }

    /// Counts skipped tests without further details.
    pub(crate) fn add_skipped(&mut self, count: u64) {
        self.results.summary.skipped += count;
        self.results.summary.total += count;
    }

    /// Adds a file that could not be loaded, compiled or set up.
    pub(crate) fn file_error(
        &mut self,
        file: &str,
        phase: Phase,
        message: &str,
        line: Option<u32>,
        column: Option<u32>,
    ) {
        if self.results.file_errors.len() >= MAX_RUN_FAULTS {
            self.results.truncated.others += 1;
            return;
        }
        let error = FileError {
            file: self.path(file),
            phase,
            message: self.text(message),
            line,
            column,
        };
        if !self.results.file_errors.contains(&error) {
            self.results.file_errors.push(error);
        }
    }

    /// Adds an error outside every test and file.
    pub(crate) fn run_error(&mut self, class: Option<&str>, message: &str, frames: Vec<Frame>) {
        if self.results.run_errors.len() >= MAX_RUN_FAULTS {
            self.results.truncated.others += 1;
            return;
        }
        let error = self.new_run_error(class, message, frames);
        self.results.run_errors.push(error);
    }

    fn new_run_error(
        &mut self,
        class: Option<&str>,
        message: &str,
        frames: Vec<Frame>,
    ) -> RunError {
        RunError {
            class: class.map(|class| self.name(class)),
            message: self.text(message),
            stack: self.stack(frames),
        }
    }

    /// Records the reason why the process goes on after the end of its tests.
    pub(crate) fn add_held(&mut self, message: &str, frames: Vec<Frame>) {
        let error = self.new_run_error(Some("held on"), message, frames);
        self.results.held.push(error);
    }

    /// Adds a name to a list within a limit, or else counts it.
    fn keep(&mut self, list: fn(&mut TestResults) -> &mut Vec<String>, name: String, most: usize) {
        let kept = list(&mut self.results);
        if kept.len() < most {
            kept.push(name);
        } else {
            self.results.truncated.others += 1;
        }
    }

    /// Records a program that ended with success and reported no test.
    pub(crate) fn add_silent(&mut self, program: &str) {
        let program = self.name(program);
        self.keep(|results| &mut results.silent, program, MAX_RUN_FAULTS);
    }

    /// Records a program with its own harness, which reported no test.
    pub(crate) fn add_own_harness(&mut self, program: &str) {
        let program = self.name(program);
        self.keep(|results| &mut results.own_harness, program, MAX_RUN_FAULTS);
    }

    /// Adds a sentence on tests that the project's own configuration omits. The sentence ends with
    /// the responsible settings, or with the omitted files.
    pub(crate) fn add_left_out(&mut self, lead: &str, what: &[String]) {
        let told = self.names(what);
        if !told.is_empty() {
            self.results
                .left_out
                .push(format!("{lead}: {}", told.join(", ")));
        }
    }

    /// Records the project's patterns for test files.
    pub(crate) fn set_patterns(&mut self, what: &[String]) {
        self.results.takes = self.names(what);
    }

    fn names(&mut self, all: &[String]) -> Vec<String> {
        let kept = all.iter().take(MAX_LEFT_OUT);
        kept.map(|name| self.name(name)).collect()
    }

    /// Records a file that was to run and never began.
    pub(crate) fn add_unreached(&mut self, file: &str) {
        let file = self.path(file);
        self.keep(|results| &mut results.unreached, file, MAX_KEPT_TESTS);
    }

    /// Records a test or file that began and never ended.
    pub(crate) fn add_unfinished(&mut self, id: &str) {
        let id = self.name(id);
        self.keep(|results| &mut results.unfinished, id, MAX_RUN_FAULTS);
    }

    /// Creates an error with only a message.
    pub(crate) fn error(&mut self, class: Option<&str>, message: &str) -> TestError {
        TestError {
            class: class.map(|class| self.name(class)),
            message: self.text(message),
            ..TestError::default()
        }
    }
}

fn size(case: &Case) -> usize {
    let of_error = |error: &TestError| {
        let texts = [&error.expected, &error.actual, &error.diff, &error.class];
        let frames = error.stack.iter().map(|frame| frame.file.len() + 32);
        let texts = texts.into_iter().flatten().map(String::len);
        error.message.len() + texts.chain(frames).sum::<usize>()
    };
    let outputs = [&case.stdout, &case.stderr].into_iter().flatten();
    let errors = case.errors.iter().map(of_error);
    errors.chain(outputs.map(String::len)).sum()
}

fn shorten(case: &mut Case) {
    case.stdout = None;
    case.stderr = None;
    case.errors.truncate(1);
    for error in &mut case.errors {
        (error.message, _) = visible_text::head(&error.message, SHORT_MESSAGE_BYTES);
        (error.expected, error.actual, error.diff) = (None, None, None);
        error.stack.truncate(1);
    }
}

/// Converts a runner's seconds to whole milliseconds.
pub(crate) fn millis(seconds: f64) -> Option<u64> {
    milliseconds(seconds * 1000.0)
}

/// Rounds a runner's milliseconds; returns `None` for an invalid time.
#[expect(clippy::cast_sign_loss, reason = "negative numbers are left out")]
pub(crate) fn milliseconds(value: f64) -> Option<u64> {
    (value.is_finite() && (0.0..1e15).contains(&value)).then(|| value.round() as u64)
}

/// Joins suites and a test name to an id.
pub(crate) fn join_id<'s>(parts: impl IntoIterator<Item = &'s str>) -> String {
    parts
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" > ")
}
