//! What recordings say about their targets besides answers: which version of HTTP, who speaks first, who refused, what
//! names there are not. A server is played like that.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::sync::Arc;

use crate::record::call::{Content, Dns, Exchange, HttpVersion, Link, Message, Protocol, Side, Silence, Target, Wire};

/// What was said at one target by programs: where a message ends can only be known from there.
pub type Said = Arc<BTreeSet<Arc<[u8]>>>;

/// See the module. Made before the recordings go into a book.
#[derive(Clone, Debug, Default)]
pub struct Outline {
    targets: HashMap<Target, Seen>,
    /// Names and types that were asked for, and the response code.
    names: HashMap<(String, String), u8>,
}

#[derive(Clone, Debug, Default)]
struct Seen {
    http2: bool,
    protocols: HashSet<Protocol>,
    said: Said,
    refused: HashMap<u64, Refusal>,
    silence: Option<Silence>,
}

const REFUSED: &str = "refused";
const CERTIFICATE: &str = "certificate";

/// Why a connection was not made while recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// Nobody listens there, nothing answered in time, or there is no way: with the number of errno(3).
    Connect(i32),
    /// The certificate of the server was not good.
    Certificate,
}

/// Why connections fail (connect(2)). The first one stands for all others.
const REASONS: [(&str, i32); 8] = [
    ("ECONNREFUSED", libc::ECONNREFUSED),
    ("ETIMEDOUT", libc::ETIMEDOUT),
    ("EHOSTUNREACH", libc::EHOSTUNREACH),
    ("ENETUNREACH", libc::ENETUNREACH),
    ("EADDRNOTAVAIL", libc::EADDRNOTAVAIL),
    ("ECONNRESET", libc::ECONNRESET),
    ("EACCES", libc::EACCES),
    ("EPERM", libc::EPERM),
];

impl Refusal {
    /// What a connection fails with of which nothing is known.
    pub const UNKNOWN: i32 = REASONS[0].1;

    /// Why a connection was not made.
    pub fn of(error: &io::Error) -> Self {
        let errno = error.raw_os_error().unwrap_or(match error.kind() {
            io::ErrorKind::TimedOut => libc::ETIMEDOUT,
            // The name has no address, or there is no network at all.
            io::ErrorKind::NotFound => libc::EHOSTUNREACH,
            io::ErrorKind::PermissionDenied => libc::ENETUNREACH,
            _ => Self::UNKNOWN,
        });
        let known = REASONS.iter().find(|(_, reason)| *reason == errno);
        Self::Connect(known.map_or(Self::UNKNOWN, |(_, errno)| *errno))
    }

    /// What connect(2) fails with, as a number of errno(3), if it does.
    pub fn errno(self) -> Option<i32> {
        match self {
            Self::Connect(errno) => Some(errno),
            Self::Certificate => None,
        }
    }

    /// Whether nothing answered in time, so that nobody refused anything.
    pub fn is_silence(self) -> bool {
        self == Self::Connect(libc::ETIMEDOUT)
    }

    fn words(self) -> String {
        match self {
            Self::Connect(_) => format!("{REFUSED}: {}", self.reason()),
            Self::Certificate => CERTIFICATE.to_owned(),
        }
    }

    /// The exchange that stands for it: the server's words are `connection N: refused: ECONNREFUSED: REASON`, or
    /// `connection N: certificate: REASON`, where N counts the connections to that target from 1.
    pub fn exchange(self, link: &Link, nth: u64, reason: &str, at: std::time::SystemTime) -> Exchange {
        let bytes = format!("connection {nth}: {}: {reason}", self.words()).into_bytes();
        let wire = Wire { messages: vec![Message { from: Side::Server, bytes }], session: true };
        link.exchange(Content::Wire(Protocol::Generic, wire), at, at)
    }

    /// What an exchange says of this, if it stands for a connection that was refused.
    pub fn of_exchange(exchange: &Exchange) -> Option<Self> {
        let Content::Wire(Protocol::Generic, wire) = &exchange.content else { return None };
        Self::read(wire).map(|(_, refusal)| refusal)
    }

    /// Whether an exchange stands for a connection that was refused.
    pub fn is(exchange: &Exchange) -> bool {
        Self::of_exchange(exchange).is_some()
    }

    /// Why, in a word: `ECONNREFUSED`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Connect(errno) => REASONS.iter().find(|(_, reason)| *reason == errno).unwrap_or(&REASONS[0]).0,
            Self::Certificate => CERTIFICATE,
        }
    }

    /// What [`Self::exchange`] has written, read again.
    fn read(wire: &Wire) -> Option<(u64, Self)> {
        let [Message { from: Side::Server, bytes }] = wire.messages.as_slice() else { return None };
        let text = std::str::from_utf8(bytes).ok().filter(|_| wire.session)?;
        let (nth, rest) = text.strip_prefix("connection ")?.split_once(": ")?;
        let (word, rest) = rest.split_once(':')?;
        let refusal = match word {
            REFUSED => {
                let name = rest.split(':').next().unwrap_or_default().trim();
                let known = REASONS.iter().find(|(known, _)| *known == name);
                Self::Connect(known.map_or(Self::UNKNOWN, |(_, errno)| *errno))
            }
            CERTIFICATE => Self::Certificate,
            _ => return None,
        };
        Some((nth.parse().ok()?, refusal))
    }
}

