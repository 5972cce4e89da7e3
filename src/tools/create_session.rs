//! `create_session`: starts another Python interpreter.

use std::ffi::OsString;
use std::path::PathBuf;

use replay_base::limits::DEFAULT_PYTHON;
use replay_base::text::escape::show_path;
use replay_python::Settings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Context;
use super::python::{SessionTool, absolute, host};
use super::python_places::of_environment;
use crate::error::Error;

/// Longest description of a Python session, in characters.
const MAX_SESSION_DESCRIPTION_CHARS: usize = 1000;

pub(super) struct CreateSession;

/// Arguments of `create_session`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Params {
    /// Name of the new session
    #[schemars(extend("x-aliases" = ["session", "name"]))]
    session_id: String,
    /// Purpose of the session
    description: Option<String>,
    /// Interpreter: a name, a path, or the directory of a virtual environment (default python3)
    python: Option<String>,
    /// Working directory (default: the first writable allowed directory)
    #[schemars(extend("x-aliases" = ["cwd", "workingDirectory", "workdir"]))]
    working_directory: Option<String>,
    /// Variables of its environment, `NAME=VALUE` each
    #[schemars(extend("x-aliases" = ["env"]))]
    environment: Option<Vec<String>>,
}

#[derive(Debug, Serialize)]
pub(super) struct Output {
    session_id: String,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    python_version: String,
    python: String,
    working_directory: String,
}

impl SessionTool for CreateSession {
    type Params = Params;
    type Output = Output;
    const NAME: &'static str = "create_session";
    const TITLE: &'static str = "Create a Python session";
    const DESCRIPTION: &'static str = "Start one more Python interpreter with variables of its own, which runs beside \
        the others. The active session stays as it is: name this one with session_id.";

    fn run(context: &Context<'_>, params: Params) -> Result<Output, Error> {
        let host = host(context, Self::NAME)?;
        let sessions = &context.services.python;
        let directory = match params.working_directory {
            Some(directory) => PathBuf::from(directory),
            None => sessions.default_directory(),
        };
        let python = params.python.unwrap_or_else(|| DEFAULT_PYTHON.to_owned());
        if python.is_empty() || python.contains('\0') || python.starts_with('-') {
            return Err(Error::params(
                "`python` of create_session is neither the name nor the path of a Python \
                 interpreter; give one, such as `python3` or .venv/bin/python",
            ));
        }
        let policy = &context.services.policy;
        let place = policy.absolute(&directory).ok();
        let python = match place.and_then(|place| of_environment(policy, &place, &python)) {
            Some(interpreter) => interpreter.to_string_lossy().into_owned(),
            None => python,
        };
        let environment = environment(params.environment.unwrap_or_default())?;
        let description = params.description;
        let chars = description
            .as_deref()
            .map_or(0, |text| text.chars().count());
        if chars > MAX_SESSION_DESCRIPTION_CHARS {
            return Err(Error::params(format!(
                "`description` of create_session is {chars} characters long, and at most {MAX_SESSION_DESCRIPTION_CHARS} are allowed"
            )));
        }
        let settings = Settings {
            description: description.clone(),
            python,
            directory,
            environment,
        };
        let session = sessions.create(&params.session_id, settings)?;
        let kernel = session.kernel(&host, context.cancel).inspect_err(|_| {
            // The session exists only if it works; another call may have deleted it already.
            let _ = sessions.delete(&params.session_id);
        })?;
        sessions.prepare(&host);
        let ready = kernel.ready();
        Ok(Output {
            session_id: params.session_id,
            status: "created",
            description,
            python_version: ready.version.clone(),
            python: ready.executable.clone(),
            working_directory: show_path(&absolute(context, &session)).into_owned(),
        })
    }
}

fn environment(given: Vec<String>) -> Result<Vec<(OsString, OsString)>, Error> {
    let variable = |(index, text): (usize, String)| match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !text.contains('\0') => {
            Ok((name.into(), value.into()))
        }
        _ => Err(Error::params(format!(
            "`environment[{index}]` of create_session must be NAME=VALUE"
        ))),
    };
    given.into_iter().enumerate().map(variable).collect()
}
