//! Recorder and player for each protocol.

use std::time::{Duration, SystemTime};

use super::Replay;
use super::context::Context;
use crate::call::Protocol;
use crate::matching::Connection;
use crate::protocol::frames::WebSocketPlayer;
use crate::protocol::generic::{GenericPlayer, GenericRecorder};
use crate::protocol::registry;
use crate::protocol::wire::{WirePlayer, WireRecorder};

/// Creates the recorder for a connection opened at this time; unknown protocols are recorded in
/// turns.
pub(super) fn recorder(
    context: &Context,
    protocol: Protocol,
    opened: SystemTime,
) -> Box<dyn WireRecorder> {
    let in_turns = || GenericRecorder::new(context.link.clone(), false).opened(opened);
    registry::recorder(protocol, &context.link).unwrap_or_else(|| Box::new(in_turns()))
}

/// A replayed server, and the time after which it continues without further input.
pub(super) struct PlayedServer {
    pub player: Box<dyn WirePlayer>,
    pub patience: Duration,
}

impl PlayedServer {
    /// Creates the server of a protocol; unknown protocols are replayed in turns.
    pub(super) fn new(context: &Context, replay: &Replay, protocol: Protocol) -> Self {
        match registry::player(protocol, &context.link, Connection::on(&replay.book)) {
            Some(player) => Self {
                player,
                patience: replay.quiet,
            },
            None => Self::in_turns(context, replay, false),
        }
    }

    /// Creates the server of an unknown protocol or of `WebSocket` frames.
    pub(super) fn in_turns(context: &Context, replay: &Replay, websocket: bool) -> Self {
        if websocket
            && replay
                .outline
                .has(&context.link.target, Protocol::WebSocket)
        {
            let script = Connection::on(&replay.book);
            return Self {
                player: Box::new(WebSocketPlayer::new(&context.link, script)),
                patience: replay.quiet,
            };
        }
        let said = replay.outline.first_messages(&context.link.target);
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
