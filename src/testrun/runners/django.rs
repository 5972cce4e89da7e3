//! Django's test command, with the bundled test runner of unittest. It runs tests one after another
//! (never `--parallel`), in the project's own test runner (`TEST_RUNNER`).

use super::unittest;
use crate::prelude::*;

pub(crate) struct Django;

impl ProjectTool for Django {
    fn about(&self) -> ToolDescription {
        ToolDescription::python("django", "Django's test command")
    }

    fn sign(&self, level: &ProjectLevel<'_>) -> Sign {
        let is_own = level.text("manage.py").contains("DJANGO_SETTINGS_MODULE");
        level.sign_of_file("manage.py").filter(|_| is_own)
    }

    fn program(&self, context: &RunContext<'_>, project: &Checked<Read>) -> ToolProgram {
        let mut argv = python::module(context.disk(), project.display_path(), "");
        argv.truncate(1);
        argv.push("manage.py".to_owned());
        ToolProgram::Found(argv, None)
    }
}

impl Runner for Django {
    fn plan(&self, wanted: &RunInputs<'_>) -> Result<RunPlan, TestrunError> {
        let mut plan = python_tests::plan(wanted, &unittest::REPORTER);
        plan.add(["test", "--noinput"]);
        plan.add(["--testrunner=replay_unittest.DjangoRunner"]);
        python_tests::select(&mut plan, wanted);
        Ok(plan)
    }

    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
        unittest::parse(sources, bound)
    }

    fn hint(&self, context: &RunContext<'_>, report: &TestReport, _: bool) -> Option<String> {
        let lacks = |message: &str| {
            // The second one is from manage.py as Django makes it.
            ["No module named 'django'", "Couldn't import Django"]
                .iter()
                .any(|words| message.contains(words))
        };
        if report.run_errors.iter().any(|error| lacks(&error.message)) {
            let (project, argv) = (report.runner.cwd.as_ref(), &report.runner.command);
            return Some(context.python_install_step(project, argv, "django"));
        }
        python_modules::module_hint(context, report, None)
    }
}
