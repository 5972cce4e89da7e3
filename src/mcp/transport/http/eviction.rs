//! Anonymous connections (without a valid token yet), and the choice of the one to evict for a new
//! one. A proxy in front of the server could not choose: it does not know the tokens.
//!
//! The address with the most connections loses one first, so a client that opens many does not
//! affect other addresses. Within an address, silent connections are evicted first, since a client
//! sends at once. A connection that has sent bytes has a grace period, enough for a handshake and a
//! first request.
//!
//! If half of all places are anonymous, the grace period would block all others. Then the oldest is
//! evicted at once: a flood from many addresses lasts longer than a handshake.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use super::peer::Peer;

/// Time for which a connection without a token that has begun to speak keeps its place, in
/// milliseconds. Others of the same address cannot take it. A TLS handshake and a first request
/// over a slow network fit in.
const HTTP_STRANGER_GRACE_MS: u64 = 1000;

/// All anonymous connections by number, each with the handle that ends it.
#[derive(Debug)]
pub(super) struct AnonymousConnections<T> {
    each: HashMap<u64, AnonymousConnection<T>>,
    by_peer: HashMap<Peer, Queue>,
    /// The last entry is evicted next.
    ranking: BTreeSet<(Rank, Peer)>,
}

#[derive(Debug)]
struct AnonymousConnection<T> {
    peer: Peer,
    since: Instant,
    leave: T,
}

/// Connections of one address, the oldest first.
#[derive(Debug, Default)]
struct Queue {
    silent: BTreeSet<u64>,
    speaking: BTreeSet<u64>,
}

/// Number of connections of an address, true if one is silent, and the oldest silent one or else
/// the oldest of all.
type Rank = (usize, bool, Reverse<u64>);

impl Queue {
    fn rank(&self) -> Option<Rank> {
        let first = self.silent.first().or_else(|| self.speaking.first())?;
        Some((self.count(), !self.silent.is_empty(), Reverse(*first)))
    }

    fn count(&self) -> usize {
        self.silent.len() + self.speaking.len()
    }
}

impl<T> Default for AnonymousConnections<T> {
    fn default() -> Self {
        Self {
            each: HashMap::new(),
            by_peer: HashMap::new(),
            ranking: BTreeSet::new(),
        }
    }
}

impl<T> AnonymousConnections<T> {
    /// Adds a silent connection that arrived `now`. Numbers must increase.
    pub(super) fn insert(&mut self, number: u64, peer: Peer, now: Instant, leave: T) {
        self.each.insert(
            number,
            AnonymousConnection {
                peer,
                since: now,
                leave,
            },
        );
        self.change(peer, |queue| queue.silent.insert(number));
    }

    /// The connection has sent its first bytes.
    pub(super) fn mark_speaking(&mut self, number: u64) {
        if let Some(peer) = self.each.get(&number).map(|stranger| stranger.peer) {
            self.change(peer, |queue| {
                queue.silent.remove(&number) && queue.speaking.insert(number)
            });
        }
    }

    /// The connection was refused, and will send no more.
    pub(super) fn mark_silent(&mut self, number: u64) {
        if let Some(peer) = self.each.get(&number).map(|stranger| stranger.peer) {
            self.change(peer, |queue| {
                queue.speaking.remove(&number) && queue.silent.insert(number)
            });
        }
    }

    /// Removes a connection, and returns the handle that ends it.
    pub(super) fn remove(&mut self, number: u64) -> Option<T> {
        let AnonymousConnection { peer, leave, .. } = self.each.remove(&number)?;
        self.change(peer, |queue| {
            queue.silent.remove(&number) || queue.speaking.remove(&number)
        });
        Some(leave)
    }

