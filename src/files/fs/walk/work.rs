//! Remaining work of a walk, and its division into tasks.

use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::task_queue::Source;
use crate::fs::gitignore::Ignores;
use crate::fs::listing::Entries;

/// Files of one directory that a thread takes at a time.
const WALK_BATCH_FILES: usize = 32;

/// A position of a listing, as an entry or as the content of a directory. A listing holds at most 4
/// GiB of names, so positions fit into 31 bits.
#[derive(Clone, Copy)]
pub(super) struct ListingPosition(u32);

impl ListingPosition {
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

/// An open directory that is counted.
pub(super) struct Dir {
    pub handle: OwnedFd,
    pub open: Arc<AtomicUsize>,
}

impl Drop for Dir {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

pub(super) struct ListedDir<N> {
    /// Open directory; if `None`, it is opened from the start, component by component.
    pub dir: Option<Arc<Dir>>,
    /// Path below the start with a slash at the end; empty for the start itself.
    pub rel: Arc<[u8]>,
    pub entries: Arc<Entries<N>>,
    /// Steps, in order.
    pub steps: Arc<[ListingPosition]>,
    pub ignores: Option<Arc<Ignores>>,
    /// Depth: 0 for the start.
    pub depth: usize,
}

impl<N> Clone for ListedDir<N> {
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

impl<N> ListedDir<N> {
    /// Returns the number of consecutive entry steps from `index` on, at most `most`.
    fn entries_from(&self, index: usize, most: usize) -> usize {
        let rest = self.steps.get(index..).unwrap_or_default();
        rest.iter()
            .take(most)
            .take_while(|step| !step.is_below())
            .count()
    }
}

pub(super) enum RemainingWork<N> {
    Start(Start),
    /// A listed directory with the steps from `next` on.
    Listed {
        place: ListedDir<N>,
        next: usize,
    },
}

pub(super) struct Start {
    pub ignores: Option<Arc<Ignores>>,
    pub taken: bool,
}

pub(super) enum Task<N> {
    Start(Option<Arc<Ignores>>),
    Entries(ListedDir<N>, Range<usize>),
    Below(ListedDir<N>, ListingPosition),
}

impl<N> Source for RemainingWork<N> {
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
