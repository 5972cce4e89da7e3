//! Hints on a run, beyond its report.

use super::context::RunContext;
use super::model::{State, TestReport, TestStatus};
use super::request::RunRequest;
use super::runner::Runner;
use super::selection::TestSelection;
use super::subprojects::projects_with_tool;
use crate::limits::TESTS_LINGER_SECS;

/// Returns the next step, if the report alone does not show it.
pub fn hint(
    context: &RunContext<'_>,
    report: &TestReport,
    request: &RunRequest<'_>,
    selection: &TestSelection,
    runner: &'static dyn Runner,
    lingered: bool,
) -> Option<String> {
    let seconds = request.timeout.as_secs();
    Some(match report.status {
        TestStatus::MissingTool => {
            // Another project may have the missing files.
            let elsewhere =
                runner.is_installed_per_project().then(|| projects_with_tool(context, report.runner.cwd.as_ref(), runner)).flatten();
            elsewhere.unwrap_or_else(|| runner.install_step(context, &report.runner.command))
        }
        TestStatus::TimedOut if lingered => format!(
            "every test had ended, and the process went on for {TESTS_LINGER_SECS} s and was ended: close what holds it (a server, \
             a timer, a thread) where the tests end"
        ),
        TestStatus::TimedOut
            if report.unfinished.is_empty() && report.failures.iter().all(|case| case.state != State::TimedOut) =>
        {
            format!("ended after {seconds} s: give a longer `timeout`, or fewer `testFiles`")
        }
        TestStatus::TimedOut => {
            format!(
                "ended after {seconds} s: look for an endless loop in what was not finished, or give a longer `timeout`"
            )
        }
        TestStatus::NoTests if matches!(selection, TestSelection::Targets(_)) && !report.left_out.is_empty() => {
            "what was named is left out, as `leftOut` says: change what leaves it out, or name something else"
                .to_owned()
        }
        TestStatus::NoTests if request.filter.is_none() && matches!(selection, TestSelection::Targets(_)) => {
            "the runner takes none of `testFiles` for files of tests".to_owned()
        }
        TestStatus::ConfigError if matches!(selection, TestSelection::Failed(_)) => {
            "a test that failed may be gone, or have another name: a run of all tests renews the list".to_owned()
        }
        _ => return None,
    })
}
