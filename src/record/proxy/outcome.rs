//! Result of a recording or a replay: calls, notes and counts.

use std::fmt;
use std::time::Duration;

use crate::budget::Share;
use crate::limits::MAX_RECORDING_BYTES;
use crate::record::call::{Exchange, Target};

#[derive(Debug, Default)]
pub struct Recorded {
    /// Calls in the order of sending.
    pub exchanges: Vec<Exchange>,
    /// Targets that refused connections; incomplete if there are very many.
    pub refused: Vec<Target>,
    /// Targets whose connections timed out; incomplete likewise.
    pub unanswered: Vec<Target>,
    pub notes: Vec<Note>,
    pub counts: Counts,
    /// Budget share of the calls.
    #[expect(dead_code, reason = "given back by its drop")]
    pub held: Option<Share>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Encrypted connections to the target passed unseen.
    Opaque { target: Target, reason: String },
    /// The server's certificate is invalid, so the program's connection was refused.
    Certificate { target: Target, reason: String },
    /// Data passed without being recorded.
    Lost { what: String },
    /// The recording is full: later calls passed without being recorded.
    Full,
    /// Connections waited for memory, or HTTP/2 requests were refused for lack of it.
    Crowded,
    /// Connections were refused: too many at once for the descriptors of this process, with the
    /// approximate limit.
    Many(usize),
    /// The program read further than in the recording, where it left in the middle of the answer.
    CutOff {
        call: String,
        /// Recorded length of the answer's body, in bytes.
        bytes: usize,
    },
    /// The program waits longer than in the recording, where it left before the answer.
    Unanswered {
        call: String,
        /// Time that the program waited in the recording.
        stayed: Duration,
    },
    /// Traffic that began like HTTP is invalid; it passed without being recorded.
    NotUnderstood { target: Target },
}

impl fmt::Display for Note {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opaque { target, reason } => {
                write!(
                    formatter,
                    "{target}: encrypted connections passed and could not be looked into: {reason}"
                )
            }
            Self::Certificate { target, reason } => {
                write!(
                    formatter,
                    "{target}: refused, since the certificate of the server is not good: {reason}"
                )
            }
            Self::Lost { what } => write!(formatter, "passed and was not kept: {what}"),
            Self::Full => write!(
                formatter,
                "the recording is full: calls of more than {} MiB together, or more than --memory-mib leaves, are not kept",
                MAX_RECORDING_BYTES >> 20
            ),
            Self::Crowded => {
                write!(
                    formatter,
                    "connections waited for memory, or requests were refused: more at once than --memory-mib leaves room for"
                )
            }
            Self::Many(most) => write!(
                formatter,
                "connections were refused: more than {most} at once, for which there are no open files (RLIMIT_NOFILE)"
            ),
            Self::CutOff { call, bytes } => write!(
                formatter,
                "{call}: the recording of this answer was cut off by the client after {bytes} bytes, and was read further"
            ),
            Self::Unanswered { call, stayed } => write!(
                formatter,
                "{call}: there was no answer when it was recorded and the client left after {} ms; now it waits longer",
                stayed.as_millis()
            ),
            Self::NotUnderstood { target } => {
                write!(
                    formatter,
                    "{target}: what began like HTTP is none; it passed and was not kept"
                )
            }
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub connections: u64,
    /// Connections without a known destination.
    pub strays: u64,
    /// Connections refused by the real server or because of its certificate.
    pub refused: u64,
    /// Connections without an answer.
    pub unanswered: u64,
    /// Connections that could not be decrypted.
    pub opaque: u64,
    /// Forwarded calls that were deliberately not recorded.
    pub passed: u64,
    /// Calls that were not recorded: too long, over the total limit, or without an end.
    pub dropped: u64,
    /// Connections that ended by a panic.
    pub panics: u64,
}
