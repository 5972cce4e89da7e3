//! The records, in shards with a lock each.

use std::collections::HashMap;
use std::mem::size_of;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::query::Query;
use super::signature::Signature;
use crate::fs::Version;

/// Searches that a record must have been of no use for, before a new signature takes its room.
const SIGNATURE_OUTLIVES: u32 = 16;

/// A power of two, and many more than threads.
const SHARDS: usize = 64;

/// What is known of files, by device and inode number.
pub(super) struct Store {
    shards: Vec<RwLock<Shard>>,
    devices: RwLock<Vec<u64>>,
    /// What all shards take.
    bytes: AtomicUsize,
    cap_bytes: usize,
}

#[derive(Default)]
struct Shard {
    records: HashMap<(u64, u64), Record>,
    signature_bytes: usize,
    /// What of it is in the sum of all shards.
    counted: usize,
    /// The search in which there was nothing old to give up.
    full_in: u32,
}

struct Record {
    version: Version,
    /// Patterns that the content has no match for, a bit each.
    absent: AtomicU64,
    /// Number of the search that last asked for it.
    used: AtomicU32,
    signature: Option<Signature>,
}

impl Shard {
    /// Buckets of the table with their control bytes (hashbrown fills seven of eight), and the signatures.
    fn bytes(&self) -> usize {
        let buckets = self.records.capacity() / 7 * 8;
        buckets * (size_of::<((u64, u64), Record)>() + 1) + self.signature_bytes
    }

    fn remove(&mut self, key: (u64, u64)) {
        if let Some(record) = self.records.remove(&key) {
            self.signature_bytes -= record.signature.as_ref().map_or(0, cost);
        }
    }

    /// Gives up the records that were not asked for in the last `min_age` searches up to `search`: the oldest eighth of all,
    /// if there are so many.
    fn shed(&mut self, search: u32, min_age: u32) -> bool {
        let age = |record: &Record| search.wrapping_sub(record.used.load(Ordering::Relaxed));
        // Another search may have begun later than `search`.
        let is_old = |age: u32| age >= min_age && age < u32::MAX / 2;
        let mut ages: Vec<u32> = self.records.values().map(age).filter(|&age| is_old(age)).collect();
        if ages.is_empty() {
            self.full_in = search;
            return false;
        }
        ages.sort_unstable_by(|a, b| b.cmp(a));
        let oldest = ages[(self.records.len() / 8).min(ages.len() - 1)];
        let mut freed = 0;
        self.records.retain(|_, record| {
            let kept = !is_old(age(record)) || age(record) < oldest;
            if !kept {
                freed += record.signature.as_ref().map_or(0, cost);
            }
            kept
        });
        self.signature_bytes -= freed;
        self.records.shrink_to_fit();
        true
    }
}

/// What a signature takes beside its record: its bits, and what an allocation needs for itself.
fn cost(signature: &Signature) -> usize {
    signature.bytes() + 16
}

