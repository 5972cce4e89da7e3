//! `inspect_object`: describes the object at a position in Python code.

use std::collections::BTreeMap;

use replay_python::Question;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Context;
use super::python::{SessionTool, interpreter};
use crate::error::Error;

/// Describes an object.
pub(super) struct InspectObject;

/// Arguments of `inspect_object`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Params {
    /// Python code
    code: String,
    /// Cursor, in characters from the beginning
    #[schemars(range(min = 0), extend("x-aliases" = ["cursor", "position"]))]
    cursor_pos: u64,
    /// 0: signature and documentation (default); 1: the source too
    #[schemars(range(min = 0, max = 1))]
    detail_level: Option<u8>,
    /// Session that has it (default: the active one)
    #[schemars(extend("x-aliases" = ["session"]))]
    session_id: Option<String>,
}

/// Description of the object.
#[derive(Debug, Serialize)]
pub(super) struct Output {
    found: bool,
    data: BTreeMap<String, String>,
}

impl SessionTool for InspectObject {
    type Params = Params;
    type Output = Output;
    const NAME: &'static str = "inspect_object";
    const TITLE: &'static str = "Inspect a Python object";
    const DESCRIPTION: &'static str = "Type, signature, documentation and source of the object at the cursor, as a \
        session has it. Works while its code runs.";

    fn run(context: &Context<'_>, params: Params) -> Result<Output, Error> {
        let (_, kernel) = interpreter(context, Self::NAME, params.session_id.as_deref())?;
        let question = Question {
            code: &params.code,
            cursor: params.cursor_pos,
        };
        let found = kernel.inspect(question, params.detail_level.unwrap_or(0), context.cancel)?;
        Ok(Output {
            found: found.found,
            data: found.data,
        })
    }
}
