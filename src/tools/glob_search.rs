//! `glob_search`: finds files by path globs.

use replay_files::policy::FileKind;
use replay_mcp::protocol::Content;
use replay_mcp::sessions::Weight;
use replay_search::names;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::alike_names::alike_to_globs;
use super::list_directory::open_directory;
use super::name_list::NameList;
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
    /// Obey .gitignore
    respect_gitignore: Option<bool>,
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    notes: Vec<String>,
}

impl Tool for GlobSearch {
    type Params = Params;
    type Output = Output;
    const NAME: &'static str = "glob_search";
    const TITLE: &'static str = "Find files by glob";
    const DESCRIPTION: &'static str =
        "Find files by path glob, hidden ones too; absolute paths in order.";
    const HINTS: Hints = Hints::Observes;
    const TOOLSET: Toolset = Toolset::Files;
    const WEIGHT: Weight = Weight::Heavy;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<Output>, Error> {
        let selection = Selection {
            directory: Some(open_directory(&context.services.policy, &params.directory)?),
            globs: Some(&params.globs),
            exclude: params.exclude_globs.as_deref().unwrap_or_default(),
            respect_gitignore: params.respect_gitignore.unwrap_or_default(),
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
        let matches = NameList::new(&named.paths);
        let (count, total) = (matches.len(), named.total);
        let truncated = total > count || named.more;
        context
            .progress
            .report_now(total as u64, None, &format!("{total} files found"));
        let text = if count == 0 {
            "(no matches found)"
        } else {
            matches.text()
        };
        let mut content = Vec::new();
        if truncated {
            let more = if named.more { "more than " } else { "" };
            content.push(Content::text(format!(
                "[truncated: the first {count} of {more}{total} files; raise max or narrow globs]\n{text}"
            )));
        } else {
            content.push(Content::text(text));
        }
        let means = "leave it out with excludeGlobs or respectGitignore";
        let bulk = || Bulk::of_paths(scope.root()?, || named.paths.iter());
        content.extend(
            Bulk::note(matches.text().len(), count, "paths", means, bulk).map(Content::Text),
        );
        let mut alike = Vec::new();
        if count == 0 {
            let directory = open_directory(&context.services.policy, &params.directory)?;
            if let Some((note, names)) = alike_to_globs(context, directory, &params.globs)? {
                content.push(Content::Text(note));
                alike = names;
            }
        }
        let outcome = match (count, truncated) {
            (_, true) => Outcome::Cut,
            (0, false) => Outcome::Nothing,
            _ => Outcome::Found,
        };
        let notes = glob_notes(
            context,
            &scope.globs(),
            outcome,
            Some(&params.directory),
            again,
        );
        content.extend(notes.iter().map(|note| Content::Text(format!("[{note}]"))));
        if named.skipped > 0 {
            content.push(Content::text(format!(
                "[{} directories could not be read]",
                named.skipped
            )));
            content.extend(
                unreadable_note(named.unreadable.iter().map(Vec::as_slice)).map(Content::Text),
            );
        }
        let not_searched = NotSearched::of(named.left_out).filter(|_| count == 0);
        content.extend(
            not_searched
                .as_ref()
                .map(|left_out| Content::Text(left_out.note())),
        );
        let output = Output {
            matches,
            count,
            truncated,
            alike,
            not_searched,
            notes,
        };
        Ok(Reply::content(content)
            .with_structured(output)
            .holding(named.held))
    }
}
