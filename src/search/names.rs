//! Entries of a scope by their names, in path order.

use std::ffi::OsStr;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use replay_base::budget::Share;
use replay_base::cancel::CancelToken;
use replay_base::limits::{FOUND_COPIES, MAX_NAMED_UNREADABLE, SEARCH_PROGRESS_STEP};
use replay_files::fs::{self, Ended, Entries, OpenDir, Visitor, WalkEntry};
use replay_files::policy::FileKind;

use super::Call;
use super::error::SearchError;
use super::left_out::LeftOut;
use super::memory::{self, Notes, Recall};
use super::scope::{Scope, Start, name_of};

/// Largest result of a search for names, in bytes of paths.
const MAX_NAMES_BYTES: usize = 64 * 1024 * 1024;
/// Entries seen behind the last result of a full `glob_search` to say how many more there are.
const GLOB_COUNT_ON_ENTRIES: u64 = 1_000_000;

/// Absolute paths in one buffer.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Paths {
    /// Each with a NUL behind it, which no path holds.
    bytes: Vec<u8>,
    count: usize,
}

impl Paths {
    /// Returns the number of paths.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns true if there are no paths.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Each path, in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes
            .split_inclusive(|&byte| byte == 0)
            .map(|path| &path[..path.len() - 1])
    }

    fn push(&mut self, start: &[u8], rel: &[u8]) {
        self.bytes.reserve(start.len() + rel.len() + 1);
        self.bytes.extend_from_slice(start);
        self.bytes.extend_from_slice(rel);
        self.bytes.push(0);
        self.count += 1;
    }

    /// Adds the first `most` of `more`.
    fn append(&mut self, more: &Self, most: usize) {
        let end = if most >= more.count {
            more.bytes.len()
        } else if most == 0 {
            0
        } else {
            memchr::memchr_iter(0, &more.bytes)
                .nth(most - 1)
                .map_or(0, |at| at + 1)
        };
        self.bytes.extend_from_slice(&more.bytes[..end]);
        self.count += more.count.min(most);
    }

    /// Sorts the paths by their bytes and removes duplicates.
    fn sort(&mut self) {
        let mut paths: Vec<&[u8]> = self.iter().collect();
        paths.sort_unstable();
        paths.dedup();
        let mut sorted = Self::default();
        for path in paths {
            sorted.push(path, b"");
        }
        *self = sorted;
    }
}

#[derive(Debug, Default)]
pub struct NameMatches {
    /// In the order of their bytes, at most as many as were wanted.
    pub paths: Paths,
    /// Number of paths in all, or until the search ended.
    pub total: usize,
    /// `true` if there may be more than `total`.
    pub more: bool,
    /// Directories that could not be read.
    pub skipped: u64,
    /// The first of those.
    pub unreadable: Vec<Vec<u8>>,
    pub left_out: LeftOut,
    /// Share of the memory budget that the paths, and texts made of them, take.
    pub held: Share,
}

