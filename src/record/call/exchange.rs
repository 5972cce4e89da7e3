//! One outgoing call in memory: where it went, what was asked, what came back.
//!
//! Readers and writers of files, matching, and every protocol speak of calls in these words alone.

use std::fmt;
use std::time::SystemTime;

use super::refusal::Refusal;

/// Which end of a connection sent something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The program whose calls these are.
    Client,
    Server,
}

/// Where a call went.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// The name that the program looked up, in lower case and without a dot at its end; the address
    /// as text if it looked up none. Empty in recordings that do not say.
    pub host: String,
    /// The port; 0 in recordings that do not say.
    pub port: u16,
}

impl Target {
    /// Host and port of `Host` or `:authority` (RFC 3986, 3.2); port 0 where it is left out.
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
    /// Anything else: bytes in turns.
    Generic,
}

impl Protocol {
    pub fn word(self) -> &'static str {
        match self {
            Self::Http => "HTTP",
            Self::Grpc => "gRPC",
            Self::Dns => "DNS",
            Self::Postgres => "Postgres",
            Self::MySql => "MySQL",
            Self::Redis => "Redis",
            Self::Mongo => "MongoDB",
            Self::Generic => "TCP",
        }
    }
}

/// One call and its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    pub target: Target,
    pub tls: bool,
    /// The connection it was made on, a number of its own within one recording.
    pub connection: u64,
    /// When its first byte was sent.
    pub sent_at: SystemTime,
    /// When the last byte of its answer came; where there is none, when it was known that none
    /// comes.
    pub answered_at: SystemTime,
    pub end: End,
    /// What was said. Without the answer's part where a call asks for one.
    pub content: Content,
}

impl Exchange {
    /// Whether the program left before the answer was whole.
    pub fn abandoned(&self) -> bool {
        self.end == End::Abandoned
    }

    /// Whether it stands for a connection that was made and on which nothing was said, such as one
    /// that a pool opens in advance.
    pub fn is_silent(&self) -> bool {
        matches!(self.end, End::Silent | End::Closed)
    }

    /// Whether it stands for a connection on which nothing was said, or that was not even made. It
    /// is no call.
    pub fn is_no_call(&self) -> bool {
        self.is_silent() || matches!(self.end, End::Refused(..))
    }
}

/// How a call ended, or a connection without one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// With its answer, as far as the server gave one.
    #[default]
    Answered,
    /// The program left before the answer was whole, such as at a time limit of its own: what there
    /// is of it is all that it was given. Of a response of HTTP that was begun its own note says
    /// so.
    Abandoned,
    /// Nothing was said before the program left.
    Silent,
    /// Nothing was said before the server closed the connection.
    Closed,
    /// The connection was not made; which one to its target it was, from 1.
    Refused(Refusal, u64),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    Http(Box<Http>),
    /// A gRPC call: bodies are the length-prefixed messages as they came.
    Grpc(Box<Http>),
    Dns(Dns),
    /// Messages of one of the protocols that are no HTTP: a whole question and its whole answer.
    Wire(Protocol, Wire),
}

impl Content {
    /// What it is over HTTP, if it is.
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
    /// What came back; `None` in a call that asks for it, and where the connection ended before.
    pub response: Option<HttpResponse>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct HttpRequest {
    pub version: HttpVersion,
    /// Method, as it was sent.
    pub method: String,
    /// `http` or `https`.
    pub scheme: String,
    /// `Host` or `:authority`, as it was sent; empty if it was not.
    pub authority: String,
    /// Path and query (origin-form, RFC 9112, 3.2.1), as they were sent.
    pub path: String,
    /// Fields in their order, names as they were sent, values as bytes.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The whole body without transfer coding, with its content coding taken off.
    pub body: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct HttpResponse {
    pub version: HttpVersion,
    pub status: u16,
    /// Reason phrase; empty where there is none.
    pub reason: String,
    /// Fields in their order.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The whole body without transfer coding, with its content coding taken off.
    pub body: Vec<u8>,
    /// Fields after the body.
    pub trailers: Vec<(String, Vec<u8>)>,
}

/// A question of a name and what it was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dns {
    /// The name that was asked for, in lower case and without a dot at its end.
    pub name: String,
    /// The type, such as `A`.
    pub kind: String,
    /// Response code (RFC 1035, 4.1.1); 0 is no error.
    pub code: u8,
    /// Answers as lines of a zone file.
    pub answers: Vec<String>,
}

impl Dns {
    pub const NOERROR: u8 = 0;
    /// There is no such name.
    pub const NXDOMAIN: u8 = 3;

    /// Whether the answer leads nowhere: there is no such name, or nobody answered.
    pub fn is_nowhere(&self) -> bool {
        self.code != Self::NOERROR
    }
}

/// Messages of a protocol that is no HTTP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wire {
    /// In the order in which they were sent; each is one message of the protocol, or, where the
    /// protocol is not known, what one side said before the other did.
    pub messages: Vec<Message>,
    /// Whether it belongs to a connection and not to a test, such as a greeting: it answers as
    /// often as it is asked.
    pub session: bool,
}

impl Wire {
    pub fn said(&self, by: Side) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.messages
            .iter()
            .filter(move |message| message.from == by)
            .map(|message| message.bytes.as_slice())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub from: Side,
    /// Its bytes as they were sent, head and all.
    pub bytes: Vec<u8>,
}
