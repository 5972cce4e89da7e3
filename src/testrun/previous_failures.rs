//! Tests that have failed and not passed since, in the form in which a runner can run them again.

use std::collections::{HashMap, HashSet};

use replay_base::limits::MAX_KEPT_FAILURES;

use super::model::State;
use super::reports::results::TestResults;
use super::runner::Runner;
use super::selection::FailedTest;

/// Returns the list of failed tests after a run: its failures, and those of `known` (the list
/// before) that did not pass in it. A run of all tests (`is_all`) removes tests that no longer
/// exist. The list holds at most [`MAX_KEPT_FAILURES`] tests and the new failures.
pub(crate) fn remaining(
    runner: &dyn Runner,
    known: &[FailedTest],
    results: &TestResults,
    is_all: bool,
) -> Vec<FailedTest> {
    let failed = failed(runner, results);
    let states: HashMap<&str, State> = results
        .tests
        .iter()
        .map(|test| (test.id.as_str(), test.state))
        .collect();
    let files: HashSet<&str> = results
        .tests
        .iter()
        .map(|test| runner.file_of(&test.id))
        .collect();
    let unloaded: HashSet<&str> = results
        .file_errors
        .iter()
        .map(|error| error.file.as_str())
        .collect();
    let is_whole = is_all
        && results.ended
        && !results.build_failed
        && (results.deselected, results.truncated.others) == (0, 0);
    let room = MAX_KEPT_FAILURES.saturating_sub(failed.len());
    let stays = |test: &&FailedTest| {
        if failed.contains(test) {
            return false;
        }
        let state = states
            .get(test.id.as_str())
            .filter(|_| !test.names.is_empty());
        match state {
            _ if test.names.is_empty() => !is_whole && !is_loaded(runner, &files, test, results),
            // Skipped on purpose, since all tests were requested.
            Some(state) => *state != State::Passed && !is_whole,
            None => !is_whole || unloaded.contains(test.file.as_str()),
        }
    };
    known
        .iter()
        .filter(stays)
        .take(room)
        .cloned()
        .chain(failed.iter().cloned())
        .collect()
}

/// Returns true if this run loaded a file that had failed to load.
fn is_loaded(
    runner: &dyn Runner,
    files: &HashSet<&str>,
    test: &FailedTest,
    results: &TestResults,
) -> bool {
    if runner.is_compiled() {
        !results.build_failed && results.summary.ran() > 0
    } else {
        files.contains(test.file.as_str())
    }
}

/// Returns the failures of a run.
fn failed(runner: &dyn Runner, results: &TestResults) -> Vec<FailedTest> {
    let of_files = results
        .file_errors
        .iter()
        .map(|error| FailedTest::of_file(&error.file));
    let of_unfinished = results
        .unfinished
        .iter()
        .filter_map(|id| runner.unfinished(id));
    results
        .failures
        .iter()
        .map(|case| runner.failed(case))
        .chain(of_files)
        .chain(of_unfinished)
        .collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::model::{Case, FileError, Listed, Phase, Summary};
    use crate::runners::Pytest;

    const PYTEST: &dyn Runner = &Pytest;

    fn node(id: &str) -> FailedTest {
        PYTEST.failed(&Case::new(id, "", State::Failed))
    }

    fn ran(tests: &[(&str, State)], broken: &[&str]) -> TestResults {
        let listed = |(id, state): &(&str, State)| Listed {
            id: (*id).to_owned(),
            state: *state,
            duration_ms: None,
        };
        let error = |file: &&str| FileError {
            file: (*file).to_owned(),
            phase: Phase::Collect,
            message: String::new(),
            line: None,
            column: None,
        };
        let cases = tests
            .iter()
            .filter(|(_, state)| state.is_failure())
            .map(|(id, state)| Case::new(*id, "x", *state));
        TestResults {
            ended: true,
            failures: cases.collect(),
            tests: tests.iter().map(listed).collect(),
            file_errors: broken.iter().map(error).collect(),
            summary: Summary {
                passed: 1,
                ..Summary::default()
            },
            ..TestResults::default()
        }
    }

    #[test]
    fn failed_test_leaves_list_after_pass() {
        use State::{Failed, Passed, Skipped};
        let of = |known: &[FailedTest], results: &TestResults, is_all| {
            remaining(PYTEST, known, results, is_all)
        };
        let known = of(
            &[],
            &ran(
                &[("a.py::A::x", Failed), ("a.py::y[::]", Failed)],
                &["b.py"],
            ),
            true,
        );
        let file = FailedTest::of_file("b.py");
        assert_eq!(
            known,
            [node("a.py::A::x"), node("a.py::y[::]"), file.clone()]
        );
        assert_eq!(of(&known, &ran(&[("c.py::z", Passed)], &[]), false), known);
        assert_eq!(
            of(
                &known,
                &ran(&[("a.py::A::x", Skipped), ("b.py::z", Passed)], &[]),
                false
            ),
            known[..2]
        );
        assert_eq!(
            of(
                &known,
                &ran(&[("a.py::A::x", Passed), ("a.py::y[::]", Failed)], &[]),
                false
            ),
            [file, node("a.py::y[::]")]
        );
        // The state of a file that is not loaded now is unknown.
        let again = of(&known, &ran(&[], &["a.py"]), true);
        assert_eq!(
            again
                .iter()
                .map(|test| test.id.as_str())
                .collect::<Vec<_>>(),
            ["a.py::A::x", "a.py::y[::]", ""]
        );
        assert_eq!(of(&known, &ran(&[("a.py::A::x", Skipped)], &[]), true), []);
        let died = TestResults {
            ended: false,
            ..ran(&[("a.py::A::x", Passed)], &[])
        };
        assert_eq!(of(&known, &died, true), known[1..]);
    }
}
