//! Data model of one outgoing call: target, request and response.
//!
//! File formats, matching and all protocols share these types.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::framing::Framing;
use super::refusal::Refusal;
use super::statement_meta::StatementMeta;

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The program whose calls are recorded.
    Client,
    Server,
}

/// Destination of a call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// The name that the program looked up, in lower case and without a trailing dot. The address
    /// as text if the program looked up none. Empty in recordings without a host.
    pub host: String,
    /// The port; 0 in recordings without a port.
    pub port: u16,
}

impl Target {
    /// Parses host and port from `Host` or `:authority` (RFC 3986, 3.2); a missing port becomes 0.
    pub fn of_authority(authority: &str) -> Self {
        let text = authority.trim().to_ascii_lowercase();
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
                (host, port.parse().unwrap_or(0))
            }
            _ => (text.as_str(), 0),
        };
        let host = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(host);
        Self {
            host: host.trim_end_matches('.').to_owned(),
            port,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(formatter, "[{}]:{}", self.host, self.port)
        } else {
            write!(formatter, "{}:{}", self.host, self.port)
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// HTTP/1.0, HTTP/1.1 or HTTP/2.
    Http,
    Grpc,
    Dns,
    /// The `PostgreSQL` frontend/backend protocol 3.
    Postgres,
    MySql,
    /// RESP2 and RESP3.
    Redis,
    Mongo,
    Mqtt,
    /// AMQP 0-9-1.
    Amqp,
    Nats,
    WebSocket,
    /// The text protocol of memcached.
    Memcached,
    Smtp,
    Kafka,
    /// Unknown protocol: byte streams in turns.
    Generic,
    /// Unknown protocol with frames that its recording shows.
    Framed(Framing),
}

impl Protocol {
    /// Returns true if its connections are recorded in turns.
    pub fn is_in_turns(self) -> bool {
        matches!(
            self,
            Self::Mqtt
                | Self::Amqp
                | Self::Nats
                | Self::WebSocket
                | Self::Memcached
                | Self::Smtp
                | Self::Kafka
                | Self::Generic
                | Self::Framed(_)
        )
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Http => "HTTP",
            Self::Grpc => "gRPC",
            Self::Dns => "DNS",
            Self::Postgres => "Postgres",
            Self::MySql => "MySQL",
            Self::Redis => "Redis",
            Self::Mongo => "MongoDB",
            Self::Mqtt => "MQTT",
            Self::Amqp => "AMQP",
            Self::Nats => "NATS",
            Self::WebSocket => "WebSocket",
            Self::Memcached => "memcached",
            Self::Smtp => "SMTP",
            Self::Kafka => "Kafka",
            Self::Generic | Self::Framed(_) => "TCP",
        }
    }
}

/// One call and its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    pub target: Target,
    pub tls: bool,
    /// The connection's number, unique within a recording.
    pub connection: u64,
    /// Time at which the first byte of the request was sent.
    pub sent_at: SystemTime,
    /// Time at which the last byte of the answer arrived. Without an answer, the time at which the
    /// wait for it ended.
    pub answered_at: SystemTime,
    pub end: End,
    /// Messages of the call. A call that is looked up has no response part.
    pub content: Content,
}

impl Exchange {
    /// Returns true if the program left before the answer was complete.
    pub fn abandoned(&self) -> bool {
        self.end == End::Abandoned
    }

    /// Returns true for an established connection without any traffic, such as an idle connection
    /// of a pool.
    pub fn is_silent(&self) -> bool {
        matches!(self.end, End::Silent | End::Closed)
    }

    /// Returns true for a connection without traffic, or for a refused one; neither is a call.
    pub fn is_no_call(&self) -> bool {
        self.is_silent() || matches!(self.end, End::Refused(..))
    }

    /// Returns true if all that the server said came unasked or late.
    pub fn is_answered_late(&self) -> bool {
        let Content::Wire(_, wire) = &self.content else {
            return false;
        };
        let said = wire.messages_by(Side::Server).count();
        said > 0 && said == wire.pushed.len()
    }

    /// Returns the call with its answer after the recorded time, like messages that the server sends
    /// unasked.
    #[must_use]
    pub fn delayed(self: &Arc<Self>) -> Arc<Self> {
        let mut call = Arc::clone(self);
        let waited = self.answered_at.duration_since(self.sent_at);
        if !self.is_answered_late()
            && let Content::Wire(_, wire) = &mut Arc::make_mut(&mut call).content
        {
            wire.take_pushes();
            let said = wire.messages_by(Side::Server).count();
            wire.pushed = vec![waited.unwrap_or_default(); said];
        }
        call
    }

    /// Returns the call without the messages that the server sent unasked.
    #[must_use]
    pub fn without_pushes(self: &Arc<Self>) -> Arc<Self> {
        let mut call = Arc::clone(self);
        if let Content::Wire(_, wire) = &self.content
            && !wire.pushed.is_empty()
            && let Content::Wire(_, wire) = &mut Arc::make_mut(&mut call).content
        {
            wire.take_pushes();
        }
        call
    }
}

