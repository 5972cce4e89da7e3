//! The frontend/backend protocol of `PostgreSQL`, version 3 (its manual, part "Frontend/Backend Protocol").
//!
//! Pools and drivers spread calls over connections as they like, and prepare a statement once for each. So what is said
//! between two `Sync`s is no call by itself: `Parse` and `Describe` are calls of the connection, which answer as often as
//! they are asked, and a call is `Bind` with `Execute`, or a simple `Query`. Statements are named in them by their text, so
//! that each call stands for itself. Authentication is left out: a replayed server trusts everybody.

mod forms;
mod message;
mod names;
mod parts;
mod playing;
mod recording;
mod startup;
#[cfg(test)]
mod tests;
mod unasked;

pub(in crate::record) use forms::unify;
pub(in crate::record) use message::is_aborted;
pub(in crate::record) use parts::parts;
pub(in crate::record) use playing::Playing;
pub(in crate::record) use recording::Recording;
pub(in crate::record) use startup::{nameless, startup_of, who};
pub(in crate::record) use unasked::again;
