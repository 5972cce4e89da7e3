//! What makes two calls the same call.
//!
//! HTTP: protocol, target, encryption, virtual host, method, path, query by name, the media type, what the body says without its secrets, and
//! the fields of the head that choose (`heads`). A name: name and type. Anything else: the program's bytes without their secrets, with what a protocol numbers anew each time set to zero.
//! Of calls to databases from which noise is left out, the values that are none, and everything else but lengths.

use std::borrow::Cow;
use std::fmt;
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};

use super::anew::Blank;
use super::body::{Body, media_type};
use super::noise::Fields;
use super::parts;
use crate::limits::MAX_ANEW_BODY_BYTES;
use crate::record::call::{Content, Exchange, HttpRequest, Protocol, Side, Target, Wire};
use crate::record::protocol::{mysql, postgres, redis};

/// Calls that the same noise belongs to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    protocol: Protocol,
    target: Target,
    method: String,
    path: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{}", self.method, self.target, self.path)
    }
}

/// The digest of a call and its place.
pub type Key = [u8; 32];

/// The place of a call, at this target.
pub fn place(exchange: &Exchange, target: &Target) -> Place {
    let (method, path) = match &exchange.content {
        Content::Http(http) | Content::Grpc(http) => (http.request.method.as_str(), path_only(&http.request.path)),
        Content::Dns(_) | Content::Wire(..) => ("", ""),
    };
    Place {
        protocol: exchange.content.protocol(),
        target: target.clone(),
        method: method.to_owned(),
        path: path.to_owned(),
    }
}

/// A path without its query.
pub fn path_only(path: &str) -> &str {
    path.split_once('?').map_or(path, |(path, _)| path)
}

/// The host that a request names, where it is another one than it went to; empty otherwise.
pub fn virtual_host(request: &HttpRequest, target: &Target) -> String {
    let host = Target::of_authority(&request.authority).host;
    if host == target.host || target.host.is_empty() { String::new() } else { host }
}

/// What a call says, which may be long: its digest is made once for all targets that the call may stand under.
#[derive(Debug)]
pub struct Said<'a> {
    exchange: &'a Exchange,
    /// The digests, and what was left out of them.
    digest: Option<(Fields, Key)>,
}

impl<'a> Said<'a> {
    /// Of this call.
    pub fn of(exchange: &'a Exchange) -> Self {
        Self { exchange, digest: None }
    }

    /// The call without values that are made anew, if it is shorter than what is looked through. `noise` is left out as well;
    /// `is_exact` where nothing but secrets is.
    pub fn anew(&self, near: SystemTime, noise: &Fields, is_exact: bool) -> Option<Anew<'a>> {
        let mut blank = Blank::new(near, is_exact);
        let digest = match &self.exchange.content {
            Content::Http(http) | Content::Grpc(http) if http.request.body.len() <= MAX_ANEW_BODY_BYTES => {
                request(&http.request, noise, |part| Cow::Owned(blank.text(part)))
            }
            Content::Wire(protocol, wire) => {
                let parts = parts::Parts::of(*protocol, wire, noise)?;
                let mut all = Parts(Sha256::new());
                all.add(b"anew");
                all.add(&parts.anew(&mut blank));
                all.0.finalize().into()
            }
            _ => return None,
        };
        Some(Anew { exchange: self.exchange, digest, blank })
    }

    /// The key of the call, but for its head, as if it went to this target; `named` where that is only what the request names, not where it went.
    /// `context` is that of its connection.
    pub fn key(&mut self, target: &Target, named: bool, context: &[u8], noise: &Fields) -> Key {
        let said = match &self.digest {
            Some((known, digest)) if known.is_same(noise) => *digest,
            _ => self.digest.insert((noise.clone(), digest(self.exchange, noise))).1,
        };
        key(self.exchange, target, named, context, &said)
    }
}

/// A call without values that are made anew.
#[derive(Debug)]
pub struct Anew<'a> {
    exchange: &'a Exchange,
    digest: Key,
    /// What finds the values, with those that were found.
    pub(super) blank: Blank,
}

impl Anew<'_> {
    /// As [`Said::key`].
    pub fn key(&self, target: &Target, named: bool, context: &[u8]) -> Key {
        key(self.exchange, target, named, context, &self.digest)
    }
}

/// The key of a call with these fields of its head. `seen` is each as it is compared.
pub(super) fn with_head<'a>(
    bare: Key,
    head: impl Iterator<Item = (&'a str, &'a str)>,
    mut seen: impl FnMut(&'a [u8]) -> Cow<'a, [u8]>,
) -> Key {
    let mut parts = Parts(Sha256::new());
    parts.add(&bare);
    for (name, value) in head {
        parts.add(name.as_bytes());
        parts.add(&seen(value.as_bytes()));
    }
    parts.0.finalize().into()
}

