//! Relays for outgoing datagrams: one socket for each destination of the command. The server holds
//! another descriptor of each; it forwards what arrives there, and answers from there.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

use replay_base::limits::MAX_DATAGRAM_PLACES;
use replay_sys::seccomp::still_valid;
use rustix::io::Errno;

use super::Interceptor;
use super::address::{mapped, plain};
use super::answer::{Deed, Halt, Pending};
use super::call::Network;
use super::connections::takes_four;
use super::listeners;
use super::messages::SupervisorMessage;

#[derive(Debug, Default)]
pub(super) struct Relays {
    /// By the place, and whether the relay is of IPv4.
    by_place: HashMap<(SocketAddr, bool), Relay>,
    /// The places of those that are open, by the relay's own address.
    places: HashMap<SocketAddr, SocketAddr>,
    last_token: u64,
}

#[derive(Debug)]
struct Relay {
    token: u64,
    at: SocketAddr,
    /// The server has decided that it may be used.
    is_open: bool,
}

impl Relays {
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The place that a relay at this address stands for.
    pub(super) fn place(&self, at: SocketAddr) -> Option<SocketAddr> {
        self.places.get(&plain(at)).copied()
    }

    /// Returns the relays that the server has not decided about.
    pub(super) fn undecided(&self) -> Vec<u64> {
        self.by_place
            .values()
            .filter(|relay| !relay.is_open)
            .map(|relay| relay.token)
            .collect()
    }

    fn decide(&mut self, token: u64, may_send: bool) {
        let found = self
            .by_place
            .iter_mut()
            .find(|(_, relay)| relay.token == token);
        let Some((&(place, is_four), relay)) = found else {
            return;
        };
        if may_send {
            relay.is_open = true;
            self.places.insert(relay.at, place);
        } else {
            self.by_place.remove(&(place, is_four));
        }
    }
}

impl Interceptor {
    /// Returns the address to which the datagrams of this socket for a destination must go. Before
    /// the server's answer the call waits.
    pub(super) fn relay(
        &mut self,
        socket: &OwnedFd,
        pid: u32,
        six: bool,
        place: SocketAddr,
    ) -> Result<SocketAddr, Halt> {
        let is_four = takes_four(socket, six)?;
        let known = self
            .relays
            .by_place
            .get(&(place, is_four))
            .map(|relay| (relay.token, relay.at, relay.is_open));
        let (token, at, is_open) = match known {
            Some(known) => known,
            None => self.ask_for_relay(pid, place, is_four)?,
        };
        if !is_open {
            return Err(Halt::Undecided(
                rustix::io::fcntl_dupfd_cloexec(socket, 0)?.into(),
                token,
            ));
        }
        Ok(if six { mapped(at) } else { at })
    }

    fn ask_for_relay(
        &mut self,
        pid: u32,
        place: SocketAddr,
        is_four: bool,
    ) -> Result<(u64, SocketAddr, bool), Errno> {
        if self.relays.by_place.len() >= MAX_DATAGRAM_PLACES {
            return Err(Errno::NOBUFS);
        }
        let here: IpAddr = if is_four {
            Ipv4Addr::LOCALHOST.into()
        } else {
            Ipv6Addr::LOCALHOST.into()
        };
        let (there, at) = listeners::datagrams(self.datagram_network.as_ref(), here)?;
        self.relays.last_token += 1;
        let token = self.relays.last_token;
        let told = SupervisorMessage::Datagrams {
            token,
            to: place,
            by: self.last_name.of(pid),
        };
        self.channel
            .say(&self.epoll, told, Some(there))
            .map_err(|_| Errno::NETUNREACH)?;
        self.relays.by_place.insert(
            (place, is_four),
            Relay {
                token,
                at,
                is_open: false,
            },
        );
        Ok((token, at, false))
    }

    /// The server has decided whether a relay may be used: the calls that wait for it are begun
    /// anew, or have no route.
    pub(super) fn decide_relay(
        &mut self,
        listener: &OwnedFd,
        token: u64,
        may_send: bool,
    ) -> io::Result<()> {
        self.relays.decide(token, may_send);
        let waits =
            |waiting: &Pending| matches!(waiting.deed, Deed::Begin { relay, .. } if relay == token);
        let tokens: Vec<u64> = self
            .waiting
            .iter()
            .filter(|(_, waiting)| waits(waiting))
            .map(|(token, _)| *token)
            .collect();
        for token in tokens {
            let Some(Pending {
                asked,
                deed: Deed::Begin { call, .. },
                ..
            }) = self.forget(token)
            else {
                continue;
            };
            if !still_valid(listener, asked.id) {
                continue;
            }
            if may_send {
                self.take(listener, asked, call)?;
                continue;
            }
            match call {
                Network::Connect { .. } => self.counts.datagram_connects_refused += 1,
                _ => self.counts.datagrams_refused += 1,
            }
            self.give(listener, asked, Err(Errno::NETUNREACH))?;
        }
        Ok(())
    }
}
