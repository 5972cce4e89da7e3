//! Playwright Test, with the bundled reporter (`playwright/reporter.cjs`).

use crate::prelude::*;

const REPORTER: Reporter = Reporter {
    file: "replay-playwright.cjs",
    text: concat!(
        include_str!("common.js"),
        include_str!("playwright/reporter.cjs")
    ),
};

/// Playwright Test.
pub(crate) struct Playwright;

impl ProjectTool for Playwright {
    fn about(&self) -> ToolDescription {
        ToolDescription::node("playwright", "Playwright Test", "@playwright/test")
    }

    fn sign(&self, level: &ProjectLevel<'_>) -> Sign {
        let is_called = |script: &str| script.contains("playwright test");
        stronger(
            node::script_sign(level, "playwright test", &is_called),
            level
                .sign_of_prefix("playwright.config.")
                .or_else(|| node::dependency_sign(level, "@playwright/test")),
        )
    }
}

impl Runner for Playwright {
    fn valued_options(&self) -> Option<&'static str> {
        Some(
            "-c -g -gv -j --config --global-timeout --grep --grep-invert --output --project \
             --repeat-each --retries --shard --timeout --trace --tsconfig --workers",
        )
    }

    fn plan(&self, wanted: &RunInputs<'_>) -> Result<RunPlan, TestrunError> {
        let mut plan = javascript::program(wanted, Some("test"));
        plan.use_reporter(wanted, &REPORTER);
        // The second one is for the log.
        plan.add([format!(
            "--reporter={}/{},list",
            wanted.place, REPORTER.file
        )]);
        if *wanted.selection == TestSelection::Changed {
            plan.add(["--only-changed"]);
        }
        plan.select_names(wanted, "--grep", |failed| {
            // The title begins with the project and the file, and ends with the tags.
            let name = |test: &FailedTest| escape_regex(&test.names.join(" "));
            format!(" {}(?: @\\S+)*$", any_of(failed.iter().map(name)))
        });
        if *wanted.selection == TestSelection::All {
            plan.add(javascript::script_paths(wanted, |dir| vec![dir]));
        } else {
            // They are regular expressions over absolute paths.
            let whole = |path: String| {
                let end = if path.ends_with('/') { "" } else { "$" };
                let path = wanted.project.join(path).to_string_lossy().into_owned();
                format!("^{}{end}", escape_regex(&path))
            };
            plan.add(paths(wanted, PathStyle::Patterns).into_iter().map(whole));
        }
        Ok(plan)
    }

    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
        event_reader::read(sources, bound, &javascript::STYLE).finish()
    }

    /// If Playwright finds no test, it exits with 1.
    fn ended_without_tests(&self, results: &TestResults, exit_code: Option<i32>) -> bool {
        exit_code == Some(0) || results.ended
    }

    fn hint(&self, context: &RunContext<'_>, report: &TestReport, _: bool) -> Option<String> {
        let errors = report.failures.iter().flat_map(|case| &case.errors);
        let lacks_browser = |error: &TestError| error.message.contains("Executable doesn't exist");
        errors
            .into_iter()
            .any(lacks_browser)
            .then(|| context.install_hint("npx playwright install", ""))
    }
}
