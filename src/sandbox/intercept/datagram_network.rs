//! A network for the datagrams of one command, in which there is only a loopback device.
//!
//! A socket stays in the network namespace in which it was made, regardless of its user. So a small
//! process enters a network namespace of its own. There it makes the command's datagram sockets,
//! and the server's sockets for name queries. No datagram of the command leaves, even if the
//! command swaps its descriptors. The process ends with the supervisor.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::unistd::Pid;
use replay_sys as sys;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with, socketpair};
use serde::{Deserialize, Serialize};

use crate::fault::{Fault, StepContext};
use crate::namespaces;
use crate::wire::{receive_packet, send_packet};

/// The supervisor's end of the socket to that process.
#[derive(Debug)]
pub struct DatagramNetwork(OwnedFd);

/// A request to the helper of the namespace.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Wish {
    /// A socket of IPv6 or, if not so, of IPv4.
    Socket { six: bool },
    /// A bound socket.
    Bound(SocketAddr),
    /// A test of whether the address can be bound; the reply has no socket.
    Try(SocketAddr),
}

/// Reply of the helper: a socket, or an errno(3) of the kernel.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct NetworkReply {
    errno: Option<i32>,
}

/// For who is not the supervisor.
impl AsFd for DatagramNetwork {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<OwnedFd> for DatagramNetwork {
    fn from(socket: OwnedFd) -> Self {
        Self(socket)
    }
}

impl DatagramNetwork {
    /// Starts the process. Where it may have no network of its own it ends at once.
    pub fn start() -> Result<(Self, Pid), Fault> {
        let step = "start who makes datagram sockets";
        let (here, there) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .step(step)?;
        let maker = sys::fork_with_stdin(&there, serve).step(step)?;
        Ok((Self(here), maker))
    }

    /// Returns true if the network is available.
    pub(super) fn stands(&self) -> bool {
        self.socket(false).is_ok()
    }

    /// A socket of UDP in there.
    pub(super) fn socket(&self, six: bool) -> Result<OwnedFd, Errno> {
        self.ask(Wish::Socket { six })?.ok_or(Errno::MFILE)
    }

    pub(super) fn bound(&self, at: SocketAddr) -> Result<OwnedFd, Errno> {
        self.ask(Wish::Bound(at))?.ok_or(Errno::MFILE)
    }

    /// Returns true if the address is in use in there, which only the command or the server can do.
    pub(super) fn is_taken(&self, at: SocketAddr) -> bool {
        matches!(self.ask(Wish::Try(at)), Err(Errno::ADDRINUSE))
    }

    fn ask(&self, wish: Wish) -> Result<Option<OwnedFd>, Errno> {
        let lost = |_: io::Error| Errno::NETDOWN;
        send_packet(&self.0, &wish, &[]).map_err(lost)?;
        match receive_packet(&self.0).map_err(lost)? {
            Some((NetworkReply { errno: Some(errno) }, _)) => Err(Errno::from_raw_os_error(errno)),
            Some((NetworkReply { errno: None }, mut sockets)) => Ok(sockets.pop()),
            None => Err(Errno::NETDOWN),
        }
    }
}

/// Main function of the process: leaves the launcher's network and answers wishes from stdin until
/// the socket is closed.
fn serve() {
    if rustix::stdio::dup2_stderr(rustix::stdio::stdout()).is_err()
        || namespaces::enter_quiet().is_err()
    {
        return;
    }
    let asked = rustix::stdio::stdin();
    while let Ok(Some((wish, _))) = receive_packet::<Wish>(asked) {
        let made = wish.make();
        let errno = made.as_ref().err().map(|errno| errno.raw_os_error());
        let sockets: Vec<BorrowedFd<'_>> = made.iter().flatten().map(AsFd::as_fd).collect();
        if send_packet(asked, &NetworkReply { errno }, &sockets).is_err() {
            break;
        }
    }
}

impl Wish {
    fn make(self) -> Result<Option<OwnedFd>, Errno> {
        let (six, at) = match self {
            Self::Socket { six } => (six, None),
            Self::Bound(at) | Self::Try(at) => (at.is_ipv6(), Some(at)),
        };
        let family = if six {
            AddressFamily::INET6
        } else {
            AddressFamily::INET
        };
        let socket = socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
        at.map_or(Ok(()), |at| bind(&socket, &at))?;
        // The test closes its socket, so the address is free before the reply is sent.
        Ok((!matches!(self, Self::Try(_))).then_some(socket))
    }
}
