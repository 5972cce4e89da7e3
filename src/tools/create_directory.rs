//! `create_directory`: a directory and its parents.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Context, Hints, Reply, Tool, Toolset};
use crate::error::Error;
use crate::fs;
use crate::text::escape::show_path;

/// Makes a directory, as `mkdir -p` does.
pub struct CreateDirectory;

/// Arguments of `create_directory`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Params {
    /// Directory to create
    #[schemars(extend("x-aliases" = ["directory", "dir"]))]
    path: String,
}

impl Tool for CreateDirectory {
    type Params = Params;
    type Output = ();
    const NAME: &'static str = "create_directory";
    const TITLE: &'static str = "Create a directory";
    const DESCRIPTION: &'static str = "Create a directory and its missing parents (mkdir -p).";
    const HINTS: Hints = Hints::Creates;
    const TOOLSET: Toolset = Toolset::Files;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<()>, Error> {
        let directory = context.services.policy.create_dir(&params.path)?;
        fs::create_dir(&directory)?;
        Ok(Reply::text(format!("Successfully created {}", show_path(directory.shown()))))
    }
}
