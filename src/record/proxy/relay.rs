//! Passes bytes between the program and the real server, and shows them to whoever records.

use std::io;

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, WriteHalf, split};

use super::context::Context;
use super::stream::Stream;
use super::tap::{Tap, Then};
use crate::budget::Share;
use crate::limits::{MAX_RELAY_WAITING_BYTES, RELAY_BUFFER_BYTES};
use crate::record::call::{Exchange, Side};
use crate::record::http::h1;

/// Bytes on their way in one direction.
#[derive(Default)]
pub struct Way {
    /// What was not written yet.
    pub waiting: BytesMut,
    /// Something was written that may still lie in a layer.
    unflushed: bool,
    /// The source has ended.
    pub ended: bool,
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

/// Where a connection is while it is passed on.
struct State {
    up: Way,
    down: Way,
    /// Which side ended it first.
    first_end: Option<Side>,
    then: Option<Then>,
    /// Calls that are complete, and kept once the program has its answer.
    done: Vec<Exchange>,
    /// The program was given something after it had said all that it had to say.
    heard: bool,
    /// What calls that are not complete take of the budget.
    held: Share,
}

impl State {
    fn new(held: Share) -> Self {
        Self {
            up: Way::default(),
            down: Way::default(),
            first_end: None,
            then: None,
            done: Vec::new(),
            heard: false,
            held,
        }
    }

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
    let mut state = State::new(context.shared.share());
    let (result, client, server) = pass(context, client, server, tap, &mut state).await;
    context.keep(state.done.drain(..));
    if let Some(then) = state.then
        && result.is_ok()
        && state.first_end.is_none()
    {
        return Ok(Some((then, client, server)));
    }
    let by = state.first_end.unwrap_or(Side::Server);
    let end = h1::End { by, server_ended: state.down.ended && (by == Side::Server || state.heard) };
    let done = tap.end(context, end);
    context.keep(done);
    result.map(|()| None)
}

/// Gives the program what comes after its end, and what waits for it. It may have left, or have no more to say and listen:
/// which of the two it is shows once it was given something.
async fn pass_late(client: &mut Stream, down: &mut Way, bytes: &[u8]) -> io::Result<()> {
    client.write_all_buf(&mut down.waiting).await?;
    client.write_all(bytes).await?;
    client.flush().await
}

/// Passes bytes and shows them, until it is over or there is something else to do; with both ends.
async fn pass(
    context: &Context,
    client: Stream,
    server: Stream,
    tap: &mut Tap,
    state: &mut State,
) -> (io::Result<()>, Stream, Stream) {
    let (mut from_client, mut to_client) = split(client);
    let (mut from_server, mut to_server) = split(server);
    let mut client_bytes = vec![0; RELAY_BUFFER_BYTES];
    let mut server_bytes = vec![0; RELAY_BUFFER_BYTES];
    let stopped = context.stopped();
    tokio::pin!(stopped);
    let result = loop {
        if state.is_clear() || state.done.len() > 1 {
            context.keep(state.done.drain(..));
        }
        let reads = state.then.is_none();
        let (from, read) = tokio::select! {
            read = from_client.read(&mut client_bytes), if reads && state.up.takes() => (Side::Client, read),
            read = from_server.read(&mut server_bytes), if reads && state.down.takes() => (Side::Server, read),
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
                        break Err(error);
                    }
                }
                continue;
            }
            () = async {}, if !reads && state.is_clear() => break Ok(()),
            () = &mut stopped => {
                state.first_end.get_or_insert(Side::Client);
                break Ok(());
            }
            else => break Ok(()),
        };
        let count = match read {
            Ok(count) => count,
            Err(error) if from == Side::Client => {
                state.first_end.get_or_insert(Side::Client);
                break Err(error);
            }
            // What the server sent before it broke off is still the program's.
            Err(_) => 0,
        };
        if count == 0 {
            state.ended(from);
            continue;
        }
        let bytes = if from == Side::Client { &client_bytes[..count] } else { &server_bytes[..count] };
        let seen = if from == Side::Server && state.up.ended {
            let mut client = from_client.unsplit(to_client);
            let passed = tokio::select! {
                passed = pass_late(&mut client, &mut state.down, bytes) => passed,
                () = &mut stopped => Ok(()),
            };
            let gone = client.is_gone();
            (from_client, to_client) = split(client);
            if passed.is_err() || gone {
                // What nobody was given is no answer.
                break passed;
            }
            state.heard = true;
            tap.take(context, from, bytes, &mut state.up, &mut Way::default())
        } else {
            tap.take(context, from, bytes, &mut state.up, &mut state.down)
        };
        tap.hold(context, &mut state.held);
        state.done.extend(seen.done);
        if seen.then.is_some() {
            state.then = seen.then;
        }
    };
    (result, from_client.unsplit(to_client), from_server.unsplit(to_server))
}
