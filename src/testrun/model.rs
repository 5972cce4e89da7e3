//! Results of a test run or a type check: one shape for every runner and every checker.
//!
//! Lines and columns count from 1 everywhere. Columns have the unit of the tool (mostly UTF-16
//! units or characters). Paths below the run's working directory are relative. Texts hold no
//! terminal escapes and are cut at the limits of `limits`.

mod diagnostics;
mod tool_info;

use schemars::JsonSchema;
use serde::Serialize;

pub use diagnostics::{
    CheckStatus, CheckerName, Diagnostic, DiagnosticSummary, Diagnostics, DiagnosticsKind, Related,
    Severity,
};
use tool_info::is_zero;
pub use tool_info::{Scope, ToolInfo};

/// A runner by its name; those that there are stand in `runners`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct RunnerName(pub &'static str);

/// The tag that tells the two shapes apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestsKind {
    /// A test run.
    #[default]
    Tests,
}

/// How a test run ended; `verdict` decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestStatus {
    /// At least one test ran, and nothing failed anywhere.
    Passed,
    /// A test, a file or something between the tests failed.
    Failed,
    /// Nothing failed, but of what was asked for by name something did not run (`notRun`).
    Incomplete,
    /// Nothing failed, but no test ran.
    NoTests,
    /// The tests could not be built.
    BuildError,
    /// The runner refused its configuration or its arguments.
    ConfigError,
    /// There is no such runner.
    MissingTool,
    /// The run was ended because its time was up.
    TimedOut,
    /// The runner died before it said how the run ended.
    Crashed,
}

/// What became of one test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It passed, perhaps only when it was tried again.
    Passed,
    /// An assertion or the test's own code failed.
    Failed,
    /// What is around it failed: a fixture, a hook.
    Errored,
    /// It took longer than the runner allows.
    TimedOut,
    /// The process died in it.
    Crashed,
    /// It was left out.
    Skipped,
    /// It is still to be written.
    Todo,
    /// It is expected to fail, and did.
    ExpectedFailure,
    /// It was never reached.
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
    /// How it ended.
    pub status: TestStatus,
    /// What ran.
    pub runner: ToolInfo<RunnerName>,
    /// What was asked for.
    pub scope: Scope,
    /// The runner's exit code; none if it was ended by a signal or never ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The number of the signal that ended the runner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// How long the run took, in milliseconds.
    pub duration_ms: u64,
    /// How many tests there were.
    pub summary: Summary,
    /// Tests that failed, in the order of the report.
    pub failures: Vec<Case>,
    /// Files that could not be loaded, compiled or set up.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub file_errors: Vec<FileError>,
    /// What went wrong outside every test and file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub run_errors: Vec<RunError>,
    /// The tests that took longest, the longest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slowest: Vec<Slow>,
    /// Ids of tests, or files, that began and never ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unfinished: Vec<String>,
    /// What was asked for by name and did not run: files, directories, tests that were to run
    /// again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_run: Vec<String>,
    /// What the project's own configuration leaves out, where the runner says so: no part of the
    /// verdict.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Every test, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<Vec<Listed>>,
    /// What was left out.
    #[serde(skip_serializing_if = "Truncated::is_none")]
    pub truncated: Truncated,
    /// Where the whole output of the runner is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_uri: Option<String>,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// How many tests there were. `flaky` ones are among `passed`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// All of them: the sum of all that follows but `flaky`.
    pub total: u64,
    /// Passed.
    pub passed: u64,
    /// Failed, timed out or crashed.
    pub failed: u64,
    /// Failed in what is around the test: a fixture, a hook.
    #[serde(skip_serializing_if = "is_zero")]
    pub errored: u64,
    /// Left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub skipped: u64,
    /// Still to be written.
    #[serde(skip_serializing_if = "is_zero")]
    pub todo: u64,
    /// Expected to fail, and did.
    #[serde(skip_serializing_if = "is_zero")]
    pub expected_failures: u64,
    /// Passed when tried again.
    #[serde(skip_serializing_if = "is_zero")]
    pub flaky: u64,
    /// Known, and never reached.
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

/// One test with all that is known of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Case {
    /// Names it in this run; for pytest its node id, else the file or package, suites and name,
    /// joined by ` > `.
    pub id: String,
    /// Its own name, without suites.
    pub name: String,
    /// Where it is declared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// Suites, classes or modules around it, the outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suite: Vec<String>,
    /// What became of it.
    pub state: State,
    /// How long it took, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<TestError>,
    /// What it wrote to stdout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// What it wrote to stderr.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// How often it was tried again.
    #[serde(skip_serializing_if = "is_zero")]
    pub retries: u64,
}

impl Case {
    /// Creates a test without further details.
    pub fn new(id: impl Into<String>, name: impl Into<String>, state: State) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            file: None,
            line: None,
            column: None,
            suite: Vec::new(),
            state,
            duration_ms: None,
            errors: Vec::new(),
            stdout: None,
            stderr: None,
            retries: 0,
        }
    }

    /// Returns true if the test passed only in a retry.
    pub fn is_flaky(&self) -> bool {
        self.state == State::Passed && self.retries > 0
    }
}

/// What went wrong in a test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestError {
    /// The exception or error class.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// In the runner's words.
    pub message: String,
    /// What was expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What was there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<String>,
    /// How they differ, if the runner says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The place first, then its callers; frames of libraries stand last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<Frame>,
}

/// One frame of a stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
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

/// What a file was being put through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Loading it and finding its tests.
    Collect,
    /// Compiling it.
    Compile,
    /// A hook around all of its tests.
    Hook,
}

/// A file that could not be loaded, compiled or set up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileError {
    /// The file, or the package where nothing closer is known.
    pub file: String,
    /// What it was being put through.
    pub phase: Phase,
    /// In the tool's words.
    pub message: String,
    /// The line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
}

/// What went wrong outside every test and file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunError {
    /// Such as `Unhandled Rejection`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// In the runner's words.
    pub message: String,
    /// Where, if that is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<Frame>,
}

/// A test and how long it took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Slow {
    /// Its id.
    pub id: String,
    /// In milliseconds.
    pub duration_ms: u64,
}

/// A line of the list of all tests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// Its id.
    pub id: String,
    /// What became of it.
    pub state: State,
    /// How long it took, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// What was left out of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Truncated {
    /// Failures that are counted and not shown.
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
