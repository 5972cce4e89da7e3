//! Reader of the bundled reporters' events.

use std::collections::{BTreeSet, HashMap, HashSet};

use replay_base::cancel::Bound;
use replay_base::limits::{MAX_KEPT_TESTS, MAX_LEFT_OUT};

use super::collector::{ResultCollector, join_id, milliseconds};
use super::events::{
    Collected, Event, FileEnd, ReportedError, RunEnd, TestFile, TestName, TestResult,
};
use super::results::{Sources, TestResults};
use super::{lines, python_text, stack};
use crate::model::{Case, Phase, TestError};

/// Parts of the reading that differ by runner.
pub(crate) struct EventStyle {
    /// Beginning of the sentence on the options that exclude tests.
    pub excluding: &'static str,
    /// Returns a test's error, and the errors related to it.
    pub test_errors: fn(&mut ResultCollector<'_>, &ReportedError) -> Vec<TestError>,
    /// Returns the error of a file in this root directory.
    pub file_error: fn(root: &str, file: &str, &ReportedError) -> FileProblem,
}

/// Reading of events whose errors have fields of their own.
pub(crate) const STYLE: EventStyle = EventStyle {
    excluding: "options of the project",
    test_errors,
    file_error: |_, _, error| FileProblem {
        message: error.text(),
        place: None,
    },
};

/// Error of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileProblem {
    pub message: String,
    /// Line, and column if known.
    pub place: Option<(u32, Option<u32>)>,
}

/// Reader of events, which builds the results of a run.
pub(crate) struct EventReader<'a> {
    pub collector: ResultCollector<'a>,
    style: &'a EventStyle,
    /// Files that have begun and not ended.
    open: HashMap<String, OpenFile>,
    /// Tests that the runner does not report by file.
    whole: OpenFile,
    /// Number of starts of files and tests so far.
    starts: usize,
    /// Files without an event so far.
    planned: BTreeSet<String>,
    ended_files: u64,
    /// Number of files to run, if the reporter counts them.
    planned_files: u64,
    /// `true` if the end of the run accounts for the open files.
    has_named_open: bool,
    exclusions: Exclusions,
}

/// A file that has begun, or the whole run.
#[derive(Default)]
struct OpenFile {
    order: usize,
    collected: u64,
    seen: u64,
    /// Ids of running tests, with their order.
    running: HashMap<String, usize>,
    /// Tests that may be retried.
    attempts: Vec<(NamedTest, TestResult)>,
}

/// Tests that the project's own configuration omits.
#[derive(Default)]
struct Exclusions {
    options: Vec<String>,
    /// `true` if the call has a filter of its own.
    is_filtered: bool,
    /// Number of tests removed from the list without a report.
    dropped: u64,
    /// Files and directories that were not searched, and their number.
    ignored: Vec<String>,
    count: u64,
    /// Files with deselected tests.
    emptied: HashSet<String>,
    /// Files that skipped themselves.
    skipped: HashSet<String>,
}

/// Test with the parts of its id.
struct NamedTest {
    id: String,
    /// Key of its file; `None` if tests are not reported by file.
    key: Option<String>,
    /// Declaring file.
    source: String,
    suite: Vec<String>,
    name: String,
}

/// Reads the events of a run.
pub(crate) fn read<'a>(
    sources: &Sources<'a>,
    bound: Bound<'_>,
    style: &'a EventStyle,
) -> EventReader<'a> {
    let mut collector = ResultCollector::new(sources.root);
    collector.classes = sources.classes;
    let mut reader = EventReader {
        collector,
        style,
        open: HashMap::new(),
        whole: OpenFile::default(),
        starts: 0,
        planned: BTreeSet::new(),
        ended_files: 0,
        planned_files: 0,
        has_named_open: false,
        exclusions: Exclusions::default(),
    };
    for event in lines::events(sources.report, bound) {
        reader.add(event);
    }
    reader
}