/// Whether an exchange stands for a connection on which nothing was said, or that was not even made. It is no call.
pub fn is_no_call(exchange: &Exchange) -> bool {
    Refusal::is(exchange) || Silence::of(exchange).is_some()
}

impl Outline {
    /// Of these recordings.
    pub fn of<'a>(exchanges: impl IntoIterator<Item = &'a Exchange>) -> Self {
        let mut outline = Self::default();
        let mut said: HashMap<Target, BTreeSet<Arc<[u8]>>> = HashMap::new();
        for exchange in exchanges {
            if let Content::Dns(dns) = &exchange.content {
                outline.names.entry((dns.name.clone(), dns.kind.clone())).or_insert(dns.code);
                continue;
            }
            let seen = outline.targets.entry(exchange.target.clone()).or_default();
            match &exchange.content {
                Content::Http(http) | Content::Grpc(http) => {
                    seen.http2 |= http.request.version == HttpVersion::Http2;
                    seen.protocols.insert(exchange.content.protocol());
                }
                Content::Wire(Protocol::Generic, wire) => {
                    if let Some((nth, refusal)) = Refusal::read(wire) {
                        seen.refused.insert(nth, refusal);
                        continue;
                    }
                    if let Some(silence) = Silence::of(exchange) {
                        seen.silence.get_or_insert(silence);
                        continue;
                    }
                    seen.protocols.insert(Protocol::Generic);
                    let asked = wire.messages.iter().find(|message| message.from == Side::Client);
                    let asked = asked.map(|message| message.bytes.as_slice()).unwrap_or_default();
                    said.entry(exchange.target.clone()).or_default().insert(Arc::from(asked));
                }
                Content::Wire(protocol, _) => {
                    seen.protocols.insert(*protocol);
                }
                Content::Dns(_) => {}
            }
        }
        for (target, said) in said {
            outline.targets.entry(target).or_default().said = Arc::new(said);
        }
        outline
    }

    /// Whether anything was recorded there.
    pub fn knows(&self, target: &Target) -> bool {
        self.targets.contains_key(target)
    }

    /// Whether HTTP/2 was spoken there.
    pub fn http2(&self, target: &Target) -> bool {
        self.targets.get(target).is_some_and(|seen| seen.http2)
    }

    /// Whether HTTP in any version was spoken there.
    pub fn http(&self, target: &Target) -> bool {
        let spoken = |protocol| self.targets.get(target).is_some_and(|seen| seen.protocols.contains(&protocol));
        spoken(Protocol::Http) || spoken(Protocol::Grpc)
    }

    /// What programs said there where the protocol is not known.
    pub fn said(&self, target: &Target) -> Said {
        self.targets.get(target).map(|seen| Arc::clone(&seen.said)).unwrap_or_default()
    }

    /// The protocol whose server speaks first there.
    pub fn speaks_first(&self, target: &Target) -> Option<Protocol> {
        let seen = self.targets.get(target)?;
        if seen.protocols.contains(&Protocol::MySql) {
            return Some(Protocol::MySql);
        }
        (seen.protocols.len() == 1 && seen.said.contains(&[][..])).then_some(Protocol::Generic)
    }

    /// Whether and how this connection to a target, counted from 1, was refused. Where every one was, so is any other.
    pub fn refused(&self, target: &Target, nth: u64) -> Option<Refusal> {
        let seen = self.targets.get(target)?;
        let never_made = seen.protocols.is_empty() && seen.silence.is_none();
        let any = never_made.then(|| seen.refused.values().next().copied()).flatten();
        seen.refused.get(&nth).copied().or(any)
    }

    /// That connections were made there and nothing was said on any of them, if so.
    pub fn silence(&self, target: &Target) -> Option<Silence> {
        self.targets.get(target).filter(|seen| seen.protocols.is_empty())?.silence
    }

    /// The response code that a question of a name got.
    pub fn name(&self, name: &str, kind: &str) -> Option<u8> {
        self.names.get(&(name.to_owned(), kind.to_owned())).copied()
    }

    /// Whether there was no such name, whatever type was asked for.
    pub fn no_such_name(&self, name: &str) -> bool {
        ["A", "AAAA"].iter().any(|kind| self.name(name, kind) == Some(Dns::NXDOMAIN))
    }
}
