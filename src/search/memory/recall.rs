//! View of one search on the memory.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use replay_base::limits::SETTLED_SECS;
use replay_files::fs::{Entries, OpenDir, OpenFile, Version, WalkEntry};

use super::Inner;
use super::query::Query;
use super::signature::Signature;
use super::store::{Finding, Notes};

/// A file that changed less than this before is remembered only if none of its pages waits to be
/// written, in seconds.
const LONG_SETTLED_SECS: i64 = 3600;
/// Largest file that is remembered, in bytes: one write call has one time stamp, however long it
/// takes.
const MAX_REMEMBERED_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// Records about one pattern for one search, shared by its threads.
pub struct Recall {
    inner: Arc<Inner>,
    /// The number of the pattern's bit; `None` if its answers are not kept.
    bit: Option<u32>,
    query: Query,
    /// `true` if the search asks for records of files.
    needs_files: bool,
    /// Start of the search, in seconds since 1970. A file that is settled by then still is when it
    /// is read.
    began: i64,
    /// `true` if ages are known: the clock was not set lately.
    can_learn: bool,
    epoch: u64,
    search: u32,
    /// Filesystems met, and their trust. Checked once in each search, as a number may be reused.
    honest: RwLock<Vec<(u64, bool)>>,
    has_news: AtomicBool,
}

/// Returns the entries of a directory: the remembered ones, or a new listing.
pub fn entries(recall: Option<&Recall>, dir: &mut OpenDir<'_>) -> io::Result<Arc<Entries<Notes>>> {
    match recall {
        Some(recall) => recall.entries(dir),
        None => Ok(Arc::new(dir.list()?.into())),
    }
}

impl Recall {
    /// `key` is `None` for work that asks for no pattern.
    pub(super) fn new(
        inner: &Arc<Inner>,
        key: Option<&[u8]>,
        needs_files: bool,
        query: impl FnOnce() -> Query,
    ) -> Self {
        let can_learn = inner.watch_clock();
        // Before anything is found out, so that what a later clearing makes doubtful is refused.
        let epoch = inner.epoch.load(Ordering::SeqCst);
        // The timer that tells of a set clock runs since before.
        if epoch == 0 {
            inner
                .cache
                .look(inner.clock.ahead(), |keys| inner.patterns().adopt(keys));
        }
        let clear = |bits| {
            inner.cache.forget_bits(bits);
            inner.store.clear_bits(bits);
        };
        let bit = key.and_then(|key| inner.patterns().pin(key, clear));
        Self {
            bit,
            query: if inner.store.bytes() == 0 && !inner.cache.is_there() {
                Query::Any
            } else {
                query()
            },
            needs_files,
            began: inner.clock.now(),
            can_learn,
            epoch,
            search: inner.search.fetch_add(1, Ordering::Relaxed).wrapping_add(1),
            honest: RwLock::default(),
            has_news: AtomicBool::new(false),
            inner: Arc::clone(inner),
        }
    }

    /// Returns the entries of a directory, with the records of its files.
    ///
    /// They are not listed again if the directory still has the version of an earlier listing.
    /// Every change of entries stamps the directory while it cannot be listed. Directories are not
    /// mapped, so their age is sufficient.
    pub fn entries(&self, dir: &mut OpenDir<'_>) -> io::Result<Arc<Entries<Notes>>> {
        let version = dir.version().filter(|_| self.can_learn);
        let Some(version) = version.filter(|version| self.is_honest(version.device, dir)) else {
            return Ok(Arc::new(dir.list()?.into()));
        };
        let store = &self.inner.store;
        let find = || {
            let known = store.find(&version, self.search, || self.is_current())?;
            if self.needs_files {
                self.read_files(&known.notes);
            }
            Some(known)
        };
        if let Some(known) = find() {
            return Ok(known);
        }
        let key = (version.device, version.inode);
        let mut old = store.get(key);
        if self.epoch == 0
            && old.is_none()
            && let Some(packed) = self.inner.cache.read(key)
        {
            store.restore(packed, self.search, || self.is_current());
            if let Some(known) = find() {
                return Ok(known);
            }
            old = store.get(key);
        }
        // Its files may have the versions that they had.
        if let Some(old) = old {
            self.read_files(&old.notes);
        }
        let listing = dir.list()?;
        let is_settled = self.age_secs(&version) > SETTLED_SECS && listing.knows_kinds();
        Ok(store.keep(version, is_settled, listing, self.search, || {
            self.is_current()
        }))
    }

