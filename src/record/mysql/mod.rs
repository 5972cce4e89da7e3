//! The client/server protocol of `MySQL` and `MariaDB` (`dev.mysql.com/doc/dev/mysql-server/latest/PAGE_PROTOCOL.html`).
//!
//! A call is one command and its answer. One that uses a prepared statement begins with the command that prepared it, so
//! that it stands for itself whatever number the statement has; before all that stands `COM_INIT_DB` of the database in use,
//! if there is one, with the variables that were set and change answers, each statement of a query counting. Greetings and
//! authentication belong to the connection; passwords are never recorded, and a replayed server trusts everybody whom a recording
//! lets in. Where several users were, each call is of one of them (`users`).

mod answer;
mod calls;
mod handshake;
mod hints;
mod marks;
mod packet;
mod playing;
mod recording;
mod settings;
mod statements;
#[cfg(test)]
mod tests;
mod users;

pub(super) use hints::{firm, said_in_state};
pub(super) use playing::Playing;
pub(super) use recording::Recording;
pub(super) use users::{asked_by, tell_apart};
