//! Passes bytes between the program and the real server, and shows them to whoever records.

use std::io;
use std::time::SystemTime;

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, WriteHalf, split};

use super::Note;
use super::shared::Context;
use super::stream::Stream;
use crate::limits::{MAX_RELAY_WAITING_BYTES, RELAY_BUFFER_BYTES};
use crate::record::exchange::{Exchange, Side, Target};
use crate::record::generic::GenericRecorder;
use crate::record::http1;
use crate::record::wire::{RecordStep, Recorder};

/// Who looks on.
pub enum Tap {
    /// HTTP/1.
    Http(Box<http1::Tap>),
    /// Turns.
    Generic(Box<GenericRecorder>),
    /// A protocol that is known.
    Wire(Box<dyn Recorder>),
    /// Nobody.
    Nobody,
}

/// What a connection becomes after bytes that have all been passed on.
pub enum Then {
    /// Encrypted on both sides.
    StartTls,
    /// A tunnel to there.
    Tunnel(Target),
}

/// Bytes on their way in one direction.
#[derive(Default)]
struct Way {
    waiting: BytesMut,
    /// Something was written that may still lie in a layer.
    unflushed: bool,
    /// The source has ended.
    ended: bool,
    /// That was passed on too.
    shut: bool,
}

impl Way {
    fn takes(&self) -> bool {
        !self.ended && self.waiting.len() < MAX_RELAY_WAITING_BYTES
    }

    fn is_clear(&self) -> bool {
        self.waiting.is_empty() && !self.unflushed
    }

    /// What the receiving side is due.
    fn due(&self) -> Option<Due> {
        match self {
            Self { shut: true, .. } => None,
            Self { waiting, .. } if !waiting.is_empty() => Some(Due::Write),
            Self { unflushed: true, .. } => Some(Due::Flush),
            Self { ended: true, .. } => Some(Due::Shut),
            _ => None,
        }
    }

    /// It was done; how many bytes were written.
    fn did(&mut self, due: Due, count: usize) {
        match due {
            Due::Write => {
                self.waiting.advance(count);
                self.unflushed = true;
            }
            Due::Flush => self.unflushed = false,
            Due::Shut => self.shut = true,
        }
    }

    /// Nobody takes anything any more.
    fn give_up(&mut self) {
        *self = Self { ended: true, shut: true, ..Self::default() };
    }
}

/// What the receiving side of a direction is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Write,
    Flush,
    Shut,
}

async fn carry_out(due: Option<Due>, to: &mut WriteHalf<Stream>, bytes: &[u8]) -> io::Result<(Due, usize)> {
    match due {
        Some(Due::Write) => to.write(bytes).await.map(|count| (Due::Write, count)),
        Some(Due::Flush) => to.flush().await.map(|()| (Due::Flush, 0)),
        Some(Due::Shut) => to.shutdown().await.map(|()| (Due::Shut, 0)),
        None => std::future::pending().await,
    }
}

/// What looking at some bytes led to.
#[derive(Default)]
struct Seen {
    done: Vec<Exchange>,
    then: Option<Then>,
    /// Bytes of the server that belong to what comes after the turn.
    rest: Vec<u8>,
    /// Bytes of the client that do.
    early: Vec<u8>,
    /// Calls that are not kept.
    lost: u64,
}

impl Tap {
    fn take(&mut self, context: &Context, from: Side, bytes: &[u8], up: &mut Way, down: &mut Way) -> Seen {
        let now = SystemTime::now();
        let mut seen = Seen::default();
        let steps = match self {
            Self::Http(tap) => {
                let turn = tap.take(from, bytes, now, &mut seen.done);
                let way = if from == Side::Client { up } else { down };
                let Some((turn, count)) = turn else {
                    way.waiting.extend_from_slice(bytes);
                    return seen;
                };
                let (http, rest) = bytes.split_at(count);
                match turn {
                    http1::Turn::Tunnel(target) => {
                        way.waiting.extend_from_slice(http);
                        seen.then = Some(Then::Tunnel(target));
                        rest.clone_into(&mut seen.rest);
                    }
                    http1::Turn::Upgrade { websocket } => {
                        way.waiting.extend_from_slice(bytes);
                        let mut next = GenericRecorder::new(context.link.clone(), websocket);
                        if !rest.is_empty() {
                            next.take(from, rest, now);
                        }
                        *self = Self::Generic(Box::new(next));
                    }
                    http1::Turn::Lost => {
                        way.waiting.extend_from_slice(bytes);
                        context.shared.note(Note::NotUnderstood { target: context.link.target.clone() });
                        *self = Self::Nobody;
                    }
                }
                return seen;
            }
            Self::Nobody => {
                let way = if from == Side::Client { up } else { down };
                way.waiting.extend_from_slice(bytes);
                return seen;
            }
            Self::Generic(recorder) => recorder.take(from, bytes, now),
            Self::Wire(recorder) => recorder.take(from, bytes, now),
        };
        apply(steps, up, down, &mut seen);
        if seen.lost > 0 {
            context.shared.count(|counts| counts.dropped += seen.lost);
        }
        seen
    }

