//! Locks for changes: on each file within this process, and on its directory among all processes.
#![expect(clippy::disallowed_methods, reason = "fs opens files")]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::hash::{BuildHasher, RandomState};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use replay_sys::leases::take_read_lease;
use rustix::fs::{FlockOperation, Mode, flock, fstat, openat};
use rustix::io::Errno;

use crate::policy::{Checked, Entry, Write};

use super::dir::LIST;
use super::error::FsError;

/// Locks that the files being changed share.
const FILE_LOCKS: usize = 256;
/// Turns that the directories being changed share.
const TURN_LOCKS: usize = 64;
/// Timeout of a change that waits for another program's lock on the directory, in milliseconds.
const DIR_LOCK_WAIT_MS: u64 = 5000;
/// Timeout of an edit that waits for a program with the file open for writing, in milliseconds.
const OPEN_FOR_WRITING_WAIT_MS: u64 = 1000;
/// Looks at what another program holds before the first sleep between two.
const QUICK_LOOKS: u32 = 16;
/// Longest sleep between two looks at what another program holds, in microseconds. The first is
/// 1/64 of it, and each is twice the one before.
const MAX_LOOK_PAUSE_US: u64 = 3200;

/// A directory entry that can be locked.
pub trait Lockable {
    /// Returns the open directory and the name in it.
    #[doc(hidden)]
    fn dir_and_name(&self) -> (&OwnedFd, &OsStr);
}

impl Lockable for Checked<Write> {
    fn dir_and_name(&self) -> (&OwnedFd, &OsStr) {
        // While a parent is missing, its name stands for everything below it.
        (
            self.dir(),
            self.parents()
                .first()
                .map_or(self.name(), |parent| parent.as_os_str()),
        )
    }
}

impl Lockable for Checked<Entry> {
    fn dir_and_name(&self) -> (&OwnedFd, &OsStr) {
        (self.dir(), self.name())
    }
}

/// Lock table: a fixed number of locks, to which files are mapped by hash.
#[derive(Debug)]
pub struct Locks {
    stripes: Vec<Mutex<()>>,
    /// Turns of threads at the lock on a directory.
    turns: Vec<Turns>,
    hasher: RandomState,
}

/// Locks on files while they are changed.
#[derive(Debug)]
#[must_use = "the lock is held as long as this lives"]
pub struct PathLock<'a>(#[expect(dead_code, reason = "held, not read")] Vec<MutexGuard<'a, ()>>);

impl Default for Locks {
    fn default() -> Self {
        Self {
            stripes: (0..FILE_LOCKS).map(|_| Mutex::new(())).collect(),
            turns: (0..TURN_LOCKS).map(|_| Turns::default()).collect(),
            hasher: RandomState::new(),
        }
    }
}

impl Locks {
    /// Waits for the lock on `target`. A holder of a lock must not request another one: see
    /// [`Locks::lock_all`].
    pub fn lock(&self, target: &dyn Lockable) -> PathLock<'_> {
        self.lock_all(&[target])
    }

    /// Locks several targets, in an order that cannot deadlock.
    pub fn lock_all(&self, targets: &[&dyn Lockable]) -> PathLock<'_> {
        let mut stripes: Vec<usize> = targets.iter().map(|target| self.stripe(*target)).collect();
        stripes.sort_unstable();
        stripes.dedup();
        let lock = |index: usize| {
            self.stripes[index]
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        PathLock(stripes.into_iter().map(lock).collect())
    }

    /// Waits until no other thread commits a file in this directory: that costs less than looking
    /// again and again at the lock that programs share. A thread whose turn does not come, because
    /// another program keeps that lock from the one before it, gets `None` and looks as well. A
    /// thread that holds [`DirLocks`] must not ask for a turn.
    pub(super) fn turn(&self, dir: &OwnedFd) -> Option<Turn<'_>> {
        let index = self.hasher.hash_one(inode(dir)) as usize % self.turns.len();
        let turns = &self.turns[index];
        let wait = Duration::from_millis(DIR_LOCK_WAIT_MS);
        let (mut is_taken, ended) = turns
            .ended
            .wait_timeout_while(turns.lock(), wait, |is_taken| *is_taken)
            .unwrap_or_else(PoisonError::into_inner);
        (!ended.timed_out()).then(|| {
            *is_taken = true;
            Turn(turns)
        })
    }

    fn stripe(&self, target: &dyn Lockable) -> usize {
        let (dir, name) = target.dir_and_name();
        self.hasher.hash_one((inode(dir), name)) as usize % self.stripes.len()
    }
}

/// Turns of threads that change names in a directory.
#[derive(Debug, Default)]
struct Turns {
    is_taken: Mutex<bool>,
    ended: Condvar,
}

