//! `keploy_mock_record`: runs a command and keeps its outgoing calls as a mock set.

use std::path::PathBuf;
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::calling::{last_words, run_command};
use super::command_notes::exit_code;
use super::{Context, Hints, Reply, Tool, Toolset, Weight};
use crate::calls::{CallsError, Play, Ran, Summary, sets};
use crate::error::Error;
use crate::limits::MAX_CALLS_TIMEOUT_SECS;
use crate::record::files::{self, Document};
use crate::record::{Exchange, Redact, names};

/// Records calls.
pub struct KeployMockRecord;

/// Arguments of `keploy_mock_record`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Params {
    /// Application command to run (e.g. 'go run main.go' or 'npm start')
    command: String,
    /// Path to store mock files (default: ./keploy)
    path: Option<String>,
    /// Seconds after which the application is ended, and what it called is kept (default 300)
    #[schemars(range(min = 1, max = MAX_CALLS_TIMEOUT_SECS))]
    timeout: Option<u64>,
}

/// What was asked for.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Configuration {
    command: String,
    path: String,
}

/// What was recorded.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    success: bool,
    mock_file_path: String,
    mock_count: usize,
    protocols: Vec<String>,
    message: String,
    configuration: Configuration,
    /// Of the application, once it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    app_exit_code: Option<i32>,
    /// The end of what a failed application wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    app_output: Option<String>,
    /// What could not be recorded, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
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

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<Output>, Error> {
        let path = params.path.clone().unwrap_or_else(|| sets::DEFAULT_DIRECTORY.to_owned());
        let configuration = Configuration { command: params.command.clone(), path: path.clone() };
        let done = if params.command.trim().is_empty() {
            Err("Command is required".to_owned())
        } else {
            sets::check_writable(&context.services.policy, &path)?;
            match run_command(context, &params.command, params.timeout, Play::Record)? {
                Ok(ran) => {
                    // A recording that is cancelled is kept as well.
                    let kept = keep(context, &params.command, &path, &ran);
                    kept.map(|kept| (kept, ran)).map_err(|error| error.to_string())
                }
                Err(error) if error.is_setup() => Err(format!("failed to setup agent: {error}")),
                Err(error) => return Err(error.into()),
            }
        };
        let output = match done {
            Ok((kept, ran)) => {
                *context.services.calls.last() = Some(path);
                recorded(configuration, kept, &ran)
            }
            Err(reason) => Output {
                success: false,
                mock_file_path: String::new(),
                mock_count: 0,
                protocols: Vec::new(),
                message: format!("Recording failed: {reason}"),
                configuration,
                app_exit_code: None,
                app_output: None,
                notes: Vec::new(),
            },
        };
        Reply::json(output)
    }
}
