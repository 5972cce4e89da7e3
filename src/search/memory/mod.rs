//! Search memory: records about files between searches, so that a repeated or narrower search opens
//! only the files that may match.
//!
//! A record describes one version of a directory (its entries) or of a file. For a file it says:
//! the content is binary, or has no match for these patterns, and may contain only these trigrams.
//! Before a record counts, the directory is opened and the file's version is read (`fs::Version`),
//! in `Recall::settled` and `Recall::entries`. A record that is found through a name applies only
//! to the file that it was made of. Watches cannot replace this check. They miss stores to a
//! mapping, `io_submit(2)`, and writes through a second name elsewhere
//! (benches/runs/2026-11-26-watch).
//!
//! Why a record is never out of date:
//!
//! - Every change of content (write, truncate, fallocate, clone, the first store to a clean mapped
//!   page) stamps ctime first, and no program can set ctime. The version is taken before the first
//!   byte is read. If it is met again, no change was stamped since, so the content read in between
//!   is current. A second `stat` after reading would add no information.
//! - Two changes in one tick of the clock get the same stamp, so a change must be older than 60 s
//!   when the file is read. A stamp may also repeat if the clock is set back. So before each search
//!   a timer is checked that every setting of the clock cancels (`TFD_TIMER_CANCEL_ON_SET`). Then
//!   all records are dropped, and learning stops for 60 s, until ages are known again.
//! - A store to a mapped page of a folio that is already dirty may stamp nothing. The kernel writes
//!   it back after 35 s, and the next store stamps again. Writeback may be late or disabled. So
//!   unless the file was quiet for an hour, `cachestat` is asked for dirty pages, where the kernel
//!   has it. For the same reason only files up to 64 MiB count: one `write` stamps once, however
//!   long it copies.
//! - Only ext2 to ext4, XFS and Btrfs are trusted, by the open file's own `statfs`. Renames, links
//!   and mounts need no rule.
//! - The same holds for the entries of a directory. Creating, removing and renaming stamps it under
//!   the lock (`i_rwsem`) that listing takes as well, so no list shows a change without its stamp.
//!   Directories are not mapped, so age is enough. A mount changes the directory behind a name,
//!   never the list of its parent. Two things change entries without a stamp: adding or removing
//!   the key of an encrypted directory, and a mount on a filesystem that stores no file types.
//!   Neither kind is remembered.
//!
//! Records of an earlier session hold if the clock was not set in between ([`cache`]).
//!
//! Remaining gaps:
//!
//! - A pattern that would exceed its budget in a file that is left out no longer does.
//! - A clock set forward by an hour less than a minute before the start, while a program kept a
//!   dirty page mapped.
//! - A write whose bytes arrive more than a minute after it began, because its source is held back
//!   (userfaultfd, a hung FUSE; no command inside the sandbox can do that).
//! - `EXT4_IOC_MOVE_EXT`, which leaves zeros in the donor without a stamp.
//! - Disks that are written to below the filesystem.

mod cache;
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
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use cache::CacheLocation;
pub use learner::Busy;
pub use recall::{Recall, entries};
pub use store::{Finding, Notes};

use cache::Cache;
use clock::{Clock, SystemClock};
use learner::Learner;
use patterns::Patterns;
use query::Query;
use replay_base::limits::SETTLED_SECS;
use store::Store;

use replay_files::policy::{Checked, Read};

/// Memory of a server, possibly off. Dropping it ends the learner's thread.
#[derive(Debug)]
pub struct Memory {
    /// Dropped first: it waits for its thread.
    learner: Learner,
    inner: Option<Arc<Inner>>,
}

struct Inner {
    store: Store,
    /// Cache file of earlier sessions, and of this one.
    cache: Cache,
    patterns: Mutex<Patterns>,
    clock: Box<dyn Clock>,
    watch: Mutex<Watch>,
    /// Incremented when all records are dropped. Results from an earlier epoch are rejected.
    epoch: AtomicU64,
    /// Number of the last search.
    search: AtomicU32,
    /// Trusts every filesystem, for tests where there is no other.
    #[cfg(test)]
    any_filesystem: bool,
}

/// State of the clock.
#[derive(Debug, Default)]
struct Watch {
    /// Time of the last change, by [`Clock::running`].
    set: Option<Duration>,
}

impl Memory {
    /// Returns a memory of at most `cap_bytes`, with a cache file at `place`. It is off at 0, or if
    /// the clock cannot be watched.
    pub fn new(cap_bytes: usize, place: Option<CacheLocation>) -> Self {
        let clock = (cap_bytes > 0).then(SystemClock::new).and_then(Result::ok);
        let inner = clock.map(|clock| Arc::new(Inner::new(cap_bytes, Box::new(clock), place)));
        Self {
            learner: Learner::default(),
            inner,
        }
    }

    /// Remembers nothing.
    pub fn off() -> Self {
        Self {
            learner: Learner::default(),
            inner: None,
        }
    }

    /// Returns the records about a pattern, and the means to add to them. `key` holds everything
    /// that decides if a file's content matches: the pattern, its flags and the mode.
    /// `approximation` makes the input of [`Query::of`], if any. `None` if the memory is off.
    pub fn recall(
        &self,
        key: &[u8],
        approximation: impl FnOnce() -> Option<String>,
    ) -> Option<Recall> {
        let query = || approximation().map_or(Query::Any, |text| Query::of(&text));
        self.inner
            .as_ref()
            .map(|inner| Recall::new(inner, Some(key), true, query))
    }

    /// Returns the records for work without a pattern: entries of directories. `None` if the memory
    /// is off.
    pub fn recall_entries(&self) -> Option<Recall> {
        self.inner
            .as_ref()
            .map(|inner| Recall::new(inner, None, false, || Query::Any))
    }

    /// Marks a running call until the guard is dropped, so that signatures wait.
    pub fn busy(&self) -> Busy<'_> {
        self.learner.busy()
    }

    /// Queues the files below `start` that a search has read, for signatures.
    pub fn learn_below(&self, start: Checked<Read>) {
        if let Some(inner) = &self.inner {
            self.learner.add(inner, start);
        }
    }

    /// Returns the directory of the cache file.
    pub fn directory(&self) -> Option<BorrowedFd<'_>> {
        self.inner.as_ref()?.cache.directory()
    }

    /// Ends learning and writes the cache file.
    pub fn end(&self) {
        if self.learner.end()
            && let Some(inner) = &self.inner
            && let Err(error) = inner.save(|| ())
        {
            tracing::debug!("what searches remember is not kept for later sessions: {error}");
        }
    }

    /// Returns the size of the records, in bytes.
    pub fn bytes(&self) -> usize {
        self.inner
            .as_ref()
            .map_or(0, |inner| inner.store.bytes() + inner.patterns().bytes())
    }
}

impl Inner {
    fn new(cap_bytes: usize, clock: Box<dyn Clock>, place: Option<CacheLocation>) -> Self {
        Self {
            store: Store::new(cap_bytes),
            cache: Cache::new(place),
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

    /// Drops all records if the clock was set, since a repeated time may stand for two contents.
    /// Returns true if the clock has run long enough since to tell ages.
    fn watch_clock(&self) -> bool {
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        if self.clock.was_set() {
            watch.set = Some(self.clock.running());
            self.epoch.fetch_add(1, Ordering::SeqCst);
            self.store.clear();
        }
        let settled = Duration::from_secs(SETTLED_SECS.unsigned_abs());
        watch
            .set
            .is_none_or(|set| self.clock.running().saturating_sub(set) >= settled)
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner")
            .field("bytes", &self.store.bytes())
            .finish_non_exhaustive()
    }
}
