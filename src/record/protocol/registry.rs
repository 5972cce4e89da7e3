//! The databases whose protocols are understood. Each is declared in its folder, and named in one
//! line here.

use crate::record::call::{Link, Protocol};
use crate::record::protocol::database::Database;
use crate::record::protocol::dialogue::Follow;
use crate::record::protocol::responder::{Play, Prompter};
use crate::record::protocol::script::Script;
use crate::record::protocol::wire::{WirePlayer, WireRecorder};
use crate::record::protocol::{mongo, mysql, postgres, redis};

const ALL: [&Database; 4] = [
    &postgres::DATABASE,
    &mysql::DATABASE,
    &redis::DATABASE,
    &mongo::DATABASE,
];

/// The one that speaks a protocol; `None` of HTTP, gRPC, DNS and Generic.
pub fn of(protocol: Protocol) -> Option<&'static Database> {
    ALL.into_iter().find(|known| known.protocol == protocol)
}

pub fn on_port(port: u16) -> Option<Protocol> {
    ALL.iter()
        .find(|known| known.port == port)
        .map(|known| known.protocol)
}

pub fn of_kind(kind: &str) -> Option<Protocol> {
    ALL.iter()
        .find(|known| known.kind == kind)
        .map(|known| known.protocol)
}

/// Takes a connection of this protocol apart, if it is one of these.
///
/// `relay_tls`: encryption is relayed that the client asks for inside the protocol (`PostgreSQL`,
/// `MySQL`), and begins on both sides by a step. Otherwise the client is told that the server has
/// none: without the real certificate a client cannot bind its authentication to the channel (RFC
/// 5802, 6), and on the loopback there is nothing to hide.
pub fn recorder(protocol: Protocol, link: &Link, relay_tls: bool) -> Option<Box<dyn WireRecorder>> {
    Some(Box::new(Follow::new(
        (of(protocol)?.recorder)(relay_tls),
        protocol,
        link,
    )))
}

/// Plays a server of this protocol, if it is one of these. Encryption is offered if it was
/// recorded.
pub fn player(
    protocol: Protocol,
    link: &Link,
    script: Box<dyn Script>,
) -> Option<Box<dyn WirePlayer>> {
    Some(Box::new(Play::new(
        (of(protocol)?.player)(),
        Prompter::new(link.clone(), protocol, script),
    )))
}
