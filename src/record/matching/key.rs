//! What makes two calls the same call.
//!
//! What they say without secrets and noise, in parts, and where they go: the target, of HTTP
//! encryption and virtual host, of a database the user and the selected database. Fields of the
//! head of HTTP that choose are added by themselves.

use std::borrow::Cow;
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};

use super::fields::Fields;
use super::parts::Parts;
use super::volatile_values::Blank;
use crate::limits::MAX_ANEW_BYTES;
use crate::record::call::{Content, Exchange, HttpRequest, Protocol, Target};
use crate::record::protocol::parts::Part;
use crate::record::protocol::{mysql, postgres, redis};

/// The digest of a call and where it goes.
pub type Key = [u8; 32];

pub fn path_only(path: &str) -> &str {
    path.split_once('?').map_or(path, |(path, _)| path)
}

/// The host that a request names, where it is another one than it went to; empty otherwise.
pub fn virtual_host(request: &HttpRequest, target: &Target) -> String {
    let host = Target::of_authority(&request.authority).host;
    if host == target.host || target.host.is_empty() {
        String::new()
    } else {
        host
    }
}

/// A call as it is looked up. It may be long: it is taken apart once, and a digest is made once for
/// all targets that it may stand under.
#[derive(Debug)]
pub(super) struct Question<'a> {
    pub(super) exchange: &'a Exchange,
    pub(super) parts: Parts,
    /// A digest, and what was left out of it.
    digest: Option<(Fields, Key)>,
}

impl<'a> Question<'a> {
    pub(super) fn of(exchange: &'a Exchange) -> Self {
        Self {
            exchange,
            parts: Parts::of(exchange),
            digest: None,
        }
    }

    /// The key of the call, but for its head, as if it went to this target; `named` where that is
    /// only what the request names, not where it went. `context` is that of its connection.
    pub(super) fn key(
        &mut self,
        target: &Target,
        named: bool,
        context: &[u8],
        noise: &Fields,
    ) -> Key {
        let said = match &self.digest {
            Some((known, digest)) if known.is_same(noise) => *digest,
            _ => {
                // What is no call has no question, and must not answer who has none and waits for a
                // server to begin.
                let kind = [u8::from(self.exchange.is_no_call())];
                self.digest
                    .insert((noise.clone(), digest([&kind[..], &self.parts.kept(noise)])))
                    .1
            }
        };
        self.key_of(&said, target, named, context)
    }

    /// The call without noise and values that a run at this time made anew, if it is short enough
    /// to be looked through. `is_exact` where nothing but secrets is left out.
    pub(super) fn anew(
        &self,
        near: SystemTime,
        noise: &Fields,
        is_exact: bool,
    ) -> Option<(Key, Blank)> {
        let mut blank = Blank::new(near, is_exact);
        let said =
            (self.parts.size() <= MAX_ANEW_BYTES).then(|| self.parts.anew(noise, &mut blank))?;
        Some((digest([b"anew", &said[..]]), blank))
    }

    /// The key of what the call says, which has this digest.
    pub(super) fn key_of(&self, said: &Key, target: &Target, named: bool, context: &[u8]) -> Key {
        let protocol = self.exchange.content.protocol();
        let word = protocol.word().as_bytes();
        let port = target.port.to_le_bytes();
        let named_target = [&[u8::from(named)][..], word, target.host.as_bytes(), &port];
        match &self.exchange.content {
            // A name is the same whichever server is asked for it.
            Content::Dns(_) => digest([&[u8::from(named)][..], word, said]),
            // Where it is not known where a call went, it is not known how either.
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

/// The key of a call with these fields of its head. `seen` is each as it is compared.
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

/// A digest of texts, each with its length before it.
pub(super) fn digest(texts: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Key {
    let mut all = Sha256::new();
    for text in texts {
        all.update((text.as_ref().len() as u64).to_le_bytes());
        all.update(text);
    }
    all.finalize().into()
}
