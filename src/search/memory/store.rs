//! Store of the records of directories and their files, in shards with a lock each.

use std::collections::HashMap;
use std::mem::size_of;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

mod packed;

pub(super) use packed::{PackedDirectory, PackedFiles};

use replay_files::fs::{Entries, Listing, Version};

use super::query::Query;
use super::signature::Signature;

/// Searches that a directory must have been of no use for, before a new signature takes its room.
const SIGNATURE_OUTLIVES: u32 = 16;

/// A power of two, and many more than threads.
const SHARDS: usize = 16;

/// Directories by device and inode number.
pub(super) struct Store {
    shards: Vec<Mutex<Shard>>,
    bytes: AtomicUsize,
    cap_bytes: usize,
}

#[derive(Default)]
struct Shard {
    dirs: HashMap<(u64, u64), DirectoryRecord>,
    /// The search in which there was nothing old to give up.
    full_in: u32,
}

#[derive(Clone)]
struct DirectoryRecord {
    version: Version,
    /// `true` if the directory has these entries as long as it has this version.
    is_settled: bool,
    entries: Arc<Entries<Notes>>,
}

/// Records of the files in one directory, each at its place in the listing. A record names the
/// version of its file. It applies to any file with that version, and to no other file that takes
/// the name.
#[derive(Debug, Default)]
pub struct Notes {
    key: (u64, u64),
    places: usize,
    /// Number of the search that last came here.
    used: AtomicU32,
    files: Mutex<Files>,
}

/// Listing and file records of a directory that has no record yet.
struct DirectoryContents {
    version: Version,
    is_settled: bool,
    listing: Listing,
    files: Files,
}

#[derive(Debug, Default)]
struct Files {
    /// One record per place, or none while no file is known.
    records: Vec<Record>,
    /// One signature per place, or none while there is no signature.
    signatures: Vec<Option<Signature>>,
    /// Size that is counted for the directory.
    bytes: usize,
    /// `true` if the directory is in the store; others do not learn.
    is_kept: bool,
    /// `true` if an earlier session may have records that were not read.
    is_unread: bool,
}

/// Record of one file. It is small, since fresh memory is most of the cost of a first search. The
/// device is the directory's.
#[derive(Debug, Clone, Copy, Default)]
struct Record {
    /// 0, which no file has, if nothing is known.
    inode: u64,
    /// Nanoseconds since 1970.
    modified: i64,
    /// Nanoseconds since 1970.
    changed: i64,
    /// Patterns that the content has no match for, a bit each.
    absent: u64,
    size: u32,
    is_binary: bool,
}

impl Record {
    /// `None` for what no file that is remembered has: a great size, or times before 1677 or after
    /// 2262.
    fn new(version: &Version) -> Option<Self> {
        let nanos = |(secs, nanos): (i64, u32)| secs.checked_mul(NANOS)?.checked_add(nanos.into());
        let (modified, changed) = (nanos(version.modified)?, nanos(version.changed)?);
        let size = u32::try_from(version.size).ok()?;
        Some(Self {
            inode: version.inode,
            modified,
            changed,
            size,
            ..Self::default()
        })
    }

    fn version(&self, device: u64) -> Version {
        let parts = |nanos: i64| (nanos.div_euclid(NANOS), nanos.rem_euclid(NANOS) as u32);
        let (modified, changed) = (parts(self.modified), parts(self.changed));
        Version {
            device,
            inode: self.inode,
            size: self.size.into(),
            modified,
            changed,
        }
    }
}

/// Result of a search in the content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    Match,
    NoMatch,
    /// It is binary, so nothing was looked for.
    Binary,
}

const NANOS: i64 = 1_000_000_000;

impl Notes {
    /// Number of the filesystem of a directory that is kept.
    pub(super) fn device(&self) -> u64 {
        self.key.0
    }

    pub(super) fn key(&self) -> (u64, u64) {
        self.key
    }

