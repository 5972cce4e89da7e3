//! Large bodies in files of their own, beside the file of calls: named by their hash, so a body that comes twice is kept once,
//! and one that was changed is noticed.
//!
//! Kind `Http` has keys for it (`body_ref`). The other kinds have none: what is elsewhere stands in `metadata`.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use super::convert::{Bodies, is_http2};
use super::document::Spec;
use super::kinds::BodyRef;
use super::values::{Blob, Ordered};
use super::{Problem, hex};
use crate::limits::MIN_BODY_APART_BYTES;
use crate::record::exchange::{Content, Exchange, Http, Message, Side, Wire};

/// The directory of such files, in that of the set.
const DIRECTORY: &str = "bodies";
const SUFFIX: &str = ".bin";

/// Keys of ours in `metadata`: files, from the directory of the set.
mod key {
    pub(super) const REQUEST: &str = "reqBodyFile";
    pub(super) const RESPONSE: &str = "respBodyFile";
    /// All messages: each has the letter of its side (`c`, `s`) and its length before it (8 bytes, big-endian).
    pub(super) const MESSAGES: &str = "messagesFile";
}

/// Files that belong to a file of calls, by their path from the directory of the set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Apart {
    files: BTreeMap<String, Vec<u8>>,
    /// Bytes of all of them.
    bytes: u64,
}

impl Apart {
    /// All of them, in the order of their paths.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
    }

    /// All of them, in the order of their paths.
    pub fn into_files(self) -> Vec<(String, Vec<u8>)> {
        self.files.into_iter().collect()
    }

    /// How many bytes they have together.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn put(&mut self, bytes: Vec<u8>) -> BodyRef {
        let size = bytes.len() as u64;
        let path = format!("{DIRECTORY}/{}{SUFFIX}", hex(&Sha256::digest(&bytes)));
        if self.files.insert(path.clone(), bytes).is_none() {
            self.bytes += size;
        }
        BodyRef { path, size }
    }

    /// Takes a large body out of a document of kind `Http`.
    pub(super) fn body(&mut self, body: &mut Blob) -> Option<BodyRef> {
        is_large(body.0.len()).then(|| self.put(std::mem::take(&mut body.0)))
    }

    /// The call without what is large in it, and where that is, for the metadata; `None` if nothing is.
    pub(super) fn content(&mut self, exchange: &Exchange) -> Option<(Exchange, Ordered<String>)> {
        let mut places = Ordered::default();
        let content = match &exchange.content {
            Content::Grpc(http) if has_large(http) => Content::Grpc(Box::new(self.http(http, &mut places))),
            // The kind `Http` has keys of its own for it.
            Content::Http(http) if has_large(http) && is_http2(http) => {
                Content::Http(Box::new(self.http(http, &mut places)))
            }
            Content::Wire(protocol, wire) if is_large(wire.messages.iter().map(|it| it.bytes.len()).sum()) => {
                places.add(key::MESSAGES, self.put(framed(&wire.messages)).path);
                Content::Wire(*protocol, Wire { messages: Vec::new(), session: wire.session })
            }
            _ => return None,
        };
        let smaller = Exchange {
            target: exchange.target.clone(),
            tls: exchange.tls,
            connection: exchange.connection,
            sent_at: exchange.sent_at,
            answered_at: exchange.answered_at,
            abandoned: exchange.abandoned,
            cancelled: exchange.cancelled,
            content,
        };
        Some((smaller, places))
    }

    fn http(&mut self, http: &Http, places: &mut Ordered<String>) -> Http {
        let mut http = http.clone();
        if is_large(http.request.body.len()) {
            places.add(key::REQUEST, self.put(std::mem::take(&mut http.request.body)).path);
        }
        if let Some(response) = http.response.as_mut().filter(|response| is_large(response.body.len())) {
            places.add(key::RESPONSE, self.put(std::mem::take(&mut response.body)).path);
        }
        http
    }
}

