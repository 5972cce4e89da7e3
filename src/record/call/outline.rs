//! Server properties derived from recordings: HTTP version, which side speaks first, refused
//! connections, names that do not exist. A replayed server behaves accordingly.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use crate::call::{Content, Dns, End, Exchange, HttpVersion, Protocol, Refusal, Side, Target};

/// First messages that programs sent to one target; the boundaries of messages are known only from
/// these.
pub type FirstMessages = Arc<BTreeSet<Arc<[u8]>>>;

/// Properties of all targets and names in a recording. Built before the recordings go into a book.
#[derive(Clone, Debug, Default)]
pub struct Outline {
    targets: HashMap<Target, TargetOutline>,
    /// Response code for each name and record type.
    names: HashMap<(String, String), u8>,
}

#[derive(Clone, Debug, Default)]
struct TargetOutline {
    http2: bool,
    protocols: HashSet<Protocol>,
    first_messages: FirstMessages,
    refused: HashMap<u64, Refusal>,
    /// `true` if a connection had no traffic. `closes_after` is the delay until the server closed
    /// the first of these.
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
                    seen.http2 |= http.request.version == HttpVersion::Http2;
                }
                Content::Wire(protocol, wire)
                    if protocol.is_in_turns() && !exchange.is_no_call() =>
                {
                    let asked = wire.messages_by(Side::Client).next().unwrap_or_default();
                    said.entry(exchange.target.clone())
                        .or_default()
                        .insert(Arc::from(asked));
                }
                _ => {}
            }
        }
        for (target, said) in said {
            outline.targets.entry(target).or_default().first_messages = Arc::new(said);
        }
        outline
    }

    pub fn knows(&self, target: &Target) -> bool {
        self.targets.contains_key(target)
    }

    pub fn http2(&self, target: &Target) -> bool {
        self.targets.get(target).is_some_and(|seen| seen.http2)
    }

    /// Returns the first messages that programs sent to a target in an unknown protocol.
    pub fn first_messages(&self, target: &Target) -> FirstMessages {
        self.targets
            .get(target)
            .map(|seen| Arc::clone(&seen.first_messages))
            .unwrap_or_default()
    }

    /// Returns true if a call of this protocol to the target was recorded.
    pub fn has(&self, target: &Target, protocol: Protocol) -> bool {
        let seen = self.targets.get(target);
        seen.is_some_and(|seen| seen.protocols.contains(&protocol))
    }

    /// Returns the protocol if the server at this target speaks first.
    pub fn speaks_first(&self, target: &Target) -> Option<Protocol> {
        let seen = self.targets.get(target)?;
        if seen.protocols.contains(&Protocol::MySql) {
            return Some(Protocol::MySql);
        }
        let only = seen
            .protocols
            .iter()
            .next()
            .filter(|_| seen.protocols.len() == 1);
        only.copied()
            .filter(|_| seen.first_messages.contains(&[][..]))
    }

    /// Returns the recorded refusal of the `nth` connection to a target, from 1. If the target
    /// refused all connections, any number is refused.
    pub fn refused(&self, target: &Target, nth: u64) -> Option<Refusal> {
        let seen = self.targets.get(target)?;
        let never_made = seen.protocols.is_empty() && !seen.silent;
        let any = never_made
            .then(|| seen.refused.values().next().copied())
            .flatten();
        seen.refused.get(&nth).copied().or(any)
    }

    /// Returns true if connections to the target exist and none of them had traffic.
    pub fn is_silent(&self, target: &Target) -> bool {
        self.targets
            .get(target)
            .is_some_and(|seen| seen.protocols.is_empty() && seen.silent)
    }

    /// Returns the delay after which the server closes an idle connection, if it does.
    pub fn closes_after(&self, target: &Target) -> Option<Duration> {
        self.targets.get(target)?.closes_after
    }

    /// Returns the response code of a DNS query.
    pub fn name(&self, name: &str, kind: &str) -> Option<u8> {
        self.names.get(&(name.to_owned(), kind.to_owned())).copied()
    }

    /// Returns true if a lookup of the name gave NXDOMAIN, which holds for all record types.
    pub fn no_such_name(&self, name: &str) -> bool {
        ["A", "AAAA"]
            .iter()
            .any(|kind| self.name(name, kind) == Some(Dns::NXDOMAIN))
    }
}
