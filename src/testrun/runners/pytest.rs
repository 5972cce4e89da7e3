//! pytest 6 and newer, with the bundled plugin (`pytest/replay_pytest.py`).

mod hints;
mod report;

use super::django::Django;
use super::unittest::Unittest;
use crate::prelude::*;

const PLUGIN: Reporter = Reporter {
    file: "replay_pytest.py",
    text: include_str!("pytest/replay_pytest.py"),
};

/// pytest 6 and newer.
pub(crate) struct Pytest;

impl ProjectTool for Pytest {
    fn about(&self) -> ToolDescription {
        ToolDescription::python("pytest", "pytest 6 and newer")
    }

    fn sign(&self, level: &ProjectLevel<'_>) -> Sign {
        configured(level).or_else(|| python::default_test_sign(level))
    }
}

/// Returns the sign of pytest's configuration.
fn configured(level: &ProjectLevel<'_>) -> Sign {
    level
        .sign_of_file("pytest.ini")
        .or_else(|| level.section("pyproject.toml", "[tool.pytest"))
        .or_else(|| level.section("setup.cfg", "[tool:pytest]"))
        .or_else(|| level.section("tox.ini", "[pytest]"))
}

impl Runner for Pytest {
    /// Without a configuration of pytest, tests may be for another runner.
    fn substitute(&self, context: &RunContext<'_>, project: &Checked<Read>) -> Substitution {
        let (disk, dir) = (context.disk(), project.display_path());
        let level = ProjectLevel::at(&disk, dir).filter(|level| configured(level).is_none());
        let Some(level) = level else {
            return Ok(None);
        };
        if Django.sign(&level).is_some() {
            let why = "run by Django's test command (manage.py), since pytest is not configured";
            return Ok(Some((&Django, why)));
        }
        if Unittest.sign(&level).is_none() || context.has_python_package(project, "pytest")? {
            return Ok(None);
        }
        let why = "run by unittest, since pytest is neither configured nor installed";
        Ok(Some((&Unittest, why)))
    }

    fn plan(&self, wanted: &RunInputs<'_>) -> Result<RunPlan, TestrunError> {
        let mut plan = python_tests::plan(wanted, &PLUGIN);
        plan.add([
            "-p",
            "replay_pytest",
            "--continue-on-collection-errors",
            "--color=no",
            "-o",
        ]);
        plan.add([format!("cache_dir={}/pytest-cache", wanted.place)]);
        // Node ids are relative to it, in reports and in requests.
        plan.add([format!("--rootdir={}", wanted.project.display())]);
        python_tests::select(&mut plan, wanted);
        Ok(plan)
    }

    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
        report::parse(sources, bound)
    }

    /// If a filter matches no test, pytest exits with 5.
    fn ended_without_tests(&self, _: &TestResults, exit_code: Option<i32>) -> bool {
        matches!(exit_code, Some(0 | 5))
    }

    fn hint(&self, context: &RunContext<'_>, report: &TestReport, _: bool) -> Option<String> {
        hints::hint(context, report)
    }
}
