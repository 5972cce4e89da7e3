//! What makes two calls the same call.
//!
//! HTTP: protocol, target, encryption, virtual host, method, path, query by name, the fields that [choose](is_key_header), the media type and what
//! the body says without its secrets. No other field: most change from run to run, and secrets must not be needed to replay. A name: name and
//! type. Anything else: the program's bytes without their secrets, with what a protocol numbers anew each time set to zero.
//! Of calls to databases from which noise is left out, the values that are none, and everything else but lengths.

use std::borrow::Cow;
use std::fmt;

use sha2::{Digest as _, Sha256};

use super::body::{Body, media_type};
use super::noise::Fields;
use super::parts;
use crate::record::exchange::{Content, Exchange, HttpRequest, Message, Protocol, Side, Target, Wire};
use crate::record::outline::is_no_call;
use crate::record::redact::{self, without_secrets};
use crate::record::{postgres, state};

/// Fields that choose what is answered, where path and body do not: a form of it (RFC 9110, 12.5; RFC 7240), a part of a
/// resource (RFC 9110, 14.2), whether there is anything new (RFC 9110, 13.1), the operation of a SOAP or an AWS request, a method
/// in place of the method, the version of an interface, the object (RFC 4918, 9.8, 10.2, 10.3 and 10.6; RFC 5023, 9.7; Dropbox; Amazon
/// and Azure name its source), a part of it that is sent (RFC 9110, 14.4; tus 1.0; Google's uploads), from where on a stream goes on.
const KEY_HEADERS: [&str; 38] = [
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
    "x-http-method",
    "x-method-override",
    "api-version",
    "x-api-version",
    "accept-version",
    "stripe-version",
    "notion-version",
    "anthropic-version",
    "x-ms-version",
    "x-github-api-version",
    "dropbox-api-arg",
    "dropbox-api-path-root",
    "destination",
    "overwrite",
    "depth",
    "slug",
    "content-range",
    "upload-offset",
    "upload-length",
    "upload-metadata",
    "upload-concat",
    "x-goog-upload-command",
    "x-goog-upload-offset",
    "x-ms-range",
    "x-ms-rename-source",
    "last-event-id",
];
/// What names of fields have in them that say what is copied: `x-amz-copy-source-range`, `x-goog-copy-source`.
const COPY_SOURCE: &str = "-copy-source";
/// Words of names of fields that say on whose behalf is asked, where one program asks for several.
const BEHALF: [&str; 15] = [
    "tenant",
    "tenantid",
    "organization",
    "organisation",
    "org",
    "account",
    "workspace",
    "project",
    "customer",
    "impersonate",
    "behalf",
    "sudo",
    "locale",
    "currency",
    "namespace",
];

/// Whether a field, by its name in lower case, is in the key of a request.
pub fn is_key_header(name: &str) -> bool {
    let of_behalf = || name.split('-').any(|word| BEHALF.contains(&word));
    let is_source = || name.starts_with("x-") && name.contains(COPY_SOURCE);
    KEY_HEADERS.contains(&name) || (of_behalf() || is_source()) && !redact::is_secret_header(name)
}

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
        Content::Http(http) | Content::Grpc(http) => {
            (http.request.method.as_str(), redact::path(path_only(&http.request.path)))
        }
        Content::Dns(_) | Content::Wire(..) => ("", Cow::Borrowed("")),
    };
    Place {
        protocol: exchange.content.protocol(),
        target: target.clone(),
        method: method.to_owned(),
        path: path.into_owned(),
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

/// The fields of a request that are in its key, by name in lower case and in the order of names, without their secrets.
pub fn header_fields(request: &HttpRequest) -> Vec<(String, String)> {
    let fields = request.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value));
    let mut found: Vec<_> = fields
        .filter(|(name, _)| is_key_header(name))
        .map(|(name, value)| (redact::field(&name, value), name))
        .map(|(value, name)| (name, value))
        .collect();
    // Those of one name stay in their order.
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    found
}

/// What a call says, which may be long: its digest is made once for all targets that the call may stand under.
#[derive(Debug)]
pub struct Said<'a> {
    exchange: &'a Exchange,
    /// The digests, and what was left out of them.
    digest: Option<(Fields, Digest)>,
}

/// What a call says, whatever its target is.
#[derive(Clone, Copy, Debug)]
struct Digest {
    /// All of it.
    whole: Key,
    /// Without the fields of its head, or the state of the connection.
    bare: Key,
}

/// What a call is known by.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    /// The call.
    pub whole: Key,
    /// All calls that differ from it in nothing but fields of the head, or the state of the connection.
    pub bare: Key,
}