    fn end(&mut self, by: Side) -> Vec<Exchange> {
        let now = SystemTime::now();
        let mut seen = Seen::default();
        let steps = match self {
            Self::Http(tap) => {
                tap.end(by, now, &mut seen.done);
                Vec::new()
            }
            Self::Generic(recorder) => recorder.close(by),
            Self::Wire(recorder) => recorder.end(now),
            Self::Nobody => Vec::new(),
        };
        apply(steps, &mut Way::default(), &mut Way::default(), &mut seen);
        seen.done
    }
}

fn apply(steps: Vec<RecordStep>, up: &mut Way, down: &mut Way, seen: &mut Seen) {
    for step in steps {
        match step {
            RecordStep::Forward(Side::Client, bytes) | RecordStep::Reply(Side::Server, bytes) => {
                up.waiting.extend_from_slice(&bytes);
            }
            RecordStep::Forward(Side::Server, bytes) | RecordStep::Reply(Side::Client, bytes) => {
                down.waiting.extend_from_slice(&bytes);
            }
            RecordStep::StartTls { early } => {
                seen.then = Some(Then::StartTls);
                seen.early.extend_from_slice(&early);
            }
            RecordStep::Done(exchange) => seen.done.push(*exchange),
            RecordStep::Lost(reason) => {
                tracing::debug!(reason, "a call is not kept");
                seen.lost += 1;
            }
        }
    }
}

/// Passes bytes until both sides have ended, or until the connection becomes something else: then with both ends of it.
pub async fn relay(
    context: &Context,
    client: Stream,
    server: Stream,
    tap: &mut Tap,
) -> io::Result<Option<(Then, Stream, Stream)>> {
    let (mut from_client, mut to_client) = split(client);
    let (mut from_server, mut to_server) = split(server);
    let (mut up, mut down) = (Way::default(), Way::default());
    let mut client_bytes = vec![0; RELAY_BUFFER_BYTES];
    let mut server_bytes = vec![0; RELAY_BUFFER_BYTES];
    let mut then = None;
    let (mut rest, mut early) = (Vec::new(), Vec::new());
    let stopped = context.stopped();
    tokio::pin!(stopped);
    let mut first_end = None;
    let result = loop {
        let reads = then.is_none();
        let (from, read) = tokio::select! {
            read = from_client.read(&mut client_bytes), if reads && up.takes() => (Side::Client, read),
            read = from_server.read(&mut server_bytes), if reads && down.takes() => (Side::Server, read),
            // Who does not read any more may still answer.
            did = carry_out(up.due(), &mut to_server, &up.waiting), if up.due().is_some() => {
                match did {
                    Ok((due, count)) => up.did(due, count),
                    Err(_) => up.give_up(),
                }
                continue;
            }
            did = carry_out(down.due(), &mut to_client, &down.waiting), if down.due().is_some() => match did {
                Ok((due, count)) => { down.did(due, count); continue; }
                Err(error) => { first_end.get_or_insert(Side::Client); break Err(error); }
            },
            () = async {}, if !reads && up.is_clear() && down.is_clear() => break Ok(()),
            () = &mut stopped => { first_end.get_or_insert(Side::Client); break Ok(()); }
            else => break Ok(()),
        };
        let count = match read {
            Ok(count) => count,
            Err(error) if from == Side::Client => {
                first_end.get_or_insert(Side::Client);
                break Err(error);
            }
            // What the server sent before it broke off is still the program's.
            Err(_) => 0,
        };
        if count == 0 {
            first_end.get_or_insert(from);
            if from == Side::Client {
                up.ended = true;
            } else {
                down.ended = true;
            }
            continue;
        }
        let bytes = if from == Side::Client { &client_bytes[..count] } else { &server_bytes[..count] };
        let seen = tap.take(context, from, bytes, &mut up, &mut down);
        context.keep(seen.done);
        if seen.then.is_some() {
            then = seen.then;
            (rest, early) = (seen.rest, seen.early);
        }
    };
    if let Some(then) = then
        && result.is_ok()
        && first_end.is_none()
    {
        let client = from_client.unsplit(to_client).put_back(early);
        let server = from_server.unsplit(to_server).put_back(rest);
        return Ok(Some((then, client, server)));
    }
    if let Tap::Http(tap) = &*tap
        && tap.too_long() > 0
    {
        context.shared.count(|counts| counts.dropped += tap.too_long());
    }
    context.keep(tap.end(first_end.unwrap_or(Side::Server)));
    result.map(|()| None)
}
