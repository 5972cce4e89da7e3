//! Whether programs that stay were at work while a command ran. They wait most of the time, and
//! then what the kernel counts for all together is the command's alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// Shared by all that one launcher has started.
#[derive(Clone, Debug, Default)]
pub(super) struct Activity(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// What each of them does is counted for itself.
    is_apart: bool,
    begun: AtomicU64,
    ended: AtomicU64,
}

/// A program that stays is at work until this is dropped.
#[derive(Debug)]
pub struct ActivityGuard {
    counts: Arc<Counts>,
    /// Number of programs that had begun, this included; `None` if something else was going on.
    begun: Option<u64>,
}

#[derive(Debug)]
pub(super) struct ActivityMark {
    counts: Arc<Counts>,
    /// How much had begun; `None` if something was going on.
    begun: Option<u64>,
}

impl Activity {
    /// Where nothing is counted for all together, nobody disturbs anybody.
    pub(super) fn apart() -> Self {
        Self(Arc::new(Counts {
            is_apart: true,
            ..Counts::default()
        }))
    }

    /// One of them begins to work.
    pub(super) fn begin(&self) -> ActivityGuard {
        // In this order, as for a mark.
        let ended = self.0.ended.load(SeqCst);
        let before = self.0.begun.fetch_add(1, SeqCst);
        ActivityGuard {
            counts: Arc::clone(&self.0),
            begun: (before == ended).then_some(before + 1),
        }
    }

    pub(super) fn mark(&self) -> ActivityMark {
        // In this order: what ends between the two counts as going on.
        let ended = self.0.ended.load(SeqCst);
        let begun = self.0.begun.load(SeqCst);
        ActivityMark {
            counts: Arc::clone(&self.0),
            begun: (begun == ended).then_some(begun),
        }
    }
}

impl ActivityMark {
    /// Whether none of them has been at work since.
    pub(super) fn is_quiet(&self) -> bool {
        self.counts.is_apart || self.begun == Some(self.counts.begun.load(SeqCst))
    }
}

impl ActivityGuard {
    /// Returns true if no other program that stays has been at work since.
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
    fn it_is_quiet_when_nothing_has_worked_from_the_mark_on() {
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
