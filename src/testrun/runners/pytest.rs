//! pytest 6 and newer, through the bundled plugin (`pytest/replay_pytest.py`).

mod hints;
mod report;

use std::path::Path;

use serde::Deserialize;

use crate::cancel::Bound;
use crate::limits::MAX_RERUN_TESTS;
use crate::policy::{Checked, Read};
use crate::testrun::changes::{Affected, Changes};
use crate::testrun::command::{Paths, Plan, Wanted, paths, safe};
use crate::testrun::context::RunContext;
use crate::testrun::error::TestrunError;
use crate::testrun::model::{Case, TestReport, TestStatus};
use crate::testrun::project::disk::Disk;
use crate::testrun::project::files::Target;
use crate::testrun::project::language::Language;
use crate::testrun::project::program::Program;
use crate::testrun::project::python;
use crate::testrun::project::signs::{Level, Sign};
use crate::testrun::reports::reading::{Sources, TestResults};
use crate::testrun::runner::{Asked, Counted, Runner, TestFiles, not_taken_up};
use crate::testrun::selection::{FailedTest, Selection};
use crate::testrun::tool::Tool;
use crate::text::glob::escape;

const PLUGIN: (&str, &str) = ("replay_pytest.py", include_str!("pytest/replay_pytest.py"));

/// pytest 6 and newer.
pub struct Pytest;

impl Tool for Pytest {
    fn name(&self) -> &'static str {
        "pytest"
    }

    fn title(&self) -> &'static str {
        "pytest 6 and newer"
    }

    fn language(&self) -> Option<Language> {
        Some(Language::Python)
    }

    fn sign(&self, level: &Level<'_>) -> Sign {
        level
            .named("pytest.ini")
            .or_else(|| level.section("pyproject.toml", "[tool.pytest"))
            .or_else(|| level.section("setup.cfg", "[tool:pytest]"))
            .or_else(|| level.section("tox.ini", "[pytest]"))
            .or_else(|| python::habits(level))
    }

    fn program(&self, context: &RunContext<'_>, project: &Checked<Read>) -> Program {
        Program::Found(python::module(context.disk(), project.shown(), self.name()), None)
    }

    fn is_in(&self, disk: Disk<'_>, dir: &Path) -> bool {
        python::is_installed(disk, dir, self.name())
    }

    fn how_to_get(&self, context: &RunContext<'_>, argv: &[String]) -> String {
        context.how_to_install(argv, self.name())
    }
}

impl Runner for Pytest {
    fn lies_in_projects(&self) -> bool {
        true
    }

    fn takes_parts(&self) -> bool {
        true
    }

    /// By name and place.
    fn affected(&self, project: &Path, changes: &Changes) -> Option<Affected> {
        let mut affected = Affected::default();
        for (file, is_there) in changes.of(project) {
            let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if is_there && name == "conftest.py" {
                let dir = file.parent().unwrap_or(project);
                affected.targets.insert(Target::whole(dir.to_path_buf(), true));
            } else if is_there && python::is_test_name(name) {
                affected.targets.insert(Target::whole(file.clone(), false));
            } else if let Some(glob) = named_after(file) {
                affected.globs.push((glob, file.clone()));
            } else {
                affected.unknown.push(file.clone());
            }
        }
        Some(affected)
    }

    fn plan(&self, wanted: &Wanted<'_>) -> Result<Plan, TestrunError> {
        let mut plan = Plan::of(wanted);
        plan.report_by(wanted, PLUGIN);
        // Compiled files and the plugin's cache stay out of the project.
        plan.environment.push(("PYTHONPYCACHEPREFIX", format!("{}/python-cache", wanted.tmp)));
        plan.python_path = Some(wanted.place.to_owned());
        plan.argv
            .extend(["-p", "replay_pytest", "--continue-on-collection-errors", "--color=no", "-o"].map(str::to_owned));
        plan.argv.push(format!("cache_dir={}/pytest-cache", wanted.place));
        // Node ids are told from there, and asked for from there.
        plan.argv.push(format!("--rootdir={}", wanted.project.display()));
        if let Some(filter) = wanted.filter {
            plan.argv.push(format!("-k{filter}"));
        }
        if let Selection::Failed(failed) = wanted.selection
            && failed.len() <= MAX_RERUN_TESTS
        {
            // Of a file that did not load there is no name, and the file is asked for.
            let id = |test: &FailedTest| safe([&[test.file.clone()][..], &test.names].concat().join("::"));
            plan.argv.extend(failed.iter().map(id));
        } else {
            plan.argv.extend(paths(wanted, Paths::Exact));
        }
        Ok(plan)
    }

