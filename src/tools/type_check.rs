//! `type_check`: runs a project's type checker.

use std::time::Duration;

use replay_base::limits::{DEFAULT_TESTS_TIMEOUT_SECS, MAX_TESTS_TIMEOUT_SECS};
use replay_mcp::sessions::Weight;
use replay_testrun::model::{CheckStatus, Diagnostics};
use replay_testrun::{CheckRequest, Checker, check, text};
use schemars::JsonSchema;
use serde::Deserialize;

use super::one_or_many::OneOrMany;
use super::testing::{ReportOutput, ToolChoice, report, with_run_context};
use super::{BadResult, Context, HandOver, Hints, Reply, Tool, Toolset};
use crate::error::Error;

pub(super) struct TypeCheck;

/// Arguments of `type_check`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Params {
    /// Files, directories or globs to report on (default: all)
    #[schemars(extend("x-aliases" = ["paths", "testFiles"]))]
    files: Option<OneOrMany>,
    /// Name, such as mypy or eslint (default: found by the project's files)
    #[schemars(extend("x-aliases" = ["runner", "tool"]))]
    checker: Option<ToolChoice<dyn Checker>>,
    /// The project, or a directory in it (default: the first writable allowed directory)
    #[schemars(extend("x-aliases" = ["workingDirectory", "working_directory", "project", "root"]))]
    cwd: Option<String>,
    /// Seconds (default 300)
    #[schemars(range(min = 1, max = MAX_TESTS_TIMEOUT_SECS), extend("x-aliases" = ["timeout_secs"]))]
    timeout: Option<u64>,
}

impl Tool for TypeCheck {
    type Params = Params;
    type Output = ReportOutput<Diagnostics>;
    const NAME: &'static str = "type_check";
    const TITLE: &'static str = "Check types";
    const DESCRIPTION: &'static str = "Check a project's types (tsc, cargo check, mypy, pyright, go vet) and get each \
        error with its place. Errors found are no error of the call. With files the whole project is checked and only \
        theirs are shown.";
    const HINTS: Hints = Hints::Runs;
    const TOOLSET: Toolset = Toolset::Tests;
    const WEIGHT: Weight = Weight::Heavy;
    const HAND_OVER: HandOver = HandOver::IsJoined;

    fn run(
        context: &Context<'_>,
        params: Params,
    ) -> Result<Reply<ReportOutput<Diagnostics>>, Error> {
        let files = params.files.map(OneOrMany::into_list).unwrap_or_default();
        let timeout = Duration::from_secs(params.timeout.unwrap_or(DEFAULT_TESTS_TIMEOUT_SECS));
        let checker = params.checker.and_then(|asked| asked.0);
        let request = CheckRequest {
            cwd: params.cwd.as_deref(),
            checker,
            files: &files,
            timeout,
        };
        let ran = with_run_context(context, Self::NAME, |run_context| {
            check(run_context, &request, &mut |elapsed, words| {
                report(context, elapsed, timeout, words);
            })
        })?;
        let bad = match ran.report().status {
            CheckStatus::Clean => None,
            CheckStatus::MissingTool | CheckStatus::ConfigError => Some(BadResult::Program),
            _ => Some(BadResult::Verdict),
        };
        let text = text::diagnostics(ran.report());
        Ok(Reply {
            bad,
            ..ran.reply(context, &text, |report| report)
        })
    }
}