    /// Reads an earlier session's records of the files in a directory, unless they were read.
    fn read_files(&self, notes: &Notes) {
        let cache = &self.inner.cache;
        if notes.is_unread() {
            let packed = cache.read_files(notes.key()).unwrap_or_default();
            let bits = || cache.bits();
            let is_current = || self.is_current();
            self.inner
                .store
                .restore_files(notes, packed, self.search, bits, is_current);
        }
    }

    /// Returns the finding that makes opening the file unnecessary, if any. Costs a `stat` if the
    /// file has a record.
    pub fn rules_out(&self, found: &WalkEntry<'_>, notes: &Notes) -> Option<Finding> {
        let (version, finding) = notes.known_without(found.place(), self.bits(), &self.query)?;
        (found.version() == Some(version)).then_some(finding)
    }

    fn bits(&self) -> u64 {
        self.bit.map_or(0, |bit| 1 << bit)
    }

    /// The seconds since the last change when the search began; they are cut off on both sides.
    fn age_secs(&self, version: &Version) -> i64 {
        self.began.saturating_sub(version.changed.0)
    }

    /// Returns the version of the file if it will identify the content that is read from now on.
    /// Must be called before the first byte is read.
    ///
    /// Every change of content first stamps the file with the present time or a later one. So a
    /// version that is met again has the same content, with two exceptions, which are excluded
    /// here.
    ///
    /// - A store to a mapped page that is not written back yet stamps nothing. So the last change
    ///   must be older than the writeback delay. Up to an hour the kernel is also asked for dirty
    ///   pages.
    /// - The clock may be set back. Then all records are dropped.
    pub fn settled(&self, file: &OpenFile, notes: &Notes) -> Option<Version> {
        let version = file.version();
        // Of another filesystem than its directory, it is a mount point.
        if version.device != notes.device() || version.size > MAX_REMEMBERED_FILE_BYTES {
            return None;
        }
        let age = self.age_secs(&version);
        if age <= SETTLED_SECS {
            return None;
        }
        (age > LONG_SETTLED_SECS || file.is_written_back() != Some(false)).then_some(version)
    }

    fn is_honest(&self, device: u64, dir: &OpenDir<'_>) -> bool {
        #[cfg(test)]
        if self.inner.any_filesystem {
            return true;
        }
        let find = |met: &[(u64, bool)]| {
            met.iter()
                .find(|(known, _)| *known == device)
                .map(|(_, honest)| *honest)
        };
        if let Some(honest) = find(&self.honest.read().unwrap_or_else(PoisonError::into_inner)) {
            return honest;
        }
        let honest = dir.is_honest();
        self.honest
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .push((device, honest));
        honest
    }

    /// Stores the finding about a settled file that was read whole. `place` and `notes` are its
    /// listing position.
    pub fn learn(&self, notes: &Notes, place: usize, version: &Version, finding: Finding) {
        if self
            .inner
            .store
            .learn(notes, place, version, finding, self.bits(), self.search)
        {
            self.has_news.store(true, Ordering::Relaxed);
        }
    }

    /// Returns true if the search read settled files without records, so that
    /// [`super::Memory::learn_below`] is useful.
    pub fn has_news(&self) -> bool {
        self.has_news.load(Ordering::Relaxed)
    }

    /// Stores the signature of a settled file. Returns true if there was room.
    pub(super) fn sign(
        &self,
        notes: &Notes,
        place: usize,
        version: &Version,
        signature: Signature,
    ) -> bool {
        self.inner
            .store
            .sign(notes, place, version, signature, self.search)
    }

    /// Returns true if no record was dropped since the search began.
    fn is_current(&self) -> bool {
        self.inner.epoch.load(Ordering::SeqCst) == self.epoch
    }
}

impl Drop for Recall {
    fn drop(&mut self) {
        if let Some(bit) = self.bit {
            self.inner.patterns().unpin(bit);
        }
    }
}
