//! `glob_search`: finds files by path globs.

use std::ffi::OsStr;

use replay_files::policy::FileKind;
use replay_mcp::protocol::Content;
use replay_mcp::sessions::Weight;
use replay_search::{Paths, names};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::alike_names::alike_to_globs;
use super::lean_search::{MAX_HIDDEN, names_reply};
use super::list_directory::open_directory;
use super::name_list::{NameList, limit, raise_max};
use super::notes::globs::{Outcome, glob_notes};
use super::notes::not_searched::NotSearched;
use super::reply_size::Bulk;
use super::selection::{Selection, call, scope, unreadable_note};
use super::{Context, Hints, Reply, Tool, Toolset};
use crate::error::Error;

/// Default result cap of `glob_search`.
const DEFAULT_GLOB_RESULTS: u64 = 1000;

/// Finds files by glob.
pub(super) struct GlobSearch;

/// Arguments of `glob_search`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Params {
    /// Search root
    #[schemars(extend("x-aliases" = ["path", "dir"]))]
    directory: String,
    /// Relative to directory; **/*.c is any depth, {a,b} either
    #[schemars(length(min = 1), extend("x-aliases" = ["glob", "pattern", "patterns"]))]
    globs: Vec<String>,
    /// Left out; a bare name at any depth
    #[schemars(extend("x-aliases" = ["excludePatterns", "exclude", "exclude_globs"]))]
    exclude_globs: Option<Vec<String>>,
    /// Most results (default 1000; 0: all)
    #[schemars(range(min = 0), extend("x-aliases" = ["limit", "maxResults"]))]
    max: Option<u64>,
    /// Take in ignored files (.gitignore, caches)
    #[schemars(extend("x-aliases" = ["includeIgnored", "include_ignored", "no_ignore"]))]
    ignored: Option<bool>,
}

/// The paths.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Output {
    matches: NameList,
    count: usize,
    truncated: bool,
    /// Names that only look like what was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    alike: Vec<String>,
    #[serde(rename = "notSearched", skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    not_searched: Option<NotSearched>,
}

impl Tool for GlobSearch {
    type Params = Params;
    type Output = Output;
    const NAME: &'static str = "glob_search";
    const TITLE: &'static str = "Find files by glob";
    const DESCRIPTION: &'static str =
        "Find files by path glob, hidden ones too; in order of their paths.";
    const HINTS: Hints = Hints::Observes;
    const TOOLSET: Toolset = Toolset::Files;
    const WEIGHT: Weight = Weight::Heavy;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<Output>, Error> {
        let selection = Selection {
            directory: Some(open_directory(&context.services.policy, &params.directory)?),
            globs: Some(&params.globs),
            exclude: params.exclude_globs.as_deref().unwrap_or_default(),
            skip_ignored: context.skips_ignored(params.ignored),
            ..Selection::default()
        };
        let max = match params.max.unwrap_or(DEFAULT_GLOB_RESULTS) {
            0 => usize::MAX,
            max => usize::try_from(max).unwrap_or(usize::MAX),
        };
        let again = selection.without_directory();
        let scope = scope(context, selection)?;
        let progress = |seen| {
            context
                .progress
                .report(seen, None, &format!("{seen} entries seen"));
        };
        let named = names(call(context, &progress), &scope, max, &|_, kind| {
            kind != FileKind::Directory
        })?;
        if context.is_lean() {
            let is_hidden = named.total == 0 && named.left_out.has_ignored();
            let hidden = is_hidden.then(|| hidden(context, &params)).transpose()?;
            let mut notes = Vec::new();
            if named.total == 0 {
                let directory = open_directory(&context.services.policy, &params.directory)?;
                let alike = alike_to_globs(context, directory, &params.globs)?;
                notes.extend(alike.map(|(note, _)| note));
            }
            notes.extend(glob_notes(
                context,
                &scope.globs(),
                outcome(named.total, named.more),
                Some(&params.directory),
                again,
            ));
            return Ok(names_reply(
                context,
                named,
                ["file", "files"],
                &hidden.unwrap_or_default(),
                notes,
            ));
        }
        let limit = limit(context, params.max.is_some());
        let matches = NameList::new(context, &named.paths, limit);
        let (count, total) = (matches.len(), named.total);
        let truncated = total > count || named.more;
        let text = if count == 0 {
            "(no matches found)"
        } else {
            matches.text()
        };
        let mut above = None;
        let text = if truncated {
            let more = if named.more { "more than " } else { "" };
            let raise = raise_max(context, &matches, &named.paths, limit);
            let note = above.insert(format!(
                "truncated: the first {count} of {more}{total} files; {raise}narrow globs"
            ));
            format!("[{note}]\n{text}")
        } else {
            text.to_owned()
        };
        let mut content = vec![Content::Text(text)];
        let means = "leave it out with excludeGlobs or ignored: false";
        let bulk = || Bulk::of_paths(scope.root()?, || named.paths.iter());
        content.extend(
            Bulk::note(matches.text().len(), count, "paths", means, bulk).map(Content::note),
        );
        let mut alike = Vec::new();
        if count == 0 {
            let directory = open_directory(&context.services.policy, &params.directory)?;
            if let Some((note, names)) = alike_to_globs(context, directory, &params.globs)? {
                content.push(Content::note(note));
                alike = names;
            }
        }
        let notes = glob_notes(
            context,
            &scope.globs(),
            outcome(count, truncated),
            Some(&params.directory),
            again,
        );
        content.extend(notes.into_iter().map(Content::note));
        if named.skipped > 0 {
            content.push(Content::note(format_args!(
                "{} directories could not be read",
                named.skipped
            )));
            content.extend(
                unreadable_note(named.unreadable.iter().map(Vec::as_slice)).map(Content::note),
            );
        }
        let not_searched = NotSearched::of(named.left_out).filter(|_| count == 0);
        content.extend(
            not_searched
                .as_ref()
                .map(|left_out| Content::note(left_out.note())),
        );
        let output = Output {
            matches,
            count,
            truncated,
            alike,
            not_searched,
        };
        Ok(Reply::content(content)
            .with_structured(output)
            .with_notes(above.into_iter().collect())
            .holding(named.held))
    }
}

fn outcome(count: usize, truncated: bool) -> Outcome {
    match (count, truncated) {
        (_, true) => Outcome::Cut,
        (0, false) => Outcome::Nothing,
        _ => Outcome::Found,
    }
}

/// Returns ignored files that match.
fn hidden(context: &Context<'_>, params: &Params) -> Result<Paths, Error> {
    let selection = Selection {
        directory: Some(open_directory(&context.services.policy, &params.directory)?),
        globs: Some(&params.globs),
        exclude: params.exclude_globs.as_deref().unwrap_or_default(),
        ..Selection::default()
    };
    let scope = scope(context, selection)?;
    let is_file = |_: &OsStr, kind| kind != FileKind::Directory;
    Ok(names(call(context, &|_| {}), &scope, MAX_HIDDEN, &is_file)?.paths)
}
