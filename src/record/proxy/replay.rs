//! One connection while recordings answer.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;

use super::context::Context;
use super::first_bytes::{Opening, opening};
use super::http_play::{self, Further};
use super::protocols::Actor;
use super::record::Nested;
use super::stream::Stream;
use super::{Replay, h2_play, record, tls, upstream};
use crate::limits::{HANG_UP_SETTLED_MS, MAX_SILENCE_PLAYED_MS, SERVER_FIRST_MS};
use crate::record::call::{Protocol, Refusal};
use crate::record::net::sniff;
use crate::record::protocol::wire::PlayStep;

/// Decides about a connection before anything is said on it, once: whether it goes to the real
/// server, and is recorded there, or with which number of errno(3) it fails.
pub fn decide(context: &Context, replay: &Replay) -> Result<Option<bool>, i32> {
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
    let beyond = context.shared.beyond();
    if beyond.is_some() {
        replay.book.forwarded(target);
        return Ok(beyond);
    }
    // Who asks first can be told in the words of its protocol that nothing answers; here the server
    // would have to begin.
    if sniff::greets(target.port) && replay.book.protocol(target).is_none() {
        replay
            .book
            .missed(target, "a connection whose server speaks first");
        return Err(Refusal::UNKNOWN);
    }
    Ok(None)
}

pub async fn serve(context: Context, replay: Arc<Replay>, client: Stream) -> io::Result<()> {
    if replay.outline.refused(&context.link.target, context.nth) == Some(Refusal::Certificate) {
        replay.book.refused(Refusal::Certificate);
        let (_, client) = tls::hello(client).await?;
        tls::alert(client).await;
        return Ok(());
    }
    converse(context, replay, client).await
}

/// What becomes of a connection on which nothing is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unspoken {
    /// Who connects in advance to what is known may take its time.
    Waits,
    Missed,
    /// Nothing was said there while recording, so whatever is said now goes to the real server.
    Beyond,
    /// The server closes it, as it did while recording.
    Closed(Duration),
}

fn unspoken(context: &Context, replay: &Replay) -> Unspoken {
    let target = &context.link.target;
    match replay.outline.closes_after(target) {
        _ if !replay.outline.knows(target) => Unspoken::Missed,
        _ if !replay.outline.is_silent(target) => Unspoken::Waits,
        _ if context.shared.beyond().is_some() && !context.link.tls => Unspoken::Beyond,
        // The program may have left before the server began.
        _ if sniff::greets(target.port) => Unspoken::Missed,
        None => Unspoken::Waits,
        Some(after) => Unspoken::Closed(after.min(Duration::from_millis(MAX_SILENCE_PLAYED_MS))),
    }
}

/// Finds out what is spoken, and plays.
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
                Actor::new(&context, &replay, protocol),
            )
            .await;
        }
        let unspoken = unspoken(&context, &replay);
        let mut asked = Vec::new();
        let mut what = Opening::More;
        while what == Opening::More {
            let begins = asked.is_empty();
            let patience = match unspoken {
                Unspoken::Closed(after) if begins => after,
                _ => Duration::from_millis(SERVER_FIRST_MS),
            };
            let waits = begins && unspoken == Unspoken::Waits;
            let read = tokio::select! {
                read = client.more(&mut asked) => Some(read),
                () = tokio::time::sleep(patience), if !waits => None,
                // The program has ended. That it left may not be seen here yet.
                () = context.stopped() => if begins { Some(Ok(0)) } else { return Ok(()) },
            };
            match (read, unspoken) {
                // Some leave with a reset, which is no more than that.
                (Some(Ok(0) | Err(_)), _) if begins => {
                    if !replay.outline.knows(target) {
                        replay
                            .book
                            .missed(target, "a connection that nothing was sent on");
                    }
                    return Ok(());
                }
                (Some(Err(error)), _) => return Err(error),
                (Some(Ok(_)) | None, Unspoken::Beyond) if begins => {
                    return go_beyond(context, &replay, client.put_back(asked)).await;
                }
                (Some(Ok(0)), _) => what = Opening::Unknown,
                (Some(Ok(_)), _) => what = opening(&asked, target.port),
                (None, Unspoken::Closed(_)) if begins => return client.shutdown().await,
                (None, _) if begins => {
                    replay
                        .book
                        .missed(target, "a connection whose server speaks first");
                    return Ok(());
                }
                (None, _) => what = Opening::Unknown,
            }
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
            Actor::new(&context, &replay, protocol),
        )
        .await
    })
}