impl EventReader<'_> {
    fn add(&mut self, event: Event) {
        match event {
            Event::RunStart { version } => {
                self.collector.results.begun = true;
                self.collector.results.version =
                    version.map(|version| self.collector.name(&version));
            }
            Event::Patterns { options } => self.collector.set_patterns(&options),
            Event::Excluding {
                options,
                is_filtered,
            } => (self.exclusions.options, self.exclusions.is_filtered) = (options, is_filtered),
            // Every worker of xdist reports the same.
            Event::Deselected { tests, files } => {
                let deselected = &mut self.collector.results.deselected;
                *deselected = tests.max(*deselected);
                let emptied = &mut self.exclusions.emptied;
                let room = MAX_KEPT_TESTS.saturating_sub(emptied.len());
                emptied.extend(files.into_iter().take(room));
            }
            Event::Omitted {
                tests,
                paths,
                count,
            } => {
                let exclusions = &mut self.exclusions;
                exclusions.dropped = tests.max(exclusions.dropped);
                if count > exclusions.count {
                    (exclusions.ignored, exclusions.count) = (paths, count);
                }
            }
            Event::Planned { files } => {
                let root = self.collector.root();
                let keys = files.iter().map(|file| file_key(file, root));
                self.planned.extend(keys.take(MAX_KEPT_TESTS));
            }
            Event::FileStart(file) => self.open_file(&file, 0),
            Event::Collected(Collected {
                file: Some(file),
                tests,
            }) => self.open_file(&file, tests),
            Event::Collected(Collected { file: None, tests }) => {
                self.whole.collected = self.whole.collected.max(tests);
            }
            Event::TestStart(test) => self.start_test(test),
            Event::Attempt(result) => self.add_attempt(result),
            Event::Test(result) => self.add_test(&result),
            Event::FileEnd(end) => self.end_file(&end),
            Event::FileSkipped { file, reason } => self.skip_file(file, &reason),
            Event::Unreached { files } => {
                for file in &files {
                    self.collector.add_unreached(file);
                    self.planned
                        .remove(stack::relative(file, self.collector.root()));
                }
            }
            Event::RunError(error) => self.add_run_error(&error),
            Event::Leak {
                test,
                class,
                message,
            } => {
                let (class, message, frames) = python_text::leak(&test, &class, &message);
                self.collector.run_error(Some(class), &message, frames);
            }
            Event::Held { errors } => {
                for error in &errors {
                    self.collector.add_held(&error.message, error.frames());
                }
            }
            Event::End(end) => self.end(&end),
            Event::Over { errors } => {
                self.collector.results.is_cut_short = false;
                for error in &errors {
                    self.add_run_error(error);
                }
            }
        }
    }

    /// Records that the runner has collected a file. Returns its key.
    fn add_file(&mut self, file: &TestFile) -> String {
        let path = file.path.as_deref().unwrap_or(&file.file);
        self.collector.add_file(path);
        if let Some(source) = self.collector.class_file(path) {
            self.collector.add_file(source);
        }
        let key = file_key(file, self.collector.root());
        self.planned.remove(&key);
        key
    }

    fn open_file(&mut self, file: &TestFile, collected: u64) {
        let key = self.add_file(file);
        if self.open.len() < MAX_KEPT_TESTS {
            self.starts += 1;
            let begun = OpenFile {
                order: self.starts,
                ..OpenFile::default()
            };
            let open = self.open.entry(key).or_insert(begun);
            open.collected = open.collected.max(collected);
        }
    }

    /// Returns the open file of a test, or else the whole run.
    fn open_of(&mut self, test: &NamedTest) -> Option<&mut OpenFile> {
        match &test.key {
            Some(key) => self.open.get_mut(key),
            None => Some(&mut self.whole),
        }
    }

    fn start_test(&mut self, test: TestName) {
        if let TestName::Node { id, .. } = &test {
            self.collector.add_file(python_text::split_id(id).0);
        }
        let test = NamedTest::new(test, self.collector.root());
        self.starts += 1;
        let order = self.starts;
        if let Some(open) = self.open_of(&test)
            && open.running.len() < MAX_KEPT_TESTS
        {
            open.running.insert(test.id, order);
        }
    }

    fn add_attempt(&mut self, result: TestResult) {
        let test = NamedTest::new(result.test.clone(), self.collector.root());
        if let Some(open) = self.open_of(&test)
            && open.attempts.len() < MAX_KEPT_TESTS
        {
            open.running.remove(&test.id);
            open.attempts.retain(|(other, _)| other.id != test.id);
            open.attempts.push((test, result));
        }
    }

    fn add_test(&mut self, result: &TestResult) {
        if let TestName::InFile { file, .. } = &result.test {
            self.add_file(file);
        }
        let test = NamedTest::new(result.test.clone(), self.collector.root());
        if let Some(open) = self.open_of(&test) {
            open.seen += 1;
            open.running.remove(&test.id);
            open.attempts.retain(|(other, _)| other.id != test.id);
        }
        self.add_case(&test, result);
    }

    fn add_case(&mut self, test: &NamedTest, result: &TestResult) {
        let collector = &mut self.collector;
        let [id, name] = [&test.id, &test.name].map(|name| collector.name(name));
        let mut case = Case::new(id, name, result.state);
        let source = collector.class_file(&test.source);
        case.file = Some(collector.path(source.unwrap_or(&test.source)));
        (case.line, case.column) = (result.line, result.column);
        case.suite = collector.suite(&test.suite);
        case.duration_ms = result.ms.and_then(milliseconds);
        case.retries = result.retries;
        let mut output = |text: &Option<String>| collector.output(text.as_deref()?);
        (case.stdout, case.stderr) = (output(&result.stdout), output(&result.stderr));

        let attachments = result.attachments.iter().take(MAX_LEFT_OUT);
        case.attachments = attachments.map(|path| collector.path(path)).collect();
        for error in &result.errors {
            let errors = (self.style.test_errors)(collector, error);
            case.errors.extend(errors);
        }
        collector.add(case);
    }

    fn end_file(&mut self, end: &FileEnd) {
        let key = self.add_file(&end.file);
        self.open.remove(&key);
        self.ended_files += 1;
        let file = &end.file.file;
        // If tests were found, the file was loaded.
        let phase = if end.tests > 0 {
            Phase::Hook
        } else {
            Phase::Collect
        };
        for error in &end.errors {
            let FileProblem { message, place } =
                (self.style.file_error)(self.collector.root(), file, error);
            let (line, column) = place.unzip();
            self.collector
                .file_error(file, phase, &message, line, column.flatten());
        }
    }

    /// Adds a file that skipped itself before its tests were known: one skipped test, as pytest
    /// counts it.
    fn skip_file(&mut self, file: String, reason: &str) {
        let skipped = &mut self.exclusions.skipped;
        if skipped.len() >= MAX_KEPT_TESTS || skipped.contains(&file) {
            return;
        }
        self.collector.add_skipped(1);
        let reason = reason.trim().trim_start_matches("Skipped: ");
        self.collector
            .add_left_out(&format!("all of {file} by itself"), &[reason.to_owned()]);
        skipped.insert(file);
    }

    fn add_run_error(&mut self, error: &ReportedError) {
        let text = match error.class.as_deref() {
            Some(class) if class != "Error" => format!("{class}: {}", error.text()),
            _ => error.text(),
        };
        self.collector
            .run_error(error.kind.as_deref(), &text, error.frames());
    }

    fn end(&mut self, end: &RunEnd) {
        let results = &mut self.collector.results;
        results.ended = true;
        results.passed = Some(end.passed);
        results.is_cut_short = end.goes_on;
        results.snapshots = end.snapshots;
        results.seed = end.seed;
        self.planned_files = end.files;
        self.has_named_open = end.open.is_some();
        for file in end.open.iter().flatten() {
            self.collector.add_unfinished(file);
        }
        for error in &end.errors {
            self.add_run_error(error);
        }
    }

    /// Returns the results after the last event.
    pub(crate) fn finish(mut self) -> TestResults {
        self.report_missing_files();
        self.report_exclusions();

        let mut open: Vec<_> = std::mem::take(&mut self.open).into_iter().collect();
        open.sort_by_key(|(_, open)| open.order);
        for (key, open) in open {
            for (test, result) in &open.attempts {
                self.add_case(test, result);
            }
            if open.running.is_empty() && !self.has_named_open {
                self.collector.add_unfinished(&key);
            }
            self.report_running(open);
        }
        let whole = std::mem::take(&mut self.whole);
        self.report_running(whole);

        // If a global set-up fails, the run ends before the first file begins.
        let results = &self.collector.results;
        let is_stopped = results.files.is_empty() && results.passed == Some(false);
        if !results.ended || is_stopped {
            for file in &self.planned {
                self.collector.add_unreached(file);
            }
        }
        self.collector.results
    }

    /// Reports files that did not finish and that the reporter does not name.
    fn report_missing_files(&mut self) {
        let (planned, ended) = (self.planned_files, self.ended_files);
        let left = planned.saturating_sub(ended + self.open.len() as u64);
        if self.collector.results.passed == Some(true) && ended < planned {
            let message = format!("only {ended} of {planned} files finished");
            self.collector.run_error(None, &message, Vec::new());
        } else if left > 0 {
            self.collector.add_unreached(&format!(
                "{left} of {planned} files, which Jest did not reach (`bail`)"
            ));
        }
    }

    fn report_running(&mut self, open: OpenFile) {
        let unseen = open.collected.saturating_sub(open.seen);
        self.collector
            .add_not_run(unseen.max(open.running.len() as u64));
        if self.has_named_open {
            return;
        }
        let mut running: Vec<_> = open.running.into_iter().collect();
        running.sort_by_key(|(_, order)| *order);
        for (id, _) in &running {
            self.collector.add_unfinished(id);
        }
    }

    fn report_exclusions(&mut self) {
        let excluded = std::mem::take(&mut self.exclusions);
        let (is_filtered, ignored) = (excluded.is_filtered, &excluded.ignored);
        let told = excluded
            .emptied
            .iter()
            .chain(&excluded.skipped)
            .chain(ignored);
        self.collector.results.told = told.map(|path| self.collector.path(path)).collect();
        // A caller with a filter expects deselected tests. Tests that the project deselects did not
        // run.
        if is_filtered {
            for file in &excluded.emptied {
                self.collector.add_file(file);
            }
        }

        self.collector
            .add_left_out(self.style.excluding, &excluded.options);
        let deselected = self.collector.results.deselected;
        let left_out = &mut self.collector.results.left_out;
        if deselected > 0 && !is_filtered {
            left_out.push(format!("{} deselected", tests_were(deselected)));
        }
        if excluded.dropped > 0 {
            left_out.push(format!(
                "{} collected, then removed by conftest.py or a plugin",
                tests_were(excluded.dropped)
            ));
        }
        let lead = match excluded.count.saturating_sub(ignored.len() as u64) {
            0 => "not searched".to_owned(),
            more => format!("not searched, with {more} more"),
        };
        self.collector.add_left_out(&lead, ignored);
    }
}

