//! `interrupt_session`: interrupts the running code of a Python session.

use replay_mcp::sessions::Weight;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::python::Open;
use super::{Context, Hints, Reply, Tool, Toolset};
use crate::error::Error;

pub struct InterruptSession;

/// Arguments of `interrupt_session`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Params {
    /// Session to interrupt (default: the active one)
    #[schemars(extend("x-aliases" = ["session", "name"]))]
    session_id: Option<String>,
}

/// Result of the interrupt.
#[derive(Debug, Serialize)]
pub struct Output {
    session_id: String,
    interrupted: bool,
    message: &'static str,
}

impl Tool for InterruptSession {
    type Params = Params;
    type Output = Open<Output>;
    const NAME: &'static str = "interrupt_session";
    const TITLE: &'static str = "Interrupt a Python session";
    const DESCRIPTION: &'static str = "Raise KeyboardInterrupt in the code that runs in a session, as Ctrl-C does, also in \
        programs it has started. Variables are kept. Code that does not heed it ends with restart_session.";
    const HINTS: Hints = Hints::Runs;
    const TOOLSET: Toolset = Toolset::Python;
    const WEIGHT: Weight = Weight::Waits;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<Open<Output>>, Error> {
        let session = context.services.python.find(params.session_id.as_deref())?;
        let interrupted = session.interrupt(context.asked)?;
        let message = if interrupted {
            "the code was sent an interrupt"
        } else {
            "no code runs in this session"
        };
        Reply::json(Open(Output {
            session_id: session.name().to_owned(),
            interrupted,
            message,
        }))
    }
}
