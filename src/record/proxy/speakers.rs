//! Which recorder and which player a protocol has.

use std::net::IpAddr;
use std::sync::Arc;

use crate::record::call::{Link, Protocol};
use crate::record::matching::Book;
use crate::record::protocol::cancels::Cancels;
use crate::record::protocol::spoken::{self, Origin};
use crate::record::protocol::wire::{Player, Recorder};

/// Takes connections of this protocol apart; `None` for those that are recorded in turns.
pub fn recorder(protocol: Protocol, link: &Link, cancels: &Arc<Cancels>) -> Option<Box<dyn Recorder>> {
    spoken::recorder(protocol, &origin(link, cancels))
}

/// Plays servers of this protocol; `None` for those that are played in turns.
pub fn player(protocol: Protocol, link: &Link, cancels: &Arc<Cancels>, book: &Arc<Book>) -> Option<Box<dyn Player>> {
    spoken::player(protocol, &origin(link, cancels), book)
}

fn origin(link: &Link, cancels: &Arc<Cancels>) -> Origin {
    let host = &link.target.host;
    let near = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    // Databases elsewhere often insist on encryption; near ones seldom do, and there it would keep clients from binding their
    // authentication to the channel.
    Origin {
        target: link.target.clone(),
        tls: link.tls,
        connection: link.connection,
        relay_tls: !near,
        cancels: Arc::clone(cancels),
    }
}
