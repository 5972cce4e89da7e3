//! connect(2), bind(2), listen(2) and getpeername(2), and connections for the server.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};

use replay_sys::sockets::bind_with_port;
use replay_sys::time_limit::limited;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::sockopt::{ipv6_v6only, set_ipv6_v6only};
use rustix::net::{bind, connect, connect_unspec, getpeername, getsockname, listen};

use super::Interceptor;
use super::address::{AddressArgument, is_here, mapped, plain, somebody, write_to};
use super::answer::{CallAnswer, Deed, Halt, errno_of};
use super::call::Room;
use super::descriptor::{CallerDescriptor, SocketKind};
use super::destinations::Destination;
use super::messages::{Flow, Mark, SupervisorMessage, SupervisorRequest};
use super::own_ports::{Holder, Protocol};
use crate::caller::CallerMemory;
use crate::wire::Dial;

/// The port of questions of names (RFC 1035, 4.2).
const NAMES_PORT: u16 = 53;

impl Interceptor {
    pub(super) fn connect(
        &mut self,
        socket: CallerDescriptor,
        holder: Holder,
        to: Result<AddressArgument, Errno>,
    ) -> Result<CallAnswer, Halt> {
        let (six, is_stream) = match SocketKind::of(&socket)? {
            // No sockets of other families have names to connect to.
            SocketKind::Other if self.rules.strict => return Err(Errno::ISCONN.into()),
            // Another thread has put it in the place of a socket of IP.
            SocketKind::Other if self.rules.ip_only => return Err(Errno::CONNREFUSED.into()),
            SocketKind::Other => return Ok(CallAnswer::GoOn),
            SocketKind::Stream { six } => (six, true),
            SocketKind::Datagram { six } => (six, false),
        };
        let AddressArgument::Address(to) = to? else {
            // The kernel would forget its device, too. So it keeps its peer, which the next
            // connect(2) replaces, but is told that it has none: what is sent to nobody meanwhile
            // goes to that peer.
            if self.datagram_network.is_some() || is_stream {
                connect_unspec(&socket)?;
            }
            self.destinations.forget(&socket);
            return Ok(CallAnswer::Value(0));
        };
        if to.is_ipv6() != six {
            return Err(Errno::AFNOSUPPORT.into());
        }
        let to = somebody(to);
        if !is_stream {
            return self.connect_datagrams(&socket, holder, six, to);
        }
        // Asked again about the same connection, the kernel says how it is doing.
        if let Some(Destination::Led { via, .. }) = self.destinations.get(&socket) {
            return Ok(self.connect_to(socket, via)?);
        }
        let real = plain(to);
        if is_here(real.ip()) && self.own.holds(Protocol::Tcp, real) {
            self.counts.own += 1;
            return Ok(self.connect_to(socket, to)?);
        }
        let (mark, via) = self.way(&socket, six)?;
        let (by, caller) = self.last_name.and_caller(holder.pid);
        let flow = SupervisorMessage::Flow(Flow {
            mark,
            to: real,
            by,
            caller,
        });
        let dialed = self.dialed_ahead(real);
        let is_dialed = dialed.is_some();
        self.channel
            .say(&self.epoll, flow, dialed)
            .map_err(|_| Errno::NETUNREACH)?;
        self.counts.flows += 1;
        self.destinations
            .note(&socket, Destination::Led { to, via });
        if is_dialed {
            return Ok(self.connect_to(socket, via)?);
        }
        let does_not_wait = fcntl_getfl(&socket)?.contains(OFlags::NONBLOCK);
        Ok(CallAnswer::Later(
            socket,
            Deed::Ask {
                via,
                mark,
                does_not_wait,
            },
        ))
    }

    /// Connects to a server on this machine without asking first. This takes no time, while the
    /// question costs four process switches. `None` if there is no server, or the connection is not
    /// immediate.
    fn dialed_ahead(&self, to: SocketAddr) -> Option<OwnedFd> {
        if self.rules.dial != Dial::Ahead || !is_here(to.ip()) || to.port() == NAMES_PORT {
            return None;
        }
        self.listeners
            .dial(to)
            .ok()
            .filter(|socket| getpeername(socket).is_ok())
    }

