//! Replay of one connection.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use replay_base::limits::SERVER_FIRST_MS;
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;

use super::context::Context;
use super::first_bytes::{Opening, opening};
use super::http_play::{self, NextProtocol};
use super::protocols::PlayedServer;
use super::record::Nested;
use super::stream::Stream;
use super::{Replay, h2_play, record, tls, upstream};
use crate::call::{Protocol, Refusal};
use crate::net::sniff;
use crate::protocol::wire::PlayStep;

/// Longest silence after which a played server closes a connection as the real one did, in
/// milliseconds.
const MAX_SILENCE_PLAYED_MS: u64 = 60_000;
/// Time in which another handshake with the same server may succeed after a program hung up
/// silently on one, in milliseconds. It shows that the program accepts the certificate: some
/// programs open several connections at once and keep the first.
const HANG_UP_SETTLED_MS: u64 = 500;

/// Decides about a connection before any traffic. `Ok(None)` replays it, `Ok(Some(keep))` forwards
/// it to the real server, and an error is the errno.
pub(super) fn decide(context: &Context, replay: &Replay) -> Result<Option<bool>, i32> {
    let target = &context.link.target;
    if let Some(refusal) = replay.outline.refused(target, context.nth)
        && let Some(errno) = refusal.errno()
    {
        replay.book.refused(refusal);
        return Err(errno);
    }
    if replay.outline.knows(target) {
        return Ok(None);
    }
    let forwarding = context.shared.miss_forwarding();
    if forwarding.is_some() {
        replay.book.forwarded(target);
        return Ok(forwarding);
    }
    // A client that speaks first can get an error in its protocol. Here the server would have to
    // speak first.
    if sniff::is_server_first(target.port) && replay.book.protocol(target).is_none() {
        replay
            .book
            .missed(target, "a connection whose server speaks first");
        return Err(Refusal::UNKNOWN);
    }
    Ok(None)
}

pub(super) async fn serve(context: Context, replay: Arc<Replay>, client: Stream) -> io::Result<()> {
    if replay.outline.refused(&context.link.target, context.nth) == Some(Refusal::Certificate) {
        replay.book.refused(Refusal::Certificate);
        let (_, client) = tls::hello(client).await?;
        tls::alert(client).await;
        return Ok(());
    }
    converse(context, replay, client).await
}

/// Handling of a connection without traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SilenceAction {
    /// A program may connect to a known target early and take its time.
    Waits,
    Missed,
    /// The recording has only idle connections, so traffic is forwarded to the real server.
    Forward,
    /// The server closes the connection, as in the recording.
    Closed(Duration),
}

fn silence_action(context: &Context, replay: &Replay) -> SilenceAction {
    let target = &context.link.target;
    match replay.outline.closes_after(target) {
        _ if !replay.outline.knows(target) => SilenceAction::Missed,
        _ if !replay.outline.is_silent(target) => SilenceAction::Waits,
        _ if context.shared.miss_forwarding().is_some() && !context.link.tls => {
            SilenceAction::Forward
        }
        // The program may have left before the server spoke.
        _ if sniff::is_server_first(target.port) => SilenceAction::Missed,
        None => SilenceAction::Waits,
        Some(after) => {
            SilenceAction::Closed(after.min(Duration::from_millis(MAX_SILENCE_PLAYED_MS)))
        }
    }
}

