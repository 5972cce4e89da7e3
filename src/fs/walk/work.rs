//! What is left to be done of a walk, and how it is cut into tasks.

use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::line::Source;
use crate::fs::gitignore::Ignores;
use crate::fs::listing::Entries;
use crate::limits::WALK_BATCH_FILES;

/// A place of a listing that is taken, and whether as an entry or for what is below it. A listing's
/// names have room in 4 GiB, so its places have room in 31 bits.
#[derive(Clone, Copy)]
pub(super) struct Step(u32);

impl Step {
    pub(super) fn new(place: usize, below: bool) -> Self {
        Self((place as u32) << 1 | u32::from(below))
    }

    pub(super) fn place(self) -> usize {
        (self.0 >> 1) as usize
    }

    pub(super) fn is_below(self) -> bool {
        self.0 & 1 == 1
    }
}

/// An open directory, counted.
pub(super) struct Dir {
    pub handle: OwnedFd,
    pub open: Arc<AtomicUsize>,
}

impl Drop for Dir {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

pub(super) struct Place<N> {
    /// Without it the directory is opened from the start, name by name.
    pub dir: Option<Arc<Dir>>,
    /// Path below the start with a slash behind it; empty for the start itself.
    pub rel: Arc<[u8]>,
    pub entries: Arc<Entries<N>>,
    /// What of it is taken, in order.
    pub steps: Arc<[Step]>,
    pub ignores: Option<Arc<Ignores>>,
    /// 0 for the start.
    pub depth: usize,
}

impl<N> Clone for Place<N> {
    fn clone(&self) -> Self {
        Self {
            dir: self.dir.clone(),
            rel: Arc::clone(&self.rel),
            entries: Arc::clone(&self.entries),
            steps: Arc::clone(&self.steps),
            ignores: self.ignores.clone(),
            depth: self.depth,
        }
    }
}

impl<N> Place<N> {
    /// How many steps from `index` on are entries, at most `most`.
    fn entries_from(&self, index: usize, most: usize) -> usize {
        let rest = self.steps.get(index..).unwrap_or_default();
        rest.iter()
            .take(most)
            .take_while(|step| !step.is_below())
            .count()
    }
}

pub(super) enum Rest<N> {
    Start(Start),
    /// The steps from `next` on are still to be done.
    Listed {
        place: Place<N>,
        next: usize,
    },
}

pub(super) struct Start {
    pub ignores: Option<Arc<Ignores>>,
    pub taken: bool,
}

pub(super) enum Task<N> {
    Start(Option<Arc<Ignores>>),
    Entries(Place<N>, Range<usize>),
    Below(Place<N>, Step),
}

impl<N> Source for Rest<N> {
    type Task = Task<N>;

    fn cut(&mut self) -> Task<N> {
        match self {
            Self::Start(start) => {
                start.taken = true;
                Task::Start(start.ignores.take())
            }
            Self::Listed { place, next } => {
                let from = *next;
                let entries = place.entries_from(from, WALK_BATCH_FILES);
                *next += entries.max(1);
                match place.steps.get(from) {
                    Some(step) if step.is_below() => Task::Below(place.clone(), *step),
                    _ => Task::Entries(place.clone(), from..*next),
                }
            }
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Start(start) => start.taken,
            Self::Listed { place, next } => *next >= place.steps.len(),
        }
    }

    fn close(&mut self) -> bool {
        match self {
            Self::Start(_) => false,
            Self::Listed { place, .. } => place.dir.take().is_some(),
        }
    }
}
