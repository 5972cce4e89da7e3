//! Recording of HTTP/2: each stream of the program maps to a stream of the real server.

use std::future::poll_fn;
use std::io;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use h2::client::SendRequest;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, Request, Response, Uri};
use replay_base::budget::Share;
use replay_base::limits::{
    HTTP2_CONNECTION_BYTES, HTTP2_WINDOW_BYTES, MAX_HTTP_HEAD_BYTES, MAX_HTTP2_STREAMS,
    MAX_RECORDED_BODY_BYTES, PROXY_END_MS,
};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::Note;
use super::context::Context;
use super::intercept_tls::head_bytes;
use super::stream::Stream;
use crate::call::{BodyEnd, End, Exchange, HttpRequest, HttpResponse, HttpVersion};
use crate::http::coding;
use crate::http::h1;

/// The part of a body that has passed.
pub(super) struct Body {
    pub bytes: Vec<u8>,
    pub trailers: HeaderMap,
    pub too_long: bool,
    pub whole: bool,
    /// `true` if the receiver closed the stream before the end.
    pub cut_off: bool,
    /// Size of the preceding head, in bytes.
    head: usize,
    /// Budget share of head and body.
    held: Share,
}

impl Body {
    pub(super) fn new(context: &Context) -> Self {
        let held = context.shared.share();
        let (bytes, trailers) = (Vec::new(), HeaderMap::new());
        Self {
            bytes,
            trailers,
            too_long: false,
            whole: false,
            cut_off: false,
            head: 0,
            held,
        }
    }

    /// Charges the received head to the budget. Without enough memory, reports that and returns
    /// false.
    pub(super) fn charge_head(
        &mut self,
        context: &Context,
        target: &Uri,
        fields: &HeaderMap,
    ) -> bool {
        self.head = head_bytes(target, fields);
        let fits = self.held.try_cover(self.head);
        if !fits {
            context.shared.note(Note::Crowded);
        }
        fits
    }

    /// Appends a piece of the body, if there is memory for it.
    pub(super) fn push(&mut self, piece: &[u8]) {
        let length = self.bytes.len() + piece.len();
        if length > MAX_RECORDED_BODY_BYTES
            || !self.too_long && !self.held.try_cover(self.head + length)
        {
            self.too_long = true;
            self.bytes = Vec::new();
            self.held.shrink(self.head);
        } else if !self.too_long {
            self.bytes.extend_from_slice(piece);
        }
    }
}

/// Accepts the program's side of a connection.
pub(super) async fn accept(client: Stream) -> io::Result<h2::server::Connection<Stream, Bytes>> {
    h2::server::Builder::new()
        .max_header_list_size(MAX_HTTP_HEAD_BYTES as u32)
        .max_concurrent_streams(MAX_HTTP2_STREAMS)
        .initial_window_size(HTTP2_WINDOW_BYTES)
        .initial_connection_window_size(4 * HTTP2_WINDOW_BYTES)
        .handshake(client)
        .await
        .map_err(io::Error::other)
}

/// Opens the real server's side of a connection; its driver task belongs to `tasks`.
pub(super) async fn connect(
    server: Stream,
    tasks: &mut JoinSet<()>,
) -> io::Result<SendRequest<Bytes>> {
    let (send, connection) = h2::client::Builder::new()
        .enable_push(false)
        .max_header_list_size(MAX_HTTP_HEAD_BYTES as u32)
        .initial_window_size(HTTP2_WINDOW_BYTES)
        .initial_connection_window_size(4 * HTTP2_WINDOW_BYTES)
        .handshake(server)
        .await
        .map_err(io::Error::other)?;
    tasks.spawn(async move {
        let _ = connection.await;
    });
    Ok(send)
}

pub(super) async fn record(context: Context, client: Stream, server: Stream) -> io::Result<()> {
    let opened = SystemTime::now();
    let mut asked = false;
    let ended = relay(&context, client, server, &mut asked).await;
    if !asked {
        context.keep([context.link.silent(opened, SystemTime::now(), None)]);
    }
    ended
}

