//! Vitest 3 to 5, with the bundled reporter (`vitest/reporter.mjs`).

mod report;

use crate::listing::listed;
use crate::prelude::*;

const REPORTER: Reporter = Reporter {
    file: "replay-vitest.mjs",
    text: concat!(
        include_str!("common.js"),
        include_str!("vitest/reporter.mjs")
    ),
};

/// Vitest 3 to 5.
pub(crate) struct Vitest;

impl ProjectTool for Vitest {
    fn about(&self) -> ToolDescription {
        ToolDescription::node("vitest", "Vitest 3 to 5", "vitest")
    }

    fn sign(&self, level: &ProjectLevel<'_>) -> Sign {
        stronger(
            node::package_sign(level, "vitest"),
            level
                .sign_of_prefix("vitest.config.")
                .or_else(|| level.sign_of_prefix("vitest.workspace.")),
        )
        .or_else(|| node::import_sign(level, "vitest"))
    }
}

impl Runner for Vitest {
    fn plan(&self, wanted: &RunInputs<'_>) -> Result<RunPlan, TestrunError> {
        let mut plan = javascript::program(wanted, Some("run"));
        plan.use_reporter(wanted, &REPORTER);
        plan.add([
            format!("--reporter={}/{}", wanted.place, REPORTER.file),
            // For the log. It comes last: a failing reporter keeps later ones from getting the end
            // event.
            "--reporter=default".to_owned(),
            "--includeTaskLocation".to_owned(),
            // A partial run would miss the thresholds for all tests, and would overwrite the
            // project's report.
            "--coverage.enabled=false".to_owned(),
        ]);
        if *wanted.selection == TestSelection::Changed {
            plan.add(["--changed"]);
        }
        javascript::select(&mut plan, wanted, "--testNamePattern");
        plan.add(paths(wanted, PathStyle::Patterns));
        Ok(plan)
    }

    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
        report::parse(sources, bound)
    }

    /// If a filter matches no test, Vitest exits with 1.
    fn ended_without_tests(&self, results: &TestResults, exit_code: Option<i32>) -> bool {
        exit_code == Some(0)
            || exit_code == Some(1) && results.begun && results.unreached.is_empty()
    }

    fn note(
        &self,
        selection: &TestSelection,
        results: &TestResults,
        root: &Path,
    ) -> Option<String> {
        const MAX_NAMED: usize = 5;
        let TestSelection::Targets(targets) = selection else {
            return None;
        };
        if targets
            .iter()
            .any(|target| target.is_dir || !target.part.is_empty())
        {
            return None;
        }
        let wanted: Vec<String> = targets
            .iter()
            .map(|target| target.below(root.as_ref()))
            .collect();
        let others = results
            .files
            .iter()
            .filter(|file| !wanted.contains(file))
            .cloned()
            .collect();
        listed(others, MAX_NAMED).map(|others| {
            format!(
                "these ran, too, since the runner matches parts of paths: \
                {others}"
            )
        })
    }
}
