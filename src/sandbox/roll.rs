//! Which commands run at the same time. What the kernel counts for all of them together says something about one of them
//! only if it was alone.
//!
//! Kept in a nameless file that the launcher shares with all supervisors: first how many commands have begun, then a byte
//! for each by its number, which its supervisor sets when nothing of the command is left.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::{MemfdFlags, memfd_create};

const BEGUN_BYTES: u64 = 8;

/// The commands of one launcher.
#[derive(Debug)]
pub struct Roll {
    file: File,
    begun: u64,
    numbers: HashMap<i32, u64>,
}

/// One command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    number: u64,
    /// Whether no other ran when it began.
    began_alone: bool,
}

impl Roll {
    /// With no command on it.
    pub fn new() -> io::Result<Self> {
        let file = memfd_create("commands", MemfdFlags::CLOEXEC)?.into();
        Ok(Self { file, begun: 0, numbers: HashMap::new() })
    }

    /// A command is about to begin; these supervisors have not been reaped yet.
    pub fn begin(&mut self, supervisors: &HashSet<i32>) -> io::Result<Entry> {
        self.numbers.retain(|supervisor, number| supervisors.contains(supervisor) && !has_ended(&self.file, *number));
        let began_alone = supervisors.iter().all(|supervisor| !self.numbers.contains_key(supervisor));
        self.begun += 1;
        self.file.write_all_at(&self.begun.to_ne_bytes(), 0)?;
        Ok(Entry { number: self.begun, began_alone })
    }

    /// This supervisor has the command.
    pub fn enter(&mut self, supervisor: i32, entry: Entry) {
        self.numbers.insert(supervisor, entry.number);
    }

    /// Said by the supervisor: nothing of the command is left. Whether it was alone all the time.
    pub fn end(&self, entry: Entry) -> bool {
        let mut begun = [0; 8];
        let read = self.file.read_exact_at(&mut begun, 0);
        // If it cannot be said, the next one does not count as alone.
        let _ = self.file.write_all_at(&[1], BEGUN_BYTES + entry.number);
        entry.began_alone && read.is_ok() && u64::from_ne_bytes(begun) == entry.number
    }
}

fn has_ended(file: &File, number: u64) -> bool {
    let mut byte = [0];
    matches!(file.read_at(&mut byte, BEGUN_BYTES + number), Ok(1)) && byte == [1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn only_who_was_alone_from_its_beginning_to_its_end_was_alone() {
        let mut roll = Roll::new().unwrap();
        let begin = |roll: &mut Roll, supervisor, others: &[i32]| {
            let entry = roll.begin(&others.iter().copied().collect()).unwrap();
            roll.enter(supervisor, entry);
            entry
        };
        let first = begin(&mut roll, 10, &[]);
        assert!(roll.end(first));
        // The first has ended, though nobody has reaped its supervisor.
        let second = begin(&mut roll, 11, &[10]);
        let third = begin(&mut roll, 12, &[10, 11]);
        assert_eq!([second, third].map(|entry| roll.end(entry)), [false, false]);
        // Its number was given away again.
        let fourth = begin(&mut roll, 10, &[]);
        let fifth = begin(&mut roll, 11, &[10]);
        assert_eq!((roll.end(fifth), roll.end(fourth)), (false, false));
        let sixth = begin(&mut roll, 13, &[11]);
        assert!(roll.end(sixth));
    }
}