impl Store {
    pub(super) fn new(cap_bytes: usize) -> Self {
        let shards = (0..SHARDS).map(|_| RwLock::default()).collect();
        Self { shards, devices: RwLock::default(), bytes: AtomicUsize::new(0), cap_bytes }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The devices of which something may be known.
    pub(super) fn devices(&self) -> Vec<u64> {
        self.devices.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The version of a file that is known to hold no match, by the pattern's bit or by its trigrams.
    pub(super) fn known_without(
        &self,
        device: u64,
        inode: u64,
        bit: Option<u32>,
        query: &Query,
        search: u32,
    ) -> Option<Version> {
        let shard = self.read(inode);
        let record = shard.records.get(&(device, inode))?;
        record.touch(search);
        if bit.is_some_and(|bit| record.absent.load(Ordering::Relaxed) >> bit & 1 == 1) {
            return Some(record.version);
        }
        if !record.signature.as_ref().is_some_and(|signature| query.refuses(signature)) {
            return None;
        }
        // Next time the bit says so.
        if let Some(bit) = bit {
            record.absent.fetch_or(1 << bit, Ordering::Relaxed);
        }
        Some(record.version)
    }

    /// Makes a record, or adds to it; whether it is new. `is_current` is asked when nothing can be cleared meanwhile.
    pub(super) fn learn(
        &self,
        version: &Version,
        bit: Option<u32>,
        search: u32,
        is_current: impl Fn() -> bool,
    ) -> bool {
        let bits = bit.map_or(0, |bit| 1 << bit);
        let key = (version.device, version.inode);
        {
            let shard = self.read(version.inode);
            if let Some(record) = shard.records.get(&key).filter(|record| record.version == *version) {
                if is_current() {
                    record.absent.fetch_or(bits, Ordering::Relaxed);
                    record.touch(search);
                }
                return false;
            }
        }
        self.add_device(version.device);
        let mut shard = self.write(version.inode);
        if !is_current() {
            return false;
        }
        shard.remove(key);
        let room = self.make_room(&mut shard, 2 * size_of::<Record>(), search, 1);
        if room {
            let record = Record {
                version: *version,
                absent: AtomicU64::new(bits),
                used: AtomicU32::new(search),
                signature: None,
            };
            shard.records.insert(key, record);
        }
        self.count(&mut shard);
        room
    }

    pub(super) fn wants_signature(&self, device: u64, inode: u64) -> bool {
        self.read(inode).records.get(&(device, inode)).is_some_and(|record| record.signature.is_none())
    }

    /// Adds a signature to the record of this version, if there is one. Whether there was room.
    pub(super) fn sign(
        &self,
        version: &Version,
        signature: Signature,
        search: u32,
        is_current: impl Fn() -> bool,
    ) -> bool {
        let mut shard = self.write(version.inode);
        if !is_current() || !self.make_room(&mut shard, cost(&signature), search, SIGNATURE_OUTLIVES) {
            return false;
        }
        let key = (version.device, version.inode);
        let record = shard.records.get_mut(&key).filter(|record| record.version == *version);
        if let Some(record) = record.filter(|record| record.signature.is_none()) {
            let added = cost(&signature);
            record.signature = Some(signature);
            shard.signature_bytes += added;
            self.count(&mut shard);
        }
        true
    }

    /// Takes bits out of all records.
    pub(super) fn clear_bits(&self, bits: u64) {
        for shard in &self.shards {
            let shard = shard.read().unwrap_or_else(PoisonError::into_inner);
            shard.records.values().for_each(|record| {
                record.absent.fetch_and(!bits, Ordering::Relaxed);
            });
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&self) {
        for shard in &self.shards {
            let mut shard = shard.write().unwrap_or_else(PoisonError::into_inner);
            shard.records = HashMap::new();
            shard.signature_bytes = 0;
            self.count(&mut shard);
        }
    }

    /// A search that alone is larger than the memory keeps what it learned first: what it would push out is what it comes
    /// to next time.
    fn make_room(&self, shard: &mut Shard, more: usize, search: u32, min_age: u32) -> bool {
        if self.bytes() + more <= self.cap_bytes {
            return true;
        }
        if shard.full_in == search || !shard.shed(search, min_age) {
            return false;
        }
        self.count(shard);
        self.bytes() + more <= self.cap_bytes
    }

    fn count(&self, shard: &mut Shard) {
        let now = shard.bytes();
        if now >= shard.counted {
            self.bytes.fetch_add(now - shard.counted, Ordering::Relaxed);
        } else {
            self.bytes.fetch_sub(shard.counted - now, Ordering::Relaxed);
        }
        shard.counted = now;
    }

    fn add_device(&self, device: u64) {
        let known = |devices: &[u64]| devices.contains(&device);
        if !known(&self.devices.read().unwrap_or_else(PoisonError::into_inner)) {
            let mut devices = self.devices.write().unwrap_or_else(PoisonError::into_inner);
            if !known(&devices) {
                devices.push(device);
            }
        }
    }

    /// Neighbouring numbers, as files of one directory have, lie in different shards.
    fn shard(&self, inode: u64) -> &RwLock<Shard> {
        &self.shards[inode as usize % SHARDS]
    }

    fn read(&self, inode: u64) -> RwLockReadGuard<'_, Shard> {
        self.shard(inode).read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, inode: u64) -> RwLockWriteGuard<'_, Shard> {
        self.shard(inode).write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Record {
    fn touch(&self, search: u32) {
        // Most of the time nothing is written, so that the line stays shared between processors.
        if self.used.load(Ordering::Relaxed) != search {
            self.used.store(search, Ordering::Relaxed);
        }
    }
}
