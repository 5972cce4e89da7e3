//! A document <-> the call it stands for.
//!
//! What a kind's own fields cannot hold (where the call went, the order of messages, fields that came twice) stands in
//! `metadata` as texts, which other readers pass over.

mod grpc;
mod http;
mod mongo;
mod mysql;
mod postgres;
mod wires;

pub(super) use http::is_http2;
pub use mongo::mongo_text;

use std::time::{SystemTime, UNIX_EPOCH};

use super::document::{Document, Spec, Tail};
use super::kinds::BodyRef;
use super::values::{Ordered, Stamp};
use super::{Apart, DeclaredNoise, Problem, apart};
use crate::record::book::Recording;
use crate::record::exchange::{Content, Exchange, Protocol, Target};

/// Keys of ours in `metadata`.
mod key {
    /// Name or address that the call went to.
    pub const HOST: &str = "targetHost";
    /// Its port.
    pub const PORT: &str = "targetPort";
    /// `true` where the connection was encrypted.
    pub const TLS: &str = "targetTls";
    /// `Host` or `:authority`, where the fields do not say it.
    pub const AUTHORITY: &str = "authority";
    /// `http` or `https`, where encryption says something else.
    pub const SCHEME: &str = "scheme";
    /// Fields of a request as JSON pairs, where a mapping cannot hold them.
    pub const REQUEST_HEADERS: &str = "reqHeaders";
    /// Fields of a response as JSON pairs, where a mapping cannot hold them.
    pub const RESPONSE_HEADERS: &str = "respHeaders";
    /// Fields after a body as JSON pairs.
    pub const RESPONSE_TRAILERS: &str = "respTrailers";
    /// Version of HTTP, where the kind does not say it.
    pub const VERSION: &str = "proto";
    /// Whose messages followed whose: `c1s3c1`. Without it the program's come first.
    pub const ORDER: &str = "order";
    /// What the call is to those who read it: `config` for one that answers as often as it is asked.
    pub const TYPE: &str = "type";
    /// `true` where the program left before the answer was whole.
    pub const ABANDONED: &str = "abandoned";
    /// `true` where the program had it cancelled over another connection.
    pub const CANCELLED: &str = "cancelled";
    /// The connection.
    pub const CONNECTION: &str = "connID";
}

/// Looks up a body that is in a file of its own; its path is relative to the set. Says in words why there is none.
pub type Bodies<'a> = &'a dyn Fn(&BodyRef) -> Result<Vec<u8>, String>;

/// The call that a document stands for. Fails, with the line, when the document does not hold enough to answer the call
/// again: a body that was left out, or a kind that keeps no bytes.
pub fn recording(document: &Document, bodies: Bodies<'_>) -> Result<Recording, Problem> {
    let result = match &document.spec {
        Spec::Http(spec) => http::from_http(spec, bodies),
        Spec::Http2(spec) => http::from_http2(spec),
        Spec::Grpc(spec) => grpc::from_spec(spec),
        Spec::Dns(spec) => wires::from_dns(spec),
        Spec::Generic(spec) => wires::from_turns(
            Protocol::Generic,
            &spec.metadata,
            &spec.requests,
            &spec.responses,
            spec.sent,
            spec.answered,
        ),
        Spec::Redis(spec) => wires::from_turns(
            Protocol::Redis,
            &spec.metadata,
            &spec.requests,
            &spec.responses,
            spec.sent,
            spec.answered,
        ),
        Spec::Kafka(spec) => wires::from_turns(
            Protocol::Generic,
            &spec.metadata,
            &spec.requests,
            &spec.responses,
            spec.sent,
            spec.answered,
        ),
        Spec::MySql(spec) => mysql::from_spec(spec),
        Spec::Mongo(spec) => mongo::from_spec(spec),
        Spec::Postgres(spec) => postgres::from_spec(spec),
        Spec::PostgresV2(_) | Spec::PostgresV3(_) | Spec::Other(..) => {
            Err(Problem::new(0, format!("kind `{}` keeps no messages that could be sent again", document.spec.kind())))
        }
    };
    let named = |problem: Problem| problem.inside(&document.name, document.line);
    let mut part = result.map_err(named)?;
    apart::put_back(&document.spec, &mut part.content, bodies).map_err(named)?;
    let connection = document.tail.connection_id.as_deref().and_then(|text| text.parse().ok());
    let exchange = Exchange {
        target: part.target,
        tls: part.tls,
        connection: connection.unwrap_or(part.connection),
        sent_at: part.sent_at,
        answered_at: part.answered_at,
        abandoned: part.abandoned,
        cancelled: part.cancelled,
        content: part.content,
    };
    let noise = document.tail.noise.clone();
    Ok(Recording { name: document.name.clone(), exchange, reusable: part.reusable, noise, named: part.named })
}

