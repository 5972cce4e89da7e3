//! A tree in order: directories and what is in them, depth first, names sorted by their bytes.
#![expect(clippy::disallowed_methods, reason = "fs is the disk door")]

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use rustix::fs::{Mode, openat};

use crate::cancel::CancelToken;
use crate::limits::MAX_WALK_DEPTH;
use crate::policy::{Checked, Kind, Read};

use super::descent::{Descent, Step};
use super::dir::LIST;
use super::error::FsError;
use super::ignores::Ignores;

/// How a tree is listed.
pub struct TreeOptions<'a> {
    /// Levels listed: 1 is the directory's own entries. Capped by `MAX_WALK_DEPTH`.
    pub max_depth: usize,
    /// Entries listed before the tree is cut off.
    pub max_entries: usize,
    /// Leaves out what `.gitignore` files name, and `.git` itself.
    pub respect_gitignore: bool,
    /// Whether an entry, by its path below the start, is listed at all.
    pub keep: &'a dyn Fn(&[u8], Kind) -> bool,
    /// Stops the listing.
    pub cancel: &'a CancelToken,
}

/// An entry of a tree. The entries below a directory follow it directly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// 1 for the entries of the start.
    pub depth: usize,
    /// Its name.
    pub name: OsString,
    /// What it is; a link is a link, and never gone into.
    pub kind: Kind,
    /// False for a directory that was not gone into: too deep, or not readable.
    pub listed: bool,
}

/// A tree as a flat list, so that no depth of nesting can exhaust a stack.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tree {
    /// In order: each directory before what is in it.
    pub entries: Vec<TreeEntry>,
    /// Whether `max_entries` cut it off.
    pub truncated: bool,
    /// Directories that could not be read.
    pub skipped: u64,
}

/// Lists the tree below an open directory.
pub fn tree(start: &Checked<Read>, options: &TreeOptions<'_>) -> Result<Tree, FsError> {
    let failed = |errno| FsError::of(start.shown(), "list", errno);
    let top = openat(start, ".", LIST, Mode::empty()).map_err(failed)?;
    let mut ignores = Vec::new();
    if options.respect_gitignore {
        ignores.push(Ignores::inside(None, &top, b""));
    }
    let mut descent = Descent::new(top).map_err(failed)?;
    let mut tree = Tree::default();
    let mut rel: Vec<u8> = Vec::new();
    let max_depth = options.max_depth.min(MAX_WALK_DEPTH);
    while let Some(step) = descent.step().map_err(failed)? {
        if options.cancel.is_cancelled() {
            return Err(FsError::Cancelled { path: start.shown().into() });
        }
        let entry = match step {
            Step::Entry(entry) => entry,
            Step::Left(name) => {
                rel.truncate(rel.len().saturating_sub(name.len() + 1));
                ignores.pop();
                continue;
            }
        };
        let before = rel.len();
        rel.extend_from_slice(entry.name.as_bytes());
        let is_dir = entry.kind == Kind::Directory;
        let left_out = options.respect_gitignore
            && (entry.name == ".git"
                || ignores.last().and_then(Option::as_ref).is_some_and(|i| i.ignored(&rel, is_dir)));
        if left_out || !(options.keep)(&rel, entry.kind) {
            rel.truncate(before);
            continue;
        }
        if tree.entries.len() >= options.max_entries {
            tree.truncated = true;
            break;
        }
        let depth = descent.depth() + 1;
        let mut listed = true;
        let mut entered = false;
        if is_dir {
            entered = depth < max_depth && descent.enter(&entry.name, |_| true).unwrap_or(false);
            listed = entered;
            tree.skipped += u64::from(depth < max_depth && !entered);
        }
        tree.entries.push(TreeEntry { depth, name: entry.name, kind: entry.kind, listed });
        if entered {
            if options.respect_gitignore {
                let above = ignores.last().and_then(|above| above.as_ref().map(Arc::clone));
                let dir = descent.dir().map_err(failed)?;
                ignores.push(Ignores::inside(above, dir, &rel));
            }
            rel.push(b'/');
        } else {
            rel.truncate(before);
        }
    }
    Ok(tree)
}
