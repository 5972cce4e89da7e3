//! Any program that writes `JUnit` XML: the call gives the command and the path of the report.

use crate::prelude::*;

/// Any program that writes `JUnit` XML.
pub(crate) struct Junit;

impl ProjectTool for Junit {
    fn about(&self) -> &'static ToolDescription {
        &ToolDescription {
            name: "junit",
            title: "`runner: \"junit\"` with a `command` that writes JUnit XML",
            language: None,
            origin: ProgramOrigin::Path("sh"),
        }
    }
}

impl Runner for Junit {
    fn plan(&self, wanted: &RunInputs<'_>) -> Result<RunPlan, TestrunError> {
        Ok(RunPlan::of(wanted))
    }

    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
        junit::parse(sources, bound)
    }

    fn missed<'t>(
        &self,
        _: &Evidence<'_>,
        _: &[&'t NamedPath],
        _: &TestResults,
    ) -> Vec<&'t NamedPath> {
        Vec::new()
    }

    /// A command that should have written a report and wrote none did not end well.
    fn ended_without_tests(&self, results: &TestResults, exit_code: Option<i32>) -> bool {
        exit_code == Some(0) && results.begun
    }
}
