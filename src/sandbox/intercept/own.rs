//! Which ports of the loopback device are the command's own.
//!
//! A number alone would not do: it may be given to somebody else once the command has let go of it. So the socket is
//! remembered, and looked for among those that the kernel has open now.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::fs::fstat;
use rustix::net::getsockname;

use crate::limits::MAX_OWN_SOCKETS;

/// What a port is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Protocol {
    Tcp,
    Udp,
}

/// Sockets that the command listens, or receives, with.
#[derive(Debug, Default)]
pub(super) struct Own {
    /// By port, their inode numbers.
    noted: HashMap<(Protocol, u16), HashSet<u64>>,
    count: usize,
}

impl Own {
    /// Remembers a socket that has a port now.
    pub(super) fn note(&mut self, protocol: Protocol, socket: &OwnedFd) {
        let Ok(port) = getsockname(socket).and_then(SocketAddr::try_from).map(|address| address.port()) else { return };
        let Ok(status) = fstat(socket) else { return };
        if self.count >= MAX_OWN_SOCKETS {
            // Who opens so many servers is led to none of the first ones any more.
            (self.noted, self.count) = (HashMap::new(), 0);
        }
        self.count += usize::from(self.noted.entry((protocol, port)).or_default().insert(status.st_ino));
    }

    /// Whether this address of the machine itself is one of those sockets now.
    pub(super) fn holds(&self, protocol: Protocol, to: SocketAddr) -> bool {
        let Some(inodes) = self.noted.get(&(protocol, to.port())) else { return false };
        let tables = match protocol {
            Protocol::Tcp => ["tcp", "tcp6"],
            Protocol::Udp => ["udp", "udp6"],
        };
        tables.iter().any(|table| {
            #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
            let text = std::fs::read_to_string(format!("/proc/self/net/{table}")).unwrap_or_default();
            text.lines()
                .filter_map(|line| read(line, protocol))
                .any(|(at, inode)| inodes.contains(&inode) && at.port() == to.port() && reaches(at.ip(), to.ip()))
        })
    }
}

/// Whether who receives at the first address gets what is sent to the second.
fn reaches(at: IpAddr, to: IpAddr) -> bool {
    let (at, to) = (at.to_canonical(), to.to_canonical());
    // What goes to nobody's address goes to the loopback one. IPv6's nobody takes IPv4, too.
    at == to || (to.is_unspecified() && at.is_loopback()) || (at.is_unspecified() && (at.is_ipv6() || to.is_ipv4()))
}

/// The address and the inode number of a line of `/proc/net/tcp` and its like (proc(5)), of TCP only of those that listen.
fn read(line: &str, protocol: Protocol) -> Option<(SocketAddr, u64)> {
    const LISTENS: &str = "0A";
    let mut fields = line.split_ascii_whitespace();
    let (address, state) = (fields.nth(1)?, fields.nth(1)?);
    if protocol == Protocol::Tcp && state != LISTENS {
        return None;
    }
    let inode = fields.nth(5)?.parse().ok()?;
    let (ip, port) = address.split_once(':')?;
    // Words of the machine's own order, in hexadecimal.
    let word = |at: usize| Some(u32::from_str_radix(ip.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    let ip = match ip.len() {
        8 => Ipv4Addr::from(word(0)?).into(),
        32 => {
            let mut octets = [0; 16];
            for (octets, at) in octets.chunks_mut(4).zip([0, 8, 16, 24]) {
                octets.copy_from_slice(&word(at)?);
            }
            Ipv6Addr::from(octets).into()
        }
        _ => return None,
    };
    Some((SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?), inode))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::net::{TcpListener, UdpSocket};

    #[test]
    fn lines_of_the_kernel_are_read() {
        let tcp =
            "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 12345 1 x";
        assert_eq!(read(tcp, Protocol::Tcp), Some(("127.0.0.1:8080".parse().unwrap(), 12345)));
        assert_eq!(read(&tcp.replace(" 0A ", " 01 "), Protocol::Tcp), None);
        assert_eq!(read(&tcp.replace(" 0A ", " 07 "), Protocol::Udp), read(tcp, Protocol::Tcp));
        let six = tcp.replace("0100007F", "00000000000000000000000001000000");
        assert_eq!(read(&six, Protocol::Tcp), Some(("[::1]:8080".parse().unwrap(), 12345)));
        for bad in ["", "  sl  local_address rem_address   st", "0: 01007F:1F90 0 0A 0 0 0 0 0 1", "0: zz:zz 0 0A"] {
            assert_eq!(read(bad, Protocol::Tcp), None, "{bad}");
        }
    }

    #[test]
    fn a_port_is_own_as_long_as_its_socket_is_open() {
        let mut own = Own::default();
        let (mine, other) = (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
        let (at, elsewhere) = (mine.local_addr().unwrap(), other.local_addr().unwrap());
        let mine = OwnedFd::from(mine);
        own.note(Protocol::Tcp, &mine);
        let second = SocketAddr::new("127.0.0.2".parse().unwrap(), at.port());
        let held = |own: &Own| [at, elsewhere, second].map(|at| own.holds(Protocol::Tcp, at));
        assert_eq!(held(&own), [true, false, false]);
        assert!(!own.holds(Protocol::Udp, at));
        drop(mine);
        // Somebody else has the port now.
        let _next = TcpListener::bind(at);
        assert_eq!(held(&own), [false, false, false]);

        let everywhere = UdpSocket::bind("0.0.0.0:0").unwrap();
        let port = everywhere.local_addr().unwrap().port();
        own.note(Protocol::Udp, &OwnedFd::from(everywhere.try_clone().unwrap()));
        assert!(own.holds(Protocol::Udp, SocketAddr::new("127.0.0.9".parse().unwrap(), port)));
        assert!(!own.holds(Protocol::Udp, SocketAddr::new("::1".parse().unwrap(), port)));
    }
}