/// End of a call, or of a connection without calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// Answered, as far as the server sent an answer.
    #[default]
    Answered,
    /// The program left before the answer was complete, such as at its own timeout. The recorded
    /// part is all that the program received. A partial HTTP response has a [`BodyEnd`].
    Abandoned,
    /// The program left before either side sent anything.
    Silent,
    /// The server closed the connection before either side sent anything.
    Closed,
    /// The connection failed. The number counts the connections to this target, from 1.
    Refused(Refusal, u64),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    Http(Box<Http>),
    /// A gRPC call. Bodies hold the length-prefixed messages as received.
    Grpc(Box<Http>),
    Dns(Dns),
    /// Messages of a protocol other than HTTP: one complete request and its complete response.
    Wire(Protocol, Wire),
}

impl Content {
    /// Returns the HTTP exchange of an HTTP or gRPC call.
    pub fn http(&self) -> Option<&Http> {
        if let Self::Http(http) | Self::Grpc(http) = self {
            Some(http)
        } else {
            None
        }
    }

    pub fn protocol(&self) -> Protocol {
        match self {
            Self::Http(_) => Protocol::Http,
            Self::Grpc(_) => Protocol::Grpc,
            Self::Dns(_) => Protocol::Dns,
            Self::Wire(protocol, _) => *protocol,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HttpVersion {
    Http10,
    #[default]
    Http11,
    Http2,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Http {
    pub request: HttpRequest,
    /// The response; `None` in a call that is looked up, and if the connection ended before it.
    pub response: Option<HttpResponse>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct HttpRequest {
    pub version: HttpVersion,
    /// Method, as sent.
    pub method: String,
    /// `http` or `https`.
    pub scheme: String,
    /// `Host` or `:authority`, as sent; empty if absent.
    pub authority: String,
    /// Path and query (origin-form, RFC 9112, 3.2.1), as sent.
    pub path: String,
    /// Fields in order: names as sent, values as bytes.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The complete body after transfer and content decoding.
    pub body: Vec<u8>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct HttpResponse {
    pub version: HttpVersion,
    pub status: u16,
    /// Reason phrase; empty if absent.
    pub reason: String,
    /// Fields in order.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body after transfer and content decoding.
    pub body: Vec<u8>,
    pub body_end: BodyEnd,
    /// `true` if the body keeps its content coding.
    pub is_coded: bool,
    /// Trailer fields.
    pub trailers: Vec<(String, Vec<u8>)>,
}

/// End of the body of a recorded response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyEnd {
    #[default]
    Complete,
    /// The server did not complete the body.
    Truncated,
    /// The program closed the connection during the body.
    CutOff,
}

/// A DNS query and its response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dns {
    /// The queried name, in lower case and without a trailing dot.
    pub name: String,
    /// Record type, such as `A`.
    pub kind: String,
    /// Response code (RFC 1035, 4.1.1); 0 means no error.
    pub code: u8,
    /// Answers as lines of a zone file.
    pub answers: Vec<String>,
}

impl Dns {
    pub const NOERROR: u8 = 0;
    /// The name does not exist.
    pub const NXDOMAIN: u8 = 3;

    /// Returns true if the query failed: the name does not exist, or the resolver failed.
    pub fn is_nowhere(&self) -> bool {
        self.code != Self::NOERROR
    }
}

/// Messages of a protocol other than HTTP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wire {
    /// Messages in the order of sending. Each is one protocol message. In an unknown protocol, each
    /// is the data that one side sent before the other side spoke.
    pub messages: Vec<Message>,
    /// `true` for a message of the connection rather than of a test, such as a greeting. It answers
    /// any number of requests.
    pub session: bool,
    pub meta: StatementMeta,
    /// Delays after the request of the last messages, which the server sent unasked. Among these,
    /// an empty message of an unknown protocol closes the connection.
    pub pushed: Vec<Duration>,
}

impl Wire {
    /// Returns a call with these messages of the client, for lookup.
    pub fn asking(messages: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let from = Side::Client;
        let messages = messages.into_iter().map(|bytes| Message { from, bytes });
        Self {
            messages: messages.collect(),
            ..Self::default()
        }
    }

    pub fn messages_by(&self, by: Side) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.messages
            .iter()
            .filter(move |message| message.from == by)
            .map(|message| message.bytes.as_slice())
    }

    /// Returns the messages that the server sent unasked, with their delays after the request.
    pub fn pushes(&self) -> impl Iterator<Item = (&Message, Duration)> {
        let first = self.messages.len().saturating_sub(self.pushed.len());
        self.messages[first..]
            .iter()
            .zip(self.pushed.iter().copied())
    }

    /// Removes the messages that the server sent unasked.
    pub(crate) fn take_pushes(&mut self) -> Vec<(Message, Duration)> {
        let first = self.messages.len().saturating_sub(self.pushed.len());
        let messages = self.messages.split_off(first);
        messages
            .into_iter()
            .zip(std::mem::take(&mut self.pushed))
            .collect()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub from: Side,
    /// Raw bytes, including the message header.
    pub bytes: Vec<u8>,
}
