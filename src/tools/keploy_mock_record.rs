//! `keploy_mock_record`: runs a command and stores its outgoing calls as a mock set.

use replay_base::limits::MAX_CALLS_TIMEOUT_SECS;
use replay_mcp::sessions::Weight;
use replay_record::Exchange;
use replay_record::naming::summary::Summary;
use replay_record::store::Head;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::notes::command::exit_code;
use super::recorded_calls::{
    CommandRequest, did_not_run, failure_output, folder, left_out, notes, run_command, secrets,
    unreached,
};
use super::{Context, HandOver, Hints, Reply, Tool, Toolset};
use crate::calls::{Isolation, NewSet, Play, Ran, WrittenSet, declared, keep, sets};
use crate::error::Error;

pub(super) struct KeployMockRecord;

/// Arguments of `keploy_mock_record`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Params {
    /// Application command to run (e.g. 'go run main.go' or 'npm start')
    command: String,
    /// Path to store mock files (default: ./keploy)
    path: Option<String>,
    /// Seconds after which the application is ended, and what it called is kept (default 300)
    #[schemars(range(min = 1, max = MAX_CALLS_TIMEOUT_SECS))]
    timeout: Option<u64>,
}

/// Arguments of the call.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Configuration {
    command: String,
    path: String,
}

/// Result of the recording.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Output {
    success: bool,
    mock_file_path: String,
    mock_count: usize,
    protocols: Vec<String>,
    message: String,
    configuration: Configuration,
    /// Degree of interception; absent if the application never ran. With `env` only traffic through
    /// `HTTP_PROXY` is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    isolation: Option<Isolation>,
    /// Of the application, once it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    app_exit_code: Option<i32>,
    /// The end of what a failed application wrote.
    #[serde(rename = "appOutput", skip_serializing_if = "Option::is_none")]
    written: Option<String>,
}

impl Tool for KeployMockRecord {
    type Params = Params;
    type Output = Output;
    const NAME: &'static str = "keploy_mock_record";
    const TITLE: &'static str = "Record outgoing calls";
    const DESCRIPTION: &'static str = "Run an application and record its outgoing calls (HTTP, databases, any TCP) as a \
        mock set that keploy_mock_test can replay without a network. An application that does not end, such as a server, \
        is ended after the timeout.";
    const HINTS: Hints = Hints::Runs;
    const TOOLSET: Toolset = Toolset::Calls;
    const WEIGHT: Weight = Weight::Heavy;
    const HAND_OVER: HandOver = HandOver::GoesOn;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<Output>, Error> {
        let path = params
            .path
            .unwrap_or_else(|| sets::DEFAULT_DIRECTORY.to_owned());
        let done = record(context, &params.command, &path, params.timeout)?;
        let configuration = Configuration {
            command: params.command,
            path,
        };
        let (output, notes) = match done {
            Ok((kept, exchanges, ran)) => {
                context.services.calls.remember(&configuration.path);
                build_output(context, configuration, &kept, &exchanges, &ran)
            }
            Err(reason) => {
                let output = Output {
                    success: false,
                    mock_file_path: String::new(),
                    mock_count: 0,
                    protocols: Vec::new(),
                    message: format!("Recording failed: {reason}"),
                    configuration,
                    isolation: None,
                    app_exit_code: None,
                    written: None,
                };
                (output, Vec::new())
            }
        };
        Reply::json(&output, notes)
    }
}

/// The stored set with its calls and the run, or the reason why nothing was run.
type RecordingResult = Result<(WrittenSet, Vec<Exchange>, Ran), String>;

fn record(
    context: &Context<'_>,
    command: &str,
    path: &str,
    timeout: Option<u64>,
) -> Result<RecordingResult, Error> {
    if command.trim().is_empty() {
        return Ok(Err("Command is required".to_owned()));
    }
    let services = context.services;
    // Fails before a program runs for minutes.
    sets::prepare(&services.policy, context.writer(), path)?;
    let declared = declared(&services.policy, path, command)?;
    let rules = secrets(services, &declared)?;
    let wanted = CommandRequest {
        changes: context.changes,
        line: command,
        timeout_secs: timeout,
        streams: None,
        signals: None,
    };
    let mut ran = match run_command(
        services,
        &wanted,
        Play::Record,
        context.cancel,
        &mut |done, all, stage| {
            context.progress.stage(done, all, stage);
        },
    ) {
        Ok(ran) => ran,
        Err(error) if error.is_setup() => {
            return Ok(Err(format!("failed to setup agent: {}", error.advice())));
        }
        Err(error) => return Err(error.into()),
    };
    let exchanges = std::mem::take(&mut ran.recorded.exchanges);
    if exchanges.is_empty() && did_not_run(&ran) {
        let code = exit_code(ran.outcome.exit);
        let words = failure_output(&ran).unwrap_or_default();
        return Ok(Err(format!(
            "the command did not run (exit code {code}): {}",
            words.trim_end()
        )));
    }
    let folder = folder(services);
    let set = NewSet {
        command,
        folder: &folder,
        head: Head {
            redact: declared,
            ..Head::default()
        },
        earlier: Vec::new(),
        workers: &ran.recorded.workers,
    };
    // The calls of a cancelled application are stored, too.
    let kept = keep(
        &services.policy,
        context.writer(),
        path,
        set,
        exchanges,
        (!services.calls.keep_secrets).then_some(&rules),
    );
    match kept {
        Ok((kept, exchanges)) => Ok(Ok((kept, exchanges, ran))),
        Err(lost) => Err(lost.reason.into()),
    }
}

fn build_output(
    context: &Context<'_>,
    configuration: Configuration,
    kept: &WrittenSet,
    exchanges: &[Exchange],
    ran: &Ran,
) -> (Output, Vec<String>) {
    let summary = Summary::of(exchanges);
    let words = if summary.is_nothing {
        Vec::new()
    } else {
        summary.protocol_words()
    };
    let protocols: Vec<String> = words.into_iter().map(str::to_owned).collect();
    let message = if summary.is_nothing {
        // By the tool's contract this is a success; the message tells if the application failed.
        let code = exit_code(ran.outcome.exit);
        let failed = if code == 0 {
            String::new()
        } else {
            format!(", app exited with code {code}")
        };
        format!("Recording completed but no mocks were captured{failed}")
    } else {
        format!(
            "Recorded {} mocks ({})",
            exchanges.len(),
            protocols.join(", ")
        )
    };
    let unreached = if summary.is_nothing {
        unreached(context.services, ran, exchanges)
    } else {
        Vec::new()
    };
    let output = Output {
        success: true,
        mock_file_path: kept.path.display().to_string(),
        mock_count: if summary.is_nothing {
            0
        } else {
            exchanges.len()
        },
        protocols,
        message,
        configuration,
        isolation: Some(ran.isolation),
        app_exit_code: Some(exit_code(ran.outcome.exit)),
        written: failure_output(ran),
    };
    let notes = [left_out(kept), notes(context.services, ran), unreached].concat();
    (output, notes)
}
