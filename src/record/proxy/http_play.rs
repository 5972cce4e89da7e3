//! One connection of HTTP/1.1 while recordings answer.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use tokio::io::AsyncWriteExt as _;

use super::context::{Context, TOO_LONG};
use super::held::Held;
use super::record::beyond;
use super::replay::{Actor, converse, forwarded, play};
use super::stream::Stream;
use super::{Replay, miss};
use crate::limits::RELAY_BUFFER_BYTES;
use crate::record::call::{Exchange, HttpResponse};
use crate::record::http::h1::{self, Next, Questions, field};
use crate::record::http::websocket;
use crate::record::matching::Connection;
use crate::record::protocol::generic::GenericPlayer;

/// Answers until either side ends it, or until what is spoken is HTTP no more.
pub async fn serve(context: Context, replay: Arc<Replay>, mut client: Stream) -> io::Result<()> {
    let mut questions = Questions::new(context.link.clone(), context.shared.beyond().is_some());
    let mut held = context.shared.share();
    let mut buffer = Vec::new();
    loop {
        let asked = match questions.next() {
            Ok(Some(Next::Continue)) => {
                client.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
                client.flush().await?;
                continue;
            }
            Ok(Some(Next::Answer(asked))) => asked,
            Ok(None) => {
                buffer.clear();
                let count = tokio::select! {
                    read = client.more(&mut buffer, RELAY_BUFFER_BYTES) => read?,
                    () = context.stopped() => 0,
                };
                if count == 0 {
                    if !questions.is_idle() {
                        replay.book.missed(&context.link.target, "a request that was not finished");
                    }
                    return Ok(());
                }
                questions.feed(&buffer);
                if !held.try_cover(questions.kept()) {
                    replay.book.missed(&context.link.target, TOO_LONG);
                    client
                        .write_all(b"HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
                        .await?;
                    return client.shutdown().await;
                }
                continue;
            }
            Err(h1::Malformed) => {
                replay.book.missed(&context.link.target, "a request that is no HTTP");
                client.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").await?;
                return client.shutdown().await;
            }
        };
        // Through a proxy a refusal is an answer of the proxy.
        let named = asked.tunnel.as_ref().unwrap_or(&asked.target);
        if *named != context.link.target
            && let Some(refusal) = replay.outline.refused(named, u64::MAX)
            && let Some(errno) = refusal.errno()
        {
            replay.book.refused(refusal);
            let refused = io::Error::from_raw_os_error(errno);
            let answer = h1::refusal(502, &miss::unreachable(named, &refused));
            client.say(h1::render(&asked.request, &answer)).await?;
            continue;
        }
        if let Some(tunnel) = &asked.tunnel
            && (replay.outline.knows(tunnel)
                || context.shared.beyond().is_none() && !replay.outline.knows(&asked.target))
        {
            client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
            client.flush().await?;
            let client = client.put_back(questions.rest());
            return converse(context.tunnel(tunnel.clone()), replay, client).await;
        }
        let found = find(&context, &replay, &asked);
        let found = found.as_ref().map(|found| Held::of(&h1::asked(&context.link, &asked), found));
        let (response, held) = match found {
            Ok((Some(response), held)) => (Cow::Borrowed(response), held),
            Ok((None, Some(held))) => return hold(&context, client, held).await,
            // The server hung up on this request.
            Ok((None, None)) => return Ok(()),
            Err(missed) => {
                if context.shared.beyond().is_some() {
                    match beyond(&forwarded(&context), &asked, &mut client).await {
                        Ok(true) => continue,
                        Ok(false) => return client.shutdown().await,
                        Err(error) => (Cow::Owned(h1::refusal(502, &miss::unreachable(&asked.target, &error))), None),
                    }
                } else {
                    (Cow::Owned(h1::refusal(502, missed)), None)
                }
            }
        };
        let response = keyed(&asked.request.headers, response);
        client.say(h1::render(&asked.request, &response)).await?;
        if let Some(held) = held {
            return hold(&context, client, held).await;
        }
        if response.status == 101 {
            let frames = field(&response.headers, "upgrade").is_some_and(|name| name.eq_ignore_ascii_case("websocket"));
            let client = client.put_back(questions.rest());
            let said = replay.outline.said(&context.link.target);
            let player = GenericPlayer::new(context.link.clone(), Connection::on(&replay.book), said, frames);
            return play(&context, &replay, client, Actor::Generic(Box::new(player))).await;
        }
        if h1::closes(&asked.request, &response) {
            return client.shutdown().await;
        }
    }
}

/// Says nothing more. The program left here when it was recorded; if it stays longer now than then, that is told. In the
/// middle of an answer it then reads further, and gets an end that cannot be taken for the answer's; before its beginning it waits on.
async fn hold(context: &Context, mut client: Stream, held: Held) -> io::Result<()> {
    let patience = tokio::time::sleep(held.patience);
    tokio::pin!(patience);
    let mut told = false;
    let mut said = Vec::new();
    loop {
        let read = tokio::select! {
            read = client.more(&mut said, RELAY_BUFFER_BYTES) => read,
            () = &mut patience, if !told => {
                told = true;
                context.shared.note(held.note.clone());
                if held.resets {
                    break;
                }
                continue;
            }
            () = context.stopped() => return Ok(()),
        };
        if !matches!(read, Ok(count) if count > 0) {
            break;
        }
        said.clear();
    }
    if held.resets {
        client.reset();
    }
    Ok(())
}

fn find(context: &Context, replay: &Replay, asked: &h1::Asked) -> Result<Arc<Exchange>, serde_json::Value> {
    if asked.too_long {
        replay.book.missed(&asked.target, "a request with a body that is longer than any recording");
        return Err(miss::in_words(&format!("{} {}: the body is too long", asked.request.method, asked.request.path)));
    }
    replay.book.find(&h1::asked(&context.link, asked)).map_err(|missed| miss::explained(&missed))
}

/// The accept key of `WebSocket` belongs to the key of this request, not to the recorded one.
fn keyed<'a>(asked: &[(String, Vec<u8>)], mut response: Cow<'a, HttpResponse>) -> Cow<'a, HttpResponse> {
    let key = asked.iter().find(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-key"));
    if let Some((_, key)) = key {
        for (_, value) in
            response.to_mut().headers.iter_mut().filter(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-accept"))
        {
            *value = websocket::accept(key).into_bytes();
        }
    }
    response
}
