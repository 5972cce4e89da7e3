//! The frontend/backend protocol of `PostgreSQL`, version 3 (its manual, part "Frontend/Backend
//! Protocol").
//!
//! Pools and drivers spread calls over connections as they like, and prepare a statement once for
//! each. So what is said between two `Sync`s is no call by itself: `Parse` and `Describe` are calls
//! of the connection, which answer as often as they are asked, and a call is `Bind` with `Execute`,
//! or a simple `Query`. Statements are named in them by their text, so that each call stands for
//! itself. Authentication is left out: a replayed server trusts everybody.

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

use crate::record::call::Protocol;
use crate::record::protocol::database::Database;
pub(in crate::record) use forms::{again, unify};
pub(in crate::record) use login::{Beginning, Login, SSL_REQUEST, beginning, failure, next};
pub(in crate::record) use message::is_aborted;
pub(in crate::record) use startup::{nameless, startup_of, who};

pub(super) static DATABASE: Database = Database {
    protocol: Protocol::Postgres,
    kind: "Postgres",
    port: 5432,
    parts: parts::parts,
    head: |message| match message.first() {
        // Of a startup message the length and the version are no words.
        Some(0) => 8,
        // Nor are names of statements, and what proves a password.
        Some(b'S' | b'H' | b'D' | b'E' | b'C' | b'p') => message.len(),
        _ => 5,
    },
    recorder: |relay_tls| Box::new(recorder::PostgresDialogue::new(relay_tls)),
    player: || Box::new(player::PostgresResponder::new()),
};
