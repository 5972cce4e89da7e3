//! Declaration of a protocol other than HTTP: name, port, message parser, recorder and player.

use crate::call::Protocol;
use crate::protocol::dialogue::Dialogue;
use crate::protocol::frame_format::FrameFormat;
use crate::protocol::part_list::PartList;
use crate::protocol::responder::Responder;

pub(crate) struct Database {
    pub protocol: Protocol,
    /// `kind` of its calls in a recording.
    pub kind: &'static str,
    /// Registered port (IANA service names; 27017 by `MongoDB`).
    pub port: u16,
    /// Parses a message of a client into parts; `None` if it is malformed.
    pub(crate) parts: fn(&[u8], &mut PartList) -> Option<()>,
    /// Returns the number of bytes at the start of a client's message that are not text.
    pub(crate) head: fn(&[u8]) -> usize,
    pub(crate) conversation: Conversation,
}

/// Recording and replay of a protocol.
pub(crate) enum Conversation {
    /// With a recorder and a player of its own.
    Own {
        recorder: fn() -> Box<dyn Dialogue>,
        player: fn() -> Box<dyn Responder>,
    },
    /// Recorded in turns, which are divided into frames later.
    InFrames(&'static FrameFormat),
}

impl Database {
    /// Declares a protocol with frames, whose messages have no bytes in front of their text.
    pub(crate) const fn in_frames(
        protocol: Protocol,
        kind: &'static str,
        port: u16,
        parts: fn(&[u8], &mut PartList) -> Option<()>,
        format: &'static FrameFormat,
    ) -> Self {
        Self {
            protocol,
            kind,
            port,
            parts,
            head: |_| 0,
            conversation: Conversation::InFrames(format),
        }
    }

    pub(crate) fn frames(&self) -> Option<&'static FrameFormat> {
        match self.conversation {
            Conversation::Own { .. } => None,
            Conversation::InFrames(format) => Some(format),
        }
    }
}
