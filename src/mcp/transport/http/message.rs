//! A message in memory, incoming or outgoing, with its share of the memory budget.

use std::sync::Arc;

use replay_base::budget::{Account, Exhausted, Purpose, Share};

use crate::protocol::Code;

/// A message of a client.
#[derive(Debug, Default)]
pub(super) struct Message {
    pub bytes: Vec<u8>,
    /// `true` once a fragment was received, even an empty one.
    pub is_within: bool,
    room: Option<Share>,
}

impl Message {
    /// Appends bytes if the account has memory for them.
    pub(super) fn add(&mut self, account: &Account, bytes: &[u8]) -> Result<(), Exhausted> {
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
pub struct EncodedReply {
    /// The message; empty if there is no reply.
    pub bytes: Vec<u8>,
    pub code: Option<Code>,
    /// Released when the client has read all of it.
    pub room: Option<Arc<Share>>,
}
