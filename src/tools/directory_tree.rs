//! `directory_tree`: a directory and everything below it, as nested JSON.

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;

use replay_base::limits::{MAX_TREE_ENTRIES, MAX_WALK_DEPTH};
use replay_base::text::count::counted;
use replay_base::text::escape::show;
use replay_base::text::tokens::count_tokens;
use replay_files::fs::{self, Tree, TreeEntry, TreeOptions};
use replay_files::policy::FileKind;
use replay_mcp::protocol::{Content, escape_into};
use replay_mcp::sessions::Weight;
use replay_search::{Exclude, LeftOut, directories_above, with_slash};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::fitted_tree::FittedTree;
use super::list_directory::{ItemKind, open_directory};
use super::reply_size::Bulk;
use super::status_line::Status;
use super::{Context, Hints, Reply, Tool, Toolset};
use crate::error::Error;

/// Deepest nesting of structured content, in levels of a tree: each is two in JSON, and many
/// clients read only 128.
const MAX_NESTED_LEVELS: usize = 50;
/// Memory for a tree until it is a reply, as a multiple of its text: as text and as structure,
/// while they are made.
const TREE_COPIES: usize = 3;
/// Bytes of a tree's text for each entry besides its name.
const TREE_NODE_BYTES: usize = 48;

pub(super) struct DirectoryTree;

/// Arguments of `directory_tree`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Params {
    /// Directory
    #[schemars(extend("x-aliases" = ["directory", "dir"]))]
    path: String,
    /// Levels below it (default: all; 0: none)
    #[schemars(range(min = 0), extend("x-aliases" = ["max_depth", "maxDepth"]))]
    depth: Option<usize>,
    /// Left out; a bare name at any depth
    #[schemars(extend("x-aliases" = ["excludePatterns", "exclude", "exclude_globs"]))]
    exclude_globs: Option<Vec<String>>,
    /// Take in ignored files (.gitignore, caches)
    #[schemars(extend("x-aliases" = ["includeIgnored", "include_ignored", "no_ignore"]))]
    ignored: Option<bool>,
}

/// A node on the wire, but for `leftOut` and `truncated`, which are told where they are. Only its
/// schema is used: the JSON is written from a flat list, so that no depth of nesting can exhaust a
/// stack.
#[derive(JsonSchema)]
#[schemars(rename = "Node")]
#[expect(dead_code, reason = "the schema generator reads its fields")]
struct NodeSchema {
    name: String,
    #[schemars(rename = "type")]
    kind: ItemKind,
    /// Of directories that were gone into.
    #[schemars(skip_serializing_if = "Vec::is_empty")]
    children: Vec<NodeSchema>,
}

/// A [`NodeSchema`], written as text only.
#[derive(Debug, Serialize)]
pub(super) enum Output {}

impl JsonSchema for Output {
    fn schema_name() -> Cow<'static, str> {
        NodeSchema::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        NodeSchema::json_schema(generator)
    }
}

