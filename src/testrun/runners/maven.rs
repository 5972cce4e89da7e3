//! Maven, with the XML reports of Surefire and Failsafe.

mod report;

use crate::command::ReportPlace;
use crate::prelude::*;

pub(crate) struct Maven;

impl ProjectTool for Maven {
    fn about(&self) -> ToolDescription {
        ToolDescription::wrapped("maven", "Maven 3 and newer", &jvm::MAVEN)
    }

    fn sign(&self, level: &ProjectLevel<'_>) -> Sign {
        jvm::maven_sign(level)
    }
}

impl Runner for Maven {
    fn plan(&self, wanted: &RunInputs<'_>) -> Result<RunPlan, TestrunError> {
        let mut plan = RunPlan::of(wanted);
        let reports = ["surefire", "failsafe"];
        let globs = reports.map(|plugin| format!("**/target/{plugin}-reports/TEST-*.xml"));
        plan.report = ReportPlace::Generated(globs.to_vec());
        plan.add(jvm::MAVEN_OPTIONS);
        let selected = jvm::select(wanted, |name| name == "pom.xml")?;
        if !selected.modules.is_empty() {
            // Other modules of the project are in no repository.
            plan.add(["-pl", &selected.modules.join(","), "-am"]);
        }
        let classes = selected.classes.iter().map(|(class, method)| match method {
            Some(method) => format!("{class}#{method}"),
            None => class.clone(),
        });
        let mut tests: Vec<String> = classes.collect();
        if tests.is_empty() {
            tests.extend(wanted.filter.map(str::to_owned));
        }
        if !tests.is_empty() {
            plan.add([format!("-Dtest={}", tests.join(","))]);
            // A class is in one of several modules. The second name is that of Surefire 2.
            plan.add([
                "-Dsurefire.failIfNoSpecifiedTests=false",
                "-DfailIfNoTests=false",
            ]);
        }
        plan.add(["-DtrimStackTrace=false", "test"]);
        Ok(plan)
    }

    fn count(&self, line: &[u8], counted: &mut TestCount) {
        let line = String::from_utf8_lossy(line);
        let line = report::without_level(&line);
        if line.starts_with(report::RUNNING) {
            counted.has_begun = true;
        } else if let Some((tests, true)) = report::tests_run(line) {
            counted.done += tests;
        } else if let Some(goal) = line.strip_prefix("--- ") {
            goal.trim_end_matches(" ---")
                .clone_into(&mut counted.building);
        }
    }

    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
        report::parse(sources, bound)
    }

    fn ended_without_tests(&self, results: &TestResults, _: Option<i32>) -> bool {
        results.passed == Some(true)
    }
}