    /// Returns the address to connect a TCP socket to, and the server's mark for the connection.
    fn way(&mut self, socket: &OwnedFd, six: bool) -> Result<(Mark, SocketAddr), Errno> {
        let number = self.destinations.number();
        let four = SocketAddr::new(Mark::address(number).into(), self.listeners.tcp_4);
        if !six {
            return Ok((Mark::Address(number), four));
        }
        if takes_four(socket, six)? {
            return Ok((Mark::Address(number), mapped(four)));
        }
        let local = SocketAddr::try_from(getsockname(socket)?)?;
        let port = self.listeners.tcp_6.ok_or(Errno::NETUNREACH)?;
        let local = if local.port() == 0 {
            bind_now(socket, local)?
        } else {
            local
        };
        Ok((
            Mark::Port(local.port()),
            SocketAddr::new(Ipv6Addr::LOCALHOST.into(), port),
        ))
    }

    /// Connects to an address without a listener. The kernel then reports the refusal as usual for
    /// this socket: at once, or at the next query of its status.
    pub(super) fn connect_to_nobody(
        &mut self,
        socket: CallerDescriptor,
        via: SocketAddr,
    ) -> Result<CallAnswer, Errno> {
        let nobody = match via.ip().to_canonical() {
            IpAddr::V4(_) => self.listeners.nobody_4.port(),
            IpAddr::V6(_) => self
                .listeners
                .nobody_6
                .as_ref()
                .map_or(Err(Errno::CONNREFUSED), |nobody| Ok(nobody.port()))?,
        };
        let via = SocketAddr::new(via.ip(), nobody);
        if let Some(Destination::Led { to, .. }) = self.destinations.get(&socket) {
            self.destinations
                .note(&socket, Destination::Led { to, via });
        }
        self.connect_to(socket, via)
    }

    /// Connects, now or when it is done.
    pub(super) fn connect_to(
        &mut self,
        socket: CallerDescriptor,
        via: SocketAddr,
    ) -> Result<CallAnswer, Errno> {
        match connect_without_waiting(&socket, via) {
            Ok(true) => {
                self.settled(&socket, true);
                Ok(CallAnswer::Value(0))
            }
            Ok(false) => Ok(CallAnswer::Later(socket, Deed::Connect(via))),
            Err(errno) => {
                if matches!(errno, Errno::INPROGRESS | Errno::ALREADY | Errno::ISCONN) {
                    self.settled(&socket, errno == Errno::ISCONN);
                } else {
                    self.destinations.forget(&socket);
                }
                Err(errno)
            }
        }
    }

    /// A TCP socket is connected; whether the caller knows.
    fn settled(&mut self, socket: &OwnedFd, is_told: bool) {
        if let Some(table) = &mut self.table {
            table.settled(&self.destinations, socket, is_told);
        }
    }

    fn connect_datagrams(
        &mut self,
        socket: &OwnedFd,
        holder: Holder,
        six: bool,
        to: SocketAddr,
    ) -> Result<CallAnswer, Halt> {
        let via = self.lead(socket, holder.pid, six, to)?;
        connect(socket, &via)?;
        if via == to {
            self.note_datagrams(socket, holder);
        }
        Ok(CallAnswer::Value(0))
    }

    /// Returns the destination of a datagram.
    pub(super) fn lead(
        &mut self,
        socket: &OwnedFd,
        pid: u32,
        six: bool,
        to: SocketAddr,
    ) -> Result<SocketAddr, Halt> {
        let real = plain(to);
        if real.port() == NAMES_PORT {
            self.destinations.note(socket, Destination::Asks(to));
            return Ok(self.names(socket, six));
        }
        let is_own = is_here(real.ip())
            && match &self.datagram_network {
                Some(datagram_network) => datagram_network.is_taken(real),
                None => self.own.holds(Protocol::Udp, real),
            };
        if is_own {
            Ok(to)
        } else {
            self.relay(socket, pid, six, real)
        }
    }

