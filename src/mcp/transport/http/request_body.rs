//! Reads the body of a request, within limits of length, time and the tenant's memory.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONNECTION, EXPECT, HeaderMap, HeaderValue};
use hyper::{StatusCode, Version};
use replay_base::limits::{HTTP_BODY_MS, HTTP_LINGER_MS, HTTP_LINGER_SILENCE_MS};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout, timeout_at};

use super::activity::Open;
use super::message::Message;
use super::reply::{Reply, later, refuse};
use super::tenant::Tenant;
use crate::protocol::Code;

/// Bodies up to this length are read even if their request is refused, in bytes.
const HTTP_UNREAD_BYTES: usize = 64 * 1024;
/// Timeout for reading the body of a refused request, in milliseconds.
const HTTP_UNREAD_MS: u64 = 500;
/// Bytes that are read and discarded of a request that was answered early, from a client without a
/// token. A client that still sends when the connection is closed may lose the answer (RFC 9112,
/// 9.6).
const HTTP_LINGER_BYTES: u64 = 1024 * 1024;
/// Bytes that are read and discarded of a request that was answered early, from a client with a
/// token. They are twice the default length of a message.
const HTTP_TENANT_LINGER_BYTES: u64 = 128 * 1024 * 1024;

/// Reads a body of at most `max_bytes`, with at most `silence` between two parts. Returns the error
/// reply otherwise.
pub(super) async fn read(
    tenant: &Arc<Tenant>,
    mut body: Incoming,
    max_bytes: usize,
    silence: Duration,
) -> Result<Message, Box<Reply>> {
    if body.size_hint().lower() > max_bytes as u64 {
        return Err(Box::new(
            too_large(max_bytes).map(|reply| reply.holding(body)),
        ));
    }
    let end = Instant::now() + Duration::from_millis(HTTP_BODY_MS);
    let mut message = Message::default();
    loop {
        let next = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx));
        let silent = Instant::now() + silence;
        let Ok(next) = timeout_at(silent.min(end), next).await else {
            let refusal = too_slow(&if end <= silent {
                format!("the body did not arrive within {} s", HTTP_BODY_MS / 1000)
            } else {
                format!(
                    "no more of the body arrived for {} s (--client-timeout-secs)",
                    silence.as_secs()
                )
            });
            return Err(Box::new(refusal.map(|reply| reply.holding(body))));
        };
        let Some(frame) = next else { break };
        let Ok(frame) = frame else {
            let text = "the body is shorter than announced";
            return Err(Box::new(refuse(
                StatusCode::BAD_REQUEST,
                Code::InvalidRequest,
                text,
            )));
        };
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if message.bytes.len() + data.len() > max_bytes {
            return Err(Box::new(
                too_large(max_bytes).map(|reply| reply.holding(body)),
            ));
        }
        if let Err(short) = message.add(&tenant.account, &data) {
            tenant.metrics.turned_away.fetch_add(1, Relaxed);
            let text = format!("there is no memory for this request now: {short}");
            let refusal = later(
                StatusCode::SERVICE_UNAVAILABLE,
                None,
                Duration::from_secs(1),
                &text,
            );
            return Err(Box::new(refusal.map(|reply| reply.holding(body))));
        }
    }
    tenant
        .metrics
        .received_bytes
        .fetch_add(message.bytes.len() as u64, Relaxed);
    Ok(message)
}

/// Answers a request without using its body. A short body is read first, since some clients
/// treat an early reply as a failure. Otherwise the reply is sent first, and holds the unread body
/// so that the request is not reset (RFC 9113, 8.1).
pub(super) async fn pass_over(reply: Reply, head: &HeaderMap, mut body: Incoming) -> Reply {
    let is_short = body.size_hint().lower() <= HTTP_UNREAD_BYTES as u64;
    // A client that sends `Expect` waits for the reply before the body.
    if is_short && !body.is_end_stream() && !head.contains_key(EXPECT) {
        let mut bytes = 0;
        let all = async {
            while let Some(Ok(frame)) =
                std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await
            {
                bytes += frame.data_ref().map_or(0, Bytes::len);
                if bytes > HTTP_UNREAD_BYTES {
                    break;
                }
            }
        };
        let _ = timeout(Duration::from_millis(HTTP_UNREAD_MS), all).await;
    }
    if body.is_end_stream() {
        reply
    } else {
        reply.map(|reply| reply.holding(body))
    }
}

/// Prepares a reply for sending, as the reply to `open`. If the request is not complete, its rest
/// is read and discarded for a while. So a client that reads only after it has sent everything
/// still gets the reply. HTTP/1 closes the connection then (RFC 9112, 9.6); HTTP/2 resets the
/// request then (RFC 9113, 8.1).
pub(super) fn send(mut reply: Reply, open: Open, version: Version) -> Reply {
    let is_known = open.activity.seat.is_claimed();
    let most = if is_known {
        HTTP_TENANT_LINGER_BYTES
    } else {
        HTTP_LINGER_BYTES
    };
    if version == Version::HTTP_2 {
        if let Some((body, left)) = reply.body_mut().part() {
            tokio::spawn(throw_away(body, most, left));
        }
    } else if reply.body().is_early() {
        reply
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("close"));
        open.activity.linger(most);
    }
    reply.map(|body| body.on(open))
}

/// Discards at most `most` bytes of a body, and holds it until its reply was sent.
async fn throw_away(mut body: Incoming, most: u64, left: oneshot::Receiver<()>) {
    let mut bytes = 0;
    let end = Instant::now() + Duration::from_millis(HTTP_LINGER_MS);
    while bytes < most {
        let next = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx));
        let silent = Instant::now() + Duration::from_millis(HTTP_LINGER_SILENCE_MS);
        let Ok(Some(Ok(frame))) = timeout_at(silent.min(end), next).await else {
            break;
        };
        bytes += frame.data_ref().map_or(0, Bytes::len) as u64;
    }
    // The sender is only ever dropped, never used.
    let _ = left.await;
}

fn too_slow(text: &str) -> Reply {
    refuse(StatusCode::REQUEST_TIMEOUT, Code::InvalidRequest, text)
}

fn too_large(max_bytes: usize) -> Reply {
    let text = format!("the message is longer than {max_bytes} bytes (--max-line-bytes); split it");
    refuse(StatusCode::PAYLOAD_TOO_LARGE, Code::InvalidRequest, text)
}