/// Detects the protocol and replays.
fn converse(
    context: Context,
    replay: Arc<Replay>,
    client: Stream,
) -> Nested<'static, io::Result<()>> {
    Box::pin(async move {
        let target = &context.link.target;
        let mut client = client;
        if let Some(protocol) = replay.outline.speaks_first(target) {
            return play(
                &context,
                &replay,
                client,
                PlayedServer::new(&context, &replay, protocol),
            )
            .await;
        }
        let unspoken = silence_action(&context, &replay);
        let mut asked = Vec::new();
        let mut what = Opening::More;
        while what == Opening::More {
            let begins = asked.is_empty();
            let patience = match unspoken {
                SilenceAction::Closed(after) if begins => after,
                _ => Duration::from_millis(SERVER_FIRST_MS),
            };
            let waits = begins && unspoken == SilenceAction::Waits;
            let read = tokio::select! {
                read = client.read_more(&mut asked) => Some(read),
                () = tokio::time::sleep(patience), if !waits => None,
                // The program has ended, but its close may not be visible here yet.
                () = context.stopped() => if begins { Some(Ok(0)) } else { return Ok(()) },
            };
            match (read, unspoken) {
                // Some programs leave with a reset, which means the same.
                (Some(Ok(0) | Err(_)), _) if begins => {
                    if !replay.outline.knows(target) {
                        replay
                            .book
                            .missed(target, "a connection on which nothing was sent");
                    }
                    return Ok(());
                }
                (Some(Err(error)), _) => return Err(error),
                (Some(Ok(_)) | None, SilenceAction::Forward) if begins => {
                    return forward_connection(context, &replay, client.put_back(asked)).await;
                }
                (Some(Ok(0)), _) => what = Opening::Unknown,
                (Some(Ok(_)), _) => what = opening(&asked, target.port),
                (None, SilenceAction::Closed(_)) if begins => return client.shutdown().await,
                (None, _) if begins => {
                    replay
                        .book
                        .missed(target, "a connection whose server speaks first");
                    return Ok(());
                }
                (None, _) => what = Opening::Unknown,
            }
        }
        if sniff::is_ssh(&asked) && !replay.outline.knows(target) {
            let what = "a connection of SSH, which encrypts with keys of its own and cannot be \
                recorded";
            replay.book.missed_because(target, what);
            return Ok(());
        }
        let client = client.put_back(asked);
        let protocol = match what {
            Opening::Tls => return encrypted(context, replay, client).await,
            Opening::Http1 => return http1(context, replay, client).await,
            Opening::Http2 => return h2_play::serve(context, replay, client).await,
            Opening::Wire(protocol) => protocol,
            Opening::More | Opening::Unknown => {
                replay.book.protocol(target).unwrap_or(Protocol::Generic)
            }
        };
        play(
            &context,
            &replay,
            client,
            PlayedServer::new(&context, &replay, protocol),
        )
        .await
    })
}

/// Forwards a connection to the real server, with the bytes read so far.
async fn forward_connection(context: Context, replay: &Replay, client: Stream) -> io::Result<()> {
    let context = context.forwarded();
    replay.book.forwarded(&context.link.target);
    match upstream::dial(&context).await {
        Ok(server) => record::converse(context, client, server).await,
        Err(error) => {
            context.handle_failed_dial(&error);
            client.reset();
            Ok(())
        }
    }
}

async fn encrypted(context: Context, replay: Arc<Replay>, client: Stream) -> io::Result<()> {
    let (hello, client) = tls::hello(client).await?;
    let protocol = tls::choose(&hello, replay.outline.http2(&context.link.target));
    match tls::accept(&context, &hello, client, protocol.clone()).await {
        Ok(client) if protocol.as_deref() == Some(b"h2") => {
            h2_play::serve(context.encrypted(), replay, client).await
        }
        Ok(client) => converse(context.encrypted(), replay, client).await,
        Err(error) => Err(report_handshake(&context, &replay, error).await),
    }
}

/// Reports a failed handshake if the program does not accept the certificate.
async fn report_handshake(context: &Context, replay: &Replay, error: io::Error) -> io::Error {
    if tls::hung_up(&error) {
        let _ = timeout(Duration::from_millis(HANG_UP_SETTLED_MS), context.stopped()).await;
    }
    if tls::distrusts(context, &error) {
        let what = "an encrypted connection whose certificate the program does not accept";
        replay.book.missed(&context.link.target, what);
    }
    error
}

/// Replays HTTP/1 and the protocol that may follow it.
pub(super) async fn http1(context: Context, replay: Arc<Replay>, client: Stream) -> io::Result<()> {
    match http_play::serve(&context, &replay, client).await? {
        None => Ok(()),
        Some((client, NextProtocol::Tunnel(target))) => {
            converse(context.tunnel(target), replay, client).await
        }
        Some((client, NextProtocol::Turns { websocket })) => {
            play(
                &context,
                &replay,
                client,
                PlayedServer::in_turns(&context, &replay, websocket),
            )
            .await
        }
    }
}

/// Waits until the program closes the connection, and discards its bytes.
async fn wait_for_end(client: &mut Stream) {
    let mut bytes = Vec::new();
    while client
        .read_more(&mut bytes)
        .await
        .is_ok_and(|count| count > 0)
    {
        bytes.clear();
    }
}

