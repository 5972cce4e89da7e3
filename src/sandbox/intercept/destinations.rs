//! Original destinations of redirected sockets.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use replay_base::limits::MAX_INTERCEPTED_SOCKETS;
use rustix::io::Errno;
use rustix::net::sockopt::socket_cookie;
use rustix::rand::{GetRandomFlags, getrandom};

use super::messages::Mark;

/// The destination of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    /// It was to connect to the first address, and was connected to the second.
    Led { to: SocketAddr, via: SocketAddr },
    /// It asks whoever this is for names.
    Asks(SocketAddr),
}

/// Sockets by their cookies, which no two have (`SO_COOKIE`, socket(7)).
#[derive(Debug)]
pub(super) struct Destinations {
    sockets: HashMap<u64, Destination>,
    order: VecDeque<u64>,
    next: u32,
    step: u32,
}

impl Destinations {
    pub(super) fn new() -> Result<Self, Errno> {
        let mut random = [0; 8];
        getrandom(&mut random, GetRandomFlags::empty())?;
        let [next, step] = [&random[..4], &random[4..]].map(|half| {
            half.first_chunk()
                .map_or(1, |bytes| u32::from_ne_bytes(*bytes))
        });
        Ok(Self {
            sockets: HashMap::new(),
            order: VecDeque::new(),
            next,
            step: step | 1,
        })
    }

    /// A number for a connection. None comes twice before all have come, and who knows some cannot
    /// easily tell the next: on a loopback device that is shared, somebody else could come first.
    pub(super) fn number(&mut self) -> u32 {
        self.next = self.next.wrapping_add(self.step);
        self.next % Mark::ADDRESSES
    }

    pub(super) fn get(&self, socket: &OwnedFd) -> Option<Destination> {
        self.sockets.get(&socket_cookie(socket).ok()?).copied()
    }

    pub(super) fn note(&mut self, socket: &OwnedFd, was: Destination) {
        let Ok(cookie) = socket_cookie(socket) else {
            return;
        };
        if self.sockets.insert(cookie, was).is_none() {
            self.order.push_back(cookie);
        }
        while self.order.len() > MAX_INTERCEPTED_SOCKETS
            && let Some(first) = self.order.pop_front()
        {
            self.sockets.remove(&first);
        }
    }

    pub(super) fn forget(&mut self, socket: &OwnedFd) {
        if let Ok(cookie) = socket_cookie(socket)
            && self.sockets.remove(&cookie).is_some()
        {
            self.order.retain(|other| *other != cookie);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::net::UdpSocket;

    #[test]
    fn numbers_do_not_come_twice_before_all_have_come() {
        let mut known = Destinations::new().unwrap();
        let seen: HashSet<u32> = (0..Mark::ADDRESSES).map(|_| known.number()).collect();
        assert_eq!(seen.len(), Mark::ADDRESSES as usize);
        assert!(seen.iter().all(|number| *number < Mark::ADDRESSES));
    }

    #[test]
    fn destination_is_shared_by_duplicate_descriptors() {
        let mut known = Destinations::new().unwrap();
        let socket = OwnedFd::from(UdpSocket::bind("127.0.0.1:0").unwrap());
        let again = socket.try_clone().unwrap();
        let was = Destination::Asks("192.0.2.1:53".parse().unwrap());
        known.note(&socket, was);
        assert_eq!(known.get(&again), Some(was));
        known.forget(&again);
        assert_eq!(known.get(&socket), None);
        assert!(known.order.is_empty());
    }
}
