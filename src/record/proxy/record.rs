//! Recording of one connection, relayed to the real server.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::{Duration, SystemTime};

use replay_base::limits::SERVER_FIRST_MS;
use tokio::time::timeout;

use super::context::Context;
use super::first_bytes::{Opening, is_settings, opening};
use super::relay::relay;
use super::stream::Stream;
use super::tap::{NextPhase, Tap};
use super::{Note, h2, protocols, tls, upstream};
use crate::call::{Protocol, Refusal, Side};
use crate::http::h1;
use crate::net::sniff;

/// A boxed future, for recursion.
pub(super) type Nested<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Detects the protocol and records the connection.
pub(super) fn converse(
    context: Context,
    client: Stream,
    server: Stream,
) -> Nested<'static, io::Result<()>> {
    Box::pin(async move {
        let (mut client, mut server) = (client, server);
        let (mut asked, mut said) = (Vec::new(), Vec::new());
        let opened = SystemTime::now();
        // The relay reads an end of stream again.
        let (by, read) = tokio::select! {
            read = client.read_more(&mut asked) => (Some(Side::Client), read),
            read = server.read_more(&mut said) => (Some(Side::Server), read),
            () = context.stopped() => (None, Err(io::ErrorKind::ConnectionAborted.into())),
        };
        if let Err(error) = read {
            context.keep([context.link.silent(opened, SystemTime::now(), by)]);
            return Err(error);
        }
        if asked.is_empty() && is_settings(&said) {
            // An HTTP/2 server may send before the client's preface, which decides if the program
            // speaks HTTP/2.
            tokio::select! {
                read = client.read_more(&mut asked) => read,
                () = context.stopped() => return Ok(()),
            }?;
        }
        let port = context.link.target.port;
        let mut what = if asked.is_empty() {
            Opening::Unknown
        } else {
            opening(&asked, port)
        };
        while what == Opening::More {
            let more = client.read_more(&mut asked);
            match timeout(Duration::from_millis(SERVER_FIRST_MS), more).await {
                Ok(Ok(count)) if count > 0 => what = opening(&asked, port),
                _ => what = Opening::Unknown,
            }
        }
        if let Some(protocol) = sniff::detect_greeting(&said, port) {
            what = Opening::Wire(protocol);
        }
        let is_ssh = sniff::is_ssh(&asked) || sniff::is_ssh(&said);
        let (client, server) = (client.put_back(asked), server.put_back(said));
        if is_ssh {
            let reason = "SSH encrypts with keys of its own".to_owned();
            let (shared, target) = (&context.shared, context.link.target.clone());
            shared.note(Note::Opaque { target, reason });
            shared.count(|counts| counts.opaque += 1);
            return pass(context, client, server, Tap::Off).await;
        }
        let tap = match what {
            Opening::Tls => return encrypted(context, client, server, None).await,
            Opening::Http2 => return h2::record(context, client, server).await,
            Opening::Http1 => Tap::Http(Box::new(h1::Tap::new(context.link.clone()))),
            Opening::Wire(protocol) => Tap::Wire(protocols::recorder(&context, protocol, opened)),
            Opening::More | Opening::Unknown => {
                Tap::Wire(protocols::recorder(&context, Protocol::Generic, opened))
            }
        };
        pass(context, client, server, tap).await
    })
}

/// Relays everything until the end, including tunnels and TLS on the same connection.
async fn pass(context: Context, client: Stream, server: Stream, mut tap: Tap) -> io::Result<()> {
    let Some((then, client, server)) = relay(&context, client, server, &mut tap).await? else {
        return Ok(());
    };
    match then {
        NextPhase::Tunnel { target, rest } => {
            converse(context.tunnel(target), client, server.put_back(rest)).await
        }
        NextPhase::StartTls { early } => {
            encrypted(context, client.put_back(early), server, Some(tap)).await
        }
    }
}

/// Performs both TLS handshakes and relays the content. `tap` has observed the connection so far.
fn encrypted(
    context: Context,
    client: Stream,
    server: Stream,
    tap: Option<Tap>,
) -> Nested<'static, io::Result<()>> {
    Box::pin(async move {
        let (shared, target) = (&context.shared, &context.link.target);
        if shared.is_opaque(target) {
            shared.count(|counts| counts.opaque += 1);
            return pass(context, client, server, Tap::Off).await;
        }
        let (hello, client) = tls::hello(client).await?;
        // The recorder has another certificate, so a client with channel binding (RFC 5802, 6) could
        // not log in. Without encryption, servers on this machine offer none.
        let is_bound = tap.as_ref().is_some_and(Tap::binds_channel) && context.is_near();
        let connected = if is_bound {
            Ok((upstream::dial(&context).await?, None))
        } else {
            tls::connect(&context, &hello, server).await
        };
        let (server, protocol) = match connected {
            Ok(connected) => connected,
            Err(tls::HandshakeError::Certificate(reason)) => {
                context.refused(Refusal::Certificate);
                shared.note(Note::Certificate {
                    target: target.clone(),
                    reason,
                });
                tls::alert(client).await;
                return Ok(());
            }
            Err(tls::HandshakeError::Other(reason)) => {
                // The two sides need something that only they can agree on, such as a client
                // certificate. Let them.
                shared.set_opaque(target, false, reason);
                shared.count(|counts| counts.opaque += 1);
                let server = upstream::dial(&context).await?;
                return pass(context, client, server, Tap::Off).await;
            }
        };
        let client = match tls::accept(&context, &hello, client, protocol.clone()).await {
            Ok(client) => client,
            Err(error) => {
                if tls::distrusts(&context, &error) {
                    let reason = format!(
                        "the program does not accept the certificate of the recorder: {error}"
                    );
                    shared.set_opaque(target, tls::hung_up(&error), reason);
                }
                return Err(error);
            }
        };
        let inner = context.encrypted();
        match tap {
            Some(tap) => pass(inner, client, server, tap).await,
            None if protocol.as_deref() == Some(b"h2") => h2::record(inner, client, server).await,
            None => converse(inner, client, server).await,
        }
    })
}

/// Forwards one request and its answer unchanged. Returns true if the program's connection can
/// continue.
pub(super) async fn forward_request(
    context: &Context,
    asked: &h1::ReceivedRequest,
    client: &mut Stream,
) -> io::Result<bool> {
    use tokio::io::AsyncWriteExt as _;

    let mut inner = context.tunnel(asked.target.clone());
    inner.link.tls = asked.tls;
    let hello = tls::ClientHello {
        name: None,
        offers: vec![b"http/1.1".to_vec()],
    };
    let mut server = upstream::reach(&inner, &hello).await?;
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
        if server.read_more(&mut said).await.unwrap_or(0) == 0 {
            let end = h1::ConnectionEnd {
                by: Side::Server,
                server_ended: true,
            };
            tap.end(end, now(), &mut done);
            goes_on = false;
            break;
        }
        goes_on &= tap.take(Side::Server, &said, now(), &mut done).is_none();
        if !held.try_cover(tap.buffered_bytes()) {
            tap.discard_bodies();
        }
        client.write_all(&said).await?;
        client.flush().await?;
    }
    inner.keep(done);
    tap.too_long().iter().for_each(|call| inner.too_long(call));
    Ok(goes_on)
}
