//! Nonblocking connections to servers that do not answer within the short hold time. They stay in
//! progress, as with any slow server, until the server of the interception has decided.
//!
//! The socket connects to our own listener with a full queue. The kernel ignores connections to it
//! (`listen(2)`, "backlog"), so the command's socket keeps trying. After the real server has
//! answered, a second socket with the listener's address connects to the command's socket. With
//! open calls from both ends, both are connected (RFC 9293, 3.5, "simultaneous open"). After a
//! refusal the listener is closed, and the kernel refuses the next try. If the server does not
//! answer in time, the kernel's own timeout applies.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};

use replay_sys::sockets::bind_to_loopback;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_reuseport;
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, bind, connect, getsockname, listen, socket_with,
};

use super::answer::errno_of;
use super::messages::Mark;

/// Connections of an intercepted command that may be on their way longer than that; of more, the
/// first are refused.
const MAX_CONNECTIONS_ON_THEIR_WAY: usize = 128;
/// Timeout of the connection that keeps a half-open one pending, in milliseconds; afterwards it is
/// forwarded at once.
const QUEUE_FILLS_MS: i64 = 100;

#[derive(Debug)]
pub(super) struct HalfOpen {
    /// Holds the port on all of 127.0.0.0/8, so that nobody else comes to listen there, and has no
    /// listener.
    _port: OwnedFd,
    port: u16,
    held: HashMap<Mark, HalfOpenConnection>,
    /// Oldest first; some are gone.
    order: VecDeque<Mark>,
}

#[derive(Debug)]
struct HalfOpenConnection {
    /// The listener, and what fills its queue.
    _full: [OwnedFd; 2],
    at: SocketAddr,
    from: Option<SocketAddr>,
}

impl HalfOpen {
    pub(super) fn new() -> Result<Self, Errno> {
        let socket = bound(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0))?;
        let port = SocketAddr::try_from(getsockname(&socket)?)?.port();
        Ok(Self {
            _port: socket,
            port,
            held: HashMap::new(),
            order: VecDeque::new(),
        })
    }

    /// Creates an address for this connection where the kernel neither accepts nor refuses. Only
    /// IPv4 has an address for each connection. If there are too many, the oldest connection is
    /// dropped and returned, to be refused.
    pub(super) fn hold(
        &mut self,
        mark: Mark,
        ip: IpAddr,
    ) -> Result<(SocketAddr, Option<Mark>), Errno> {
        let ip = ip.to_canonical();
        if !ip.is_ipv4() {
            return Err(Errno::AFNOSUPPORT);
        }
        let at = SocketAddr::new(ip, self.port);
        let listener = bound(at)?;
        // One connection waits in a queue of none.
        listen(&listener, 0)?;
        let filler = bound(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0))?;
        match connect(&filler, &at) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(errno) => return Err(errno),
        }
        // A busy kernel delivers it later, and the command's connection must not be there first.
        let patience = Timespec {
            tv_sec: 0,
            tv_nsec: QUEUE_FILLS_MS * 1_000_000,
        };
        if poll(
            &mut [PollFd::new(&listener, PollFlags::IN)],
            Some(&patience),
        )? == 0
        {
            return Err(Errno::TIMEDOUT);
        }
        if self
            .held
            .insert(
                mark,
                HalfOpenConnection {
                    _full: [listener, filler],
                    at,
                    from: None,
                },
            )
            .is_none()
        {
            self.order.push_back(mark);
        }
        let is_full = self.order.len() > MAX_CONNECTIONS_ON_THEIR_WAY;
        let first = if is_full {
            self.order.pop_front()
        } else {
            None
        };
        Ok((at, first.filter(|first| self.held.remove(first).is_some())))
    }

    /// Records the address of the command's end of a connection, if known.
    pub(super) fn comes_from(&mut self, mark: Mark, from: Option<SocketAddr>) {
        if let Some(held) = self.held.get_mut(&mark) {
            held.from = from;
        }
    }

    /// The kernel refuses the connection's next try.
    pub(super) fn refuse(&mut self, mark: Mark) {
        self.held.remove(&mark);
    }

    /// Completes a connection; the other end of it. `None` if none is on its way.
    pub(super) fn complete(&mut self, mark: Mark) -> Option<Result<OwnedFd, Errno>> {
        let held = self.held.remove(&mark)?;
        let open = || {
            let socket = bound(held.at)?;
            // On this machine it is done when the call returns, or the command's end is gone.
            match connect(&socket, &held.from.ok_or(Errno::NOTCONN)?) {
                Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
                Err(errno) => Err(errno),
            }
        };
        Some(open())
    }
}

fn bound(at: SocketAddr) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    set_socket_reuseport(&socket, true)?;
    bind_to_loopback(socket.as_fd()).map_err(|error| errno_of(&error))?;
    bind(&socket, &at)?;
    Ok(socket)
}
