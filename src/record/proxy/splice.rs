//! Passes bytes between two sockets without taking them out of the kernel (splice(2)).

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{Shutdown, shutdown};
use rustix::pipe::{PipeFlags, SpliceFlags, pipe_with, splice};
use tokio::io::{AsyncWriteExt as _, Interest};
use tokio::net::TcpStream;

use super::stream::Stream;

/// Most bytes of one call: what a pipe holds (pipe(7)).
const PIECE_BYTES: usize = 64 * 1024;

/// Passes on what both say until both have ended. Neither has layers above its socket.
pub async fn both_ways(client: &mut Stream, server: &mut Stream) -> io::Result<()> {
    let (asked, said) = (client.take_before(), server.take_before());
    server.write_all(&asked).await?;
    client.write_all(&said).await?;
    server.flush().await?;
    client.flush().await?;
    tokio::try_join!(one_way(client.bottom(), server.bottom()), one_way(server.bottom(), client.bottom()))?;
    Ok(())
}

async fn one_way(from: &TcpStream, to: &TcpStream) -> io::Result<()> {
    from.readable().await?;
    let (out, into) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
    let from_socket = |into: &OwnedFd| Ok(splice(from, None, into, None, PIECE_BYTES, flags)?);
    let to_socket = |out: &OwnedFd, count| Ok(splice(out, None, to, None, count, flags)?);
    loop {
        // The pipe is empty, so nothing but the socket makes this wait.
        let mut held = from.async_io(Interest::READABLE, || from_socket(&into)).await?;
        if held == 0 {
            // Who is gone has no need to hear it.
            let _ = shutdown(to, Shutdown::Write);
            return Ok(());
        }
        while held > 0 {
            held -= to.async_io(Interest::WRITABLE, || to_socket(&out, held)).await?;
        }
    }
}