/// To the real server, with what has come: of its target nothing was recorded but connections.
async fn go_beyond(context: Context, replay: &Replay, client: Stream) -> io::Result<()> {
    let context = context.forwarded();
    replay.book.forwarded(&context.link.target);
    match upstream::dial(&context).await {
        Ok(server) => record::converse(context, client, server).await,
        Err(error) => {
            context.not_reached(&error);
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
        Err(error) => {
            if tls::hung_up(&error) {
                let _ = timeout(Duration::from_millis(HANG_UP_SETTLED_MS), context.stopped()).await;
            }
            if tls::distrusts(&context, &error) {
                let what = "a connection that the program encrypts and whose certificate it does not accept";
                replay.book.missed(&context.link.target, what);
            }
            Err(error)
        }
    }
}

/// Plays HTTP/1, and what the connection becomes after it.
pub async fn http1(context: Context, replay: Arc<Replay>, client: Stream) -> io::Result<()> {
    match http_play::serve(&context, &replay, client).await? {
        None => Ok(()),
        Some((client, Further::Tunnel(target))) => {
            converse(context.tunnel(target), replay, client).await
        }
        Some((client, Further::Turns { websocket })) => {
            play(
                &context,
                &replay,
                client,
                Actor::in_turns(&context, &replay, websocket),
            )
            .await
        }
    }
}

/// Plays a server that does not speak HTTP.
async fn play(context: &Context, replay: &Replay, client: Stream, actor: Actor) -> io::Result<()> {
    let mut client = client;
    let Actor {
        mut player,
        patience,
    } = actor;
    let mut steps = player.open();
    let mut ended = false;
    let mut later = Vec::new();
    let mut held = context.shared.share();
    loop {
        for step in steps {
            match step {
                PlayStep::Send(bytes) => client.write_all(&bytes).await?,
                PlayStep::StartTls(early) => {
                    client.flush().await?;
                    let (hello, plain) = tls::hello(client.put_back(early)).await?;
                    let protocol = tls::choose(&hello, false);
                    client = tls::accept(context, &hello, plain, protocol).await?;
                }
                // The program does first what it did then.
                PlayStep::UntilMore(patience) if later.is_empty() => {
                    client.flush().await?;
                    tokio::select! {
                        read = client.more(&mut later) => if read? == 0 {
                            return Ok(());
                        },
                        () = tokio::time::sleep(patience) => {}
                        () = context.stopped() => return Ok(()),
                    }
                }
                PlayStep::Hold | PlayStep::UntilMore(_) => {}
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
        let read = if bytes.is_empty() {
            let reading = client.more(&mut bytes);
            tokio::select! {
                read = reading => Some(read),
                () = tokio::time::sleep(patience), if player.waits() => None,
                () = context.stopped() => {
                    // What was said and not answered counts.
                    player.finish();
                    return Ok(());
                }
            }
        } else {
            Some(Ok(bytes.len()))
        };
        steps = match read {
            Some(Err(error)) => return Err(error),
            Some(Ok(0)) => {
                ended = true;
                player.finish()
            }
            Some(Ok(_)) => player.take(&bytes),
            None => player.pause(),
        };
        if !held.try_cover(player.kept()) {
            replay.book.missed(
                &context.link.target,
                "a message that --memory-mib leaves no room for",
            );
            return client.shutdown().await;
        }
    }
}
