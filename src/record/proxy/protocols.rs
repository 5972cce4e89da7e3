//! Which recorder and which player a protocol has.

use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use super::Replay;
use super::context::Context;
use crate::limits::UNASKED_AFTER_MS;
use crate::record::call::Protocol;
use crate::record::matching::Connection;
use crate::record::protocol::generic::{GenericPlayer, GenericRecorder};
use crate::record::protocol::registry;
use crate::record::protocol::wire::{WirePlayer, WireRecorder};

/// Takes a connection apart that was opened then; in turns where its protocol is not known.
pub fn recorder(
    context: &Context,
    protocol: Protocol,
    opened: SystemTime,
) -> Box<dyn WireRecorder> {
    // Databases elsewhere often insist on encryption; near ones seldom do, and there it would keep
    // clients from binding their authentication to the channel.
    let host = &context.link.target.host;
    let is_near = host == "localhost"
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback());
    let in_turns = || GenericRecorder::new(context.link.clone(), false).opened(opened);
    registry::recorder(protocol, &context.link, !is_near).unwrap_or_else(|| Box::new(in_turns()))
}

/// Who plays a server, and how long it waits for the program to say more before it goes on by
/// itself.
pub struct Actor {
    pub player: Box<dyn WirePlayer>,
    pub patience: Duration,
}

impl Actor {
    /// Of a protocol; in turns where it is not known.
    pub fn new(context: &Context, replay: &Replay, protocol: Protocol) -> Self {
        match registry::player(protocol, &context.link, Connection::on(&replay.book)) {
            Some(player) => Self {
                player,
                patience: Duration::from_millis(UNASKED_AFTER_MS),
            },
            None => Self::in_turns(context, replay, false),
        }
    }

    /// Of a protocol that is not known, or of frames of `WebSocket`.
    pub fn in_turns(context: &Context, replay: &Replay, websocket: bool) -> Self {
        let said = replay.outline.said(&context.link.target);
        let player = GenericPlayer::new(
            context.link.clone(),
            Connection::on(&replay.book),
            said,
            websocket,
        );
        Self {
            player: Box::new(player),
            patience: replay.quiet,
        }
    }
}
