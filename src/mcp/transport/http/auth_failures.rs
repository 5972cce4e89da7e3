//! Log of requests with unknown tokens. Each address is logged at once the first time, then at most
//! once a minute. The tokens are not logged.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::peer::Peer;

/// Addresses whose unknown tokens are counted apart; what comes from others is counted together.
const MAX_HTTP_REFUSED_PEERS: usize = 1024;
/// Least time between two lines in the log about unknown tokens from one address, in milliseconds.
const HTTP_REFUSAL_LINE_MS: u64 = 60_000;

/// Addresses of recent requests with unknown tokens.
#[derive(Debug, Default)]
pub(super) struct Refusals(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    each: HashMap<Peer, Count>,
    /// All addresses above the limit, counted together.
    others: Option<Count>,
}

/// Number of requests since the last log line.
#[derive(Debug)]
struct Count {
    said: Instant,
    more: u64,
}

/// Requests with an unknown token since the last line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LogLine {
    /// `None` for all further addresses.
    peer: Option<Peer>,
    count: u64,
}

impl Refusals {
    /// Notes a request from this address.
    pub(super) fn note(&self, peer: Peer) {
        if let Some(line) = self.count(peer, Instant::now()) {
            log(line);
        }
    }

    /// Logs the requests since the last line of each address.
    pub(super) fn sweep(&self) {
        self.due(Instant::now()).into_iter().for_each(log);
    }

    fn count(&self, peer: Peer, now: Instant) -> Option<LogLine> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = table.each.get_mut(&peer) {
            count.more += 1;
            return None;
        }
        let first = Count { said: now, more: 0 };
        if table.each.len() < MAX_HTTP_REFUSED_PEERS {
            table.each.insert(peer, first);
            return Some(LogLine {
                peer: Some(peer),
                count: 1,
            });
        }
        if let Some(count) = &mut table.others {
            count.more += 1;
            return None;
        }
        table.others = Some(first);
        Some(LogLine {
            peer: None,
            count: 1,
        })
    }

    fn due(&self, now: Instant) -> Vec<LogLine> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines = Vec::new();
        // Returns true if the entry stays.
        let mut look = |peer: Option<Peer>, count: &mut Count| {
            if now.saturating_duration_since(count.said)
                < Duration::from_millis(HTTP_REFUSAL_LINE_MS)
            {
                return true;
            }
            let more = std::mem::take(&mut count.more);
            count.said = now;
            if more > 0 {
                lines.push(LogLine { peer, count: more });
            }
            more > 0
        };
        table.each.retain(|peer, count| look(Some(*peer), count));
        if table
            .others
            .as_mut()
            .is_some_and(|others| !look(None, others))
        {
            table.others = None;
        }
        lines
    }
}

fn log(LogLine { peer, count }: LogLine) {
    let from = peer.map_or_else(|| "other addresses".to_owned(), |peer| peer.to_string());
    let plural = if count == 1 { "" } else { "s" };
    tracing::warn!("{count} request{plural} with an unknown token from {from}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};

    use pretty_assertions::assert_eq;

    #[expect(clippy::unnecessary_wraps, reason = "the result of `count`")]
    fn line(peer: Option<Peer>, count: u64) -> Option<LogLine> {
        Some(LogLine { peer, count })
    }

    fn peer(number: u32) -> Peer {
        Peer::from(IpAddr::from(Ipv4Addr::from(number)))
    }

    #[test]
    fn first_refusal_is_logged_then_one_per_minute() {
        let refusals = Refusals::default();
        let start = Instant::now();
        let counted = [1, 1, 1, 2].map(|number| refusals.count(peer(number), start));
        assert_eq!(
            counted,
            [line(Some(peer(1)), 1), None, None, line(Some(peer(2)), 1)]
        );
        assert_eq!(refusals.due(start), []);
        let minute = Duration::from_millis(HTTP_REFUSAL_LINE_MS);
        assert_eq!(
            refusals.due(start + minute),
            [LogLine {
                peer: Some(peer(1)),
                count: 2
            }]
        );
        assert_eq!(refusals.count(peer(1), start + minute), None);
        assert_eq!(
            refusals.due(start + 2 * minute),
            [LogLine {
                peer: Some(peer(1)),
                count: 1
            }]
        );
        assert_eq!(refusals.due(start + 3 * minute), []);
        assert!(refusals.0.lock().unwrap().each.is_empty());
    }

    #[test]
    fn refusal_table_is_bounded() {
        let refusals = Refusals::default();
        let start = Instant::now();
        for number in 0..MAX_HTTP_REFUSED_PEERS as u32 {
            assert_eq!(
                refusals.count(peer(number), start),
                line(Some(peer(number)), 1)
            );
        }
        let counted = [0; 3].map(|_| refusals.count(peer(u32::MAX), start));
        assert_eq!(
            counted,
            [
                Some(LogLine {
                    peer: None,
                    count: 1,
                }),
                None,
                None
            ]
        );
        let minute = Duration::from_millis(HTTP_REFUSAL_LINE_MS);
        assert_eq!(
            refusals.due(start + minute),
            [LogLine {
                peer: None,
                count: 2
            }]
        );
        assert_eq!(refusals.due(start + 2 * minute), []);
        assert!(refusals.0.lock().unwrap().others.is_none());
    }
}