impl Tool for DirectoryTree {
    type Params = Params;
    type Output = Output;
    const NAME: &'static str = "directory_tree";
    const TITLE: &'static str = "List a tree";
    const DESCRIPTION: &'static str =
        "A directory, recursively, 100,000 entries at most. Links are not followed.";
    const HINTS: Hints = Hints::Observes;
    const TOOLSET: Toolset = Toolset::Files;
    const WEIGHT: Weight = Weight::Heavy;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<Output>, Error> {
        let directory = open_directory(&context.services.policy, &params.path)?;
        let root = directory
            .display_path()
            .file_name()
            .map_or(Cow::Borrowed("/"), |name| show(name.as_bytes()));
        let exclude = params.exclude_globs.as_deref().unwrap_or_default();
        let exclude = Exclude::new(
            &context.services.policy,
            directory.display_path(),
            exclude,
            Some(context.room()),
        )?;
        let start = with_slash(directory.display_path());
        let policy = &context.services.policy;
        let above = directories_above(policy, directory.display_path());
        let options = TreeOptions {
            max_depth: params.depth.unwrap_or(MAX_WALK_DEPTH),
            max_entries: MAX_TREE_ENTRIES,
            skip_ignored: context.skips_ignored(params.ignored),
            above: &above,
            account: Some(&context.services.account),
            keep: &|rel, _| !exclude.matches(&start, b"", rel),
            closed: &[],
            cancel: context.cancel,
        };
        let mut tree = if options.max_depth == 0 {
            None
        } else {
            Some(fs::tree(&directory, &options)?)
        };
        let entries = tree.as_ref().map(|tree| tree.entries.as_slice());
        let all = entries.unwrap_or_default();
        let mut held = context.room().share();
        let names: usize = all
            .iter()
            .map(|entry| entry.name.len() + TREE_NODE_BYTES)
            .sum();
        context
            .room()
            .cover(&mut held, size_of_val(all) + names * TREE_COPIES)?;
        if context.is_lean() {
            let tree = tree.unwrap_or_default();
            return Ok(lean_reply(context, tree).holding(held));
        }
        let is_truncated = tree.as_ref().is_some_and(|tree| tree.truncated);
        let root = Root {
            name: &root,
            left_out: 0,
            is_truncated,
        };
        let mut text = json(root, entries, &[], usize::MAX);
        let means = "leave it out with excludeGlobs or ignored: false, or set depth";
        let bulk = Bulk::note(text.len(), all.len(), "entries", means, || {
            Bulk::of_tree(all)
        });
        let mut notes: Vec<String> = bulk.into_iter().collect();
        if let Some(tree) = tree.as_ref().filter(|tree| tree.truncated) {
            let count = tree.entries.len();
            notes.push(format!(
                "truncated after {count} entries; set depth or list a subdirectory"
            ));
        }
        if let Some(tree) = tree.as_ref().filter(|tree| tree.skipped > 0) {
            notes.push(format!(
                "{} directories could not be read, or lie too deep",
                tree.skipped
            ));
        }
        let most = if params.depth.is_some() {
            usize::MAX
        } else {
            context.limit().most_bytes()
        };
        let (mut cut, mut left_out, mut root) = (None, Vec::new(), root);
        if text.len() > most
            && let Some(tree) = &mut tree
        {
            root.left_out = tree.entries.len();
            let room = most.saturating_sub(json(root, Some(&[]), &[], 0).len());
            let fitted = FittedTree::new(std::mem::take(&mut tree.entries), room, length);
            root.left_out = fitted.others();
            text = json(root, Some(&fitted.entries), &fitted.left_out, usize::MAX);
            cut = Some(fitted.note());
            (tree.entries, left_out) = (fitted.entries, fitted.left_out);
        }
        let entries = tree.as_ref().map(|tree| tree.entries.as_slice());
        let is_deep = entries
            .unwrap_or_default()
            .iter()
            .any(|entry| entry.depth > MAX_NESTED_LEVELS);
        let structured = if is_deep {
            notes.push(format!(
                "structuredContent ends {MAX_NESTED_LEVELS} levels down, for clients that cannot read more"
            ));
            json(root, entries, &left_out, MAX_NESTED_LEVELS)
        } else {
            text.clone()
        };
        let notes = notes.into_iter().chain(cut).map(Content::note);
        let content = std::iter::once(Content::Text(text)).chain(notes).collect();
        Ok(Reply::content(content)
            .with_written(structured)
            .holding(held))
    }
}

/// Returns the reply for a model: a name per line, indented by its depth.
fn lean_reply(context: &Context<'_>, mut tree: Tree) -> Reply<Output> {
    let (mut status, mut notes) = (Status::default(), Vec::new());
    let draw = |entries: &[TreeEntry], left_out: &[usize]| {
        let mut text = String::new();
        for (at, entry) in entries.iter().enumerate() {
            text.push_str(&line(entry, left_out.get(at).copied().unwrap_or_default()));
        }
        text
    };
    let limit = context.limit();
    let mut text = draw(&tree.entries, &[]);
    if !limit.holds(&text) {
        let most = limit.tokens_of(&text);
        let cost = |entry: &TreeEntry| count_tokens(&line(entry, usize::from(!entry.listed)));
        let all = std::mem::take(&mut tree.entries);
        let fitted = FittedTree::new(all, most, cost);
        text = draw(&fitted.entries, &fitted.left_out);
        notes.push(fitted.note());
        tree.entries = fitted.entries;
    }
    if tree.truncated {
        let count = tree.entries.len();
        status.add(format!(
            "truncated after {count} entries: set depth or list a subdirectory"
        ));
    } else if tree.entries.is_empty() {
        status.add("empty");
    }
    if tree.skipped > 0 {
        let skipped = counted(tree.skipped, "directory", "directories");
        status.add(format!("{skipped} could not be read, or lie too deep"));
    }
    status.add_ignored(LeftOut {
        binary_files: 0,
        ignored_files: tree.ignored_files,
        ignored_directories: tree.ignored_directories,
    });
    status.reply(text, notes)
}

/// Returns the line of an entry. `left_out` is the number of omitted entries below it.
fn line(entry: &TreeEntry, left_out: usize) -> String {
    let indent = "  ".repeat(entry.depth - 1);
    let name = show(entry.name.as_bytes());
    let sign = ItemKind::from(entry.kind).sign();
    let more = match left_out {
        0 => String::new(),
        count => format!(" ({count} more)"),
    };
    format!("{indent}{name}{sign}{more}\n")
}

/// The root of a tree.
#[derive(Clone, Copy)]
struct Root<'a> {
    name: &'a str,
    /// Number of entries left out, beside those below closed directories.
    left_out: usize,
    is_truncated: bool,
}

