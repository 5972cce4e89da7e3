//! connect(2), bind(2), listen(2) and getpeername(2), and connections for the server.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::sockopt::{ipv6_v6only, set_ipv6_v6only};
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, bind, connect, connect_unspec, getpeername, getsockname, listen,
    socket_with,
};

use super::address::{Given, is_here, mapped, plain, somebody, write};
use super::call::Room;
use super::doors::Doors;
use super::fetch::Kind;
use super::known::Was;
use super::own::{Holder, Protocol};
use super::words::{Flow, Mark, Told, Wanted};
use super::{Answer, Deed, Interceptor, errno_of};
use crate::sandbox::memory::Memory;
use crate::sandbox::sys::sockets::bind_with_port;

/// The port of questions of names (RFC 1035, 4.2).
const NAMES_PORT: u16 = 53;

impl Interceptor {
    pub(super) fn connect(
        &mut self,
        socket: OwnedFd,
        holder: Holder,
        to: Result<Given, Errno>,
    ) -> Result<Answer, Errno> {
        let six = match Kind::of(&socket)? {
            // No sockets of other families have names to connect to.
            Kind::Other if self.rules.strict => return Err(Errno::ISCONN),
            Kind::Other => return Ok(Answer::GoOn),
            Kind::Stream { six } | Kind::Datagram { six } => six,
        };
        let Given::Address(to) = to? else {
            // The kernel would forget its device, too. So it keeps its peer, which the next connect(2) replaces, but is told
            // that it has none: what is sent to nobody meanwhile goes to that peer.
            if self.quiet.is_some() || matches!(Kind::of(&socket)?, Kind::Stream { .. }) {
                connect_unspec(&socket)?;
            }
            self.known.forget(&socket);
            return Ok(Answer::Value(0));
        };
        if to.is_ipv6() != six {
            return Err(Errno::AFNOSUPPORT);
        }
        let to = somebody(to);
        if matches!(Kind::of(&socket)?, Kind::Datagram { .. }) {
            return self.connect_datagrams(&socket, holder, six, to);
        }
        // Asked again about the same connection, the kernel says how it is doing.
        if let Some(Was::Led { via, .. }) = self.known.get(&socket) {
            return self.connect_to(socket, via);
        }
        let real = plain(to);
        if is_here(real.ip()) && self.own.holds(Protocol::Tcp, real) {
            self.counts.own += 1;
            return self.connect_to(socket, to);
        }
        let (mark, via) = self.way(&socket, six)?;
        let flow = Told::Flow(Flow { mark, to: real });
        self.channel.say(&self.epoll, flow, None).map_err(|_| Errno::NETUNREACH)?;
        self.counts.flows += 1;
        self.known.note(&socket, Was::Led { to, via });
        let does_not_wait = fcntl_getfl(&socket)?.contains(OFlags::NONBLOCK);
        Ok(Answer::Later(socket, Deed::Ask { via, mark, does_not_wait }))
    }

    /// Where a TCP socket is connected to, and how the server knows the connection.
    fn way(&mut self, socket: &OwnedFd, six: bool) -> Result<(Mark, SocketAddr), Errno> {
        let number = self.known.number();
        let four = SocketAddr::new(Mark::address(number).into(), self.doors.tcp_4);
        if !six {
            return Ok((Mark::Address(number), four));
        }
        let local = SocketAddr::try_from(getsockname(socket)?)?;
        let takes_four = local.ip().to_canonical().is_ipv4() || local.ip().is_unspecified();
        // Once it has a port this cannot be changed any more.
        if takes_four && (!ipv6_v6only(socket)? || set_ipv6_v6only(socket, false).is_ok()) {
            return Ok((Mark::Address(number), mapped(four)));
        }
        let port = self.doors.tcp_6.ok_or(Errno::NETUNREACH)?;
        let local = if local.port() == 0 { bind_now(socket, local)? } else { local };
        Ok((Mark::Port(local.port()), SocketAddr::new(Ipv6Addr::LOCALHOST.into(), port)))
    }

