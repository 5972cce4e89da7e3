//! Decides for single paths whether they lie in a directory that searches skip.

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::sync::Arc;

use replay_base::budget::Room;

use crate::policy::{Checked, Read};

use super::derived_dir::{is_mark, is_marked};
use super::dirs::reopen;
use super::gitignore::Ignores;

/// Rules of the directories below a start, each read at most once.
pub struct IgnoredPaths<'a> {
    start: Checked<Read>,
    room: Room<'a>,
    dirs: HashMap<Vec<u8>, DirRules>,
}

#[derive(Clone, Default)]
struct DirRules {
    /// `true` if it is ignored, or lies in a directory that is.
    is_ignored: bool,
    /// The directory with a mark that it is, or lies in.
    marked: Option<Arc<[u8]>>,
    ignores: Option<Arc<Ignores>>,
    /// `true` if there is no such directory, so nothing is below it.
    is_missing: bool,
}

impl DirRules {
    fn is_skipped(&self) -> bool {
        self.is_ignored || self.marked.is_some()
    }
}

impl<'a> IgnoredPaths<'a> {
    /// Creates the rules below an open directory.
    pub fn new(start: Checked<Read>, room: Room<'a>) -> Self {
        Self {
            start,
            room,
            dirs: HashMap::new(),
        }
    }

    /// Returns true if a path below the start lies in a directory that searches skip, or is one. A
    /// file that a rule names does not count: git may track it. Neither does the mark of a
    /// directory. Rules that cannot be read count as none.
    pub fn are_around(&mut self, rel: &[u8]) -> bool {
        let (above, name) = split(rel);
        let rules = self.dir(above);
        if rules.is_skipped() {
            let is_own_mark = rules.marked.as_deref() == Some(above) && is_mark(name);
            return rules.is_ignored || !is_own_mark;
        }
        name == b".git" || reopen(self.start.as_fd(), rel).is_ok() && self.dir(rel).is_skipped()
    }

    /// Returns the directory with a mark in which a path below the start lies, or which it is.
    pub fn marked_around(&mut self, rel: &[u8]) -> Option<Arc<[u8]>> {
        self.dir(rel).marked
    }

    fn dir(&mut self, rel: &[u8]) -> DirRules {
        if let Some(known) = self.dirs.get(rel) {
            return known.clone();
        }
        let rules = self.read(rel);
        self.dirs.insert(rel.to_vec(), rules.clone());
        rules
    }

    fn read(&mut self, rel: &[u8]) -> DirRules {
        let is_start = rel.is_empty();
        let above = if is_start {
            DirRules::default()
        } else {
            let (above, name) = split(rel);
            let mut above = self.dir(above);
            let is_named = |ignores: &Arc<Ignores>| ignores.ignored(rel, true);
            above.is_ignored |= name == b".git" || above.ignores.as_ref().is_some_and(is_named);
            above
        };
        if above.is_missing {
            return above;
        }
        let Ok(dir) = reopen(self.start.as_fd(), rel) else {
            return DirRules {
                is_missing: true,
                ..above
            };
        };
        let is_marked = !is_start && above.marked.is_none() && is_marked(&dir);
        let ignores = if above.is_skipped() || is_marked {
            Ok(None)
        } else {
            Ignores::inside(above.ignores, &dir, rel, self.room)
        };
        DirRules {
            is_ignored: above.is_ignored,
            marked: above.marked.or_else(|| is_marked.then(|| rel.into())),
            ignores: ignores.unwrap_or_default(),
            is_missing: false,
        }
    }
}

/// Splits a path into its directory and its name.
fn split(rel: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memrchr(b'/', rel) {
        Some(at) => (&rel[..at], &rel[at + 1..]),
        None => (b"", rel),
    }
}
