//! Results of a test run or a type check: one shape for every runner and every checker.
//!
//! Lines and columns count from 1 everywhere. Columns have the unit of the tool (mostly UTF-16
//! units or characters). Paths below the run's working directory are relative. Texts hold no
//! terminal escapes and are cut at the limits of `limits`.

mod diagnostics;
mod tool_info;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use diagnostics::{
    CheckStatus, CheckerName, Diagnostic, DiagnosticSummary, Diagnostics, DiagnosticsKind, Related,
    Severity,
};
use tool_info::is_zero;
pub use tool_info::{Scope, ToolInfo};

/// Name of a runner; `runners` lists all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
pub struct RunnerName(pub &'static str);

/// Tag that distinguishes a test run from a type check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestsKind {
    /// A test run.
    #[default]
    Tests,
}

/// Status of a test run, from `verdict`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestStatus {
    /// At least one test ran, and nothing failed anywhere.
    Passed,
    /// A test, a file or the run itself failed.
    Failed,
    /// No test failed, but some named tests or files did not run (`notRun`).
    Incomplete,
    /// No test ran, and no failure was reported.
    NoTests,
    /// The tests could not be built.
    BuildError,
    /// The runner refused its configuration or its arguments.
    ConfigError,
    /// The runner is not installed.
    MissingTool,
    /// The run timed out.
    TimedOut,
    /// The runner died before it reported the end of the run.
    Crashed,
}

/// Outcome of one test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The test passed, perhaps only on a retry.
    Passed,
    /// An assertion or the test's own code failed.
    Failed,
    /// A fixture or a hook of the test failed.
    Errored,
    /// The test took longer than the runner allows.
    TimedOut,
    /// The process died during the test.
    Crashed,
    /// The test was skipped.
    Skipped,
    /// The test is not written yet.
    Todo,
    /// The test failed as expected.
    ExpectedFailure,
    /// The run ended before the test.
    #[default]
    #[serde(other)]
    NotRun,
}

impl State {
    /// Returns true if the test counts as a failure.
    pub fn is_failure(self) -> bool {
        matches!(
            self,
            Self::Failed | Self::Errored | Self::TimedOut | Self::Crashed
        )
    }

    /// Returns true if the test ran to an end.
    pub fn ran(self) -> bool {
        self == Self::Passed || self.is_failure()
    }
}

/// A test run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestReport {
    /// Always `tests`.
    pub kind: TestsKind,
    /// Status of the run.
    pub status: TestStatus,
    /// Test runner.
    pub runner: ToolInfo<RunnerName>,
    /// Requested files, tests and project.
    pub scope: Scope,
    /// `true` if there is no report: the exit code alone decides.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_no_report: bool,
    /// Exit code of the runner; absent if a signal ended it or it never ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Number of the signal that ended the runner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Duration of the run, in milliseconds.
    pub duration_ms: u64,
    /// Numbers of tests.
    pub summary: Summary,
    /// Tests that failed, in the order of the report.
    pub failures: Vec<Case>,
    /// Files that could not be loaded, compiled or set up.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub file_errors: Vec<FileError>,
    /// Errors outside all tests and files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub run_errors: Vec<RunError>,
    /// The tests that took longest, the longest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slowest: Vec<Slow>,
    /// Ids of tests, or files, that began and never ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unfinished: Vec<String>,
    /// Files, directories and tests that were requested by name and did not run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_run: Vec<String>,
    /// Tests that the project's configuration excludes, if the runner reports them. They do not
    /// affect the status.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// All tests, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<Vec<Listed>>,
    /// Parts left out of this report.
    #[serde(skip_serializing_if = "Truncated::is_none")]
    pub truncated: Truncated,
    /// URI of the runner's full output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_uri: Option<String>,
    /// Advice on the next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Numbers of tests. `flaky` tests are also counted in `passed`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// All tests: the sum of all other counts but `flaky`.
    pub total: u64,
    /// Passed.
    pub passed: u64,
    /// Failed, timed out or crashed.
    pub failed: u64,
    /// Failed in a fixture or a hook.
    #[serde(skip_serializing_if = "is_zero")]
    pub errored: u64,
    /// Skipped.
    #[serde(skip_serializing_if = "is_zero")]
    pub skipped: u64,
    /// Not written yet.
    #[serde(skip_serializing_if = "is_zero")]
    pub todo: u64,
    /// Failed as expected.
    #[serde(skip_serializing_if = "is_zero")]
    pub expected_failures: u64,
    /// Passed on a retry.
    #[serde(skip_serializing_if = "is_zero")]
    pub flaky: u64,
    /// Known, but not reached.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_run: u64,
}

