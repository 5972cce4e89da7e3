//! Any command that runs tests: its report is `JUnit` XML, trx or TAP, or its exit code decides.

use crate::prelude::*;

/// Any command that runs tests.
pub(crate) struct AnyCommand;

impl ProjectTool for AnyCommand {
    fn about(&self) -> ToolDescription {
        ToolDescription {
            name: "command",
            title: "any `command`; JUnit XML, TAP or trx gives counts and places",
            language: None,
            origin: crate::tool::ProgramOrigin::Path("sh"),
        }
    }
}

impl Runner for AnyCommand {
    fn plan(&self, wanted: &RunInputs<'_>) -> Result<RunPlan, TestrunError> {
        Ok(RunPlan::of(wanted))
    }

    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
        let results = documents::parse(sources, bound);
        TestResults {
            has_no_report: !results.begun && sources.report.is_empty(),
            ..results
        }
    }

    /// A command that should have written a report and wrote none did not end well.
    fn ended_without_tests(&self, results: &TestResults, exit_code: Option<i32>) -> bool {
        exit_code == Some(0) && results.begun
    }
}
