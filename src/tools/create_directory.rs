//! `create_directory`: creates a directory and its parents.

use replay_base::text::escape::show_path;
use replay_files::fs;
use replay_files::policy::PolicyError;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Context, Hints, Reply, Tool, Toolset};
use crate::error::Error;

/// Creates a directory, as `mkdir -p` does.
pub(super) struct CreateDirectory;

/// Arguments of `create_directory`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Params {
    /// Directory
    #[schemars(extend("x-aliases" = ["directory", "dir"]))]
    path: String,
}

impl Tool for CreateDirectory {
    type Params = Params;
    type Output = ();
    const NAME: &'static str = "create_directory";
    const TITLE: &'static str = "Create a directory";
    const DESCRIPTION: &'static str = "Create a directory and its missing parents.";
    const HINTS: Hints = Hints::Creates;
    const TOOLSET: Toolset = Toolset::Files;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<()>, Error> {
        let policy = &context.services.policy;
        let directory = policy
            .create_dir(&params.path)
            .map_err(|error| match error {
                PolicyError::NotADirectory { path } if policy.look(&params.path).is_ok() => {
                    Error::Unsuitable {
                        message: format!("`{}` exists and is not a directory", show_path(&path)),
                        hint: "choose another name, or delete what is there first".into(),
                    }
                }
                error => Error::Policy(error),
            })?;
        fs::create_dir(context.changes, &directory)?;
        Ok(Reply::text(
            context.did("created", directory.display_path()),
        ))
    }
}
