//! `keploy_mock_test`: runs a command whose outgoing calls are answered from a mock set.

use std::fmt::Write as _;

use replay_base::limits::MAX_CALLS_TIMEOUT_SECS;
use replay_mcp::sessions::Weight;
use replay_record::Report;
use replay_record::naming::set_name;
use replay_record::proxy::OnMiss;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::notes::command::exit_code;
use super::recorded_calls::{
    CommandRequest, failure_output, no_sets_message, notes, remarks, run_command, secrets, some_of,
};
use super::{Context, HandOver, Hints, Reply, Tool, Toolset};
use crate::calls::{Isolation, Play, Ran, load, sets};
use crate::error::Error;

/// Unanswered calls that a reply tells of.
const MAX_MISSES_SHOWN: usize = 20;

pub(super) struct KeployMockTest;

/// Arguments of `keploy_mock_test`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Params {
    /// Test command to run (e.g. 'go test -v' or 'npm test')
    command: String,
    /// Mock set to replay, as `keploy_list_mocks` shows it (default: the latest that was recorded
    /// with the same command, else the latest)
    #[schemars(extend("x-aliases" = ["mock_name"]))]
    mock_name: Option<String>,
    /// Send calls that no mock matches to the real server (default false). This excludes calls on a
    /// database connection that mocks answer.
    #[schemars(extend("x-aliases" = ["fall_back_on_miss", "fallbackOnMiss"]))]
    fall_back_on_miss: Option<bool>,
    /// Directory of the mock sets (default: that of the last recording, else ./keploy)
    path: Option<String>,
    /// Seconds after which the command is ended (default 300)
    #[schemars(range(min = 1, max = MAX_CALLS_TIMEOUT_SECS))]
    timeout: Option<u64>,
}

/// Arguments of the call.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Configuration {
    command: String,
    mock_name: String,
    fall_back_on_miss: bool,
    /// Directory of the mock set, if the call gave no `path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
}

/// Result of the run.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Output {
    success: bool,
    mocks_replayed: u64,
    mocks_missed: u64,
    app_exit_code: i32,
    message: String,
    configuration: Configuration,
    /// Recordings that no call used.
    mocks_unused: usize,
    /// `true` if the run needed no network: some calls were replayed, and none was missed.
    isolated: bool,
    /// Degree of interception; absent if the command never ran. With `env` only traffic through
    /// `HTTP_PROXY` is seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    isolation: Option<Isolation>,
    /// Calls that no recording answers, each with the closest one and how it differs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    misses: Vec<String>,
    /// The end of what a failed command wrote.
    #[serde(rename = "appOutput", skip_serializing_if = "Option::is_none")]
    written: Option<String>,
}

impl Tool for KeployMockTest {
    type Params = Params;
    type Output = Output;
    const NAME: &'static str = "keploy_mock_test";
    const TITLE: &'static str = "Replay recorded calls";
    const DESCRIPTION: &'static str = "Run a command, usually tests, whose outgoing calls are answered from a mock set of \
        keploy_mock_record. Each recording answers once, in order; a call that differs is missed and reported, never \
        answered with something similar.";
    const HINTS: Hints = Hints::Runs;
    const TOOLSET: Toolset = Toolset::Calls;
    const WEIGHT: Weight = Weight::Heavy;
    const HAND_OVER: HandOver = HandOver::GoesOn;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<Output>, Error> {
        let falls_back = params.fall_back_on_miss == Some(true);
        let mut configuration = Configuration {
            command: params.command.clone(),
            mock_name: params.mock_name.clone().unwrap_or_default(),
            fall_back_on_miss: falls_back,
            path: None,
        };
        let (output, notes) = match replay(context, &params, &mut configuration)? {
            Ok((ran, more)) => build_output(context, configuration, &ran, more),
            Err(reason) => {
                let output = Output {
                    success: false,
                    mocks_replayed: 0,
                    mocks_missed: 0,
                    app_exit_code: -1,
                    message: reason,
                    configuration,
                    mocks_unused: 0,
                    isolated: false,
                    isolation: None,
                    misses: Vec::new(),
                    written: None,
                };
                (output, Vec::new())
            }
        };
        Reply::json(&output, notes)
    }
}

