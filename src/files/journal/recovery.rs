//! Crash recovery: ends entries whose server is gone, and rolls back an interrupted undo.
#![expect(
    clippy::disallowed_methods,
    reason = "everything starts at a handle of a root or of the store"
)]

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{
    AtFlags, FlockOperation, Mode, OFlags, ResolveFlags, Timespec, Timestamps, UTIME_NOW, flock,
    ftruncate, futimens, openat, openat2, unlinkat,
};
use rustix::io::Errno;

use super::entry::Change;
use super::error::JournalError;
use super::log::{self, Log};
use super::memory::Memory;
use super::object::{stat, stat_of};
use super::store::{LoggedEntry, Store};
use super::undo::{Options, UndoRequest};
use crate::set_aside::{has_only_samples, set_aside};

/// Longest time from the last record of an entry to its last change, in nanoseconds. Later changes
/// are attributed to others.
const SLACK_NS: i64 = 1_000_000_000;

/// File whose mtime is the time of the last check of ended entries.
const SETTLED: &str = "settled";
/// File in a store while an undo changes the tree.
const UNDOING: &str = "undoing";
/// Number of newest entries whose ends are looked at.
const MAX_UNSETTLED: usize = 64;

const DYING_LOOK_MS: u64 = 5;

/// Opens such a file, or makes it.
const NEW_NOTE: OFlags = OFlags::CREATE
    .union(OFlags::WRONLY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

impl Store {
    /// Waits until the last processes of a killed server have released its entries. A call of
    /// another server holds its entry longer than this waits.
    pub(super) fn await_dying_processes(&self) -> Result<(), JournalError> {
        let deadline = Instant::now() + self.dying_wait;
        while self.has_entry_at_work()? && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(DYING_LOOK_MS));
        }
        Ok(())
    }

    fn has_entry_at_work(&self) -> Result<bool, JournalError> {
        // Testing an entry locks it for a moment, which another recovery must not see.
        let _lock = self.lock()?;
        for number in self.numbers()?.into_iter().rev().take(MAX_UNSETTLED) {
            let Some(log) = self.open_log(number)? else {
                continue;
            };
            let has_ended = log::end(&log).is_ok_and(|end| end.is_some());
            if !has_ended && self.is_at_work(number)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Repairs the state after a crash; entries of other servers are left alone. Returns the
    /// repaired entries.
    pub fn recover(&self) -> Result<Vec<u64>, JournalError> {
        let lock = self.lock()?;
        let numbers = self.numbers()?;
        let mut files = self.files()?;
        // Remains of entries that were being removed.
        for (number, files) in files.extract_if(|number, _| numbers.binary_search(number).is_err())
        {
            self.remove(number, files)?;
        }
        let mut mended = Vec::new();
        let (mut interrupted, mut undone) = (Vec::new(), HashSet::new());
        for number in numbers.into_iter().rev() {
            let failed =
                || JournalError::io(format!("{}: ending it", self.log_path(number).display()));
            let Some(log) = self.open_log(number)? else {
                continue;
            };
            match flock(&log, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK) => continue,
                locked => locked.map_err(failed())?,
            }
            let Some(LoggedEntry {
                earlier,
                last,
                length,
            }) = self.read_whole(number, Memory::Overdrawn)?
            else {
                // A server holds the lock while it begins an entry, so this one never began.
                self.remove(number, files.remove(&number).unwrap_or_default())?;
                continue;
            };
            let entry = if last.has_ended() {
                self.whole(earlier, last)
            } else {
                let crashed = stat_of(&log).map_err(failed())?.mtime + SLACK_NS;
                // Changes after the last complete line never happened.
                ftruncate(&log, length).map_err(failed())?;
                let is_undo = !last.undoes.is_empty();
                let mut recorder = self.recorder(Log::new(log, length, &self.root_ids), last);
                recorder.earlier = earlier.map(Box::new);
                recorder.entry.files = files
                    .get(&number)
                    .into_iter()
                    .flatten()
                    .copied()
                    .max()
                    .unwrap_or(0);
                recorder.copied_bytes = None;
                recorder.crashed = Some(crashed);
                mended.push(number);
                self.end_as(recorder, is_undo, &|| true, |_| Vec::new())?
            };
            if entry.is_whole_undo() {
                undone.extend(entry.undoes);
            } else if !entry.undoes.is_empty() && !undone.contains(&number) {
                interrupted.push((number, entry.title));
            }
        }
        // Newest first.
        for (number, title) in interrupted {
            let undone = self.undo_locked(UndoRequest {
                lock: &lock,
                numbers: &[number],
                title: &title,
                options: Options::default(),
                takes_back: false,
            })?;
            match undone.conflicts.first() {
                None => mended.push(number),
                // Somebody has worked on with its result.
                Some(conflict) => tracing::warn!(
                    "call {number}, an undo, was interrupted and stays half done: {}: {}",
                    self.path(&conflict.place).display(),
                    conflict.why
                ),
            }
        }
        self.note_undone();
        mended.sort_unstable();
        mended.dedup();
        Ok(mended)
    }

    /// Records that an undo begins. The caller holds the lock of the store.
    pub(super) fn note_undoing(&self) -> Result<(), Errno> {
        openat(&self.dir, UNDOING, NEW_NOTE, Mode::RUSR | Mode::WUSR).map(drop)
    }

    /// Records that no undo is under way.
    pub(super) fn note_undone(&self) {
        // The file alone only makes the next server recover before its first call.
        let _ = unlinkat(&self.dir, UNDOING, AtFlags::empty());
    }

    /// Returns true if an undo is under way, or was interrupted.
    pub(super) fn has_open_undo(&self) -> bool {
        stat(self.dir.as_fd(), OsStr::new(UNDOING)).is_ok_and(|found| found.is_some())
    }

    /// Records the time of this check of ended entries.
    pub(super) fn note_settled(&self) {
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_NOW,
        };
        let file = openat(&self.dir, SETTLED, NEW_NOTE, Mode::RUSR | Mode::WUSR);
        // Without it, some entries are checked once more after a crash.
        let _ = file.and_then(|file| {
            futimens(
                file,
                &Timestamps {
                    last_access: now,
                    last_modification: now,
                },
            )
        });
    }

    /// Returns entries that ended after the last check of a server: those of commands that outlived
    /// it.
    pub(super) fn unsettled(&self) -> Result<Vec<u64>, JournalError> {
        let failed = JournalError::io(format!("{}: looking at `{SETTLED}`", self.shown.display()));
        let Some(settled) = stat(&self.dir, SETTLED.as_ref()).map_err(failed)? else {
            return Ok(Vec::new());
        };
        self.ended_since(settled.mtime)
    }

    /// Returns the entries among the newest that ended after this time.
    pub(super) fn ended_since(&self, time: i64) -> Result<Vec<u64>, JournalError> {
        let mut found = Vec::new();
        for number in self.numbers()?.into_iter().rev().take(MAX_UNSETTLED) {
            let Some(log) = self.open_log(number)? else {
                continue;
            };
            found.extend(
                log::end(&log)
                    .ok()
                    .flatten()
                    .filter(|end| end.time > time)
                    .map(|_| number),
            );
        }
        Ok(found)
    }

    /// Moves objects that an entry made at protected paths aside; a living launcher does that
    /// itself. Returns the paths.
    pub(super) fn spare_protected(&self, number: u64) -> Result<Vec<PathBuf>, JournalError> {
        let Some(changer) = &self.changer else {
            return Ok(Vec::new());
        };
        let entry = self.entry_with(number, Memory::Overdrawn)?;
        let until = entry.end.map_or(i64::MAX, |end| end.time);
        let made = |change: &Change| matches!(change, Change::Created | Change::Renamed { .. });
        let changes = self
            .changes(&entry)
            .into_iter()
            .filter(|(_, change)| made(change));
        let protected: BTreeSet<PathBuf> = changes
            .flat_map(|(place, _)| changer.protected_from(&self.path(&place)))
            .collect();
        Ok(protected
            .into_iter()
            .filter(|path| self.set_aside_at(path, until).is_some())
            .collect())
    }

    /// Returns `None` if no object born until then exists there.
    fn set_aside_at(&self, path: &Path, until: i64) -> Option<()> {
        let (place, name) = (self.place(path.parent()?)?, path.file_name()?);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let below = Path::new(".").join(place.path.name());
        let dir = openat2(
            &self.roots.get(place.root)?.handle,
            below,
            flags,
            Mode::empty(),
            resolve,
        )
        .ok()?;
        let found = stat(&dir, name).ok()??;
        let is_sparable =
            found.id.born() <= until && !(found.is_dir() && has_only_samples(&dir, name));
        (is_sparable && set_aside(dir, name)).then_some(())
    }
}