impl Document {
    /// The document of a call; large bodies go into files of their own.
    pub fn of(recording: &Recording, apart: &mut Apart) -> Self {
        let smaller = apart.content(&recording.exchange);
        let exchange = smaller.as_ref().map_or(&recording.exchange, |(exchange, _)| exchange);
        let mut base = Base::of(exchange, recording.reusable);
        if let Some((_, places)) = &smaller {
            base.metadata.0.extend_from_slice(&places.0);
        }
        if recording.named {
            // Where it went is not known, only what the request names.
            base.metadata.0.retain(|(name, _)| name != key::HOST && name != key::PORT);
        }
        let mut spec = match &exchange.content {
            Content::Http(http) => http::to_spec(base, http, exchange),
            Content::Grpc(http) => Spec::Grpc(Box::new(grpc::to_spec(base, http))),
            Content::Dns(dns) => Spec::Dns(Box::new(wires::to_dns(base, dns))),
            Content::Wire(Protocol::Redis, wire) => Spec::Redis(Box::new(wires::to_redis(base, wire))),
            Content::Wire(Protocol::Postgres, wire) => Spec::Postgres(Box::new(postgres::to_spec(base, wire))),
            Content::Wire(Protocol::MySql, wire) => Spec::MySql(Box::new(mysql::to_spec(base, wire))),
            Content::Wire(Protocol::Mongo, wire) => Spec::Mongo(Box::new(mongo::to_spec(base, wire))),
            Content::Wire(_, wire) => Spec::Generic(Box::new(wires::to_generic(base, wire))),
        };
        if let Spec::Http(spec) = &mut spec {
            spec.req.body_ref = apart.body(&mut spec.req.body);
            spec.resp.body_ref = apart.body(&mut spec.resp.body);
        }
        let noise = recording.noise.clone().filter(|noise| *noise != DeclaredNoise::default());
        let tail = Tail { connection_id: Some(exchange.connection.to_string()), noise, ..Tail::default() };
        Self { name: recording.name.clone(), spec, tail, line: 0 }
    }
}

/// What all kinds of document say of a call.
#[expect(clippy::struct_excessive_bools, reason = "each is a word of its own in a file")]
struct Part {
    target: Target,
    tls: bool,
    connection: u64,
    sent_at: SystemTime,
    answered_at: SystemTime,
    abandoned: bool,
    cancelled: bool,
    reusable: bool,
    named: bool,
    content: Content,
}

impl Part {
    fn new(metadata: &Ordered<String>, sent: Option<Stamp>, answered: Option<Stamp>, content: Content) -> Self {
        let text = |key| metadata.get(key).map_or("", String::as_str);
        let sent_at = sent.map_or(UNIX_EPOCH, |stamp| stamp.0);
        Self {
            target: Target { host: text(key::HOST).to_owned(), port: text(key::PORT).parse().unwrap_or(0) },
            tls: text(key::TLS) == "true",
            connection: text(key::CONNECTION).parse().unwrap_or(0),
            sent_at,
            answered_at: answered.map_or(sent_at, |stamp| stamp.0),
            abandoned: text(key::ABANDONED) == "true",
            cancelled: text(key::CANCELLED) == "true",
            reusable: is_session(metadata),
            named: !is_ours(metadata) && matches!(content, Content::Http(_) | Content::Grpc(_)),
            content,
        }
    }
}

/// Whether it answers as often as it is asked (`metadata.type`).
fn is_session(metadata: &Ordered<String>) -> bool {
    metadata.get(key::TYPE).is_some_and(|word| word == "config" || word == "connection")
}

/// Whether we wrote it ourselves.
fn is_ours(metadata: &Ordered<String>) -> bool {
    metadata.get(key::HOST).is_some()
}

/// What all kinds of document begin with.
struct Base {
    metadata: Ordered<String>,
    sent: Option<Stamp>,
    answered: Option<Stamp>,
    created: Option<i64>,
    reusable: bool,
}

impl Base {
    fn of(exchange: &Exchange, reusable: bool) -> Self {
        let mut metadata = Ordered::default();
        metadata.add(key::CONNECTION, exchange.connection.to_string());
        metadata.add(key::HOST, exchange.target.host.as_str());
        metadata.add(key::PORT, exchange.target.port.to_string());
        if exchange.tls {
            metadata.add(key::TLS, "true");
        }
        if exchange.abandoned {
            metadata.add(key::ABANDONED, "true");
        }
        if exchange.cancelled {
            metadata.add(key::CANCELLED, "true");
        }
        let since = exchange.sent_at.duration_since(UNIX_EPOCH);
        let created = since.ok().and_then(|since| i64::try_from(since.as_secs()).ok());
        let session = matches!(&exchange.content, Content::Wire(_, wire) if wire.session);
        Self {
            metadata,
            sent: Some(Stamp(exchange.sent_at)),
            answered: Some(Stamp(exchange.answered_at)),
            created,
            reusable: reusable || session,
        }
    }

    /// The metadata with the kind's own keys before ours. The type is the kind's word unless the call may be answered
    /// again and again.
    fn metadata(&mut self, own: &[(&str, &str)]) -> Ordered<String> {
        let mut metadata = Ordered::default();
        for (name, value) in own {
            metadata.add(name, if *name == key::TYPE && self.reusable { "config" } else { value });
        }
        if self.reusable && metadata.get(key::TYPE).is_none() {
            metadata.add(key::TYPE, "config");
        }
        metadata.0.append(&mut self.metadata.0);
        metadata
    }
}
