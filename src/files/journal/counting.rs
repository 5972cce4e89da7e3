//! Counts of an entry's changes in little memory, for entries that are too large to be read.
//!
//! The log is read once. Names and objects are kept as hashes of eight bytes. The counts are those
//! of the list of changes, with one exception: a directory that replaced another one counts as
//! edited.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};

use super::bytes::Bytes;
use super::error::JournalError;
use super::log::{self, Event};
use super::memory::Memory;
use super::object::Id;
use super::store::Store;

/// Memory per byte of the log, as a divisor: a name takes 100 bytes of the log or more, and 20 bytes
/// of memory.
const COUNTING_SHARE: u64 = 4;

/// Numbers of changes of one entry, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntryCounts {
    pub edited: usize,
    pub created: usize,
    pub deleted: usize,
    pub moved: usize,
    pub touched: usize,
}

#[derive(Clone, Copy, Default)]
struct HashedName {
    before: u64,
    after: u64,
}

struct Counting {
    hasher: RandomState,
    names: HashMap<u64, HashedName>,
    edited: HashSet<u64>,
    touched: HashSet<u64>,
    inside: HashSet<u64>,
}

impl Counting {
    fn id(&self, id: Id) -> u64 {
        // 0 stands for no object.
        self.hasher.hash_one(id).max(1)
    }

    fn name(&mut self, dir: Id, name: &Bytes) -> &mut HashedName {
        let key = self.hasher.hash_one((dir, name));
        self.names.entry(key).or_default()
    }

    fn apply(&mut self, event: &Event) {
        match event {
            Event::Name { dir, name, before } => {
                let before = before.map_or(0, |id| self.id(id));
                let key = self.hasher.hash_one((dir, name));
                // A later part of the entry begins with the state that the earlier one left.
                self.names
                    .entry(key)
                    .or_insert(HashedName { before, after: 0 })
                    .after = 0;
            }
            Event::Left { dir, name, after } => {
                let after = self.id(*after);
                self.name(*dir, name).after = after;
            }
            Event::State {
                stat,
                content,
                metadata,
            } => {
                let id = self.id(stat.id);
                if *content {
                    self.edited.insert(id);
                } else if *metadata {
                    self.touched.insert(id);
                }
            }
            Event::Inside { id, .. } => {
                let id = self.id(*id);
                self.inside.insert(id);
            }
            _ => {}
        }
    }

    fn counts(&self) -> EntryCounts {
        let changed = || self.names.values().filter(|name| name.before != name.after);
        let sources: HashSet<u64> = changed().map(|name| name.before).collect();
        let left: HashSet<u64> = changed().map(|name| name.after).collect();
        let mut counts = EntryCounts::default();
        for name in self.names.values() {
            let count = match (name.before, name.after) {
                (0, 0) => continue,
                (before, after) if before == after => {
                    if self.edited.contains(&before) {
                        &mut counts.edited
                    } else if self.touched.contains(&before) {
                        &mut counts.touched
                    } else {
                        continue;
                    }
                }
                (before, 0) if left.contains(&before) => continue,
                // An old object in a new directory has no name there.
                (before, 0) if self.inside.contains(&before) => &mut counts.moved,
                (_, 0) => &mut counts.deleted,
                (_, after) if sources.contains(&after) => &mut counts.moved,
                (0, _) => &mut counts.created,
                (before, _) if left.contains(&before) => &mut counts.created,
                _ => &mut counts.edited,
            };
            *count += 1;
        }
        counts
    }
}

impl Store {
    /// Counts the changes of an entry; `None` if it was removed.
    pub fn count_changes(&self, number: u64) -> Result<Option<EntryCounts>, JournalError> {
        let Some(log) = self.open_log(number)? else {
            return Ok(None);
        };
        let _memory = self.part_of_memory(&log, number, COUNTING_SHARE, Memory::Free)?;
        let mut counting = Counting {
            hasher: RandomState::new(),
            names: HashMap::new(),
            edited: HashSet::new(),
            touched: HashSet::new(),
            inside: HashSet::new(),
        };
        log::read(log, &self.log_path(number), &self.root_ids, |event| {
            counting.apply(&event);
            Ok(())
        })?;
        Ok(Some(counting.counts()))
    }
}
