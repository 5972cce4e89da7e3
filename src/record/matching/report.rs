//! How a replay went, for those who read it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::Book;
use crate::limits::MAX_MISSES_TOLD;
use crate::record::call::{Exchange, Protocol};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Miss {
    /// The call in a line, without secrets.
    pub asked: String,
    pub why: Why,
    /// What is most like it, if there is anything of its protocol.
    pub closest: Option<Closest>,
    /// Whether it would have gone to the real server, were its connection not answered from
    /// recordings since its login.
    pub bound: bool,
    /// How often it was asked, at least 1.
    pub times: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Nothing of its protocol was recorded.
    NothingRecorded,
    /// Nothing was recorded of where it goes, and it went to the real server.
    Forwarded,
    /// What is said of the call says it.
    Said,
    Differs,
    /// All of so many recordings of this call were used.
    Used(usize),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closest {
    pub name: String,
    /// A line each: `body.items.qty: recorded 2, asked 3`.
    pub differences: Vec<String>,
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.asked)?;
        match self.why {
            Why::NothingRecorded => {
                f.write_str(
                    ": nothing of this kind was recorded; record again what makes this call",
                )?;
            }
            Why::Forwarded => {
                f.write_str(": nothing was recorded of this target; it went to the real server")?
            }
            Why::Said => {}
            Why::Differs => f.write_str(": no recording of this call")?,
            Why::Used(1) => {
                f.write_str(
                    ": the one recording of this call was used; record again what makes it twice",
                )?;
            }
            Why::Used(count) => {
                write!(
                    f,
                    ": all {count} recordings of this call were used; record again what makes it more often"
                )?;
            }
        }
        if self.times > 1 {
            write!(f, " ({} times)", self.times)?;
        }
        if self.bound {
            f.write_str("; its connection is answered from the recording, so it did not go to the real server")?;
        }
        if let (Why::Differs, Some(closest)) = (self.why, &self.closest) {
            write!(f, "; the closest is `{}`", closest.name)?;
            for difference in &closest.differences {
                write!(f, "\n  {difference}")?;
            }
        }
        Ok(())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unused {
    pub name: String,
    /// The call in a line, without secrets.
    pub call: String,
}

/// How a replay has gone so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Calls that were answered, logins and refused connections among them.
    pub replayed: u64,
    /// Reads among them that were asked more often than they were recorded, and got their last
    /// answer again.
    pub again: u64,
    /// Connections that were refused as they were in their recording.
    pub refused: u64,
    /// Connections that nothing answered, as in their recording.
    pub unanswered: u64,
    /// Fields with a credential that is another one than the only recorded one, in lower case, and
    /// in how many of the calls that were answered.
    pub others: BTreeMap<String, u64>,
    /// Names of recordings that answered calls with other values of those that each run makes anew,
    /// each with the first.
    pub anew: BTreeMap<String, String>,
    /// Calls that were not, in the order of the first of each, up to [`MAX_MISSES_TOLD`] different
    /// ones.
    pub missed: Vec<Miss>,
    /// How many there were in all.
    pub missed_count: u64,
    /// Recordings of no use, without those that belong to connections, and without names that were
    /// looked up.
    pub unused: Vec<Unused>,
}

impl Book {
    /// The recordings of a protocol that belong to connections, wherever they went. They are not
    /// used by that.
    pub fn logins(&self, protocol: Protocol) -> Vec<Arc<Exchange>> {
        let of_protocol = self.sessions.iter().filter(|((_, of), _)| *of == protocol);
        let entries = of_protocol
            .flat_map(|(_, found)| found)
            .map(|index| &self.entries[*index]);
        entries.map(|entry| Arc::clone(&entry.exchange)).collect()
    }
}

impl Report {
    /// Whether every call was answered, and at least one was made.
    pub fn is_isolated(&self) -> bool {
        self.replayed > 0 && self.missed_count == 0
    }

    /// Whether no call was answered, and none that was missed went where a recording did.
    pub fn went_elsewhere(&self) -> bool {
        let is_elsewhere = |miss: &Miss| match (miss.why, &miss.closest) {
            (Why::NothingRecorded | Why::Forwarded, _) => true,
            (Why::Differs, Some(closest)) => closest
                .differences
                .iter()
                .any(|line| line.starts_with("target: ")),
            _ => false,
        };
        self.replayed == 0 && self.missed_count > 0 && self.missed.iter().all(is_elsewhere)
    }
}

#[derive(Default)]
pub(super) struct Missed {
    pub(super) told: Vec<Miss>,
    pub(super) count: u64,
}

impl Missed {
    pub(super) fn add(&mut self, miss: Miss) {
        self.count += 1;
        // Who asks for the same again most often does so at once.
        let alike = |told: &&mut Miss| {
            (told.why, told.bound, &told.asked, &told.closest)
                == (miss.why, miss.bound, &miss.asked, &miss.closest)
        };
        if let Some(told) = self.told.iter_mut().rev().find(alike) {
            told.times += 1;
            return;
        }
        if self.told.len() < MAX_MISSES_TOLD {
            self.told.push(miss);
        }
    }
}
