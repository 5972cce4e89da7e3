//! What the server remembers of files between searches, so that a repeated or narrower search opens only what may match.
//!
//! A record says of one version of one directory: these are its entries; or of one version of one file: its content has no
//! match for these patterns, and may hold only these trigrams. Each directory is opened and each file looked at
//! (`fs::Version`) before a record of it counts. What lets a version stand for what it holds is in `Recall::settled` and
//! `Recall::entries`; ARCHITECTURE.md has the whole argument.

mod clock;
mod learner;
mod patterns;
pub mod query;
mod recall;
pub mod signature;
mod store;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use learner::Busy;
pub use recall::{Recall, entries};
pub use store::Notes;

use clock::{Clock, SystemClock};
use learner::Learner;
use patterns::Patterns;
use query::Query;
use store::Store;

use crate::limits::SETTLED_SECS;
use crate::policy::{Checked, Read};

/// The memory of a server, or none. Dropped, it ends the thread that makes signatures.
#[derive(Debug)]
pub struct Memory {
    /// Dropped first: it waits for its thread.
    learner: Learner,
    inner: Option<Arc<Inner>>,
}

struct Inner {
    store: Store,
    patterns: Mutex<Patterns>,
    clock: Box<dyn Clock>,
    watch: Mutex<Watch>,
    /// Raised when everything is forgotten; what was found out before is not taken any more.
    epoch: AtomicU64,
    /// Number of the last search.
    search: AtomicU32,
    /// Trusts every filesystem, for tests where there is no other.
    #[cfg(test)]
    any_filesystem: bool,
}

/// What is known of the clock.
#[derive(Debug, Default)]
struct Watch {
    /// When it was last set, by [`Clock::running`].
    set: Option<Duration>,
}

impl Memory {
    /// A memory that keeps at most `cap_bytes`; none at 0, or where the clock cannot be watched.
    pub fn new(cap_bytes: usize) -> Self {
        let clock = (cap_bytes > 0).then(SystemClock::new).and_then(Result::ok);
        let inner = clock.map(|clock| Arc::new(Inner::new(cap_bytes, Box::new(clock))));
        Self { learner: Learner::default(), inner }
    }

    /// Remembers nothing.
    pub fn off() -> Self {
        Self { learner: Learner::default(), inner: None }
    }

    /// What is known about a pattern, and the way to add to it. `key` holds everything that decides whether a file's
    /// content matches: the pattern, its flags, the way of matching. `approximation` makes what [`Query::of`] takes, if there
    /// is one. `None` if nothing is remembered.
    pub fn recall(&self, key: &[u8], approximation: impl FnOnce() -> Option<String>) -> Option<Recall> {
        let query = || approximation().map_or(Query::Any, |text| Query::of(&text));
        self.inner.as_ref().map(|inner| Recall::new(inner, Some(key), query))
    }

    /// What is known for work that asks for no pattern: entries of directories. `None` if nothing is remembered.
    pub fn recall_entries(&self) -> Option<Recall> {
        self.inner.as_ref().map(|inner| Recall::new(inner, None, || Query::Any))
    }

    /// Says that a call runs, until what is returned is dropped: signatures can wait.
    pub fn busy(&self) -> Busy<'_> {
        self.learner.busy()
    }

    /// Makes signatures of the files below `start` that a search has read, at some later time.
    pub fn learn_below(&self, start: Checked<Read>) {
        if let Some(inner) = &self.inner {
            self.learner.add(inner, start);
        }
    }

    /// What is kept, in bytes.
    pub fn bytes(&self) -> usize {
        self.inner.as_ref().map_or(0, |inner| inner.store.bytes() + inner.patterns().bytes())
    }
}

impl Inner {
    fn new(cap_bytes: usize, clock: Box<dyn Clock>) -> Self {
        Self {
            store: Store::new(cap_bytes),
            patterns: Mutex::default(),
            clock,
            watch: Mutex::default(),
            epoch: AtomicU64::new(0),
            search: AtomicU32::new(0),
            #[cfg(test)]
            any_filesystem: false,
        }
    }

    fn patterns(&self) -> MutexGuard<'_, Patterns> {
        self.patterns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets everything if the clock was set: a time that comes twice stands for two contents. Returns whether the
    /// clock ran long enough since to tell ages.
    fn watch_clock(&self) -> bool {
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        if self.clock.was_set() {
            watch.set = Some(self.clock.running());
            self.epoch.fetch_add(1, Ordering::SeqCst);
            self.store.clear();
        }
        let settled = Duration::from_secs(SETTLED_SECS.unsigned_abs());
        watch.set.is_none_or(|set| self.clock.running().saturating_sub(set) >= settled)
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner").field("bytes", &self.store.bytes()).finish_non_exhaustive()
    }
}
