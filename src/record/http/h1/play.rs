//! Takes requests off a connection whose server is played.

use std::time::SystemTime;

use crate::limits::MAX_RECORDED_BODY_BYTES;
use crate::record::call::{Exchange, HttpRequest, Link, Target};

use super::reader::{Answered, Malformed, Reader};
use super::tap::tunnel;
use super::{exchange, field, request};

#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    pub request: HttpRequest,
    pub target: Target,
    /// Whether it would be encrypted.
    pub tls: bool,
    /// Where a tunnel would lead, for CONNECT.
    pub tunnel: Option<Target>,
    /// Whether the body was longer than what is kept; then it equals nothing that was recorded.
    pub too_long: bool,
    pub raw: Vec<u8>,
}

impl Asked {
    /// Its bytes as a server itself gets them: a proxy is asked with the whole address
    /// (absolute-form, RFC 9112, 3.2.2), which not every server understands.
    pub fn origin_form(&self) -> Vec<u8> {
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
pub enum Next {
    Continue,
    Answer(Box<Asked>),
}

pub fn asked(link: &Link, asked: &Asked) -> Exchange {
    let now = SystemTime::now();
    let link = Link {
        target: asked.target.clone(),
        tls: asked.tls,
        connection: link.connection,
    };
    exchange(&link, asked.request.clone(), None, now, now)
}

#[derive(Debug)]
pub struct Questions {
    link: Link,
    reader: Reader,
    /// Bytes that came and were not looked at: what belongs to no request is what a tunnel or
    /// another protocol begins with.
    pub waiting: Vec<u8>,
    raw: Vec<u8>,
    keep_raw: bool,
    promised: bool,
}

impl Questions {
    /// Of a connection that has not said anything yet. `keep_raw`: the bytes of requests are
    /// wanted, to send them on.
    pub fn new(link: Link, keep_raw: bool) -> Self {
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

    pub fn kept(&self) -> usize {
        self.reader.kept() + self.raw.len() + self.waiting.len()
    }

    pub fn is_idle(&self) -> bool {
        self.reader.is_idle() && self.waiting.is_empty()
    }

    /// What is to be done for what has come; `None` asks for more.
    pub fn next(&mut self) -> Result<Option<Next>, Malformed> {
        while !self.waiting.is_empty() {
            let mut input = self.waiting.as_slice();
            let whole = self.reader.take(&mut input, Answered::Other)?;
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
                    return Ok(Some(Next::Continue));
                }
                continue;
            };
            self.promised = false;
            let tunnel = tunnel(&message);
            let too_long = message.too_long;
            let (request, named) = request(message, self.link.tls);
            return Ok(Some(Next::Answer(Box::new(Asked {
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
