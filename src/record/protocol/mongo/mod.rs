//! The wire protocol of `MongoDB` (`mongodb.com/docs/manual/reference/mongodb-wire-protocol`).
//!
//! A call is one message and its replies. What a driver makes up for each run is left out of it:
//! numbers of messages, sessions, cluster times, numbers of transactions, and the identifiers that
//! it gives to documents it inserts. What a server offers in its hello and cannot be followed or
//! played is taken out of it while recording, so that a program does the same in both: compression,
//! and the watching of a server by a reply without end. SCRAM proves to the client, too, that the
//! server knows the password (RFC 5802, 3), so a recording cannot play it: that is an error which
//! says so.

pub(in crate::record) mod bson;
mod message;
mod parts;
mod player;
mod recorder;
#[cfg(test)]
mod tests;

use crate::record::call::Protocol;
use crate::record::protocol::database::Database;
pub(in crate::record) use message::{Section, renumbered, sections};

pub(super) static DATABASE: Database = Database {
    protocol: Protocol::Mongo,
    kind: "Mongo",
    port: 27017,
    parts: parts::parts,
    head: |_| 0,
    recorder: |_| Box::new(recorder::MongoDialogue::default()),
    player: || Box::new(player::MongoResponder::default()),
};
