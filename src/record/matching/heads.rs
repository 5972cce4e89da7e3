//! Fields of the head of a request that choose what is answered, where path and body do not.
//!
//! Some always do. Any other does where recordings that are the same in all else have it otherwise and have different answers; that it
//! is not there is a value, too. So what says the version of an SDK or a platform does not matter. What is made anew in a field, and
//! what stands for a secret, is treated as everywhere else (`anew`). A cookie is a field.

use std::collections::{BTreeMap, BTreeSet};

use super::noise::Fields;
use crate::record::call::{Content, Exchange, HttpRequest};
use crate::record::redact::{is_signed, places};

/// A form of the answer (RFC 9110, 12.5; RFC 7240), a part of it (RFC 9110, 14.2), whether there is anything new (RFC 9110, 13.1), and
/// the operation of who asks for all at one address.
const ALWAYS: [&str; 12] = [
    "accept",
    "accept-language",
    "prefer",
    "range",
    "if-range",
    "if-match",
    "if-none-match",
    "if-modified-since",
    "if-unmodified-since",
    "soapaction",
    "x-amz-target",
    "x-http-method-override",
];
/// What is said of a connection, of a body, which is compared itself, of a deadline and of a trace (RFC 9110, 6.6, 7.6, 8 and 10.1; gRPC;
/// W3C Trace Context).
const OF_SENDING: [&str; 18] = [
    "host",
    "connection",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "expect",
    "via",
    "http2-settings",
    "sec-websocket-key",
    "content-length",
    "content-type",
    "date",
    "grpc-timeout",
    "traceparent",
    "tracestate",
];

/// Fields and cookies by their names in lower case, of a cookie behind `cookie `.
pub(super) type Head = BTreeMap<String, String>;

/// What may choose in the head of a call, this left out.
pub(super) fn of(exchange: &Exchange, noise: &Fields) -> Head {
    let mut head = Head::new();
    let (Content::Http(http) | Content::Grpc(http)) = &exchange.content else { return head };
    for (name, value) in plain(&http.request) {
        // What is left out of a field is left out of each cookie in it.
        let field = name.split(' ').next().unwrap_or_default();
        let is_left_out = noise.has(&format!("header.{field}")) || noise.has(&format!("header.{name}"));
        if !is_left_out && !noise.has_value(&value) && !is_signed(value.as_bytes()) {
            head.entry(name).and_modify(|all| *all = format!("{all}, {value}")).or_insert(value);
        }
    }
    head
}

fn plain(request: &HttpRequest) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (name, value) in &request.headers {
        let (name, value) = (name.to_ascii_lowercase(), String::from_utf8_lossy(value).trim().to_owned());
        if name == "cookie" {
            let cookies = value.split(';').filter_map(|cookie| cookie.trim().split_once('='));
            found.extend(
                cookies.map(|(name, value)| (format!("cookie {}", name.to_ascii_lowercase()), value.to_owned())),
            );
            continue;
        }
        // To accept anything is what no field says, too (RFC 9110, 12.5.1).
        let says_nothing = name == "accept" && value == "*/*";
        if !says_nothing && !name.starts_with(':') && !OF_SENDING.contains(&name.as_str()) {
            found.push((name, value));
        }
    }
    found
}

/// The names of those that choose between calls with these heads, if their answers differ.
pub(super) fn choosing(heads: &[&Head], answers_differ: impl FnOnce() -> bool) -> BTreeSet<String> {
    let differs = |name: &&String| heads.iter().any(|head| head.get(*name) != heads[0].get(*name));
    let names: BTreeSet<&String> = heads.iter().flat_map(|head| head.keys()).filter(differs).collect();
    if names.is_empty() || !answers_differ() { BTreeSet::new() } else { names.into_iter().cloned().collect() }
}

/// What chooses in this head, in the order of names.
pub(super) fn chosen<'a>(head: &'a Head, choosing: &BTreeSet<String>) -> impl Iterator<Item = (&'a str, &'a str)> {
    let chooses = |(name, _): &(&String, &String)| ALWAYS.contains(&name.as_str()) || choosing.contains(*name);
    head.iter().filter(chooses).map(|(name, value)| (name.as_str(), value.as_str()))
}

/// The names of what stands for a secret in the recorded head, and is another one in what is asked.
pub(super) fn other_secrets(recorded: &Exchange, asked: &Exchange) -> Vec<String> {
    let (recorded, asked) = (of(recorded, &Fields::default()), of(asked, &Fields::default()));
    let is_other = |(name, value): &(String, String)| {
        asked.get(name).is_some_and(|other| other != value) && !places(value.as_bytes()).is_empty()
    };
    recorded.into_iter().filter(is_other).map(|(name, _)| name).collect()
}
