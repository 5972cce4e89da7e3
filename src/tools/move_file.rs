//! `move_file`: moves or renames a file or directory.

use std::os::unix::ffi::OsStrExt as _;

use replay_base::text::escape::show_path;
use replay_files::fs::{self, FsError};
use replay_files::policy::FileKind;
use replay_mcp::sessions::Weight;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Context, Hints, Reply, Tool, Toolset};
use crate::error::Error;

/// Moves or renames; never overwrites.
pub(super) struct MoveFile;

/// Arguments of `move_file`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Params {
    /// Path to move
    #[schemars(extend("x-aliases" = ["from", "src"]))]
    source: String,
    /// The new path itself
    #[schemars(extend("x-aliases" = ["to", "dst", "dest"]))]
    destination: String,
}

impl Tool for MoveFile {
    type Params = Params;
    type Output = ();
    const NAME: &'static str = "move_file";
    const TITLE: &'static str = "Move or rename";
    const DESCRIPTION: &'static str = "Move or rename a file or directory; missing parents are created. Fails if the destination exists.";
    const HINTS: Hints = Hints::Mutates;
    const TOOLSET: Toolset = Toolset::Files;
    const WEIGHT: Weight = Weight::Heavy;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<()>, Error> {
        let policy = &context.services.policy;
        let source = policy.entry(&params.source)?;
        let destination = policy.destination(&params.destination)?;
        fs::move_no_clobber(context.changes, &source, &destination).map_err(
            |error| match error {
                FsError::AlreadyExists { path }
                    if policy
                        .look(&path)
                        .is_ok_and(|place| place.kind() == FileKind::Directory) =>
                {
                    let name = source.display_path().file_name().unwrap_or_default();
                    Error::Unsuitable {
                        message: format!("`{}` is a directory that exists", show_path(&path)),
                        hint: format!(
                            "to move into it, give `{}` as destination",
                            show_path(&path.join(name))
                        )
                        .into(),
                    }
                }
                error => Error::Fs(error),
            },
        )?;
        let done = context.did("moved", source.display_path());
        let to = destination.display_path().as_os_str().as_bytes();
        Ok(Reply::text(format!("{done} to {}", context.shown(to))))
    }
}
