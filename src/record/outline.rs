//! What recordings say about their targets besides answers: which version of HTTP, who speaks first, who refused, what
//! names there are not. A server is played like that.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::exchange::{Content, Exchange, HttpVersion, Message, Protocol, Side, Target, Wire};
use super::generic::Said;
use super::link::Link;

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
}

/// Why a connection was not made while recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// Nobody listens there, or nothing answered in time.
    Connect,
    /// The certificate of the server was not good.
    Certificate,
}

impl Refusal {
    fn word(self) -> &'static str {
        match self {
            Self::Connect => "refused",
            Self::Certificate => "certificate",
        }
    }

    /// The exchange that stands for it: the server's words are `connection N: refused: REASON`, where N counts the
    /// connections to that target from 1.
    pub fn exchange(self, link: &Link, nth: u64, reason: &str, at: std::time::SystemTime) -> Exchange {
        let bytes = format!("connection {nth}: {}: {reason}", self.word()).into_bytes();
        Exchange {
            target: link.target.clone(),
            tls: link.tls,
            connection: link.connection,
            sent_at: at,
            answered_at: at,
            content: Content::Wire(
                Protocol::Generic,
                Wire { messages: vec![Message { from: Side::Server, bytes }], session: true },
            ),
        }
    }

    /// What [`Self::exchange`] has written, read again.
    fn read(wire: &Wire) -> Option<(u64, Self)> {
        let [Message { from: Side::Server, bytes }] = wire.messages.as_slice() else { return None };
        let text = std::str::from_utf8(bytes).ok().filter(|_| wire.session)?;
        let (nth, rest) = text.strip_prefix("connection ")?.split_once(": ")?;
        let (word, _) = rest.split_once(':')?;
        let refusal = [Self::Connect, Self::Certificate].into_iter().find(|refusal| refusal.word() == word)?;
        Some((nth.parse().ok()?, refusal))
    }
}

impl Outline {
    /// Of these recordings.
    pub fn of<'a>(exchanges: impl IntoIterator<Item = &'a Exchange>) -> Self {
        let mut outline = Self::default();
        let mut said: HashMap<Target, BTreeSet<Vec<u8>>> = HashMap::new();
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
                    seen.protocols.insert(Protocol::Generic);
                    let asked = wire.messages.iter().find(|message| message.from == Side::Client);
                    let asked = asked.map(|message| message.bytes.clone()).unwrap_or_default();
                    said.entry(exchange.target.clone()).or_default().insert(asked);
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
        let any = seen.protocols.is_empty().then(|| seen.refused.values().next().copied()).flatten();
        seen.refused.get(&nth).copied().or(any)
    }

    /// The response code that a question of a name got.
    pub fn name(&self, name: &str, kind: &str) -> Option<u8> {
        self.names.get(&(name.to_owned(), kind.to_owned())).copied()
    }

    /// Whether there was no such name, whatever type was asked for.
    pub fn no_such_name(&self, name: &str) -> bool {
        ["A", "AAAA"].iter().any(|kind| self.name(name, kind) == Some(super::dns::NXDOMAIN))
    }
}
