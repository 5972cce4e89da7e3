//! The frontend/backend protocol of `PostgreSQL`, version 3 (its manual, part "Frontend/Backend
//! Protocol").
//!
//! Pools and drivers spread calls over connections in any order, and prepare a statement once for
//! each. So the messages between two `Sync`s are not one call:
//!
//! - `Parse` and `Describe` are calls of the connection, and can be answered any number of times.
//! - A call is `Bind` with `Execute`, or a simple `Query`.
//!
//! Calls name statements by their text, so each call is independent. Authentication is left out: a
//! replayed server trusts everybody.

mod format3;
mod forms;
mod login;
mod message;
mod parts;
mod player;
mod recorder;
mod scram;
mod startup;
mod statement_names;
#[cfg(test)]
mod tests;

use crate::call::Protocol;
use crate::protocol::database::{Conversation, Database};
pub(crate) use format3::{PortalDigests, move_metadata};
pub(crate) use forms::{mark_notifications, unify};
pub(crate) use login::{Beginning, Login, SSL_REQUEST, beginning, failure, next};
pub(crate) use message::is_aborted;
pub(crate) use startup::{startup_of, who, without_application_name};

pub(super) static DATABASE: Database = Database {
    protocol: Protocol::Postgres,
    kind: "Postgres",
    port: 5432,
    parts: parts::parts,
    head: |message| match message.first() {
        // Length and version of a startup message are not text.
        Some(0) => 8,
        // Neither are statement names and passwords.
        Some(b'S' | b'H' | b'D' | b'E' | b'C' | b'p') => message.len(),
        _ => 5,
    },
    conversation: Conversation::Own {
        recorder: || Box::new(recorder::PostgresDialogue::default()),
        player: || Box::new(player::PostgresResponder::new()),
    },
};
