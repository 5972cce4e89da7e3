//! A message in memory, on its way in or out, and the account of what it takes.

use std::sync::Arc;

use crate::budget::{Account, Exhausted, Purpose, Share};
use crate::protocol::Code;

/// What a client sends.
#[derive(Debug, Default)]
pub struct Message {
    pub bytes: Vec<u8>,
    /// Whether a part of it has come, be it an empty one.
    pub is_within: bool,
    room: Option<Share>,
}

impl Message {
    /// Adds bytes, if there is memory for them.
    pub fn add(&mut self, account: &Account, bytes: &[u8]) -> Result<(), Exhausted> {
        match &mut self.room {
            Some(room) => room.try_grow(bytes.len())?,
            None => self.room = Some(account.try_take(bytes.len(), Purpose::request(bytes.len()))?),
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }
}

/// A reply.
#[derive(Debug, Default)]
pub struct Answer {
    /// The message; empty for silence.
    pub bytes: Vec<u8>,
    pub code: Option<Code>,
    /// Given back once the client has taken all of it.
    pub room: Option<Arc<Share>>,
}
