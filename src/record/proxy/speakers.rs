//! Which recorder and which player a protocol has that is no HTTP.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::Replay;
use super::context::Context;
use crate::limits::UNASKED_AFTER_MS;
use crate::record::call::Protocol;
use crate::record::protocol::generic::{GenericPlayer, GenericRecorder};
use crate::record::protocol::spoken::{self, Origin};
use crate::record::protocol::wire::{Player, Recorder};

/// Takes a connection apart that was opened then; in turns where its protocol is not known.
pub fn recorder(context: &Context, protocol: Protocol, opened: SystemTime) -> Box<dyn Recorder> {
    spoken::recorder(protocol, &origin(context)).unwrap_or_else(|| {
        let in_turns = GenericRecorder::new(context.link.clone(), false);
        Box::new(in_turns.opened(opened))
    })
}

/// Who plays a server, and how long it waits for the program to say more before it goes on by itself.
pub struct Actor {
    /// Says what the server said.
    pub player: Box<dyn Player>,
    /// See above.
    pub patience: Duration,
}

impl Actor {
    /// Of a protocol; in turns where it is not known.
    pub fn new(context: &Context, replay: &Replay, protocol: Protocol) -> Self {
        match spoken::player(protocol, &origin(context), &replay.book) {
            Some(player) => Self { player, patience: Duration::from_millis(UNASKED_AFTER_MS) },
            None => Self::in_turns(context, replay, false),
        }
    }

    /// Of a protocol that is not known, or of frames of `WebSocket`.
    pub fn in_turns(context: &Context, replay: &Replay, websocket: bool) -> Self {
        let said = replay.outline.said(&context.link.target);
        let player = GenericPlayer::new(context.link.clone(), Arc::clone(&replay.book), said, websocket);
        Self { player: Box::new(player), patience: replay.quiet }
    }
}

fn origin(context: &Context) -> Origin {
    let link = &context.link;
    let host = &link.target.host;
    let near = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    // Databases elsewhere often insist on encryption; near ones seldom do, and there it would keep clients from binding their
    // authentication to the channel.
    Origin {
        target: link.target.clone(),
        tls: link.tls,
        connection: link.connection,
        relay_tls: !near,
        cancels: Arc::clone(&context.shared.cancels),
    }
}
