//! Passes bytes between two sockets, where there are many without taking them out of the kernel
//! (splice(2)). Neither has layers above it.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::net::{Shutdown, shutdown};
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use tokio::io::Interest;
use tokio::net::TcpStream;

use super::stream::Stream;
use crate::limits::{MAX_RELAY_PIPES, RELAY_BUFFER_BYTES, RELAY_PIPE_BYTES};

/// Passes on what both say until both have ended.
pub async fn both_ways(client: &mut Stream, server: &mut Stream) -> io::Result<()> {
    let (asked, said) = (client.take_before(), server.take_before());
    let (client, server) = (client.bottom(), server.bottom());
    write_all(server, &asked).await?;
    write_all(client, &said).await?;
    tokio::try_join!(one_way(client, server), one_way(server, client))?;
    Ok(())
}

pub async fn one_way(from: &TcpStream, to: &TcpStream) -> io::Result<()> {
    let mut way = Way::default();
    while way.step(from, to).await? > 0 {}
    Ok(())
}

/// One direction. Who says little at once is passed on without a pipe, which costs more than the
/// bytes.
#[derive(Default)]
pub struct Way {
    is_busy: bool,
}

struct Pipe {
    out: OwnedFd,
    into: OwnedFd,
}

/// Pipes that nobody uses now, all empty, and how many more there may be.
static PIPES: Mutex<(Vec<Pipe>, usize)> = Mutex::new((Vec::new(), MAX_RELAY_PIPES));

const NOW: SpliceFlags = SpliceFlags::MOVE.union(SpliceFlags::NONBLOCK);

/// A pipe while something passes through it.
struct Lent {
    /// Taken by its drop.
    pipe: Option<Pipe>,
    held: usize,
}

fn pipes() -> MutexGuard<'static, (Vec<Pipe>, usize)> {
    PIPES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Lent {
    /// `None` if as many are used as there may be.
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

impl Drop for Lent {
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
        // Users with many get no more (pipe(7), `pipe-user-pages-soft`).
        let _ = fcntl_setpipe_size(&into, RELAY_PIPE_BYTES);
        Ok(Self { out, into })
    }
}

impl Way {
    /// Passes on what has come, which it waits for: so many bytes of it, at most
    /// [`RELAY_PIPE_BYTES`]. 0 is the end, which is passed on, too.
    pub async fn step(&mut self, from: &TcpStream, to: &TcpStream) -> io::Result<usize> {
        let (mut lent, count) = loop {
            from.readable().await?;
            let lent = if self.is_busy { Lent::take() } else { None };
            let Some(lent) = lent else {
                return self.carry(from, to).await;
            };
            // The pipe is empty, so nothing but the socket makes this wait; then the pipe is for
            // others.
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

    /// The same without a pipe.
    async fn carry(&mut self, from: &TcpStream, to: &TcpStream) -> io::Result<usize> {
        let mut said = Vec::new();
        let count = read(from, &mut said).await?;
        if count == 0 {
            end(to);
        } else if write_all(to, &said).await.is_err() {
            // Who takes nothing any more may still speak.
            return Ok(0);
        }
        self.is_busy = count >= RELAY_BUFFER_BYTES;
        Ok(count)
    }
}

/// Passes on that nothing more comes.
pub fn end(to: &TcpStream) {
    // Who is gone has no need to hear it.
    let _ = shutdown(to, Shutdown::Write);
}

/// Reads once and appends; 0 is the end.
pub async fn read(from: &TcpStream, into: &mut Vec<u8>) -> io::Result<usize> {
    into.reserve(RELAY_BUFFER_BYTES);
    from.async_io(Interest::READABLE, || from.try_read_buf(into))
        .await
}

pub async fn write_all(to: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let count = to
            .async_io(Interest::WRITABLE, || to.try_write(bytes))
            .await?;
        bytes = &bytes[count..];
    }
    Ok(())
}