/// Renders the root and the entries below it (each directory before its contents) as nested JSON of
/// `levels` levels. `left_out` has the number of omitted entries below each entry.
fn json(
    root: Root<'_>,
    entries: Option<&[TreeEntry]>,
    left_out: &[usize],
    levels: usize,
) -> String {
    let mut out = Vec::new();
    let mut open = 0;
    let all = entries.unwrap_or_default();
    // The root has the number of entries below the deepest shown level.
    let cut = all.iter().filter(|entry| entry.depth > levels).count();
    let name = Node {
        name: root.name,
        kind: FileKind::Directory,
        is_truncated: root.is_truncated,
        left_out: root.left_out + cut,
    };
    node(&mut out, name, entries.is_some(), &mut open);
    let mut first = true;
    for (at, entry) in all
        .iter()
        .enumerate()
        .filter(|(_, entry)| entry.depth <= levels)
    {
        while open > entry.depth {
            out.extend_from_slice(b"]}");
            open -= 1;
            first = false;
        }
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        let left_out = left_out.get(at).copied().unwrap_or_default();
        let name = Node {
            name: &show(entry.name.as_bytes()),
            kind: entry.kind,
            is_truncated: false,
            left_out,
        };
        first = node(
            &mut out,
            name,
            entry.listed && entry.depth < levels,
            &mut open,
        );
    }
    for _ in 0..open {
        out.extend_from_slice(b"]}");
    }
    String::from_utf8(out).unwrap_or_default()
}

/// Maximum length of the JSON of one entry, with a comma.
fn length(entry: &TreeEntry) -> usize {
    let mut out = Vec::new();
    let name = Node {
        name: &show(entry.name.as_bytes()),
        kind: entry.kind,
        is_truncated: false,
        left_out: 0,
    };
    let is_open = node(&mut out, name, entry.listed, &mut 0);
    // A closed directory has a `leftOut` member, which is longer than an empty list.
    out.len() + 1 + usize::from(is_open) * (2 + LEFT_OUT_BYTES)
}

/// JSON members of one entry.
struct Node<'a> {
    name: &'a str,
    kind: FileKind,
    is_truncated: bool,
    left_out: usize,
}

/// Bytes by which `"leftOut":100000` is longer than an empty list of children.
const LEFT_OUT_BYTES: usize = 3;

/// Writes a node, and leaves it open if it has a list of children. Returns true if it has.
#[expect(clippy::needless_pass_by_value, reason = "made for the call")]
fn node(out: &mut Vec<u8>, node: Node<'_>, listed: bool, open: &mut usize) -> bool {
    let Node {
        name,
        kind,
        is_truncated,
        left_out,
    } = node;
    out.extend_from_slice(b"{\"name\":");
    escape_into(out, name);
    out.extend_from_slice(b",\"type\":\"");
    out.extend_from_slice(ItemKind::from(kind).name().as_bytes());
    out.push(b'"');
    if is_truncated {
        out.extend_from_slice(b",\"truncated\":true");
    }
    if left_out > 0 {
        out.extend_from_slice(b",\"leftOut\":");
        out.extend_from_slice(left_out.to_string().as_bytes());
    }
    let has_list = kind == FileKind::Directory && listed;
    out.extend_from_slice(if has_list { b",\"children\":[" } else { b"}" });
    *open += usize::from(has_list);
    has_list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flat_list_becomes_nested_json() {
        let entry = |depth, name: &str, kind, listed| TreeEntry {
            depth,
            name: name.into(),
            kind,
            listed,
        };
        let entries = [
            entry(1, "a", FileKind::Directory, true),
            entry(2, "b", FileKind::Directory, true),
            entry(3, "c\"", FileKind::File, false),
            entry(1, "d", FileKind::Directory, false),
            entry(1, "e", FileKind::Directory, true),
            entry(1, "f", FileKind::Symlink, false),
        ];
        let expected = concat!(
            r#"{"name":"r","type":"directory","children":[{"name":"a","type":"directory","children":["#,
            r#"{"name":"b","type":"directory","children":[{"name":"c\"","type":"file"}]}]},"#,
            r#"{"name":"d","type":"directory"},{"name":"e","type":"directory","children":[]},"#,
            r#"{"name":"f","type":"link"}]}"#
        );
        let root = Root {
            name: "r",
            left_out: 0,
            is_truncated: false,
        };
        assert_eq!(json(root, Some(&entries), &[], 3), expected);
        let shallow = concat!(
            r#"{"name":"r","type":"directory","leftOut":2,"children":[{"name":"a","type":"directory"},"#,
            r#"{"name":"d","type":"directory"},{"name":"e","type":"directory"},{"name":"f","type":"link"}]}"#
        );
        assert_eq!(json(root, Some(&entries), &[], 1), shallow);
        assert_eq!(
            json(root, Some(&[]), &[], 3),
            r#"{"name":"r","type":"directory","children":[]}"#
        );
        assert_eq!(
            json(root, None, &[], 3),
            r#"{"name":"r","type":"directory"}"#
        );
        let cut = Root {
            is_truncated: true,
            left_out: 7,
            ..root
        };
        let closed = r#"{"name":"r","type":"directory","truncated":true,"leftOut":7,"children":[{"name":"d","type":"directory","leftOut":9}]}"#;
        assert_eq!(json(cut, Some(&entries[3..4]), &[9], 3), closed);
    }
}
