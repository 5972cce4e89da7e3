//! Which ports of the loopback device are the command's own.
//!
//! A number alone would not do: it may be given to somebody else once the command has let go of it. So the socket is
//! remembered, and looked at when it matters: where it was opened or, if it is there no more (a server that became a
//! daemon), among all that the kernel has open now, which takes milliseconds.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::fs::fstat;
use rustix::net::getsockname;
use rustix::net::sockopt::socket_acceptconn;

use super::fetch::{fetch, leader};
use crate::limits::MAX_OWN_SOCKETS;

/// What a port is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Protocol {
    Tcp,
    Udp,
}

/// Who has a descriptor, and its number there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holder {
    pub(super) pid: u32,
    pub(super) number: i32,
}

/// Sockets that the command listens, or receives, with.
#[derive(Debug, Default)]
pub(super) struct Own {
    /// By port and inode number.
    noted: HashMap<(Protocol, u16), HashMap<u64, Holder>>,
    count: usize,
}

impl Own {
    /// Remembers a socket that has a port now.
    pub(super) fn note(&mut self, protocol: Protocol, socket: &OwnedFd, holder: Holder) {
        let Ok(port) = getsockname(socket).and_then(SocketAddr::try_from).map(|address| address.port()) else { return };
        let Ok(status) = fstat(socket) else { return };
        if self.noted.get(&(protocol, port)).is_some_and(|sockets| sockets.contains_key(&status.st_ino)) {
            return;
        }
        // A thread may end before its process.
        let holder = Holder { pid: leader(holder.pid).unwrap_or(holder.pid), ..holder };
        if self.count >= MAX_OWN_SOCKETS {
            // Who opens so many servers is led to none of the first ones any more.
            (self.noted, self.count) = (HashMap::new(), 0);
        }
        self.count += 1;
        self.noted.entry((protocol, port)).or_default().insert(status.st_ino, holder);
    }

    /// Whether this address of the machine itself is one of those sockets now.
    pub(super) fn holds(&mut self, protocol: Protocol, to: SocketAddr) -> bool {
        let Some(sockets) = self.noted.get(&(protocol, to.port())) else { return false };
        if sockets.iter().any(|(inode, holder)| is_open(protocol, *holder, *inode, to)) {
            return true;
        }
        let tables = match protocol {
            Protocol::Tcp => ["tcp", "tcp6"],
            Protocol::Udp => ["udp", "udp6"],
        };
        let mut open = HashMap::new();
        for table in tables {
            #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
            let text = std::fs::read_to_string(format!("/proc/self/net/{table}")).unwrap_or_default();
            let lines = text.lines().filter_map(|line| read(line, protocol));
            let noted = lines.filter(|(at, inode)| at.port() == to.port() && sockets.contains_key(inode));
            open.extend(noted.map(|(at, inode)| (inode, at)));
        }
        // Those that are gone do not come back.
        if let Some(sockets) = self.noted.get_mut(&(protocol, to.port())) {
            let before = sockets.len();
            sockets.retain(|inode, _| open.contains_key(inode));
            self.count -= before - sockets.len();
        }
        open.values().any(|at| reaches(at.ip(), to.ip()))
    }
}

/// Whether who opened this socket has it still, and receives with it what is sent there.
fn is_open(protocol: Protocol, holder: Holder, inode: u64, to: SocketAddr) -> bool {
    let Ok(socket) = fetch(holder.pid, holder.number) else { return false };
    let is_same = fstat(&socket).is_ok_and(|status| status.st_ino == inode);
    let receives = protocol == Protocol::Udp || socket_acceptconn(&socket).unwrap_or(false);
    let at = getsockname(&socket).and_then(SocketAddr::try_from);
    is_same && receives && at.is_ok_and(|at| at.port() == to.port() && reaches(at.ip(), to.ip()))
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
    use std::os::fd::AsRawFd;

    fn holder(socket: &OwnedFd) -> Holder {
        Holder { pid: std::process::id(), number: socket.as_raw_fd() }
    }

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
        own.note(Protocol::Tcp, &mine, holder(&mine));
        let second = SocketAddr::new("127.0.0.2".parse().unwrap(), at.port());
        let held = |own: &mut Own| [at, elsewhere, second].map(|at| own.holds(Protocol::Tcp, at));
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
        assert!(own.holds(Protocol::Udp, SocketAddr::new("127.0.0.9".parse().unwrap(), port)));
        assert!(!own.holds(Protocol::Udp, SocketAddr::new("::1".parse().unwrap(), port)));
    }
}
