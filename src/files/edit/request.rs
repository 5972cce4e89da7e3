//! Input of an edit: the request, and limits on the work.

use replay_base::budget::{Exhausted, Room, Share};
use replay_base::cancel::Bound;
use std::time::Duration;

/// Time limit for finding the closest block after a failed edit, in milliseconds.
const CLOSEST_BLOCK_MS: u64 = 200;

/// A requested replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// Text to find, or a pattern with `is_regex`.
    pub old_text: String,
    /// New text. With `is_regex` it may refer to groups; otherwise it is inserted unchanged.
    pub new_text: String,
    /// Maximum number of replacements; 0 for no limit. With 1, literal text must be unique.
    pub limit: u64,
    /// `true` if `old_text` is a JavaScript pattern.
    pub is_regex: bool,
    /// `true` to ignore case.
    pub case_insensitive: bool,
}

impl Edit {
    /// Creates a literal edit of one match, with the defaults of the tools.
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

/// Limits on the work.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// Deadline and cancellation. Checked between matches, so the limit is approximate.
    pub bound: Bound<'a>,
    /// Time limit of the search for the closest block after a failed edit.
    pub closest_block: Duration,
    /// Account for memory in addition to the content.
    pub room: Option<Room<'a>>,
}

impl Options<'_> {
    /// Grows a share to this number of bytes.
    pub(super) fn cover(self, share: &mut Share, bytes: usize) -> Result<(), Exhausted> {
        self.room.map_or(Ok(()), |room| room.cover(share, bytes))
    }

    /// Returns an empty share, to be grown.
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
