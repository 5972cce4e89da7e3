//! `get_file_info`: metadata of one file or directory.

use std::fmt::Write as _;
use std::time::SystemTime;

use replay_base::text::escape::show_path;
use replay_files::fs;
use replay_mcp::sessions::Weight;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::list_directory::ItemKind;
use super::{Context, Hints, Reply, Tool, Toolset};
use crate::error::Error;

/// Returns type, size, times and permissions.
pub(super) struct GetFileInfo;

/// Arguments of `get_file_info`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Params {
    /// File or directory
    #[schemars(extend("x-aliases" = ["file_path", "filePath"]))]
    path: String,
}

/// The same as the text, typed.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Output {
    path: String,
    #[serde(rename = "type")]
    kind: ItemKind,
    size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    created: Option<String>,
    modified: String,
    permissions: String,
}

impl Tool for GetFileInfo {
    type Params = Params;
    type Output = Output;
    const NAME: &'static str = "get_file_info";
    const TITLE: &'static str = "Get metadata";
    const DESCRIPTION: &'static str = "Type, size in bytes, times (UTC), octal permissions.";
    const HINTS: Hints = Hints::Observes;
    const TOOLSET: Toolset = Toolset::Files;
    const WEIGHT: Weight = Weight::Quick;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<Output>, Error> {
        let place = context.services.policy.look(&params.path)?;
        let info = fs::info(&place)?;
        let iso = |time: SystemTime| humantime::format_rfc3339_millis(time).to_string();
        let kind = ItemKind::from(info.kind);
        let output = Output {
            path: show_path(place.display_path()).into_owned(),
            kind,
            size: info.size,
            created: info.created.map(iso),
            modified: iso(info.modified),
            permissions: format!("{:03o}", info.mode),
        };
        let mut text = format!(
            "path: {}\ntype: {}\nsize: {}\n",
            output.path,
            kind.name(),
            output.size
        );
        if let Some(created) = &output.created {
            // A write to a `String` cannot fail.
            let _ = writeln!(text, "created: {created}");
        }
        let _ = write!(
            text,
            "modified: {}\npermissions: {}",
            output.modified, output.permissions
        );
        Ok(Reply::text(text).with_structured(output))
    }
}
