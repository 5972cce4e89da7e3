//! Vitest 3 to 5, through the bundled reporter (`vitest/reporter.mjs`).

mod report;

use std::path::Path;

use serde::Deserialize;

use super::javascript;
use crate::cancel::Bound;
use crate::policy::{Checked, Read};
use crate::testrun::command::{Paths, Plan, Wanted, paths};
use crate::testrun::context::RunContext;
use crate::testrun::error::TestrunError;
use crate::testrun::model::TestStatus;
use crate::testrun::project::disk::Disk;
use crate::testrun::project::files::Target;
use crate::testrun::project::language::Language;
use crate::testrun::project::node;
use crate::testrun::project::program::Program;
use crate::testrun::project::script::Script;
use crate::testrun::project::signs::{Level, Sign, stronger};
use crate::testrun::reports::reading::{Sources, TestResults};
use crate::testrun::runner::{Asked, Counted, Runner, TestFiles, not_taken_up};
use crate::testrun::selection::Selection;
use crate::testrun::tool::Tool;

const REPORTER: (&str, &str) = ("replay-vitest.mjs", include_str!("vitest/reporter.mjs"));

/// Vitest 3 to 5.
pub struct Vitest;

impl Tool for Vitest {
    fn name(&self) -> &'static str {
        "vitest"
    }

    fn title(&self) -> &'static str {
        "Vitest 3 to 5"
    }

    fn language(&self) -> Option<Language> {
        Some(Language::JavaScript)
    }

    fn sign(&self, level: &Level<'_>) -> Sign {
        stronger(
            node::in_package(level, "vitest"),
            level.configured("vitest.config.").or_else(|| level.configured("vitest.workspace.")),
        )
        .or_else(|| node::imported(level, "vitest"))
    }

    fn program(&self, context: &RunContext<'_>, project: &Checked<Read>) -> Program {
        node::program(context.disk(), project.shown(), "vitest", "vitest")
    }

    fn is_in(&self, disk: Disk<'_>, dir: &Path) -> bool {
        node::find(disk, dir, "vitest", "vitest").is_some()
    }

    fn how_to_get(&self, _: &RunContext<'_>, _: &[String]) -> String {
        RunContext::not_found_hint("node")
    }
}

impl Runner for Vitest {
    fn script(&self, context: &RunContext<'_>, project: &Path) -> (Script, Vec<String>) {
        javascript::script(context, project, self.name())
    }

    fn plan(&self, wanted: &Wanted<'_>) -> Result<Plan, TestrunError> {
        let mut plan = Plan::of(wanted);
        plan.report_by(wanted, REPORTER);
        plan.argv.extend([
            "run".to_owned(),
            format!("--reporter={}/{}", wanted.place, REPORTER.0),
            // For the log, and last: one that fails keeps those behind it from hearing of the end.
            "--reporter=default".to_owned(),
            "--includeTaskLocation".to_owned(),
            // A run of some tests would fail by the thresholds for all of them, and would replace the project's report.
            "--coverage.enabled=false".to_owned(),
        ]);
        plan.argv.extend(wanted.script.config.iter().map(|config| format!("--config={config}")));
        if *wanted.selection == Selection::Changed {
            plan.argv.push("--changed".to_owned());
        }
        javascript::names(&mut plan, wanted);
        plan.argv.extend(paths(wanted, Paths::Patterns));
        Ok(plan)
    }

    fn count(&self, line: &[u8], counted: &mut Counted) {
        let Ok(event) = serde_json::from_slice::<Event>(line) else { return };
        match event.ev.as_str() {
            "collected" => counted.total += event.tests,
            "test" => counted.done += 1,
            _ => {}
        }
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
            Some(1) if results.begun => TestStatus::NoTests,
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

    fn note(&self, selection: &Selection, results: &TestResults, root: &Path) -> Option<String> {
        const NAMED: usize = 5;
        let Selection::Targets(targets) = selection else { return None };
        if targets.iter().any(|target| target.is_dir || !target.part.is_empty()) {
            return None;
        }
        let wanted: Vec<String> = targets.iter().map(|target| target.below(root.as_ref())).collect();
        let mut others: Vec<String> = results.files.iter().cloned().collect();
        others.retain(|file| !wanted.contains(file));
        let more = if others.len() > NAMED { format!(" and {} more", others.len() - NAMED) } else { String::new() };
        others.truncate(NAMED);
        (!others.is_empty())
            .then(|| format!("ran too, since the runner matches parts of paths: {}{more}", others.join(", ")))
    }
}

#[derive(Deserialize)]
struct Event {
    #[serde(default)]
    ev: String,
    #[serde(default)]
    tests: u64,
}
