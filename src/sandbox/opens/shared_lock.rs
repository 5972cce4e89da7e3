//! Lock of links and renames, shared by the supervisors of all commands of a server.
//!
//! Each supervisor is a process of its own, so the locks of fcntl(2), which belong to processes, keep
//! them apart, and the descriptors can be inherited.

use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, MemfdFlags, fcntl_lock, memfd_create};
use rustix::io::Errno;

/// Time of a lock without a pause after it: links and renames of single files take less.
const SHORT_LOCK: Duration = Duration::from_millis(1);
/// Longest pause after a lock. Meanwhile the supervisor serves nobody.
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// A lock that pauses for other supervisors after it was held for long.
#[derive(Debug)]
pub struct SharedLock {
    /// File whose exclusive lock is this lock.
    lock: OwnedFd,
    /// File with a shared lock of each supervisor that waits.
    waiters: OwnedFd,
    /// Earliest time of the next lock.
    next_lock: Cell<Option<Instant>>,
}

/// Keeps other commands of the server from linking and moving anything, until it is dropped.
#[derive(Debug)]
pub(super) struct Still<'a> {
    shared: &'a SharedLock,
    since: Instant,
}

impl Drop for Still<'_> {
    fn drop(&mut self) {
        let held = self.since.elapsed();
        let pause = pause_after(held).filter(|_| self.shared.has_waiters());
        // It fails only where nothing is locked.
        let _ = fcntl_lock(&self.shared.lock, FlockOperation::Unlock);
        let next = pause.and_then(|pause| Instant::now().checked_add(pause));
        self.shared.next_lock.set(next);
    }
}

/// Returns the pause after a long lock, so that one command leaves most of the time to others.
fn pause_after(held: Duration) -> Option<Duration> {
    (held > SHORT_LOCK).then(|| (held * 3).min(LONGEST_PAUSE))
}

impl SharedLock {
    /// Makes the lock of a server.
    pub fn new() -> Result<Self, Errno> {
        let file = |name| memfd_create(name, MemfdFlags::CLOEXEC);
        Ok(Self {
            lock: file("replay-places")?,
            waiters: file("replay-waiters")?,
            next_lock: Cell::new(None),
        })
    }

    /// Returns the same lock for another supervisor.
    pub fn try_clone(&self) -> std::io::Result<Self> {
        Ok(Self {
            lock: self.lock.try_clone()?,
            waiters: self.waiters.try_clone()?,
            next_lock: Cell::new(None),
        })
    }

    pub(super) fn lock(&self) -> Result<Still<'_>, Errno> {
        if let Some(next) = self.next_lock.take() {
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
        }

        match fcntl_lock(&self.lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::AGAIN | Errno::ACCESS) => {
                block(&self.waiters, FlockOperation::LockShared)?;
                let locked = block(&self.lock, FlockOperation::LockExclusive);
                fcntl_lock(&self.waiters, FlockOperation::Unlock)?;
                locked?;
            }
            Err(errno) => return Err(errno),
        }
        Ok(Still {
            shared: self,
            since: Instant::now(),
        })
    }

    /// Returns true if another supervisor waits for the lock.
    fn has_waiters(&self) -> bool {
        let free = fcntl_lock(&self.waiters, FlockOperation::NonBlockingLockExclusive);
        let _ = fcntl_lock(&self.waiters, FlockOperation::Unlock);
        free.is_err()
    }
}

/// Locks a file, again after each signal.
fn block(file: &OwnedFd, operation: FlockOperation) -> Result<(), Errno> {
    loop {
        match fcntl_lock(file, operation) {
            Err(Errno::INTR) => {}
            ended => return ended,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    use super::*;

    /// Returns true if a lock that was held for ten milliseconds is followed by a pause.
    fn pauses(shared: &SharedLock) -> bool {
        let mut still = shared.lock().unwrap();
        still.since -= Duration::from_millis(10);
        drop(still);
        shared.next_lock.take().is_some()
    }

    #[test]
    fn long_lock_is_followed_by_bounded_pause() {
        let pauses = [1, 10, 1000].map(|held| pause_after(Duration::from_millis(held)));
        let expected = [None, Some(30), Some(200)].map(|pause| pause.map(Duration::from_millis));
        assert_eq!(pauses, expected);
    }

    #[test]
    fn long_lock_without_waiter_has_no_pause() {
        assert!(!pauses(&SharedLock::new().unwrap()));
    }

    #[test]
    fn long_lock_with_waiter_has_pause() {
        let shared = SharedLock::new().unwrap();
        let wait = "import fcntl, signal; fcntl.lockf(0, fcntl.LOCK_SH); \
                    print('waits', flush=True); signal.pause()";
        let mut waiter = Command::new("python3")
            .args(["-c", wait])
            .stdin(Stdio::from(shared.waiters.try_clone().unwrap()))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(waiter.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let with_waiter = pauses(&shared);
        waiter.kill().unwrap();
        waiter.wait().unwrap();
        assert_eq!(
            (line.as_str(), with_waiter, pauses(&shared)),
            ("waits\n", true, false)
        );
    }
}
