//! One connection that goes through: what the program says first is held against the name that it was let through for. TLS is
//! not opened unless a rule is about what is said inside.

use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::Notify;

use super::context::Context;
use super::misfit::{Misfit, fits};
use super::opening::is_settings;
use super::splice::Way;
use super::stream::Stream;
use super::{login, opened, splice, tls};
use crate::limits::{RELAY_BUFFER_BYTES, RELAY_PIPE_BYTES};
use crate::record::call::Target;
use crate::record::http::h1::{self, Answered, Message, Reader};

/// What the program speaks.
enum Spoken {
    Tls,
    Http {
        /// So many bytes of it have the server already.
        passed: usize,
    },
    /// Something in which nothing says a name.
    Other,
}

/// Passes a connection on until both sides have ended, or until the program says what does not fit.
pub async fn converse(context: &Context, client: Stream, server: Stream) -> io::Result<()> {
    let (target, door) = (&context.link.target, context.shared.wires.door());
    let ended = |error: &io::Error| {
        if let (Some(door), Some(misfit)) = (door, error.get_ref().and_then(|inner| inner.downcast_ref::<Misfit>())) {
            door.ended(target, misfit.clone(), context.by);
        }
    };
    if let Some(stand_in) = door.and_then(|door| door.login(target)) {
        return tokio::select! {
            served = login::serve(context, stand_in, client, server) => served,
            () = context.stopped() => Ok(()),
        };
    }
    if let Some(inspector) = door.and_then(|door| door.opens(target, context.by)) {
        let served = tokio::select! {
            served = opened::serve(context, inspector, client, server) => served,
            () = context.stopped() => Ok(()),
        };
        return served.inspect_err(ended);
    }
    let mut ends = (client, server);
    let passed = tokio::select! {
        passed = pass(target, &mut ends) => passed,
        () = context.stopped() => Ok(()),
    };
    let Err(error) = passed else { return Ok(()) };
    ended(&error);
    // Each side hears that it was cut off.
    ends.0.reset();
    ends.1.reset();
    Err(error)
}

async fn pass(target: &Target, ends: &mut (Stream, Stream)) -> io::Result<()> {
    if target.host.parse::<IpAddr>().is_err() {
        match spoken(target, ends).await? {
            Spoken::Tls => said_by_tls(target, &mut ends.0).await?,
            Spoken::Http { passed } => return http(target, ends, passed).await,
            Spoken::Other => {}
        }
    }
    let (client, server) = ends;
    splice::both_ways(client, server).await
}

/// Finds out what is spoken. What has come by then is read again, but for what was passed on: where anything may be spoken the server has
/// at once what comes, since a line that has no end yet asks for nothing.
async fn spoken(target: &Target, (client, server): &mut (Stream, Stream)) -> io::Result<Spoken> {
    let is_web = [80, 443].contains(&target.port);
    let (mut asked, mut said, mut passed) = (Vec::new(), Vec::new(), 0);
    let spoken = loop {
        let read = tokio::select! {
            read = client.more(&mut asked) => read?,
            read = server.more(&mut said) => read?,
        };
        if read == 0 {
            break Spoken::Other;
        }
        if is_settings(&said) {
            return Err(io::Error::other(Misfit::Tunnel));
        }
        if !said.is_empty() {
            break Spoken::Other;
        }
        if let Some(spoken) = recognise(&asked) {
            break spoken.map_err(io::Error::other)?;
        }
        // It may be the first byte of TLS.
        if !is_web && asked != [0x16] {
            server.write_all(&asked[passed..]).await?;
            server.flush().await?;
            passed = asked.len();
        }
    };
    let is_silent = asked.is_empty();
    let again = if matches!(spoken, Spoken::Http { .. }) { asked } else { asked.split_off(passed) };
    client.put_back_now(again);
    server.put_back_now(said);
    match spoken {
        Spoken::Other if is_web && !is_silent => Err(io::Error::other(Misfit::Unknown)),
        Spoken::Http { .. } => Ok(Spoken::Http { passed }),
        spoken => Ok(spoken),
    }
}

