//! The body of a request, read whole: within a length, within a time, and within the memory of its tenant.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use hyper::StatusCode;
use hyper::body::{Body as _, Incoming};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

use super::reply::{Reply, later, refuse};
use super::tenant::Tenant;
use crate::limits::HTTP_BODY_MS;
use crate::protocol::Code;

/// A message, and the account of its memory.
#[derive(Debug, Default)]
pub struct Message {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether a part of it has come, be it an empty one.
    pub is_within: bool,
    room: Option<OwnedSemaphorePermit>,
}

impl Message {
    /// Adds bytes, if the tenant has room for them.
    pub fn add(&mut self, tenant: &Arc<Tenant>, bytes: &[u8]) -> bool {
        let Some(more) = tenant.take_in(bytes.len()) else { return false };
        match &mut self.room {
            Some(room) => room.merge(more),
            None => self.room = Some(more),
        }
        self.bytes.extend_from_slice(bytes);
        true
    }
}

/// Reads a body of at most `max_bytes`, of which some comes every `silence`, or says why not.
pub async fn read(
    tenant: &Arc<Tenant>,
    mut body: Incoming,
    max_bytes: usize,
    silence: Duration,
) -> Result<Message, Box<Reply>> {
    if body.size_hint().lower() > max_bytes as u64 {
        return Err(Box::new(too_large(max_bytes)));
    }
    let end = Instant::now() + Duration::from_millis(HTTP_BODY_MS);
    let mut message = Message::default();
    loop {
        let next = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx));
        let silent = Instant::now() + silence;
        let Ok(next) = timeout_at(silent.min(end), next).await else {
            return Err(too_slow(&if end <= silent {
                format!("the body has not come within {} s", HTTP_BODY_MS / 1000)
            } else {
                format!("nothing more of the body has come for {} s (--client-timeout-secs)", silence.as_secs())
            }));
        };
        let Some(frame) = next else { break };
        let Ok(frame) = frame else {
            let text = "the body has ended before its end";
            return Err(Box::new(refuse(StatusCode::BAD_REQUEST, Code::InvalidRequest, text)));
        };
        let Ok(data) = frame.into_data() else { continue };
        if message.bytes.len() + data.len() > max_bytes {
            return Err(Box::new(too_large(max_bytes)));
        }
        if !message.add(tenant, &data) {
            tenant.metrics.turned_away.fetch_add(1, Relaxed);
            let text = "requests that are under way have taken all the memory there is for them";
            return Err(Box::new(later(StatusCode::SERVICE_UNAVAILABLE, None, Duration::from_secs(1), text)));
        }
    }
    tenant.metrics.received_bytes.fetch_add(message.bytes.len() as u64, Relaxed);
    Ok(message)
}

fn too_slow(text: &str) -> Box<Reply> {
    Box::new(refuse(StatusCode::REQUEST_TIMEOUT, Code::InvalidRequest, text))
}

fn too_large(max_bytes: usize) -> Reply {
    let text = format!("the message is longer than {max_bytes} bytes (--max-line-bytes); split it");
    refuse(StatusCode::PAYLOAD_TOO_LARGE, Code::InvalidRequest, text)
}
