//! Sockets that commands may connect to: those that commands of this server listen with, and those
//! that the operator allows.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use replay_sys::shared_words::SharedWords;
use rustix::fs::{AtFlags, StatxFlags, makedev, statx};
use rustix::io::Errno;

use crate::fault::{Fault, StepContext as _};
use crate::mount;
use crate::plan::CanonicalPath;

/// Listening sockets of all commands together.
const MAX_SOCKETS: usize = 4096;
/// State, owner, device, inode number, time of birth.
const WORDS: usize = 5;

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
        let stat = statx(
            file,
            "",
            AtFlags::EMPTY_PATH,
            StatxFlags::BASIC_STATS | StatxFlags::BTIME,
        )?;
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

pub(super) fn nanoseconds(seconds: i64, rest: u64) -> u64 {
    seconds
        .cast_unsigned()
        .wrapping_mul(1_000_000_000)
        .wrapping_add(rest)
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
        Ok(Self {
            slots: SharedWords::new(MAX_SOCKETS * WORDS)?,
            allowed: Vec::new(),
        })
    }

    /// A table that holds these sockets from the start. Fails if one of them is another file by
    /// now.
    pub fn allowing(sockets: &[CanonicalPath]) -> Result<Self, Fault> {
        let mut files = Self::new().step("share memory")?;
        for place in sockets {
            let step = || format!("allow the unix socket `{}`", place.path.as_path().display());
            let file = mount::open_path(place.path.as_path())?;
            mount::same(&file, place)?;
            files
                .add(Owner::default(), SocketFile::of(&file).step_with(step)?)
                .step_with(step)?;
            files.allowed.push(file);
        }
        Ok(files)
    }

    /// Adds a file of a supervisor. Its inode number must stay taken (by a descriptor) until it is
    /// removed. `ENOBUFS` if the table is full.
    pub fn add(&self, owner: Owner, file: SocketFile) -> Result<Slot, Errno> {
        for (index, slot) in self.slots().enumerate() {
            let [state, words @ ..] = slot;
            if state
                .compare_exchange(FREE, IN_CHANGE, Ordering::Acquire, Ordering::Relaxed)
                .is_err()
            {
                continue;
            }
            for (word, value) in words
                .iter()
                .zip([owner.0, file.dev, file.ino, file.born_ns])
            {
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

    /// Removes all files of a supervisor that has ended.
    pub fn release(&self, owner: Owner) {
        for [state, of, ..] in self.slots() {
            if state.load(Ordering::Acquire) != FREE && of.load(Ordering::Acquire) == owner.0 {
                state.store(FREE, Ordering::Release);
            }
        }
    }

    /// Returns true if commands may connect to this file.
    pub fn holds(&self, file: SocketFile) -> bool {
        self.slots().any(|[state, _, dev, ino, born_ns]| {
            let is_taken = || state.load(Ordering::Acquire) == TAKEN;
            let read = |word: &AtomicU64| word.load(Ordering::Acquire);
            is_taken()
                && SocketFile {
                    dev: read(dev),
                    ino: read(ino),
                    born_ns: read(born_ns),
                } == file
                && is_taken()
        })
    }

    fn slots(&self) -> impl Iterator<Item = &[AtomicU64; WORDS]> {
        self.slots.words().as_chunks().0.iter()
    }
}

/// Supervisor, by a number that no other one gets. The default is the launcher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owner(u64);

impl Owner {
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// Place in the table.
#[derive(Debug)]
pub struct Slot(usize);

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Owner = Owner(7);

    fn file(ino: u64) -> SocketFile {
        SocketFile {
            dev: 7,
            ino,
            born_ns: 11,
        }
    }

    #[test]
    fn table_holds_added_file_until_removed() {
        let table = SocketFiles::new().unwrap();
        let first = table.add(OWN, file(1)).unwrap();
        table.add(OWN, file(2)).unwrap();
        assert!(table.holds(file(1)) && table.holds(file(2)) && !table.holds(file(3)));
        assert!(!table.holds(SocketFile {
            born_ns: 12,
            ..file(1)
        }));
        table.remove(first);
        assert!(!table.holds(file(1)) && table.holds(file(2)));
    }

    #[test]
    fn full_table_refuses_another_file() {
        let table = SocketFiles::new().unwrap();
        let slots: Vec<Slot> = (0..MAX_SOCKETS as u64)
            .map(|ino| table.add(OWN, file(ino)).unwrap())
            .collect();
        assert_eq!(table.add(OWN, file(0)).unwrap_err(), Errno::NOBUFS);
        for slot in slots {
            table.remove(slot);
        }
        table.add(OWN, file(0)).unwrap();
    }

    #[test]
    fn files_of_ended_supervisor_are_released() {
        let table = SocketFiles::new().unwrap();
        table.add(OWN, file(1)).unwrap();
        table.add(OWN.next(), file(2)).unwrap();
        table.release(OWN);
        assert!(!table.holds(file(1)) && table.holds(file(2)));
    }
}
