//! What the protocol of a database declares of itself.

use crate::record::call::Protocol;
use crate::record::protocol::dialogue::Dialogue;
use crate::record::protocol::parts::PartList;
use crate::record::protocol::responder::Responder;

pub struct Database {
    pub protocol: Protocol,
    /// `kind` of its calls in a recording.
    pub kind: &'static str,
    /// The port that is registered for it (IANA service names; 27017 by `MongoDB`).
    pub port: u16,
    /// Takes a message of a client apart; `None` if it cannot be read.
    pub(in crate::record) parts: fn(&[u8], &mut PartList) -> Option<()>,
    /// How many bytes at the beginning of a message of a client are no words.
    pub(in crate::record) head: fn(&[u8]) -> usize,
    pub(in crate::record) recorder: fn(bool) -> Box<dyn Dialogue>,
    pub(in crate::record) player: fn() -> Box<dyn Responder>,
}
