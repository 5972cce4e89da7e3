//! Passes bytes between two sockets without taking them out of the kernel (splice(2)). Neither has layers above it.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{Shutdown, shutdown};
use rustix::pipe::{PipeFlags, SpliceFlags, pipe_with, splice};
use tokio::io::Interest;
use tokio::net::TcpStream;

use super::stream::Stream;
use crate::limits::RELAY_BUFFER_BYTES;

/// Most bytes of one call: what a pipe holds (pipe(7)).
pub const PIECE_BYTES: usize = 64 * 1024;

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
    from.readable().await?;
    let mut way = Way::new()?;
    while way.step(from, to).await? > 0 {}
    Ok(())
}

/// One direction.
pub struct Way {
    out: OwnedFd,
    into: OwnedFd,
}

impl Way {
    pub fn new() -> io::Result<Self> {
        let (out, into) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        Ok(Self { out, into })
    }

    /// Passes on what has come, which it waits for: so many bytes of it, at most [`PIECE_BYTES`]. 0 is the end, which is passed on, too.
    pub async fn step(&mut self, from: &TcpStream, to: &TcpStream) -> io::Result<usize> {
        let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
        let from_socket = || Ok(splice(from, None, &self.into, None, PIECE_BYTES, flags)?);
        let to_socket = |count| Ok(splice(&self.out, None, to, None, count, flags)?);
        // The pipe is empty, so nothing but the socket makes this wait.
        let count = from.async_io(Interest::READABLE, from_socket).await?;
        if count == 0 {
            end(to);
        }
        let mut held = count;
        while held > 0 {
            match to.async_io(Interest::WRITABLE, || to_socket(held)).await {
                Ok(passed) => held -= passed,
                // Who takes nothing any more may still speak.
                Err(_) => return Ok(0),
            }
        }
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
    from.async_io(Interest::READABLE, || from.try_read_buf(into)).await
}

pub async fn write_all(to: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let count = to.async_io(Interest::WRITABLE, || to.try_write(bytes)).await?;
        bytes = &bytes[count..];
    }
    Ok(())
}
