//! Entries that somebody holds, and what becomes of a reader for whom no memory is free.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::entry::Entry;

/// Treatment of a reader for whose entry no memory is free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Memory {
    /// It waits a while, and is refused.
    #[default]
    Free,
    /// It reads beyond the budget: a call that ends must not fail.
    Overdrawn,
    /// Its memory was taken before.
    Counted,
}

/// Entries that somebody holds, by number.
#[derive(Debug, Default)]
pub(super) struct Readings(Mutex<HashMap<u64, Arc<Mutex<Reading>>>>);

/// The entry as it was read last.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// Bytes of the log that was read.
    pub(super) length: u64,
    pub(super) entry: Weak<Entry>,
}

impl Readings {
    /// An entry in memory; locked while it is read.
    pub(super) fn of(&self, number: u64) -> Arc<Mutex<Reading>> {
        let mut all = locked(&self.0);
        all.retain(|_, reading| {
            Arc::strong_count(reading) > 1 || locked(reading).entry.strong_count() > 0
        });
        Arc::clone(all.entry(number).or_default())
    }
}

pub(super) fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is under the locks is whole at any point.
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