    /// Connects to where nobody listens, so that the kernel refuses in the way in which it does for this socket: at once, or
    /// when it is asked how the connection went.
    pub(super) fn connect_to_nobody(&mut self, socket: OwnedFd, via: SocketAddr) -> Result<Answer, Errno> {
        let nobody = match via.ip().to_canonical() {
            IpAddr::V4(_) => self.doors.nobody_4.port(),
            IpAddr::V6(_) => {
                self.doors.nobody_6.as_ref().map_or(Err(Errno::CONNREFUSED), |nobody| Ok(nobody.port()))?
            }
        };
        let via = SocketAddr::new(via.ip(), nobody);
        if let Some(Was::Led { to, .. }) = self.known.get(&socket) {
            self.known.note(&socket, Was::Led { to, via });
        }
        self.connect_to(socket, via)
    }

    /// Connects, now or when it is done.
    pub(super) fn connect_to(&mut self, socket: OwnedFd, via: SocketAddr) -> Result<Answer, Errno> {
        match connect_without_waiting(&socket, via) {
            Ok(true) => {
                self.settled(&socket, true);
                Ok(Answer::Value(0))
            }
            Ok(false) => Ok(Answer::Later(socket, Deed::Connect(via))),
            Err(errno) => {
                if matches!(errno, Errno::INPROGRESS | Errno::ALREADY | Errno::ISCONN) {
                    self.settled(&socket, errno == Errno::ISCONN);
                } else {
                    self.known.forget(&socket);
                }
                Err(errno)
            }
        }
    }

    fn connect_datagrams(
        &mut self,
        socket: &OwnedFd,
        holder: Holder,
        six: bool,
        to: SocketAddr,
    ) -> Result<Answer, Errno> {
        let Some(via) = self.lead(socket, six, to) else {
            self.counts.datagram_connects_refused += 1;
            return Err(Errno::NETUNREACH);
        };
        connect(socket, &via)?;
        if via == to {
            self.note_datagrams(socket, holder);
        }
        Ok(Answer::Value(0))
    }

    /// Where a datagram goes; `None` for nowhere.
    pub(super) fn lead(&mut self, socket: &OwnedFd, six: bool, to: SocketAddr) -> Option<SocketAddr> {
        let real = plain(to);
        if real.port() == NAMES_PORT {
            self.known.note(socket, Was::Asks(to));
            return Some(self.names(socket, six));
        }
        let is_own = is_here(real.ip())
            && match &self.quiet {
                Some(quiet) => quiet.is_taken(real),
                None => self.own.holds(Protocol::Udp, real),
            };
        is_own.then_some(to)
    }

    /// Where this socket reaches the server's answers about names.
    fn names(&self, socket: &OwnedFd, six: bool) -> SocketAddr {
        if !six {
            return self.doors.names_4;
        }
        let bound_to_four =
            getsockname(socket).and_then(SocketAddr::try_from).is_ok_and(|local| local.ip().to_canonical().is_ipv4());
        self.doors.names_6.filter(|_| !bound_to_four).unwrap_or_else(|| {
            let _ = set_ipv6_v6only(socket, false);
            mapped(self.doors.names_4)
        })
    }

    /// Whether an address is one of the server's sockets for names.
    pub(super) fn is_names(&self, address: SocketAddr) -> bool {
        let address = plain(address);
        address == self.doors.names_4 || Some(address) == self.doors.names_6
    }

    pub(super) fn bind(&mut self, socket: &OwnedFd, holder: Holder, to: Result<Given, Errno>) -> Result<Answer, Errno> {
        let kind = Kind::of(socket)?;
        if kind == Kind::Other {
            return if self.rules.strict { Err(Errno::ACCESS) } else { Ok(Answer::GoOn) };
        }
        let Given::Address(to) = to? else { return Err(Errno::AFNOSUPPORT) };
        match (bind(socket, &to), &mut self.kept) {
            (Err(Errno::ADDRINUSE), Some(kept)) => {
                // Perhaps by one that the command has closed.
                kept.sweep();
                bind(socket, &to)?;
            }
            (bound, _) => bound?,
        }
        if matches!(kind, Kind::Datagram { .. }) {
            self.note_datagrams(socket, holder);
        }
        Ok(Answer::Value(0))
    }

    /// Remembers a datagram socket that has a port now, if not all of its network are the command's.
    pub(super) fn note_datagrams(&mut self, socket: &OwnedFd, holder: Holder) {
        if self.quiet.is_none() {
            self.own.note(Protocol::Udp, socket, holder);
        }
    }

