//! The protocols that are no HTTP and are understood: who records and who plays each.

use std::sync::Arc;

use crate::record::call::{Protocol, Target};
use crate::record::matching::Book;
use crate::record::matching::history::History;
use crate::record::protocol::cancels::Cancels;
use crate::record::protocol::dialogue::Follow;
use crate::record::protocol::role::{Play, Prompter};
use crate::record::protocol::wire::{Player, Recorder};
use crate::record::protocol::{mongo, mysql, postgres, redis};

/// What is known of a connection before anything was said on it.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Where it goes.
    pub target: Target,
    /// Whether it is encrypted already.
    pub tls: bool,
    /// Its number within the recording.
    pub connection: u64,
    /// Whether encryption is relayed that the client asks for inside the protocol (`PostgreSQL`, `MySQL`): if so, it
    /// begins on both sides by a step. Otherwise the client is told that the server has none: without the real
    /// certificate a client cannot bind its authentication to the channel (RFC 5802, 6), and on the loopback there is
    /// nothing to hide. Of no effect in replay, where encryption is offered if it was recorded.
    pub relay_tls: bool,
    /// What the connections of the same recording or replay have each other cancel.
    pub cancels: Arc<Cancels>,
}

/// Takes a connection of this protocol apart; `None` if it has no recorder here (HTTP, gRPC, DNS, Generic).
pub fn recorder(protocol: Protocol, origin: &Origin) -> Option<Box<dyn Recorder>> {
    Some(match protocol {
        Protocol::Redis => Box::new(Follow::new(redis::Recording::new(origin.clone()), origin)),
        Protocol::Postgres => Box::new(Follow::new(postgres::Recording::new(origin.clone()), origin)),
        Protocol::MySql => Box::new(Follow::new(mysql::Recording::new(origin.clone()), origin)),
        Protocol::Mongo => Box::new(Follow::new(mongo::Recording::new(origin.clone()), origin)),
        Protocol::Http | Protocol::Grpc | Protocol::Dns | Protocol::Generic => return None,
    })
}

/// Plays a server of this protocol from the book; `None` if it has no player here (HTTP, gRPC, DNS, Generic).
pub fn player(protocol: Protocol, origin: &Origin, book: &Arc<Book>) -> Option<Box<dyn Player>> {
    let prompter = Prompter { origin: origin.clone(), book: Arc::clone(book), protocol, history: History::default() };
    let (book, origin) = (Arc::clone(book), origin.clone());
    Some(match protocol {
        Protocol::Redis => Box::new(Play::new(redis::Playing::new(prompter), book, origin)),
        Protocol::Postgres => Box::new(Play::new(postgres::Playing::new(prompter), book, origin)),
        Protocol::MySql => Box::new(Play::new(mysql::Playing::new(prompter), book, origin)),
        Protocol::Mongo => Box::new(Play::new(mongo::Playing::new(prompter), book, origin)),
        Protocol::Http | Protocol::Grpc | Protocol::Dns | Protocol::Generic => return None,
    })
}
