//! One connection while calls are recorded: the real server is at its other end.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::{Duration, SystemTime};

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::context::Context;
use super::first::{First, first, is_settings};
use super::relay::relay;
use super::stream::Stream;
use super::tap::{Tap, Then};
use super::{Note, h2, speakers, tls};
use crate::limits::SERVER_FIRST_MS;
use crate::record::call::{Protocol, Refusal, Side, Silence};
use crate::record::http::h1;

/// A future that may contain itself.
pub type Nested<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Ends a connection that is there already and should not be: the program reads `ECONNRESET`.
pub fn refuse(client: TcpStream) {
    let _ = client.set_zero_linger();
    drop(client);
}

/// Finds out what is spoken, and looks on.
pub fn converse(context: Context, client: Stream, server: Stream) -> Nested<'static, io::Result<()>> {
    Box::pin(async move {
        let (mut client, mut server) = (client, server);
        let (mut asked, mut said) = (Vec::new(), Vec::new());
        let opened = SystemTime::now();
        // An end that is read here is read again by whoever looks on.
        let (by, read) = tokio::select! {
            read = client.more(&mut asked) => (Some(Side::Client), read),
            read = server.more(&mut said) => (Some(Side::Server), read),
            () = context.stopped() => (None, Err(io::ErrorKind::ConnectionAborted.into())),
        };
        if let Err(error) = read {
            context.keep([Silence::exchange(&context.link, opened, SystemTime::now(), by)]);
            return Err(error);
        }
        if asked.is_empty() && is_settings(&said) {
            // A server of HTTP/2 need not wait for the preface, without which the program is no client of it.
            tokio::select! {
                read = client.more(&mut asked) => read,
                () = context.stopped() => return Ok(()),
            }?;
        }
        let port = context.link.target.port;
        let mut what = if asked.is_empty() { First::Unknown } else { first(&asked, port) };
        while what == First::More {
            let more = client.more(&mut asked);
            match timeout(Duration::from_millis(SERVER_FIRST_MS), more).await {
                Ok(Ok(count)) if count > 0 => what = first(&asked, port),
                _ => what = First::Unknown,
            }
        }
        if !said.is_empty()
            && let Some(protocol) = crate::record::net::sniff::greeted(&said, port)
        {
            what = First::Wire(protocol);
        }
        let (client, server) = (client.put_back(asked), server.put_back(said));
        match what {
            First::Tls => encrypted(context, client, server).await,
            First::Http2 => h2::record(context, client, server).await,
            First::Http1 => {
                let tap = Tap::Http(Box::new(h1::Tap::new(context.link.clone())));
                pass(context, client, server, tap).await
            }
            First::Wire(protocol) => {
                let tap = Tap::Wire(speakers::recorder(&context, protocol, opened));
                pass(context, client, server, tap).await
            }
            First::More | First::Unknown => {
                let tap = Tap::Wire(speakers::recorder(&context, Protocol::Generic, opened));
                pass(context, client, server, tap).await
            }
        }
    })
}

/// Passes everything on until the end, through what the connection turns into.
async fn pass(context: Context, client: Stream, server: Stream, mut tap: Tap) -> io::Result<()> {
    let (mut context, mut client, mut server) = (context, client, server);
    loop {
        let Some((then, of_client, of_server)) = relay(&context, client, server, &mut tap).await? else {
            return Ok(());
        };
        match then {
            Then::Tunnel { target, rest } => {
                return converse(context.tunnel(target), of_client, of_server.put_back(rest)).await;
            }
            Then::StartTls { early } => match handshake(&context, of_client.put_back(early), of_server).await? {
                Shaken::Both { client: inner_client, server: inner_server, .. } => {
                    context = context.encrypted();
                    (client, server) = (inner_client, inner_server);
                }
                Shaken::Opaque { client: inner_client, server: inner_server } => {
                    tap = Tap::Nobody;
                    (client, server) = (inner_client, inner_server);
                }
                Shaken::Over => return Ok(()),
            },
        }
    }
}

