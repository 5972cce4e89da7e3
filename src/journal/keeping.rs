//! What is kept, and what happens to the rest.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustix::io::Errno;

use crate::limits::JOURNAL_COPY_BYTES;

/// What is not kept, where a call changed something that the operator has left out.
pub const SKIPPED: &str = "what matches --undo-skip";

/// What recorders keep.
#[derive(Clone)]
pub struct Keeping {
    /// Content that takes more bytes on the disk is not copied where the filesystem cannot share
    /// blocks. It is noted as not kept.
    pub most_bytes: u64,
    /// What to do where the store has no room.
    pub when_full: WhenFull,
    /// Whether nothing is noted of a name, by the root's number and the path below that. What holds
    /// for a directory must hold for all that is in it.
    pub skips: Option<Skips>,
}

pub type Skips = Arc<dyn Fn(usize, &Path) -> bool + Send + Sync>;

/// What to do with a change where what it destroys cannot be kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// Noting it is an error, so that the change is not made. Nothing says that something is lost,
    /// and it can be tried again.
    #[default]
    Refuse,
    /// It goes on, and is noted as not kept as soon as there is room for that.
    Drop,
}

impl Default for Keeping {
    fn default() -> Self {
        Self {
            most_bytes: JOURNAL_COPY_BYTES,
            when_full: WhenFull::default(),
            skips: None,
        }
    }
}

impl fmt::Debug for Keeping {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            most_bytes,
            when_full,
            skips,
        } = self;
        let skips = skips.is_some();
        out.debug_struct("Keeping")
            .field("most_bytes", most_bytes)
            .field("when_full", when_full)
            .field("skips", &skips)
            .finish()
    }
}

/// There is no room, for this user or for anybody.
pub(super) fn is_full(errno: Option<Errno>) -> bool {
    matches!(errno, Some(Errno::NOSPC | Errno::DQUOT))
}
