//! `run_tests`: runs the tests of a project with its runner, and reports the results.
//!
//! Results come from reporters inside the project's own processes, so a malicious project can forge
//! them. It cannot happen by accident: each run has its own directory with a random name, which
//! only the reporter knows.

use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use replay_base::limits::{DEFAULT_TESTS_TIMEOUT_SECS, MAX_TESTS_TIMEOUT_SECS};
use replay_files::fs;
use replay_mcp::protocol::Content;
use replay_mcp::sessions::Weight;
use replay_testrun::model::{TestReport, TestStatus};
use replay_testrun::verdict::shortened;
use replay_testrun::{RunRequest, Runner, run, text};
use schemars::JsonSchema;
use serde::Deserialize;

use super::one_or_many::OneOrMany;
use super::testing::{ReportOutput, ToolChoice, report as tell, with_run_context};
use super::{BadResult, Context, HandOver, Hints, Reply, Tool, Toolset};
use crate::error::Error;

pub(super) struct RunTests;

/// Arguments of `run_tests`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Params {
    /// Test files, directories or globs (default: all)
    #[schemars(extend("x-aliases" = ["test_files", "files", "paths"]))]
    test_files: Option<OneOrMany>,
    /// Name, such as pytest (default: found by the project's files)
    runner: Option<ToolChoice<dyn Runner>>,
    /// The project, or a directory in it (default: the first writable allowed directory)
    #[schemars(extend("x-aliases" = ["workingDirectory", "working_directory", "project", "root"]))]
    cwd: Option<String>,
    /// Only tests whose name matches, in the runner's syntax (vitest -t, pytest -k, go -run)
    #[schemars(extend("x-aliases" = ["testNamePattern", "test_name_pattern", "name"]))]
    filter: Option<String>,
    /// Only tests of what differs from the last commit
    changed: Option<bool>,
    /// Only what failed and has not passed since
    #[schemars(extend("x-aliases" = ["rerun_failed"]))]
    rerun_failed: Option<bool>,
    /// Instead of a runner: any command that runs tests. Write JUnit XML, TAP or trx to
    /// `$REPLAY_TEST_REPORT` for counts; else its exit code decides
    command: Option<String>,
    /// Report that `command` writes elsewhere: a path or glob
    #[schemars(extend("x-aliases" = ["reportPath", "report_path"]))]
    report: Option<String>,
    /// Seconds (default 300)
    #[schemars(range(min = 1, max = MAX_TESTS_TIMEOUT_SECS), extend("x-aliases" = ["timeout_secs"]))]
    timeout: Option<u64>,
    /// `all` lists every test (default: failures)
    detail: Option<Detail>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Detail {
    Failures,
    All,
}

impl Tool for RunTests {
    type Params = Params;
    type Output = ReportOutput<TestReport>;
    const NAME: &'static str = "run_tests";
    const TITLE: &'static str = "Run tests";
    const DESCRIPTION: &'static str = "Run a project's tests with the runner that its files name, or with `command`, and get \
        counts and each failure with its place. Failing tests are no error of the call. For other \
        commands use execute_command.";
    const HINTS: Hints = Hints::Runs;
    const TOOLSET: Toolset = Toolset::Tests;
    const WEIGHT: Weight = Weight::Heavy;
    const HAND_OVER: HandOver = HandOver::IsJoined;

    fn run(
        context: &Context<'_>,
        params: Params,
    ) -> Result<Reply<ReportOutput<TestReport>>, Error> {
        let files = params
            .test_files
            .map(OneOrMany::into_list)
            .unwrap_or_default();
        let timeout = Duration::from_secs(params.timeout.unwrap_or(DEFAULT_TESTS_TIMEOUT_SECS));
        let request = RunRequest {
            cwd: params.cwd.as_deref(),
            runner: params.runner.and_then(|asked| asked.0),
            files: &files,
            filter: params.filter.as_deref().filter(|filter| !filter.is_empty()),
            changed: params.changed == Some(true),
            rerun_failed: params.rerun_failed == Some(true),
            command: params.command.as_deref(),
            report: params.report.as_deref(),
            all: params.detail == Some(Detail::All),
            timeout,
        };
        let ran = with_run_context(context, Self::NAME, |run_context| {
            run(run_context, &request, &mut |elapsed, words| {
                tell(context, elapsed, timeout, words);
            })
        })?;
        let bad = match ran.report().status {
            TestStatus::Passed => None,
            TestStatus::MissingTool | TestStatus::ConfigError => Some(BadResult::Program),
            _ => Some(BadResult::Verdict),
        };
        let text = text::tests(ran.report());
        let picture = screenshot(context, ran.report());
        let mut reply = ran.reply(context, &text, |report| {
            if request.all {
                report
            } else {
                shortened(report)
            }
        });
        reply.content.extend(picture);
        Ok(Reply { bad, ..reply })
    }
}

/// Returns the first screenshot of a failure.
fn screenshot(context: &Context<'_>, report: &TestReport) -> Option<Content> {
    const MAX_BYTES: u64 = 512 * 1024;
    let mut paths = report.failures.iter().flat_map(|case| &case.attachments);
    let is_png = |path: &&String| Path::new(path).extension() == Some("png".as_ref());
    let path = Path::new(&report.runner.cwd).join(paths.find(is_png)?);
    let file = context.services.policy.probe(path).ok()?;
    let bytes = fs::read_all(&file, MAX_BYTES).ok()?;
    bytes.starts_with(b"\x89PNG").then(|| Content::Image {
        data: STANDARD.encode(bytes),
        mime: "image/png".to_owned(),
    })
}