impl NamedTest {
    fn new(test: TestName, root: &str) -> Self {
        match test {
            TestName::Node { id, file } => {
                let (own, suite, name) = python_text::split_id(&id);
                Self {
                    key: None,
                    source: file.unwrap_or_else(|| own.to_owned()),
                    suite: suite.into_iter().map(str::to_owned).collect(),
                    name: name.to_owned(),
                    id,
                }
            }
            TestName::InFile { file, suite, name } => {
                let key = file_key(&file, root);
                let suites = suite.iter().map(String::as_str);
                Self {
                    id: join_id(
                        [key.as_str()]
                            .into_iter()
                            .chain(suites)
                            .chain([name.as_str()]),
                    ),
                    key: Some(key),
                    source: file.file,
                    suite,
                    name,
                }
            }
        }
    }
}

/// Returns the key of a file, different for each project.
fn file_key(file: &TestFile, root: &str) -> String {
    let path = stack::relative(&file.file, root);
    match &file.project {
        Some(project) => format!("|{project}| {path}"),
        None => path.to_owned(),
    }
}

/// Returns `1 test was` or `2 tests were`.
fn tests_were(count: u64) -> String {
    let [noun, verb] = if count == 1 {
        ["test", "was"]
    } else {
        ["tests", "were"]
    };
    format!("{count} {noun} {verb}")
}

