//! `restart_session`: restarts the interpreter of a Python session.

use replay_mcp::sessions::Weight;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::python::{Open, host, session};
use super::{Context, Hints, Reply, Tool, Toolset};
use crate::error::Error;

/// Restarts a session.
pub struct RestartSession;

/// Arguments of `restart_session`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Params {
    /// Session to restart (default: the active one)
    #[schemars(extend("x-aliases" = ["session", "name"]))]
    session_id: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct Output {
    session_id: String,
    status: &'static str,
    python_version: String,
}

impl Tool for RestartSession {
    type Params = Params;
    type Output = Open<Output>;
    const NAME: &'static str = "restart_session";
    const TITLE: &'static str = "Restart a Python session";
    const DESCRIPTION: &'static str = "End the interpreter of a session, with the code that runs in it, and start a new \
        one; variables are lost, installed packages are kept.";
    const HINTS: Hints = Hints::Runs;
    const TOOLSET: Toolset = Toolset::Python;
    const WEIGHT: Weight = Weight::Waits;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<Open<Output>>, Error> {
        let host = host(context, Self::NAME)?;
        let session = session(context, params.session_id.as_deref())?;
        let kernel = session.restart(&host, context.cancel)?;
        context.services.python.prepare(&host);
        let (session_id, python_version) =
            (session.name().to_owned(), kernel.ready().version.clone());
        Reply::json(Open(Output {
            session_id,
            status: "restarted",
            python_version,
        }))
    }
}
