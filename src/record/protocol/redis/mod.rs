//! RESP, the protocol of Redis in versions 2 and 3
//! (`redis.io/docs/latest/develop/reference/protocol-spec`).
//!
//! A call is one command and its reply. `MULTI` to `EXEC` is one call, since commands inside have
//! other replies. A subscription is a call; its answer is everything published until the next
//! subscription. A call to a database other than 0 begins with its `SELECT`, which also names the
//! user if it is not the default. Passwords are never recorded.

mod command;
mod player;
mod recorder;
mod resp;
#[cfg(test)]
mod tests;

use crate::call::Protocol;
use crate::protocol::database::{Conversation, Database};
pub(crate) use command::{is_of_context, reads, selected_state, sets};
pub(crate) use resp::command;

pub(super) static DATABASE: Database = Database {
    protocol: Protocol::Redis,
    kind: "Redis",
    port: 6379,
    parts: command::parts,
    head: |_| 0,
    conversation: Conversation::Own {
        recorder: || Box::new(recorder::RedisDialogue::default()),
        player: || Box::new(player::RedisResponder::default()),
    },
};
