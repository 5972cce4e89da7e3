//! Observer of a relayed connection.

use std::time::SystemTime;

use replay_base::budget::Share;

use super::Note;
use super::context::Context;
use crate::call::{Exchange, Side, Target};
use crate::http::{h1, websocket};
use crate::protocol::generic::GenericRecorder;
use crate::protocol::wire::{RecordStep, WireRecorder};

pub(super) enum Tap {
    Http(Box<h1::Tap>),
    Wire(Box<dyn WireRecorder>),
    Off,
}

/// Next phase of a connection after the relayed bytes.
pub(super) enum NextPhase {
    StartTls {
        /// Bytes of the client that belong to the handshake.
        early: Vec<u8>,
    },
    Tunnel {
        target: Target,
        /// Bytes of the server from inside the tunnel.
        rest: Vec<u8>,
    },
}

/// Result of observing some bytes.
#[derive(Default)]
pub(super) struct Observation {
    pub done: Vec<Exchange>,
    pub then: Option<NextPhase>,
}

impl Tap {
    /// Observes pending bytes from one side, and leaves those to forward.
    pub(super) fn take(
        &mut self,
        context: &Context,
        from: Side,
        up: &mut Vec<u8>,
        down: &mut Vec<u8>,
    ) -> Observation {
        let now = SystemTime::now();
        let mut seen = Observation::default();
        let said = if from == Side::Client {
            &mut *up
        } else {
            &mut *down
        };
        match self {
            Self::Http(tap) => {
                // Bytes of compressed messages depend on all messages before them.
                if from == Side::Client && tap.is_idle() {
                    websocket::remove_extensions(said);
                }
                let turn = tap.take(from, said, now, &mut seen.done);
                tap.too_long()
                    .iter()
                    .for_each(|call| context.too_long(call));
                match turn {
                    None => {}
                    Some((h1::ProtocolChange::Tunnel(target), count)) => {
                        seen.then = Some(NextPhase::Tunnel {
                            target,
                            rest: said.split_off(count),
                        });
                    }
                    Some((h1::ProtocolChange::Upgrade(websocket), count)) => {
                        let mut next = GenericRecorder::new(context.link.clone(), websocket);
                        if count < said.len() {
                            next.take(from, &said[count..], now);
                        }
                        *self = Self::Wire(Box::new(next));
                    }
                    Some((h1::ProtocolChange::Lost, _)) => {
                        context.shared.note(Note::NotUnderstood {
                            target: context.link.target.clone(),
                        });
                        *self = Self::Off;
                    }
                }
            }
            Self::Off => {}
            Self::Wire(recorder) => {
                let steps = recorder.take(from, said, now);
                said.clear();
                apply(context, steps, up, down, &mut seen);
            }
        }
        seen
    }

    /// Returns true if clients may prove to an encrypted server that they see its certificate.
    pub(super) fn binds_channel(&self) -> bool {
        matches!(self, Self::Wire(recorder) if recorder.binds_channel())
    }

    /// Charges buffered data to the budget. Without memory, incomplete HTTP calls pass unrecorded.
    /// Other protocols need their buffer to find the end of a call, so recording of the connection
    /// stops.
    pub(super) fn charge_memory(&mut self, context: &Context, held: &mut Share) {
        let kept = match self {
            Self::Http(tap) => tap.buffered_bytes(),
            Self::Wire(recorder) => recorder.buffered_bytes(),
            Self::Off => 0,
        };
        if held.try_cover(kept) {
            return;
        }
        context.shared.note(Note::Full);
        if let Self::Http(tap) = self {
            tap.discard_bodies();
        } else {
            context.shared.count(|counts| counts.dropped += 1);
            *self = Self::Off;
        }
        held.shrink(0);
    }

    /// Returns the unfinished calls when the connection ends.
    pub(super) fn end(&mut self, context: &Context, end: h1::ConnectionEnd) -> Vec<Exchange> {
        let now = SystemTime::now();
        let mut seen = Observation::default();
        match self {
            Self::Http(tap) => {
                tap.end(end, now, &mut seen.done);
                tap.too_long()
                    .iter()
                    .for_each(|call| context.too_long(call));
            }
            Self::Wire(recorder) => {
                let steps = recorder.end(end.by, now);
                apply(context, steps, &mut Vec::new(), &mut Vec::new(), &mut seen);
            }
            Self::Off => {}
        }
        seen.done
    }
}

fn apply(
    context: &Context,
    steps: Vec<RecordStep>,
    up: &mut Vec<u8>,
    down: &mut Vec<u8>,
    seen: &mut Observation,
) {
    for step in steps {
        match step {
            RecordStep::Forward(Side::Client, bytes) => up.extend_from_slice(&bytes),
            RecordStep::Forward(Side::Server, bytes) => down.extend_from_slice(&bytes),
            RecordStep::StartTls(early) => seen.then = Some(NextPhase::StartTls { early }),
            RecordStep::Done(exchange) => seen.done.push(*exchange),
            RecordStep::Lost(what) => {
                context.shared.count(|counts| counts.dropped += 1);
                context.shared.note(Note::Lost { what });
            }
        }
    }
}
