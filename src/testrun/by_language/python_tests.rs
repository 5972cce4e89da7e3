//! pytest, unittest and Django: the command, the selection by node ids, and the events of the bundled
//! reporters.

use std::path::Path;

use replay_base::cancel::Bound;
use replay_base::limits::MAX_RERUN_TESTS;
use replay_base::text::glob::escape;

use crate::changes::{AffectedTests, FileEffect, GitChanges};
use crate::command::{PathStyle, Reporter, RunInputs, RunPlan, paths, safe};
use crate::completeness_input::{Evidence, not_collected};
use crate::project::files::NamedPath;
use crate::project::language::Language;
use crate::reports::event_reader::{self, EventStyle};
use crate::reports::results::{Sources, TestResults};
use crate::reports::{python_text, stack};
use crate::selection::{FailedTest, TestSelection};

/// Starts the plan of a run with a bundled reporter.
pub(crate) fn plan(wanted: &RunInputs<'_>, reporter: &Reporter) -> RunPlan {
    let mut plan = RunPlan::of(wanted);
    plan.use_reporter(wanted, reporter);
    let shared = include_str!("python_tests/replay_events.py");
    plan.files.push(("replay_events.py", shared.to_owned()));
    // Keep compiled files out of the project.
    plan.environment.push((
        "PYTHONPYCACHEPREFIX",
        format!("{}/python-cache", wanted.tmp),
    ));
    // Many images set this variable. An empty value disables it, so that the next run finds this
    // run's compiled files.
    plan.environment
        .push(("PYTHONDONTWRITEBYTECODE", String::new()));
    plan.python_path = Some(wanted.place.to_owned());
    plan
}

/// Adds the filter, and the selected files, directories and node ids.
pub(crate) fn select(plan: &mut RunPlan, wanted: &RunInputs<'_>) {
    plan.add(wanted.filter.map(|filter| format!("-k{filter}")));
    plan.add(targets(wanted));
}

fn targets(wanted: &RunInputs<'_>) -> Vec<String> {
    match wanted.selection {
        TestSelection::Failed(failed) if failed.len() <= MAX_RERUN_TESTS => {
            // For a file that did not load, request the whole file.
            let id = |test: &FailedTest| {
                safe([&[test.file.clone()][..], &test.names].concat().join("::"))
            };
            failed.iter().map(id).collect()
        }
        // No argument may hold a NUL.
        _ => paths(wanted, PathStyle::Exact)
            .into_iter()
            .map(|path| path.replace('\0', "\\x00"))
            .collect(),
    }
}

/// Returns the tests that changes affect, by name and directory.
pub(crate) fn affected(project: &Path, changes: &GitChanges) -> AffectedTests {
    changes.effects(project, |file, is_there| {
        if is_there && file.ends_with("conftest.py") {
            FileEffect::whole(file.parent().unwrap_or(project), true)
        } else if is_there && Language::Python.is_test_name(file) {
            FileEffect::whole(file, false)
        } else {
            named_after(file).map_or(FileEffect::Unknown, FileEffect::Glob)
        }
    })
}

/// Reads the events of a run, and what Python itself writes at a timeout or a crash.
pub(crate) fn parse(sources: &Sources<'_>, bound: Bound<'_>, style: &EventStyle) -> TestResults {
    let mut reader = event_reader::read(sources, bound, style);
    let collector = &mut reader.collector;
    let stderr = String::from_utf8_lossy(sources.stderr);
    // After the end of the tests `held` has more details.
    let ended_at = python_text::ended_at(&stderr).filter(|_| !collector.results.ended);
    for frames in ended_at
        .filter(|frames| frames.iter().any(|frame| !stack::is_library(&frame.file)))
        .collect::<Vec<_>>()
    {
        collector.run_error(Some("asked to end"), "what ran then", frames);
    }
    if let Some((why, frames)) = python_text::fatal_error(&stderr) {
        collector.run_error(Some("Fatal Python error"), why, frames);
    }
    reader.finish()
}

/// Returns the named targets that did not run.
pub(crate) fn missed<'t>(evidence: &Evidence<'_>, targets: &[&'t NamedPath]) -> Vec<&'t NamedPath> {
    // The tests of a file that a filter deselects are not named.
    not_collected(evidence, targets, |target| {
        target.part.is_empty()
            || evidence.is_filtered
            || has_run(&target.below(evidence.project), evidence.results)
    })
}

/// Returns true if a test with this node id ran: the test, one of its parameters, or one of a
/// class.
fn has_run(id: &str, results: &TestResults) -> bool {
    let id = ascii_id(id);
    let is_of = |test: &str| {
        ascii_id(test)
            .strip_prefix(&id)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('[') || rest.starts_with("::"))
    };
    results.tests.iter().any(|test| is_of(&test.id))
        || results.unfinished.iter().any(|test| is_of(test))
}

/// Returns a node id with its parameters as pytest writes them unless the project disables it: ASCII,
/// without control characters.
fn ascii_id(id: &str) -> String {
    let (name, parameters) = id.split_at(id.find('[').unwrap_or(id.len()));
    let escaped = parameters.chars().map(|next| match (next, next as u32) {
        (' '..='~', _) => next.to_string(),
        ('\t' | '\n' | '\r', _) => next.escape_default().to_string(),
        (_, code @ 0..=0xff) => format!("\\x{code:02x}"),
        (_, code @ 0..=0xffff) => format!("\\u{code:04x}"),
        (_, code) => format!("\\U{code:08x}"),
    });
    [name.to_owned()].into_iter().chain(escaped).collect()
}

/// Returns the glob for tests named after a source file; `None` for other files.
fn named_after(file: &Path) -> Option<String> {
    let name = file.file_name()?.to_str()?;
    let stem = name
        .strip_suffix(".py")
        .filter(|_| !Language::Python.is_test_name(file) && name != "conftest.py")?;
    // Tests of a package have the name of the package.
    let package = || {
        file.parent()
            .and_then(Path::file_name)
            .and_then(|name| name.to_str())
    };
    let stem = escape(package().filter(|_| stem == "__init__").unwrap_or(stem));
    Some(format!("**/{{test_{stem},{stem}_test,test_{stem}_*}}.py"))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn parameters_of_node_id_are_escaped_as_pytest_does() {
        let ids = ["t_ü.py::t[ü b]", "t[a[0]-日\t\0]", "t[😀\\x]", "t.py::t_ü"];
        assert_eq!(
            ids.map(ascii_id),
            [
                r"t_ü.py::t[\xfc b]",
                r"t[a[0]-\u65e5\t\x00]",
                r"t[\U0001f600\x]",
                "t.py::t_ü"
            ]
        );
    }
}
