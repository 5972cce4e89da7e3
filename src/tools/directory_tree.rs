//! `directory_tree`: a directory and everything below it, as nested JSON.

use std::os::unix::ffi::OsStrExt;

use schemars::JsonSchema;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use super::list_directory::{ItemKind, open_directory};
use super::{Context, Hints, Reply, Tool, Toolset, Weight};
use crate::error::Error;
use crate::fs::{self, TreeEntry, TreeOptions};
use crate::limits::{MAX_TREE_ENTRIES, MAX_WALK_DEPTH};
use crate::policy::Kind;
use crate::protocol::Content;
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

/// A node; directories have children, unless they were not gone into.
#[derive(Debug)]
pub struct Node {
    name: String,
    kind: Kind,
    children: Option<Vec<Node>>,
}

/// How a node looks on the wire, for the schema alone.
#[derive(JsonSchema)]
#[schemars(rename = "Node")]
#[expect(dead_code, reason = "its fields are read by the schema generator")]
struct NodeSchema {
    name: String,
    r#type: ItemKind,
    children: Option<Vec<NodeSchema>>,
}

impl JsonSchema for Node {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        NodeSchema::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        NodeSchema::json_schema(generator)
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut node = serializer.serialize_struct("Node", 3)?;
        node.serialize_field("name", &self.name)?;
        node.serialize_field("type", &ItemKind::from(self.kind))?;
        if let Some(children) = &self.children {
            node.serialize_field("children", children)?;
        }
        node.end()
    }
}

impl Tool for DirectoryTree {
    type Params = Params;
    type Output = Node;
    const NAME: &'static str = "directory_tree";
    const TITLE: &'static str = "List a tree";
    const DESCRIPTION: &'static str = "List a directory recursively as JSON {name, type, children}. Limit depth on large \
        trees (100,000 entries at most); to find files use glob_search. Links are shown, not followed.";
    const HINTS: Hints = Hints::Observes;
    const TOOLSET: Toolset = Toolset::Files;
    const WEIGHT: Weight = Weight::Heavy;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<Node>, Error> {
        let directory = open_directory(&context.services.policy, &params.path)?;
        let root = directory.shown().file_name().map_or_else(|| "/".into(), |name| show(name.as_bytes()).into_owned());
        let mut root = Node { name: root, kind: Kind::Directory, children: None };
        let max_depth = params.depth.unwrap_or(MAX_WALK_DEPTH);
        let mut notes = Vec::new();
        if max_depth > 0 {
            let options = TreeOptions {
                max_depth,
                max_entries: MAX_TREE_ENTRIES,
                respect_gitignore: false,
                keep: &|_, _| true,
                cancel: context.cancel,
            };
            let tree = fs::tree(&directory, &options)?;
            if tree.truncated {
                notes.push(format!("[truncated after {MAX_TREE_ENTRIES} entries; set depth or list a subdirectory]"));
            }
            if tree.skipped > 0 {
                notes.push(format!("[{} directories could not be read]", tree.skipped));
            }
            root.children = Some(nest(tree.entries));
        }
        let text = serde_json::to_string(&root).map_err(Error::output)?;
        let mut content = vec![Content::Text(text)];
        content.extend(notes.into_iter().map(Content::Text));
        Ok(Reply::content(content).with(root))
    }
}

/// A flat list of entries, each directory before what is in it, as nested nodes.
fn nest(entries: Vec<TreeEntry>) -> Vec<Node> {
    // Open lists from the outermost to the innermost; the last one takes the next entry.
    let mut open: Vec<Vec<Node>> = vec![Vec::new()];
    for entry in entries {
        while open.len() > entry.depth {
            close(&mut open);
        }
        let children = (entry.kind == Kind::Directory && entry.listed).then(Vec::new);
        let gone_into = children.is_some();
        let node = Node { name: show(entry.name.as_bytes()).into_owned(), kind: entry.kind, children };
        if let Some(list) = open.last_mut() {
            list.push(node);
        }
        if gone_into {
            open.push(Vec::new());
        }
    }
    while open.len() > 1 {
        close(&mut open);
    }
    open.pop().unwrap_or_default()
}

/// Gives the innermost list to the directory that it belongs to.
fn close(open: &mut Vec<Vec<Node>>) {
    if let Some(children) = open.pop()
        && let Some(parent) = open.last_mut().and_then(|list| list.last_mut())
    {
        parent.children = Some(children);
    }
}
