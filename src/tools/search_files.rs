//! `search_files`: finds files and directories by a part of their name.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use memchr::memmem::Finder;
use replay_base::text::glob::is_glob;
use replay_mcp::protocol::Content;
use replay_mcp::sessions::Weight;
use replay_search::{Paths, names};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::alike_names::AlikeNames;
use super::lean_search::{MAX_HIDDEN, names_reply};
use super::list_directory::open_directory;
use super::name_list::{NameList, limit, raise_max};
use super::notes::not_searched::NotSearched;
use super::reply_size::Bulk;
use super::selection::{Selection, call, scope, unreadable_note};
use super::{Context, Hints, Reply, Tool, Toolset};
use crate::error::Error;

/// Note on a glob in place of a part of a name.
const NO_GLOB: &str = "`nameContains` is plain text; glob_search takes globs";

/// Finds entries by name.
pub(super) struct SearchFiles;

/// Arguments of `search_files`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Params {
    /// Search root
    #[schemars(extend("x-aliases" = ["path", "dir"]))]
    directory: String,
    /// Part of the name, any case; no glob, no regex
    #[schemars(length(min = 1), extend("x-aliases" = ["pattern", "name_contains", "query"]))]
    name_contains: String,
    /// Left out; a bare name at any depth
    #[schemars(extend("x-aliases" = ["excludePatterns", "exclude", "exclude_globs"]))]
    exclude_globs: Option<Vec<String>>,
    /// Most paths (default: all)
    #[schemars(range(min = 1), extend("x-aliases" = ["maxResults", "limit"]))]
    max: Option<usize>,
    /// Take in ignored files (.gitignore, caches)
    #[schemars(extend("x-aliases" = ["includeIgnored", "include_ignored", "no_ignore"]))]
    ignored: Option<bool>,
}

/// The paths.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Output {
    matches: NameList,
    count: usize,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(skip)]
    truncated: bool,
    /// Names that only look like what was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    alike: Vec<String>,
    #[serde(rename = "notSearched", skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    not_searched: Option<NotSearched>,
}

impl Tool for SearchFiles {
    type Params = Params;
    type Output = Output;
    const NAME: &'static str = "search_files";
    const TITLE: &'static str = "Find by name";
    const DESCRIPTION: &'static str =
        "Find files and directories whose name contains a text. For globs use glob_search.";
    const HINTS: Hints = Hints::Observes;
    const TOOLSET: Toolset = Toolset::Files;
    const WEIGHT: Weight = Weight::Heavy;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<Output>, Error> {
        if params.name_contains.is_empty() {
            return Err(Error::params(
                "`nameContains` of search_files is empty; give a part of a file name",
            ));
        }
        let selection = Selection {
            directory: Some(open_directory(&context.services.policy, &params.directory)?),
            exclude: params.exclude_globs.as_deref().unwrap_or_default(),
            skip_ignored: context.skips_ignored(params.ignored),
            ..Selection::default()
        };
        let needle = Needle::new(&params.name_contains);
        let scope = scope(context, selection)?;
        let progress = |seen| {
            context
                .progress
                .report(seen, None, &format!("{seen} entries seen"));
        };
        let alike = AlikeNames::new(&params.name_contains);
        let keep = |name: &OsStr| {
            let is_found = needle.is_in(name);
            if !is_found {
                alike.look(name);
            }
            is_found
        };
        let max = params.max.unwrap_or(usize::MAX);
        let named = names(call(context, &progress), &scope, max, &|name, _| keep(name))?;
        if context.is_lean() {
            let is_hidden = named.total == 0 && named.left_out.has_ignored();
            let hidden = is_hidden.then(|| hidden(context, &params)).transpose()?;
            let mut notes = Vec::new();
            if named.total == 0 && is_glob(&params.name_contains) {
                notes.push(NO_GLOB.to_owned());
            }
            notes.extend(alike.note("nameContains").map(|(note, _)| note));
            return Ok(names_reply(
                context,
                named,
                ["name", "names"],
                &hidden.unwrap_or_default(),
                notes,
            ));
        }
        let limit = limit(context, params.max.is_some());
        let matches = NameList::new(context, &named.paths, limit);
        let count = matches.len();
        let text = if count == 0 {
            "(no matches found)"
        } else {
            matches.text()
        };
        let mut content = vec![Content::text(text)];
        if count == 0 && is_glob(&params.name_contains) {
            content.push(Content::note(NO_GLOB));
        }
        let means = "leave it out with excludeGlobs or ignored: false";
        let bulk = || Bulk::of_paths(scope.root()?, || named.paths.iter());
        content.extend(
            Bulk::note(matches.text().len(), count, "names", means, bulk).map(Content::note),
        );
        let truncated = named.total > count || named.more;
        if truncated {
            let (more, total) = (if named.more { "more than " } else { "" }, named.total);
            let raise = raise_max(context, &matches, &named.paths, limit);
            content.push(Content::note(format_args!(
                "truncated: the first {count} of {more}{total} names; {raise}search a smaller directory"
            )));
        }
        let (note, alike) = alike.note("nameContains").unzip();
        content.extend(note.map(Content::note));
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
        Ok(Reply::content(content)
            .with_structured(Output {
                matches,
                count,
                truncated,
                alike: alike.unwrap_or_default(),
                not_searched,
            })
            .holding(named.held))
    }
}

/// Returns ignored entries that match.
fn hidden(context: &Context<'_>, params: &Params) -> Result<Paths, Error> {
    let selection = Selection {
        directory: Some(open_directory(&context.services.policy, &params.directory)?),
        exclude: params.exclude_globs.as_deref().unwrap_or_default(),
        ..Selection::default()
    };
    let scope = scope(context, selection)?;
    let needle = Needle::new(&params.name_contains);
    let is_found = |name: &OsStr, _| needle.is_in(name);
    Ok(names(call(context, &|_| {}), &scope, MAX_HIDDEN, &is_found)?.paths)
}

/// A text that is searched in names, ignoring case.
struct Needle {
    lower: Finder<'static>,
    is_ascii: bool,
}

impl Needle {
    fn new(text: &str) -> Self {
        let lower = text.to_lowercase();
        Self {
            lower: Finder::new(&lower).into_owned(),
            is_ascii: lower.is_ascii(),
        }
    }

    fn is_in(&self, name: &OsStr) -> bool {
        let name = name.as_bytes();
        if !self.is_ascii {
            return self
                .lower
                .find(String::from_utf8_lossy(name).to_lowercase().as_bytes())
                .is_some();
        }
        let mut lower = [0; 256];
        // No name is longer on Linux (`NAME_MAX`), but some filesystems exceed it.
        let Some(lower) = lower.get_mut(..name.len()) else {
            return self.lower.find(&name.to_ascii_lowercase()).is_some();
        };
        lower.copy_from_slice(name);
        lower.make_ascii_lowercase();
        self.lower.find(lower).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needle_matches_case_insensitively() {
        let found = |needle: &str, name: &str| Needle::new(needle).is_in(OsStr::new(name));
        assert!(found("MAKE", "Makefile") && found("file", "Makefile") && found("É", "naïveé.txt"));
        assert!(!found("files", "Makefile") && !found("*", "Makefile") && found("*", "a*b"));
        assert!(Needle::new("b").is_in(OsStr::from_bytes(b"\xffB")));
        assert!(found("needle", &format!("{}NEEDLE", "x".repeat(300))));
    }
}
