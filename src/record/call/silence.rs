//! Connections on which nothing was said: those that a pool opens in advance, and of probes that connect and leave.

use std::time::{Duration, SystemTime};

use crate::record::call::{Content, Exchange, Link, Message, Protocol, Side, Wire};

/// That nothing was said. In a recording it is an exchange that belongs to connections and has no messages, or only the empty
/// one of the server that says that it closed the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// How long the server waited before it closed the connection, if it was the server that did.
    pub closed_after: Option<Duration>,
}

impl Silence {
    /// The exchange that stands for a connection that was open from one time to the other. `by` has ended it, or nobody.
    pub fn exchange(link: &Link, opened: SystemTime, ended: SystemTime, by: Option<Side>) -> Exchange {
        let closed = by == Some(Side::Server);
        let messages = if closed { vec![Message { from: Side::Server, bytes: Vec::new() }] } else { Vec::new() };
        link.exchange(Content::Wire(Protocol::Generic, Wire { messages, session: true }), opened, ended)
    }

    /// What an exchange says of this, if it stands for such a connection.
    pub fn of(exchange: &Exchange) -> Option<Self> {
        let Content::Wire(Protocol::Generic, Wire { messages, session: true }) = &exchange.content else { return None };
        let after = || exchange.answered_at.duration_since(exchange.sent_at).unwrap_or_default();
        match messages.as_slice() {
            [] => Some(Self { closed_after: None }),
            [Message { from: Side::Server, bytes }] if bytes.is_empty() => Some(Self { closed_after: Some(after()) }),
            _ => None,
        }
    }
}
