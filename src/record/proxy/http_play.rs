//! Replay of one HTTP/1.1 connection.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use tokio::io::AsyncWriteExt as _;

use super::context::Context;
use super::record::forward_request;
use super::requests::Requests;
use super::stream::Stream;
use super::truncation::Truncation;
use super::{Replay, miss};
use crate::call::{Exchange, HttpResponse, Target};
use crate::http::h1::{self, field};
use crate::http::websocket;

/// Protocol after HTTP on the same connection.
pub(super) enum NextProtocol {
    Tunnel(Target),
    Turns { websocket: bool },
}

/// Answers requests until a side closes the connection or the protocol changes.
pub(super) async fn serve(
    context: &Context,
    replay: &Replay,
    mut client: Stream,
) -> io::Result<Option<(Stream, NextProtocol)>> {
    let mut requests = Requests::new(context);
    loop {
        let asked = match requests.next(context, &mut client).await? {
            Ok(asked) => asked,
            Err(missed) => {
                if let Some(what) = missed {
                    replay.book.missed(&context.link.target, what);
                }
                return Ok(None);
            }
        };
        // Behind a proxy, a refused connection is a response of the proxy.
        let named = asked.tunnel.as_ref().unwrap_or(&asked.target);
        if *named != context.link.target
            && let Some(refusal) = replay.outline.refused(named, u64::MAX)
            && let Some(errno) = refusal.errno()
        {
            replay.book.refused(refusal);
            let refused = io::Error::from_raw_os_error(errno);
            let answer = h1::refusal(502, &miss::unreachable(named, &refused));
            client
                .write_response(h1::render(&asked.request, &answer))
                .await?;
            continue;
        }
        if let Some(tunnel) = &asked.tunnel
            && (replay.outline.knows(tunnel)
                || context.shared.miss_forwarding().is_none()
                    && !replay.outline.knows(&asked.target))
        {
            let client = requests.into_tunnel(client).await?;
            return Ok(Some((client, NextProtocol::Tunnel(tunnel.clone()))));
        }
        let found = find(context, replay, &asked);
        let found = found
            .as_ref()
            .map(|found| Truncation::of(&h1::unanswered_call(&context.link, &asked), found));
        let (response, held) = match found {
            Ok((Some(response), held)) => (Cow::Borrowed(response), held),
            Ok((None, Some(held))) => return hold(context, client, held).await.map(|()| None),
            // In the recording, the server closed the connection on this request.
            Ok((None, None)) => return Ok(None),
            Err(missed) => {
                if context.shared.miss_forwarding().is_some() {
                    match forward_request(&context.forwarded(), &asked, &mut client).await {
                        Ok(true) => continue,
                        Ok(false) => return client.shutdown().await.map(|()| None),
                        Err(error) => (
                            Cow::Owned(h1::refusal(502, &miss::unreachable(&asked.target, &error))),
                            None,
                        ),
                    }
                } else {
                    (Cow::Owned(h1::refusal(502, missed)), None)
                }
            }
        };
        let response = with_accept_key(&asked.request.headers, response);
        client
            .write_response(h1::render(&asked.request, &response))
            .await?;
        if let Some(held) = held {
            return hold(context, client, held).await.map(|()| None);
        }
        if response.status == 101 {
            let websocket = field(&response.headers, "upgrade")
                .is_some_and(|name| name.eq_ignore_ascii_case("websocket"));
            return Ok(Some((
                requests.into_rest(client),
                NextProtocol::Turns { websocket },
            )));
        }
        if h1::closes(&asked.request, &response) {
            return client.shutdown().await.map(|()| None);
        }
    }
}

/// Stays silent, because the program left here in the recording. A program that stays longer is
/// reported. In the middle of an answer, its connection is then reset, so the partial answer cannot
/// pass as complete. Before an answer, it keeps waiting.
async fn hold(context: &Context, mut client: Stream, held: Truncation) -> io::Result<()> {
    let overstayed = held.overstayed(context);
    tokio::pin!(overstayed);
    let mut said = Vec::new();
    loop {
        said.clear();
        tokio::select! {
            read = client.read_more(&mut said) => if !matches!(read, Ok(count) if count > 0) {
                break;
            },
            () = &mut overstayed => break,
            () = context.stopped() => return Ok(()),
        }
    }
    if held.resets {
        client.reset();
    }
    Ok(())
}

fn find(
    context: &Context,
    replay: &Replay,
    asked: &h1::ReceivedRequest,
) -> Result<Arc<Exchange>, serde_json::Value> {
    if asked.too_long {
        replay.book.missed(
            &asked.target,
            "a request with a body that is longer than any recording",
        );
        return Err(miss::error_for_call(&format!(
            "{} {}: the body is too long",
            asked.request.method, asked.request.path
        )));
    }
    replay
        .book
        .find(&h1::unanswered_call(&context.link, asked))
        .map_err(|missed| miss::error_with_closest(&missed))
}

/// Sets the accept key of `WebSocket` for the key of this request.
fn with_accept_key<'a>(
    asked: &[(String, Vec<u8>)],
    mut response: Cow<'a, HttpResponse>,
) -> Cow<'a, HttpResponse> {
    if let Some((_, key)) = asked
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-key"))
    {
        let is_answer =
            |field: &&mut (String, Vec<u8>)| field.0.eq_ignore_ascii_case("sec-websocket-accept");
        for (_, value) in response.to_mut().headers.iter_mut().filter(is_answer) {
            *value = websocket::accept(key).into_bytes();
        }
    }
    response
}
