//! Test files that the project's configuration does not match: a runner does not report them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use replay_base::limits::MAX_KEPT_TESTS;

use super::completeness_input::absolute;
use super::context::RunContext;
use super::listing::listed;
use super::model::TestStatus;
use super::project::disk::ProjectTree as _;
use super::project::files::matching_sources;
use super::project::language::{Language, TestFiles};
use super::reports::results::TestResults;
use super::runner::Runner;
use super::selection::TestSelection;

/// Files with names of tests that a run did not take up and names; the others are counted.
const MAX_NAMED_UNTAKEN: usize = 5;

/// A finished run, as far as this module needs it.
pub(crate) struct FinishedRun<'a> {
    pub runner: &'a dyn Runner,
    /// Requested tests.
    pub selection: &'a TestSelection,
    /// `true` if test names had to match a filter too.
    pub is_filtered: bool,
    pub status: TestStatus,
    /// Requested targets that did not run.
    pub missed: &'a [String],
    pub root: &'a Path,
}

/// Returns a note on named files that the configuration does not match. Without these, the note is
/// on other files that are named like tests.
pub(crate) fn note(
    context: &RunContext<'_>,
    run: &FinishedRun<'_>,
    results: &TestResults,
) -> Option<String> {
    if run.status == TestStatus::MissingTool {
        return None;
    }
    if let Some(off) = run.runner.switched_off(context, run.root, run.selection) {
        let is_meant = !run.is_filtered || *run.selection != TestSelection::All;
        return listed(off, MAX_NAMED_UNTAKEN)
            .filter(|_| is_meant)
            .map(|off| format!("not run: {off}"));
    }
    let is_known = !results.takes.is_empty();
    let names = run.runner.language().and_then(Language::test_files)?;
    let (what, files) = match run.selection {
        // Runners that match parts of paths accept any named file. If Jest finds no file, it does
        // not call its reporter.
        TestSelection::Targets(_)
            if !run.runner.has_node_ids() && (is_known || run.status == TestStatus::NoTests) =>
        {
            ("named", run.missed.to_vec())
        }
        TestSelection::All if !run.is_filtered && ran_all_files(run.status, results) => (
            "named like tests",
            uncollected(context, run, results, names)?,
        ),
        _ => return None,
    };
    let files = listed(files, MAX_NAMED_UNTAKEN)?;
    let takes = if is_known {
        format!(" ({})", results.takes.join(", "))
    } else {
        String::new()
    };
    Some(format!(
        "{what}, but not matched by the configuration{takes}: {files}"
    ))
}

/// Returns true if every file had its turn.
fn ran_all_files(status: TestStatus, results: &TestResults) -> bool {
    let is_known = results.files.len() < MAX_KEPT_TESTS
        && results.unreached.is_empty()
        && results.summary.not_run == 0;
    is_known
        && matches!(
            status,
            TestStatus::Passed | TestStatus::Failed | TestStatus::NoTests
        )
}

/// Returns files named like tests that the runner did not collect, and that no other note names.
fn uncollected(
    context: &RunContext<'_>,
    run: &FinishedRun<'_>,
    results: &TestResults,
    names: TestFiles,
) -> Option<Vec<String>> {
    let project = context.disk().directory(run.root).ok()?;
    let seen: BTreeSet<PathBuf> = results
        .files
        .iter()
        .map(|file| absolute(run.root, file))
        .collect();
    let is_told = |name: &str| {
        results.told.contains(name)
            || results
                .told
                .iter()
                .any(|told| told.ends_with('/') && name.starts_with(told.as_str()))
    };
    // A file without a test is a helper.
    let has_tests = |file: &Path| {
        names.marker.is_empty()
            || context
                .disk()
                .text(file)
                .is_some_and(|text| text.contains(names.marker))
    };
    let found = matching_sources(context.call(), &project, names.globs, names.copies).ok()?;
    let found = found.iter().filter(|file| !seen.contains(*file));
    let named = found.filter_map(|file| {
        let name = file.strip_prefix(run.root).ok()?.to_str()?;
        (!is_told(name) && has_tests(file)).then(|| name.to_owned())
    });
    Some(named.collect())
}