    /// Returns true if there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.each.is_empty()
    }

    /// Evicts a connection for a new one from `peer`, where `places` is the total number. Returns
    /// `None` if all are in their grace period. It does not apply to silent connections, to an
    /// address with more connections than `peer` will have, and if half of the places are anonymous.
    pub(super) fn give_way(&mut self, peer: Peer, places: usize, now: Instant) -> Option<T> {
        let &((most, is_silent, Reverse(number)), _) = self.ranking.last()?;
        let own = self.by_peer.get(&peer).map_or(0, Queue::count);
        let grace = Duration::from_millis(HTTP_STRANGER_GRACE_MS);
        let is_new = |stranger: &AnonymousConnection<T>| {
            now.saturating_duration_since(stranger.since) < grace
        };
        let is_flood = 2 * self.each.len() >= places;
        if !is_flood && !is_silent && most <= own + 1 && self.each.get(&number).is_some_and(is_new)
        {
            return None;
        }
        self.remove(number)
    }

    fn change(&mut self, peer: Peer, change: impl FnOnce(&mut Queue) -> bool) {
        let queue = self.by_peer.entry(peer).or_default();
        if let Some(rank) = queue.rank() {
            self.ranking.remove(&(rank, peer));
        }
        change(queue);
        match queue.rank() {
            Some(rank) => {
                self.ranking.insert((rank, peer));
            }
            None => {
                self.by_peer.remove(&peer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    use pretty_assertions::assert_eq;

    fn peer(last: u8) -> Peer {
        Peer::from(std::net::IpAddr::from(Ipv4Addr::new(192, 0, 2, last)))
    }

    /// Returns connections of these addresses, numbered from 0.
    fn of(peers: &[u8], now: Instant) -> AnonymousConnections<usize> {
        let mut strangers = AnonymousConnections::default();
        for (number, last) in peers.iter().enumerate() {
            strangers.insert(number as u64, peer(*last), now, number);
        }
        strangers
    }

    #[test]
    fn address_with_most_connections_is_evicted_first() {
        let now = Instant::now();
        let mut strangers = of(&[1, 2, 2, 2, 3], now);
        for number in 0..5 {
            strangers.mark_speaking(number);
        }
        // Even new connections: the oldest of that address, until none has more than the others.
        let given = [0; 3].map(|_| strangers.give_way(peer(4), 100, now));
        assert_eq!(given, [Some(1), Some(2), None]);
        // Another connection of that address waits for its own grace period.
        assert_eq!(strangers.give_way(peer(2), 100, now), None);
        let later = now + Duration::from_millis(HTTP_STRANGER_GRACE_MS);
        let given = [0; 4].map(|_| strangers.give_way(peer(2), 100, later));
        assert_eq!(given, [Some(0), Some(3), Some(4), None]);
        assert!(
            strangers.is_empty() && strangers.by_peer.is_empty() && strangers.ranking.is_empty()
        );
    }

    #[test]
    fn silent_connection_is_evicted_before_speaking() {
        let now = Instant::now();
        let mut strangers = of(&[1, 1, 1, 1], now);
        strangers.mark_speaking(0);
        strangers.mark_speaking(2);
        strangers.mark_speaking(2);
        strangers.mark_speaking(7);
        assert_eq!(
            [0; 3].map(|_| strangers.give_way(peer(1), 100, now)),
            [Some(1), Some(3), None]
        );
        assert_eq!(
            [
                strangers.remove(2),
                strangers.remove(2),
                strangers.remove(1)
            ],
            [Some(2), None, None]
        );
        // A refused connection counts as silent again.
        let mut refused = of(&[1, 1], now);
        refused.mark_speaking(0);
        refused.mark_speaking(1);
        refused.mark_silent(1);
        assert_eq!(
            [0; 2].map(|_| refused.give_way(peer(1), 100, now)),
            [Some(1), None]
        );
        // Among equal counts, the address with a silent connection comes first.
        strangers.insert(8, peer(2), now, 8);
        assert_eq!(
            [0; 2].map(|_| strangers.give_way(peer(3), 100, now)),
            [Some(8), None]
        );
    }

    #[test]
    fn flood_evicts_oldest_connection_without_grace() {
        let now = Instant::now();
        let mut strangers = of(&[1, 2, 3, 4, 5], now);
        for number in 0..5 {
            strangers.mark_speaking(number);
        }
        assert_eq!(strangers.give_way(peer(6), 11, now), None);
        // The oldest is evicted, until fewer than half of the places are anonymous.
        assert_eq!(
            [0; 3].map(|_| strangers.give_way(peer(6), 7, now)),
            [Some(0), Some(1), None]
        );
    }
}
