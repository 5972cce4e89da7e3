//! Mocha 8 and newer, with the bundled reporter (`mocha/reporter.cjs`).

use crate::prelude::*;

const REPORTER: Reporter = Reporter {
    file: "replay-mocha.cjs",
    text: concat!(
        include_str!("common.js"),
        include_str!("mocha/reporter.cjs")
    ),
};

/// Name of the configuration for named files.
const CONFIG: &str = "replay-mocharc.cjs";

/// Mocha 8 and newer.
pub(crate) struct Mocha;

impl ProjectTool for Mocha {
    fn about(&self) -> ToolDescription {
        ToolDescription::node("mocha", "Mocha 8 and newer", "mocha")
    }

    fn sign(&self, level: &ProjectLevel<'_>) -> Sign {
        stronger(
            node::package_sign(level, "mocha"),
            level.sign_of_prefix(".mocharc."),
        )
    }
}

impl Runner for Mocha {
    /// Mocha has no list of the files that a change affects: finds them by name.
    fn affected(&self, project: &Path, changes: &GitChanges) -> Option<AffectedTests> {
        Some(javascript::affected(project, changes))
    }

    fn valued_options(&self) -> Option<&'static str> {
        Some(
            "-f -g -j -n -r -s -t -u --config --extension --fgrep --file --global --grep \
             --ignore --jobs --node-option --package --require --retries --slow --timeout --ui",
        )
    }

    fn plan(&self, wanted: &RunInputs<'_>) -> Result<RunPlan, TestrunError> {
        let mut plan = javascript::program(wanted, None);
        plan.use_reporter(wanted, &REPORTER);
        plan.add([
            format!("--reporter={}/{}", wanted.place, REPORTER.file),
            "--no-bail".to_owned(),
        ]);
        let words = plan.argv.len();
        plan.select_names(wanted, "--grep", |failed| {
            let name = |test: &FailedTest| escape_regex(&test.names.join(" "));
            format!("^{}$", any_of(failed.iter().map(name)))
        });
        if plan.argv.len() > words {
            plan.add(["--reporter-option=filtered=true"]);
        }
        if !matches!(wanted.selection, TestSelection::All) {
            plan.files
                .push((CONFIG, include_str!("mocha/config.cjs").to_owned()));
            plan.add([format!("--config={}/{CONFIG}", wanted.place)]);
            plan.add(["--no-package"]);
        }
        let is_dir = |targets: &[NamedPath]| targets.iter().any(|target| target.is_dir);
        if matches!(wanted.selection, TestSelection::Targets(targets) if is_dir(targets)) {
            plan.add(["--recursive"]);
        }
        plan.add(javascript::script_paths(wanted, |dir| vec![dir]));
        Ok(plan)
    }

    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
        let mut reader = event_reader::read(sources, bound, &javascript::STYLE);
        if !reader.collector.results.begun {
            javascript::add_load_error(&mut reader.collector, sources);
        }
        reader.finish()
    }

    /// If Mocha finds no file, it exits with 1.
    fn ended_without_tests(&self, results: &TestResults, exit_code: Option<i32>) -> bool {
        exit_code == Some(0)
            || results.remarks.contains("No test files found")
            || results.begun && results.passed == Some(true)
    }
}