fn is_large(bytes: usize) -> bool {
    bytes >= MIN_BODY_APART_BYTES
}

fn has_large(http: &Http) -> bool {
    is_large(http.request.body.len()) || http.response.as_ref().is_some_and(|response| is_large(response.body.len()))
}

/// The bytes of a body in a file of its own. Fails, in words, when it is not there, or not what it was.
pub(super) fn look_up(reference: &BodyRef, bodies: Bodies<'_>) -> Result<Vec<u8>, String> {
    let shown = reference.path.escape_debug().to_string();
    let bytes = bodies(reference).map_err(|reason| format!("the body in `{shown}` cannot be read: {reason}"))?;
    if reference.size != 0 && reference.size != bytes.len() as u64 {
        return Err(format!("the body in `{shown}` has {} bytes, and had {}", bytes.len(), reference.size));
    }
    let name = reference.path.rsplit('/').next().and_then(|name| name.strip_suffix(SUFFIX)).unwrap_or_default();
    let is_hash = name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hash && !hex(&Sha256::digest(&bytes)).eq_ignore_ascii_case(name) {
        return Err(format!("the body in `{shown}` was changed: its SHA-256 is not its name"));
    }
    Ok(bytes)
}

/// Puts back what the metadata says is elsewhere.
pub(super) fn put_back(spec: &Spec, content: &mut Content, bodies: Bodies<'_>) -> Result<(), Problem> {
    let metadata = match spec {
        Spec::Http2(spec) => &spec.metadata,
        Spec::Grpc(spec) => &spec.metadata,
        Spec::Generic(spec) => &spec.metadata,
        Spec::Redis(spec) => &spec.metadata,
        Spec::MySql(spec) => &spec.metadata,
        Spec::Mongo(spec) => &spec.metadata,
        Spec::Postgres(spec) => &spec.metadata,
        _ => return Ok(()),
    };
    let read = |name: &str| {
        let Some(path) = metadata.get(name) else { return Ok(None) };
        let reference = BodyRef { path: path.clone(), size: 0 };
        look_up(&reference, bodies).map(Some).map_err(|message| at(name, message))
    };
    match content {
        Content::Http(http) | Content::Grpc(http) => {
            if let Some(body) = read(key::REQUEST)? {
                http.request.body = body;
            }
            if let (Some(response), Some(body)) = (&mut http.response, read(key::RESPONSE)?) {
                response.body = body;
            }
        }
        Content::Wire(_, wire) => {
            if let Some(bytes) = read(key::MESSAGES)? {
                let messages = unframed(&bytes);
                wire.messages = messages.ok_or_else(|| {
                    at(key::MESSAGES, "expected messages with their side and their length before them".to_owned())
                })?;
            }
        }
        Content::Dns(_) => {}
    }
    Ok(())
}

fn at(name: &str, message: String) -> Problem {
    Problem::new(0, message).inside(name, 0).inside("metadata", 0)
}

fn framed(messages: &[Message]) -> Vec<u8> {
    let mut out = Vec::new();
    for message in messages {
        out.push(if message.from == Side::Client { b'c' } else { b's' });
        out.extend_from_slice(&(message.bytes.len() as u64).to_be_bytes());
        out.extend_from_slice(&message.bytes);
    }
    out
}

fn unframed(mut bytes: &[u8]) -> Option<Vec<Message>> {
    let mut messages = Vec::new();
    while let Some((side, rest)) = bytes.split_first() {
        let from = match side {
            b'c' => Side::Client,
            b's' => Side::Server,
            _ => return None,
        };
        let (length, rest) = rest.split_first_chunk()?;
        let (message, rest) = rest.split_at_checked(usize::try_from(u64::from_be_bytes(*length)).ok()?)?;
        messages.push(Message { from, bytes: message.to_vec() });
        bytes = rest;
    }
    Some(messages)
}
