//! Which tests have failed and not passed since, as the runner can be asked for them again.

use std::collections::{HashMap, HashSet};

use super::model::{Case, State, TestRunner};
use super::plan::FailedTest;
use super::reports::Parsed;
use crate::limits::MAX_KEPT_FAILURES;

/// What is on the list after a run: what failed in it, and of `known`, the list before, what did not pass in it. A run of
/// all tests (`is_all`) takes from it what is no longer among them. At most [`MAX_KEPT_FAILURES`] and what failed now.
pub fn left(runner: TestRunner, known: &[FailedTest], parsed: &Parsed, is_all: bool) -> Vec<FailedTest> {
    let failed = failed(runner, parsed);
    let states: HashMap<&str, State> = parsed.tests.iter().map(|test| (test.id.as_str(), test.state)).collect();
    let files: HashSet<&str> = parsed.tests.iter().map(|test| file_of(runner, &test.id)).collect();
    let unloaded: HashSet<&str> = parsed.file_errors.iter().map(|error| error.file.as_str()).collect();
    let is_whole =
        is_all && parsed.ended && !parsed.build_failed && (parsed.deselected, parsed.truncated.others) == (0, 0);
    let room = MAX_KEPT_FAILURES.saturating_sub(failed.len());
    let stays = |test: &&FailedTest| {
        if failed.contains(test) {
            return false;
        }
        let state = states.get(test.id.as_str()).filter(|_| !test.names.is_empty());
        match state {
            _ if test.names.is_empty() => !is_whole && !is_loaded(runner, &files, test, parsed),
            // Left out on purpose, since everything was asked for.
            Some(state) => *state != State::Passed && !is_whole,
            None => !is_whole || unloaded.contains(test.file.as_str()),
        }
    };
    known.iter().filter(stays).take(room).cloned().chain(failed.iter().cloned()).collect()
}

/// Whether a file that had failed as such was loaded in this run.
fn is_loaded(runner: TestRunner, files: &HashSet<&str>, test: &FailedTest, parsed: &Parsed) -> bool {
    match runner {
        // Nothing runs before all of it is compiled.
        TestRunner::CargoTest | TestRunner::Nextest | TestRunner::Go => {
            !parsed.build_failed && parsed.summary.ran() > 0
        }
        _ => files.contains(test.file.as_str()),
    }
}

/// The file in the id of a test.
pub fn file_of(runner: TestRunner, id: &str) -> &str {
    let file = id.split(if runner == TestRunner::Pytest { "::" } else { " > " }).next().unwrap_or(id);
    // Of a workspace: `|project| file`.
    file.strip_prefix('|').and_then(|rest| rest.split_once("| ")).map_or(file, |(_, file)| file)
}

/// What failed in a run.
fn failed(runner: TestRunner, parsed: &Parsed) -> Vec<FailedTest> {
    let of_file = |file: &str| FailedTest { id: String::new(), file: file.to_owned(), names: Vec::new() };
    let of_files = parsed.file_errors.iter().map(|error| of_file(&error.file));
    let of_unfinished = parsed.unfinished.iter().filter_map(|id| match runner {
        TestRunner::Pytest => Some(of_node(id)),
        TestRunner::Vitest | TestRunner::Jest => Some(of_file(file_of(runner, id))),
        _ => None,
    });
    parsed.failures.iter().map(|case| of_case(runner, case)).chain(of_files).chain(of_unfinished).collect()
}

fn of_case(runner: TestRunner, case: &Case) -> FailedTest {
    let id = case.id.clone();
    match runner {
        // An inherited test is declared in another file than the one that it is run by.
        TestRunner::Pytest => of_node(&id),
        TestRunner::Go | TestRunner::CargoTest | TestRunner::Nextest => {
            // The package, or the program of the tests, is the first of the suites.
            let names = case.suite.iter().skip(1).chain([&case.name]).cloned().collect();
            FailedTest { id, file: case.suite.first().cloned().unwrap_or_default(), names }
        }
        _ => {
            let file = case.file.clone().unwrap_or_else(|| file_of(runner, &id).to_owned());
            FailedTest { id, file, names: case.suite.iter().chain([&case.name]).cloned().collect() }
        }
    }
}

/// A test of pytest by its node id.
fn of_node(id: &str) -> FailedTest {
    let mut parts = id.split("::").map(str::to_owned);
    let file = parts.next().unwrap_or_default();
    FailedTest { id: id.to_owned(), file, names: parts.collect() }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::testrun::model::{FileError, Listed, Phase, Summary};

    fn ran(tests: &[(&str, State)], broken: &[&str]) -> Parsed {
        let listed = |(id, state): &(&str, State)| Listed { id: (*id).to_owned(), state: *state, duration_ms: None };
        let error = |file: &&str| FileError {
            file: (*file).to_owned(),
            phase: Phase::Collect,
            message: String::new(),
            line: None,
            column: None,
        };
        let cases = tests.iter().filter(|(_, state)| state.is_failure()).map(|(id, state)| Case::new(*id, "x", *state));
        Parsed {
            ended: true,
            failures: cases.collect(),
            tests: tests.iter().map(listed).collect(),
            file_errors: broken.iter().map(error).collect(),
            summary: Summary { passed: 1, ..Summary::default() },
            ..Parsed::default()
        }
    }

    #[test]
    fn a_test_leaves_the_list_when_it_passes() {
        use State::{Failed, Passed, Skipped};
        let of = |known: &[FailedTest], parsed: &Parsed, is_all| left(TestRunner::Pytest, known, parsed, is_all);
        let known = of(&[], &ran(&[("a.py::A::x", Failed), ("a.py::y[::]", Failed)], &["b.py"]), true);
        let file = FailedTest { id: String::new(), file: "b.py".to_owned(), names: Vec::new() };
        assert_eq!(known, [of_node("a.py::A::x"), of_node("a.py::y[::]"), file.clone()]);
        assert_eq!(of(&known, &ran(&[("c.py::z", Passed)], &[]), false), known);
        assert_eq!(of(&known, &ran(&[("a.py::A::x", Skipped), ("b.py::z", Passed)], &[]), false), known[..2]);
        assert_eq!(
            of(&known, &ran(&[("a.py::A::x", Passed), ("a.py::y[::]", Failed)], &[]), false),
            [file, of_node("a.py::y[::]")]
        );
        // Of a file that is not loaded now nothing is known.
        let again = of(&known, &ran(&[], &["a.py"]), true);
        assert_eq!(again.iter().map(|test| test.id.as_str()).collect::<Vec<_>>(), ["a.py::A::x", "a.py::y[::]", ""]);
        assert_eq!(of(&known, &ran(&[("a.py::A::x", Skipped)], &[]), true), []);
        let died = Parsed { ended: false, ..ran(&[("a.py::A::x", Passed)], &[]) };
        assert_eq!(of(&known, &died, true), known[1..]);
    }
}
