//! Texts in `metadata`, for data that the fields of a kind cannot hold. Other readers ignore them.

use std::time::SystemTime;

use super::node::Node;
use super::{BodyLoader, Problem};

/// This program's keys in `metadata`.
pub(super) mod key {
    pub(crate) const HOST: &str = "targetHost";
    pub(crate) const PORT: &str = "targetPort";
    /// `true` if the connection was encrypted.
    pub(crate) const TLS: &str = "targetTls";
    /// `Host` or `:authority`, if not in the header fields.
    pub(crate) const AUTHORITY: &str = "authority";
    /// `http` or `https`, if the encryption suggests the other one.
    pub(crate) const SCHEME: &str = "scheme";
    /// Fields as JSON pairs, if a mapping cannot hold them.
    pub(crate) const REQUEST_HEADERS: &str = "reqHeaders";
    pub(crate) const RESPONSE_HEADERS: &str = "respHeaders";
    pub(crate) const RESPONSE_TRAILERS: &str = "respTrailers";
    /// End of an incomplete response body: `truncated`, or `cut off by the client`.
    pub(crate) const BODY_END: &str = "respBodyEnd";
    /// `true` if the response body keeps its content coding.
    pub(crate) const CODED: &str = "respCoded";
    /// HTTP version, if the kind does not imply it.
    pub(crate) const VERSION: &str = "proto";
    /// Type of the call for other readers: `config` for a reusable one.
    pub(crate) const TYPE: &str = "type";
    /// End of the call without an answer: `abandoned`, `silent`, `closed`, or `refused ECONNREFUSED
    /// 1`, with the number of the connection to its target.
    pub(crate) const END: &str = "end";
    /// Delays after the request, in nanoseconds, of the last messages: the server sent these
    /// unasked.
    pub(crate) const PUSHED: &str = "pushedAfterNs";
    /// Frames of an unknown protocol ([`Framing`](crate::call::Framing)), as numbers.
    pub(crate) const FRAMES: &str = "frames";
    pub(crate) const CONNECTION: &str = "connID";
    /// Place of the process that made the call ([`Worker`](crate::matching::Worker)).
    pub(crate) const PROCESS: &str = "process";
}

/// Texts of `metadata` by key, in the order of the file.
#[derive(Debug, Default)]
pub(super) struct Metadata(pub(super) Vec<(String, String)>);

impl Metadata {
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(known, _)| known == key)
            .map(|(_, value)| value.as_str())
    }

    pub(super) fn add(&mut self, key: &str, value: impl Into<String>) {
        self.0.push((key.to_owned(), value.into()));
    }

    pub(super) fn is_ours(&self) -> bool {
        self.get(key::HOST).is_some()
    }

    /// Returns true if the call is reusable.
    pub(super) fn is_session(&self) -> bool {
        self.get(key::TYPE)
            .is_some_and(|word| word == "config" || word == "connection")
    }

    pub(super) fn is_true(&self, key: &str) -> bool {
        self.get(key) == Some("true")
    }

    pub(super) fn of(spec: &Node) -> Result<Self, Problem> {
        let metadata = spec
            .get("metadata", |metadata| metadata.pairs(Node::text))
            .map(Self)?;
        let port = |node: &Node| {
            node.number::<u16>()
                .map_err(|_| node.expected("a port from 0 to 65535"))
        };
        spec.find("metadata", |metadata| metadata.find(key::PORT, port))?;
        Ok(metadata)
    }
}

/// Document data of one call, for the reader of its kind.
pub(super) struct Spec<'a> {
    pub(super) node: &'a Node,
    pub(super) metadata: &'a Metadata,
    pub(super) bodies: BodyLoader<'a>,
}

impl Spec<'_> {
    /// Reads a time of the call, under one of these keys or in one of these parts.
    pub(super) fn time(
        &self,
        keys: &[&str],
        parts: &[&str],
    ) -> Result<Option<SystemTime>, Problem> {
        let here = keys.iter().map(|key| self.node.find(key, Node::time));
        let within = parts.iter().map(|part| {
            self.node
                .get(part, |part| part.find("timestamp", Node::time))
        });
        here.chain(within).find_map(Result::transpose).transpose()
    }
}
