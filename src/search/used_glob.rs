//! Globs of a search: how each was read, and whether it matched anything.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use replay_base::text::glob::Reading;

/// A glob of a search.
#[derive(Debug)]
pub struct UsedGlob {
    /// The text as given.
    pub text: String,
    /// Absolute path of the directory where `rest` begins.
    pub start: PathBuf,
    /// Glob below `start`.
    pub rest: String,
    /// `true` if the text is a path.
    pub is_path: bool,
    /// Part that could be a pattern and is a name, because it exists.
    pub name: Option<String>,
    /// Part that may be meant as a name or as a pattern.
    pub unclear: Option<String>,
    has_matched: AtomicBool,
}

impl UsedGlob {
    pub(super) fn new(text: &str, reading: &Reading<'_>, start: PathBuf) -> Self {
        Self {
            text: text.to_owned(),
            start,
            rest: reading.rest.clone().into_owned(),
            is_path: reading.is_path,
            name: reading.name.map(str::to_owned),
            unclear: reading.unclear.map(str::to_owned),
            has_matched: AtomicBool::new(false),
        }
    }

    /// Returns true if it can match only directly in the directory where it begins.
    pub fn is_shallow(&self) -> bool {
        !self.rest.contains('/')
            && !self.rest.contains("**")
            && (!self.is_path || !self.text.contains('/'))
    }

    /// Returns true if the search notes a match of this glob.
    pub(super) fn is_watched(&self) -> bool {
        self.unclear.is_some() || self.name.is_some() || self.is_path && self.is_shallow()
    }

    /// Returns true if it matched an entry. Only of a glob that is watched.
    pub fn has_matched(&self) -> bool {
        self.has_matched.load(Ordering::Relaxed)
    }

    pub(super) fn note_match(&self) {
        self.has_matched.store(true, Ordering::Relaxed);
    }
}
