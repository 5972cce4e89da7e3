//! A lock for each file that is being changed, so that changes of one file follow one another.

use std::ffi::OsStr;
use std::hash::{BuildHasher, RandomState};
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::fstat;

use crate::limits::FILE_LOCKS;
use crate::policy::{Checked, Entry, Write};

/// A directory entry that can be locked.
pub trait Named {
    /// The open directory and the name in it.
    #[doc(hidden)]
    fn named(&self) -> (&OwnedFd, &OsStr);
}

impl Named for Checked<Write> {
    fn named(&self) -> (&OwnedFd, &OsStr) {
        // While a parent is missing its name stands for everything below it.
        (self.dir(), self.parents().first().map_or(self.name(), |parent| parent.as_os_str()))
    }
}

impl Named for Checked<Entry> {
    fn named(&self) -> (&OwnedFd, &OsStr) {
        (self.dir(), self.name())
    }
}

/// The table: a fixed number of locks that the files share by chance.
#[derive(Debug)]
pub struct Locks {
    stripes: Vec<Mutex<()>>,
    hasher: RandomState,
}

/// Held while files are changed.
#[derive(Debug)]
#[must_use = "the lock is held as long as this lives"]
pub struct PathLock<'a>(#[expect(dead_code, reason = "held, not read")] Vec<MutexGuard<'a, ()>>);

impl Default for Locks {
    fn default() -> Self {
        Self { stripes: (0..FILE_LOCKS).map(|_| Mutex::new(())).collect(), hasher: RandomState::new() }
    }
}

impl Locks {
    /// Waits until nobody else changes `target`. Who holds a lock must not ask for another one: see [`Locks::lock_all`].
    pub fn lock(&self, target: &dyn Named) -> PathLock<'_> {
        self.lock_all(&[target])
    }

    /// Locks several at once, in an order that cannot deadlock.
    pub fn lock_all(&self, targets: &[&dyn Named]) -> PathLock<'_> {
        let mut stripes: Vec<usize> = targets.iter().map(|target| self.stripe(*target)).collect();
        stripes.sort_unstable();
        stripes.dedup();
        let lock = |index: usize| self.stripes[index].lock().unwrap_or_else(PoisonError::into_inner);
        PathLock(stripes.into_iter().map(lock).collect())
    }

    fn stripe(&self, target: &dyn Named) -> usize {
        let (dir, name) = target.named();
        // The directory by identity, as one file has many spellings.
        let dir = fstat(dir).map(|stat| (stat.st_dev, stat.st_ino)).unwrap_or_default();
        self.hasher.hash_one((dir, name)) as usize % self.stripes.len()
    }
}
