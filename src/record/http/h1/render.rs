//! Serialization of a recorded response as HTTP/1.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::call::{BodyEnd, HttpRequest, HttpResponse, HttpVersion};
use crate::http::coding;

use super::{field, has_token};

/// Returns true if the connection ends with this response (RFC 9112, 9.3).
pub(crate) fn closes(request: &HttpRequest, response: &HttpResponse) -> bool {
    let bodiless = is_bodiless(request, response);
    let unframed = field(&response.headers, "content-length").is_none() && !is_chunked(response);
    is_partial(response)
        || has_token(&request.headers, "connection", "close")
        || has_token(&response.headers, "connection", "close")
        || request.version == HttpVersion::Http10
            && !has_token(&request.headers, "connection", "keep-alive")
        || !bodiless && unframed && response.version == HttpVersion::Http10
}

/// A response in its sent form. It borrows the recorded body where possible, since bodies can be
/// long.
#[derive(Debug)]
pub(crate) struct Rendered<'a> {
    /// The head, plus the framing before the body.
    pub head: Vec<u8>,
    pub body: Cow<'a, [u8]>,
    /// The framing after the body, plus trailers.
    pub tail: Vec<u8>,
}

impl Rendered<'_> {
    pub(crate) fn whole(self) -> Vec<u8> {
        [&self.head[..], &self.body, &self.tail].concat()
    }
}

/// Serializes a recorded response to a request: its fields in order, with the framing that its
/// current body needs.
pub(crate) fn render<'a>(request: &HttpRequest, response: &'a HttpResponse) -> Rendered<'a> {
    let bodiless = is_bodiless(request, response);
    let truncated = is_partial(response);
    let body = if bodiless {
        Cow::default()
    } else {
        coding::sent_body(response)
    };
    let chunked = !bodiless && is_chunked(response) && request.version != HttpVersion::Http10;
    // Without framing, the end of the connection ends the body. Only a response that closes the
    // connection may use that.
    let until_close = !bodiless
        && !chunked
        && field(&response.headers, "content-length").is_none()
        && (is_chunked(response) || closes(request, response));

    let mut head = String::new();
    let minor = u8::from(response.version != HttpVersion::Http10);
    let reason = if response.version == HttpVersion::Http2 {
        canonical_reason(response.status)
    } else {
        &response.reason
    };
    let _ = write!(
        head,
        "HTTP/1.{minor} {:03} {}\r\n",
        response.status,
        one_line(reason)
    );
    let mut out = head.into_bytes();
    let mut sized = false;
    for (name, value) in &response.headers {
        let lower = name.to_ascii_lowercase();
        match lower.as_str() {
            _ if name.starts_with(':') => {}
            "transfer-encoding" if !chunked && !bodiless => {}
            "content-length" if chunked || sized => {}
            "content-length" if !bodiless && !truncated => {
                sized = true;
                put(&mut out, name, body.len().to_string().as_bytes());
            }
            _ => {
                sized |= lower == "content-length";
                put(&mut out, name, value);
            }
        }
    }
    if chunked && !has_token(&response.headers, "transfer-encoding", "chunked") {
        put(&mut out, "Transfer-Encoding", b"chunked");
    }
    if !bodiless && !chunked && !sized && !until_close {
        put(
            &mut out,
            "Content-Length",
            body.len().to_string().as_bytes(),
        );
    }
    if until_close && !has_token(&response.headers, "connection", "close") && minor == 1 {
        put(&mut out, "Connection", b"close");
    }
    out.extend_from_slice(b"\r\n");
    let mut tail = Vec::new();
    if chunked && !body.is_empty() {
        out.extend_from_slice(format!("{:x}\r\n", body.len()).as_bytes());
        tail.extend_from_slice(b"\r\n");
    }
    if chunked && !truncated {
        tail.extend_from_slice(b"0\r\n");
        for (name, value) in &response.trailers {
            put(&mut tail, name, value);
        }
        tail.extend_from_slice(b"\r\n");
    }
    Rendered {
        head: out,
        body,
        tail,
    }
}

/// Returns a response of this server: no recording, or the real server is unreachable.
pub(crate) fn refusal(status: u16, body: &serde_json::Value) -> HttpResponse {
    let mut body = serde_json::to_vec_pretty(body).unwrap_or_default();
    body.push(b'\n');
    HttpResponse {
        version: HttpVersion::Http11,
        status,
        reason: canonical_reason(status).to_owned(),
        headers: vec![
            ("Content-Type".to_owned(), b"application/json".to_vec()),
            (
                "Content-Length".to_owned(),
                body.len().to_string().into_bytes(),
            ),
        ],
        body,
        ..HttpResponse::default()
    }
}

fn canonical_reason(status: u16) -> &'static str {
    http::StatusCode::from_u16(status)
        .ok()
        .and_then(|status| status.canonical_reason())
        .unwrap_or_default()
}

fn put(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(one_line(name).as_bytes());
    out.extend_from_slice(b": ");
    // Recordings may hold any bytes; a line break in a value would start another field.
    out.extend(value.iter().map(|byte| {
        if matches!(byte, b'\r' | b'\n' | 0) {
            b' '
        } else {
            *byte
        }
    }));
    out.extend_from_slice(b"\r\n");
}

fn one_line(text: &str) -> String {
    text.chars()
        .map(|next| if next.is_control() { ' ' } else { next })
        .collect()
}

fn is_bodiless(request: &HttpRequest, response: &HttpResponse) -> bool {
    request.method == "HEAD"
        || matches!(response.status, 100..=199 | 204 | 304)
        || request.method == "CONNECT"
}

fn is_chunked(response: &HttpResponse) -> bool {
    has_token(&response.headers, "transfer-encoding", "chunked") || !response.trailers.is_empty()
}

fn is_partial(response: &HttpResponse) -> bool {
    response.body_end != BodyEnd::Complete
}
