//! Replay of HTTP/2 and gRPC.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use percent_encoding::{AsciiSet, CONTROLS, percent_encode};
use replay_base::limits::HTTP2_CONNECTION_BYTES;
use tokio::sync::OnceCell;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::context::{Context, TOO_LONG};
use super::h2::{Body, accept, request_of, response_of, send};
use super::stream::Stream;
use super::truncation::Truncation;
use super::{Replay, h2 as both, miss, tls, upstream};
use crate::call::{BodyEnd, Content, Exchange, HttpResponse};
use crate::http::coding;
use crate::http::h1::{exchange, refusal};

/// Time that a played HTTP/2 server waits for more of a request, in milliseconds. Afterwards the
/// request counts as one that waits for an answer first.
const PLAYED_BODY_MS: u64 = 10_000;

/// `UNAVAILABLE` (gRPC, status codes).
const GRPC_UNAVAILABLE: &str = "14";
/// Characters to encode in `grpc-message` (gRPC over HTTP2, Responses).
const MESSAGE: &AsciiSet = &CONTROLS.add(b'%');

/// Connection to the real server, opened at the first missing call.
type RealServer = Arc<OnceCell<(h2::client::SendRequest<Bytes>, JoinSet<()>)>>;

pub(super) async fn serve(context: Context, replay: Arc<Replay>, client: Stream) -> io::Result<()> {
    let _room = context.shared.wait_for_memory(HTTP2_CONNECTION_BYTES).await;
    let mut accepted = accept(client).await?;
    let mut streams = JoinSet::new();
    let real = RealServer::default();
    loop {
        let next = tokio::select! {
            next = accepted.accept() => next,
            Some(_) = streams.join_next(), if !streams.is_empty() => continue,
            () = context.stopped() => break,
        };
        let Some(Ok((request, respond))) = next else {
            break;
        };
        streams.spawn(stream(
            context.clone(),
            Arc::clone(&replay),
            request,
            respond,
            Arc::clone(&real),
        ));
    }
    Ok(())
}

async fn stream(
    context: Context,
    replay: Arc<Replay>,
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    real: RealServer,
) {
    let now = SystemTime::now();
    let mut kept = Body::new(&context);
    if !kept.charge_head(&context, request.uri(), request.headers()) {
        return respond.send_reset(Reason::REFUSED_STREAM);
    }
    let (parts, body) = request.into_parts();
    let target = &context.link.target;
    let body = match read(kept, body).await {
        Ok(body) => body,
        Err(None) => return,
        Err(Some(reason)) => {
            let what = format!("{} {}: {reason}", parts.method, parts.uri);
            replay.book.missed(target, &what);
            let refused = refused(&parts.headers, &miss::error_for_call(&what));
            return answer(&context, &mut respond, &refused, None).await;
        }
    };
    let raw = body.bytes.clone();
    let asked = exchange(
        &context.link,
        request_of(&parts, body.bytes),
        None,
        now,
        now,
    );
    let missed = match replay.book.find(&asked) {
        Ok(found) => {
            if !wait_for_overtaken(&context, &replay, &found, &mut respond).await {
                return;
            }
            match Truncation::of(&asked, &found) {
                (Some(response), held) => answer(&context, &mut respond, response, held).await,
                (None, Some(held)) => wait_for_reset(&context, &mut respond, held).await,
                (None, None) => respond.send_reset(Reason::INTERNAL_ERROR),
            }
            return;
        }
        Err(missed) => miss::error_with_closest(&missed),
    };
    let Some(keep) = context.shared.miss_forwarding() else {
        return answer(
            &context,
            &mut respond,
            &refused(&parts.headers, &missed),
            None,
        )
        .await;
    };
    let forwarded = Context {
        keep,
        ..context.clone()
    };
    let response = match forward_request(&forwarded, &real, &parts, raw, asked).await {
        Ok((response, kept)) => {
            forwarded.keep([kept]);
            response
        }
        Err(error) => refused(&parts.headers, &miss::unreachable(target, &error)),
    };
    answer(&context, &mut respond, &response, None).await;
}

/// Waits until the program has sent the request that preceded this answer in the recording, within
/// a limit. Returns false if the program reset the stream or the proxy stops.
async fn wait_for_overtaken(
    context: &Context,
    replay: &Replay,
    found: &Exchange,
    respond: &mut SendResponse<Bytes>,
) -> bool {
    let Some(overtaken) = replay.book.overtaken(found) else {
        return true;
    };
    tokio::select! {
        () = replay.book.has_gone_on(overtaken) => true,
        () = tokio::time::sleep(overtaken.patience) => true,
        _ = poll_fn(|context| respond.poll_reset(context)) => false,
        () = context.stopped() => false,
    }
}

/// Reads a whole body. Errors carry a reason, or `None` if the sender reset the stream.
async fn read(mut kept: Body, mut body: RecvStream) -> Result<Body, Option<&'static str>> {
    let patience = Duration::from_millis(PLAYED_BODY_MS);
    let waits = |_| Some("a request that waits for an answer before its end");
    while let Some(data) = timeout(patience, body.data()).await.map_err(waits)? {
        let data = data.map_err(|_| None)?;
        let _ = body.flow_control().release_capacity(data.len());
        kept.push(&data);
    }
    if let Ok(Ok(Some(trailers))) = timeout(patience, body.trailers()).await {
        kept.trailers = trailers;
    }
    kept.whole = true;
    if kept.too_long {
        Err(Some(TOO_LONG))
    } else {
        Ok(kept)
    }
}