    fn count(&self, line: &[u8], counted: &mut Counted) {
        let Ok(event) = serde_json::from_slice::<Event>(line) else { return };
        match event.ev.as_str() {
            // Every worker of xdist tells the same number.
            "collected" => counted.total = counted.total.max(event.tests),
            "phase" if event.when == "teardown" => counted.done += 1,
            _ => {}
        }
    }

    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
        report::parse(sources, bound)
    }

    fn has_reporter(&self) -> bool {
        true
    }

    fn nothing_ran(&self, _: &TestResults, exit_code: Option<i32>) -> TestStatus {
        // A filter that matches nothing exits with 5.
        if matches!(exit_code, Some(0 | 5)) { TestStatus::NoTests } else { TestStatus::ConfigError }
    }

    fn file_of<'a>(&self, id: &'a str) -> &'a str {
        id.split("::").next().unwrap_or(id)
    }

    /// By the node id: an inherited test is declared in another file than the one that it is run by.
    fn failed(&self, case: &Case) -> FailedTest {
        of_node(&case.id)
    }

    fn unfinished(&self, id: &str) -> Option<FailedTest> {
        Some(of_node(id))
    }

    fn is_test_name(&self, path: &Path) -> bool {
        path.file_name().and_then(|name| name.to_str()).is_some_and(python::is_test_name)
    }

    fn missed<'t>(&self, asked: &Asked<'_>, targets: &[&'t Target], results: &TestResults) -> Vec<&'t Target> {
        // What a filter left out of a file is not told by name.
        not_taken_up(asked, targets, results, |target| {
            target.part.is_empty() || asked.is_filtered || has_run(&target.below(asked.project), results)
        })
    }

    fn test_files(&self) -> Option<TestFiles> {
        Some(TestFiles { globs: &["**/test_*.py", "**/*_test.py"], copies: &[], marker: "def test" })
    }

    fn hint(&self, context: &RunContext<'_>, report: &TestReport, _: bool) -> Option<String> {
        hints::hint(context, report)
    }
}

/// A test of pytest by its node id.
fn of_node(id: &str) -> FailedTest {
    let mut parts = id.split("::").map(str::to_owned);
    let file = parts.next().unwrap_or_default();
    FailedTest { id: id.to_owned(), file, names: parts.collect() }
}

/// Whether a test of pytest ran that a node id names: a test, one of its parameters, or one of a class.
fn has_run(id: &str, results: &TestResults) -> bool {
    let is_of = |test: &str| {
        test.strip_prefix(id).is_some_and(|rest| rest.is_empty() || rest.starts_with('[') || rest.starts_with("::"))
    };
    results.tests.iter().any(|test| is_of(&test.id)) || results.unfinished.iter().any(|test| is_of(test))
}

/// The glob for tests of pytest that are named after a source file; none if it is no such file.
fn named_after(file: &Path) -> Option<String> {
    let name = file.file_name()?.to_str()?;
    let stem = name.strip_suffix(".py").filter(|_| !python::is_test_name(name) && name != "conftest.py")?;
    // A package is tested under its own name.
    let package = || file.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    let stem = escape(package().filter(|_| stem == "__init__").unwrap_or(stem));
    Some(format!("**/{{test_{stem},{stem}_test,test_{stem}_*}}.py"))
}

#[derive(Deserialize)]
struct Event {
    #[serde(default)]
    ev: String,
    #[serde(default)]
    tests: u64,
    #[serde(default)]
    when: String,
}