/// How a handshake on both sides ended.
enum Shaken {
    /// Both sides are encrypted, with this protocol inside.
    Both { client: Stream, server: Stream, protocol: Option<Vec<u8>> },
    /// It is between the two of them.
    Opaque { client: Stream, server: Stream },
    /// There is nothing left to pass.
    Over,
}

async fn handshake(context: &Context, client: Stream, server: Stream) -> io::Result<Shaken> {
    let target = &context.link.target;
    if context.shared.is_opaque(target) {
        context.shared.count(|counts| counts.opaque += 1);
        return Ok(Shaken::Opaque { client, server });
    }
    let (hello, client) = tls::hello(client).await?;
    let (server, protocol) = match tls::connect(context, &hello, server).await {
        Ok(connected) => connected,
        Err(tls::Refused::Certificate(reason)) => {
            context.refused(Refusal::Certificate, &reason);
            context.shared.note(Note::Certificate { target: target.clone(), reason });
            tls::alert(client).await;
            return Ok(Shaken::Over);
        }
        Err(tls::Refused::Other(reason)) => {
            // Something that only the two of them can agree on, such as a certificate of the client: they shall.
            context.shared.set_opaque(target, false, reason);
            context.shared.count(|counts| counts.opaque += 1);
            let server = context.shared.dial(target).await?;
            return Ok(Shaken::Opaque { client, server: Stream::new(server) });
        }
    };
    match tls::accept(context, &hello, client, protocol.clone()).await {
        Ok(client) => Ok(Shaken::Both { client, server, protocol }),
        Err(error) => {
            if tls::distrusts(context, &error) {
                let reason = format!("the program does not accept the certificate of the recording: {error}");
                context.shared.set_opaque(target, tls::hung_up(&error), reason);
            }
            Err(error)
        }
    }
}

async fn encrypted(context: Context, client: Stream, server: Stream) -> io::Result<()> {
    match handshake(&context, client, server).await? {
        Shaken::Both { client, server, protocol } if protocol.as_deref() == Some(b"h2") => {
            h2::record(context.encrypted(), client, server).await
        }
        Shaken::Both { client, server, .. } => converse(context.encrypted(), client, server).await,
        Shaken::Opaque { client, server } => pass(context, client, server, Tap::Nobody).await,
        Shaken::Over => Ok(()),
    }
}

/// Sends one request to the real server and its answer to the program, as both are. Says whether the connection to the
/// program can go on.
pub async fn beyond(context: &Context, asked: &h1::Asked, client: &mut Stream) -> io::Result<bool> {
    use tokio::io::AsyncWriteExt as _;

    let mut inner = context.tunnel(asked.target.clone());
    inner.link.tls = asked.tls;
    let hello = tls::Hello { name: None, offers: vec![b"http/1.1".to_vec()] };
    let mut server = tls::reach(&inner, &hello).await?;
    let mut tap = h1::Tap::new(inner.link.clone());
    let mut held = inner.shared.share();
    let mut done = Vec::new();
    let now = SystemTime::now;
    let raw = asked.origin_form();
    tap.take(Side::Client, &raw, now(), &mut done);
    server.write_all(&raw).await?;
    server.flush().await?;
    let mut said = Vec::new();
    let mut goes_on = true;
    while done.is_empty() && !tap.is_idle() {
        said.clear();
        if server.more(&mut said).await.unwrap_or(0) == 0 {
            let end = h1::End { by: Side::Server, server_ended: true };
            tap.end(end, now(), &mut done);
            goes_on = false;
            break;
        }
        goes_on &= tap.take(Side::Server, &said, now(), &mut done).is_none();
        if !held.try_cover(tap.kept()) {
            tap.forget();
        }
        client.write_all(&said).await?;
        client.flush().await?;
    }
    inner.keep(done);
    tap.too_long().iter().for_each(|call| inner.too_long(call));
    Ok(goes_on)
}
