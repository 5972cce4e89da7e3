//! Policy on saved data: size limits, and behaviour without disk space.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustix::io::Errno;

/// Largest copy of content that is about to change in place, in bytes, where the filesystem cannot
/// share blocks.
const JOURNAL_COPY_BYTES: u64 = 256 * 1024 * 1024;

/// Description of changes that the operator has excluded.
pub const SKIPPED: &str = "what matches --undo-skip";

/// Policy of recorders on saved data.
#[derive(Clone)]
pub struct Keeping {
    /// Larger contents (size on the disk) are not copied if the filesystem cannot share blocks.
    /// They are recorded as not saved.
    pub most_bytes: u64,
    /// Behaviour without disk space.
    pub when_full: WhenFull,
    /// Filter of names that are not recorded, by root index and path below it. A match of a
    /// directory must also match everything in it.
    pub skips: Option<Skips>,
}

pub type Skips = Arc<dyn Fn(usize, &Path) -> bool + Send + Sync>;

/// Behaviour for a change whose destroyed data cannot be saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// Recording fails, so the change is not made. No loss is recorded, and the caller can try
    /// again.
    #[default]
    Refuse,
    /// The change is made, and recorded as not saved once there is disk space.
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

/// Returns true if the disk or the quota of the user is full.
pub(super) fn is_full(errno: Option<Errno>) -> bool {
    matches!(errno, Some(Errno::NOSPC | Errno::DQUOT))
}
