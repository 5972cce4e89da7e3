//! Reaching a network, and everything that is reached by a socket.

use std::fs::OpenOptions;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;

use replay_sys::attack as sys;
use rustix::net::{
    AddressFamily, Protocol, RawProtocol, SocketType, connect, ipproto, listen, socket, sockopt,
};

use super::attempt::{Attempt, attempt};
use super::outcome::{Try, any, blocked, through};
use super::stage::Stage;

const IPPROTO_SCTP: u32 = 132;
const IPPROTO_MPTCP: u32 = 262;
const IPPROTO_UDPLITE: u32 = 136;
const SOCK_DCCP: u32 = 6;
const IPPROTO_DCCP: u32 = 33;

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt("TCP", "connect(2) to 127.0.0.1", |s| {
        TcpStream::connect((Ipv4Addr::LOCALHOST, s.tcp))?;
        through("connected")
    }),
    attempt(
        "TCP over IPv6",
        "connect(2) to ::1, and to 127.0.0.1 as an IPv6 address",
        |s| {
            let mapped = SocketAddrV6::new(Ipv4Addr::LOCALHOST.to_ipv6_mapped(), s.tcp, 0, 0);
            TcpStream::connect(mapped).or_else(|error| match s.tcp6 {
                Some(port) => TcpStream::connect((Ipv6Addr::LOCALHOST, port)),
                None => Err(error),
            })?;
            through("connected")
        },
    ),
    attempt("multipath TCP", "connect(2) of IPPROTO_MPTCP", |s| {
        connects(s, SocketType::STREAM, IPPROTO_MPTCP)
    }),
    attempt("SCTP", "connect(2) of IPPROTO_SCTP", |s| {
        connects(s, SocketType::STREAM, IPPROTO_SCTP)
    }),
    attempt("DCCP", "connect(2) of IPPROTO_DCCP", |s| {
        connects(s, SocketType::from_raw(SOCK_DCCP), IPPROTO_DCCP)
    }),
    attempt(
        "TCP Fast Open",
        "sendto(2) with MSG_FASTOPEN, which needs no connect(2)",
        |s| {
            let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
            sys::kernel::send_fast_open(socket.as_fd(), s.tcp)?;
            through("sent")
        },
    ),
    attempt(
        "TCP after disconnecting",
        "connect(2) of a socket that was listening",
        |s| {
            let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
            sockopt::set_socket_reuseaddr(&socket, true)?;
            connect(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, s.tcp))?;
            through("connected")
        },
    ),
    attempt("TCP server", "bind(2) and listen(2)", |s| {
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        outside_own_network(s)
    }),
    attempt(
        "TCP server without bind",
        "listen(2) alone, which takes a port by itself",
        |s| {
            let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
            listen(&socket, 1)?;
            outside_own_network(s)
        },
    ),
    attempt("UDP", "sendto(2) to 127.0.0.1", |s| {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.send_to(b"through", (Ipv4Addr::LOCALHOST, s.udp))?;
        // In a network of its own it goes nowhere; the second send hears of that.
        socket.connect((Ipv4Addr::LOCALHOST, s.udp))?;
        socket.send(b"through")?;
        socket.send(b"through")?;
        through("sent")
    }),
    attempt("UDP-Lite", "sendto(2) of IPPROTO_UDPLITE", |s| {
        connects(s, SocketType::DGRAM, IPPROTO_UDPLITE)
    }),
    attempt(
        "route out",
        "connect(2) of a datagram socket to an address of the Internet",
        |_| {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
            socket.connect((Ipv4Addr::new(192, 0, 2, 1), 53))?;
            through("there is a route")
        },
    ),
    attempt("route out over IPv6", "the same with IPv6", |_| {
        let socket = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0))?;
        socket.connect((Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1), 53))?;
        through("there is a route")
    }),
    attempt("raw socket", "SOCK_RAW of ICMP and of everything", |_| {
        let raw = [
            ("ICMP", ipproto::ICMP),
            ("RAW", ipproto::RAW),
            ("TCP", ipproto::TCP),
        ];
        any(
            raw.map(|(name, protocol)| (name.to_owned(), protocol)),
            |protocol| {
                socket(AddressFamily::INET, SocketType::RAW, Some(protocol))?;
                through("")
            },
        )
    }),
    attempt("ping socket", "SOCK_DGRAM of ICMP", |s| {
        socket(AddressFamily::INET, SocketType::DGRAM, Some(ipproto::ICMP))?;
        outside_own_network(s)
    }),
    attempt("packets", "AF_PACKET", |_| {
        socket(AddressFamily::from_raw(17), SocketType::RAW, None)?;
        through("")
    }),
    attempt("virtual machine sockets", "AF_VSOCK", |_| {
        socket(AddressFamily::from_raw(40), SocketType::STREAM, None)?;
        through("")
    }),
    attempt(
        "netlink about the network",
        "AF_NETLINK: routes, interfaces and sockets",
        |s| {
            any(
                [("routes", 0), ("sockets", 4)].map(|(name, protocol)| (name.to_owned(), protocol)),
                |protocol| {
                    netlink(protocol)?;
                    outside_own_network(s)
                },
            )
        },
    ),
    attempt("netlink", "AF_NETLINK of every other protocol", |_| {
        let others = (1..32).filter(|protocol| *protocol != 4);
        any(
            others.map(|protocol| (format!("protocol {protocol}"), protocol)),
            |protocol| {
                netlink(protocol)?;
                through("")
            },
        )
    }),
    attempt("cryptography sockets", "AF_ALG", |_| {
        socket(AddressFamily::from_raw(38), SocketType::SEQPACKET, None)?;
        through("")
    }),
    attempt(
        "other families",
        "socket(2) of every family but those above, of each type",
        |_| {
            const NAMED: [u16; 7] = [1, 2, 10, 16, 17, 38, 40];
            let families = (1..=50).filter(|family| !NAMED.contains(family));
            any(
                families.map(|family| (format!("family {family}"), family)),
                |family| {
                    let family = AddressFamily::from_raw(family);
                    socket(family, SocketType::STREAM, None)
                        .or_else(|_| socket(family, SocketType::DGRAM, None))
                        .or_else(|_| socket(family, SocketType::RAW, None))
                        .or_else(|_| socket(family, SocketType::SEQPACKET, None))?;
                    through("")
                },
            )
        },
    ),
    attempt("tunnel", "open(2) of /dev/net/tun", |_| {
        OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/net/tun")?;
        through("opened")
    }),
    attempt("switch an interface off", "SIOCSIFFLAGS of lo", |_| {
        let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
        // Only where it would be refused anyway: the outer half needs its own loopback.
        if rustix::thread::capabilities(None)?
            .effective
            .contains(rustix::thread::CapabilitySet::NET_ADMIN)
        {
            return through("it has the right to");
        }
        sys::kernel::switch_off(socket.as_fd(), c"lo")?;
        through("")
    }),
    #[cfg(target_arch = "x86_64")]
    attempt(
        "sockets of 32-bit programs",
        "socket(2) by int 0x80, where filters see other numbers",
        |_| {
            const I386_SOCKET: u32 = 359;
            foreign(sys::Foreign::I386(I386_SOCKET), [2, 1, 0])
        },
    ),
    #[cfg(target_arch = "x86_64")]
    attempt(
        "sockets of x32 programs",
        "socket(2) by its x32 number",
        |_| foreign(sys::Foreign::X32(41), [2, 1, 0]),
    ),
];

