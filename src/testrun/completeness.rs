//! Requested tests that did not run: a runner does not report files that its configuration
//! excludes.

use std::collections::HashSet;
use std::path::Path;

use replay_base::limits::MAX_KEPT_TESTS;

use super::completeness_input::Evidence;
use super::model::State;
use super::project::files::NamedPath;
use super::reports::results::TestResults;
use super::runner::Runner;
use super::selection::{FailedTest, TestSelection};

/// Returns the requested files, directories and tests that did not run, in the order of the
/// request.
///
/// A file whose tests were all deselected or skipped did run, if the runner reports them. Files
/// matched by a glob count if they are named like tests. Returns an empty list if more tests ran
/// than are kept by name.
pub(crate) fn missed(
    runner: &dyn Runner,
    selection: &TestSelection,
    evidence: &Evidence<'_>,
) -> Vec<String> {
    let results = evidence.results;
    if results.tests.len() >= MAX_KEPT_TESTS || results.files.len() >= MAX_KEPT_TESTS {
        return Vec::new();
    }
    match selection {
        TestSelection::All | TestSelection::Changed => Vec::new(),
        TestSelection::Failed(failed) => not_rerun(runner, failed, results),
        TestSelection::Targets(targets) => {
            let is_test = |file: &Path| {
                runner
                    .language()
                    .is_some_and(|language| language.is_test_name(file))
            };
            let meant = |target: &&NamedPath| !target.is_matched || is_test(&target.path);
            let meant: Vec<&NamedPath> = targets.iter().filter(meant).collect();
            let missed = runner.missed(evidence, &meant);
            missed
                .into_iter()
                .map(|target| target.below(evidence.project))
                .collect()
        }
    }
}

/// Returns the tests that were to run again and did not.
fn not_rerun(runner: &dyn Runner, failed: &[FailedTest], results: &TestResults) -> Vec<String> {
    let ran: HashSet<&str> = results
        .tests
        .iter()
        .filter(|test| {
            test.state.ran() || matches!(test.state, State::Todo | State::ExpectedFailure)
        })
        .map(|test| test.id.as_str())
        .chain(results.unfinished.iter().map(String::as_str))
        .collect();
    let is_told = |test: &&FailedTest| {
        if test.names.is_empty() {
            runner.has_reporter() && !results.files.contains(&test.file)
        } else {
            !ran.contains(test.id.as_str())
        }
    };
    let name = |test: &FailedTest| {
        if test.names.is_empty() {
            test.file.clone()
        } else {
            test.id.clone()
        }
    };
    let mut missed: Vec<String> = failed.iter().filter(is_told).map(name).collect();
    missed.dedup();
    missed
}

#[cfg(test)]
mod tests;
