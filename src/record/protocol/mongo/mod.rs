//! The wire protocol of `MongoDB` (`mongodb.com/docs/manual/reference/mongodb-wire-protocol`).
//!
//! A call is one message and its replies. Values that a driver generates for each run are left out:
//! message numbers, sessions, cluster times, transaction numbers, and identifiers of inserted
//! documents.
//!
//! While recording, some offers are removed from the server's handshake: compression, and
//! monitoring by an endless reply. So a program behaves alike in recording and replay.
//!
//! SCRAM also proves to the client that the server knows the password (RFC 5802, 3). A recording
//! cannot replay that, so authentication fails with an error that says so.

pub(crate) mod bson;
mod message;
mod parts;
mod player;
mod recorder;
#[cfg(test)]
mod tests;

use crate::call::Protocol;
use crate::protocol::database::{Conversation, Database};
pub(crate) use message::{Section, renumbered, sections};

pub(super) static DATABASE: Database = Database {
    protocol: Protocol::Mongo,
    kind: "Mongo",
    port: 27017,
    parts: parts::parts,
    head: |_| 0,
    conversation: Conversation::Own {
        recorder: || Box::new(recorder::MongoDialogue::default()),
        player: || Box::new(player::MongoResponder::default()),
    },
};