#[cfg(target_arch = "x86_64")]
pub(super) fn foreign(call: sys::Foreign, arguments: [u32; 3]) -> Try {
    match sys::foreign(call, arguments) {
        value @ 0.. => through(format!("answered {value}")),
        error => Err(std::io::Error::from_raw_os_error(-error as i32).into()),
    }
}

fn netlink(protocol: u32) -> rustix::io::Result<std::os::fd::OwnedFd> {
    socket(
        AddressFamily::NETLINK,
        SocketType::RAW,
        RawProtocol::new(protocol).map(Protocol::from_raw),
    )
}

fn connects(stage: &Stage, kind: SocketType, protocol: u32) -> Try {
    let socket = socket(
        AddressFamily::INET,
        kind,
        RawProtocol::new(protocol).map(Protocol::from_raw),
    )?;
    connect(
        &socket,
        &SocketAddrV4::new(
            Ipv4Addr::LOCALHOST,
            if kind == SocketType::DGRAM {
                stage.udp
            } else {
                stage.tcp
            },
        ),
    )?;
    if kind == SocketType::DGRAM {
        outside_own_network(stage)
    } else {
        through("connected")
    }
}

/// Through, unless it happened in a network of its own.
fn outside_own_network(stage: &Stage) -> Try {
    if stage.own_network() {
        blocked("in a network of its own")
    } else {
        through("")
    }
}
