//! `directory_tree`: a directory and everything below it, as nested JSON.

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::list_directory::{ItemKind, open_directory};
use super::{Context, Hints, Reply, Tool, Toolset, Weight};
use crate::error::Error;
use crate::fs::{self, TreeEntry, TreeOptions};
use crate::limits::{MAX_TREE_DEPTH, MAX_TREE_ENTRIES};
use crate::policy::Kind;
use crate::protocol::{Content, escape_into};
use crate::text::escape::show;

/// Lists a tree.
pub struct DirectoryTree;

/// Arguments of `directory_tree`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Params {
    /// Root directory
    #[schemars(extend("x-aliases" = ["directory", "dir"]))]
    path: String,
    /// Levels below the root (default: all; 0: the root alone)
    #[schemars(range(min = 0), extend("x-aliases" = ["max_depth", "maxDepth"]))]
    depth: Option<usize>,
}

/// How a node looks on the wire. Only its schema is used: the JSON is written from a flat list, so that no depth of
/// nesting can exhaust a stack.
#[derive(JsonSchema)]
#[schemars(rename = "Node")]
#[expect(dead_code, reason = "the schema generator reads its fields")]
struct Node {
    name: String,
    #[schemars(rename = "type")]
    kind: ItemKind,
    /// Directories only, unless they were not gone into.
    #[schemars(default, skip_serializing_if = "Vec::is_empty")]
    children: Vec<Node>,
}

/// A tree as JSON text.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct Output(Box<RawValue>);

impl JsonSchema for Output {
    fn schema_name() -> Cow<'static, str> {
        Node::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Node::json_schema(generator)
    }
}

impl Tool for DirectoryTree {
    type Params = Params;
    type Output = Output;
    const NAME: &'static str = "directory_tree";
    const TITLE: &'static str = "List a tree";
    const DESCRIPTION: &'static str = "List a directory recursively as JSON {name, type, children}. Limit depth on large \
        trees (100,000 entries at most); to find files use glob_search. Links are shown, not followed.";
    const HINTS: Hints = Hints::Observes;
    const TOOLSET: Toolset = Toolset::Files;
    const WEIGHT: Weight = Weight::Heavy;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<Output>, Error> {
        let directory = open_directory(&context.services.policy, &params.path)?;
        let root = directory.shown().file_name().map_or(Cow::Borrowed("/"), |name| show(name.as_bytes()));
        let wanted = params.depth.unwrap_or(usize::MAX);
        let options = TreeOptions {
            max_depth: wanted.min(MAX_TREE_DEPTH),
            max_entries: MAX_TREE_ENTRIES,
            respect_gitignore: false,
            keep: &|_, _| true,
            cancel: context.cancel,
        };
        let tree = if wanted == 0 { None } else { Some(fs::tree(&directory, &options)?) };
        let text = json(&root, tree.as_ref().map(|tree| tree.entries.as_slice()));
        let mut content = Vec::new();
        if let Some(tree) = &tree {
            if tree.truncated {
                content.push(format!("[truncated after {MAX_TREE_ENTRIES} entries; set depth or list a subdirectory]"));
            }
            if tree.skipped > 0 {
                content.push(format!("[{} directories could not be read]", tree.skipped));
            }
            let cut = |entry: &TreeEntry| entry.depth == MAX_TREE_DEPTH && entry.kind == Kind::Directory;
            if wanted > MAX_TREE_DEPTH && tree.entries.iter().any(cut) {
                content.push(format!("[cut off {MAX_TREE_DEPTH} levels down; list a directory there to go on]"));
            }
        }
        let structured = RawValue::from_string(text.clone()).map_err(Error::output)?;
        let content = std::iter::once(text).chain(content).map(Content::Text).collect();
        Ok(Reply::content(content).with(Output(structured)))
    }
}

/// The root and the entries below it (each directory before what is in it) as nested JSON.
fn json(root: &str, entries: Option<&[TreeEntry]>) -> String {
    let mut out = Vec::new();
    let mut open = 0;
    node(&mut out, root, Kind::Directory, entries.is_some(), &mut open);
    let mut first = true;
    for entry in entries.unwrap_or_default() {
        while open > entry.depth {
            out.extend_from_slice(b"]}");
            open -= 1;
            first = false;
        }
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        first = node(&mut out, &show(entry.name.as_bytes()), entry.kind, entry.listed, &mut open);
    }
    for _ in 0..open {
        out.extend_from_slice(b"]}");
    }
    String::from_utf8(out).unwrap_or_default()
}

/// Writes a node, and leaves it open when it has a list of children; whether it did.
fn node(out: &mut Vec<u8>, name: &str, kind: Kind, listed: bool, open: &mut usize) -> bool {
    out.extend_from_slice(b"{\"name\":");
    escape_into(out, name);
    out.extend_from_slice(b",\"type\":\"");
    out.extend_from_slice(ItemKind::from(kind).name().as_bytes());
    let has_list = kind == Kind::Directory && listed;
    out.extend_from_slice(if has_list { b"\",\"children\":[" } else { b"\"}" });
    *open += usize::from(has_list);
    has_list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flat_list_becomes_nested_json() {
        let entry = |depth, name: &str, kind, listed| TreeEntry { depth, name: name.into(), kind, listed };
        let entries = [
            entry(1, "a", Kind::Directory, true),
            entry(2, "b", Kind::Directory, true),
            entry(3, "c\"", Kind::File, false),
            entry(1, "d", Kind::Directory, false),
            entry(1, "e", Kind::Directory, true),
            entry(1, "f", Kind::Symlink, false),
        ];
        let expected = concat!(
            r#"{"name":"r","type":"directory","children":[{"name":"a","type":"directory","children":["#,
            r#"{"name":"b","type":"directory","children":[{"name":"c\"","type":"file"}]}]},"#,
            r#"{"name":"d","type":"directory"},{"name":"e","type":"directory","children":[]},"#,
            r#"{"name":"f","type":"link"}]}"#
        );
        assert_eq!(json("r", Some(&entries)), expected);
        assert_eq!(json("r", Some(&[])), r#"{"name":"r","type":"directory","children":[]}"#);
        assert_eq!(json("r", None), r#"{"name":"r","type":"directory"}"#);
    }
}
