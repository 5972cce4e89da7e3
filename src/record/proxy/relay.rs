//! Relay of bytes between the program and the real server, observed by a tap.

use std::io;
use std::time::Duration;

use replay_base::budget::Share;
use replay_base::limits::{RELAY_BUFFER_BYTES, RELAY_BUFFER_KEPT_BYTES};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, ReadHalf, WriteHalf, split};
use tokio::time::{sleep, timeout};

use super::context::Context;
use super::stream::Stream;
use super::tap::{NextPhase, Tap};
use crate::call::{Exchange, Side};
use crate::http::h1;

/// Read buffer of a recorded connection as far as the budget has room for it, in bytes.
const MAX_RELAY_BUFFER_BYTES: usize = 1024 * 1024;
/// Idle time after which a connection gives that up, in milliseconds.
const RELAY_QUIET_MS: u64 = 1_000;

/// Time after the end of the program for its last bytes, in milliseconds.
const LAST_READ_MS: u64 = 100;

/// Buffer of one direction. It reads nothing while bytes are pending.
#[derive(Default)]
struct Direction {
    /// Bytes that are not written and flushed yet.
    waiting: Vec<u8>,
    written: usize,
    ended: bool,
    /// `true` after the end was forwarded.
    shut: bool,
    /// Budget share of the buffer above the size that each connection has.
    extra: Share,
}

enum RelayStep {
    /// Number of bytes read, now pending; 0 is the end of the stream.
    Read(io::Result<usize>),
    /// All pending bytes were written, or the end was forwarded.
    Wrote(io::Result<()>),
}

impl Direction {
    /// Performs the next read or write. Dropping the future loses no data.
    async fn step(
        &mut self,
        from: &mut ReadHalf<Stream>,
        to: &mut WriteHalf<Stream>,
        reads: bool,
    ) -> RelayStep {
        if !self.waiting.is_empty() || self.ended && !self.shut {
            return RelayStep::Wrote(self.pass(to).await);
        }
        if self.ended || !reads {
            return std::future::pending().await;
        }
        self.waiting.reserve(RELAY_BUFFER_BYTES);
        let mut read = None;
        if self.extra.bytes() > 0 {
            read = timeout(
                Duration::from_millis(RELAY_QUIET_MS),
                from.read_buf(&mut self.waiting),
            )
            .await
            .ok();
            if read.is_none() {
                self.waiting.shrink_to(RELAY_BUFFER_KEPT_BYTES);
                self.extra.shrink(0);
            }
        }
        let read = match read {
            Some(read) => read,
            None => from.read_buf(&mut self.waiting).await,
        };
        let filled = self.waiting.capacity();
        let more = (2 * filled).saturating_sub(RELAY_BUFFER_KEPT_BYTES + self.extra.bytes());
        let is_full = self.waiting.len() == filled && filled < MAX_RELAY_BUFFER_BYTES;
        if is_full && self.extra.try_grow(more).is_ok() {
            self.waiting.reserve(filled);
        }
        RelayStep::Read(read)
    }

    async fn write(&mut self, to: &mut WriteHalf<Stream>) -> io::Result<()> {
        while self.written < self.waiting.len() {
            self.written += to.write(&self.waiting[self.written..]).await?;
        }
        to.flush().await
    }

    /// Writes pending bytes, and forwards the end of the stream.
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

    /// Clears the buffer and shrinks it to its permitted size.
    fn clear(&mut self) {
        self.waiting.clear();
        self.waiting
            .shrink_to(RELAY_BUFFER_KEPT_BYTES + self.extra.bytes());
        self.written = 0;
    }

    /// Closes the direction: the receiver accepts nothing more.
    fn give_up(&mut self) {
        *self = Self {
            ended: true,
            shut: true,
            ..Self::default()
        };
    }
}

#[derive(Default)]
struct RelayState {
    up: Direction,
    down: Direction,
    first_end: Option<Side>,
    then: Option<NextPhase>,
    /// Complete calls, recorded once the program has its answer.
    done: Vec<Exchange>,
    /// `true` if the program received data after it closed its sending side.
    heard: bool,
    /// Budget share of incomplete calls.
    held: Share,
}

impl RelayState {
    /// Marks a side as ended, and as the first if it is.
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

/// Relays until both sides have ended. If the connection changes its protocol first, returns both
/// ends.
pub(super) async fn relay(
    context: &Context,
    client: Stream,
    server: Stream,
    tap: &mut Tap,
) -> io::Result<Option<(NextPhase, Stream, Stream)>> {
    let direction = || Direction {
        extra: context.shared.share(),
        ..Direction::default()
    };
    let mut state = RelayState {
        up: direction(),
        down: direction(),
        held: context.shared.share(),
        ..RelayState::default()
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
    let end = h1::ConnectionEnd {
        by,
        server_ended: state.down.ended && (by == Side::Server || state.heard),
    };
    let done = tap.end(context, end);
    context.keep(done);
    result.map(|()| None)
}

/// Relays and observes until the end or a change of protocol. Returns both ends.
async fn pass(
    context: &Context,
    client: Stream,
    server: Stream,
    tap: &mut Tap,
    state: &mut RelayState,
) -> (io::Result<()>, Stream, Stream) {
    let (mut from_client, mut to_client) = split(client);
    let (mut from_server, mut to_server) = split(server);
    let stopped = context.stopped();
    let last_read = async {
        context.stopped().await;
        sleep(Duration::from_millis(LAST_READ_MS)).await;
    };
    tokio::pin!(stopped, last_read);
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
            () = &mut stopped, if state.up.ended => break Ok(()),
            () = &mut last_read => {
                state.first_end.get_or_insert(Side::Client);
                break Ok(());
            }
        };
        match (step, from) {
            (RelayStep::Wrote(Ok(())), _) => continue,
            // A side that no longer reads may still answer.
            (RelayStep::Wrote(Err(_)), Side::Client) => {
                state.up.give_up();
                continue;
            }
            (RelayStep::Wrote(Err(error)), Side::Server)
            | (RelayStep::Read(Err(error)), Side::Client) => {
                state.first_end.get_or_insert(Side::Client);
                break Err(error);
            }
            // Data that the server sent before the break belongs to the program.
            (RelayStep::Read(Ok(0) | Err(_)), _) => {
                state.ended(from);
                continue;
            }
            (RelayStep::Read(Ok(_)), _) => {}
        }
        let is_late = from == Side::Server && state.up.ended;
        if is_late {
            // The program may have left, or may only listen. The next write shows which.
            let passed = tokio::select! {
                passed = state.down.write(&mut to_client) => passed,
                () = &mut stopped => break Ok(()),
            };
            let client = from_client.unsplit(to_client);
            let is_gone = client.is_gone();
            (from_client, to_client) = split(client);
            if passed.is_err() || is_gone {
                // Undelivered data is no answer.
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
        tap.charge_memory(context, &mut state.held);
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