impl Summary {
    pub fn count(&mut self, state: State, flaky: bool) {
        self.total += 1;
        let of = match state {
            State::Passed => &mut self.passed,
            State::Failed | State::TimedOut | State::Crashed => &mut self.failed,
            State::Errored => &mut self.errored,
            State::Skipped => &mut self.skipped,
            State::Todo => &mut self.todo,
            State::ExpectedFailure => &mut self.expected_failures,
            State::NotRun => &mut self.not_run,
        };
        *of += 1;
        self.flaky += u64::from(flaky);
    }

    /// Returns the number of tests that ran to an end.
    pub fn ran(&self) -> u64 {
        self.passed + self.failed + self.errored
    }
}

/// One test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Case {
    /// Unique id in this run. For pytest it is the node id; else the file or package, the suites
    /// and the name, joined by ` > `.
    pub id: String,
    /// Name without suites.
    pub name: String,
    /// Source file of the test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Column in the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// Enclosing suites, classes or modules, outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suite: Vec<String>,
    /// Outcome of the test.
    pub state: State,
    /// Duration of the test, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Errors of the test.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<TestError>,
    /// Standard output of the test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// Standard error of the test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// Files from the test, such as screenshots and traces.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<String>,
    /// Number of retries.
    #[serde(skip_serializing_if = "is_zero")]
    pub retries: u64,
}

impl Case {
    /// Creates a test without further details.
    pub fn new(id: impl Into<String>, name: impl Into<String>, state: State) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            state,
            ..Self::default()
        }
    }

    /// Returns true if the test passed only in a retry.
    pub fn is_flaky(&self) -> bool {
        self.state == State::Passed && self.retries > 0
    }
}

/// Error of a test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestError {
    /// Class of the exception or error.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Message of the runner.
    pub message: String,
    /// Expected value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// Actual value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<String>,
    /// Difference between the two, if the runner reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Frame of the error first, then its callers; frames of libraries last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<Frame>,
}

/// One frame of a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Frame {
    /// The source file.
    pub file: String,
    /// The line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The function.
    #[serde(rename = "fn", skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
}

impl Frame {
    /// Creates a frame of a line.
    pub fn at(file: impl Into<String>, line: Option<u32>) -> Self {
        let file = file.into();
        Self {
            file,
            line,
            ..Self::default()
        }
    }
}

/// Phase before the tests of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Loading the file and finding its tests.
    Collect,
    /// Compiling the file.
    Compile,
    /// A hook of the whole file.
    Hook,
}

/// A file that could not be loaded, compiled or set up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileError {
    /// The file, or the package if the file is unknown.
    pub file: String,
    /// Phase that failed.
    pub phase: Phase,
    /// Message of the tool.
    pub message: String,
    /// The line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
}

/// Error outside all tests and files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunError {
    /// Class of the error, such as `Unhandled Rejection`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Message of the runner.
    pub message: String,
    /// Stack, if known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<Frame>,
}

impl RunError {
    /// Creates an error with only a message.
    pub fn new(message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            message,
            ..Self::default()
        }
    }
}

/// A slow test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Slow {
    /// Id of the test.
    pub id: String,
    /// Duration in milliseconds.
    pub duration_ms: u64,
}

/// One test in the list of all tests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// Id of the test.
    pub id: String,
    /// Outcome of the test.
    pub state: State,
    /// Duration of the test, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// Numbers of parts left out of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Truncated {
    /// Failures that are counted but not shown.
    #[serde(skip_serializing_if = "is_zero")]
    pub failures: u64,
    /// Errors of files and of the run, unfinished tests, `notRun` and listed tests that are not
    /// shown.
    #[serde(skip_serializing_if = "is_zero")]
    pub others: u64,
    /// Bytes cut from messages, values and output.
    #[serde(skip_serializing_if = "is_zero")]
    pub bytes: u64,
}

impl Truncated {
    /// Returns true if the report is complete.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}
