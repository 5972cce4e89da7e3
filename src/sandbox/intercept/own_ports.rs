//! Loopback ports that belong to the command.
//!
//! A port number alone is not enough: after the command has closed the port, another program may
//! get it. So the socket is recorded, and checked on use at its original descriptor. If it is no
//! longer there (a server that became a daemon), all sockets of the kernel are searched, which
//! takes milliseconds.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::fs::fstat;
use rustix::net::getsockname;
use rustix::net::sockopt::{ipv6_v6only, socket_acceptconn, socket_reuseaddr, socket_reuseport};

use super::descriptor::{fetch, leader};

/// Sockets of an intercepted command that are known as its own servers.
const MAX_OWN_SOCKETS: usize = 16_384;

/// Protocol of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Protocol {
    Tcp,
    Udp,
}

/// A process with a descriptor, and the number of that descriptor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holder {
    pub(super) pid: u32,
    pub(super) number: i32,
}

/// A socket when it was noted.
#[derive(Clone, Copy, Debug)]
struct Noted {
    holder: Holder,
    /// Its wildcard takes no IPv4 (`IPV6_V6ONLY`, ipv6(7)), which cannot be changed any more.
    six_only: bool,
    /// Others may have the same port, and the kernel chooses among them.
    is_shared: bool,
}

/// Sockets that the command listens, or receives, with.
#[derive(Debug, Default)]
pub(super) struct OwnPorts {
    /// By port and inode number.
    noted: HashMap<(Protocol, u16), HashMap<u64, Noted>>,
    count: usize,
}

impl OwnPorts {
    /// Remembers a socket that has a port now.
    pub(super) fn note(&mut self, protocol: Protocol, socket: &OwnedFd, holder: Holder) {
        let Ok(port) = getsockname(socket)
            .and_then(SocketAddr::try_from)
            .map(|address| address.port())
        else {
            return;
        };
        let Ok(status) = fstat(socket) else { return };
        if self
            .noted
            .get(&(protocol, port))
            .is_some_and(|sockets| sockets.contains_key(&status.st_ino))
        {
            return;
        }
        // A thread may end before its process.
        let holder = Holder {
            pid: leader(holder.pid).unwrap_or(holder.pid),
            ..holder
        };
        if self.count >= MAX_OWN_SOCKETS {
            // A command that opens too many servers loses direct access to its first ones.
            (self.noted, self.count) = (HashMap::new(), 0);
        }
        self.count += 1;
        let six_only = ipv6_v6only(socket).unwrap_or(false);
        let noted = Noted {
            holder,
            six_only,
            is_shared: is_shared(protocol, socket),
        };
        self.noted
            .entry((protocol, port))
            .or_default()
            .insert(status.st_ino, noted);
    }

    /// Returns true if this loopback address belongs to one of the noted sockets, and to no other.
    pub(super) fn holds(&mut self, protocol: Protocol, to: SocketAddr) -> bool {
        let Some(sockets) = self.noted.get_mut(&(protocol, to.port())) else {
            return false;
        };
        if sockets
            .iter()
            .any(|(inode, noted)| noted.has_alone(protocol, *inode, to))
        {
            return true;
        }
        let open = open_at(protocol, to.port());
        // Those that are gone do not come back.
        let before = sockets.len();
        sockets.retain(|inode, _| open.contains_key(inode));
        self.count -= before - sockets.len();
        let six_only = |inode| sockets.get(inode).is_some_and(|noted| noted.six_only);
        let mut receive = open
            .iter()
            .filter(|(inode, at)| reaches(at.ip(), six_only(inode), to.ip()))
            .peekable();
        receive.peek().is_some() && receive.all(|(inode, _)| sockets.contains_key(inode))
    }
}

impl Noted {
    /// Returns true if the process that opened this socket still has it and alone receives there.
    fn has_alone(&self, protocol: Protocol, inode: u64, to: SocketAddr) -> bool {
        let Ok(socket) = fetch(self.holder.pid, self.holder.number) else {
            return false;
        };
        let is_same = fstat(&socket).is_ok_and(|status| status.st_ino == inode);
        let receives = protocol == Protocol::Udp || socket_acceptconn(&socket).unwrap_or(false);
        let at = getsockname(&socket).and_then(SocketAddr::try_from);
        let reaches =
            |at: SocketAddr| at.port() == to.port() && reaches(at.ip(), self.six_only, to.ip());
        is_same
            && receives
            && at.is_ok_and(reaches)
            && !self.is_shared
            && !is_shared(protocol, &socket)
    }
}

/// Returns true if other sockets may share the port: with `SO_REUSEPORT` (socket(7)) or, for UDP,
/// `SO_REUSEADDR`.
fn is_shared(protocol: Protocol, socket: &OwnedFd) -> bool {
    let by_address = protocol == Protocol::Udp && socket_reuseaddr(socket).unwrap_or(true);
    by_address || socket_reuseport(socket).unwrap_or(true)
}

/// The sockets of the machine that receive at this port, by their inode numbers.
fn open_at(protocol: Protocol, port: u16) -> HashMap<u64, SocketAddr> {
    let tables = match protocol {
        Protocol::Tcp => ["tcp", "tcp6"],
        Protocol::Udp => ["udp", "udp6"],
    };
    let mut open = HashMap::new();
    for table in tables {
        #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
        let text = std::fs::read_to_string(format!("/proc/self/net/{table}")).unwrap_or_default();
        let lines = text
            .lines()
            .filter_map(|line| read(line, protocol))
            .filter(|(at, _)| at.port() == port);
        open.extend(lines.map(|(at, inode)| (inode, at)));
    }
    open
}