/// Whether the answer to a call depends on the context of its connection.
fn is_of_context(exchange: &Exchange) -> bool {
    match &exchange.content {
        Content::Wire(Protocol::Postgres, wire) => postgres::startup_of(wire).is_none(),
        Content::Wire(Protocol::MySql, wire) => mysql::is_of_context(wire),
        Content::Wire(Protocol::Redis, wire) => redis::is_of_context(wire),
        _ => false,
    }
}

fn key(exchange: &Exchange, target: &Target, named: bool, context: &[u8], said: &Key) -> Key {
    let context = if is_of_context(exchange) { context } else { b"" };
    let mut parts = Parts(Sha256::new());
    parts.add(&[u8::from(named)]);
    parts.add(format!("{:?}", exchange.content.protocol()).as_bytes());
    // A name is the same whichever server is asked for it.
    if !matches!(exchange.content, Content::Dns(_)) {
        parts.add(target.host.as_bytes());
        parts.add(&target.port.to_le_bytes());
    }
    match &exchange.content {
        Content::Http(http) | Content::Grpc(http) => {
            // Where it is not known where a call went, it is not known how either.
            parts.add(&[u8::from(exchange.tls && !named)]);
            parts.add(virtual_host(&http.request, target).as_bytes());
        }
        Content::Wire(..) => parts.add(context),
        Content::Dns(_) => {}
    }
    parts.add(said);
    parts.0.finalize().into()
}

fn digest(exchange: &Exchange, noise: &Fields) -> Key {
    let mut parts = Parts(Sha256::new());
    match &exchange.content {
        Content::Http(http) | Content::Grpc(http) => return request(&http.request, noise, as_it_is),
        Content::Dns(dns) => {
            parts.add(dns.name.as_bytes());
            parts.add(dns.kind.as_bytes());
        }
        Content::Wire(protocol, wire) => {
            let reduced = (!noise.is_empty()).then(|| parts::Parts::of(*protocol, wire, noise)).flatten();
            if let Some(reduced) = reduced.and_then(|parts| parts.without(noise)) {
                parts.add(b"without noise");
                parts.add(&reduced);
            } else {
                parts.add(&canonical(*protocol, wire));
            }
            // It has no question, and must not answer who has none and waits for a server to begin.
            if exchange.is_no_call() {
                parts.add(b"no call");
            }
        }
    }
    parts.0.finalize().into()
}

pub(super) fn as_it_is(part: &[u8]) -> Cow<'_, [u8]> {
    Cow::Borrowed(part)
}

/// `seen` is each part of a request as it is compared.
fn request(request: &HttpRequest, noise: &Fields, mut seen: impl FnMut(&[u8]) -> Cow<'_, [u8]>) -> Key {
    let mut parts = Parts(Sha256::new());
    parts.add(request.method.as_bytes());
    parts.add(&seen(path_only(&request.path).as_bytes()));
    let mut query = Vec::new();
    Body::query(&request.path).canonical("query", noise, &mut query);
    parts.add(&seen(&query));
    parts.add(&[u8::from(request.body.is_empty())]);
    if !request.body.is_empty() {
        parts.add(media_type(request).as_bytes());
        let mut body = Vec::new();
        Body::of(request).canonical("body", noise, &mut body);
        parts.add(&seen(&body));
    }
    parts.0.finalize().into()
}

/// What the program said, with what is different each time set to zero: numbers of messages and secrets. The name that it gives
/// itself is left out.
pub fn canonical(protocol: Protocol, wire: &Wire) -> Vec<u8> {
    let mut all = Vec::new();
    let messages = wire.messages.iter().filter(|message| message.from == Side::Client).cloned().collect();
    let mut wire = Wire { messages, session: wire.session };
    if protocol == Protocol::Postgres {
        postgres::unify(&mut wire.messages);
    }
    for message in &wire.messages {
        let start = all.len();
        match protocol {
            Protocol::Postgres => all.extend_from_slice(&postgres::nameless(&message.bytes)),
            _ => all.extend_from_slice(&message.bytes),
        }
        // Request id and what it answers ("MongoDB Wire Protocol", "Standard Message Header").
        if protocol == Protocol::Mongo
            && let Some(numbers) = all.get_mut(start + 4..start + 12)
        {
            numbers.fill(0);
        }
    }
    all
}

/// Parts of a key; each has its length before it.
struct Parts(Sha256);

impl Parts {
    fn add(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }
}
