//! `code_completion`: completes Python code at a position.

use replay_python::Question;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Context;
use super::python::{SessionTool, interpreter};
use crate::error::Error;

pub(super) struct CodeCompletion;

/// Arguments of `code_completion`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Params {
    /// Python code
    code: String,
    /// Cursor, in characters from the beginning
    #[schemars(range(min = 0), extend("x-aliases" = ["cursor", "position"]))]
    cursor_pos: u64,
    /// Session whose names count (default: the active one)
    #[schemars(extend("x-aliases" = ["session"]))]
    session_id: Option<String>,
}

/// The completions.
#[derive(Debug, Serialize)]
pub(super) struct Output {
    matches: Vec<String>,
    cursor_start: u64,
    cursor_end: u64,
}

impl SessionTool for CodeCompletion {
    type Params = Params;
    type Output = Output;
    const NAME: &'static str = "code_completion";
    const TITLE: &'static str = "Complete Python code";
    const DESCRIPTION: &'static str = "Names that could stand at the cursor, from what a session has defined and imported. Works while its code runs.";

    fn run(context: &Context<'_>, params: Params) -> Result<Output, Error> {
        let (_, kernel) = interpreter(context, Self::NAME, params.session_id.as_deref())?;
        let question = Question {
            code: &params.code,
            cursor: params.cursor_pos,
        };
        let found = kernel.complete(question, context.cancel)?;
        let (cursor_start, cursor_end) = (found.cursor_start, found.cursor_end);
        Ok(Output {
            matches: found.matches,
            cursor_start,
            cursor_end,
        })
    }
}
