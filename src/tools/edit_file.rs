//! `edit_file`: replacements in one file, all of them or none.

use std::os::unix::ffi::OsStrExt as _;

use replay_base::limits::MAX_EDIT_BYTES;
use replay_base::text::diff;
use replay_base::text::escape::show_path;
use replay_files::edit::Edit;
use replay_files::fs;
use replay_files::policy::PolicyError;
use replay_mcp::protocol::Content;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::edits::{self, EditParam, EditReport};
use super::hash;
use super::{Context, Hints, Reply, Tool, Toolset};
use crate::error::Error;

pub(super) struct EditFile;

/// Arguments of `edit_file`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Params {
    /// File
    #[schemars(extend("x-aliases" = ["file_path", "filePath", "file"]))]
    path: String,
    /// Applied in order; if one fails nothing is written
    #[schemars(length(min = 1))]
    edits: Vec<EditParam>,
    /// Only show the diff
    #[schemars(extend("x-aliases" = ["dry_run"]))]
    dry_run: Option<bool>,
    /// Refuse unless the content has this SHA-256
    #[schemars(extend("x-aliases" = ["expected_sha256"]))]
    expected_sha256: Option<String>,
}

/// Result of the edits.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Output {
    path: String,
    edits: Vec<EditReport>,
    /// SHA-256 of the new content, if one was expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    /// Of a dry run, for clients that show their model nothing else.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

impl Tool for EditFile {
    type Params = Params;
    type Output = Output;
    const NAME: &'static str = "edit_file";
    const TITLE: &'static str = "Edit a file";
    const DESCRIPTION: &'static str = "Replace text in a file. Keep oldText literal, short and unique; indentation and \
        line endings are matched tolerantly. Use a regex only for variable text, with dryRun first.";
    const HINTS: Hints = Hints::Mutates;
    const TOOLSET: Toolset = Toolset::Files;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<Output>, Error> {
        let edits: Vec<Edit> = params.edits.into_iter().map(Edit::from).collect();
        if params.dry_run == Some(true) {
            return preview(
                context,
                &params.path,
                &edits,
                params.expected_sha256.as_deref(),
            );
        }
        let writer = context.writer();
        let target = context.services.policy.write(&params.path)?;
        let _locked = writer.lock(&target);
        let path = show_path(target.display_path()).into_owned();
        let applied = edits::attempts(&target, |held| {
            let current = fs::current(&target, MAX_EDIT_BYTES, Some(context.room()))?;
            if let Some(expected) = &params.expected_sha256 {
                hash::expect(target.display_path(), Some(&current.bytes), expected)?;
            }
            let applied =
                edits::apply(current.bytes, &edits, context.room()).map_err(|source| {
                    Error::Edit {
                        path: path.clone(),
                        source: Box::new(source),
                    }
                })?;
            if context.cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            if applied.changed {
                writer.replace_under(
                    held,
                    &target,
                    applied.content.pieces(),
                    Some(&current.stamp),
                )?;
            }
            Ok(applied)
        })?;
        let mut done = context.did("edited", target.display_path());
        if context.is_lean() {
            let edits = applied.per_edit.iter().map(EditReport::from);
            done = format!("{done} {}", edits::lines(edits));
        }
        let mut content = vec![Content::text(done)];
        content.extend(edits::notes(&applied, &edits).map(Content::note));
        let sha256 = params
            .expected_sha256
            .map(|_| hash::of(applied.content.pieces()));
        let edits = applied.per_edit.iter().map(EditReport::from).collect();
        Ok(Reply::content(content).with_structured(Output {
            path,
            edits,
            sha256,
            diff: None,
        }))
    }
}

fn preview(
    context: &Context<'_>,
    path: &str,
    edits: &[Edit],
    expected: Option<&str>,
) -> Result<Reply<Output>, Error> {
    let file = match context.services.policy.read(path) {
        Err(PolicyError::NotFound { path }) => {
            let path = show_path(&path).into_owned();
            let text = edits::describe_intended(&path, edits);
            return Ok(Reply::text(text).with_structured(Output {
                path,
                edits: Vec::new(),
                sha256: None,
                diff: None,
            }));
        }
        file => file?,
    };
    let fs::Loaded {
        bytes,
        share: _held,
    } = fs::load(&file, MAX_EDIT_BYTES, context.room())?;
    if let Some(expected) = expected {
        hash::expect(file.display_path(), Some(&bytes), expected)?;
    }
    let path = show_path(file.display_path()).into_owned();
    let applied = edits::apply(&bytes, edits, context.room()).map_err(|source| Error::Edit {
        path: path.clone(),
        source: Box::new(source),
    })?;
    let mut diff = edits::preview(&path, &bytes, &applied, context.room())?;
    if context.is_lean() && applied.changed {
        let shown = context.shown(file.display_path().as_os_str().as_bytes());
        diff = format!("{shown}\n{}", diff::changed_lines(&diff));
    }
    let (diff, cut) = edits::truncate_diff(diff, context.limit());
    let mut content = vec![Content::text(&*diff)];
    let notes = cut.into_iter().chain(edits::notes(&applied, edits));
    content.extend(notes.map(Content::note));
    let sha256 = expected.map(|_| hash::of(applied.content.pieces()));
    let edits = applied.per_edit.iter().map(EditReport::from).collect();
    Ok(Reply::content(content).with_structured(Output {
        path,
        edits,
        sha256,
        diff: Some(diff),
    }))
}
