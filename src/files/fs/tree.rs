//! An ordered tree: directories and their content, depth first, names sorted by bytes.

use std::ffi::OsString;
use std::ops::ControlFlow;

use replay_base::budget::Account;
use replay_base::cancel::CancelToken;
use replay_base::limits::MAX_WALK_DEPTH;
use rustix::io::Errno;

use crate::policy::{Checked, FileKind, Read};

use super::error::FsError;
use super::listing::Order;
use super::walk::{Visitor, WalkEntry, WalkOptions, walk};

/// Options for listing a tree.
pub struct TreeOptions<'a> {
    /// Levels listed: 1 for the directory's own entries. Capped by `MAX_WALK_DEPTH`.
    pub max_depth: usize,
    /// Maximum number of entries.
    pub max_entries: usize,
    /// `true` to skip what [`WalkOptions::skip_ignored`] says.
    pub skip_ignored: bool,
    /// Directories above the start, as in [`WalkOptions::above`].
    pub above: &'a [(Checked<Read>, Vec<u8>)],
    /// Account for the memory of these rules; `None` if memory is not limited.
    pub account: Option<&'a Account>,
    /// Filter of listed entries, by the path below the start.
    pub keep: &'a (dyn Fn(&[u8], FileKind) -> bool + Sync),
    /// Names of directories that are listed without their content.
    pub closed: &'a [&'a str],
    pub cancel: &'a CancelToken,
}

/// An entry of a tree. The content of a directory follows it directly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Depth: 1 for the entries of the start.
    pub depth: usize,
    pub name: OsString,
    /// File type; links are not followed.
    pub kind: FileKind,
    /// `false` for a directory that was not entered: too deep, unreadable or closed.
    pub listed: bool,
}

/// A tree as a flat list, so that no nesting can exhaust the stack.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tree {
    /// Entries in order: each directory before its content.
    pub entries: Vec<TreeEntry>,
    /// `true` if `max_entries` was reached.
    pub truncated: bool,
    /// Number of unreadable directories.
    pub skipped: u64,
    /// Number of files that were left out as ignored, without those in ignored directories.
    pub ignored_files: u64,
    /// Number of directories that were left out, or not entered, as ignored.
    pub ignored_directories: u64,
}

/// Lists the tree below an open directory.
pub fn tree(start: &Checked<Read>, options: &TreeOptions<'_>) -> Result<Tree, FsError> {
    let max_depth = options.max_depth.min(MAX_WALK_DEPTH);
    let walk_options = WalkOptions {
        threads: None,
        order: Order::Names,
        max_depth,
        skip_ignored: options.skip_ignored,
        above: options.above,
        account: options.account,
        cancel: options.cancel,
    };
    let mut tree = Tree::default();
    let lister = Lister {
        keep: options.keep,
        closed: options.closed,
        max_depth,
    };
    let mut start_is_readable = true;
    walk(start, &walk_options, &lister, |stretch: TreeChunk| {
        if stretch.unreadable {
            // The content of a directory follows it directly, so it is the last entry.
            match tree.entries.last_mut() {
                Some(directory) => directory.listed = false,
                None => start_is_readable = false,
            }
            tree.skipped += 1;
        }
        if stretch.derived
            && let Some(directory) = tree.entries.last_mut()
        {
            directory.listed = false;
        }
        tree.ignored_files += stretch.ignored_files;
        tree.ignored_directories += stretch.ignored_directories;
        let room = options.max_entries - tree.entries.len();
        tree.truncated = stretch.entries.len() > room;
        tree.entries.extend(stretch.entries.into_iter().take(room));
        if tree.truncated {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    if options.cancel.is_cancelled() {
        return Err(FsError::Cancelled {
            path: start.display_path().into(),
        });
    }
    if !start_is_readable {
        return Err(FsError::of(start.display_path(), "list", Errno::IO));
    }
    Ok(tree)
}

#[derive(Default)]
struct TreeChunk {
    entries: Vec<TreeEntry>,
    /// `true` if the directory of these entries could not be read.
    unreadable: bool,
    /// `true` if it was not read since a program can make its content again.
    derived: bool,
    ignored_files: u64,
    ignored_directories: u64,
}

struct Lister<'a> {
    keep: &'a (dyn Fn(&[u8], FileKind) -> bool + Sync),
    closed: &'a [&'a str],
    max_depth: usize,
}

impl Lister<'_> {
    fn is_closed(&self, rel: &[u8]) -> bool {
        let name = rel.rsplit(|byte| *byte == b'/').next().unwrap_or(rel);
        self.closed.iter().any(|closed| closed.as_bytes() == name)
    }
}

impl Visitor for Lister<'_> {
    type Local = ();
    type Out = TreeChunk;
    type Notes = ();

    fn local(&self) {}

    fn enters(&self, rel: &[u8]) -> bool {
        !self.is_closed(rel) && (self.keep)(rel, FileKind::Directory)
    }

    fn visit(&self, (): &mut (), out: &mut TreeChunk, found: &WalkEntry<'_>, (): &()) {
        let kind = found.kind();
        if !(self.keep)(found.rel(), kind) {
            return;
        }
        let depth = memchr::memchr_iter(b'/', found.rel()).count() + 1;
        let listed =
            kind != FileKind::Directory || depth < self.max_depth && !self.is_closed(found.rel());
        out.entries.push(TreeEntry {
            depth,
            name: found.name().to_owned(),
            kind,
            listed,
        });
    }

    fn ignored(&self, out: &mut TreeChunk, rel: &[u8], kind: FileKind) {
        if (self.keep)(rel, kind) {
            let is_directory = kind == FileKind::Directory;
            out.ignored_directories += u64::from(is_directory);
            out.ignored_files += u64::from(!is_directory);
        }
    }

    fn derived(&self, out: &mut TreeChunk, rel: &[u8]) {
        self.ignored(out, rel, FileKind::Directory);
        out.derived = true;
    }

    fn unreadable(&self, out: &mut TreeChunk, _: &[u8]) {
        out.unreadable = true;
    }

    fn weight(out: &TreeChunk) -> usize {
        out.entries.len() * size_of::<TreeEntry>()
            + usize::from(out.unreadable)
            + (out.ignored_files + out.ignored_directories) as usize
    }
}
