//! Connections of nobody that is known, and which of them gives way when another needs its place.
//!
//! The address that has the most gives way, so that whoever opens many is in the way of nobody
//! elsewhere. Among those of one address, who has said nothing gives way before who has, since a
//! client begins to speak at once; and who has spoken is left alone for a moment, in which a
//! handshake and a first request arrive. Where half of all places are such connections, that moment
//! would keep everybody else out, and the oldest gives way at once: a flood from many addresses
//! lasts for longer than a handshake.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use super::peer::Peer;
use crate::limits::HTTP_STRANGER_GRACE_MS;

/// All of them, by the numbers of their places, each with what makes it leave.
#[derive(Debug)]
pub struct Strangers<T> {
    each: HashMap<u64, Stranger<T>>,
    by_peer: HashMap<Peer, Queue>,
    /// Who gives way next is the last.
    ranking: BTreeSet<(Rank, Peer)>,
}

#[derive(Debug)]
struct Stranger<T> {
    peer: Peer,
    since: Instant,
    leave: T,
}

/// Those of one address, the oldest first.
#[derive(Debug, Default)]
struct Queue {
    silent: BTreeSet<u64>,
    speaking: BTreeSet<u64>,
}

/// How many an address has, whether one of them is silent, and the oldest of those that are, or
/// else of all.
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

impl<T> Default for Strangers<T> {
    fn default() -> Self {
        Self {
            each: HashMap::new(),
            by_peer: HashMap::new(),
            ranking: BTreeSet::new(),
        }
    }
}

impl<T> Strangers<T> {
    /// Adds one that has come `now` and said nothing. Numbers grow.
    pub fn insert(&mut self, number: u64, peer: Peer, now: Instant, leave: T) {
        self.each.insert(
            number,
            Stranger {
                peer,
                since: now,
                leave,
            },
        );
        self.change(peer, |queue| queue.silent.insert(number));
    }

    /// The first bytes of this one are there.
    pub fn speaks(&mut self, number: u64) {
        if let Some(peer) = self.each.get(&number).map(|stranger| stranger.peer) {
            self.change(peer, |queue| {
                queue.silent.remove(&number) && queue.speaking.insert(number)
            });
        }
    }

    /// This one has been answered for good, and will say nothing more.
    pub fn falls_silent(&mut self, number: u64) {
        if let Some(peer) = self.each.get(&number).map(|stranger| stranger.peer) {
            self.change(peer, |queue| {
                queue.speaking.remove(&number) && queue.silent.insert(number)
            });
        }
    }

    /// What makes this one leave, if it is a stranger still.
    pub fn remove(&mut self, number: u64) -> Option<T> {
        let Stranger { peer, leave, .. } = self.each.remove(&number)?;
        self.change(peer, |queue| {
            queue.silent.remove(&number) || queue.speaking.remove(&number)
        });
        Some(leave)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.each.is_empty()
    }

    /// Takes out who gives way to one that comes from `peer`, where there are so many `places` in
    /// all. `None` if none does: they are less than half of those, have only just begun to speak,
    /// and no address has more than that one will have.
    pub fn give_way(&mut self, peer: Peer, places: usize, now: Instant) -> Option<T> {
        let &((most, is_silent, Reverse(number)), _) = self.ranking.last()?;
        let own = self.by_peer.get(&peer).map_or(0, Queue::count);
        let grace = Duration::from_millis(HTTP_STRANGER_GRACE_MS);
        let is_new = |stranger: &Stranger<T>| now.saturating_duration_since(stranger.since) < grace;
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

    /// Strangers of these addresses, numbered from 0.
    fn of(peers: &[u8], now: Instant) -> Strangers<usize> {
        let mut strangers = Strangers::default();
        for (number, last) in peers.iter().enumerate() {
            strangers.insert(number as u64, peer(*last), now, number);
        }
        strangers
    }

    #[test]
    fn whoever_has_the_most_gives_way() {
        let now = Instant::now();
        let mut strangers = of(&[1, 2, 2, 2, 3], now);
        for number in 0..5 {
            strangers.speaks(number);
        }
        // However new they are: the oldest of that address, until none has more than the others.
        let given = [0; 3].map(|_| strangers.give_way(peer(4), 100, now));
        assert_eq!(given, [Some(1), Some(2), None]);
        // One more of that address has to wait for its own.
        assert_eq!(strangers.give_way(peer(2), 100, now), None);
        let later = now + Duration::from_millis(HTTP_STRANGER_GRACE_MS);
        let given = [0; 4].map(|_| strangers.give_way(peer(2), 100, later));
        assert_eq!(given, [Some(0), Some(3), Some(4), None]);
        assert!(
            strangers.is_empty() && strangers.by_peer.is_empty() && strangers.ranking.is_empty()
        );
    }

    #[test]
    fn who_says_nothing_gives_way_to_who_speaks() {
        let now = Instant::now();
        let mut strangers = of(&[1, 1, 1, 1], now);
        strangers.speaks(0);
        strangers.speaks(2);
        strangers.speaks(2);
        strangers.speaks(7);
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
        // Who was refused has no more to say.
        let mut refused = of(&[1, 1], now);
        refused.speaks(0);
        refused.speaks(1);
        refused.falls_silent(1);
        assert_eq!(
            [0; 2].map(|_| refused.give_way(peer(1), 100, now)),
            [Some(1), None]
        );
        // Of as many, those of whom one is silent.
        strangers.insert(8, peer(2), now, 8);
        assert_eq!(
            [0; 2].map(|_| strangers.give_way(peer(3), 100, now)),
            [Some(8), None]
        );
    }

    #[test]
    fn a_flood_from_many_addresses_leaves_nobody_alone() {
        let now = Instant::now();
        let mut strangers = of(&[1, 2, 3, 4, 5], now);
        for number in 0..5 {
            strangers.speaks(number);
        }
        assert_eq!(strangers.give_way(peer(6), 11, now), None);
        // The oldest, until they are less than half of the places.
        assert_eq!(
            [0; 3].map(|_| strangers.give_way(peer(6), 7, now)),
            [Some(0), Some(1), None]
        );
    }
}
