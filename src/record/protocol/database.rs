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
    /// `None` if it is recorded in turns, which are divided into frames later.
    pub(crate) recorder: Option<fn(bool) -> Box<dyn Dialogue>>,
    pub(crate) player: fn() -> Box<dyn Responder>,
    pub(crate) frames: Option<&'static FrameFormat>,
}
