//! Tokens that nobody has: who sends them is said in the log, the first time at once and then at
//! most once a minute for each address. What was sent is not.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::peer::Peer;
use crate::limits::{HTTP_REFUSAL_LINE_MS, MAX_HTTP_REFUSED_PEERS};

/// Who sent some of late.
#[derive(Debug, Default)]
pub struct Refusals(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    each: HashMap<Peer, Count>,
    /// All for whom there is no room.
    others: Option<Count>,
}

/// How many came since the last line.
#[derive(Debug)]
struct Count {
    said: Instant,
    more: u64,
}

/// What is to be said: where they came from, if that is one address, and how many.
type Line = (Option<Peer>, u64);

impl Refusals {
    /// One came from there.
    pub fn note(&self, peer: Peer) {
        if let Some(line) = self.count(peer, Instant::now()) {
            say(line);
        }
    }

    /// Says what has come since the last line of each address.
    pub fn sweep(&self) {
        self.due(Instant::now()).into_iter().for_each(say);
    }

    fn count(&self, peer: Peer, now: Instant) -> Option<Line> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = table.each.get_mut(&peer) {
            count.more += 1;
            return None;
        }
        let first = Count { said: now, more: 0 };
        if table.each.len() < MAX_HTTP_REFUSED_PEERS {
            table.each.insert(peer, first);
            return Some((Some(peer), 1));
        }
        if let Some(count) = &mut table.others {
            count.more += 1;
            return None;
        }
        table.others = Some(first);
        Some((None, 1))
    }

    fn due(&self, now: Instant) -> Vec<Line> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines = Vec::new();
        // Whether it stays.
        let mut look = |peer: Option<Peer>, count: &mut Count| {
            if now.saturating_duration_since(count.said)
                < Duration::from_millis(HTTP_REFUSAL_LINE_MS)
            {
                return true;
            }
            let more = std::mem::take(&mut count.more);
            count.said = now;
            if more > 0 {
                lines.push((peer, more));
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

fn say((peer, count): Line) {
    let from = peer.map_or_else(|| "other addresses".to_owned(), |peer| peer.to_string());
    let plural = if count == 1 { "" } else { "s" };
    tracing::warn!("{count} request{plural} with an unknown token from {from}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};

    use pretty_assertions::assert_eq;

    fn peer(number: u32) -> Peer {
        Peer::from(IpAddr::from(Ipv4Addr::from(number)))
    }

    #[test]
    fn the_first_is_said_at_once_and_the_rest_once_a_minute() {
        let refusals = Refusals::default();
        let start = Instant::now();
        let counted = [1, 1, 1, 2].map(|number| refusals.count(peer(number), start));
        assert_eq!(
            counted,
            [
                Some((Some(peer(1)), 1)),
                None,
                None,
                Some((Some(peer(2)), 1))
            ]
        );
        assert_eq!(refusals.due(start), []);
        let minute = Duration::from_millis(HTTP_REFUSAL_LINE_MS);
        assert_eq!(refusals.due(start + minute), [(Some(peer(1)), 2)]);
        assert_eq!(refusals.count(peer(1), start + minute), None);
        assert_eq!(refusals.due(start + 2 * minute), [(Some(peer(1)), 1)]);
        assert_eq!(refusals.due(start + 3 * minute), []);
        assert!(refusals.0.lock().unwrap().each.is_empty());
    }

    #[test]
    fn however_many_there_are_the_table_is_bounded() {
        let refusals = Refusals::default();
        let start = Instant::now();
        for number in 0..MAX_HTTP_REFUSED_PEERS as u32 {
            assert_eq!(
                refusals.count(peer(number), start),
                Some((Some(peer(number)), 1))
            );
        }
        let counted = [0; 3].map(|_| refusals.count(peer(u32::MAX), start));
        assert_eq!(counted, [Some((None, 1)), None, None]);
        let minute = Duration::from_millis(HTTP_REFUSAL_LINE_MS);
        assert_eq!(refusals.due(start + minute), [(None, 2)]);
        assert_eq!(refusals.due(start + 2 * minute), []);
        assert!(refusals.0.lock().unwrap().others.is_none());
    }
}
