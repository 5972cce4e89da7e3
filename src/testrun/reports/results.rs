//! Raw output of a run or a check, and its parsed results.

use std::collections::BTreeSet;

use replay_base::limits::MAX_TEST_TEXT_BYTES;

use super::class_sources::ClassSources;
use super::{stack, visible_text};
use crate::model::{Case, Diagnostic, FileError, Listed, RunError, Slow, Summary, Truncated};

/// Raw output of a run. Each part may be empty or truncated, because the run may have been ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sources<'a> {
    /// Report file: JSON lines of a bundled reporter, or `JUnit` XML. Empty for runners that report
    /// on stdout.
    pub report: &'a [u8],
    /// Further report files, for runners that write several.
    pub more_reports: &'a [Vec<u8>],
    pub stdout: &'a [u8],
    pub stderr: &'a [u8],
    /// Working directory of the run, absolute, without a trailing slash; paths below it become
    /// relative.
    pub root: &'a str,
    /// Go only: import path of the package in `root`; empty if unknown.
    pub go_package: &'a str,
    /// Cargo only: names and source files of the test targets with `harness = false`; for nextest
    /// their names alone.
    pub own_harness: &'a [String],
    /// JVM only: sources of the project.
    pub classes: Option<&'a ClassSources>,
}

/// Parsed results of a test run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "things that may be true of a report, several at once"
)]
pub struct TestResults {
    /// Version of the runner, if reported.
    pub version: Option<String>,
    /// Numbers of tests by state.
    pub summary: Summary,
    /// Failed tests, in the order of the report.
    pub failures: Vec<Case>,
    pub tests: Vec<Listed>,
    /// The slowest tests, the slowest first.
    pub slowest: Vec<Slow>,
    /// Files that could not be loaded, compiled or set up.
    pub file_errors: Vec<FileError>,
    /// Errors outside every test and file.
    pub run_errors: Vec<RunError>,
    /// Reasons why the process goes on after the end of its tests, if the runner reports them.
    pub held: Vec<RunError>,
    /// Tests, or files, that began and never ended.
    pub unfinished: Vec<String>,
    /// Known files that never began, if the runner reports them.
    pub unreached: Vec<String>,
    /// Files that the runner collected, relative to `root` where possible. Only for runners that
    /// report files.
    pub files: BTreeSet<String>,
    /// Programs or packages that ended without the expected report of their tests.
    pub silent: Vec<String>,
    /// Programs with a harness of their own (`harness = false`) that reported no test.
    pub own_harness: Vec<String>,
    /// Tests deselected by a filter before the run, if the runner reports them; not in the summary.
    pub deselected: u64,
    /// Snapshots written because there was none to compare with.
    pub snapshots: u64,
    /// Seed of the random order, if that may explain a failure.
    pub seed: Option<u64>,
    /// Tests that the project's own configuration omits, a sentence each.
    pub left_out: Vec<String>,
    /// Patterns of the project's configuration for test files, if the runner reports them: an
    /// option with a value each.
    pub takes: Vec<String>,
    /// Files, and directories with a slash, that `left_out` covers in other words.
    pub told: BTreeSet<String>,
    /// Numbers of results omitted by the limits.
    pub truncated: Truncated,
    /// `true` if the report has any content: if not, the runner never got as far as running tests.
    pub begun: bool,
    /// `true` if the report is complete.
    pub ended: bool,
    /// `true` if the runner's process ended after the report's end but before the runner finished,
    /// if it reports that.
    pub is_cut_short: bool,
    /// Overall result by the runner itself: `true` if it passed.
    pub passed: Option<bool>,
    /// `true` if there is no report, so that the exit code alone decides.
    pub has_no_report: bool,
    /// `true` if a build failed.
    pub build_failed: bool,
    /// End of the runner's other output, for runs that the report does not explain.
    pub remarks: String,
}

/// Parsed results of a type check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckResults {
    /// Version of the checker, if reported.
    pub version: Option<String>,
    /// In the checker's order.
    pub diagnostics: Vec<Diagnostic>,
    /// Numbers of diagnostics beyond the limit: errors, then warnings.
    pub beyond: [u64; 2],
    /// Number of checked files, if the checker reports it.
    pub files_checked: Option<u64>,
    /// Absolute paths of the checked files, if the checker names them.
    pub listed: Option<BTreeSet<String>>,
    /// Requested targets that were not checked; empty if unknown.
    pub not_checked: Vec<String>,
    /// Requested targets that were checked with their errors suppressed.
    pub silenced: Vec<String>,
    /// `true` if no other target depends on those with errors, so that all others were checked.
    pub is_apart: bool,
    /// `true` if the checker itself failed, so that there may be more errors than reported.
    pub broke: bool,
    /// End of the checker's output, for checks that no diagnostic explains.
    pub remarks: String,
}

/// Returns the end of the output besides a report: of stderr, or else of stdout.
pub(crate) fn remarks(sources: &Sources<'_>) -> String {
    let tail = |bytes: &[u8]| {
        let from = bytes.len().saturating_sub(MAX_TEST_TEXT_BYTES * 8);
        let (text, _) = visible_text::tail(
            &String::from_utf8_lossy(&bytes[from..]),
            MAX_TEST_TEXT_BYTES * 8,
        );
        // Rulers and frames of the runner's own code have no information; JSON events are not text.
        let is_frame = |line: &str| {
            line.trim_start()
                .strip_prefix("at ")
                .is_some_and(|rest| rest.contains("node"))
        };
        let is_event = |line: &str| line.starts_with('{') || line.contains("##teamcity[");
        let says = |line: &&str| {
            line.contains(char::is_alphanumeric) && !is_frame(line) && !is_event(line)
        };
        let text = text.lines().filter(says).collect::<Vec<_>>().join("\n");
        visible_text::tail(
            &stack::without_root(&text, sources.root),
            MAX_TEST_TEXT_BYTES / 2,
        )
        .0
    };
    let stderr = tail(sources.stderr);
    if stderr.trim().is_empty() {
        tail(sources.stdout)
    } else {
        stderr
    }
}