/// Returns true if a socket bound to `at` receives traffic for `to`. The IPv6 wildcard includes
/// IPv4, unless `six_only`.
fn reaches(at: IpAddr, six_only: bool, to: IpAddr) -> bool {
    let (at, to) = (at.to_canonical(), to.to_canonical());
    at == to
        || (at.is_unspecified() && (at.is_ipv6() == to.is_ipv6() || (at.is_ipv6() && !six_only)))
}

/// The address and the inode number of a line of `/proc/net/tcp` and its like (proc(5)), of TCP
/// only of those that listen.
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
    let word = |at: usize| {
        Some(
            u32::from_str_radix(ip.get(at..at + 8)?, 16)
                .ok()?
                .to_ne_bytes(),
        )
    };
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
    Some((
        SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?),
        inode,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::net::{TcpListener, UdpSocket};
    use std::os::fd::AsRawFd;

    use rustix::net::sockopt::set_socket_reuseport;
    use rustix::net::{AddressFamily, SocketType, bind, socket};

    fn holder(socket: &OwnedFd) -> Holder {
        Holder {
            pid: std::process::id(),
            number: socket.as_raw_fd(),
        }
    }

    #[test]
    fn lines_of_the_kernel_are_read() {
        let tcp = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 12345 1 x";
        assert_eq!(
            read(tcp, Protocol::Tcp),
            Some(("127.0.0.1:8080".parse().unwrap(), 12345))
        );
        assert_eq!(read(&tcp.replace(" 0A ", " 01 "), Protocol::Tcp), None);
        assert_eq!(
            read(&tcp.replace(" 0A ", " 07 "), Protocol::Udp),
            read(tcp, Protocol::Tcp)
        );
        let six = tcp.replace("0100007F", "00000000000000000000000001000000");
        assert_eq!(
            read(&six, Protocol::Tcp),
            Some(("[::1]:8080".parse().unwrap(), 12345))
        );
        for bad in [
            "",
            "  sl  local_address rem_address   st",
            "0: 01007F:1F90 0 0A 0 0 0 0 0 1",
            "0: zz:zz 0 0A",
        ] {
            assert_eq!(read(bad, Protocol::Tcp), None, "{bad}");
        }
    }

    #[test]
    fn a_port_is_own_as_long_as_its_socket_is_open() {
        let mut own = OwnPorts::default();
        let (mine, other) = (
            TcpListener::bind("127.0.0.1:0").unwrap(),
            TcpListener::bind("127.0.0.1:0").unwrap(),
        );
        let (at, elsewhere) = (mine.local_addr().unwrap(), other.local_addr().unwrap());
        let mine = OwnedFd::from(mine);
        own.note(Protocol::Tcp, &mine, holder(&mine));
        let second = SocketAddr::new("127.0.0.2".parse().unwrap(), at.port());
        let held =
            |own: &mut OwnPorts| [at, elsewhere, second].map(|at| own.holds(Protocol::Tcp, at));
        assert_eq!(held(&mut own), [true, false, false]);
        assert!(!own.holds(Protocol::Udp, at));
        // Under another number it is found all the same.
        let moved = mine.try_clone().unwrap();
        drop(mine);
        assert_eq!(held(&mut own), [true, false, false]);
        drop(moved);
        // Somebody else has the port now.
        let _next = TcpListener::bind(at);
        assert_eq!(held(&mut own), [false, false, false]);
        assert_eq!(own.count, 0);

        let everywhere = UdpSocket::bind("0.0.0.0:0").unwrap();
        let port = everywhere.local_addr().unwrap().port();
        let everywhere = OwnedFd::from(everywhere);
        own.note(Protocol::Udp, &everywhere, holder(&everywhere));
        assert!(own.holds(
            Protocol::Udp,
            SocketAddr::new("127.0.0.9".parse().unwrap(), port)
        ));
        assert!(!own.holds(Protocol::Udp, SocketAddr::new("::1".parse().unwrap(), port)));
    }

    #[test]
    fn a_port_that_is_shared_with_somebody_else_is_not_own() {
        let bound = |at: SocketAddr| {
            let socket = socket(AddressFamily::INET, SocketType::DGRAM, None).unwrap();
            set_socket_reuseport(&socket, true).unwrap();
            bind(&socket, &at).unwrap();
            socket
        };
        let mine = bound("0.0.0.0:0".parse().unwrap());
        let port = SocketAddr::try_from(getsockname(&mine).unwrap())
            .unwrap()
            .port();
        let at = |ip: &str| SocketAddr::new(ip.parse().unwrap(), port);
        let mut own = OwnPorts::default();
        own.note(Protocol::Udp, &mine, holder(&mine));
        assert!(own.holds(Protocol::Udp, at("127.0.0.1")));
        let other = bound(at("127.0.0.1"));
        assert_eq!(
            ["127.0.0.1", "127.0.0.2"].map(|ip| own.holds(Protocol::Udp, at(ip))),
            [false, true]
        );
        own.note(Protocol::Udp, &other, holder(&other));
        assert!(own.holds(Protocol::Udp, at("127.0.0.1")));
    }

    #[test]
    fn ipv6_wildcard_reaches_ipv4_unless_v6only() {
        let reach = |at: &str, six_only, to: &str| {
            reaches(at.parse().unwrap(), six_only, to.parse().unwrap())
        };
        assert_eq!(
            [false, true].map(|only| reach("::", only, "127.0.0.1")),
            [true, false]
        );
        assert_eq!(
            [false, true].map(|only| reach("::", only, "::1")),
            [true, true]
        );
        assert_eq!(
            ["127.0.0.1", "::1"].map(|to| reach("0.0.0.0", false, to)),
            [true, false]
        );
        assert_eq!(
            ["127.0.0.1", "127.0.0.2", "::1"].map(|to| reach("127.0.0.1", false, to)),
            [true, false, false]
        );
    }
}