/// Returns this server's error response, in the form of the request's protocol.
fn refused(asked: &HeaderMap, missed: &serde_json::Value) -> HttpResponse {
    let grpc = asked
        .get("content-type")
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"));
    if !grpc {
        return refusal(502, missed);
    }
    let mut response = refusal(200, missed);
    let message = percent_encode(miss::line(missed).as_bytes(), MESSAGE).to_string();
    response.body = Vec::new();
    response.headers = vec![
        ("content-type".to_owned(), b"application/grpc".to_vec()),
        (
            "grpc-status".to_owned(),
            GRPC_UNAVAILABLE.as_bytes().to_vec(),
        ),
        ("grpc-message".to_owned(), message.into_bytes()),
    ];
    response
}

/// Waits until the program resets the stream, as in the recording.
async fn wait_for_reset(context: &Context, respond: &mut SendResponse<Bytes>, held: Truncation) {
    tokio::select! {
        _ = poll_fn(|context| respond.poll_reset(context)) => {}
        () = held.overstayed(context) => {}
        () = context.stopped() => {}
    }
}

fn encoded(response: &HttpResponse) -> Bytes {
    Bytes::from(coding::sent_body(response).into_owned())
}

/// Builds the head of a recorded response, with a new content length if given.
fn head(response: &HttpResponse, length: Option<usize>) -> Response<()> {
    let mut head = Response::new(());
    *head.status_mut() = StatusCode::from_u16(response.status).unwrap_or(StatusCode::BAD_GATEWAY);
    for (name, value) in fields(&response.headers) {
        let value = match length {
            Some(length) if name == http::header::CONTENT_LENGTH => HeaderValue::from(length),
            _ => value,
        };
        head.headers_mut().append(name, value);
    }
    head
}

/// Sends a recorded response. If the program left in its middle during recording and now stays, the
/// response ends with an error.
async fn answer(
    context: &Context,
    respond: &mut SendResponse<Bytes>,
    response: &HttpResponse,
    held: Option<Truncation>,
) {
    let body = encoded(response);
    let breaks_off = held.is_some() || response.body_end == BodyEnd::Truncated;
    let head = head(
        response,
        Some(body.len()).filter(|_| !breaks_off && !response.body.is_empty()),
    );
    let trailers: HeaderMap = fields(&response.trailers).collect();
    // A trailers-only gRPC response has its status in the head and nothing else.
    let ends = body.is_empty() && trailers.is_empty() && !breaks_off;
    let Ok(mut down) = respond.send_response(head, ends) else {
        return;
    };
    if ends || send(&mut down, body).await.is_err() {
        return;
    }
    if let Some(held) = held {
        tokio::select! {
            _ = poll_fn(|task| down.poll_reset(task)) => return,
            () = held.overstayed(context) => {}
            () = context.stopped() => return,
        }
    }
    let _ = if breaks_off {
        down.send_reset(Reason::INTERNAL_ERROR);
        Ok(())
    } else if trailers.is_empty() {
        down.send_data(Bytes::new(), true)
    } else {
        down.send_trailers(trailers)
    };
}

/// Returns the fields that HTTP/2 permits (RFC 9113, 8.2.2).
fn fields(headers: &[(String, Vec<u8>)]) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
    headers.iter().filter_map(|(name, value)| {
        let name = HeaderName::from_bytes(name.to_ascii_lowercase().as_bytes()).ok()?;
        let hop = [
            "connection",
            "keep-alive",
            "proxy-connection",
            "transfer-encoding",
            "upgrade",
        ];
        if hop.contains(&name.as_str()) {
            return None;
        }
        Some((name, HeaderValue::from_bytes(value).ok()?))
    })
}

async fn forward_request(
    context: &Context,
    real: &RealServer,
    parts: &http::request::Parts,
    raw: Vec<u8>,
    mut asked: Exchange,
) -> io::Result<(HttpResponse, Exchange)> {
    let connecting = || async {
        let mut drivers = JoinSet::new();
        let hello = tls::ClientHello {
            name: parts.uri.host().map(str::to_owned),
            offers: vec![b"h2".to_vec()],
        };
        let server = upstream::reach(context, &hello).await?;
        Ok::<_, io::Error>((both::connect(server, &mut drivers).await?, drivers))
    };
    let (sender, _) = real.get_or_try_init(connecting).await?;
    let mut ready = sender.clone().ready().await.map_err(io::Error::other)?;
    let (response, mut up) = ready
        .send_request(Request::from_parts(parts.clone(), ()), raw.is_empty())
        .map_err(io::Error::other)?;
    if !raw.is_empty() {
        send(&mut up, Bytes::from(raw))
            .await
            .map_err(io::Error::other)?;
        up.send_data(Bytes::new(), true).map_err(io::Error::other)?;
    }
    let (head, body) = response.await.map_err(io::Error::other)?.into_parts();
    let body = read(Body::new(context), body).await.map_err(|why| {
        io::Error::other(if why == Some(TOO_LONG) {
            TOO_LONG
        } else {
            "the answer broke off"
        })
    })?;
    let response = response_of(&head, body);
    asked.answered_at = SystemTime::now();
    if let Content::Http(http) | Content::Grpc(http) = &mut asked.content {
        http.response = Some(response.clone());
    }
    Ok((response, asked))
}
