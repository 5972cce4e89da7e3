//! Relay between two plain sockets. Bulk data stays in the kernel (splice(2)).

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use replay_base::limits::RELAY_BUFFER_BYTES;
use rustix::net::{Shutdown, shutdown};
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use tokio::io::Interest;
use tokio::net::TcpStream;

use super::stream::Stream;

/// Pipes for relaying busy connections, for the whole process. Further connections are read and
/// written instead.
const MAX_RELAY_PIPES: usize = 128;
/// Size of the pipe of a relayed connection with large reads, in bytes.
const RELAY_PIPE_BYTES: usize = 256 * 1024;

/// Relays both directions until both have ended.
pub(super) async fn both_ways(client: &mut Stream, server: &mut Stream) -> io::Result<()> {
    let (asked, said) = (client.take_unread(), server.take_unread());
    let (client, server) = (client.bottom(), server.bottom());
    write_all(server, &asked).await?;
    write_all(client, &said).await?;
    tokio::try_join!(one_way(client, server), one_way(server, client))?;
    Ok(())
}

pub(super) async fn one_way(from: &TcpStream, to: &TcpStream) -> io::Result<()> {
    let mut way = CopyDirection::default();
    while way.step(from, to).await? > 0 {}
    Ok(())
}

/// One direction. Small transfers do without a pipe, which costs more than copying.
#[derive(Default)]
pub(super) struct CopyDirection {
    is_busy: bool,
}

struct Pipe {
    out: OwnedFd,
    into: OwnedFd,
}

/// Unused, empty pipes, and the number of pipes that may still be created.
static PIPES: Mutex<(Vec<Pipe>, usize)> = Mutex::new((Vec::new(), MAX_RELAY_PIPES));

const NOW: SpliceFlags = SpliceFlags::MOVE.union(SpliceFlags::NONBLOCK);

/// A pipe in use.
struct PipeLease {
    /// Taken on drop.
    pipe: Option<Pipe>,
    held: usize,
}

fn pipes() -> MutexGuard<'static, (Vec<Pipe>, usize)> {
    PIPES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PipeLease {
    /// Takes a pipe; `None` at the limit.
    fn take() -> Option<Self> {
        let mut pipes = pipes();
        let pipe = if let Some(pipe) = pipes.0.pop() {
            pipe
        } else {
            let left = pipes.1.checked_sub(1)?;
            let pipe = Pipe::new().ok()?;
            pipes.1 = left;
            pipe
        };
        Some(Self {
            pipe: Some(pipe),
            held: 0,
        })
    }

    fn fill(&self, from: &TcpStream) -> io::Result<usize> {
        let pipe = self.pipe.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(splice(from, None, &pipe.into, None, RELAY_PIPE_BYTES, NOW)?)
    }

    fn empty(&self, to: &TcpStream) -> io::Result<usize> {
        let pipe = self.pipe.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(splice(&pipe.out, None, to, None, self.held, NOW)?)
    }
}

impl Drop for PipeLease {
    fn drop(&mut self) {
        let mut pipes = pipes();
        match self.pipe.take() {
            Some(pipe) if self.held == 0 => pipes.0.push(pipe),
            _ => pipes.1 += 1,
        }
    }
}

impl Pipe {
    fn new() -> io::Result<Self> {
        let (out, into) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        // A user with many pipes gets no larger one (pipe(7), `pipe-user-pages-soft`).
        let _ = fcntl_setpipe_size(&into, RELAY_PIPE_BYTES);
        Ok(Self { out, into })
    }
}

impl CopyDirection {
    /// Waits for data and relays at most [`RELAY_PIPE_BYTES`]. Returns the number of bytes; 0 is
    /// the end of the stream, which is relayed, too.
    pub(super) async fn step(&mut self, from: &TcpStream, to: &TcpStream) -> io::Result<usize> {
        let (mut lent, count) = loop {
            from.readable().await?;
            let lent = if self.is_busy {
                PipeLease::take()
            } else {
                None
            };
            let Some(lent) = lent else {
                return self.carry(from, to).await;
            };
            // The pipe is empty, so only the socket can block. Meanwhile others may use the pipe.
            match from.try_io(Interest::READABLE, || lent.fill(from)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                count => break (lent, count?),
            }
        };
        if count == 0 {
            end(to);
        }
        lent.held = count;
        while lent.held > 0 {
            match to.async_io(Interest::WRITABLE, || lent.empty(to)).await {
                Ok(passed) => lent.held -= passed,
                Err(_) => return Ok(0),
            }
        }
        Ok(count)
    }

    /// Relays without a pipe.
    async fn carry(&mut self, from: &TcpStream, to: &TcpStream) -> io::Result<usize> {
        let mut said = Vec::new();
        let count = read(from, &mut said).await?;
        if count == 0 {
            end(to);
        } else if write_all(to, &said).await.is_err() {
            // A side that accepts nothing more may still send.
            return Ok(0);
        }
        self.is_busy = count >= RELAY_BUFFER_BYTES;
        Ok(count)
    }
}

/// Closes the sending side.
pub(super) fn end(to: &TcpStream) {
    // A closed peer needs no notice.
    let _ = shutdown(to, Shutdown::Write);
}

/// Reads once and appends; 0 is the end of the stream.
pub(super) async fn read(from: &TcpStream, into: &mut Vec<u8>) -> io::Result<usize> {
    into.reserve(RELAY_BUFFER_BYTES);
    from.async_io(Interest::READABLE, || from.try_read_buf(into))
        .await
}

pub(super) async fn write_all(to: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let count = to
            .async_io(Interest::WRITABLE, || to.try_write(bytes))
            .await?;
        bytes = &bytes[count..];
    }
    Ok(())
}
