//! Summary of a set of calls: counts, protocols and time span.

use std::collections::BTreeMap;
use std::time::SystemTime;

use crate::call::{Content, End, Exchange, Protocol};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Number of calls, without idle connections.
    pub calls: usize,
    /// Number of refused connections. These are not calls.
    pub refused: usize,
    /// `true` if no call was answered: only refused connections with their name lookups, or names
    /// that do not exist.
    pub is_nothing: bool,
    /// Number of calls per protocol, largest first.
    pub protocols: Vec<(Protocol, usize)>,
    /// Time at which the first call was sent.
    pub first: Option<SystemTime>,
    /// Time at which the last answer arrived.
    pub last: Option<SystemTime>,
}

impl Summary {
    pub fn of<'a>(calls: impl IntoIterator<Item = &'a Exchange>) -> Self {
        let mut by_protocol: BTreeMap<Protocol, usize> = BTreeMap::new();
        let mut summary = Self {
            calls: 0,
            refused: 0,
            is_nothing: true,
            protocols: Vec::new(),
            first: None,
            last: None,
        };
        let mut has_names = false;
        for call in calls {
            summary.refused += usize::from(matches!(call.end, End::Refused(..)));
            if call.is_no_call() {
                continue;
            }
            match &call.content {
                Content::Dns(dns) => has_names |= !dns.is_nowhere(),
                _ => summary.is_nothing = false,
            }
            let protocol = call.content.protocol();
            summary.calls += 1;
            summary.first = Some(
                summary
                    .first
                    .map_or(call.sent_at, |first| first.min(call.sent_at)),
            );
            summary.last = Some(
                summary
                    .last
                    .map_or(call.answered_at, |last| last.max(call.answered_at)),
            );
            *by_protocol.entry(protocol).or_default() += 1;
        }
        summary.is_nothing &= summary.refused > 0 || !has_names;
        summary.protocols = by_protocol.into_iter().collect();
        summary
            .protocols
            .sort_by_key(|(_, calls)| std::cmp::Reverse(*calls));
        summary
    }

    /// Returns the protocol names that a reply lists. DNS appears only if all calls are DNS.
    pub fn protocol_words(&self) -> Vec<&'static str> {
        let only_names = self
            .protocols
            .iter()
            .all(|(protocol, _)| *protocol == Protocol::Dns);
        let told = self
            .protocols
            .iter()
            .filter(|(protocol, _)| only_names || *protocol != Protocol::Dns);
        told.map(|(protocol, _)| protocol.word()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use crate::call::{Content, Link, Target, Wire};
    use pretty_assertions::assert_eq;

    #[test]
    fn summary_counts_calls_per_protocol() {
        let at = |secs| SystemTime::UNIX_EPOCH + Duration::from_secs(secs);
        let link = Link {
            target: Target {
                host: "a".to_owned(),
                port: 1,
            },
            tls: false,
            connection: 1,
        };
        let call = |protocol, from, to| {
            link.exchange(Content::Wire(protocol, Wire::default()), at(from), at(to))
        };
        let calls = [
            call(Protocol::Redis, 1, 2),
            call(Protocol::MySql, 2, 7),
            call(Protocol::Redis, 3, 6),
        ];
        let expected = Summary {
            calls: 3,
            refused: 0,
            is_nothing: false,
            protocols: vec![(Protocol::Redis, 2), (Protocol::MySql, 1)],
            first: Some(at(1)),
            last: Some(at(7)),
        };
        assert_eq!(Summary::of(&calls), expected);
        assert_eq!(expected.protocol_words(), ["Redis", "MySQL"]);
    }
}
