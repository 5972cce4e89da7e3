//! HTTP/1 parsing without sockets. It observes bytes and never rewrites them, so the program
//! receives the server's exact bytes.

mod play;
mod reader;
mod render;
mod tap;
#[cfg(test)]
mod tests;

pub(crate) use play::{ReceivedRequest, RequestParser, RequestStep, unanswered_call};
pub(crate) use reader::{Malformed, Message};
pub(crate) use render::{Rendered, closes, refusal, render};
pub(crate) use tap::{ConnectionEnd, ProtocolChange, Tap};

use std::time::SystemTime;

use crate::call::{Content, Exchange, Http, HttpRequest, HttpResponse, Link, Target};
use crate::http::coding;

/// Returns the first field of this (lower-case) name as text.
pub(crate) fn field<'a>(headers: &'a [(String, Vec<u8>)], name: &str) -> Option<&'a str> {
    values(headers, name).next().flatten()
}

/// Returns true if a list field contains this token.
pub(crate) fn has_token(headers: &[(String, Vec<u8>)], name: &str, token: &str) -> bool {
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

/// Returns a call on a connection; its content type decides between HTTP and gRPC.
pub(crate) fn exchange(
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

/// Parses an authority into host and port, with the scheme's default port.
pub(crate) fn authority(text: &str, default_port: u16) -> Option<Target> {
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

/// Returns the request of a message, and its target if the head has one (absolute-form, RFC 9112,
/// 3.2.2).
pub(crate) fn request(message: Message, tls: bool) -> (HttpRequest, Option<Target>) {
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
            // The authority holds no credentials; a header field does (RFC 9110, 4.2.4).
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