/// Relays all streams and sets `asked` after the first request.
async fn relay(
    context: &Context,
    client: Stream,
    server: Stream,
    asked: &mut bool,
) -> io::Result<()> {
    let _room = context
        .shared
        .wait_for_memory(2 * HTTP2_CONNECTION_BYTES)
        .await;
    let mut drivers = JoinSet::new();
    let send = connect(server, &mut drivers).await?;
    let mut accepted = accept(client).await?;
    let mut streams = JoinSet::new();
    loop {
        let next = tokio::select! {
            next = accepted.accept() => next,
            // The real server has closed the connection, so no new requests are possible. Open
            // streams end by themselves.
            _ = drivers.join_next(), if !drivers.is_empty() => {
                accepted.graceful_shutdown();
                continue;
            }
            Some(_) = streams.join_next(), if !streams.is_empty() => continue,
            () = context.stopped() => break,
        };
        let Some(Ok((request, respond))) = next else {
            break;
        };
        *asked = true;
        streams.spawn(stream(context.clone(), request, respond, send.clone()));
    }
    // Without the program's connection, the streams end soon and are recorded as far as they got.
    drop(accepted);
    let ending = async { while streams.join_next().await.is_some() {} };
    let _ = timeout(Duration::from_millis(PROXY_END_MS), ending).await;
    Ok(())
}

async fn stream(
    context: Context,
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    send: SendRequest<Bytes>,
) {
    let sent_at = SystemTime::now();
    let mut question = Body::new(&context);
    if !question.charge_head(&context, request.uri(), request.headers()) {
        return respond.send_reset(Reason::REFUSED_STREAM);
    }
    let (parts, body) = request.into_parts();
    let ends = body.is_end_stream();
    let sending = async {
        send.ready()
            .await?
            .send_request(Request::from_parts(parts.clone(), ()), ends)
    };
    let (response, up) = match sending.await {
        Ok(sent) => sent,
        Err(error) => return respond.send_reset(error.reason().unwrap_or(Reason::REFUSED_STREAM)),
    };
    question.whole = ends;
    let mut answer = Body::new(&context);
    let answered = {
        let asking = async {
            if !ends {
                pump(body, up, &mut question, true).await;
            }
        };
        let answering = answer_stream(&context, response, &mut respond, &mut answer);
        tokio::pin!(asking, answering);
        let mut asked = false;
        let answered = loop {
            tokio::select! {
                () = &mut asking, if !asked => asked = true,
                answered = &mut answering => break answered,
            }
        };
        if !asked && answered.is_some() {
            let _ = timeout(Duration::from_millis(PROXY_END_MS), asking).await;
        }
        answered
    };
    let request = request_of(&parts, question.bytes);
    let call =
        |response| h1::exchange(&context.link, request, response, sent_at, SystemTime::now());
    if question.too_long || answer.too_long {
        return context.too_long(&call(None));
    }
    if answered.is_none() && !question.whole {
        return;
    }
    let end = if answer.cut_off && answered.is_none() {
        End::Abandoned
    } else {
        End::Answered
    };
    let response = answered.map(|head| response_of(&head, answer));
    context.keep([Exchange {
        end,
        ..call(response)
    }]);
}

/// Relays a response and returns its head, if it arrived.
async fn answer_stream(
    context: &Context,
    response: h2::client::ResponseFuture,
    respond: &mut SendResponse<Bytes>,
    kept: &mut Body,
) -> Option<http::response::Parts> {
    let response = tokio::select! {
        response = response => response,
        // The program reset the stream; dropping the request resets the server's stream.
        _ = poll_fn(|task| respond.poll_reset(task)) => {
            kept.cut_off = true;
            return None;
        }
    };
    let failed =
        |error: h2::Error| respond.send_reset(error.reason().unwrap_or(Reason::INTERNAL_ERROR));
    let (head, body) = response.map_err(failed).ok()?.into_parts();
    if !kept.charge_head(context, &Uri::default(), &head.headers) {
        respond.send_reset(Reason::ENHANCE_YOUR_CALM);
        return None;
    }
    let ends = body.is_end_stream();
    let down = respond
        .send_response(Response::from_parts(head.clone(), ()), ends)
        .ok()?;
    if ends {
        kept.whole = true;
    } else {
        pump(body, down, kept, false).await;
    }
    Some(head)
}

