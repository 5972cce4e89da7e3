//! Request parsing on a connection whose server is replayed.

use std::time::SystemTime;

use replay_base::limits::MAX_RECORDED_BODY_BYTES;

use crate::call::{Exchange, HttpRequest, Link, Target};

use super::reader::{ExpectedBody, Malformed, Reader};
use super::tap::tunnel;
use super::{exchange, field, request};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReceivedRequest {
    pub request: HttpRequest,
    pub target: Target,
    /// `true` for an encrypted connection to the target.
    pub tls: bool,
    /// Destination of the tunnel, for CONNECT.
    pub tunnel: Option<Target>,
    /// `true` if the body exceeded the recording limit; it then matches no recorded body.
    pub too_long: bool,
    pub raw: Vec<u8>,
}

impl ReceivedRequest {
    /// Returns the request as an origin server expects it. Requests to a proxy name the full URL
    /// (absolute-form, RFC 9112, 3.2.2), which not all servers accept.
    pub(crate) fn origin_form(&self) -> Vec<u8> {
        let end = memchr::memchr(b'\n', &self.raw).unwrap_or(0);
        let line = String::from_utf8_lossy(&self.raw[..end]);
        let mut words = line.split_ascii_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some(method), Some(path), Some(version))
                if path != self.request.path && self.tunnel.is_none() =>
            {
                let mut out = format!("{method} {} {version}\r", self.request.path).into_bytes();
                out.extend_from_slice(&self.raw[end..]);
                out
            }
            _ => self.raw.clone(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RequestStep {
    Continue,
    Answer(Box<ReceivedRequest>),
}

pub(crate) fn unanswered_call(link: &Link, asked: &ReceivedRequest) -> Exchange {
    let now = SystemTime::now();
    let link = Link {
        target: asked.target.clone(),
        tls: asked.tls,
        connection: link.connection,
    };
    exchange(&link, asked.request.clone(), None, now, now)
}

#[derive(Debug)]
pub(crate) struct RequestParser {
    link: Link,
    reader: Reader,
    /// Received bytes that are not parsed yet. After the last request, these begin a tunnel or
    /// another protocol.
    pub waiting: Vec<u8>,
    raw: Vec<u8>,
    keep_raw: bool,
    promised: bool,
}

impl RequestParser {
    /// Creates a parser for a new connection. `keep_raw` keeps the bytes of requests for
    /// forwarding.
    pub(crate) fn new(link: Link, keep_raw: bool) -> Self {
        let reader = Reader::requests(MAX_RECORDED_BODY_BYTES);
        Self {
            link,
            reader,
            waiting: Vec::new(),
            raw: Vec::new(),
            keep_raw,
            promised: false,
        }
    }

    pub(crate) fn buffered_bytes(&self) -> usize {
        self.reader.buffered_bytes() + self.raw.len() + self.waiting.len()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.reader.is_idle() && self.waiting.is_empty()
    }

    /// Returns the next step for the received bytes; `None` if more bytes are needed.
    pub(crate) fn next(&mut self) -> Result<Option<RequestStep>, Malformed> {
        while !self.waiting.is_empty() {
            let mut input = self.waiting.as_slice();
            let whole = self.reader.take(&mut input, ExpectedBody::Other)?;
            let taken = self.waiting.len() - input.len();
            if self.keep_raw && self.raw.len() + taken <= 2 * MAX_RECORDED_BODY_BYTES {
                self.raw.extend_from_slice(&self.waiting[..taken]);
            }
            self.waiting.drain(..taken);
            let Some(message) = whole else {
                let expects = self.reader.head().is_some_and(|head| {
                    field(&head.headers, "expect")
                        .is_some_and(|value| value.eq_ignore_ascii_case("100-continue"))
                });
                if expects && !self.promised {
                    self.promised = true;
                    return Ok(Some(RequestStep::Continue));
                }
                continue;
            };
            self.promised = false;
            let tunnel = tunnel(&message);
            let too_long = message.too_long;
            let (request, named) = request(message, self.link.tls);
            return Ok(Some(RequestStep::Answer(Box::new(ReceivedRequest {
                tls: self.link.tls || request.scheme == "https",
                request,
                target: named.unwrap_or_else(|| self.link.target.clone()),
                tunnel,
                too_long,
                raw: std::mem::take(&mut self.raw),
            }))));
        }
        Ok(None)
    }
}