impl Turns {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The turn of a thread; it ends when dropped.
#[derive(Debug)]
pub(super) struct Turn<'a>(&'a Turns);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.lock() = false;
        self.0.ended.notify_one();
    }
}

/// Identifies a directory, which may have many spellings.
fn inode(dir: &OwnedFd) -> (u64, u64) {
    fstat(dir)
        .map(|stat| (stat.st_dev, stat.st_ino))
        .unwrap_or_default()
}

/// Locks on directories that other servers see (flock(2)). Each has its own open file description,
/// so that threads exclude each other as well. Held from the last check of a name to its rename;
/// slow work is done before.
///
/// Never take one while holding another one.
#[derive(Debug)]
#[must_use = "the locks are held as long as this lives"]
pub struct DirLocks(#[expect(dead_code, reason = "held, not read")] Vec<OwnedFd>);

impl DirLocks {
    /// Locks the directory of a file to be changed, if it exists and is readable.
    pub fn of(target: &Checked<Write>) -> Result<Option<Self>, FsError> {
        if target.parents().is_empty() {
            Self::if_readable(target.dir(), target.display_path())
        } else {
            Ok(None)
        }
    }

    /// Locks the directories of these files. Fails with `Locked` if another program keeps its lock,
    /// and with `CannotLock` if a directory is not readable.
    pub(super) fn take<'a>(
        files: impl IntoIterator<Item = (&'a OwnedFd, &'a Path)>,
    ) -> Result<Self, FsError> {
        let cannot = |shown: &Path, errno: Errno| FsError::CannotLock {
            path: shown.into(),
            source: errno.into(),
        };
        // Sorted to avoid deadlocks, without duplicates.
        let mut dirs = BTreeMap::new();
        for (dir, shown) in files {
            let stat = fstat(dir).map_err(|errno| cannot(shown, errno))?;
            dirs.entry((stat.st_dev, stat.st_ino))
                .or_insert((dir, shown));
        }
        let lock = |(dir, shown): (&OwnedFd, &Path)| {
            let own =
                openat(dir, ".", LIST, Mode::empty()).map_err(|errno| cannot(shown, errno))?;
            let tried = || match flock(&own, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK | Errno::INTR) => None,
                tried => Some(tried),
            };
            match look_until(Duration::from_millis(DIR_LOCK_WAIT_MS), tried) {
                Some(Ok(())) => Ok(own),
                Some(Err(errno)) => Err(cannot(shown, errno)),
                None => Err(FsError::Locked { path: shown.into() }),
            }
        };
        dirs.into_values()
            .map(lock)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Locks a directory for a change that is safe without the lock. `None` for an unreadable
    /// directory: no server makes a change in it that depends on previous content.
    pub(super) fn if_readable(dir: &OwnedFd, shown: &Path) -> Result<Option<Self>, FsError> {
        match Self::take([(dir, shown)]) {
            Err(FsError::CannotLock { source, .. })
                if source.kind() == std::io::ErrorKind::PermissionDenied =>
            {
                Ok(None)
            }
            taken => taken.map(Some),
        }
    }
}

/// Takes a read lease, so that other programs that open `file` for writing have to wait. Returns
/// `false` if leases are not available: for files of other users, and on some filesystems. Fails
/// with `OpenForWriting` if a program keeps the file open for writing.
pub(super) fn keep_writers_out(file: impl AsFd, shown: &Path) -> Result<bool, FsError> {
    let tried = || match take_read_lease(file.as_fd()) {
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => None,
        tried => Some(tried.is_ok()),
    };
    look_until(Duration::from_millis(OPEN_FOR_WRITING_WAIT_MS), tried)
        .ok_or_else(|| FsError::OpenForWriting { path: shown.into() })
}

/// Polls until there is a result or the time limit has passed: neither lock supports waiting with a
/// timeout.
fn look_until<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let longest = Duration::from_micros(MAX_LOOK_PAUSE_US);
    let (until, mut pause, mut looks) = (Instant::now() + limit, longest / 64, 0);
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        looks += 1;
        if looks < QUICK_LOOKS {
            thread::yield_now();
        } else if Instant::now() >= until {
            return None;
        } else {
            thread::sleep(pause);
            pause = (pause * 2).min(longest);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use super::*;

    #[test]
    fn threads_take_turns_in_directory() {
        let dir = tempfile::tempdir().unwrap();
        let (locks, inside) = (Locks::default(), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..4 {
                // Each has the directory open for itself.
                let own = OwnedFd::from(File::open(dir.path()).unwrap());
                let (locks, inside) = (&locks, &inside);
                scope.spawn(move || {
                    for _ in 0..200 {
                        let _turn = locks.turn(&own).unwrap();
                        assert_eq!(inside.fetch_add(1, SeqCst), 0);
                        thread::yield_now();
                        inside.fetch_sub(1, SeqCst);
                    }
                });
            }
        });
    }
}
