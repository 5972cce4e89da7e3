//! Boundaries and answers of a protocol whose messages have boundaries in their bytes.

use std::ops::Range;
use std::time::Duration;

use super::framing;
use super::heartbeat::Heartbeats;
use crate::call::{Exchange, Framing, Side};
use crate::protocol::dialogue::Fault;

/// Length of the first frame of some bytes; `None` while it is unknown.
pub(crate) type FrameLength = Result<Option<usize>, Fault>;

/// Boundaries and answers of a protocol.
#[derive(Clone, Copy)]
pub(crate) struct FrameFormat {
    /// Returns true if the first bytes of the client and of the server are of this protocol.
    pub(crate) is_opening: fn(&[u8], &[u8]) -> bool,
    /// Returns the length of the first frame of this side. The last argument is the frame before it
    /// of the same side.
    pub(crate) length: fn(Side, &[u8], &[u8]) -> FrameLength,
    /// Returns the index of the call that a frame of the server answers; `None` if the server sent
    /// it unasked.
    pub(crate) answered: fn(&[OpenCall], &[u8]) -> Option<usize>,
    /// Frames of the client that are answered without a recording.
    pub(crate) heartbeats: Heartbeats,
    /// Copies the number of a call into its answer: the recorded call, the call, the answer.
    pub(crate) renumber: fn(&[u8], &[u8], &mut Vec<u8>),
    /// Returns true if a call may repeat its last answer.
    pub(crate) repeats: fn(&[u8]) -> bool,
    /// Returns the place of credentials in a frame of the client.
    pub(crate) secret: fn(&[u8]) -> Option<Range<usize>>,
    /// Returns true if a call may change the answers to calls that repeat.
    pub(crate) writes: fn(&[u8]) -> bool,
    /// `true` if the server answers the calls of a connection in order. Then a call that repeats may
    /// wait for news, and is asked again and again.
    pub(crate) is_in_order: bool,
    /// Returns an answer without news, and the time that it waits, to a call without a recording.
    /// The arguments are the call, the call with recorded values, and the recorded calls.
    pub(crate) without_news: WithoutNews,
    /// Frames of an unknown protocol, in place of `length`, `answered` and `renumber`.
    pub(crate) framing: Option<Framing>,
}

impl FrameFormat {
    /// Format without numbers, heartbeats, repetitions and logins; a format that has them sets them.
    pub(crate) const PLAIN: Self = Self {
        is_opening: |_, _| false,
        length: |_, _, _| Ok(None),
        answered: |_, _| None,
        heartbeats: Heartbeats::Known(&[]),
        renumber: |_, _, _| {},
        repeats: |_| false,
        secret: |_| None,
        writes: |_| false,
        is_in_order: false,
        without_news: |_, _, _| None,
        framing: None,
    };

    /// Creates the format of an unknown protocol.
    pub(crate) const fn learned(framing: Framing) -> Self {
        Self {
            framing: Some(framing),
            ..Self::PLAIN
        }
    }

    pub(crate) fn length(&self, side: Side, bytes: &[u8], before: &[u8]) -> FrameLength {
        match self.framing {
            Some(framing) => framing::length(framing, bytes),
            None => (self.length)(side, bytes, before),
        }
    }

    pub(crate) fn answered(&self, calls: &[OpenCall], said: &[u8]) -> Option<usize> {
        match self.framing {
            None => (self.answered)(calls, said),
            Some(Framing([.., 0, _, _])) => {
                Some(next_open(calls)).filter(|next| *next < calls.len())
            }
            Some(framing) => {
                let number = framing.number_in(said, true)?;
                let is_asked = |call: &OpenCall| {
                    !call.is_answered && framing.number_in(&call.bytes, false) == Some(number)
                };
                calls.iter().rposition(is_asked)
            }
        }
    }

    pub(crate) fn renumber(&self, recorded: &[u8], asked: &[u8], answer: &mut Vec<u8>) {
        match self.framing {
            Some(framing) => framing::renumber(framing, recorded, asked, answer),
            None => (self.renumber)(recorded, asked, answer),
        }
    }
}

type WithoutNews =
    fn(&[u8], &[u8], &mut dyn Iterator<Item = &Exchange>) -> Option<(Vec<u8>, Duration)>;

/// A call in a list of all recent ones on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpenCall {
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_answered: bool,
}

/// Returns the index of the first call after all answered ones.
pub(crate) fn next_open(calls: &[OpenCall]) -> usize {
    let last = calls.iter().rposition(|call| call.is_answered);
    last.map_or(0, |last| last + 1)
}
