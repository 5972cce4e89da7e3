//! `list_files`: lists the files of a directory, in the format of Python servers.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;

use replay_base::limits::{MAX_TREE_ENTRIES, MAX_WALK_DEPTH};
use replay_base::text::escape::show;
use replay_files::fs::{self, Tree, TreeOptions};
use replay_files::policy::FileKind;
use replay_mcp::sessions::Weight;
use replay_python::PythonError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::list_directory::open_directory;
use super::open_object::Open;
use super::{Context, Hints, Reply, Tool, Toolset};
use crate::error::Error;

/// Entries that `list_files` lists.
const MAX_LISTED_FILES: usize = 1000;

pub(super) struct ListFiles;

/// Arguments of `list_files`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Params {
    /// Directory (default: the first allowed one)
    #[schemars(extend("x-aliases" = ["directory", "dir"]))]
    path: Option<String>,
    /// Include what lies in subdirectories
    recursive: Option<bool>,
    /// Draw a tree, and list the first level only
    tree: Option<bool>,
    /// Levels below the directory
    #[schemars(range(min = 1), extend("x-aliases" = ["maxDepth", "depth"]))]
    max_depth: Option<usize>,
}

#[derive(Debug, Serialize)]
pub(super) struct Output {
    /// Files, and directories that were not entered, with a slash.
    files: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tree: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    /// Note on omitted entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// Directories of generated files, which are not entered.
const CLOSED: [&str; 6] = [
    ".git",
    "node_modules",
    ".venv",
    "venv",
    "target",
    "__pycache__",
];

impl Tool for ListFiles {
    type Params = Params;
    type Output = Open<Output>;
    const NAME: &'static str = "list_files";
    const TITLE: &'static str = "List files";
    const DESCRIPTION: &'static str = "The files of a directory, with recursive those below it too, as paths that the \
        other tools take; or drawn with tree. A slash marks directories that are not gone into: .git, node_modules, venv, \
        target and such are only when named as path. At most 1,000 entries.";
    const HINTS: Hints = Hints::Observes;
    const TOOLSET: Toolset = Toolset::Python;
    const IS_RARE: bool = true;
    const WEIGHT: Weight = Weight::Heavy;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<Open<Output>>, Error> {
        let path = params
            .path
            .as_deref()
            .filter(|path| !path.is_empty())
            .unwrap_or(".");
        let directory =
            open_directory(&context.services.policy, path).map_err(|error| match error {
                Error::Policy(error) => PythonError::Policy(error).into(),
                error => error,
            })?;
        let wants_tree = params.tree == Some(true);
        let is_deep = wants_tree || params.recursive.unwrap_or(params.max_depth.is_some());
        let options = TreeOptions {
            max_depth: if is_deep {
                params.max_depth.unwrap_or(MAX_WALK_DEPTH)
            } else {
                1
            },
            max_entries: MAX_TREE_ENTRIES,
            skip_ignored: false,
            above: &[],
            account: None,
            keep: &|_, _| true,
            closed: &CLOSED,
            cancel: context.cancel,
        };
        let tree = fs::tree(&directory, &options)?;
        let lead = if path == "." {
            String::new()
        } else {
            format!("{}/", path.trim_end_matches('/'))
        };
        let drawn = wants_tree.then(|| draw(&tree));
        let mut files = files(&tree, &lead, if wants_tree { 1 } else { usize::MAX });
        let all = if wants_tree {
            tree.entries.len()
        } else {
            files.len()
        };
        files.truncate(MAX_LISTED_FILES);
        let more = all.saturating_sub(MAX_LISTED_FILES);
        let truncated = more > 0 || tree.truncated;
        let at_least = if tree.truncated { "at least " } else { "" };
        let note =
            truncated.then(|| format!("{at_least}{more} more; narrow the path, or set max_depth"));
        let output = Open(Output {
            files,
            tree: drawn,
            truncated,
            note,
        });
        Reply::json(&output, Vec::new())
    }
}

/// Returns the paths of files down to a depth, and, with a slash, of directories that are not
/// entered.
fn files(tree: &Tree, lead: &str, max_depth: usize) -> Vec<String> {
    let mut above: Vec<String> = Vec::new();
    let mut files = Vec::new();
    for entry in &tree.entries {
        above.truncate(entry.depth - 1);
        let name = show(entry.name.as_bytes());
        let is_directory = entry.kind == FileKind::Directory;
        let is_open = is_directory && entry.listed && entry.depth < max_depth;
        if !is_open && entry.depth <= max_depth {
            let (between, slash) = (
                if above.is_empty() { "" } else { "/" },
                if is_directory { "/" } else { "" },
            );
            files.push(format!("{lead}{}{between}{name}{slash}", above.join("/")));
        }
        if is_directory {
            above.push(name.into_owned());
        }
    }
    files
}

/// Draws the first [`MAX_LISTED_FILES`] entries, one per line and indented by depth; directories
/// have a slash.
fn draw(tree: &Tree) -> String {
    let mut drawn = String::new();
    for entry in tree.entries.iter().take(MAX_LISTED_FILES) {
        let slash = if entry.kind == FileKind::Directory {
            "/"
        } else {
            ""
        };
        // A write to a `String` cannot fail.
        let _ = writeln!(
            drawn,
            "{}{}{slash}",
            "  ".repeat(entry.depth - 1),
            show(entry.name.as_bytes())
        );
    }
    drawn
}

#[cfg(test)]
mod tests {
    use replay_files::fs::TreeEntry;

    use super::*;

    #[test]
    fn flat_tree_is_listed_and_drawn() {
        let entry = |depth, name: &str, kind| TreeEntry {
            depth,
            name: name.into(),
            kind,
            listed: true,
        };
        let entries = vec![
            entry(1, "a", FileKind::Directory),
            entry(2, "b", FileKind::Directory),
            entry(3, "c.py", FileKind::File),
            entry(2, "d.py", FileKind::File),
            entry(1, "e", FileKind::Symlink),
        ];
        let tree = Tree {
            entries,
            ..Tree::default()
        };
        assert_eq!(files(&tree, "", usize::MAX), ["a/b/c.py", "a/d.py", "e"]);
        assert_eq!(files(&tree, "x/", 1), ["x/a/", "x/e"]);
        assert_eq!(draw(&tree), "a/\n  b/\n    c.py\n  d.py\ne\n");
    }
}
