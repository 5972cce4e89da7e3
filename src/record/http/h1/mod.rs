//! HTTP/1 without a socket: what passes is looked at, never rewritten, so the program gets the very
//! bytes of the server.

mod play;
mod reader;
mod render;
mod tap;
#[cfg(test)]
mod tests;

pub use play::{Asked, Next, Questions, asked};
pub use reader::{Malformed, Message};
pub use render::{Rendered, closes, refusal, render};
pub use tap::{End, Tap, Turn};

use std::time::SystemTime;

use crate::record::call::{Content, Exchange, Http, HttpRequest, HttpResponse, Link, Target};
use crate::record::http::coding::{self, has_note};
pub use crate::record::http::coding::{BODY_NOTE, CUT_OFF, TRUNCATED};

/// Whether the recording of this response ends where the program left.
pub fn is_cut_off(response: &HttpResponse) -> bool {
    has_note(&response.headers, CUT_OFF)
}

/// Value of the first field of that name (in lower case), as text.
pub fn field<'a>(headers: &'a [(String, Vec<u8>)], name: &str) -> Option<&'a str> {
    values(headers, name).next().flatten()
}

/// Whether a field that holds a list has this token in it.
pub fn has_token(headers: &[(String, Vec<u8>)], name: &str, token: &str) -> bool {
    values(headers, name).flatten().any(|value| {
        value
            .split(',')
            .any(|part| part.trim().eq_ignore_ascii_case(token))
    })
}

fn values<'a>(
    headers: &'a [(String, Vec<u8>)],
    name: &str,
) -> impl Iterator<Item = Option<&'a str>> {
    let fields = headers
        .iter()
        .filter(move |(key, _)| key.eq_ignore_ascii_case(name));
    fields.map(|(_, value)| std::str::from_utf8(value).ok())
}

/// A call on a connection, by what its request says it is.
pub fn exchange(
    link: &Link,
    request: HttpRequest,
    response: Option<HttpResponse>,
    sent_at: SystemTime,
    answered_at: SystemTime,
) -> Exchange {
    let kind = field(&request.headers, "content-type");
    let is_grpc = kind.is_some_and(|kind| kind.starts_with("application/grpc"));
    let http = Box::new(Http { request, response });
    link.exchange(
        if is_grpc {
            Content::Grpc(http)
        } else {
            Content::Http(http)
        },
        sent_at,
        answered_at,
    )
}

/// Host and port of an authority; the port of the scheme where it names none.
pub fn authority(text: &str, default_port: u16) -> Option<Target> {
    let text = text.rsplit('@').next().unwrap_or(text);
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let (host, port) = rest.split_once(']')?;
        (host, port.strip_prefix(':'))
    } else {
        text.split_once(':')
            .map_or((text, None), |(host, port)| (host, Some(port)))
    };
    let port = match port {
        None | Some("") => default_port,
        Some(port) => port.parse().ok()?,
    };
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    (!host.is_empty()).then_some(Target { host, port })
}

/// The request of a head and its body, and where it goes if the head says so itself (absolute-form,
/// RFC 9112, 3.2.2).
pub fn request(message: Message, tls: bool) -> (HttpRequest, Option<Target>) {
    let mut scheme = if tls { "https" } else { "http" };
    let mut host = field(&message.headers, "host")
        .unwrap_or_default()
        .to_owned();
    let (method, path) = (message.method, message.path);
    let mut origin = path.clone();
    let mut target = None;
    if method != "CONNECT" {
        for (name, port) in [("http", 80), ("https", 443)] {
            let Some(rest) = path
                .strip_prefix(name)
                .and_then(|rest| rest.strip_prefix("://"))
            else {
                continue;
            };
            let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            let (named, after) = rest.split_at(end);
            target = authority(named, port);
            scheme = name;
            // Who asks is said by a field (RFC 9110, 4.2.4).
            named
                .rsplit('@')
                .next()
                .unwrap_or(named)
                .clone_into(&mut host);
            origin = if after.starts_with('/') {
                after.to_owned()
            } else {
                format!("/{after}")
            };
        }
    }
    let request = HttpRequest {
        version: message.version,
        method,
        scheme: scheme.to_owned(),
        authority: host,
        path: origin,
        body: coding::plain(&message.headers, message.body),
        headers: message.headers,
    };
    (request, target)
}
