//! Jest, with the bundled reporter (`jest/reporter.cjs`).

mod report;

use crate::prelude::*;

const REPORTER: Reporter = Reporter {
    file: "replay-jest.cjs",
    text: concat!(include_str!("common.js"), include_str!("jest/reporter.cjs")),
};

pub(crate) struct Jest;

impl ProjectTool for Jest {
    fn about(&self) -> ToolDescription {
        ToolDescription::node("jest", "Jest", "jest")
    }

    fn sign(&self, level: &ProjectLevel<'_>) -> Sign {
        stronger(
            node::package_sign(level, "jest"),
            level.sign_of_prefix("jest.config."),
        )
        .or_else(|| {
            level
                .package()
                .get("jest")
                .is_some()
                .then(|| named("jest in package.json"))
        })
    }
}

impl Runner for Jest {
    fn plan(&self, wanted: &RunInputs<'_>) -> Result<RunPlan, TestrunError> {
        let mut plan = javascript::program(wanted, None);
        plan.use_reporter(wanted, &REPORTER);
        plan.add([
            format!("--reporters={}/{}", wanted.place, REPORTER.file),
            // For the log.
            "--reporters=default".to_owned(),
            "--testLocationInResults".to_owned(),
            "--coverage=false".to_owned(),
        ]);
        if *wanted.selection == TestSelection::Changed {
            plan.add(["--onlyChanged"]);
        }
        javascript::select(&mut plan, wanted, "--testNamePattern");
        let paths = paths(wanted, PathStyle::Patterns);
        let only_files = match wanted.selection {
            TestSelection::Targets(targets) => targets.iter().all(|target| !target.is_dir),
            _ => true,
        };
        if only_files && !paths.is_empty() {
            // Otherwise they would be patterns.
            plan.add(["--runTestsByPath"]);
            plan.add(paths);
        } else {
            plan.add(paths.iter().map(|path| escape_regex(path)));
        }
        Ok(plan)
    }

    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
        report::parse(sources, bound)
    }

    /// If a filter matches no test, Jest exits with 1.
    fn ended_without_tests(&self, results: &TestResults, exit_code: Option<i32>) -> bool {
        let is_told = results.begun || results.remarks.contains("No tests found");
        exit_code == Some(0) || exit_code == Some(1) && is_told
    }
}
