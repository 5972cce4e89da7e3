//! Removes temporary files that a writer left behind when it was killed.
#![expect(clippy::disallowed_methods, reason = "fs is the disk door")]

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, flock, fstat, openat, unlinkat};

use crate::limits::{MAX_SWEPT_DIRS, STALE_TEMP_SECS};
use crate::policy::Id;

use super::dir::{LIST, list};
use super::temp::is_temp_name;

/// Which directories were swept already.
#[derive(Debug, Default)]
pub(super) struct Sweeper {
    /// When each is to be swept again; never, if nothing was left there.
    swept: Mutex<HashMap<Id, Option<SystemTime>>>,
}

impl Sweeper {
    /// Sweeps a directory the first time it is written to, and again while something young lies
    /// there: its writer may have died as well, and a server may run for months. What goes wrong is
    /// left for another time.
    pub(super) fn first_write(&self, dir: &OwnedFd) {
        self.write_at(dir, SystemTime::now());
    }

    /// The same at some time.
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

/// Whether nothing is left that may have to go later.
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
        // A writer that lives holds the lock, also over the old file during an exchange.
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
