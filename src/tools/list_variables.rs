//! `list_variables`: lists the variables of a Python session.

use replay_mcp::sessions::Weight;
use replay_python::Variable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::python::{Open, host, session};
use super::{Context, Hints, Reply, Tool, Toolset};
use crate::error::Error;

pub struct ListVariables;

/// Arguments of `list_variables`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Params {
    /// Session to look into (default: the active one)
    #[schemars(extend("x-aliases" = ["session", "name"]))]
    session_id: Option<String>,
}

/// The variables, in the order of their creation.
#[derive(Debug, Serialize)]
pub struct Output {
    session_id: String,
    variables: Vec<Variable>,
}

impl Tool for ListVariables {
    type Params = Params;
    type Output = Open<Output>;
    const NAME: &'static str = "list_variables";
    const TITLE: &'static str = "List Python variables";
    const DESCRIPTION: &'static str = "The variables and functions that code has made in a session: name, type, size, the beginning of the value.";
    const HINTS: Hints = Hints::Runs;
    const TOOLSET: Toolset = Toolset::Python;
    const WEIGHT: Weight = Weight::Waits;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<Open<Output>>, Error> {
        let host = host(context, Self::NAME)?;
        let session = session(context, params.session_id.as_deref())?;
        let variables = session
            .kernel(&host, context.cancel)?
            .variables(context.cancel)?;
        Reply::json(Open(Output {
            session_id: session.name().to_owned(),
            variables,
        }))
    }
}
