//! `list_variables`: lists the variables of a Python session.

use replay_python::Variable;
use serde::Serialize;

use super::Context;
use super::python::{SessionParams, SessionTool, interpreter};
use crate::error::Error;

pub(super) struct ListVariables;

/// The variables, in the order of their creation.
#[derive(Debug, Serialize)]
pub(super) struct Output {
    session_id: String,
    variables: Vec<Variable>,
}

impl SessionTool for ListVariables {
    type Params = SessionParams;
    type Output = Output;
    const NAME: &'static str = "list_variables";
    const TITLE: &'static str = "List Python variables";
    const DESCRIPTION: &'static str = "The variables and functions that code has made in a session: name, type, size, the beginning of the value.";

    fn run(context: &Context<'_>, params: SessionParams) -> Result<Output, Error> {
        let session_id = params.session_id.as_deref();
        let (session, kernel) = interpreter(context, Self::NAME, session_id)?;
        let variables = kernel.variables(context.cancel)?;
        Ok(Output {
            session_id: session.name().to_owned(),
            variables,
        })
    }
}
