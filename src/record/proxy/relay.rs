//! Passes bytes between the program and the real server, and shows them to whoever records.

use std::io;
use std::time::SystemTime;

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, WriteHalf, split};
use tokio::net::TcpStream;

use super::Note;
use super::bulk::{self, Stop};
use super::shared::Context;
use super::stream::Stream;
use crate::limits::{MAX_RELAY_WAITING_BYTES, RELAY_BUFFER_BYTES};
use crate::record::exchange::{Exchange, Side, Target};
use crate::record::generic::GenericRecorder;
use crate::record::http1::{self, Bulk};
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
                tap.too_long().iter().for_each(|call| context.too_long(call));
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
        self.tell(context, &seen);
        seen
    }

    fn end(&mut self, context: &Context, end: http1::End) -> Vec<Exchange> {
        let now = SystemTime::now();
        let mut seen = Seen::default();
        let steps = match self {
            Self::Http(tap) => {
                tap.end(end, now, &mut seen.done);
                tap.too_long().iter().for_each(|call| context.too_long(call));
                Vec::new()
            }
            Self::Generic(recorder) => recorder.close(end.by),
            Self::Wire(recorder) => recorder.end(now),
            Self::Nobody => Vec::new(),
        };
        apply(steps, &mut Way::default(), &mut Way::default(), &mut seen);
        self.tell(context, &seen);
        seen.done
    }

    /// Says what is not kept.
    fn tell(&self, context: &Context, seen: &Seen) {
        if seen.lost == 0 {
            return;
        }
        context.shared.count(|counts| counts.dropped += seen.lost);
        if matches!(self, Self::Generic(_)) {
            context.shared.note(Note::TurnNotKept { target: context.link.target.clone() });
        }
    }

    /// From which side a body may pass unseen.
    fn bulk_from(&mut self, state: &State) -> Option<Side> {
        [(Side::Server, &state.down), (Side::Client, &state.up)]
            .into_iter()
            .find(|(side, way)| !way.ended && self.bulk(*side).is_some())
            .map(|(side, _)| side)
    }

    /// What may pass from a side unseen.
    fn bulk(&mut self, from: Side) -> Option<Bulk<'_>> {
        match self {
            Self::Http(tap) => tap.bulk(from),
            _ => None,
        }
    }

    /// So many bytes have passed unseen.
    fn passed(&mut self, from: Side, count: u64) {
        if let Self::Http(tap) = self {
            tap.passed(from, count);
        }
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

/// Where a connection is while it is passed on.
#[derive(Default)]
struct State {
    up: Way,
    down: Way,
    /// Which side ended it first.
    first_end: Option<Side>,
    then: Option<Then>,
    rest: Vec<u8>,
    early: Vec<u8>,
    /// Calls that are complete, and kept once the program has its answer.
    done: Vec<Exchange>,
    /// Something has to be read before a body may pass unseen again.
    looks: bool,
}

/// Why bytes are no longer passed on one by one.
enum Pause {
    /// It is over.
    Over(io::Result<()>),
    /// A body may pass unseen from this side.
    Bulk(Side),
}

impl State {
    fn is_clear(&self) -> bool {
        self.up.is_clear() && self.down.is_clear()
    }

    fn way(&mut self, from: Side) -> &mut Way {
        if from == Side::Client { &mut self.up } else { &mut self.down }
    }

    /// This side has ended, and was the first if none was before.
    fn ended(&mut self, by: Side) {
        self.first_end.get_or_insert(by);
        self.way(by).ended = true;
    }
}

/// Passes bytes until both sides have ended, or until the connection becomes something else: then with both ends of it.
pub async fn relay(
    context: &Context,
    client: Stream,
    server: Stream,
    tap: &mut Tap,
) -> io::Result<Option<(Then, Stream, Stream)>> {
    let (mut client, mut server) = (client, server);
    let mut state = State::default();
    let result = loop {
        let (pause, ends) = pass(context, client, server, tap, &mut state).await;
        (client, server) = ends;
        match pause {
            Pause::Over(result) => break result,
            Pause::Bulk(from) => {
                state.looks = true;
                let (Some(client), Some(server)) = (client.socket(), server.socket()) else { continue };
                if let Some(result) = unseen(context, from, client, server, tap, &mut state).await {
                    break result;
                }
            }
        }
    };
    context.keep(state.done.drain(..));
    if let Some(then) = state.then
        && result.is_ok()
        && state.first_end.is_none()
    {
        return Ok(Some((then, client.put_back(state.early), server.put_back(state.rest))));
    }
    let end = http1::End { by: state.first_end.unwrap_or(Side::Server), server_ended: state.down.ended };
    let done = tap.end(context, end);
    context.keep(done);
    result.map(|()| None)
}

/// Has a body pass unseen; the end of all, if that is what comes of it.
async fn unseen(
    context: &Context,
    from: Side,
    client: &TcpStream,
    server: &TcpStream,
    tap: &mut Tap,
    state: &mut State,
) -> Option<io::Result<()>> {
    let (source, receiver, hears) = match from {
        Side::Client => (client, server, !state.down.ended),
        Side::Server => (server, client, !state.up.ended),
    };
    let passed = bulk::pass(context, source, receiver, tap.bulk(from)?, hears).await;
    tap.passed(from, passed.count);
    state.way(from).waiting.extend_from_slice(&passed.unwritten);
    match passed.stop {
        Stop::Due => None,
        Stop::Broken(error) if from == Side::Client => {
            state.ended(from);
            Some(Err(error))
        }
        // What the server sent before it broke off is still the program's.
        Stop::Ended | Stop::Broken(_) => {
            state.ended(from);
            None
        }
        // Who does not read any more may still answer.
        Stop::Deaf(_) if from == Side::Client => {
            state.up.give_up();
            None
        }
        Stop::Deaf(error) => {
            state.first_end.get_or_insert(Side::Client);
            Some(Err(error))
        }
        Stop::Over => {
            state.first_end.get_or_insert(Side::Client);
            Some(Ok(()))
        }
    }
}

/// Passes bytes and shows them, until there is something else to do, with both ends.
async fn pass(
    context: &Context,
    client: Stream,
    server: Stream,
    tap: &mut Tap,
    state: &mut State,
) -> (Pause, (Stream, Stream)) {
    let is_bare = client.is_bare() && server.is_bare();
    let (mut from_client, mut to_client) = split(client);
    let (mut from_server, mut to_server) = split(server);
    let mut client_bytes = vec![0; RELAY_BUFFER_BYTES];
    let mut server_bytes = vec![0; RELAY_BUFFER_BYTES];
    let stopped = context.stopped();
    tokio::pin!(stopped);
    let pause = loop {
        if state.is_clear() || state.done.len() > 1 {
            context.keep(state.done.drain(..));
        }
        let reads = state.then.is_none();
        let unseen = if is_bare && reads && !state.looks { tap.bulk_from(state) } else { None };
        if let Some(from) = unseen
            && state.is_clear()
        {
            break Pause::Bulk(from);
        }
        let reads_client = reads && state.up.takes() && unseen != Some(Side::Client);
        let reads_server = reads && state.down.takes() && unseen != Some(Side::Server);
        let (from, read) = tokio::select! {
            read = from_client.read(&mut client_bytes), if reads_client => (Side::Client, read),
            read = from_server.read(&mut server_bytes), if reads_server => (Side::Server, read),
            // Who does not read any more may still answer.
            did = carry_out(state.up.due(), &mut to_server, &state.up.waiting), if state.up.due().is_some() => {
                match did {
                    Ok((due, count)) => state.up.did(due, count),
                    Err(_) => state.up.give_up(),
                }
                continue;
            }
            did = carry_out(state.down.due(), &mut to_client, &state.down.waiting), if state.down.due().is_some() => {
                match did {
                    Ok((due, count)) => state.down.did(due, count),
                    Err(error) => {
                        state.first_end.get_or_insert(Side::Client);
                        break Pause::Over(Err(error));
                    }
                }
                continue;
            }
            () = async {}, if !reads && state.is_clear() => break Pause::Over(Ok(())),
            () = &mut stopped => {
                state.first_end.get_or_insert(Side::Client);
                break Pause::Over(Ok(()));
            }
            else => break Pause::Over(Ok(())),
        };
        state.looks = false;
        let count = match read {
            Ok(count) => count,
            Err(error) if from == Side::Client => {
                state.first_end.get_or_insert(Side::Client);
                break Pause::Over(Err(error));
            }
            // What the server sent before it broke off is still the program's.
            Err(_) => 0,
        };
        if count == 0 {
            state.ended(from);
            continue;
        }
        let bytes = if from == Side::Client { &client_bytes[..count] } else { &server_bytes[..count] };
        let seen = tap.take(context, from, bytes, &mut state.up, &mut state.down);
        state.done.extend(seen.done);
        if seen.then.is_some() {
            state.then = seen.then;
            (state.rest, state.early) = (seen.rest, seen.early);
        }
    };
    (pause, (from_client.unsplit(to_client), from_server.unsplit(to_server)))
}
