//! Removes temporary files of killed writers.
#![expect(clippy::disallowed_methods, reason = "fs opens files")]

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, flock, fstat, openat, unlinkat};

use crate::policy::Id;

use super::dir::{LIST, list};
use super::temp::is_temp_name;

/// A temporary file that nobody holds is left over when it is older than this, in seconds.
const STALE_TEMP_SECS: u64 = 60;
/// Directories remembered as swept of left-over temporary files.
const MAX_SWEPT_DIRS: usize = 4096;

/// Directories that were swept already.
#[derive(Debug, Default)]
pub(super) struct Sweeper {
    /// Time of the next sweep; `None` for directories without temporary files.
    swept: Mutex<HashMap<Id, Option<SystemTime>>>,
}

impl Sweeper {
    /// Sweeps a directory at the first write to it, and again while it contains recent temporary
    /// files, since their writers may be dead too. Errors are ignored; a later sweep tries again.
    pub(super) fn first_write(&self, dir: &OwnedFd) {
        self.write_at(dir, SystemTime::now());
    }

    /// Sweeps with a given current time.
    pub(super) fn write_at(&self, dir: &OwnedFd, now: SystemTime) {
        let Ok(stat) = fstat(dir) else { return };
        let id = (stat.st_dev, stat.st_ino);
        {
            let mut swept = self.lock();
            if swept
                .get(&id)
                .is_some_and(|due| due.is_none_or(|due| now < due))
            {
                return;
            }
            if swept.len() >= MAX_SWEPT_DIRS {
                swept.clear();
            }
            swept.insert(id, None);
        }
        if !sweep(dir, now) {
            self.lock()
                .insert(id, Some(now + Duration::from_secs(STALE_TEMP_SECS)));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Id, Option<SystemTime>>> {
        self.swept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns true if no temporary file remains for a later sweep.
fn sweep(dir: &OwnedFd, now: SystemTime) -> bool {
    let Ok(own) = openat(dir, ".", LIST, Mode::empty()) else {
        return true;
    };
    let mut done = true;
    for entry in list(&own)
        .unwrap_or_default()
        .iter()
        .filter(|entry| is_temp_name(&entry.name))
    {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(file) = openat(dir, &entry.name, flags, Mode::empty()) else {
            continue;
        };
        let Ok(stat) = fstat(&file) else { continue };
        let modified = UNIX_EPOCH + Duration::from_secs(u64::try_from(stat.st_mtime).unwrap_or(0));
        let old = now
            .duration_since(modified)
            .is_ok_and(|age| age.as_secs() > STALE_TEMP_SECS);
        let regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        // A living writer holds the lock, also on the old file during an exchange.
        if !regular {
            continue;
        }
        if old && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = unlinkat(dir, &entry.name, AtFlags::empty());
        } else {
            done = false;
        }
    }
    done
}