/// What begins so; `None` if more is needed to tell.
fn recognise(asked: &[u8]) -> Option<Result<Spoken, Misfit>> {
    // A client may send empty lines before a request (RFC 9112, 2.2).
    let start = asked.iter().position(|byte| !b"\r\n".contains(byte))?;
    match &asked[start..] {
        // handshake, then a version of SSL 3.0 to TLS 1.x (RFC 8446, 5.1).
        [0x16] => return None,
        [0x16, 3, ..] => return Some(Ok(Spoken::Tls)),
        _ => {}
    }
    let line = asked[start..].split(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_whole = start + line.len() < asked.len();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // Of a request, and so not of a line of HTTP/0.9, which has no version and no name.
    let is_text = line.iter().all(|byte| matches!(byte, b' '..=b'~' | 0x80..));
    if !is_text || line.len() > RELAY_BUFFER_BYTES {
        return Some(Ok(Spoken::Other));
    }
    if !is_whole {
        return None;
    }
    let version = line.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
    Some(match version {
        b"HTTP/2.0" => Err(Misfit::Tunnel),
        version if version.starts_with(b"HTTP/") => Ok(Spoken::Http { passed: 0 }),
        _ => Ok(Spoken::Other),
    })
}

async fn said_by_tls(target: &Target, client: &mut Stream) -> io::Result<()> {
    let name = match tls::read_hello(client).await {
        Ok(hello) => hello.name,
        Err(error) if matches!(error.kind(), io::ErrorKind::Other | io::ErrorKind::InvalidData) => None,
        Err(error) => return Err(error),
    };
    let fits = name.map_or(Err(Misfit::NoName), |name| fits(target, &name));
    fits.map_err(io::Error::other)
}

/// What becomes of a connection whose client asks for another protocol.
#[derive(Default)]
struct Switch {
    /// The next answer decides.
    is_awaited: AtomicBool,
    /// What was decided.
    decided: Notify,
    is_other: AtomicBool,
}

/// Passes requests on, each once its head fits, and answers as they are, until both sides have ended.
async fn http(target: &Target, (client, server): &mut (Stream, Stream), passed: usize) -> io::Result<()> {
    let asked = client.take_before();
    let (client, server, switch) = (client.bottom(), server.bottom(), Switch::default());
    let requests = requests(target, client, server, &switch, (&asked, passed));
    tokio::try_join!(requests, answers(server, client, &switch))?;
    Ok(())
}

/// `begun` has come, and of it so many bytes were passed on.
async fn requests(
    target: &Target,
    client: &TcpStream,
    server: &TcpStream,
    switch: &Switch,
    (begun, mut passed): (&[u8], usize),
) -> io::Result<()> {
    let mut reader = Reader::requests(0);
    let (mut asked, mut is_checked) = (begun.to_vec(), false);
    loop {
        let mut input = &asked[..];
        while !input.is_empty() {
            let done = reader.take(&mut input, Answered::Other).map_err(|_| io::Error::other(Misfit::Unknown))?;
            if let Some(head) = done.as_ref().or(reader.head()).filter(|_| !is_checked) {
                let switches = is_about(target, head).map_err(io::Error::other)?;
                switch.is_awaited.fetch_or(switches, Ordering::Relaxed);
                is_checked = true;
            }
            is_checked &= done.is_none();
        }
        if splice::write_all(server, &asked[passed.min(asked.len())..]).await.is_err() {
            // It may still answer.
            return Ok(());
        }
        passed = passed.saturating_sub(asked.len());
        // In a body there is nothing to be looked for.
        let mut way = Way::default();
        while let Some(left) = reader.sized().filter(|left| **left > RELAY_PIPE_BYTES as u64) {
            match way.step(client, server).await? {
                0 => return Ok(()),
                count => *left -= count as u64,
            }
        }
        if switch.is_awaited.load(Ordering::Relaxed) {
            switch.decided.notified().await;
            if switch.is_other.load(Ordering::Relaxed) {
                return splice::one_way(client, server).await;
            }
        }
        asked.clear();
        if splice::read(client, &mut asked).await? == 0 {
            splice::end(server);
            return Ok(());
        }
    }
}

/// Only whether one says that the connection is another one now is looked for, and only when that was asked for.
async fn answers(server: &TcpStream, client: &TcpStream, switch: &Switch) -> io::Result<()> {
    const SWITCHES: &[u8] = b"HTTP/1.1 101";
    let (mut way, mut said) = (Way::default(), Vec::new());
    loop {
        server.readable().await?;
        if !switch.is_awaited.load(Ordering::Relaxed) {
            if way.step(server, client).await? == 0 {
                return Ok(());
            }
            continue;
        }
        let begin = said.len();
        let is_end = splice::read(server, &mut said).await? == 0;
        splice::write_all(client, &said[begin..]).await?;
        let is_other = said.starts_with(SWITCHES);
        if is_end || is_other || !SWITCHES.starts_with(&said) {
            said.clear();
            switch.is_other.store(is_other, Ordering::Relaxed);
            switch.is_awaited.store(false, Ordering::Relaxed);
            switch.decided.notify_one();
        }
        if is_end {
            splice::end(client);
            return Ok(());
        }
    }
}

/// Whether a request that fits asks for a connection of another protocol.
fn is_about(target: &Target, Message { method, path, headers, .. }: &Message) -> Result<bool, Misfit> {
    if method == "CONNECT" {
        return Err(Misfit::Tunnel);
    }
    let named = |text: &str| match h1::authority(text, target.port) {
        Some(named) => fits(target, &named.host),
        None => Err(Misfit::NoName),
    };
    if let Some((_, rest)) = path.split_once("://").filter(|_| !path.starts_with('/')) {
        named(rest.split(['/', '?', '#']).next().unwrap_or_default())?;
    }
    let mut hosts = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("host")).peekable();
    hosts.peek().ok_or(Misfit::NoName)?;
    for (_, host) in hosts {
        named(std::str::from_utf8(host).map_err(|_| Misfit::NoName)?)?;
    }
    match h1::field(headers, "upgrade") {
        None => Ok(false),
        Some(to) if to.eq_ignore_ascii_case("websocket") => Ok(true),
        Some(_) => Err(Misfit::Tunnel),
    }
}
