//! Hints on a run, beyond its report.

use std::path::Path;

use replay_base::limits::{MAX_TESTS_BUILD_SECS, TESTS_LINGER_SECS};

use super::context::RunContext;
use super::model::{State, TestReport, TestStatus};
use super::request::RunRequest;
use super::runner::Runner;
use super::selection::TestSelection;
use super::subprojects::projects_with_tool;
use super::tool::ProgramOrigin;

/// Returns the next step, if the report alone does not show it.
pub(crate) fn hint(
    context: &RunContext<'_>,
    report: &TestReport,
    request: &RunRequest<'_>,
    selection: &TestSelection,
    runner: &'static dyn Runner,
    lingered: bool,
    was_building: bool,
) -> Option<String> {
    let (seconds, project) = (request.timeout.as_secs(), Path::new(&report.runner.cwd));
    Some(match report.status {
        TestStatus::MissingTool => {
            // Another project may have the missing files.
            let is_per_project = matches!(runner.about().origin, ProgramOrigin::Python(_));
            let elsewhere = is_per_project
                .then(|| projects_with_tool(context, project, runner))
                .flatten();
            elsewhere
                .unwrap_or_else(|| runner.install_step(context, project, &report.runner.command))
        }
        TestStatus::TimedOut if lingered => format!(
            "every test had ended, but the process ran on for {TESTS_LINGER_SECS} s and was \
             ended: close servers, timers and threads at the end of the tests"
        ),
        TestStatus::TimedOut if was_building => format!(
            "the build took more than {} s, and no test began: build with execute_command and \
             `background: true` first",
            MAX_TESTS_BUILD_SECS + seconds
        ),
        TestStatus::TimedOut
            if report.unfinished.is_empty()
                && report
                    .failures
                    .iter()
                    .all(|case| case.state != State::TimedOut) =>
        {
            format!(
                "the run was ended after {seconds} s: give a longer `timeout`, or fewer \
                `testFiles`"
            )
        }
        TestStatus::TimedOut => {
            format!(
                "the run was ended after {seconds} s: look for an endless loop in the unfinished \
                 tests, or give a longer `timeout`"
            )
        }
        TestStatus::NoTests
            if matches!(selection, TestSelection::Targets(_))
                && request.filter.is_none()
                && !report.left_out.is_empty() =>
        {
            "the named tests are excluded (see `leftOut`): change that configuration, or name \
             other tests"
                .to_owned()
        }
        TestStatus::ConfigError | TestStatus::NoTests | TestStatus::Incomplete
            if matches!(selection, TestSelection::Failed(_)) =>
        {
            "a failed test may have been removed, renamed or skipped: run all tests to renew the \
             list"
                .to_owned()
        }
        TestStatus::NoTests if names_part(selection) => {
            "the file has no test of this id, or it is skipped: run the whole file with \
             `detail: \"all\"` to list its tests"
                .to_owned()
        }
        TestStatus::NoTests
            if request.filter.is_none() && matches!(selection, TestSelection::Targets(_)) =>
        {
            "the runner does not recognize any of `testFiles` as test files".to_owned()
        }
        _ => return None,
    })
}

/// Returns true if a target is a part of a file.
fn names_part(selection: &TestSelection) -> bool {
    let TestSelection::Targets(targets) = selection else {
        return false;
    };
    targets.iter().any(|target| !target.part.is_empty())
}
