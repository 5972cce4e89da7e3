//! One search's view of the memory.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use super::Inner;
use super::query::Query;
use super::signature::Signature;
use crate::fs::{Found, OpenFile, Version};
use crate::limits::{LONG_SETTLED_SECS, MAX_REMEMBERED_FILE_BYTES, SETTLED_SECS};

/// What is known about one pattern, for the time of one search. Shared by its threads.
pub struct Recall {
    inner: Arc<Inner>,
    /// The bit of the pattern; `None` if its answers are not kept.
    bit: Option<u32>,
    query: Query,
    /// When the search began, in seconds since 1970: what is settled by then still is when it is read.
    began: i64,
    /// Whether ages can be told: the clock was not set lately.
    can_learn: bool,
    epoch: u64,
    search: u32,
    /// Filesystems that hold something known.
    devices: Vec<u64>,
    /// Filesystems met, and whether they can be trusted. Asked once in each search: a number can come to stand for another.
    honest: RwLock<Vec<(u64, bool)>>,
    has_news: AtomicBool,
}

impl Recall {
    /// `key` is `None` for work that asks for no pattern.
    pub(super) fn new(inner: &Arc<Inner>, key: Option<&[u8]>, query: impl FnOnce() -> Query) -> Self {
        let can_learn = inner.watch_clock();
        // Before anything is found out, so that what a later clearing makes doubtful is refused.
        let epoch = inner.epoch.load(Ordering::SeqCst);
        let devices = inner.store.devices();
        let bit = key.and_then(|key| inner.patterns().pin(key, |bits| inner.store.clear_bits(bits)));
        Self {
            bit,
            query: if devices.is_empty() { Query::Any } else { query() },
            began: inner.clock.now(),
            can_learn,
            epoch,
            search: inner.search.fetch_add(1, Ordering::Relaxed).wrapping_add(1),
            devices,
            honest: RwLock::default(),
            has_news: AtomicBool::new(false),
            inner: Arc::clone(inner),
        }
    }

    /// Whether the file is known to have no match, as it is at this moment. Most files of which nothing is known cost a look
    /// into a table, the others a `stat`.
    pub fn rules_out(&self, found: &Found<'_>) -> bool {
        let hopeless = |device: &u64| self.known_without(*device, found.inode()).is_some();
        if !self.devices.iter().any(hopeless) {
            return false;
        }
        found.version().is_some_and(|now| self.known_without(now.device, now.inode) == Some(now))
    }

    /// The version of a file of which it is known that it has no match.
    fn known_without(&self, device: u64, inode: u64) -> Option<Version> {
        self.inner.store.known_without(device, inode, self.bit, &self.query, self.search)
    }

    /// Which version of the file it is, if that will stand for the content that is read from now on; to be asked before the
    /// first byte is read.
    ///
    /// Whatever changes content stamps the file first, with a time not before the present one; so a version that is met
    /// again later has the content of now, with two exceptions that are ruled out here. A store to a mapped page that is
    /// still to be written back stamps nothing: so the last change must lie longer back than pages wait to be written, and
    /// up to an hour the kernel is asked whether any page does. And the clock may be set back: then all is forgotten.
    pub fn settled(&self, file: &OpenFile) -> Option<Version> {
        let version = file.version();
        if !self.can_learn || version.size > MAX_REMEMBERED_FILE_BYTES {
            return None;
        }
        let age = self.began.saturating_sub(version.changed.0);
        // The seconds are cut off on both sides.
        if age <= SETTLED_SECS || !self.is_honest(version.device, file) {
            return None;
        }
        (age > LONG_SETTLED_SECS || file.is_written_back() != Some(false)).then_some(version)
    }

    fn is_honest(&self, device: u64, file: &OpenFile) -> bool {
        #[cfg(test)]
        if self.inner.any_filesystem {
            return true;
        }
        let find = |met: &[(u64, bool)]| met.iter().find(|(known, _)| *known == device).map(|(_, honest)| *honest);
        if let Some(honest) = find(&self.honest.read().unwrap_or_else(PoisonError::into_inner)) {
            return honest;
        }
        let honest = file.is_honest();
        self.honest.write().unwrap_or_else(PoisonError::into_inner).push((device, honest));
        honest
    }

    /// Remembers whether a settled file, read whole, has a match.
    pub fn learn(&self, version: &Version, matched: bool) {
        let bit = self.bit.filter(|_| !matched);
        if self.inner.store.learn(version, bit, self.search, || self.is_current()) {
            self.has_news.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the search read settled files that were not known: [`super::Memory::learn_below`] is worth its while.
    pub fn has_news(&self) -> bool {
        self.has_news.load(Ordering::Relaxed)
    }

    /// Whether the file was searched and has no signature.
    pub(super) fn wants_signature(&self, inode: u64) -> bool {
        self.devices.iter().any(|&device| self.inner.store.wants_signature(device, inode))
    }

    /// Remembers the signature of a settled file. Whether there was room.
    pub(super) fn sign(&self, version: &Version, signature: Signature) -> bool {
        self.inner.store.sign(version, signature, self.search, || self.is_current())
    }

    /// Nothing was forgotten since the search began.
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
