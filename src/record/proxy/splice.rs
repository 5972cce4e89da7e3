//! Passes bytes between two sockets, where there are many without taking them out of the kernel (splice(2)). Neither has layers above it.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{Shutdown, shutdown};
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use tokio::io::Interest;
use tokio::net::TcpStream;

use super::stream::Stream;
use crate::limits::{RELAY_BUFFER_BYTES, RELAY_PIPE_BYTES};

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

/// One direction. Who says little at once is passed on without a pipe, which costs more than the bytes.
#[derive(Default)]
pub struct Way(Option<Pipe>);

struct Pipe {
    out: OwnedFd,
    into: OwnedFd,
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
    /// Passes on what has come, which it waits for: so many bytes of it, at most [`RELAY_PIPE_BYTES`]. 0 is the end, which is passed on,
    /// too.
    pub async fn step(&mut self, from: &TcpStream, to: &TcpStream) -> io::Result<usize> {
        let Some(Pipe { out, into }) = &self.0 else {
            from.readable().await?;
            let mut said = Vec::new();
            let count = read(from, &mut said).await?;
            if count == 0 {
                end(to);
            } else if write_all(to, &said).await.is_err() {
                // Who takes nothing any more may still speak.
                return Ok(0);
            } else if count >= RELAY_BUFFER_BYTES {
                self.0 = Some(Pipe::new()?);
            }
            return Ok(count);
        };
        let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
        let from_socket = || Ok(splice(from, None, into, None, RELAY_PIPE_BYTES, flags)?);
        let to_socket = |count| Ok(splice(out, None, to, None, count, flags)?);
        // The pipe is empty, so nothing but the socket makes this wait.
        let count = from.async_io(Interest::READABLE, from_socket).await?;
        if count == 0 {
            end(to);
        }
        let mut held = count;
        while held > 0 {
            match to.async_io(Interest::WRITABLE, || to_socket(held)).await {
                Ok(passed) => held -= passed,
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
