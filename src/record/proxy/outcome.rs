//! Result of a recording or a replay: calls, notes and counts.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use replay_base::budget::Share;
use replay_base::limits::MAX_RECORDING_BYTES;

use crate::call::{Exchange, Target};
use crate::matching::Workers;
use replay_network::upstream_proxy::ProxyError;

#[derive(Debug, Default)]
pub struct Recorded {
    /// Calls in the order of sending.
    pub exchanges: Vec<Exchange>,
    /// Workers that made the calls.
    pub workers: Arc<Workers>,
    /// Targets that refused connections; incomplete if there are very many.
    pub refused: Vec<Target>,
    /// Targets whose connections timed out; incomplete likewise.
    pub unanswered: Vec<Target>,
    pub notes: Vec<Note>,
    pub counts: Counts,
    /// Budget share of the calls, given back by its drop.
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
    /// The operator's proxy did not lead to a target.
    Proxy(ProxyError),
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
                    "{target}: encrypted connections reached the server, but were not recorded: \
                     {reason}"
                )
            }
            Self::Certificate { target, reason } => {
                write!(
                    formatter,
                    "{target}: refused, since the certificate of the server is invalid: {reason}"
                )
            }
            Self::Lost { what } => write!(
                formatter,
                "reached the server, but was not recorded: \
                {what}"
            ),
            Self::Proxy(error) => write!(formatter, "{error}"),
            Self::Full => write!(
                formatter,
                "the recording is full: further calls are not recorded (at most {} MiB together, \
                 less if --memory-mib is small)",
                MAX_RECORDING_BYTES >> 20
            ),
            Self::Crowded => {
                write!(
                    formatter,
                    "connections waited for memory or were refused: the program opens too many at \
                     once; raise --memory-mib"
                )
            }
            Self::Many(most) => write!(
                formatter,
                "connections were refused: more than {most} at once need more open files; raise \
                 the limit (ulimit -n)"
            ),
            Self::CutOff { call, bytes } => write!(
                formatter,
                "{call}: the recorded answer ends after {bytes} bytes, where the program stopped \
                 reading; now it reads further, so record again"
            ),
            Self::Unanswered { call, stayed } => write!(
                formatter,
                "{call}: no answer was recorded, since the program hung up after {} ms; now it \
                 waits longer, so record again",
                stayed.as_millis()
            ),
            Self::NotUnderstood { target } => {
                write!(
                    formatter,
                    "{target}: a connection began like HTTP, but is not valid HTTP; it reached \
                     the server and was not recorded"
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
