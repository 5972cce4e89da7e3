//! Which recorder and which player a protocol has.

use std::net::IpAddr;
use std::sync::Arc;

use crate::record::call::{Link, Protocol};
use crate::record::matching::{Book, Connection};
use crate::record::protocol::spoken;
use crate::record::protocol::wire::{Player, Recorder};

/// Takes connections of this protocol apart; `None` for those that are recorded in turns.
pub fn recorder(protocol: Protocol, link: &Link) -> Option<Box<dyn Recorder>> {
    let host = &link.target.host;
    let near = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    // Databases elsewhere often insist on encryption; near ones seldom do, and there it would keep clients from binding their
    // authentication to the channel.
    spoken::recorder(protocol, link, !near)
}

/// Plays servers of this protocol; `None` for those that are played in turns.
pub fn player(protocol: Protocol, link: &Link, book: &Arc<Book>) -> Option<Box<dyn Player>> {
    spoken::player(protocol, link, Connection::on(book))
}
