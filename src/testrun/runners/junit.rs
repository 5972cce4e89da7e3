//! Any program that writes `JUnit` XML: the call brings the command and names the report.

use std::path::Path;

use crate::cancel::Bound;
use crate::policy::{Checked, Read};
use crate::testrun::command::{Plan, Wanted};
use crate::testrun::context::RunContext;
use crate::testrun::error::TestrunError;
use crate::testrun::model::TestStatus;
use crate::testrun::project::files::Target;
use crate::testrun::project::language::Language;
use crate::testrun::project::program::Program;
use crate::testrun::reports::junit;
use crate::testrun::reports::reading::{Sources, TestResults};
use crate::testrun::runner::{Asked, Runner};
use crate::testrun::tool::Tool;

/// Any program that writes `JUnit` XML.
pub struct Junit;

impl Tool for Junit {
    fn name(&self) -> &'static str {
        "junit"
    }

    fn title(&self) -> &'static str {
        "`runner: \"junit\"` with a `command` that writes JUnit XML"
    }

    fn language(&self) -> Option<Language> {
        None
    }

    fn program(&self, _: &RunContext<'_>, _: &Checked<Read>) -> Program {
        Program::Found(Vec::new(), None)
    }

    fn how_to_get(&self, _: &RunContext<'_>, _: &[String]) -> String {
        RunContext::not_found_hint("sh")
    }
}

impl Runner for Junit {
    fn is_given(&self) -> bool {
        true
    }

    fn takes_whole_projects(&self) -> bool {
        true
    }

    fn plan(&self, wanted: &Wanted<'_>) -> Result<Plan, TestrunError> {
        Ok(Plan::of(wanted))
    }

    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
        junit::parse(sources, bound)
    }

    fn nothing_ran(&self, results: &TestResults, exit_code: Option<i32>) -> TestStatus {
        // One that was to write a report and wrote none.
        if exit_code == Some(0) && results.begun { TestStatus::NoTests } else { TestStatus::ConfigError }
    }

    fn is_test_name(&self, _: &Path) -> bool {
        false
    }

    fn missed<'t>(&self, _: &Asked<'_>, _: &[&'t Target], _: &TestResults) -> Vec<&'t Target> {
        Vec::new()
    }
}
