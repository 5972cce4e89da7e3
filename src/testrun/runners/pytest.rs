//! pytest 6 and newer, with the bundled plugin (`pytest/replay_pytest.py`).

mod hints;
mod report;

use replay_base::limits::MAX_RERUN_TESTS;
use replay_base::text::glob::escape;

use crate::prelude::*;

const PLUGIN: Reporter = Reporter {
    file: "replay_pytest.py",
    text: include_str!("pytest/replay_pytest.py"),
};

/// pytest 6 and newer.
pub(crate) struct Pytest;

impl ProjectTool for Pytest {
    fn about(&self) -> &'static ToolDescription {
        &ToolDescription {
            name: "pytest",
            title: "pytest 6 and newer",
            language: Some(Language::Python),
            origin: ProgramOrigin::Python("pytest"),
        }
    }

    fn sign(&self, level: &ProjectLevel<'_>) -> Sign {
        level
            .sign_of_file("pytest.ini")
            .or_else(|| level.section("pyproject.toml", "[tool.pytest"))
            .or_else(|| level.section("setup.cfg", "[tool:pytest]"))
            .or_else(|| level.section("tox.ini", "[pytest]"))
            .or_else(|| python::default_test_sign(level))
    }
}

impl Runner for Pytest {
    fn has_reporter(&self) -> bool {
        true
    }

    /// Finds them by name and directory.
    fn affected(&self, project: &Path, changes: &GitChanges) -> Option<AffectedTests> {
        let mut affected = AffectedTests::default();
        for (file, is_there) in changes.of(project) {
            if is_there && file.ends_with("conftest.py") {
                let dir = file.parent().unwrap_or(project);
                affected
                    .targets
                    .insert(NamedPath::whole(dir.to_path_buf(), true));
            } else if is_there && Language::Python.is_test_name(file) {
                affected
                    .targets
                    .insert(NamedPath::whole(file.clone(), false));
            } else if let Some(glob) = named_after(file) {
                affected.globs.push((glob, file.clone()));
            } else {
                affected.unknown.push(file.clone());
            }
        }
        Some(affected)
    }

    fn plan(&self, wanted: &RunInputs<'_>) -> Result<RunPlan, TestrunError> {
        let mut plan = RunPlan::of(wanted);
        plan.use_reporter(wanted, &PLUGIN);
        // Keep compiled files and the plugin's cache out of the project.
        plan.environment.push((
            "PYTHONPYCACHEPREFIX",
            format!("{}/python-cache", wanted.tmp),
        ));
        // Many images set this variable. An empty value disables it, so that the next run finds
        // this run's compiled files.
        plan.environment
            .push(("PYTHONDONTWRITEBYTECODE", String::new()));
        plan.python_path = Some(wanted.place.to_owned());
        plan.add([
            "-p",
            "replay_pytest",
            "--continue-on-collection-errors",
            "--color=no",
            "-o",
        ]);
        plan.argv
            .push(format!("cache_dir={}/pytest-cache", wanted.place));
        // Node ids are relative to it, in reports and in requests.
        plan.argv
            .push(format!("--rootdir={}", wanted.project.display()));
        if let Some(filter) = wanted.filter {
            plan.argv.push(format!("-k{filter}"));
        }
        if let TestSelection::Failed(failed) = wanted.selection
            && failed.len() <= MAX_RERUN_TESTS
        {
            // For a file that did not load, request the whole file.
            let id = |test: &FailedTest| {
                safe([&[test.file.clone()][..], &test.names].concat().join("::"))
            };
            plan.argv.extend(failed.iter().map(id));
        } else {
            plan.argv.extend(paths(wanted, PathStyle::Exact));
        }
        Ok(plan)
    }

    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
        report::parse(sources, bound)
    }

    /// If a filter matches no test, pytest exits with 5.
    fn ended_without_tests(&self, _: &TestResults, exit_code: Option<i32>) -> bool {
        matches!(exit_code, Some(0 | 5))
    }

    fn missed<'t>(
        &self,
        evidence: &Evidence<'_>,
        targets: &[&'t NamedPath],
        results: &TestResults,
    ) -> Vec<&'t NamedPath> {
        // pytest does not name the tests of a file that a filter deselects.
        not_collected(evidence, targets, results, |target| {
            target.part.is_empty()
                || evidence.is_filtered
                || has_run(&target.below(evidence.project), results)
        })
    }

    fn hint(&self, context: &RunContext<'_>, report: &TestReport, _: bool) -> Option<String> {
        hints::hint(context, report)
    }
}

/// Returns true if a test with this node id ran: the test, one of its parameters, or one of a
/// class.
fn has_run(id: &str, results: &TestResults) -> bool {
    let is_of = |test: &str| {
        test.strip_prefix(id)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('[') || rest.starts_with("::"))
    };
    results.tests.iter().any(|test| is_of(&test.id))
        || results.unfinished.iter().any(|test| is_of(test))
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
