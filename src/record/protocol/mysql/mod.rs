//! The client/server protocol of `MySQL` and `MariaDB`
//! (`dev.mysql.com/doc/dev/mysql-server/latest/PAGE_PROTOCOL.html`).
//!
//! A call is one command and its answer. A call of a prepared statement begins with the command
//! that prepared it, so it is independent of the statement's number. Greetings and authentication
//! belong to the connection. Passwords are never recorded; a replayed server trusts every recorded
//! user.

mod answer;
mod handshake;
pub(crate) mod login;
mod packet;
mod parts;
mod player;
mod recorder;
mod statements;
#[cfg(test)]
mod tests;

use crate::call::Protocol;
use crate::protocol::database::{Conversation, Database};
pub(crate) use answer::without_status;
pub(crate) use statements::{
    carries_out, is_of_context, leaves_open, login_of, resets, selected_by,
};

pub(super) static DATABASE: Database = Database {
    protocol: Protocol::MySql,
    kind: "MySQL",
    port: 3306,
    parts: parts::parts,
    head: |_| 5,
    conversation: Conversation::Own {
        recorder: || Box::new(recorder::MySqlDialogue::default()),
        player: || Box::new(player::MySqlResponder::default()),
    },
};
