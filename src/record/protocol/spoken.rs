//! The protocols that are no HTTP and are understood: who records and who plays each.

use crate::record::call::{Link, Protocol};
use crate::record::protocol::dialogue::Follow;
use crate::record::protocol::role::{Play, Prompter};
use crate::record::protocol::script::Script;
use crate::record::protocol::wire::{Player, Recorder};
use crate::record::protocol::{mongo, mysql, postgres, redis};

/// Takes a connection of this protocol apart; `None` if it has no recorder here (HTTP, gRPC, DNS, Generic).
///
/// `relay_tls`: encryption is relayed that the client asks for inside the protocol (`PostgreSQL`, `MySQL`), and begins on both sides
/// by a step. Otherwise the client is told that the server has none: without the real certificate a client cannot bind its
/// authentication to the channel (RFC 5802, 6), and on the loopback there is nothing to hide.
pub fn recorder(protocol: Protocol, link: &Link, relay_tls: bool) -> Option<Box<dyn Recorder>> {
    let own = link.clone();
    Some(match protocol {
        Protocol::Redis => Box::new(Follow::new(redis::Recording::new(own), link)),
        Protocol::Postgres => Box::new(Follow::new(postgres::Recording::new(own, relay_tls), link)),
        Protocol::MySql => Box::new(Follow::new(mysql::Recording::new(own, relay_tls), link)),
        Protocol::Mongo => Box::new(Follow::new(mongo::Recording::new(own), link)),
        Protocol::Http | Protocol::Grpc | Protocol::Dns | Protocol::Generic => return None,
    })
}

/// Plays a server of this protocol; `None` if it has no player here (HTTP, gRPC, DNS, Generic). Encryption is offered if it was
/// recorded.
pub fn player(protocol: Protocol, link: &Link, script: Box<dyn Script>) -> Option<Box<dyn Player>> {
    let prompter = Prompter { link: link.clone(), protocol, script };
    Some(match protocol {
        Protocol::Redis => Box::new(Play::new(redis::Playing::new(prompter))),
        Protocol::Postgres => Box::new(Play::new(postgres::Playing::new(prompter))),
        Protocol::MySql => Box::new(Play::new(mysql::Playing::new(prompter))),
        Protocol::Mongo => Box::new(Play::new(mongo::Playing::new(prompter))),
        Protocol::Http | Protocol::Grpc | Protocol::Dns | Protocol::Generic => return None,
    })
}