/// Finds the entries that `keep` accepts. Returns the first `max` of them and counts the others.
pub fn names(
    call: Call<'_>,
    scope: &Scope,
    max: usize,
    keep: &(dyn Fn(&OsStr, FileKind) -> bool + Sync),
) -> Result<NameMatches, SearchError> {
    let mut named = NameMatches {
        held: call.room().share(),
        ..NameMatches::default()
    };
    let mut short = None;
    let seen = AtomicU64::new(0);
    let limit = if scope.overlaps() { usize::MAX } else { max };
    let mut full_at = None;
    let recall = call.memory.recall_entries();
    for start in scope.starts() {
        let visit = Look {
            call,
            scope,
            start,
            keep,
            seen: &seen,
            recall: recall.as_ref(),
        };
        let ended = fs::walk(
            &start.dir,
            &scope.walk_options(start, call),
            &visit,
            |stretch: Stretch| {
                named.skipped += stretch.skipped;
                named.left_out += stretch.left_out;
                let room = MAX_NAMED_UNREADABLE.saturating_sub(named.unreadable.len());
                named
                    .unreadable
                    .extend(stretch.unreadable.into_iter().take(room));
                named
                    .paths
                    .append(&stretch.paths, limit - named.paths.len().min(limit));
                named.total += stretch.paths.len();
                if let Err(error) = call
                    .room()
                    .cover(&mut named.held, named.paths.bytes.len() * FOUND_COPIES)
                {
                    short = Some(error);
                    return ControlFlow::Break(());
                }
                let is_full = named.total > limit || named.paths.bytes.len() > MAX_NAMES_BYTES;
                let now = seen.load(Ordering::Relaxed);
                if is_full && now - *full_at.get_or_insert(now) > GLOB_COUNT_ON_ENTRIES
                    || named.paths.bytes.len() > MAX_NAMES_BYTES
                {
                    named.more = true;
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            },
        )?;
        if let Some(short) = short {
            return Err(short.into());
        }
        if ended == Ended::Stopped && call.cancel.is_cancelled() {
            return Err(SearchError::Cancelled);
        }
        if named.more {
            break;
        }
    }
    if scope.overlaps() {
        let mut all = std::mem::take(&mut named.paths);
        all.sort();
        named.total = all.len();
        named.paths.append(&all, max);
    }
    Ok(named)
}

/// Result of a search for one entry.
#[derive(Debug, PartialEq, Eq)]
pub enum First {
    /// Path of the first entry.
    Found(Vec<u8>),
    /// No entry matches.
    Nothing,
    /// The limit was reached, or the search failed.
    Unknown,
}

/// Finds the first entry that `keep` accepts, among at most about `most` entries.
pub fn first(
    call: Call<'_>,
    scope: &Scope,
    most: u64,
    keep: &(dyn Fn(FileKind) -> bool + Sync),
) -> First {
    let (seen, enough) = (AtomicU64::new(0), CancelToken::new());
    let count = |_: &OsStr, kind: FileKind| {
        if seen.fetch_add(1, Ordering::Relaxed) >= most || call.cancel.is_cancelled() {
            enough.cancel();
        }
        keep(kind)
    };
    let bounded = Call {
        cancel: &enough,
        ..call
    };
    let recall = call.memory.recall_entries();
    for start in scope.starts() {
        let mut found = None;
        let progress = AtomicU64::new(0);
        let visit = Look {
            call: bounded,
            scope,
            start,
            keep: &count,
            seen: &progress,
            recall: recall.as_ref(),
        };
        let ended = fs::walk(
            &start.dir,
            &scope.walk_options(start, bounded),
            &visit,
            |stretch: Stretch| {
                found = stretch.paths.iter().next().map(<[u8]>::to_vec);
                if found.is_some() {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            },
        );
        match (found, ended) {
            (Some(path), _) => return First::Found(path),
            (None, Ok(Ended::Complete)) => {}
            _ => return First::Unknown,
        }
    }
    First::Nothing
}

#[derive(Default)]
struct Stretch {
    paths: Paths,
    skipped: u64,
    unreadable: Vec<Vec<u8>>,
    left_out: LeftOut,
}

struct Look<'a> {
    call: Call<'a>,
    scope: &'a Scope,
    start: &'a Start,
    keep: &'a (dyn Fn(&OsStr, FileKind) -> bool + Sync),
    seen: &'a AtomicU64,
    recall: Option<&'a Recall>,
}

impl Visitor for Look<'_> {
    /// Entries seen since they were last added to those of all threads.
    type Local = u64;
    type Out = Stretch;
    type Notes = Notes;

    fn local(&self) -> u64 {
        0
    }

    fn enters(&self, rel: &[u8]) -> bool {
        self.scope.enters(self.start, rel)
    }

    fn entries(&self, dir: &mut OpenDir<'_>) -> io::Result<Arc<Entries<Notes>>> {
        memory::entries(self.recall, dir)
    }

    fn visit(&self, local: &mut u64, out: &mut Stretch, found: &WalkEntry<'_>, _: &Notes) {
        *local += 1;
        if *local == SEARCH_PROGRESS_STEP {
            let seen = self.seen.fetch_add(*local, Ordering::Relaxed) + *local;
            *local = 0;
            (self.call.progress)(seen);
        }
        if (self.keep)(found.name(), found.kind()) && self.scope.holds(self.start, found.rel()) {
            out.paths.push(&self.start.prefix, found.rel());
        }
    }

    fn ignored(&self, out: &mut Stretch, rel: &[u8], kind: FileKind) {
        let is_found = (self.keep)(name_of(rel), kind) && self.scope.holds(self.start, rel);
        if is_found
            || kind == FileKind::Directory
                && self.start.is_above(rel)
                && self.scope.enters(self.start, rel)
        {
            out.left_out.add_ignored(kind);
        }
    }

    fn unreadable(&self, out: &mut Stretch, rel: &[u8]) {
        out.skipped += 1;
        if out.unreadable.len() < MAX_NAMED_UNREADABLE {
            out.unreadable.push([&self.start.prefix, rel].concat());
        }
    }

    fn weight(out: &Stretch) -> usize {
        out.paths.bytes.len() + out.skipped as usize + usize::from(!out.left_out.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_paths_are_cut_and_sorted() {
        let mut paths = Paths::default();
        for rel in [&b"b"[..], b"a/x", b"a-b", b"b"] {
            paths.push(b"/r/", rel);
        }
        let mut first = Paths::default();
        first.append(&paths, 0);
        assert!(first.is_empty());
        first.append(&paths, 2);
        assert_eq!(
            (first.iter().collect::<Vec<_>>(), first.len()),
            (vec![&b"/r/b"[..], b"/r/a/x"], 2)
        );
        paths.sort();
        assert_eq!(
            paths.iter().collect::<Vec<_>>(),
            [&b"/r/a-b"[..], b"/r/a/x", b"/r/b"]
        );
    }
}