/// Event that a played server reacts to.
enum PlayEvent {
    Read(io::Result<usize>),
    Paused,
    /// The next message that the server sends unasked is due.
    Due,
}

/// Replays a server of a protocol other than HTTP.
async fn play(
    context: &Context,
    replay: &Replay,
    client: Stream,
    actor: PlayedServer,
) -> io::Result<()> {
    let mut client = client;
    let PlayedServer {
        mut player,
        patience,
    } = actor;
    let mut steps = VecDeque::from(player.open());
    let mut ended = false;
    let mut later = Vec::new();
    let mut held = context.shared.share();
    loop {
        // A message that is not due holds back those after it.
        while let Some(step) =
            steps.pop_front_if(|step| ended || !matches!(step, PlayStep::Push(_)))
        {
            let step = match step {
                PlayStep::Push(push) => PlayStep::of_message(replay.book.renewed(push)),
                step => step,
            };
            match step {
                PlayStep::Send(bytes) => client.write_all(&bytes).await?,
                PlayStep::StartTls(early) => {
                    client.flush().await?;
                    let (hello, plain) = tls::hello(client.put_back(early)).await?;
                    let protocol = tls::choose(&hello, false);
                    client = match tls::accept(context, &hello, plain, protocol).await {
                        Ok(client) => client,
                        Err(error) => return Err(report_handshake(context, replay, error).await),
                    };
                }
                // The program acts first, as in the recording.
                PlayStep::UntilMore(patience) if later.is_empty() => {
                    client.flush().await?;
                    tokio::select! {
                        read = client.read_more(&mut later) => if read? == 0 {
                            return Ok(());
                        },
                        () = tokio::time::sleep(patience) => {}
                        () = context.stopped() => return Ok(()),
                    }
                }
                PlayStep::CloseAfter(time) => {
                    client.flush().await?;
                    tokio::select! {
                        () = wait_for_end(&mut client) => {}
                        () = tokio::time::sleep(time) => {}
                        () = context.stopped() => {}
                    }
                    return client.shutdown().await;
                }
                PlayStep::Hold | PlayStep::UntilMore(_) | PlayStep::Push(_) => {}
                PlayStep::Close => {
                    client.flush().await?;
                    return client.shutdown().await;
                }
            }
        }
        client.flush().await?;
        if ended {
            return client.shutdown().await;
        }
        let mut bytes = std::mem::take(&mut later);
        let event = if bytes.is_empty() {
            let push = match steps.front() {
                Some(PlayStep::Push(push)) => Some(push),
                _ => player.next_push(),
            };
            let due = async {
                match push {
                    Some(push) => replay.book.is_due(push).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                read = client.read_more(&mut bytes) => PlayEvent::Read(read),
                () = due => PlayEvent::Due,
                () = tokio::time::sleep(patience), if player.waits() => PlayEvent::Paused,
                () = context.stopped() => {
                    // Unanswered requests count as missed.
                    player.finish();
                    return Ok(());
                }
            }
        } else {
            PlayEvent::Read(Ok(bytes.len()))
        };
        match event {
            PlayEvent::Read(Err(error)) => return Err(error),
            PlayEvent::Read(Ok(0)) => {
                ended = true;
                steps.extend(player.finish());
                // A program that only reads on does not go on either.
                steps.extend(std::iter::from_fn(|| player.take_push()).map(PlayStep::Push));
            }
            PlayEvent::Read(Ok(_)) => steps.extend(player.take(&bytes)),
            PlayEvent::Paused => steps.extend(player.pause()),
            PlayEvent::Due => {
                let push = steps
                    .pop_front()
                    .or_else(|| player.take_push().map(PlayStep::Push));
                if let Some(PlayStep::Push(push)) = push {
                    steps.push_front(PlayStep::of_message(replay.book.renewed(push)));
                }
            }
        }
        let waiting: usize = steps.iter().map(PlayStep::size).sum();
        if !held.try_cover(player.buffered_bytes() + waiting) {
            let what = "a message that does not fit into the memory: raise --memory-mib";
            replay.book.missed_because(&context.link.target, what);
            return client.shutdown().await;
        }
    }
}
