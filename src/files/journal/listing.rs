//! Listing of entries: their times, places and previous contents, and the entries whose changes are
//! still in effect.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::{Errno, pread};

use super::bytes::Bytes;
use super::entry::{Entry, RootedPath};
use super::error::JournalError;
use super::log::{self, EntryKind};
use super::object;
use super::store::{Store, unknown};
use super::versions::Version;

impl Version {
    /// Reads the whole file.
    pub fn bytes(&self) -> io::Result<Vec<u8>> {
        let Self::File { content, size, .. } = self else {
            return Ok(Vec::new());
        };
        let mut bytes = vec![0; usize::try_from(*size).unwrap_or(usize::MAX)];
        let mut at = 0;
        while at < bytes.len() {
            match pread(content, &mut bytes[at..], at as u64)? {
                0 => break,
                got => at += got,
            }
        }
        bytes.truncate(at);
        Ok(bytes)
    }
}

impl Entry {
    /// Returns the time of the call's first change.
    pub fn began(&self) -> SystemTime {
        time(self.start)
    }

    /// Returns true if the call has ended.
    pub fn is_over(&self) -> bool {
        self.has_ended()
    }
}

fn time(nanos: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_nanos(nanos.try_into().unwrap_or(0))
}

impl Store {
    /// Returns the entries from this number on whose changes are still in effect. Excludes
    /// completed undos, the entries that these undid, and earlier partial undos of those.
    pub fn standing(&self, since: u64) -> Result<Vec<u64>, JournalError> {
        let known = self.numbers()?;
        // Calls without changes have numbers, too. A number before the first stored entry would
        // omit changes.
        if !matches!(known[..], [first, .., last] if (first..=last).contains(&since))
            && !known.contains(&since)
        {
            return Err(unknown(since, &known));
        }
        let mut standing = Vec::new();
        let mut undone = HashSet::new();
        for number in known.into_iter().filter(|number| *number >= since).rev() {
            let Some(log) = self.open_log(number)? else {
                continue;
            };
            let Some(head) = log::head(&log) else {
                continue;
            };
            let is_covered = head.kind == EntryKind::PartialUndo
                && head.undoes.iter().all(|part| undone.contains(part));
            if undone.contains(&number) || is_covered {
                continue;
            }
            let whole =
                log::undone(&log).filter(|undone| undone.iter().all(|undone| *undone >= since));
            if let Some(whole) = whole {
                undone.extend(whole);
            } else {
                standing.push(number);
            }
        }
        Ok(standing)
    }

    /// Returns true if a living process makes the entry: it holds the lock of the log.
    pub(super) fn is_at_work(&self, number: u64) -> Result<bool, JournalError> {
        let failed = JournalError::io(format!(
            "{}: testing its lock",
            self.log_path(number).display()
        ));
        let Some(log) = self.open_log(number)? else {
            return Ok(false);
        };
        match flock(&log, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(false),
            Err(Errno::WOULDBLOCK) => Ok(true),
            Err(errno) => Err(failed(errno)),
        }
    }

    /// Returns true if an entry without an end has lost its process. While another process begins,
    /// undoes or repairs an entry, nothing is known.
    pub fn is_interrupted(&self, entry: &Entry) -> bool {
        if entry.has_ended() {
            return false;
        }
        // The test locks the log for a moment. A recovery must not take that for a living process.
        let lock = object::open_file(&self.dir, OsStr::new("lock"), OFlags::RDONLY);
        let Ok(Some(lock)) = lock else { return false };
        flock(&lock, FlockOperation::NonBlockingLockShared).is_ok()
            && self.is_at_work(entry.number).is_ok_and(|is| !is)
    }

    /// Returns title and start of an entry; `None` if it never began, or was removed.
    pub fn title(&self, number: u64) -> Result<Option<(String, SystemTime)>, JournalError> {
        Ok(self
            .head(number)?
            .map(|head| (head.title, time(head.start))))
    }

    /// Returns the entries that are undone as a whole and were not redone since.
    pub fn undone(&self) -> Result<HashSet<u64>, JournalError> {
        Ok(self.newest_undos()?.into_keys().collect())
    }

    /// Returns the number of the undo for each undone entry; the newest if there are several.
    pub fn newest_undos(&self) -> Result<HashMap<u64, u64>, JournalError> {
        let mut undos = HashMap::new();
        for number in self.numbers()?.into_iter().rev() {
            if !undos.contains_key(&number)
                && let Some(log) = self.open_log(number)?
            {
                for undone in log::undone(&log).into_iter().flatten() {
                    undos.entry(undone).or_insert(number);
                }
            }
        }
        Ok(undos)
    }

    /// Returns the real path of a place.
    pub fn path(&self, place: &RootedPath) -> PathBuf {
        let root = self
            .roots
            .get(place.root)
            .map_or(Path::new(""), |root| &root.shown);
        root.join(place.path.name())
    }

    /// Returns the place of a real path; `None` if it lies in no root.
    pub fn place(&self, path: &Path) -> Option<RootedPath> {
        let below = |(root, known): (usize, &super::Root)| {
            let below = path.strip_prefix(&known.shown).ok()?;
            Some(RootedPath {
                root,
                path: Bytes::of(below.as_os_str()),
            })
        };
        self.roots.iter().enumerate().find_map(below)
    }
}
