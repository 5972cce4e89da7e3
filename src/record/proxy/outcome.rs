//! What a recording or a replay comes to: its calls, what there is to tell beside them, and counts.

use std::fmt;
use std::time::Duration;

use crate::budget::Share;
use crate::limits::MAX_RECORDING_BYTES;
use crate::record::call::{Exchange, Target};

#[derive(Debug, Default)]
pub struct Recorded {
    /// Calls in the order in which they were sent.
    pub exchanges: Vec<Exchange>,
    /// Targets whose connections were refused, or some of them if there are very many.
    pub refused: Vec<Target>,
    /// The same of those that nothing answered.
    pub unanswered: Vec<Target>,
    pub notes: Vec<Note>,
    pub counts: Counts,
    /// What the calls take of the budget.
    #[expect(dead_code, reason = "given back by its drop")]
    pub held: Option<Share>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Encrypted connections there pass, but nothing can be seen of them.
    Opaque { target: Target, reason: String },
    /// The certificate of the server is not good, so the program was refused.
    Certificate { target: Target, reason: String },
    /// Something passed and was not kept.
    Lost { what: String },
    /// The recording is full: what came then passed and was not kept.
    Full,
    /// Connections waited for memory, or requests of HTTP/2 were refused for want of it.
    Crowded,
    /// Connections were refused: there were as many at once as this process has descriptors for,
    /// about so many.
    Many(usize),
    /// The program read further than when it was recorded: then it left in the middle of the
    /// answer.
    CutOff {
        call: String,
        /// How much of the answer's body was recorded, in bytes.
        bytes: usize,
    },
    /// The program waits longer than when it was recorded: then it left before the answer began.
    Unanswered {
        call: String,
        /// How long it stayed then.
        stayed: Duration,
    },
    /// What was said there began like HTTP and is none; it passed and was not kept.
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
    /// Connections whose destination nobody knew.
    pub strays: u64,
    /// Connections that the real server, or its certificate, refused.
    pub refused: u64,
    /// Connections that nothing answered.
    pub unanswered: u64,
    /// Connections that could not be looked into.
    pub opaque: u64,
    /// Calls that passed to the real server and were not kept because nobody wanted them.
    pub passed: u64,
    /// Calls that were not kept: they were too long, or all together, or had no end.
    pub dropped: u64,
    /// Connections that ended by a fault of this program.
    pub panics: u64,
}