impl<'a> Said<'a> {
    /// Of this call.
    pub fn of(exchange: &'a Exchange) -> Self {
        Self { exchange, digest: None }
    }

    /// The keys of the call as if it went to this target; `named` where that is only what the request names, not where it went.
    pub fn keys(&mut self, target: &Target, named: bool, noise: &Fields) -> Keys {
        let said = match &self.digest {
            Some((known, digest)) if known.is_same(noise) => *digest,
            _ => self.digest.insert((noise.clone(), digest(self.exchange, noise))).1,
        };
        let key = |said| key(self.exchange, target, named, said);
        Keys { whole: key(&said.whole), bare: key(&said.bare) }
    }
}

fn key(exchange: &Exchange, target: &Target, named: bool, said: &Key) -> Key {
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
        Content::Dns(_) | Content::Wire(..) => {}
    }
    parts.add(said);
    parts.0.finalize().into()
}

fn digest(exchange: &Exchange, noise: &Fields) -> Digest {
    let mut parts = Parts(Sha256::new());
    let mut bare = Parts(Sha256::new());
    match &exchange.content {
        Content::Http(http) | Content::Grpc(http) => return request(&http.request, noise),
        Content::Dns(dns) => {
            parts.add(dns.name.as_bytes());
            parts.add(dns.kind.as_bytes());
            bare = parts.clone();
        }
        Content::Wire(protocol, wire) => {
            let reduced = (!noise.is_empty()).then(|| parts::Parts::of(*protocol, wire, noise)).flatten();
            let reduced = reduced.and_then(|parts| Some((parts.without(noise)?, parts.kept(noise))));
            if let Some((reduced, kept)) = reduced {
                parts.add(b"without noise");
                bare = parts.clone();
                parts.add(&reduced);
                bare.add(&kept);
            } else {
                let (all, state) = canonical_with_state(*protocol, &wire.messages, wire.session);
                parts.add(&all);
                bare.add(&all[state..]);
            }
            // It has no question, and must not answer who has none and waits for a server to begin.
            if is_no_call(exchange) {
                parts.add(b"no call");
                bare.add(b"no call");
            }
        }
    }
    let whole = parts.0.finalize().into();
    Digest { whole, bare: bare.0.finalize().into() }
}

fn request(request: &HttpRequest, noise: &Fields) -> Digest {
    let request = &*without_secrets(request);
    let mut parts = Parts(Sha256::new());
    parts.add(request.method.as_bytes());
    parts.add(path_only(&request.path).as_bytes());
    let mut query = Vec::new();
    Body::query(&request.path).canonical("query", noise, &mut query);
    parts.add(&query);
    parts.add(&[u8::from(request.body.is_empty())]);
    if !request.body.is_empty() {
        parts.add(media_type(request).as_bytes());
        let mut body = Vec::new();
        Body::of(request).canonical("body", noise, &mut body);
        parts.add(&body);
    }
    let bare = parts.0.clone().finalize().into();
    let mut fields = header_fields(request);
    fields.retain(|(name, value)| !noise.has(&format!("header.{name}")) && !noise.has_value(value));
    for (name, value) in fields {
        parts.add(name.as_bytes());
        parts.add(value.as_bytes());
    }
    Digest { whole: parts.0.finalize().into(), bare }
}

/// What the program said, with what is different each time set to zero: numbers of messages and secrets. The name that it gives
/// itself is left out.
pub fn canonical(protocol: Protocol, wire: &Wire) -> Vec<u8> {
    canonical_with_state(protocol, &wire.messages, wire.session).0
}

/// The same of a call to a database by its messages, without the state of the connection.
pub fn canonical_call(protocol: Protocol, messages: &[Message]) -> Vec<u8> {
    let (mut all, state) = canonical_with_state(protocol, messages, false);
    all.split_off(state)
}

/// The same, and how many bytes at its beginning are the state of the connection.
fn canonical_with_state(protocol: Protocol, messages: &[Message], session: bool) -> (Vec<u8>, usize) {
    let mut all = Vec::new();
    let mut state = 0;
    let messages = messages.iter().filter(|message| message.from == Side::Client).cloned().collect();
    let mut wire = Wire { messages, session };
    state::compare(protocol, &mut wire.messages);
    let has_state = state::leads_messages(protocol, &wire.messages);
    redact::wire(protocol, &mut wire);
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
        if start == 0 && has_state {
            state = all.len();
        }
    }
    (all, state)
}

/// Parts of a key; each has its length before it.
#[derive(Clone)]
struct Parts(Sha256);

impl Parts {
    fn add(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }
}
