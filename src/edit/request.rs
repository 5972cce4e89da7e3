//! What is asked for: an edit, and the bounds on the work.

use crate::budget::{Exhausted, Room, Share};
use crate::cancel::Bound;
use crate::limits::CLOSEST_BLOCK_MS;
use std::time::Duration;

/// One replacement to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The text to find, or with `is_regex` the pattern.
    pub old_text: String,
    /// What takes its place. With `is_regex` it may refer to groups; otherwise it goes in as it
    /// stands.
    pub new_text: String,
    /// Most replacements; 0 is no limit. With 1, literal text must occur exactly once.
    pub limit: u64,
    /// Whether `old_text` is a JavaScript pattern.
    pub is_regex: bool,
    /// Whether upper and lower case are the same.
    pub case_insensitive: bool,
}

impl Edit {
    /// A literal edit of one place, the defaults of the tools.
    pub fn new(old_text: &str, new_text: &str) -> Self {
        Self {
            old_text: old_text.to_owned(),
            new_text: new_text.to_owned(),
            limit: 1,
            is_regex: false,
            case_insensitive: false,
        }
    }
}

/// Bounds on the work.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// When to give up. Looked at between matches, so it is kept only roughly.
    pub bound: Bound<'a>,
    /// How long the search for the closest block may take after an edit failed.
    pub closest_block: Duration,
    /// Where memory is taken from, beside that of the content.
    pub room: Option<Room<'a>>,
}

impl Options<'_> {
    /// Has a share cover so many bytes in all.
    pub(super) fn cover(self, share: &mut Share, bytes: usize) -> Result<(), Exhausted> {
        self.room.map_or(Ok(()), |room| room.cover(share, bytes))
    }

    /// Nothing yet, to be grown.
    pub(super) fn share(self) -> Share {
        self.room.map(|room| room.share()).unwrap_or_default()
    }
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            bound: Bound::default(),
            closest_block: Duration::from_millis(CLOSEST_BLOCK_MS),
            room: None,
        }
    }
}
