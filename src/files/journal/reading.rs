//! Reading of entries: memory is reserved before, and shared by concurrent readers of the same
//! entry.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use replay_base::budget::{Account, Purpose, Share};
use replay_base::limits::MEMORY_WAIT_MS;

use super::entry::Entry;
use super::error::JournalError;
use super::memory::{Memory, Reading, locked};
use super::store::{LoggedEntry, Store, unknown};

/// Memory of an entry per byte of its log; measured: 1, including the list of its changes.
const ENTRY_SHARE: usize = 2;
/// Memory of an undo besides the entries, per byte of their logs; measured for a dry run: 2.
const UNDO_SHARE: usize = 4;
/// Longer logs are read one at a time when their calls end.
const LARGE_LOG_BYTES: u64 = 1024 * 1024;

/// Memory of a list of changes per recorded name: two places, and their texts.
const CHANGE_BYTES: usize = 256;

impl Entry {
    /// Returns the memory of a list of its changes.
    pub fn list_bytes(&self) -> usize {
        let names: usize = self.names.values().map(BTreeMap::len).sum();
        (names + self.inside.len()) * CHANGE_BYTES
    }
}

/// The entry of a call that ends. While a large one lives, no other call of the process ends with a
/// large one.
pub struct EndedEntry<'a> {
    pub entry: Arc<Entry>,
    _overdraft: Option<MutexGuard<'a, ()>>,
}

impl From<Entry> for EndedEntry<'_> {
    fn from(entry: Entry) -> Self {
        Self {
            entry: Arc::new(entry),
            _overdraft: None,
        }
    }
}

impl Store {
    /// Reads an entry.
    pub fn entry(&self, number: u64) -> Result<Arc<Entry>, JournalError> {
        self.entry_with(number, Memory::Free)
    }

    pub(super) fn entry_with(
        &self,
        number: u64,
        memory: Memory,
    ) -> Result<Arc<Entry>, JournalError> {
        self.read(number, memory)?
            .ok_or_else(|| unknown(number, &self.numbers().unwrap_or_default()))
    }

    /// Reads the entry of a call that ends; `None` if it was removed. Large ones are read one at a
    /// time, and exceed the budget if no memory is free.
    pub fn ended_entry(&self, number: u64) -> Result<Option<EndedEntry<'_>>, JournalError> {
        let Some(log) = self.open_log(number)? else {
            return Ok(None);
        };
        let length = self.log_length(&log, number)?;
        let overdraft = self
            .account
            .as_ref()
            .filter(|_| length > LARGE_LOG_BYTES)
            .map(Account::overdraft);
        let read = match self.read(number, Memory::Free) {
            Err(JournalError::Memory(_)) => self.read(number, Memory::Overdrawn),
            read => read,
        };
        Ok(read?.map(|entry| EndedEntry {
            entry,
            _overdraft: overdraft,
        }))
    }

    /// Reads an entry, or shares it with other readers; `None` if it never began, or was removed.
    pub(super) fn read(
        &self,
        number: u64,
        memory: Memory,
    ) -> Result<Option<Arc<Entry>>, JournalError> {
        let Some(log) = self.open_log(number)? else {
            return Ok(None);
        };
        let length = self.log_length(&log, number)?;
        let reading = self.readings.of(number);
        let mut reading = locked(&reading);
        if let Some(entry) = reading.entry.upgrade().filter(|_| reading.length == length) {
            return Ok(Some(entry));
        }
        let Some(LoggedEntry { earlier, last, .. }) = self.read_whole(number, memory)? else {
            return Ok(None);
        };
        let entry = Arc::new(self.whole(earlier, last));
        *reading = Reading {
            length,
            entry: Arc::downgrade(&entry),
        };
        Ok(Some(entry))
    }

    fn log_length(&self, log: &File, number: u64) -> Result<u64, JournalError> {
        let metadata = log.metadata();
        Ok(metadata
            .map_err(|source| self.unread(number, source))?
            .len())
    }

    /// Reserves the memory for the entry of a log.
    pub(super) fn memory_of(
        &self,
        log: &File,
        number: u64,
        memory: Memory,
    ) -> Result<Option<Share>, JournalError> {
        self.take(self.log_length(log, number)?, ENTRY_SHARE, memory)
    }

    /// Reserves the length of a log, divided by `share`.
    pub(super) fn part_of_memory(
        &self,
        log: &File,
        number: u64,
        share: u64,
        memory: Memory,
    ) -> Result<Option<Share>, JournalError> {
        self.take(self.log_length(log, number)? / share, 1, memory)
    }

    /// Reserves the memory for an undo of these entries, and for the later entries that it reads.
    pub(super) fn memory_of_undo(
        &self,
        numbers: &[u64],
        memory: Memory,
    ) -> Result<Option<Share>, JournalError> {
        let oldest = numbers.iter().min().copied().unwrap_or(u64::MAX);
        let mut bytes = 0;
        for number in self
            .numbers()?
            .into_iter()
            .filter(|number| *number >= oldest)
        {
            let Some(log) = self.open_log(number)? else {
                continue;
            };
            let length = log
                .metadata()
                .map_err(|source| self.unread(number, source))?
                .len();
            let share = if numbers.contains(&number) {
                ENTRY_SHARE + UNDO_SHARE
            } else {
                ENTRY_SHARE
            };
            bytes += length * share as u64;
        }
        self.take(bytes, 1, memory)
    }

    fn take(
        &self,
        log_bytes: u64,
        share: usize,
        memory: Memory,
    ) -> Result<Option<Share>, JournalError> {
        let Some(account) = self.account.as_ref().filter(|_| memory != Memory::Counted) else {
            return Ok(None);
        };
        let bytes = usize::try_from(log_bytes)
            .unwrap_or(usize::MAX)
            .saturating_mul(share);
        let until = match memory {
            Memory::Free => Instant::now() + Duration::from_millis(MEMORY_WAIT_MS),
            Memory::Overdrawn | Memory::Counted => Instant::now(),
        };
        match (
            account.take(bytes, Purpose::Work, Some(until), None),
            memory,
        ) {
            (Err(_), Memory::Overdrawn) => Ok(Some(account.overdraw(bytes))),
            (taken, _) => Ok(Some(taken.map_err(JournalError::Memory)?)),
        }
    }

    fn unread(&self, number: u64, source: std::io::Error) -> JournalError {
        JournalError::Io {
            what: format!("{}: looking at it", self.log_path(number).display()),
            source,
        }
    }
}
