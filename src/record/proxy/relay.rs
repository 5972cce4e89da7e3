//! Passes bytes between the program and the real server, and shows them to whoever records.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, ReadHalf, WriteHalf, split};
use tokio::time::timeout;

use super::context::Context;
use super::stream::Stream;
use super::tap::{Tap, Then};
use crate::budget::Share;
use crate::limits::{
    MAX_RELAY_BUFFER_BYTES, RELAY_BUFFER_BYTES, RELAY_BUFFER_KEPT_BYTES, RELAY_QUIET_MS,
};
use crate::record::call::{Exchange, Side};
use crate::record::http::h1;

/// Bytes on their way in one direction. Nothing is read while some wait.
#[derive(Default)]
struct Direction {
    /// What is not written and flushed yet.
    waiting: Vec<u8>,
    written: usize,
    ended: bool,
    /// That was passed on too.
    shut: bool,
    /// What the buffer takes of the budget, beyond what every connection has.
    beyond: Share,
}

enum Step {
    /// So many bytes were read, which wait now; 0 is the end.
    Read(io::Result<usize>),
    /// All that waited was written, or the end was passed on.
    Wrote(io::Result<()>),
}

impl Direction {
    /// Does what is due. When it is dropped before it is ready, nothing is lost.
    async fn step(
        &mut self,
        from: &mut ReadHalf<Stream>,
        to: &mut WriteHalf<Stream>,
        reads: bool,
    ) -> Step {
        if !self.waiting.is_empty() || self.ended && !self.shut {
            return Step::Wrote(self.pass(to).await);
        }
        if self.ended || !reads {
            return std::future::pending().await;
        }
        self.waiting.reserve(RELAY_BUFFER_BYTES);
        let mut read = None;
        if self.beyond.bytes() > 0 {
            read = timeout(
                Duration::from_millis(RELAY_QUIET_MS),
                from.read_buf(&mut self.waiting),
            )
            .await
            .ok();
            if read.is_none() {
                self.waiting.shrink_to(RELAY_BUFFER_KEPT_BYTES);
                self.beyond.shrink(0);
            }
        }
        let read = match read {
            Some(read) => read,
            None => from.read_buf(&mut self.waiting).await,
        };
        let filled = self.waiting.capacity();
        let more = (2 * filled).saturating_sub(RELAY_BUFFER_KEPT_BYTES + self.beyond.bytes());
        let is_full = self.waiting.len() == filled && filled < MAX_RELAY_BUFFER_BYTES;
        if is_full && self.beyond.try_grow(more).is_ok() {
            self.waiting.reserve(filled);
        }
        Step::Read(read)
    }

    async fn write(&mut self, to: &mut WriteHalf<Stream>) -> io::Result<()> {
        while self.written < self.waiting.len() {
            self.written += to.write(&self.waiting[self.written..]).await?;
        }
        to.flush().await
    }

    /// The same, and passes the end on if there was one.
    async fn pass(&mut self, to: &mut WriteHalf<Stream>) -> io::Result<()> {
        if !self.waiting.is_empty() {
            self.write(to).await?;
            self.clear();
        }
        if self.ended {
            to.shutdown().await?;
            self.shut = true;
        }
        Ok(())
    }

    /// Nothing waits any more.
    fn clear(&mut self) {
        self.waiting.clear();
        self.waiting
            .shrink_to(RELAY_BUFFER_KEPT_BYTES + self.beyond.bytes());
        self.written = 0;
    }

    /// Nobody takes anything any more.
    fn give_up(&mut self) {
        *self = Self {
            ended: true,
            shut: true,
            ..Self::default()
        };
    }
}

#[derive(Default)]
struct State {
    up: Direction,
    down: Direction,
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
    /// This side has ended, and was the first if none was before.
    fn ended(&mut self, by: Side) {
        self.first_end.get_or_insert(by);
        let way = if by == Side::Client {
            &mut self.up
        } else {
            &mut self.down
        };
        way.ended = true;
    }
}

/// Passes bytes until both sides have ended, or until the connection becomes something else: then
/// with both ends of it.
pub async fn relay(
    context: &Context,
    client: Stream,
    server: Stream,
    tap: &mut Tap,
) -> io::Result<Option<(Then, Stream, Stream)>> {
    let direction = || Direction {
        beyond: context.shared.share(),
        ..Direction::default()
    };
    let mut state = State {
        up: direction(),
        down: direction(),
        held: context.shared.share(),
        ..State::default()
    };
    let (result, client, server) = pass(context, client, server, tap, &mut state).await;
    context.keep(state.done.drain(..));
    if let Some(then) = state.then
        && result.is_ok()
        && state.first_end.is_none()
    {
        return Ok(Some((then, client, server)));
    }
    let by = state.first_end.unwrap_or(Side::Server);
    let end = h1::End {
        by,
        server_ended: state.down.ended && (by == Side::Server || state.heard),
    };
    let done = tap.end(context, end);
    context.keep(done);
    result.map(|()| None)
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
    let stopped = context.stopped();
    tokio::pin!(stopped);
    let result = loop {
        let is_clear = state.up.waiting.is_empty() && state.down.waiting.is_empty();
        if is_clear || state.done.len() > 1 {
            context.keep(state.done.drain(..));
        }
        let reads = state.then.is_none();
        if is_clear && !reads || state.up.shut && state.down.shut {
            break Ok(());
        }
        let (from, step) = tokio::select! {
            step = state.up.step(&mut from_client, &mut to_server, reads) => (Side::Client, step),
            step = state.down.step(&mut from_server, &mut to_client, reads) => (Side::Server, step),
            () = &mut stopped => {
                state.first_end.get_or_insert(Side::Client);
                break Ok(());
            }
        };
        match (step, from) {
            (Step::Wrote(Ok(())), _) => continue,
            // Who does not read any more may still answer.
            (Step::Wrote(Err(_)), Side::Client) => {
                state.up.give_up();
                continue;
            }
            (Step::Wrote(Err(error)), Side::Server) | (Step::Read(Err(error)), Side::Client) => {
                state.first_end.get_or_insert(Side::Client);
                break Err(error);
            }
            // What the server sent before it broke off is still the program's.
            (Step::Read(Ok(0) | Err(_)), _) => {
                state.ended(from);
                continue;
            }
            (Step::Read(Ok(_)), _) => {}
        }
        let is_late = from == Side::Server && state.up.ended;
        if is_late {
            // The program may have left, or have no more to say and listen: which of the two it is
            // shows once it was given something.
            let passed = tokio::select! {
                passed = state.down.write(&mut to_client) => passed,
                () = &mut stopped => break Ok(()),
            };
            let client = from_client.unsplit(to_client);
            let is_gone = client.is_gone();
            (from_client, to_client) = split(client);
            if passed.is_err() || is_gone {
                // What nobody was given is no answer.
                break passed;
            }
            state.heard = true;
        }
        let seen = tap.take(
            context,
            from,
            &mut state.up.waiting,
            &mut state.down.waiting,
        );
        if is_late {
            state.down.clear();
        }
        tap.hold(context, &mut state.held);
        state.done.extend(seen.done);
        if seen.then.is_some() {
            state.then = seen.then;
        }
    };
    (
        result,
        from_client.unsplit(to_client),
        from_server.unsplit(to_server),
    )
}

#[cfg(test)]
mod tests;
