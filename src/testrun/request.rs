//! What a call of a test run asks for.

use std::time::Duration;

use super::runner::Runner;

/// What a call asks for.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunRequest<'a> {
    /// The directory; the usual one if it is left out.
    pub cwd: Option<&'a str>,
    /// The runner, if it is named.
    pub runner: Option<&'static dyn Runner>,
    /// Files, directories and globs; empty for all.
    pub files: &'a [String],
    /// What names must match.
    pub filter: Option<&'a str>,
    /// Only what has changed affects.
    pub changed: bool,
    /// Only what failed in the run before.
    pub rerun_failed: bool,
    /// A command that writes JUnit XML.
    pub command: Option<&'a str>,
    /// Where it writes that, from the directory on.
    pub report: Option<&'a str>,
    /// Whether every test is listed.
    pub all: bool,
    /// When the run is ended.
    pub timeout: Duration,
}
