//! Jest, through the bundled reporter (`jest/reporter.cjs`).

mod report;

use std::path::Path;

use serde::Deserialize;

use super::javascript;
use crate::cancel::Bound;
use crate::policy::{Checked, Read};
use crate::testrun::command::{Paths, Plan, Wanted, escape_regex, paths};
use crate::testrun::context::RunContext;
use crate::testrun::error::TestrunError;
use crate::testrun::model::TestStatus;
use crate::testrun::project::disk::Disk;
use crate::testrun::project::files::Target;
use crate::testrun::project::language::Language;
use crate::testrun::project::node;
use crate::testrun::project::program::Program;
use crate::testrun::project::script::Script;
use crate::testrun::project::signs::{Level, Sign, Weight, stronger};
use crate::testrun::reports::reading::{Sources, TestResults};
use crate::testrun::runner::{Asked, Counted, Runner, TestFiles, not_taken_up};
use crate::testrun::selection::Selection;
use crate::testrun::tool::Tool;

const REPORTER: (&str, &str) = ("replay-jest.cjs", include_str!("jest/reporter.cjs"));

pub struct Jest;

impl Tool for Jest {
    fn name(&self) -> &'static str {
        "jest"
    }

    fn title(&self) -> &'static str {
        "Jest"
    }

    fn language(&self) -> Option<Language> {
        Some(Language::JavaScript)
    }

    fn sign(&self, level: &Level<'_>) -> Sign {
        stronger(node::in_package(level, "jest"), level.configured("jest.config.")).or_else(|| {
            level.package().get("jest").is_some().then(|| (Weight::Named, "jest in package.json".to_owned()))
        })
    }

    fn program(&self, context: &RunContext<'_>, project: &Checked<Read>) -> Program {
        node::program(context.disk(), project.shown(), "jest", "jest")
    }

    fn is_in(&self, disk: Disk<'_>, dir: &Path) -> bool {
        node::find(disk, dir, "jest", "jest").is_some()
    }

    fn how_to_get(&self, _: &RunContext<'_>, _: &[String]) -> String {
        RunContext::not_found_hint("node")
    }
}

impl Runner for Jest {
    fn script(&self, context: &RunContext<'_>, project: &Path) -> (Script, Vec<String>) {
        javascript::script(context, project, self.name())
    }

    fn plan(&self, wanted: &Wanted<'_>) -> Result<Plan, TestrunError> {
        let mut plan = Plan::of(wanted);
        plan.report_by(wanted, REPORTER);
        plan.argv.extend([
            format!("--reporters={}/{}", wanted.place, REPORTER.0),
            // For the log.
            "--reporters=default".to_owned(),
            "--testLocationInResults".to_owned(),
            "--coverage=false".to_owned(),
        ]);
        plan.argv.extend(wanted.script.config.iter().map(|config| format!("--config={config}")));
        if *wanted.selection == Selection::Changed {
            plan.argv.push("--onlyChanged".to_owned());
        }
        javascript::names(&mut plan, wanted);
        let paths = paths(wanted, Paths::Patterns);
        let only_files = match wanted.selection {
            Selection::Targets(targets) => targets.iter().all(|target| !target.is_dir),
            _ => true,
        };
        if only_files && !paths.is_empty() {
            // Else they would be patterns.
            plan.argv.push("--runTestsByPath".to_owned());
            plan.argv.extend(paths);
        } else {
            plan.argv.extend(paths.iter().map(|path| escape_regex(path)));
        }
        Ok(plan)
    }

    fn count(&self, line: &[u8], counted: &mut Counted) {
        let event = serde_json::from_slice::<Event>(line);
        counted.done += u64::from(event.is_ok_and(|event| event.ev == "case"));
    }

    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
        report::parse(sources, bound)
    }

    fn has_reporter(&self) -> bool {
        true
    }

    fn nothing_ran(&self, results: &TestResults, exit_code: Option<i32>) -> TestStatus {
        match exit_code {
            // A filter that matches nothing.
            Some(1) if results.begun || results.remarks.contains("No tests found") => TestStatus::NoTests,
            Some(0) => TestStatus::NoTests,
            _ => TestStatus::ConfigError,
        }
    }

    fn is_test_name(&self, path: &Path) -> bool {
        javascript::is_test_name(path)
    }

    fn missed<'t>(&self, asked: &Asked<'_>, targets: &[&'t Target], results: &TestResults) -> Vec<&'t Target> {
        not_taken_up(asked, targets, results, |_| true)
    }

    fn test_files(&self) -> Option<TestFiles> {
        Some(javascript::TEST_FILES)
    }
}

#[derive(Deserialize)]
struct Event {
    #[serde(default)]
    ev: String,
}
