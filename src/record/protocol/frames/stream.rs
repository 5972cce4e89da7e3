//! Bytes of one side of a connection, divided into frames.

use std::time::SystemTime;

use super::FrameFormat;
use crate::call::{Content, Exchange, Message, Side};
use crate::protocol::dialogue::Fault;

/// A message of a turn.
pub(super) struct Piece<'a> {
    pub(super) message: &'a Message,
    pub(super) came: SystemTime,
    /// `true` if the server sent it unasked or late.
    pub(super) is_pushed: bool,
}

pub(super) fn pieces(turn: &Exchange) -> Vec<Piece<'_>> {
    let Content::Wire(_, wire) = &turn.content else {
        return Vec::new();
    };
    let answer = wire.messages.len() - wire.pushed.len();
    let mut pieces: Vec<_> = wire.messages[..answer]
        .iter()
        .map(|message| Piece {
            message,
            came: turn.answered_at,
            is_pushed: false,
        })
        .collect();
    pieces.extend(wire.pushes().map(|(message, waited)| Piece {
        message,
        came: turn.sent_at + waited,
        is_pushed: true,
    }));
    pieces
}

/// One side of a connection.
#[derive(Default)]
pub(super) struct Stream {
    /// The incomplete frame.
    pub(super) bytes: Vec<u8>,
    /// The last complete frame.
    last: Vec<u8>,
}

impl Stream {
    /// Adds bytes and returns the complete frames.
    pub(super) fn take(
        &mut self,
        format: &FrameFormat,
        side: Side,
        bytes: &[u8],
    ) -> Result<Vec<Vec<u8>>, Fault> {
        self.bytes.extend_from_slice(bytes);
        let (mut frames, mut from) = (Vec::new(), 0);
        while from < self.bytes.len() {
            let rest = &self.bytes[from..];
            match format.length(side, rest, &self.last)? {
                Some(0) => return Err("an empty frame"),
                Some(length) if length <= rest.len() => {
                    self.last = rest[..length].to_vec();
                    frames.push(self.last.clone());
                    from += length;
                }
                _ => break,
            }
        }
        self.bytes.drain(..from);
        Ok(frames)
    }
}
