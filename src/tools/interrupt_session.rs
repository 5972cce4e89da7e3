//! `interrupt_session`: interrupts the running code of a Python session.

use serde::Serialize;

use super::Context;
use super::python::{SessionParams, SessionTool};
use crate::error::Error;

pub(super) struct InterruptSession;

/// Result of the interrupt.
#[derive(Debug, Serialize)]
pub(super) struct Output {
    session_id: String,
    interrupted: bool,
    message: &'static str,
}

impl SessionTool for InterruptSession {
    type Params = SessionParams;
    type Output = Output;
    const NAME: &'static str = "interrupt_session";
    const TITLE: &'static str = "Interrupt a Python session";
    const DESCRIPTION: &'static str = "Raise KeyboardInterrupt in the code that runs in a session, as Ctrl-C does, also in \
        programs it has started. Variables are kept. Code that does not heed it ends with restart_session.";

    fn run(context: &Context<'_>, params: SessionParams) -> Result<Output, Error> {
        let session = context.services.python.find(params.session_id.as_deref())?;
        let interrupted = session.interrupt(context.asked)?;
        let message = if interrupted {
            "the code was sent an interrupt"
        } else {
            "no code runs in this session"
        };
        Ok(Output {
            session_id: session.name().to_owned(),
            interrupted,
            message,
        })
    }
}
