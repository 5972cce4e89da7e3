//! What a run or a check left to be read, and what was read of it.

use std::collections::BTreeSet;

use super::{stack, visible_text};
use crate::limits::MAX_TEST_TEXT_BYTES;
use crate::testrun::model::{
    Case, Diagnostic, FileError, Listed, RunError, Slow, Summary, Truncated,
};

/// What a run left to read. Each may be empty and may end anywhere: the run may have been ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sources<'a> {
    /// The report file: JSON lines of the bundled reporters, `JUnit` XML. Empty for runners that
    /// report on stdout.
    pub report: &'a [u8],
    /// What the runner wrote to stdout.
    pub stdout: &'a [u8],
    /// What the runner wrote to stderr.
    pub stderr: &'a [u8],
    /// The directory that the run began in, absolute and without a slash at the end; paths below it
    /// become relative.
    pub root: &'a str,
    /// For Go, the import path of the package in `root`; empty if it is not known.
    pub go_package: &'a str,
    /// For Cargo, names and source files of the test targets with `harness = false`; for nextest
    /// their names alone.
    pub own_harness: &'a [String],
}

/// What was read of a test run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "things that may be true of a report, several at once"
)]
pub struct TestResults {
    /// The runner's version, if it was told.
    pub version: Option<String>,
    /// How many tests there were.
    pub summary: Summary,
    /// Tests that failed, in the order of the report.
    pub failures: Vec<Case>,
    pub tests: Vec<Listed>,
    /// The tests that took longest, the longest first.
    pub slowest: Vec<Slow>,
    /// Files that could not be loaded, compiled or set up.
    pub file_errors: Vec<FileError>,
    /// What went wrong outside every test and file.
    pub run_errors: Vec<RunError>,
    /// What keeps the process from ending when the tests have ended, as far as the runner says it.
    pub held: Vec<RunError>,
    /// Tests, or files, that began and never ended.
    pub unfinished: Vec<String>,
    /// Files that the runner knew of and never began, where it says so.
    pub unreached: Vec<String>,
    /// Files that the runner took up, as paths below `root` where they lie there, for runners that
    /// know files.
    pub files: BTreeSet<String>,
    /// Programs or packages that should have told of their tests, ended, and did not.
    pub silent: Vec<String>,
    /// Programs with a harness of their own (`harness = false`), which told of no test.
    pub own_harness: Vec<String>,
    /// Tests that a filter left out before the run, where the runner says it; not in the summary.
    pub deselected: u64,
    /// Snapshots that were written since there was none to compare with.
    pub snapshots: u64,
    /// What the project's own configuration leaves out, a sentence each.
    pub left_out: Vec<String>,
    /// What the project's configuration takes for files of tests, where the runner says it: an
    /// option with a value each.
    pub takes: Vec<String>,
    /// Files, and directories with a slash, that `left_out` tells of in other words.
    pub told: BTreeSet<String>,
    /// What the limits left out.
    pub truncated: Truncated,
    /// Whether anything of a report was there: if not, the runner never got as far as running
    /// tests.
    pub begun: bool,
    /// Whether the report has its end.
    pub ended: bool,
    /// Whether the runner's process ended after that and before the runner was through, if it says
    /// so much.
    pub is_cut_short: bool,
    /// What the runner itself says of the whole: whether it passed.
    pub passed: Option<bool>,
    /// Whether something could not be built.
    pub build_failed: bool,
    /// The end of what the runner wrote besides, for runs that no report explains.
    pub remarks: String,
}

/// What was read of a type check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckResults {
    /// The checker's version, if it was told.
    pub version: Option<String>,
    /// In the checker's order.
    pub diagnostics: Vec<Diagnostic>,
    /// Diagnostics beyond the limit: errors, then warnings.
    pub beyond: [u64; 2],
    /// Files that were looked at, if the checker says it.
    pub files_checked: Option<u64>,
    /// Those files, absolute, where the checker names them.
    pub listed: Option<BTreeSet<String>>,
    /// What was asked for and is not among them; empty if that is not known.
    pub not_checked: Vec<String>,
    /// What was asked for, was looked at, and has its errors untold.
    pub silenced: Vec<String>,
    /// Whether nothing else is made of what has errors, so that all else was checked.
    pub is_apart: bool,
    /// Whether the checker itself failed, so that there may be more than it tells.
    pub broke: bool,
    /// The end of what the checker wrote, for checks that no diagnostic explains.
    pub remarks: String,
}

/// The end of what was written besides a report: of stderr, or else of stdout.
pub fn remarks(sources: &Sources<'_>) -> String {
    let tail = |bytes: &[u8]| {
        let from = bytes.len().saturating_sub(MAX_TEST_TEXT_BYTES * 8);
        let (text, _) = visible_text::tail(
            &String::from_utf8_lossy(&bytes[from..]),
            MAX_TEST_TEXT_BYTES * 8,
        );
        // Rulers, and frames of the runner's own code, say nothing; events are no words.
        let is_frame = |line: &str| {
            line.trim_start()
                .strip_prefix("at ")
                .is_some_and(|rest| rest.contains("node"))
        };
        let says = |line: &&str| {
            line.contains(char::is_alphanumeric) && !is_frame(line) && !line.starts_with('{')
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
