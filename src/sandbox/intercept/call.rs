//! Decodes socket system calls from their number and arguments alone.

use libc::c_long;

/// A range of the caller's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub address: u64,
    /// Length in bytes.
    pub length: u64,
}

/// A buffer for a socket address in the caller's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Address of the buffer.
    pub address: u64,
    /// Address of the length: the size of the buffer on entry, that of the socket address on
    /// return.
    pub length: u64,
}

/// A call that the filter leaves to the supervisor. Addresses are of the caller's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// socket(2).
    Socket {
        family: i32,
        /// Type, and flags for the descriptor.
        kind: i32,
        protocol: i32,
    },
    /// connect(2).
    Connect { socket: i32, to: Span },
    /// bind(2).
    Bind { socket: i32, to: Span },
    /// listen(2).
    Listen {
        socket: i32,
        /// Connections that may wait.
        backlog: i32,
    },
    /// getpeername(2).
    PeerName {
        socket: i32,
        /// Buffer for the name.
        room: Room,
    },
    /// sendto(2).
    SendTo {
        socket: i32,
        data: Span,
        /// `MSG_*`.
        flags: u32,
        to: Span,
    },
    /// sendmsg(2).
    SendMessage {
        socket: i32,
        /// Address of the header.
        header: u64,
        /// `MSG_*`.
        flags: u32,
    },
    /// sendmmsg(2).
    SendMessages {
        socket: i32,
        /// Address of the headers.
        headers: u64,
        /// Number of headers.
        count: u32,
        /// `MSG_*`.
        flags: u32,
    },
    /// recvfrom(2).
    ReceiveFrom {
        socket: i32,
        /// Buffer for the data.
        into: Span,
        /// `MSG_*`.
        flags: u32,
        /// Buffer for the sender's address.
        from: Room,
    },
    /// recvmsg(2).
    ReceiveMessage {
        socket: i32,
        /// Address of the header.
        header: u64,
        /// `MSG_*`.
        flags: u32,
    },
    /// recvmmsg(2).
    ReceiveMessages {
        socket: i32,
        /// Address of the headers.
        headers: u64,
        /// Number of headers.
        count: u32,
        /// `MSG_*`.
        flags: u32,
    },
}

impl Network {
    /// Returns the caller's descriptor, or `None` for socket(2).
    pub fn socket(self) -> Option<i32> {
        match self {
            Self::Socket { .. } => None,
            Self::Connect { socket, .. }
            | Self::Bind { socket, .. }
            | Self::Listen { socket, .. }
            | Self::PeerName { socket, .. }
            | Self::SendTo { socket, .. }
            | Self::SendMessage { socket, .. }
            | Self::SendMessages { socket, .. }
            | Self::ReceiveFrom { socket, .. }
            | Self::ReceiveMessage { socket, .. }
            | Self::ReceiveMessages { socket, .. } => Some(socket),
        }
    }

    /// Returns the message flags (`MSG_*`), or 0 if the call has none.
    pub fn flags(self) -> u32 {
        match self {
            Self::Socket { .. }
            | Self::Connect { .. }
            | Self::Bind { .. }
            | Self::Listen { .. }
            | Self::PeerName { .. } => 0,
            Self::SendTo { flags, .. }
            | Self::SendMessage { flags, .. }
            | Self::SendMessages { flags, .. }
            | Self::ReceiveFrom { flags, .. }
            | Self::ReceiveMessage { flags, .. }
            | Self::ReceiveMessages { flags, .. } => flags,
        }
    }
}

/// Decodes a call; the arguments are in the order of its manual page. Returns `None` if the filter
/// does not leave the call to the supervisor.
pub fn decode(nr: i32, args: &[u64; 6]) -> Option<Network> {
    let [first, second, third, fourth, fifth, sixth] = *args;
    let socket = first as i32;
    // Lengths of addresses are `int` to the kernel.
    let address = |address, length: u64| Span {
        address,
        length: u64::from(length as u32),
    };
    Some(match c_long::from(nr) {
        libc::SYS_socket => Network::Socket {
            family: socket,
            kind: second as i32,
            protocol: third as i32,
        },
        libc::SYS_connect => Network::Connect {
            socket,
            to: address(second, third),
        },
        libc::SYS_bind => Network::Bind {
            socket,
            to: address(second, third),
        },
        libc::SYS_listen => Network::Listen {
            socket,
            backlog: second as i32,
        },
        libc::SYS_getpeername => Network::PeerName {
            socket,
            room: Room {
                address: second,
                length: third,
            },
        },
        libc::SYS_sendto => Network::SendTo {
            socket,
            data: Span {
                address: second,
                length: third,
            },
            flags: fourth as u32,
            to: address(fifth, sixth),
        },
        libc::SYS_sendmsg => Network::SendMessage {
            socket,
            header: second,
            flags: third as u32,
        },
        libc::SYS_sendmmsg => Network::SendMessages {
            socket,
            headers: second,
            count: third as u32,
            flags: fourth as u32,
        },
        libc::SYS_recvfrom => Network::ReceiveFrom {
            socket,
            into: Span {
                address: second,
                length: third,
            },
            flags: fourth as u32,
            from: Room {
                address: fifth,
                length: sixth,
            },
        },
        libc::SYS_recvmsg => Network::ReceiveMessage {
            socket,
            header: second,
            flags: third as u32,
        },
        libc::SYS_recvmmsg => Network::ReceiveMessages {
            socket,
            headers: second,
            count: third as u32,
            flags: fourth as u32,
        },
        _ => return None,
    })
}
