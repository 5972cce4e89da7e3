//! Declaration of a database protocol: name, port, message parser, recorder and player.

use crate::record::call::Protocol;
use crate::record::protocol::dialogue::Dialogue;
use crate::record::protocol::part_list::PartList;
use crate::record::protocol::responder::Responder;

pub struct Database {
    pub protocol: Protocol,
    /// `kind` of its calls in a recording.
    pub kind: &'static str,
    /// Registered port (IANA service names; 27017 by `MongoDB`).
    pub port: u16,
    /// Parses a message of a client into parts; `None` if it is malformed.
    pub(in crate::record) parts: fn(&[u8], &mut PartList) -> Option<()>,
    /// Returns the number of bytes at the start of a client's message that are not text.
    pub(in crate::record) head: fn(&[u8]) -> usize,
    pub(in crate::record) recorder: fn(bool) -> Box<dyn Dialogue>,
    pub(in crate::record) player: fn() -> Box<dyn Responder>,
}
