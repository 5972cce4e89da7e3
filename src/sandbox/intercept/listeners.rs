//! The sockets that everything is led to, made where the command is: the server, elsewhere, only
//! accepts.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};

use replay_sys::sockets::bind_to_loopback;
use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, bind, connect, getsockname, listen, socket_with,
};

use super::address::{is_here, plain};
use super::datagram_network::DatagramNetwork;
use crate::fault::{Fault, StepContext};

/// Connections of an intercepted command that may wait until the server accepts them.
const INTERCEPTED_BACKLOG: i32 = 4096;

#[derive(Debug)]
pub(super) struct Listeners {
    /// All of 127.0.0.0/8.
    pub(super) tcp_4: u16,
    pub(super) tcp_6: Option<u16>,
    pub(super) names_4: SocketAddr,
    pub(super) names_6: Option<SocketAddr>,
    /// An address without a listener, on all of 127.0.0.0/8.
    pub(super) nobody_4: Nobody,
    pub(super) nobody_6: Option<Nobody>,
}

impl Listeners {
    /// A connection for the server, which may still be on its way.
    pub(super) fn dial(&self, to: SocketAddr) -> Result<OwnedFd, Errno> {
        let real = plain(to);
        // The command wanted to go where everything is led to.
        if is_here(real.ip()) && (real.port() == self.tcp_4 || Some(real.port()) == self.tcp_6) {
            return Err(Errno::CONNREFUSED);
        }
        let family = if real.is_ipv4() {
            AddressFamily::INET
        } else {
            AddressFamily::INET6
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(family, SocketType::STREAM, flags, None)?;
        // The scope of an IPv6 address is lost in its plain form.
        match connect(&socket, &if real.is_ipv6() { to } else { real }) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
            Err(errno) => Err(errno),
        }
    }
}

/// A port of TCP that is taken, so that nobody else comes to listen there, and has no listener.
#[derive(Debug)]
pub(super) struct Nobody {
    _socket: OwnedFd,
    port: u16,
}

impl Nobody {
    fn at(address: IpAddr) -> Result<Self, Errno> {
        let (socket, at) = bound(SocketType::STREAM, SocketAddr::new(address, 0))?;
        Ok(Self {
            _socket: socket,
            port: at.port(),
        })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }
}

/// Makes them; those for IPv6 only where there is any. With the wildcard every loopback address
/// leads to that for TCP.
pub(super) fn open(
    address: Ipv4Addr,
    datagram_network: Option<&DatagramNetwork>,
) -> Result<(Listeners, Vec<OwnedFd>), Fault> {
    let step = "listen for intercepted calls";
    let (tcp_4, at) = match listening((address, 0).into()) {
        // Nobody needs a right to bind a new socket to a device (socket(7)): a filter says no.
        Err(Errno::PERM) => return Err(Fault::supervised()),
        made => made.step(step)?,
    };
    let (udp_4, names_4) = datagrams(datagram_network, Ipv4Addr::LOCALHOST.into()).step(step)?;
    let six = listening((Ipv6Addr::LOCALHOST, 0).into()).and_then(|tcp| {
        Ok((
            tcp,
            datagrams(datagram_network, Ipv6Addr::LOCALHOST.into())?,
        ))
    });
    let nobody_4 = Nobody::at(address.into()).step(step)?;
    let nobody_6 = Nobody::at(Ipv6Addr::LOCALHOST.into()).ok();
    let mut listeners = Listeners {
        tcp_4: at.port(),
        tcp_6: None,
        names_4,
        names_6: None,
        nobody_4,
        nobody_6,
    };
    match six {
        Ok(((tcp_6, at), (udp_6, names_6))) => {
            (listeners.tcp_6, listeners.names_6) = (Some(at.port()), Some(names_6));
            Ok((listeners, vec![tcp_4, tcp_6, udp_4, udp_6]))
        }
        Err(_) => Ok((listeners, vec![tcp_4, udp_4])),
    }
}

/// A socket that datagrams of the command reach. It does not block.
pub(super) fn datagrams(
    datagram_network: Option<&DatagramNetwork>,
    address: IpAddr,
) -> Result<(OwnedFd, SocketAddr), Errno> {
    let at = SocketAddr::new(address, 0);
    let Some(datagram_network) = datagram_network else {
        return bound(SocketType::DGRAM, at);
    };
    let socket = datagram_network.bound(at)?;
    ioctl_fionbio(&socket, true)?;
    let at = SocketAddr::try_from(getsockname(&socket)?)?;
    Ok((socket, at))
}

fn listening(at: SocketAddr) -> Result<(OwnedFd, SocketAddr), Errno> {
    let (socket, at) = bound(SocketType::STREAM, at)?;
    listen(&socket, INTERCEPTED_BACKLOG)?;
    Ok((socket, at))
}

fn bound(kind: SocketType, at: SocketAddr) -> Result<(OwnedFd, SocketAddr), Errno> {
    let family = if at.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let socket = socket_with(
        family,
        kind,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )?;
    // Of other devices it shall know nothing. One of a loopback address does not, where that is
    // refused.
    let kept = bind_to_loopback(socket.as_fd());
    match kept.map_err(|error| Errno::from_raw_os_error(error.raw_os_error().unwrap_or(libc::EIO)))
    {
        Err(Errno::PERM) if at.ip().is_loopback() => {}
        kept => kept?,
    }
    bind(&socket, &at)?;
    let at = SocketAddr::try_from(getsockname(&socket)?)?;
    Ok((socket, at))
}
