//! Which recorder and which player a protocol has.

use std::sync::Arc;

use crate::record::book::Book;
use crate::record::exchange::Protocol;
use crate::record::link::Link;
use crate::record::wire::{Player, Recorder};

/// Takes connections of this protocol apart; `None` for those that are recorded in turns.
pub fn recorder(_protocol: Protocol, _link: &Link) -> Option<Box<dyn Recorder>> {
    None
}

/// Plays servers of this protocol; `None` for those that are played in turns.
pub fn player(_protocol: Protocol, _link: &Link, _book: &Arc<Book>) -> Option<Box<dyn Player>> {
    None
}

/// The protocol of a server that has spoken first.
pub fn server_first(_greeting: &[u8], _port: u16) -> Option<Protocol> {
    None
}