    fn lock(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The version of a file that is known to be binary, or to hold no match by the pattern's bit
    /// or by its trigrams.
    pub(super) fn known_without(
        &self,
        place: usize,
        bits: u64,
        query: &Query,
    ) -> Option<(Version, Finding)> {
        let files = &mut *self.lock();
        let record = files
            .records
            .get_mut(place)
            .filter(|record| record.inode != 0)?;
        if record.is_binary {
            return Some((record.version(self.key.0), Finding::Binary));
        }
        if record.absent & bits == 0 {
            if !query.refuses(files.signatures.get(place)?.as_ref()?) {
                return None;
            }
            // Next time the bit says so.
            record.absent |= bits;
        }
        Some((record.version(self.key.0), Finding::NoMatch))
    }

    /// Returns true if an earlier session may have records of the files that were not read.
    pub(super) fn is_unread(&self) -> bool {
        self.lock().is_unread
    }

    /// Returns true if the file is known, not binary, and has no signature.
    pub(super) fn wants_signature(&self, place: usize) -> bool {
        let files = self.lock();
        files
            .records
            .get(place)
            .is_some_and(|record| record.inode != 0 && !record.is_binary)
            && !files.signatures.get(place).is_some_and(Option::is_some)
    }
}

impl Files {
    /// Drops all records and returns the size that was counted.
    fn give_up(&mut self) -> usize {
        self.is_kept = false;
        self.records = Vec::new();
        self.signatures = Vec::new();
        std::mem::take(&mut self.bytes)
    }
}

impl Shard {
    /// Drops directories that were not met in the last `min_age` searches up to `search`: the
    /// oldest eighth, if there are so many. Returns the bytes freed; `None` if there is no old one.
    fn shed(&mut self, search: u32, min_age: u32) -> Option<usize> {
        let age = |kept: &DirectoryRecord| {
            search.wrapping_sub(kept.entries.notes.used.load(Ordering::Relaxed))
        };
        // Another search may have begun later than `search`.
        let is_old = |age: u32| age >= min_age && age < u32::MAX / 2;
        let mut ages: Vec<u32> = self
            .dirs
            .values()
            .map(age)
            .filter(|&age| is_old(age))
            .collect();
        if ages.is_empty() {
            self.full_in = search;
            return None;
        }
        ages.sort_unstable_by(|a, b| b.cmp(a));
        let oldest = ages[(self.dirs.len() / 8).min(ages.len() - 1)];
        let mut freed = 0;
        self.dirs.retain(|_, kept| {
            let stays = !is_old(age(kept)) || age(kept) < oldest;
            if !stays {
                freed += kept.entries.notes.lock().give_up();
            }
            stays
        });
        self.dirs.shrink_to_fit();
        Some(freed)
    }
}

/// Returns the cost of a signature beside its record: its bits and the allocator's overhead.
fn cost(signature: &Signature) -> usize {
    signature.bytes() + 16
}

impl Store {
    pub(super) fn new(cap_bytes: usize) -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self {
            shards,
            bytes: AtomicUsize::new(0),
            cap_bytes,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(super) fn cap_bytes(&self) -> usize {
        self.cap_bytes
    }

    /// Returns the entries of a directory of this version, if they are settled. `is_current` is
    /// called while no record can be cleared.
    pub(super) fn find(
        &self,
        version: &Version,
        search: u32,
        is_current: impl Fn() -> bool,
    ) -> Option<Arc<Entries<Notes>>> {
        let key = (version.device, version.inode);
        let shard = self.shard(key);
        let kept = shard
            .dirs
            .get(&key)
            .filter(|kept| kept.is_settled && kept.version == *version)?;
        if !is_current() {
            return None;
        }
        kept.entries.notes.used.store(search, Ordering::Relaxed);
        Some(Arc::clone(&kept.entries))
    }

    /// Stores the listing of a directory, and keeps the records of files with the same names.
    pub(super) fn keep(
        &self,
        version: Version,
        is_settled: bool,
        listing: Listing,
        search: u32,
        is_current: impl Fn() -> bool,
    ) -> Arc<Entries<Notes>> {
        let key = (version.device, version.inode);
        let mut shard = self.shard(key);
        if !is_current() {
            return Arc::new(listing.into());
        }
        if let Some(kept) = shard
            .dirs
            .get_mut(&key)
            .filter(|kept| kept.entries.listing == listing)
        {
            (kept.version, kept.is_settled) = (version, is_settled);
            kept.entries.notes.used.store(search, Ordering::Relaxed);
            return Arc::clone(&kept.entries);
        }
        let old = shard.dirs.remove(&key);
        let mut files = Files::default();
        if let Some(old) = old {
            let mut before = old.entries.notes.lock();
            files.take_over(&old.entries.listing, &mut before, &listing);
            self.bytes.fetch_sub(before.give_up(), Ordering::Relaxed);
        }
        let contents = DirectoryContents {
            version,
            is_settled,
            listing,
            files,
        };
        self.insert(&mut shard, contents, search)
            .unwrap_or_else(|rest| Arc::new(rest.into()))
    }

    /// Restores an earlier session's listing of a directory without a record.
    pub(super) fn restore(
        &self,
        packed: PackedDirectory,
        search: u32,
        is_current: impl Fn() -> bool,
    ) {
        let mut shard = self.shard(packed.key());
        if is_current() && !shard.dirs.contains_key(&packed.key()) {
            let contents = DirectoryContents {
                version: packed.version,
                is_settled: packed.is_settled,
                listing: packed.listing,
                files: Files {
                    is_unread: true,
                    ..Files::default()
                },
            };
            // Without room it is listed and read, as what nobody knew.
            let _ = self.insert(&mut shard, contents, search);
        }
    }

    /// Restores an earlier session's records of the files in a directory. `bits` returns the bits
    /// whose patterns are unchanged. It is called under the lock that precedes clearing bits in all
    /// records.
    pub(super) fn restore_files(
        &self,
        notes: &Notes,
        mut packed: PackedFiles,
        search: u32,
        bits: impl Fn() -> u64,
        is_current: impl Fn() -> bool,
    ) {
        let mut shard = self.shard(notes.key);
        let has_room = is_current() && self.make_room(&mut shard, packed.bytes(), search, 1);
        let mut files = notes.lock();
        if !std::mem::take(&mut files.is_unread) || !files.is_kept || !has_room {
            return;
        }
        packed.keep_bits(bits());
        let before = files.bytes;
        if packed.put_into(&mut files, notes.places) {
            self.bytes
                .fetch_add(files.bytes - before, Ordering::Relaxed);
        }
    }

    /// Returns the entries of a directory, of whatever version.
    pub(super) fn get(&self, key: (u64, u64)) -> Option<Arc<Entries<Notes>>> {
        let shard = self.shard(key);
        shard.dirs.get(&key).map(|kept| Arc::clone(&kept.entries))
    }

    /// Gives each directory as two parts, with its key, but for those whose parts are in a file.
    pub(super) fn each_packed<E>(
        &self,
        mut give: impl FnMut((u64, u64), &[u8], &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (mut directory, mut files) = (Vec::new(), Vec::new());
        for shard in &self.shards {
            let keys: Vec<_> = lock(shard).dirs.keys().copied().collect();
            for key in keys {
                directory.clear();
                files.clear();
                let kept = lock(shard).dirs.get(&key).cloned();
                if kept.is_some_and(|kept| kept.pack(&mut directory, &mut files)) {
                    give(key, &directory, &files)?;
                }
            }
        }
        Ok(())
    }

    /// The listing comes back if there is no room for it.
    fn insert(
        &self,
        shard: &mut Shard,
        contents: DirectoryContents,
        search: u32,
    ) -> Result<Arc<Entries<Notes>>, Listing> {
        let DirectoryContents {
            version,
            is_settled,
            listing,
            mut files,
        } = contents;
        files.bytes += listing.bytes()
            + size_of::<Entries<Notes>>()
            + 2 * size_of::<((u64, u64), DirectoryRecord)>();
        files.is_kept = true;
        if !self.make_room(shard, files.bytes, search, 1) {
            return Err(listing);
        }
        self.bytes.fetch_add(files.bytes, Ordering::Relaxed);
        let key = (version.device, version.inode);
        let places = listing.places();
        let notes = Notes {
            key,
            places,
            used: AtomicU32::new(search),
            files: Mutex::new(files),
        };
        let entries = Arc::new(Entries { listing, notes });
        shard.dirs.insert(
            key,
            DirectoryRecord {
                version,
                is_settled,
                entries: Arc::clone(&entries),
            },
        );
        Ok(entries)
    }

    /// Makes or extends a record. Returns true if it is new. `bits` are those of the search's
    /// pattern.
    pub(super) fn learn(
        &self,
        notes: &Notes,
        place: usize,
        version: &Version,
        finding: Finding,
        bits: u64,
        search: u32,
    ) -> bool {
        let mut files = notes.lock();
        if files.is_kept && files.records.is_empty() {
            drop(files);
            let bytes = notes.places * size_of::<Record>();
            if !self.make_room(&mut self.shard(notes.key), bytes, search, 1) {
                return false;
            }
            files = notes.lock();
            if files.is_kept && files.records.is_empty() {
                files.records = vec![Record::default(); notes.places];
                files.bytes += bytes;
                self.bytes.fetch_add(bytes, Ordering::Relaxed);
            }
        }
        let files = &mut *files;
        let Some(record) = files.records.get_mut(place) else {
            return false;
        };
        let is_new = record.inode == 0 || record.version(notes.key.0) != *version;
        if is_new {
            *record = Record::new(version).unwrap_or_default();
        }
        record.is_binary |= finding == Finding::Binary;
        record.absent |= if finding == Finding::NoMatch { bits } else { 0 };
        if !is_new {
            return false;
        }
        if let Some(old) = files.signatures.get_mut(place).and_then(Option::take) {
            files.bytes -= cost(&old);
            self.bytes.fetch_sub(cost(&old), Ordering::Relaxed);
        }
        record.inode != 0
    }

    /// Adds a signature to the record of this version, if any. Returns true if there was room.
    pub(super) fn sign(
        &self,
        notes: &Notes,
        place: usize,
        version: &Version,
        signature: Signature,
        search: u32,
    ) -> bool {
        let table = notes.places * size_of::<Option<Signature>>();
        let mut added = cost(&signature);
        if !self.make_room(
            &mut self.shard(notes.key),
            added + table,
            search,
            SIGNATURE_OUTLIVES,
        ) {
            return false;
        }
        let files = &mut *notes.lock();
        let record = files.records.get(place).filter(|record| record.inode != 0);
        if record.is_none_or(|record| record.version(notes.key.0) != *version) {
            return true;
        }
        if files.signatures.is_empty() {
            files.signatures.resize_with(notes.places, || None);
            added += table;
        }
        if let Some(place) = files
            .signatures
            .get_mut(place)
            .filter(|place| place.is_none())
        {
            *place = Some(signature);
            files.bytes += added;
            self.bytes.fetch_add(added, Ordering::Relaxed);
        }
        true
    }

    /// Takes bits out of all records.
    pub(super) fn clear_bits(&self, bits: u64) {
        for shard in &self.shards {
            for kept in lock(shard).dirs.values() {
                kept.entries
                    .notes
                    .lock()
                    .records
                    .iter_mut()
                    .for_each(|record| record.absent &= !bits);
            }
        }
    }

    pub(super) fn clear(&self) {
        for shard in &self.shards {
            let mut shard = lock(shard);
            let freed: usize = shard
                .dirs
                .drain()
                .map(|(_, kept)| kept.entries.notes.lock().give_up())
                .sum();
            self.bytes.fetch_sub(freed, Ordering::Relaxed);
        }
    }

    /// If one search exceeds the memory, its first records stay. Otherwise it would evict the ones
    /// that its next run needs first.
    fn make_room(&self, shard: &mut Shard, more: usize, search: u32, min_age: u32) -> bool {
        if self.bytes() + more <= self.cap_bytes {
            return true;
        }
        if shard.full_in == search {
            return false;
        }
        let Some(freed) = shard.shed(search, min_age) else {
            return false;
        };
        self.bytes.fetch_sub(freed, Ordering::Relaxed);
        self.bytes() + more <= self.cap_bytes
    }

    /// Its lock is taken before that of a directory's files, never after.
    fn shard(&self, (device, inode): (u64, u64)) -> MutexGuard<'_, Shard> {
        lock(&self.shards[(device ^ inode) as usize % SHARDS])
    }
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Files {
    /// Copies the records of an earlier listing for names that still exist.
    fn take_over(&mut self, before: &Listing, old: &mut Self, now: &Listing) {
        if old.records.is_empty() {
            return;
        }
        self.records = vec![Record::default(); now.places()];
        self.bytes += now.places() * size_of::<Record>();
        if !old.signatures.is_empty() {
            self.signatures.resize_with(now.places(), || None);
            self.bytes += now.places() * size_of::<Option<Signature>>();
        }
        for (from, record) in old
            .records
            .iter()
            .enumerate()
            .filter(|(_, record)| record.inode != 0)
        {
            let Some(to) = before.name(from).and_then(|name| now.place_of(name)) else {
                continue;
            };
            self.records[to] = *record;
            if let Some(signature) = old.signatures.get_mut(from).and_then(Option::take) {
                self.bytes += cost(&signature);
                self.signatures[to] = Some(signature);
            }
        }
    }
}