/// Returns an error and the related ones, from their fields.
pub(crate) fn test_errors(
    collector: &mut ResultCollector<'_>,
    reported: &ReportedError,
) -> Vec<TestError> {
    // A related error is reported separately.
    let text = if reported.related.is_empty() {
        reported.text()
    } else {
        reported.message.clone()
    };
    let related = reported.related.iter();
    let of_related = related.map(|related| (related, related.text()));
    let mut error = |(reported, text): (&ReportedError, String)| {
        let mut error = collector.error(reported.class.as_deref(), &text);
        let mut value = |text: &Option<String>| Some(collector.text(text.as_deref()?));
        error.expected = value(&reported.expected);
        error.actual = value(&reported.actual);
        error.diff = value(&reported.diff);
        error.stack = collector.stack(reported.frames());
        error
    };
    [(reported, text)]
        .into_iter()
        .chain(of_related)
        .map(&mut error)
        .collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::model::State;

    fn results(report: &str) -> TestResults {
        let sources = Sources {
            report: report.as_bytes(),
            ..Sources::default()
        };
        read(&sources, Bound::default(), &STYLE).finish()
    }

    #[test]
    fn line_that_is_no_event_is_skipped() {
        let report = "{\"event\":\"run_start\"}\nnoise\n{\"event\":\"later\"}\n{\"event\":\"test\"}\n\
            {\"event\":\"test\",\"file\":\"a\",\"name\":\"x\",\"state\":\"odd\"}\n{\"event\":\"end\",\"pas";
        let results = results(report);
        assert_eq!((results.begun, results.ended), (true, false));
        let tests: Vec<_> = results.tests.iter().map(|test| test.state).collect();
        assert_eq!(tests, [State::NotRun]);
    }

    #[test]
    fn last_attempt_counts_in_file_that_never_ends() {
        let of = |event: &str, name: &str, state: &str| {
            let test =
                serde_json::json!({"event": event, "file": "a", "name": name, "state": state});
            format!("{test}\n")
        };
        let report = [
            "{\"event\":\"file_start\",\"file\":\"a\"}\n".to_owned(),
            of("attempt", "x", "failed"),
            of("attempt", "x", "passed"),
            of("attempt", "y", "failed"),
            of("test", "y", "passed"),
        ];
        let results = results(&report.concat());
        let tests: Vec<_> = results
            .tests
            .iter()
            .map(|test| (test.id.as_str(), test.state))
            .collect();
        assert_eq!(tests, [("a > y", State::Passed), ("a > x", State::Passed)]);
        assert_eq!(results.unfinished, ["a"]);
    }
}
