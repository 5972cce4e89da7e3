//! The protocols that are no HTTP and are understood. Each is declared in its folder, and stands in one line here.

use crate::record::call::{Link, Protocol};
use crate::record::protocol::dialogue::{Dialogue, Follow};
use crate::record::protocol::parts::Taken;
use crate::record::protocol::role::{Play, Prompter, Role};
use crate::record::protocol::script::Script;
use crate::record::protocol::wire::{Player, Recorder};
use crate::record::protocol::{mongo, mysql, postgres, redis};

const ALL: [&Spoken; 4] = [&postgres::SPOKEN, &mysql::SPOKEN, &redis::SPOKEN, &mongo::SPOKEN];

pub struct Spoken {
    pub protocol: Protocol,
    /// `kind` of its calls in a recording.
    pub kind: &'static str,
    /// The port that is registered for it (IANA service names; 27017 by `MongoDB`).
    pub port: u16,
    /// Takes a message of a client apart; `None` if it cannot be read.
    pub(in crate::record) parts: fn(&[u8], &mut Taken) -> Option<()>,
    /// How many bytes at the beginning of a message of a client are no words.
    pub(in crate::record) head: fn(&[u8]) -> usize,
    pub(in crate::record) recorder: fn(bool) -> Box<dyn Dialogue>,
    pub(in crate::record) player: fn() -> Box<dyn Role>,
}

/// That of a protocol; `None` of HTTP, gRPC, DNS and Generic.
pub fn of(protocol: Protocol) -> Option<&'static Spoken> {
    ALL.into_iter().find(|spoken| spoken.protocol == protocol)
}

/// The protocol that a port is registered for.
pub fn on_port(port: u16) -> Option<Protocol> {
    ALL.iter().find(|spoken| spoken.port == port).map(|spoken| spoken.protocol)
}

pub fn of_kind(kind: &str) -> Option<Protocol> {
    ALL.iter().find(|spoken| spoken.kind == kind).map(|spoken| spoken.protocol)
}

/// Takes a connection of this protocol apart, if it is one of these.
///
/// `relay_tls`: encryption is relayed that the client asks for inside the protocol (`PostgreSQL`, `MySQL`), and begins on both sides
/// by a step. Otherwise the client is told that the server has none: without the real certificate a client cannot bind its
/// authentication to the channel (RFC 5802, 6), and on the loopback there is nothing to hide.
pub fn recorder(protocol: Protocol, link: &Link, relay_tls: bool) -> Option<Box<dyn Recorder>> {
    Some(Box::new(Follow::new((of(protocol)?.recorder)(relay_tls), protocol, link)))
}

/// Plays a server of this protocol, if it is one of these. Encryption is offered if it was recorded.
pub fn player(protocol: Protocol, link: &Link, script: Box<dyn Script>) -> Option<Box<dyn Player>> {
    Some(Box::new(Play::new((of(protocol)?.player)(), Prompter::new(link.clone(), protocol, script))))
}
