//! Language of the bundled reporters: events as JSON lines.
//!
//! A reporter writes each event as it happens, to the file in `REPLAY_TEST_REPORT`: after a crash
//! the earlier events are still there. It runs in the process of the project, which may write any
//! other line: a line that is no event is skipped.

use replay_base::limits::MAX_TEST_FRAMES;
use serde::Deserialize;

use super::stack;
use crate::model::{Frame, State};

/// An event of a run.
#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Event {
    /// The run begins.
    RunStart {
        version: Option<String>,
    },
    /// Patterns of the project's configuration for test files.
    Patterns {
        options: Vec<String>,
    },
    /// Options of the project that exclude tests.
    Excluding {
        options: Vec<String>,
        /// `true` if the call has a filter of its own, which deselects tests as well.
        #[serde(default)]
        is_filtered: bool,
    },
    /// Number of deselected tests, and their files.
    Deselected {
        tests: u64,
        #[serde(default)]
        files: Vec<String>,
    },
    /// Tests and paths that the project's own code or settings omit.
    Omitted {
        /// Number of tests removed from the list without a report.
        tests: u64,
        /// The first files and directories that were not searched.
        paths: Vec<String>,
        /// Number of files and directories that were not searched.
        count: u64,
    },
    /// Files that will run.
    Planned {
        files: Vec<TestFile>,
    },
    /// A file is being loaded.
    FileStart(TestFile),
    /// The tests of a file are known, or those of the whole run.
    Collected(Collected),
    TestStart(TestName),
    /// A test has ended, but may be retried: `test` follows when its file ends.
    Attempt(TestResult),
    /// A test has ended.
    Test(TestResult),
    /// A file has ended, or could not be loaded.
    FileEnd(FileEnd),
    /// A file was skipped as a whole, before its tests were known.
    FileSkipped {
        file: String,
        reason: String,
    },
    /// Files that never began, and remaining tests of partly run files.
    Unreached {
        files: Vec<String>,
    },
    /// An error outside all files and tests.
    RunError(ReportedError),
    /// An uncaught exception of a Python thread in a test.
    Leak {
        test: String,
        #[serde(rename = "type")]
        class: String,
        message: String,
    },
    /// Reasons why the process goes on after the end of its tests.
    Held {
        errors: Vec<ReportedError>,
    },
    /// The tests have ended.
    End(RunEnd),
    /// The runner has finished its work after `end`.
    Over {
        #[serde(default)]
        errors: Vec<ReportedError>,
    },
}

/// A test file. A runner may run it once for each of its projects.
#[derive(Clone, Deserialize)]
pub(crate) struct TestFile {
    pub file: String,
    pub project: Option<String>,
    /// Absolute path, if `file` is relative to another directory than that of the run.
    pub path: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct Collected {
    #[serde(flatten)]
    pub file: Option<TestFile>,
    pub tests: u64,
}

/// Name of a test.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum TestName {
    /// A pytest node id, and the declaring file.
    Node { id: String, file: Option<String> },
    InFile {
        #[serde(flatten)]
        file: TestFile,
        #[serde(default)]
        suite: Vec<String>,
        name: String,
    },
}

#[derive(Deserialize)]
pub(crate) struct TestResult {
    #[serde(flatten)]
    pub test: TestName,
    pub state: State,
    pub line: Option<u32>,
    pub column: Option<u32>,
    pub ms: Option<f64>,
    #[serde(default)]
    pub retries: u64,
    #[serde(default)]
    pub errors: Vec<ReportedError>,
    pub stdout: Option<String>,
    pub stderr: Option<String>,
    /// Paths of files from the test, such as screenshots.
    #[serde(default)]
    pub attachments: Vec<String>,
}

#[derive(Deserialize)]
pub(crate) struct FileEnd {
    #[serde(flatten)]
    pub file: TestFile,
    /// Number of tests in the file; 0 if it was not loaded.
    #[serde(default)]
    pub tests: u64,
    #[serde(default)]
    pub errors: Vec<ReportedError>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct RunEnd {
    pub passed: bool,
    /// Files that began and have not ended, if the reporter knows all of them.
    pub open: Option<Vec<String>>,
    /// Number of files to run, if the reporter does not name those that never began.
    pub files: u64,
    pub errors: Vec<ReportedError>,
    /// Number of snapshots written because there was none.
    pub snapshots: u64,
    /// Seed of the random order, if that may explain a failure.
    pub seed: Option<u64>,
    /// `true` if `over` follows.
    pub goes_on: bool,
}

/// An error as its runner reports it.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct ReportedError {
    /// Kind of an error outside all tests.
    pub kind: Option<String>,
    #[serde(rename = "type")]
    pub class: Option<String>,
    pub message: String,
    /// Cause that is no error itself.
    pub cause: Option<String>,
    /// Names of the suites, for an error of a hook.
    pub suite: Option<Vec<String>>,
    pub expected: Option<String>,
    pub actual: Option<String>,
    pub diff: Option<String>,
    /// Line and column of an error in its file, if known without the stack.
    pub line: Option<u32>,
    pub column: Option<u32>,
    /// Innermost frame first.
    pub stack: Vec<Place>,
    /// Stack as V8 writes it, if there is no `stack`.
    pub trace: Option<String>,
    /// Causes of the error, and members of a group.
    pub related: Vec<ReportedError>,
}

#[derive(Deserialize)]
pub(crate) struct Place {
    pub file: Option<String>,
    pub line: Option<u32>,
    pub column: Option<u32>,
    pub function: Option<String>,
}

impl ReportedError {
    /// Returns the message with its cause.
    pub(crate) fn text(&self) -> String {
        match self.cause.as_deref().filter(|cause| !cause.is_empty()) {
            Some(cause) => format!("{}\ncaused by: {cause}", self.message),
            None => self.message.clone(),
        }
    }

    pub(crate) fn frames(&self) -> Vec<Frame> {
        if self.stack.is_empty() {
            let trace = self.trace.as_deref().map(stack::split_trace);
            return trace.map(|(_, frames)| frames).unwrap_or_default();
        }
        let frame = |place: &Place| {
            Some(Frame {
                file: place.file.clone()?,
                line: place.line,
                column: place.column,
                function: place.function.clone(),
            })
        };
        let places = self.stack.iter().take(MAX_TEST_FRAMES * 4);
        places.filter_map(frame).collect()
    }
}