    pub(super) fn listen(&mut self, socket: &OwnedFd, holder: Holder, backlog: i32) -> Result<Answer, Errno> {
        if !matches!(Kind::of(socket)?, Kind::Stream { .. }) {
            return Ok(Answer::GoOn);
        }
        listen(socket, backlog)?;
        self.counts.listening += 1;
        self.own.note(Protocol::Tcp, socket, holder);
        self.listens(socket);
        Ok(Answer::Value(0))
    }

    pub(super) fn peer_name(&self, socket: &OwnedFd, memory: Memory, room: Room) -> Result<Answer, Errno> {
        let (Some(Was::Led { to, .. } | Was::Asks(to)), Ok(_)) = (self.known.get(socket), getpeername(socket)) else {
            return Ok(Answer::GoOn);
        };
        put_address(memory, room, to)?;
        Ok(Answer::Value(0))
    }

    /// Hears what the server wants; what it has decided.
    pub(super) fn hear(&mut self) -> Vec<(Mark, Option<i32>)> {
        let mut decided = Vec::new();
        while let Some(wanted) = self.channel.hear(&self.epoll) {
            match wanted {
                Wanted::Dial { token, to } => {
                    let dialed = if self.rules.dial { dial(&self.doors, to) } else { Err(Errno::ACCESS) };
                    let errno = dialed.as_ref().err().map(|errno| errno.raw_os_error());
                    let _ = self.channel.say(&self.epoll, Told::Dialed { token, errno }, dialed.ok());
                }
                Wanted::Decide { mark, errno } => decided.push((mark, errno)),
            }
        }
        decided
    }
}

/// A connection for the server, which may still be on its way.
pub(super) fn dial(doors: &Doors, to: SocketAddr) -> Result<OwnedFd, Errno> {
    let real = plain(to);
    // The command wanted to go where everything is led to.
    if is_here(real.ip()) && (real.port() == doors.tcp_4 || Some(real.port()) == doors.tcp_6) {
        return Err(Errno::CONNREFUSED);
    }
    let family = if real.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    // The scope of an IPv6 address is lost in its plain form.
    match connect(&socket, &if real.is_ipv6() { to } else { real }) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(errno) => Err(errno),
    }
}

/// Writes an address where the caller wants it, as getsockname(2) does.
pub(super) fn put_address(memory: Memory, room: Room, address: SocketAddr) -> Result<(), Errno> {
    let bytes = write(address);
    let most = memory.bytes(room.length, 4)?.first_chunk().map_or(0, |most| i32::from_ne_bytes(*most));
    let most = usize::try_from(most).map_err(|_| Errno::INVAL)?;
    memory.put(room.address, &bytes[..bytes.len().min(most)])?;
    memory.put(room.length, &(bytes.len() as u32).to_ne_bytes())
}

/// Gives a port to a socket that has an address, and was to get its port when it connects.
fn bind_now(socket: &OwnedFd, local: SocketAddr) -> Result<SocketAddr, Errno> {
    bind_with_port(socket.as_fd()).map_err(|error| errno_of(&error))?;
    bind(socket, &local)?;
    SocketAddr::try_from(getsockname(socket)?)
}

/// Connects as the caller's own call would, but does not wait. Whether it is done; a socket that does not block fails with
/// `EINPROGRESS` instead, which is what its owner has to hear.
fn connect_without_waiting(socket: &OwnedFd, via: SocketAddr) -> Result<bool, Errno> {
    let flags = fcntl_getfl(socket)?;
    if flags.contains(OFlags::NONBLOCK) {
        return connect(socket, &via).map(|()| true);
    }
    // The flag is the open file's, so the caller's too, for a moment in which it waits for this call.
    fcntl_setfl(socket, flags | OFlags::NONBLOCK)?;
    let mut done = connect(socket, &via);
    if matches!(done, Err(Errno::INPROGRESS | Errno::ALREADY)) && is_writable(socket) {
        // On this machine it mostly is done by now. Asked again, the kernel says how it went.
        done = connect(socket, &via);
    }
    fcntl_setfl(socket, flags)?;
    match done {
        Ok(()) => Ok(true),
        Err(Errno::INPROGRESS | Errno::ALREADY) => Ok(false),
        Err(errno) => Err(errno),
    }
}

fn is_writable(socket: &OwnedFd) -> bool {
    let mut asked = [PollFd::new(socket, PollFlags::OUT)];
    poll(&mut asked, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}
