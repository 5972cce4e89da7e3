//! `write_file`: creates a file, or replaces its content.

use replay_base::limits::MAX_EDIT_BYTES;
use replay_base::text::count::counted;
use replay_base::text::encoding::{self, Encoding};
use replay_base::text::escape::show_path;
use replay_files::fs::{self, FsError};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Context, Hints, Reply, Tool, Toolset};
use super::{edits, hash};
use crate::error::Error;

/// Writes a whole file.
pub(super) struct WriteFile;

/// Arguments of `write_file`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Params {
    /// File; missing parents are created
    #[schemars(extend("x-aliases" = ["file_path", "filePath", "file"]))]
    path: String,
    /// The whole content
    #[schemars(extend("x-aliases" = ["contents", "text", "file_text"]))]
    content: String,
    /// Encoding (default UTF-8)
    encoding: Option<String>,
    /// Refuse unless the content has this SHA-256
    #[schemars(extend("x-aliases" = ["expected_sha256"]))]
    expected_sha256: Option<String>,
}

impl Tool for WriteFile {
    type Params = Params;
    type Output = ();
    const NAME: &'static str = "write_file";
    const TITLE: &'static str = "Write a file";
    const DESCRIPTION: &'static str = "Create a file or replace its whole content, atomically. To change part of a file use edit_file.";
    const HINTS: Hints = Hints::Overwrites;
    const TOOLSET: Toolset = Toolset::Files;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<()>, Error> {
        let encoding = params
            .encoding
            .as_deref()
            .map(encoding::by_name)
            .transpose()?
            .unwrap_or(Encoding::UTF_8);
        // UTF-16 without a byte order mark would not be detected when it is read again.
        let bytes = encoding::encode(
            &params.content,
            encoding,
            encoding.name().starts_with("UTF-16"),
        )?;
        let writer = context.writer();
        let target = context.services.policy.write(&params.path)?;
        let _locked = writer.lock(&target);
        edits::attempts(&target, |held| {
            let mut stamp = None;
            if let Some(expected) = &params.expected_sha256 {
                let current = match fs::current(&target, MAX_EDIT_BYTES, Some(context.room())) {
                    Ok(current) => Some(current),
                    Err(FsError::NotFound { .. }) => None,
                    Err(error) => return Err(error.into()),
                };
                hash::expect(
                    target.display_path(),
                    current.as_ref().map(|current| current.bytes.as_slice()),
                    expected,
                )?;
                stamp = current.map(|current| current.stamp);
            }
            Ok(writer.replace_under(held, &target, [bytes.as_slice()], stamp.as_ref())?)
        })?;
        let path = show_path(target.display_path()).into_owned();
        let mut done = context.did("wrote", target.display_path());
        if context.is_lean() {
            let lines = params.content.lines().count() as u64;
            done = format!("{done}, {}", counted(lines, "line", "lines"));
        }
        let mut reply = Reply::text(done)
            .meta("path", path)
            .meta("size", bytes.len());
        if params.expected_sha256.is_some() {
            reply = reply.meta("sha256", hash::of([bytes.as_slice()]));
        }
        Ok(reply)
    }
}
