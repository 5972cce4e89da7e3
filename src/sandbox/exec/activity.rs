//! Tracks whether resident programs worked while a command ran. They are idle most of the time. If
//! all are idle, the kernel's system-wide counters belong to the command alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// Activity counters, shared by all programs of one launcher.
#[derive(Clone, Debug, Default)]
pub(super) struct Activity(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// `true` if the kernel counts each program separately.
    is_apart: bool,
    begun: AtomicU64,
    ended: AtomicU64,
}

/// Marks a resident program as working until dropped.
#[derive(Debug)]
pub struct ActivityGuard {
    counts: Arc<Counts>,
    /// Number of programs that had begun, this one included; `None` if another one was working.
    begun: Option<u64>,
}

#[derive(Debug)]
pub(super) struct ActivityMark {
    counts: Arc<Counts>,
    /// Number of programs that had begun; `None` if one was working.
    begun: Option<u64>,
}

impl Activity {
    /// Returns counters for a system that counts each program separately: no program disturbs
    /// another.
    pub(super) fn apart() -> Self {
        Self(Arc::new(Counts {
            is_apart: true,
            ..Counts::default()
        }))
    }

    /// Marks a program as working.
    pub(super) fn begin(&self) -> ActivityGuard {
        // Same order of loads as in `mark`.
        let ended = self.0.ended.load(SeqCst);
        let before = self.0.begun.fetch_add(1, SeqCst);
        ActivityGuard {
            counts: Arc::clone(&self.0),
            begun: (before == ended).then_some(before + 1),
        }
    }

    pub(super) fn mark(&self) -> ActivityMark {
        // Load `ended` first: work that ends between the two loads counts as ongoing.
        let ended = self.0.ended.load(SeqCst);
        let begun = self.0.begun.load(SeqCst);
        ActivityMark {
            counts: Arc::clone(&self.0),
            begun: (begun == ended).then_some(begun),
        }
    }
}

impl ActivityMark {
    /// Returns true if no resident program has worked since the mark.
    pub(super) fn is_quiet(&self) -> bool {
        self.counts.is_apart || self.begun == Some(self.counts.begun.load(SeqCst))
    }
}

impl ActivityGuard {
    /// Returns true if no other resident program has worked since.
    pub fn is_alone(&self) -> bool {
        self.counts.is_apart || self.begun == Some(self.counts.begun.load(SeqCst))
    }
}

impl Drop for ActivityGuard {
    fn drop(&mut self) {
        self.counts.ended.fetch_add(1, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mark_is_quiet_without_work_since() {
        let works = Activity::default();
        let before = works.mark();
        assert!(before.is_quiet());
        let working = works.begin();
        let meanwhile = works.mark();
        assert!(!before.is_quiet() && !meanwhile.is_quiet());
        drop(working);
        assert!(!before.is_quiet() && !meanwhile.is_quiet() && works.mark().is_quiet());
        let first = works.begin();
        assert!(first.is_alone());
        let second = works.begin();
        assert!(!first.is_alone() && !second.is_alone());
        let apart = Activity::apart();
        let (before, _working) = (apart.mark(), apart.begin());
        assert!(before.is_quiet() && apart.mark().is_quiet());
    }
}
