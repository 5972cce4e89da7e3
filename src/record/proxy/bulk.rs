//! Passes long bodies on between two sockets: what was read goes on from where it is kept, without another copy.

use std::io;

use bytes::BufMut as _;
use tokio::net::TcpStream;

use super::context::Context;
use crate::limits::{RELAY_BULK_READ_BYTES, RELAY_BULK_READS};
use crate::record::http::h1::Bulk;
use crate::sandbox::back_with_pages;

/// Why no more passes this way.
#[derive(Debug)]
pub enum Stop {
    /// It is done, or the receiver says something itself.
    Due,
    /// The source has ended.
    Ended,
    /// The source broke off.
    Broken(io::Error),
    /// The receiver takes nothing any more.
    Deaf(io::Error),
    /// All is to end.
    Over,
}

/// What has passed.
#[derive(Debug)]
pub struct Passed {
    /// How many bytes were read.
    pub count: u64,
    /// The last of them, which were not written yet.
    pub unwritten: Vec<u8>,
    /// Why it ended.
    pub stop: Stop,
}

/// Passes bytes on, which are kept as `bulk` says. With `hears` it ends when the receiver says something.
pub async fn pass(context: &Context, from: &TcpStream, to: &TcpStream, bulk: Bulk<'_>, hears: bool) -> Passed {
    let mut own = Vec::new();
    let keeps = bulk.kept.is_some();
    let into = bulk.kept.unwrap_or(&mut own);
    let mut count = 0;
    let mut reads = 0;
    // What was written of what was read.
    let mut written = into.len();
    // Up to where its memory has pages.
    let mut backed = 0;
    let stop = loop {
        let left = bulk.most - count;
        if left == 0 {
            break Stop::Due;
        }
        if !keeps {
            into.clear();
            written = 0;
        }
        match read(context, from, to, (into, &mut backed), left, hears).await {
            Ok(read) => count += read as u64,
            Err(stop) => break stop,
        }
        if let Err(stop) = write(context, to, into, &mut written, hears).await {
            break stop;
        }
        reads += 1;
        if reads % RELAY_BULK_READS == 0 {
            tokio::task::yield_now().await;
        }
    };
    let unwritten = into[written..].to_vec();
    Passed { count, unwritten, stop }
}

/// Reads once, behind what is there; how much it was.
async fn read(
    context: &Context,
    from: &TcpStream,
    to: &TcpStream,
    (into, backed): (&mut Vec<u8>, &mut usize),
    left: u64,
    hears: bool,
) -> Result<usize, Stop> {
    let most = usize::try_from(left).unwrap_or(usize::MAX).min(RELAY_BULK_READ_BYTES);
    into.reserve(most);
    if into.len() >= *backed {
        back_with_pages(&mut into.spare_capacity_mut()[..most]);
        *backed = into.len() + most;
    }
    loop {
        match from.try_read_buf(&mut (&mut *into).limit(most)) {
            Ok(0) => return Err(Stop::Ended),
            Ok(read) => return Ok(read),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(Stop::Broken(error)),
        }
        tokio::select! {
            biased;
            ready = from.readable() => ready.map_err(Stop::Broken)?,
            () = speaks(to), if hears => return Err(Stop::Due),
            () = context.stopped() => return Err(Stop::Over),
        }
    }
}

/// Writes what was not written.
async fn write(context: &Context, to: &TcpStream, bytes: &[u8], written: &mut usize, hears: bool) -> Result<(), Stop> {
    while *written < bytes.len() {
        match to.try_write(&bytes[*written..]) {
            Ok(count) => *written += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => tokio::select! {
                biased;
                ready = to.writable() => ready.map_err(Stop::Deaf)?,
                () = speaks(to), if hears => return Err(Stop::Due),
                () = context.stopped() => return Err(Stop::Over),
            },
            Err(error) => return Err(Stop::Deaf(error)),
        }
    }
    Ok(())
}

/// Until there is something to be read, an end or an error included.
async fn speaks(socket: &TcpStream) {
    let mut byte = [0];
    let _ = socket.peek(&mut byte).await;
}
