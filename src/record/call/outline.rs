//! What recordings say about their targets besides answers: which version of HTTP, who speaks
//! first, who refused, what names there are not. A server is played like that.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use crate::record::call::{
    Content, Dns, End, Exchange, HttpVersion, Protocol, Refusal, Side, Target,
};

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
    /// Whether there were connections on which nothing was said, and after which time the server
    /// closed the first, if it did.
    silent: bool,
    closes_after: Option<Duration>,
}

impl Outline {
    pub fn of<'a>(exchanges: impl IntoIterator<Item = &'a Exchange>) -> Self {
        let mut outline = Self::default();
        let mut said: HashMap<Target, BTreeSet<Arc<[u8]>>> = HashMap::new();
        for exchange in exchanges {
            if let Content::Dns(dns) = &exchange.content {
                outline
                    .names
                    .entry((dns.name.clone(), dns.kind.clone()))
                    .or_insert(dns.code);
                continue;
            }
            let seen = outline.targets.entry(exchange.target.clone()).or_default();
            match exchange.end {
                End::Refused(refusal, nth) => drop(seen.refused.insert(nth, refusal)),
                End::Silent | End::Closed => {
                    if exchange.end == End::Closed && !seen.silent {
                        seen.closes_after =
                            exchange.answered_at.duration_since(exchange.sent_at).ok();
                    }
                    seen.silent = true;
                }
                End::Answered | End::Abandoned => {
                    seen.protocols.insert(exchange.content.protocol());
                }
            }
            match &exchange.content {
                Content::Http(http) | Content::Grpc(http) => {
                    seen.http2 |= http.request.version == HttpVersion::Http2
                }
                Content::Wire(Protocol::Generic, wire) if !exchange.is_no_call() => {
                    let asked = wire.said(Side::Client).next().unwrap_or_default();
                    said.entry(exchange.target.clone())
                        .or_default()
                        .insert(Arc::from(asked));
                }
                _ => {}
            }
        }
        for (target, said) in said {
            outline.targets.entry(target).or_default().said = Arc::new(said);
        }
        outline
    }

    pub fn knows(&self, target: &Target) -> bool {
        self.targets.contains_key(target)
    }

    pub fn http2(&self, target: &Target) -> bool {
        self.targets.get(target).is_some_and(|seen| seen.http2)
    }

    /// What programs said there where the protocol is not known.
    pub fn said(&self, target: &Target) -> Said {
        self.targets
            .get(target)
            .map(|seen| Arc::clone(&seen.said))
            .unwrap_or_default()
    }

    /// The protocol whose server speaks first there.
    pub fn speaks_first(&self, target: &Target) -> Option<Protocol> {
        let seen = self.targets.get(target)?;
        if seen.protocols.contains(&Protocol::MySql) {
            return Some(Protocol::MySql);
        }
        (seen.protocols.len() == 1 && seen.said.contains(&[][..])).then_some(Protocol::Generic)
    }

    /// Whether and how this connection to a target, counted from 1, was refused. Where every one
    /// was, so is any other.
    pub fn refused(&self, target: &Target, nth: u64) -> Option<Refusal> {
        let seen = self.targets.get(target)?;
        let never_made = seen.protocols.is_empty() && !seen.silent;
        let any = never_made
            .then(|| seen.refused.values().next().copied())
            .flatten();
        seen.refused.get(&nth).copied().or(any)
    }

    /// Whether connections were made there and nothing was said on any of them.
    pub fn is_silent(&self, target: &Target) -> bool {
        self.targets
            .get(target)
            .is_some_and(|seen| seen.protocols.is_empty() && seen.silent)
    }

    /// After which time the server closes a connection there on which nothing is said, if it does.
    pub fn closes_after(&self, target: &Target) -> Option<Duration> {
        self.targets.get(target)?.closes_after
    }

    /// The response code that a question of a name got.
    pub fn name(&self, name: &str, kind: &str) -> Option<u8> {
        self.names.get(&(name.to_owned(), kind.to_owned())).copied()
    }

    /// Whether there was no such name, whatever type was asked for.
    pub fn no_such_name(&self, name: &str) -> bool {
        ["A", "AAAA"]
            .iter()
            .any(|kind| self.name(name, kind) == Some(Dns::NXDOMAIN))
    }
}
