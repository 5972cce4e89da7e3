//! Arguments of a test run.

use std::time::Duration;

use super::runner::Runner;

/// Arguments of a test run.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunRequest<'a> {
    /// Working directory; `None` for the default.
    pub cwd: Option<&'a str>,
    /// Requested runner, if any.
    pub runner: Option<&'static dyn Runner>,
    /// Files, directories and globs; empty for all.
    pub files: &'a [String],
    /// Filter for test names.
    pub filter: Option<&'a str>,
    /// Run only tests that changes affect.
    pub changed: bool,
    /// Run only the failures of the previous run.
    pub rerun_failed: bool,
    /// Command that writes JUnit XML.
    pub command: Option<&'a str>,
    /// Path of its report, relative to the directory.
    pub report: Option<&'a str>,
    /// `true` if every test is listed.
    pub all: bool,
    /// Time limit of the run.
    pub timeout: Duration,
}
