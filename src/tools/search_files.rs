//! `search_files`: files and directories by a part of their name.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::selection::{Selection, select};
use super::{Context, Hints, Reply, Tool, Toolset, Weight};
use crate::error::Error;
use crate::protocol::Content;
use crate::text::escape::show_path;

/// Finds entries by name.
pub struct SearchFiles;

/// Arguments of `search_files`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Params {
    /// Where to search
    #[schemars(extend("x-aliases" = ["path", "dir"]))]
    directory: String,
    /// Part of the name, any case; no glob, no regex
    #[schemars(length(min = 1), extend("x-aliases" = ["pattern", "name_contains", "query"]))]
    name_contains: String,
    /// Left out; a bare name at any depth
    #[schemars(extend("x-aliases" = ["excludePatterns", "exclude", "exclude_globs"]))]
    exclude_globs: Option<Vec<String>>,
    /// Leave out what .gitignore names
    respect_gitignore: Option<bool>,
}

/// The paths.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Output {
    matches: Vec<String>,
    count: usize,
}

impl Tool for SearchFiles {
    type Params = Params;
    type Output = Output;
    const NAME: &'static str = "search_files";
    const TITLE: &'static str = "Find by name";
    const DESCRIPTION: &'static str =
        "Find files and directories whose name contains a text. For globs use glob_search, for contents grep_files.";
    const HINTS: Hints = Hints::Observes;
    const TOOLSET: Toolset = Toolset::Files;
    const WEIGHT: Weight = Weight::Heavy;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<Output>, Error> {
        if params.name_contains.is_empty() {
            return Err(Error::params("`nameContains` of search_files is empty; give a part of a name"));
        }
        let selection = Selection {
            directory: Some(&params.directory),
            globs: None,
            exclude: params.exclude_globs.as_deref().unwrap_or_default(),
            respect_gitignore: params.respect_gitignore.unwrap_or_default(),
        };
        let needle = Needle::new(&params.name_contains);
        let selected = select(context, &selection, |name, _| needle.is_in(name))?;
        let matches: Vec<String> = selected.entries.iter().map(|entry| show_path(&entry.path).into_owned()).collect();
        let count = matches.len();
        context.progress.report_now(count as u64 + 1, None, &format!("{count} names found"));
        let text = if matches.is_empty() { "(no matches found)".to_owned() } else { matches.join("\n") };
        let mut content = vec![Content::Text(text)];
        if selected.skipped > 0 {
            content.push(Content::text(format!("[{} directories could not be read]", selected.skipped)));
        }
        Ok(Reply::content(content).with(Output { matches, count }))
    }
}

/// A text to find in names, whatever the case.
struct Needle {
    lower: String,
}

impl Needle {
    fn new(text: &str) -> Self {
        Self { lower: text.to_lowercase() }
    }

    fn is_in(&self, name: &OsStr) -> bool {
        let name = name.as_bytes();
        if self.lower.is_ascii() {
            let needle = self.lower.as_bytes();
            return name.len() >= needle.len()
                && name.windows(needle.len()).any(|window| window.eq_ignore_ascii_case(needle));
        }
        String::from_utf8_lossy(name).to_lowercase().contains(&self.lower)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_without_case() {
        let found = |needle: &str, name: &str| Needle::new(needle).is_in(OsStr::new(name));
        assert!(found("MAKE", "Makefile") && found("file", "Makefile") && found("É", "naïveé.txt"));
        assert!(!found("files", "Makefile") && !found("*", "Makefile") && found("*", "a*b"));
        assert!(Needle::new("b").is_in(OsStr::from_bytes(b"\xffB")));
    }
}
