//! `delete_file`: deletes a file, or a directory with its contents.

use replay_files::fs;
use replay_mcp::sessions::Weight;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Context, Hints, Reply, Tool, Toolset};
use crate::error::Error;

pub(super) struct DeleteFile;

/// Arguments of `delete_file`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Params {
    /// Path to delete
    #[schemars(extend("x-aliases" = ["file_path", "filePath"]))]
    path: String,
}

impl Tool for DeleteFile {
    type Params = Params;
    type Output = ();
    const NAME: &'static str = "delete_file";
    const TITLE: &'static str = "Delete a file or directory";
    const DESCRIPTION: &'static str =
        "Delete a file, or a directory with everything in it. Links are removed, not followed.";
    const HINTS: Hints = Hints::Removes;
    const TOOLSET: Toolset = Toolset::Files;
    const WEIGHT: Weight = Weight::Heavy;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<()>, Error> {
        let entry = context.services.policy.entry(&params.path)?;
        let removed = fs::remove(context.changes, &entry, true, context.cancel)?;
        let done = context.did("deleted", entry.display_path());
        Ok(Reply::text(match removed.files + removed.directories {
            0 | 1 => done,
            entries => format!("{done} ({entries} entries)"),
        }))
    }
}
