//! Entries in memory, shared by their readers, and the policy for a reader without free memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::entry::Entry;

/// Policy for a reader for whose entry no memory is free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Memory {
    /// The reader waits a while, then fails.
    #[default]
    Free,
    /// The reader exceeds the budget: the end of a call must not fail.
    Overdrawn,
    /// Memory was reserved before.
    Counted,
}

/// Entries in memory, by number.
#[derive(Debug, Default)]
pub(super) struct Readings(Mutex<HashMap<u64, Arc<Mutex<Reading>>>>);

/// The entry as it was last read.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// Number of log bytes that were read.
    pub(super) length: u64,
    pub(super) entry: Weak<Entry>,
}

impl Readings {
    /// Returns the slot of an entry; the reader locks it while reading.
    pub(super) fn of(&self, number: u64) -> Arc<Mutex<Reading>> {
        let mut all = locked(&self.0);
        all.retain(|_, reading| {
            Arc::strong_count(reading) > 1 || locked(reading).entry.strong_count() > 0
        });
        Arc::clone(all.entry(number).or_default())
    }
}

pub(super) fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    // The protected values are consistent at any point, also after a panic.
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