/// Returns the run and notes on the set, or the reason why there was none.
fn replay(
    context: &Context<'_>,
    params: &Params,
    configuration: &mut Configuration,
) -> Result<Result<(Ran, Vec<String>), String>, Error> {
    if params.command.trim().is_empty() {
        return Ok(Err("Replay failed: Command is required".to_owned()));
    }
    let (policy, calls) = (&context.services.policy, &context.services.calls);
    let path = params
        .path
        .clone()
        .or_else(|| calls.remembered())
        .unwrap_or_else(|| sets::DEFAULT_DIRECTORY.to_owned());
    configuration.path = params.path.is_none().then(|| path.clone());
    let mut more = Vec::new();
    let name = if let Some(name) = &params.mock_name {
        set_name::check(name)
            .map_err(|error| Error::params(format!("{error}; {}", set_name::HINT)))?;
        name.clone()
    } else {
        let known = sets::candidates(sets::list(policy, &path)?);
        let Some(latest) = known.first() else {
            return Ok(Err(no_sets_message(&path)));
        };
        let same = if known.len() > 1 {
            sets::of_command(policy, &path, &known, &params.command)
        } else {
            None
        };
        more.extend(same.filter(|same| *same != latest).map(|same| {
            format!(
                "of {} mock sets, `{}` is the latest one recorded with this command and was \
                 replayed; `{}` is the latest of all: `mockName` selects another set",
                known.len(),
                same.name,
                latest.name
            )
        }));
        same.unwrap_or(latest).name.clone()
    };
    configuration.mock_name.clone_from(&name);
    let Some(loaded) = load(policy, &path, &name, &context.room())? else {
        let known: Vec<String> = sets::list(policy, &path)?
            .into_iter()
            .map(|set| set.name)
            .collect();
        let known = if known.is_empty() {
            "none".to_owned()
        } else {
            some_of(&known)
        };
        return Ok(Err(format!(
            "Failed to load mocks: there is no set '{name}' in {path}; there are: {known}"
        )));
    };
    let play = Play::Replay {
        recordings: loaded.recordings,
        noise: loaded.noise,
        secrets: Box::new(secrets(context.services, &loaded.head.redact)?),
        on_miss: if configuration.fall_back_on_miss {
            OnMiss::Passthrough
        } else {
            OnMiss::Fail
        },
    };
    let wanted = CommandRequest {
        changes: context.changes,
        line: &params.command,
        timeout_secs: params.timeout,
        streams: None,
        signals: None,
    };
    match run_command(
        context.services,
        &wanted,
        play,
        context.cancel,
        &mut |done, all, stage| {
            context.progress.stage(done, all, stage);
        },
    ) {
        Ok(ran) => Ok(Ok((ran, loaded.torn.into_iter().chain(more).collect()))),
        Err(error) if error.is_setup() => Ok(Err(format!(
            "Replay failed: failed to setup agent: {}",
            error.advice()
        ))),
        Err(error) => Err(error.into()),
    }
}

fn build_output(
    context: &Context<'_>,
    configuration: Configuration,
    ran: &Ran,
    more: Vec<String>,
) -> (Output, Vec<String>) {
    let report = ran.report.clone().unwrap_or_default();
    let (replayed, missed, code) = (
        report.replayed,
        report.missed_count,
        exit_code(ran.outcome.exit),
    );
    let mut message = format!("Replayed {replayed} mocks");
    if missed > 0 {
        let _ = write!(message, ", {missed} mocks missed");
    }
    if code != 0 {
        let _ = write!(message, ", app exited with code {code}");
    }
    let output = Output {
        success: missed == 0 && code == 0,
        mocks_replayed: replayed,
        mocks_missed: missed,
        app_exit_code: code,
        message,
        configuration,
        mocks_unused: report.unused.len(),
        isolated: report.is_isolated()
            && ran.recorded.counts.passed == 0
            && ran.isolation != Isolation::Env,
        isolation: Some(ran.isolation),
        misses: misses(&report),
        written: failure_output(ran),
    };
    let notes = remarks(ran).into_iter().chain(notes(context.services, ran));
    let notes = notes.chain(wrong_server_hint(&report)).chain(more);
    (output, notes.collect())
}

/// Hint for a run in which all calls went to other servers than the recorded ones.
fn wrong_server_hint(report: &Report) -> Option<String> {
    report.went_elsewhere().then(|| {
        "every call went to a server that was not recorded. Commands do not inherit variables \
         such as DATABASE_URL: set them in the command, or ask the operator to pass them (--env \
         NAME)"
            .to_owned()
    })
}

fn misses(report: &Report) -> Vec<String> {
    report
        .missed
        .iter()
        .take(MAX_MISSES_SHOWN)
        .map(ToString::to_string)
        .collect()
}
