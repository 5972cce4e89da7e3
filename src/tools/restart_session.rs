//! `restart_session`: restarts the interpreter of a Python session.

use serde::Serialize;

use super::Context;
use super::python::{SessionParams, SessionTool, host, session};
use crate::error::Error;

/// Restarts a session.
pub(super) struct RestartSession;

#[derive(Debug, Serialize)]
pub(super) struct Output {
    session_id: String,
    status: &'static str,
    python_version: String,
}

impl SessionTool for RestartSession {
    type Params = SessionParams;
    type Output = Output;
    const NAME: &'static str = "restart_session";
    const TITLE: &'static str = "Restart a Python session";
    const DESCRIPTION: &'static str = "End the interpreter of a session, with the code that runs in it, and start a new \
        one; variables are lost, installed packages are kept.";
    const IS_RARE: bool = false;

    fn run(context: &Context<'_>, params: SessionParams) -> Result<Output, Error> {
        let host = host(context, Self::NAME)?;
        let session = session(context, params.session_id.as_deref())?;
        let kernel = session.restart(&host, context.cancel)?;
        context.services.python.prepare(&host);
        let (session_id, python_version) =
            (session.name().to_owned(), kernel.ready().version.clone());
        Ok(Output {
            session_id,
            status: "restarted",
            python_version,
        })
    }
}
