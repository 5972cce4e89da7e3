//! Sockets that commands may connect to: those that commands of this server listen with, and those that the operator allows.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, StatxFlags, makedev, statx};
use rustix::io::Errno;

use crate::sandbox::fault::{Fault, Step as _};
use crate::sandbox::mount;
use crate::sandbox::plan::Place;
use crate::sandbox::sys::shared_words::SharedWords;

/// Listening sockets of all commands together.
const MAX_SOCKETS: usize = 4096;
/// State, device, inode number, time of birth.
const WORDS: usize = 4;

const FREE: u64 = 0;
const IN_CHANGE: u64 = 1;
const TAKEN: u64 = 2;

/// File of a socket. A file that gets the inode number of a deleted one is born later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketFile {
    dev: u64,
    ino: u64,
    born_ns: u64,
}

impl SocketFile {
    /// The file that a descriptor stands for.
    pub fn of(file: &OwnedFd) -> Result<Self, Errno> {
        let stat = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS | StatxFlags::BTIME)?;
        let born = stat.stx_btime;
        Ok(Self {
            dev: makedev(stat.stx_dev_major, stat.stx_dev_minor),
            ino: stat.stx_ino,
            born_ns: nanoseconds(born.tv_sec, born.tv_nsec.into()),
        })
    }

    /// Returns true if the file was there at that time. Some filesystems do not know.
    pub fn is_older_than(self, time_ns: u64) -> bool {
        self.born_ns != 0 && self.born_ns < time_ns
    }
}

pub fn nanoseconds(seconds: i64, rest: u64) -> u64 {
    seconds.cast_unsigned().wrapping_mul(1_000_000_000).wrapping_add(rest)
}

/// Table that the launcher shares with all supervisors.
#[derive(Debug)]
pub struct SocketFiles {
    slots: SharedWords,
    /// Files that the operator allows, so that no other file gets their inode numbers.
    allowed: Vec<OwnedFd>,
}

impl SocketFiles {
    fn new() -> io::Result<Self> {
        Ok(Self { slots: SharedWords::new(MAX_SOCKETS * WORDS)?, allowed: Vec::new() })
    }

    /// A table that holds these sockets from the start. Fails if one of them is another file by now.
    pub fn allowing(sockets: &[Place]) -> Result<Self, Fault> {
        let mut files = Self::new().step("share memory")?;
        for place in sockets {
            let step = || format!("allow the unix socket `{}`", place.path.as_path().display());
            let file = mount::open_path(place.path.as_path())?;
            mount::same(&file, place)?;
            files.add(SocketFile::of(&file).step_with(step)?).step_with(step)?;
            files.allowed.push(file);
        }
        Ok(files)
    }

    /// Adds a file, whose inode number must stay taken (by a descriptor) until it is removed. `ENOBUFS` if the table is full.
    pub fn add(&self, file: SocketFile) -> Result<Slot, Errno> {
        for (index, slot) in self.slots().enumerate() {
            let [state, words @ ..] = slot;
            if state.compare_exchange(FREE, IN_CHANGE, Ordering::Acquire, Ordering::Relaxed).is_err() {
                continue;
            }
            for (word, value) in words.iter().zip([file.dev, file.ino, file.born_ns]) {
                word.store(value, Ordering::Relaxed);
            }
            state.store(TAKEN, Ordering::Release);
            return Ok(Slot(index));
        }
        Err(Errno::NOBUFS)
    }

    pub fn remove(&self, Slot(index): Slot) {
        if let Some([state, ..]) = self.slots().nth(index) {
            state.store(FREE, Ordering::Release);
        }
    }

    /// Returns true if commands may connect to this file.
    pub fn holds(&self, file: SocketFile) -> bool {
        self.slots().any(|[state, dev, ino, born_ns]| {
            let is_taken = || state.load(Ordering::Acquire) == TAKEN;
            let read = |word: &AtomicU64| word.load(Ordering::Acquire);
            is_taken() && SocketFile { dev: read(dev), ino: read(ino), born_ns: read(born_ns) } == file && is_taken()
        })
    }

    fn slots(&self) -> impl Iterator<Item = &[AtomicU64; WORDS]> {
        self.slots.words().as_chunks().0.iter()
    }
}

/// Place in the table.
#[derive(Debug)]
pub struct Slot(usize);

#[cfg(test)]
mod tests {
    use super::*;

    fn file(ino: u64) -> SocketFile {
        SocketFile { dev: 7, ino, born_ns: 11 }
    }

    #[test]
    fn table_holds_added_file_until_removed() {
        let table = SocketFiles::new().unwrap();
        let first = table.add(file(1)).unwrap();
        table.add(file(2)).unwrap();
        assert!(table.holds(file(1)) && table.holds(file(2)) && !table.holds(file(3)));
        assert!(!table.holds(SocketFile { born_ns: 12, ..file(1) }));
        table.remove(first);
        assert!(!table.holds(file(1)) && table.holds(file(2)));
    }

    #[test]
    fn full_table_refuses_another_file() {
        let table = SocketFiles::new().unwrap();
        let slots: Vec<Slot> = (0..MAX_SOCKETS as u64).map(|ino| table.add(file(ino)).unwrap()).collect();
        assert_eq!(table.add(file(0)).unwrap_err(), Errno::NOBUFS);
        slots.into_iter().for_each(|slot| table.remove(slot));
        table.add(file(0)).unwrap();
    }
}
