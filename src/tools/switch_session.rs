//! `switch_session`: sets the default Python session.

use replay_mcp::sessions::Weight;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Context;
use super::python::SessionTool;
use crate::error::Error;

/// Changes the active session.
pub(super) struct SwitchSession;

/// Arguments of `switch_session`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Params {
    /// Session to switch to
    #[schemars(extend("x-aliases" = ["session", "name"]))]
    session_id: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Output {
    previous_session: String,
    current_session: String,
}

impl SessionTool for SwitchSession {
    type Params = Params;
    type Output = Output;
    const NAME: &'static str = "switch_session";
    const TITLE: &'static str = "Switch the active Python session";
    const DESCRIPTION: &'static str = "Make a session the one that calls without session_id mean. Where several agents \
        share a server, give session_id in every call instead.";
    const WEIGHT: Weight = Weight::Light;

    fn run(context: &Context<'_>, params: Params) -> Result<Output, Error> {
        let previous_session = context.services.python.switch(&params.session_id)?;
        Ok(Output {
            previous_session,
            current_session: params.session_id,
        })
    }
}
