//! Keys of calls: two calls with equal keys are the same call.
//!
//! A key covers the parts of a call without secrets and noise, and its destination. The destination
//! is the target; for HTTP also encryption and virtual host; for a database also the user and the
//! selected database. Selecting header fields are added separately.

use std::borrow::Cow;
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};

use super::call_parts::Parts;
use super::fields::NoiseFields;
use super::volatile_values::ValueBlanker;
use crate::call::{Content, Exchange, HttpRequest, Protocol, Target};
use crate::protocol::part_list::Part;
use crate::protocol::{mysql, postgres, redis};

/// Longest call in which values are looked for that each run makes anew, in bytes: it is read once
/// more for that.
const MAX_VOLATILE_CALL_BYTES: usize = 16 << 20;

/// Digest of a call and its destination.
pub(super) type Key = [u8; 32];

pub(super) fn path_only(path: &str) -> &str {
    path.split_once('?').map_or(path, |(path, _)| path)
}

/// Returns the host in a request if it differs from the target; otherwise empty.
pub(super) fn virtual_host(request: &HttpRequest, target: &Target) -> String {
    let host = Target::of_authority(&request.authority).host;
    if host == target.host || target.host.is_empty() {
        String::new()
    } else {
        host
    }
}

/// A call prepared for lookup. Since it may be long, it is parsed once, and its digest serves all
/// candidate targets.
#[derive(Debug)]
pub(super) struct Question<'a> {
    pub(super) exchange: &'a Exchange,
    pub(super) parts: Parts,
    /// A digest, and the fields that it ignores.
    digest: Option<(NoiseFields, Key)>,
}

impl<'a> Question<'a> {
    pub(super) fn of(exchange: &'a Exchange) -> Self {
        Self {
            exchange,
            parts: Parts::of(exchange),
            digest: None,
        }
    }

    /// Returns the key of the call without its header, for this target. `named` if the target comes
    /// from the request, not from the destination. `context` is that of the connection.
    pub(super) fn key(
        &mut self,
        target: &Target,
        named: bool,
        context: &[u8],
        noise: &NoiseFields,
    ) -> Key {
        let said = match &self.digest {
            Some((known, digest)) if known.is_same(noise) => *digest,
            _ => {
                // A recorded connection without a call must not match the empty request for a
                // server's greeting.
                let kind = [u8::from(self.exchange.is_no_call())];
                self.digest
                    .insert((
                        noise.clone(),
                        digest([&kind[..], &self.parts.encode(noise)]),
                    ))
                    .1
            }
        };
        self.key_of(&said, target, named, context)
    }

    /// Returns the digest of the call without noise and generated values; `None` if the call is too
    /// long. With `is_exact` only secrets are left out.
    pub(super) fn digest_without_values(
        &self,
        near: SystemTime,
        noise: &NoiseFields,
        is_exact: bool,
    ) -> Option<(Key, ValueBlanker)> {
        let mut blank = ValueBlanker::new(near, is_exact);
        let said = (self.parts.size() <= MAX_VOLATILE_CALL_BYTES)
            .then(|| self.parts.without_generated_values(noise, &mut blank))?;
        Some((digest([b"anew", &said[..]]), blank))
    }

    /// Returns the key for this digest of the call's content.
    pub(super) fn key_of(&self, said: &Key, target: &Target, named: bool, context: &[u8]) -> Key {
        let protocol = self.exchange.content.protocol();
        let word = protocol.word().as_bytes();
        let port = target.port.to_le_bytes();
        let named_target = [&[u8::from(named)][..], word, target.host.as_bytes(), &port];
        match &self.exchange.content {
            // The answer to a name does not depend on the server.
            Content::Dns(_) => digest([&[u8::from(named)][..], word, said]),
            // Without the actual destination the encryption is unknown too.
            Content::Http(http) | Content::Grpc(http) => {
                let host = virtual_host(&http.request, target);
                digest(named_target.into_iter().chain([
                    &[u8::from(self.exchange.tls && !named)][..],
                    host.as_bytes(),
                    said,
                ]))
            }
            Content::Wire(..) => {
                let context = if is_of_context(self.exchange) {
                    context
                } else {
                    b""
                };
                digest(named_target.into_iter().chain([context, said]))
            }
        }
    }
}

/// Adds these header fields to a key. `seen` gives the compared form of each.
pub(super) fn with_head<'a>(
    bare: Key,
    head: impl Iterator<Item = &'a Part>,
    mut seen: impl FnMut(&'a [u8]) -> Cow<'a, [u8]>,
) -> Key {
    let fields = head.flat_map(|field| [Cow::Borrowed(field.name.as_bytes()), seen(&field.bytes)]);
    digest(std::iter::once(Cow::Borrowed(&bare[..])).chain(fields))
}

fn is_of_context(exchange: &Exchange) -> bool {
    match &exchange.content {
        Content::Wire(Protocol::Postgres, wire) => postgres::startup_of(wire).is_none(),
        Content::Wire(Protocol::MySql, wire) => mysql::is_of_context(wire),
        Content::Wire(Protocol::Redis, wire) => redis::is_of_context(wire),
        _ => false,
    }
}

/// Returns the digest of texts, each with a length prefix.
pub(super) fn digest(texts: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Key {
    let mut all = Sha256::new();
    for text in texts {
        all.update((text.as_ref().len() as u64).to_le_bytes());
        all.update(text);
    }
    all.finalize().into()
}