    /// Returns the address of the server's DNS socket for this socket.
    fn names(&self, socket: &OwnedFd, six: bool) -> SocketAddr {
        if !six {
            return self.listeners.names_4;
        }
        let bound_to_four = getsockname(socket)
            .and_then(SocketAddr::try_from)
            .is_ok_and(|local| local.ip().to_canonical().is_ipv4());
        self.listeners
            .names_6
            .filter(|_| !bound_to_four)
            .unwrap_or_else(|| {
                let _ = set_ipv6_v6only(socket, false);
                mapped(self.listeners.names_4)
            })
    }

    /// Returns true if the address is one of the server's DNS sockets.
    pub(super) fn is_names(&self, address: SocketAddr) -> bool {
        let address = plain(address);
        address == self.listeners.names_4 || Some(address) == self.listeners.names_6
    }

    pub(super) fn bind(
        &mut self,
        socket: &OwnedFd,
        holder: Holder,
        to: Result<AddressArgument, Errno>,
    ) -> Result<CallAnswer, Errno> {
        let kind = SocketKind::of(socket)?;
        if kind == SocketKind::Other {
            return if self.rules.strict {
                Err(Errno::ACCESS)
            } else {
                Ok(CallAnswer::GoOn)
            };
        }
        let AddressArgument::Address(to) = to? else {
            return Err(Errno::AFNOSUPPORT);
        };
        match (bind(socket, &to), &mut self.table) {
            (Err(Errno::ADDRINUSE), Some(table)) => {
                // Perhaps by one that the command has closed.
                table.sweep();
                bind(socket, &to)?;
            }
            (bound, _) => bound?,
        }
        if matches!(kind, SocketKind::Datagram { .. }) {
            self.note_datagrams(socket, holder);
        }
        Ok(CallAnswer::Value(0))
    }

    /// Remembers a datagram socket that has a port now, if not all of its network are the
    /// command's.
    pub(super) fn note_datagrams(&mut self, socket: &OwnedFd, holder: Holder) {
        if self.datagram_network.is_none() {
            self.own.note(Protocol::Udp, socket, holder);
        }
    }

    pub(super) fn listen(
        &mut self,
        socket: &OwnedFd,
        holder: Holder,
        backlog: i32,
    ) -> Result<CallAnswer, Errno> {
        if !matches!(SocketKind::of(socket)?, SocketKind::Stream { .. }) {
            return Ok(CallAnswer::GoOn);
        }
        listen(socket, backlog)?;
        self.counts.listening += 1;
        self.own.note(Protocol::Tcp, socket, holder);
        if let Some(table) = &mut self.table {
            table.listens(socket);
        }
        Ok(CallAnswer::Value(0))
    }

    pub(super) fn peer_name(
        &self,
        socket: &OwnedFd,
        memory: CallerMemory,
        room: Room,
    ) -> Result<CallAnswer, Errno> {
        let Ok(peer) = getpeername(socket) else {
            return Ok(CallAnswer::GoOn);
        };
        let place = peer.and_then(|peer| self.relays.place(SocketAddr::try_from(peer).ok()?));
        let to = match (place, self.destinations.get(socket)) {
            (Some(place), _)
                if matches!(SocketKind::of(socket)?, SocketKind::Datagram { six: true }) =>
            {
                mapped(place)
            }
            (Some(place), _) => place,
            (None, Some(Destination::Led { to, .. } | Destination::Asks(to))) => to,
            (None, None) => return Ok(CallAnswer::GoOn),
        };
        write_to(memory, room, to)?;
        Ok(CallAnswer::Value(0))
    }

    /// Leaves a connection on its way.
    pub(super) fn leave_on_its_way(
        &mut self,
        socket: CallerDescriptor,
        via: SocketAddr,
        mark: Mark,
    ) -> Result<CallAnswer, Errno> {
        let Some((at, refused)) = self
            .half_open
            .as_mut()
            .and_then(|half_open| half_open.hold(mark, via.ip()).ok())
        else {
            return self.connect_to(socket, via);
        };
        if let Some(refused) = refused {
            self.given_up(refused);
        }
        let at = if via.is_ipv6() { mapped(at) } else { at };
        if let Some(Destination::Led { to, .. }) = self.destinations.get(&socket) {
            self.destinations
                .note(&socket, Destination::Led { to, via: at });
        }
        let same = rustix::io::fcntl_dupfd_cloexec(&socket, 0)?;
        let answer = self.connect_to(socket, at);
        let from = getsockname(&same)
            .and_then(SocketAddr::try_from)
            .map(plain)
            .ok();
        if let Some(half_open) = &mut self.half_open {
            half_open.comes_from(mark, from);
        }
        answer
    }