/// Relays a body. With `drains`, continues to read after the receiver reset its stream. A server
/// may answer before it has read the request, which is recorded in full.
async fn pump(mut body: RecvStream, mut to: SendStream<Bytes>, kept: &mut Body, drains: bool) {
    let mut wanted = true;
    loop {
        let data = tokio::select! {
            data = body.data() => data,
            _ = poll_fn(|task| to.poll_reset(task)), if wanted => {
                if !drains {
                    kept.cut_off = true;
                    return;
                }
                wanted = false;
                continue;
            }
        };
        match data {
            Some(Ok(data)) => {
                kept.push(&data);
                let length = data.len();
                if wanted && send(&mut to, data).await.is_err() {
                    wanted = false;
                }
                kept.cut_off |= !wanted;
                if !wanted && !drains || body.flow_control().release_capacity(length).is_err() {
                    return;
                }
            }
            Some(Err(error)) => return to.send_reset(error.reason().unwrap_or(Reason::CANCEL)),
            None => break,
        }
    }
    let _ = match body.trailers().await {
        Ok(Some(trailers)) => {
            kept.trailers = trailers.clone();
            to.send_trailers(trailers)
        }
        Ok(None) => to.send_data(Bytes::new(), true),
        Err(error) => return to.send_reset(error.reason().unwrap_or(Reason::CANCEL)),
    };
    kept.whole = true;
}

/// Sends a piece of a body as flow control permits.
pub(super) async fn send(to: &mut SendStream<Bytes>, mut data: Bytes) -> Result<(), h2::Error> {
    while !data.is_empty() {
        to.reserve_capacity(data.len());
        match poll_fn(|context| to.poll_capacity(context)).await {
            Some(Ok(count)) => to.send_data(data.split_to(count.min(data.len())), false)?,
            Some(Err(error)) => return Err(error),
            None => return Err(Reason::CANCEL.into()),
        }
    }
    Ok(())
}

/// Converts a head and a body to the recorded form.
pub(super) fn request_of(parts: &http::request::Parts, body: Vec<u8>) -> HttpRequest {
    let headers = fields(&parts.headers);
    let authority = parts.uri.authority().map(ToString::to_string);
    let host = || {
        parts
            .headers
            .get("host")
            .and_then(|host| host.to_str().ok())
            .unwrap_or_default()
            .to_owned()
    };
    HttpRequest {
        version: HttpVersion::Http2,
        method: parts.method.to_string(),
        scheme: parts.uri.scheme_str().unwrap_or("http").to_owned(),
        authority: authority.unwrap_or_else(host),
        path: parts
            .uri
            .path_and_query()
            .map_or_else(|| "/".to_owned(), ToString::to_string),
        body: coding::plain(&headers, body),
        headers,
    }
}

/// Converts a response to the recorded form.
pub(super) fn response_of(head: &http::response::Parts, answer: Body) -> HttpResponse {
    let body_end = match answer {
        Body { whole: true, .. } => BodyEnd::Complete,
        Body { cut_off: true, .. } => BodyEnd::CutOff,
        _ => BodyEnd::Truncated,
    };
    coding::stored(HttpResponse {
        version: HttpVersion::Http2,
        status: head.status.as_u16(),
        headers: fields(&head.headers),
        body: answer.bytes,
        body_end,
        trailers: fields(&answer.trailers),
        ..HttpResponse::default()
    })
}

fn fields(headers: &HeaderMap) -> Vec<(String, Vec<u8>)> {
    headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
        .collect()
}
