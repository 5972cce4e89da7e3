//! Messages between a supervisor and the server about a command's network calls.
//!
//! They share a `SOCK_SEQPACKET` socket, separate from the command's own; each packet is one
//! message as JSON.

use std::fmt::{self, Write as _};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SupervisorMessage {
    /// First message. It carries the listening TCP sockets for IPv4 and, if `version_6`, for IPv6.
    /// The sockets for name queries follow, for IPv4 and IPv6 likewise. All sockets are
    /// nonblocking.
    Ready {
        /// `true` if IPv6 is available.
        version_6: bool,
    },
    /// Datagrams to a destination wait for a decision ([`SupervisorRequest::DecideDatagrams`]). The
    /// message carries the socket that receives and answers them, which may be blocking.
    Datagrams {
        /// Comes back with the decision.
        token: u64,
        to: SocketAddr,
        by: ProgramName,
    },
    /// A connection will arrive. It arrives at once if the message carries a connection to its
    /// destination ([`Dial::Ahead`](crate::Dial)), else after the decision
    /// ([`SupervisorRequest::Decide`]).
    Flow(Flow),
    /// An announced connection does not arrive: its caller is gone, or has stopped waiting.
    GivenUp { mark: Mark },
    /// Result of [`SupervisorRequest::Dial`], with a socket unless there is an error. It does not block, and
    /// may still be connecting.
    Dialed {
        /// Token of the request.
        token: u64,
        /// Error of the kernel, an errno(3).
        errno: Option<i32>,
    },
    /// A half-open connection arrived after the decision. The message carries its other end, which
    /// otherwise the server would accept.
    Arrived,
    /// Current totals.
    Counts(Counts),
}

/// One connection of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// Its identity: the loopback address that it comes to, or the port that it comes from.
    pub mark: Mark,
    /// Destination that the command requested.
    pub to: SocketAddr,
    pub by: ProgramName,
    pub caller: Caller,
}

/// Process that opened a connection. Its numbers are those that the command sees.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Caller {
    /// The process and its ancestors within the command, nearest first; empty if unknown.
    pub pids: Vec<u32>,
    /// Its place below the first process of the command: a name among siblings for each generation,
    /// such as `3.0`. It is mostly the same in each run.
    pub place: String,
}

/// Datagrams of a command that are to go to a place ([`SupervisorMessage::Datagrams`]).
#[derive(Debug)]
pub struct Datagrams {
    /// A number that no other place has.
    pub token: u64,
    pub to: SocketAddr,
    /// Program that sends the first datagram.
    pub by: ProgramName,
    /// Socket at which the datagrams arrive. Each comes from a socket of the command; a reply sent
    /// to that socket appears to come from the destination.
    pub socket: OwnedFd,
}

/// Name of a process (`/proc/PID/comm`, proc(5)), padded with zeros. The process chooses the name,
/// so it is for display only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProgramName(pub(super) [u8; 16]);

impl fmt::Display for ProgramName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(text)
            .chars()
            .filter(|sign| !sign.is_control())
            .try_for_each(|sign| out.write_char(sign))
    }
}

/// Identity of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// It comes to `127.64.0.0/10`, and this is the rest of the address.
    Address(u32),
    /// It comes to `::1` from this port.
    Port(u16),
}

/// Traffic counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Connections that were led to the server.
    pub flows: u64,
    /// Connections to servers of the command itself, which were let through.
    pub own: u64,
    /// TCP sockets of the command that began to listen.
    pub listening: u64,
    /// Datagrams that were refused: UDP to anything but port 53, the command's own sockets, and
    /// what the server allowed.
    pub datagrams_refused: u64,
    /// Datagram sockets that were not connected. C libraries try that for every address of a name,
    /// so it need not mean that anything was to be sent.
    pub datagram_connects_refused: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SupervisorRequest {
    /// A TCP connection to this address from where the command is.
    Dial {
        /// Comes back with the answer.
        token: u64,
        to: SocketAddr,
    },
    /// Datagrams may go to a place, or have no route.
    DecideDatagrams { token: u64, may_send: bool },
    /// A connection that waits for it goes on, or does not.
    Decide {
        mark: Mark,
        /// Error that the command gets instead of a connection, an errno(3).
        errno: Option<i32>,
    },
}

/// `127.64.0.0/10`: loopback addresses that stand for connections.
const FIRST_ADDRESS: u32 = 0x7f40_0000;
/// Set in the number of a mark that is a port.
const PORT_KEYS: u64 = 1 << 32;
/// Bits of such an address that say which.
const MARK_BITS: u32 = 22;

impl Mark {
    /// Both kinds as one number.
    pub fn key(self) -> u64 {
        match self {
            Self::Address(number) => u64::from(number),
            Self::Port(port) => u64::from(port) | PORT_KEYS,
        }
    }

    /// Decodes the result of [`Self::key`].
    pub fn of_key(key: u64) -> Self {
        if key & PORT_KEYS == 0 {
            Self::Address(key as u32)
        } else {
            Self::Port(key as u16)
        }
    }

    /// Number of addresses.
    pub const ADDRESSES: u32 = 1 << MARK_BITS;

    /// Returns the identity of an accepted connection, from its two ends. `None` if the connection
    /// was not redirected.
    pub fn of(local: SocketAddr, peer: SocketAddr) -> Option<Self> {
        match local.ip().to_canonical() {
            std::net::IpAddr::V4(ip) => {
                let rest = u32::from(ip).wrapping_sub(FIRST_ADDRESS);
                (rest < Self::ADDRESSES).then_some(Self::Address(rest))
            }
            std::net::IpAddr::V6(ip) => ip.is_loopback().then_some(Self::Port(peer.port())),
        }
    }

    /// The address that stands for this number.
    pub fn address(number: u32) -> std::net::Ipv4Addr {
        std::net::Ipv4Addr::from(FIRST_ADDRESS | (number & (Self::ADDRESSES - 1)))
    }
}