    /// Tells the server that a connection does not come.
    pub(super) fn given_up(&mut self, mark: Mark) {
        // A server that does not hear of it gives up later.
        let _ = self
            .channel
            .say(&self.epoll, SupervisorMessage::GivenUp { mark }, None);
    }

    /// The server has decided about a connection that is on its way, if it is.
    pub(super) fn arrive(&mut self, mark: Mark, errno: Option<Errno>) {
        let Some(half_open) = &mut self.half_open else {
            return;
        };
        match errno {
            None => {
                if let Some(Ok(socket)) = half_open.complete(mark) {
                    let _ = self
                        .channel
                        .say(&self.epoll, SupervisorMessage::Arrived, Some(socket));
                }
            }
            Some(Errno::TIMEDOUT) => {}
            Some(_) => half_open.refuse(mark),
        }
    }

    /// Does what the server wants.
    pub(super) fn hear(&mut self, listener: &OwnedFd) -> io::Result<()> {
        while let Some(wanted) = self.channel.hear(&self.epoll) {
            match wanted {
                SupervisorRequest::Dial { token, to } => {
                    let dialed = if self.rules.dial == Dial::Never {
                        Err(Errno::ACCESS)
                    } else {
                        self.listeners.dial(to)
                    };
                    let errno = dialed.as_ref().err().map(|errno| errno.raw_os_error());
                    let _ = self.channel.say(
                        &self.epoll,
                        SupervisorMessage::Dialed { token, errno },
                        dialed.ok(),
                    );
                }
                SupervisorRequest::DecideDatagrams { token, may_send } => {
                    self.decide_relay(listener, token, may_send)?;
                }
                SupervisorRequest::Decide { mark, errno } => self.decide(listener, mark, errno)?,
            }
        }
        Ok(())
    }
}

/// Returns true if a socket can reach IPv4 addresses, after clearing `IPV6_V6ONLY` if necessary.
pub(super) fn takes_four(socket: &OwnedFd, six: bool) -> Result<bool, Errno> {
    if !six {
        return Ok(true);
    }
    let local = SocketAddr::try_from(getsockname(socket)?)?;
    let may = local.ip().to_canonical().is_ipv4() || local.ip().is_unspecified();
    // Once it has a port this cannot be changed any more.
    Ok(may && (!ipv6_v6only(socket)? || set_ipv6_v6only(socket, false).is_ok()))
}

/// Gives a port to a socket that has an address, and was to get its port when it connects.
fn bind_now(socket: &OwnedFd, local: SocketAddr) -> Result<SocketAddr, Errno> {
    bind_with_port(socket.as_fd()).map_err(|error| errno_of(&error))?;
    bind(socket, &local)?;
    SocketAddr::try_from(getsockname(socket)?)
}

/// Connects as the caller's own call would, but does not wait. Whether it is done; a socket that
/// does not block fails with `EINPROGRESS` instead, which is what its owner has to hear.
fn connect_without_waiting(socket: &OwnedFd, via: SocketAddr) -> Result<bool, Errno> {
    let flags = fcntl_getfl(socket)?;
    let waits = !flags.contains(OFlags::NONBLOCK);
    // Another thread of the caller may change the flag meanwhile.
    let attempt = || limited(|| connect(socket, &via));
    if waits {
        // The flag is the open file's, so the caller's too, for a moment in which it waits for
        // this call.
        fcntl_setfl(socket, flags | OFlags::NONBLOCK)?;
    }
    let mut done = attempt();
    if waits && matches!(done, Err(Errno::INPROGRESS | Errno::ALREADY)) {
        // On this machine it mostly is done by now. Asked again, the kernel says how it went.
        done = attempt();
    }
    if waits {
        fcntl_setfl(socket, flags)?;
    }
    match done {
        Ok(()) => Ok(true),
        Err(Errno::INTR) => Ok(false),
        Err(Errno::INPROGRESS | Errno::ALREADY) if waits => Ok(false),
        Err(errno) => Err(errno),
    }
}
