//! Report of a replay.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use replay_base::limits::MAX_MISSES_TOLD;

use super::Recordings;
use crate::call::{Exchange, Protocol};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Miss {
    /// The call in one line, without secrets.
    pub asked: String,
    pub why: Why,
    /// The closest recording of the protocol, if any.
    pub closest: Option<ClosestRecording>,
    /// `true` if it could not go to the real server, since recordings have answered its connection
    /// since the login.
    pub bound: bool,
    /// Number of requests, at least 1.
    pub times: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// No call of this protocol was recorded.
    NothingRecorded,
    /// The target was not recorded; the call went to the real server.
    Forwarded,
    /// The description of the call gives the reason.
    Said,
    Differs,
    /// All recordings of this call were used; their number.
    Used(usize),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosestRecording {
    pub name: String,
    /// Differences, one per line: `body.items.qty: recorded 2, asked 3`.
    pub differences: Vec<String>,
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.asked)?;
        match self.why {
            Why::NothingRecorded => {
                f.write_str(": no call of this protocol was recorded; record the program again")?;
            }
            Why::Forwarded => {
                f.write_str(": this target was not recorded, so the call went to the real server")?;
            }
            Why::Said => {}
            Why::Differs => f.write_str(": no recording of this call")?,
            Why::Used(1) => {
                f.write_str(
                    ": the only recording of this call was used already; record a run that makes \
                     the call twice",
                )?;
            }
            Why::Used(count) => {
                write!(
                    f,
                    ": all {count} recordings of this call were used already; record a run that \
                     makes the call more often"
                )?;
            }
        }
        if self.times > 1 {
            write!(f, " ({} times)", self.times)?;
        }
        if self.bound {
            f.write_str(
                "; the connection is answered from the recording, so the call did not go \
                to the real server",
            )?;
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
pub struct UnusedRecording {
    pub name: String,
    /// The call in one line, without secrets.
    pub call: String,
}

/// Report of a replay so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Answered calls, including logins and refused connections.
    pub replayed: u64,
    /// Reads among them that were requested more often than recorded, and got their last answer
    /// again.
    pub again: u64,
    /// Calls of one worker or test that got what another one got in the recording, where the
    /// answers differ.
    pub of_other_workers: u64,
    /// Connections that were refused as in their recording.
    pub refused: u64,
    /// Connections that were not answered, as in their recording.
    pub unanswered: u64,
    /// Lower-case fields with a credential other than the only recorded one, and the number of
    /// answered calls with it.
    pub others: BTreeMap<String, u64>,
    /// Names of recordings that answered calls with other generated values, each with the first
    /// values.
    pub volatile: BTreeMap<String, String>,
    /// Names of recordings whose answers kept a recorded value although the program made another,
    /// each with that value.
    pub kept: BTreeMap<String, String>,
    /// Missed calls in the order of their first request, up to [`MAX_MISSES_TOLD`] different ones.
    pub missed: Vec<Miss>,
    /// Number of missed calls.
    pub missed_count: u64,
    /// Unused recordings, except those of connections and name lookups.
    pub unused: Vec<UnusedRecording>,
}

impl Recordings {
    /// Returns the recordings of a protocol that belong to connections to any target, without using
    /// them up.
    pub fn logins(&self, protocol: Protocol) -> Vec<Arc<Exchange>> {
        let of_protocol = self.sessions.iter().filter(|((_, of), _)| *of == protocol);
        let entries = of_protocol
            .flat_map(|(_, found)| found)
            .map(|index| &self.entries[*index]);
        entries.map(|entry| Arc::clone(&entry.exchange)).collect()
    }
}

impl Report {
    /// Returns true if every call was answered, and at least one was made.
    pub fn is_isolated(&self) -> bool {
        self.replayed > 0 && self.missed_count == 0
    }

    /// Returns true if no call was answered, and all missed calls went to unrecorded targets.
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
pub(super) struct MissList {
    pub(super) told: Vec<Miss>,
    pub(super) count: u64,
}

impl MissList {
    pub(super) fn add(&mut self, miss: Miss) {
        self.count += 1;
        // Repetitions usually follow each other.
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
