//! `delete_session`: ends a Python session.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Context;
use super::python::SessionTool;
use crate::error::Error;

pub(super) struct DeleteSession;

/// Arguments of `delete_session`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Params {
    /// Session to end
    #[schemars(extend("x-aliases" = ["session", "name"]))]
    session_id: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Output {
    session_id: String,
    status: &'static str,
    active_session: String,
}

impl SessionTool for DeleteSession {
    type Params = Params;
    type Output = Output;
    const NAME: &'static str = "delete_session";
    const TITLE: &'static str = "Delete a Python session";
    const DESCRIPTION: &'static str = "End a Python session and everything it has started; its variables are lost. The \
        session `default` is there again at once, empty.";

    fn run(context: &Context<'_>, params: Params) -> Result<Output, Error> {
        let active_session = context.services.python.delete(&params.session_id)?;
        Ok(Output {
            session_id: params.session_id,
            status: "deleted",
            active_session,
        })
    }
}
