//! Who looks on while bytes pass between the program and the real server.

use std::time::SystemTime;

use super::Note;
use super::context::Context;
use crate::budget::Share;
use crate::record::call::{Exchange, Side, Target};
use crate::record::http::h1;
use crate::record::protocol::generic::GenericRecorder;
use crate::record::protocol::wire::{RecordStep, WireRecorder};

pub enum Tap {
    Http(Box<h1::Tap>),
    Wire(Box<dyn WireRecorder>),
    Nobody,
}

/// What a connection becomes after bytes that have all been passed on.
pub enum Then {
    StartTls {
        /// Bytes of the client that belong to that.
        early: Vec<u8>,
    },
    Tunnel {
        target: Target,
        /// Bytes of the server that came out of it.
        rest: Vec<u8>,
    },
}

/// What looking at some bytes led to.
#[derive(Default)]
pub struct Seen {
    pub done: Vec<Exchange>,
    pub then: Option<Then>,
}

impl Tap {
    /// What waits came from this side just now: what of it goes on is left there.
    pub fn take(
        &mut self,
        context: &Context,
        from: Side,
        up: &mut Vec<u8>,
        down: &mut Vec<u8>,
    ) -> Seen {
        let now = SystemTime::now();
        let mut seen = Seen::default();
        let said = if from == Side::Client {
            &mut *up
        } else {
            &mut *down
        };
        match self {
            Self::Http(tap) => {
                let turn = tap.take(from, said, now, &mut seen.done);
                tap.too_long()
                    .iter()
                    .for_each(|call| context.too_long(call));
                match turn {
                    None => {}
                    Some((h1::Turn::Tunnel(target), count)) => {
                        seen.then = Some(Then::Tunnel {
                            target,
                            rest: said.split_off(count),
                        });
                    }
                    Some((h1::Turn::Upgrade(websocket), count)) => {
                        let mut next = GenericRecorder::new(context.link.clone(), websocket);
                        if count < said.len() {
                            next.take(from, &said[count..], now);
                        }
                        *self = Self::Wire(Box::new(next));
                    }
                    Some((h1::Turn::Lost, _)) => {
                        context.shared.note(Note::NotUnderstood {
                            target: context.link.target.clone(),
                        });
                        *self = Self::Nobody;
                    }
                }
            }
            Self::Nobody => {}
            Self::Wire(recorder) => {
                let steps = recorder.take(from, said, now);
                said.clear();
                apply(context, steps, up, down, &mut seen);
            }
        }
        seen
    }

    /// Keeps what came only if there is memory for it: else the calls that are not complete pass
    /// and are not kept, and where calls have no bounds that can be seen without keeping them,
    /// nothing more of the connection is.
    pub fn hold(&mut self, context: &Context, held: &mut Share) {
        let kept = match self {
            Self::Http(tap) => tap.buffered_bytes(),
            Self::Wire(recorder) => recorder.kept(),
            Self::Nobody => 0,
        };
        if held.try_cover(kept) {
            return;
        }
        context.shared.note(Note::Full);
        if let Self::Http(tap) = self {
            tap.discard_bodies();
        } else {
            context.shared.count(|counts| counts.dropped += 1);
            *self = Self::Nobody;
        }
        held.shrink(0);
    }

    /// The connection has ended: the calls that were still on the way.
    pub fn end(&mut self, context: &Context, end: h1::End) -> Vec<Exchange> {
        let now = SystemTime::now();
        let mut seen = Seen::default();
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
            Self::Nobody => {}
        }
        seen.done
    }
}

fn apply(
    context: &Context,
    steps: Vec<RecordStep>,
    up: &mut Vec<u8>,
    down: &mut Vec<u8>,
    seen: &mut Seen,
) {
    for step in steps {
        match step {
            RecordStep::Forward(Side::Client, bytes) => up.extend_from_slice(&bytes),
            RecordStep::Forward(Side::Server, bytes) => down.extend_from_slice(&bytes),
            RecordStep::StartTls(early) => seen.then = Some(Then::StartTls { early }),
            RecordStep::Done(exchange) => seen.done.push(*exchange),
            RecordStep::Lost(what) => {
                context.shared.count(|counts| counts.dropped += 1);
                context.shared.note(Note::Lost { what });
            }
        }
    }
}
