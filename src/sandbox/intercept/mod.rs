//! Interception of the calls that a command makes over the network.
//!
//! The filter hands calls that name an address to the command's supervisor. The supervisor makes
//! each call itself, with its own copies of the address and of the descriptor. TCP connections go
//! to the server's listening socket, whatever their destination. Name queries go to the server's
//! socket for names. The destination is encoded in the loopback address of the connection
//! (`127.64.0.0/10`), which the supervisor has announced to the server. Connections of the command
//! to its own servers are let through. Other datagrams go to a socket that the server has for their
//! destination (`relays.rs`). Without the server's consent they fail as if there were no route, so
//! that programs fall back to TCP.
//!
//! A connection waits for the decision of the server, which calls the real server meanwhile. If all
//! connections are allowed, one to a server on this machine is made at once ([`Dial::Ahead`]). A
//! refused connection is led to an address without a listener, so that the kernel refuses it in its
//! own way. A nonblocking socket is held only briefly. Without a decision by then, its connection
//! stays in progress (`half_open.rs`).
//!
//! Measures against a command that evades the interception:
//! - Its datagram sockets, and those that answer name queries, belong to a network namespace with
//!   only a loopback device, if one can be made (`datagram_network.rs`).
//! - If its network is not isolated, or descriptors cannot be fetched, the supervisor makes its IP
//!   sockets and binds them to the loopback device. TCP sockets are exempt if the command's servers
//!   must be reachable (`Rules::open`).
//! - The filter refuses to bind a socket to a device. It also refuses options by which the kernel
//!   sends to another address than the checked one: source routes, routing headers, memberships.
//! - The supervisor sends in the command's place, for all socket families. Control data can name a
//!   device, which overrides the device of the socket. The supervisor reads the command's memory
//!   once.
//! - The kernel continues calls that connect or bind sockets of other families. Another thread can
//!   swap in an IP socket meanwhile. Landlock refuses its TCP connections; its UDP datagrams stay
//!   in their own namespace. Without that namespace such a race can send datagrams from the
//!   machine. If the command has no network, no call is continued (`Rules::strict`).
//! - When the supervisor ends, all pending calls fail.
//!
//! Descriptors of the command are fetched (`pidfd_getfd(2)`). If that is refused, they are found
//! among the sockets that were made here (`socket_table.rs`). That table has no sockets that the
//! command accepted, and none of other families. The kernel continues messages over them, which
//! allows the race above, or they are refused (`Rules::strict`).

mod address;
mod answer;
pub mod call;
mod channel;
mod connections;
mod datagram_network;
mod datagrams;
mod descriptor;
mod destinations;
mod half_open;
mod listeners;
mod messages;
mod msghdr;
mod own_ports;
mod pending;
mod processes;
mod proxy_socket;
mod relays;
mod socket_table;
mod transfer;

use std::collections::HashMap;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use replay_sys::seccomp::{Notification, answer_with, let_go_on, respond, still_valid};
use replay_sys::sockets::bind_to_loopback;
use rustix::event::{Timespec, epoll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, socket_with};
use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};

use super::caller::CallerMemory;
use super::fault::{Fault, StepContext};
use super::wire::Dial;
use address::read_from;
pub use address::{
    AddressArgument, MAX_ADDRESS_BYTES, read as read_address, write as write_address,
};
use answer::{CallAnswer, Deed, Halt, Pending, errno_of};
use call::Network;
use channel::Channel;
pub use datagram_network::DatagramNetwork;
pub use descriptor::can_fetch;
pub(super) use descriptor::{CallerDescriptor, LastCaller};
use destinations::Destinations;
use half_open::HalfOpen;
use listeners::Listeners;
pub use messages::{
    Caller, Counts, Datagrams, Flow, Mark, ProgramName, SupervisorMessage, SupervisorRequest,
};
use own_ports::{Holder, OwnPorts};
use processes::LastName;
pub use proxy_socket::ProxySocket;
use relays::Relays;
use socket_table::{Lookup, SocketTable};
use transfer::ReceiveBuffer;

/// Tokens of what is waited for; the others are calls.
const CHANNEL: u64 = channel::TOKEN;
const PATIENCE: u64 = 2;

/// Settings of an interception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The kernel goes on with no call that could connect or send: the loopback device is shared
    /// with other programs, and the command has no network.
    pub strict: bool,
    /// Sockets of other families are connected elsewhere ([`super::unix_sockets`]).
    pub ip_only: bool,
    /// Sockets of TCP are not bound to the loopback device, so that others reach the command's
    /// servers.
    pub open: bool,
    pub dial: Dial,
}

/// Serves the calls of one command.
#[derive(Debug)]
pub struct Interceptor {
    /// Everything that it waits for.
    epoll: OwnedFd,
    channel: Channel,
    rules: Rules,
    /// Network namespace of its datagram sockets, if not its own.
    datagram_network: Option<DatagramNetwork>,
    listeners: Listeners,
    destinations: Destinations,
    relays: Relays,
    own: OwnPorts,
    last_caller: LastCaller,
    last_name: LastName,
    /// Present if descriptors cannot be fetched.
    table: Option<SocketTable>,
    waiting: HashMap<u64, Pending>,
    /// Waiting connections that the server decides about.
    undecided: HashMap<Mark, u64>,
    /// Half-open connections, if they are supported.
    half_open: Option<HalfOpen>,
    /// Timer that ends the hold time of the first nonblocking call.
    patience: OwnedFd,
    /// `true` if the timer is set.
    is_timed: bool,
    last_token: u64,
    counts: Counts,
}

impl Interceptor {
    /// Makes the sockets that everything is led to and hands them to the server at the other end of
    /// `channel`. They belong to the network of this process, which has to be the command's.
    pub fn begin(
        channel: OwnedFd,
        rules: Rules,
        datagram_network: Option<DatagramNetwork>,
    ) -> Result<Self, Fault> {
        let step = "intercept calls";
        let datagram_network = datagram_network.filter(DatagramNetwork::stands);
        let (listeners, sockets) =
            listeners::open(Ipv4Addr::UNSPECIFIED, datagram_network.as_ref())?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).step(step)?;
        let channel = Channel::new(channel, &epoll).step(step)?;
        let patience = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
        )
        .step(step)?;
        epoll::add(
            &epoll,
            &patience,
            epoll::EventData::new_u64(PATIENCE),
            epoll::EventFlags::IN,
        )
        .step(step)?;
        let sockets: Vec<BorrowedFd<'_>> = sockets.iter().map(AsFd::as_fd).collect();
        channel
            .send(
                &SupervisorMessage::Ready {
                    version_6: listeners.tcp_6.is_some(),
                },
                &sockets,
            )
            .step(step)?;
        Ok(Self {
            epoll,
            channel,
            rules,
            datagram_network,
            listeners,
            destinations: Destinations::new().step(step)?,
            relays: Relays::default(),
            own: OwnPorts::default(),
            last_caller: LastCaller::default(),
            last_name: LastName::default(),
            table: SocketTable::if_needed(rules.strict),
            waiting: HashMap::new(),
            undecided: HashMap::new(),
            half_open: HalfOpen::new().ok(),
            patience,
            is_timed: false,
            last_token: PATIENCE,
            counts: Counts::default(),
        })
    }

    /// The port on 127.0.0.1 at which the server receives connections.
    pub fn port(&self) -> u16 {
        self.listeners.tcp_4
    }

    /// Does what is due but to take up new calls. Does not block.
    pub(super) fn serve(&mut self, listener: &OwnedFd) -> io::Result<()> {
        let mut events = Vec::with_capacity(64);
        match epoll::wait(
            &self.epoll,
            rustix::buffer::spare_capacity(&mut events),
            Some(&Timespec::default()),
        ) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        for event in events {
            match event.data.u64() {
                PATIENCE => {
                    self.look(listener);
                    self.set_patience()?;
                }
                CHANNEL => {
                    self.hear(listener)?;
                    if self.channel.is_gone() {
                        for mark in self.undecided.keys().copied().collect::<Vec<_>>() {
                            self.decide(listener, mark, Some(Errno::NETUNREACH.raw_os_error()))?;
                        }
                        for relay in self.relays.undecided() {
                            self.decide_relay(listener, relay, false)?;
                        }
                    }
                    self.channel.flush(&self.epoll);
                }
                token => self.go_on(listener, token)?,
            }
        }
        Ok(())
    }

    /// Returns true if [`Interceptor::look`] must be called periodically.
    pub(super) fn has_to_look(&self) -> bool {
        let keeps = self.table.as_ref().is_some_and(|table| !table.is_empty());
        keeps || !self.waiting.is_empty() || self.channel.owes(&self.counts)
    }

    /// Gives up calls whose time is over or whose callers are gone, and tells the server how much
    /// there has been.
    pub(super) fn look(&mut self, listener: &OwnedFd) {
        let now = Instant::now();
        let over = self.waiting.iter().filter(|(_, waiting)| {
            waiting.until.is_some_and(|until| until <= now)
                || !still_valid(listener, waiting.asked.id)
        });
        for token in over.map(|(token, _)| *token).collect::<Vec<_>>() {
            let Some(waiting) = self.forget(token) else {
                continue;
            };
            let errno = match waiting.deed {
                // Its event loop has waited long enough; what comes of the connection it learns
                // later.
                Deed::Ask {
                    via,
                    does_not_wait: true,
                    mark,
                } if still_valid(listener, waiting.asked.id) => {
                    let answer = self.leave_on_its_way(waiting.socket, via, mark);
                    let _ = self.give(listener, waiting.asked, answer);
                    continue;
                }
                Deed::Ask { mark, .. } => {
                    self.destinations.forget(&waiting.socket);
                    self.given_up(mark);
                    Errno::TIMEDOUT
                }
                // A caller that does not wait for a route can try again later.
                Deed::Begin {
                    call: Network::Connect { .. },
                    ..
                } => Errno::NETUNREACH,
                _ => Errno::AGAIN,
            };
            let _ = respond(listener, waiting.asked.id, Err(errno.raw_os_error()));
        }
        if let Some(table) = &mut self.table {
            table.tidy(&self.destinations);
        }
        self.channel.count(self.counts);
    }

    /// The command is over: the last words to the server.
    pub(super) fn end(&mut self) {
        self.channel.count(self.counts);
    }

    /// Answers one call, or keeps it until there is an answer.
    pub(super) fn take(
        &mut self,
        listener: &OwnedFd,
        asked: Notification,
        call: Network,
    ) -> io::Result<()> {
        let answer = match self.judge(listener, &asked, call) {
            Err(Halt::Undecided(socket, relay)) => {
                Ok(CallAnswer::Later(socket, Deed::Begin { call, relay }))
            }
            Err(Halt::Errno(errno)) => Err(errno),
            Ok(answer) => Ok(answer),
        };
        self.give(listener, asked, answer)
    }

    fn judge(
        &mut self,
        listener: &OwnedFd,
        asked: &Notification,
        call: Network,
    ) -> Result<CallAnswer, Halt> {
        // Data read by the number of a thread belong to the caller only if it still waits.
        let mine = || {
            if still_valid(listener, asked.id) {
                Ok(())
            } else {
                Err(Errno::SRCH)
            }
        };
        let memory = CallerMemory::of(asked.pid);
        let Some(number) = call.socket() else {
            return match call {
                Network::Socket {
                    family,
                    kind,
                    protocol,
                } => Ok(self.socket(family, kind, protocol)?),
                _ => Err(Errno::NOSYS.into()),
            };
        };
        let holder = Holder {
            pid: asked.pid,
            number,
        };
        let socket = match &mut self.table {
            Some(table) => match table.find(holder) {
                Ok(Lookup::Elsewhere(inode)) => return Ok(table.judge(inode, memory, call, mine)?),
                Ok(Lookup::Open(socket)) => Ok(socket),
                Err(errno) => Err(errno),
            },
            None => self.last_caller.fetch(holder.pid, holder.number),
        };
        match call {
            Network::Socket { .. } => Err(Errno::NOSYS.into()),
            Network::Connect { to, .. } => {
                let to = read_from(memory, to);
                mine()?;
                self.connect(socket?, holder, to)
            }
            Network::Bind { to, .. } => {
                let to = read_from(memory, to);
                mine()?;
                Ok(self.bind(&*socket?, holder, to)?)
            }
            Network::Listen { backlog, .. } => {
                mine()?;
                Ok(self.listen(&*socket?, holder, backlog)?)
            }
            Network::PeerName { room, .. } => {
                mine()?;
                Ok(self.peer_name(&*socket?, memory, room)?)
            }
            Network::SendTo {
                data, flags, to, ..
            } => {
                let socket = socket?;
                let outgoing = self.outgoing_to(&socket, memory, asked.pid, data, to);
                mine()?;
                Ok(self.send(socket, holder, outgoing?, flags)?)
            }
            Network::SendMessage { header, flags, .. } => {
                let socket = socket?;
                let outgoing = self.outgoing_of(&socket, memory, asked.pid, header);
                mine()?;
                Ok(self.send(socket, holder, outgoing?, flags)?)
            }
            Network::SendMessages {
                headers,
                count,
                flags,
                ..
            } => {
                mine()?;
                self.send_all(&*socket?, asked, headers, count, flags, mine)
            }
            Network::ReceiveFrom {
                into, flags, from, ..
            } => {
                mine()?;
                Ok(self.receive(socket, memory, flags, ReceiveBuffer::Plain(into, from))?)
            }
            Network::ReceiveMessage { header, flags, .. } => {
                mine()?;
                Ok(self.receive(socket, memory, flags, ReceiveBuffer::Message(header))?)
            }
            Network::ReceiveMessages {
                headers,
                count,
                flags,
                ..
            } => {
                mine()?;
                // As many as there are now is one, and the caller asks again.
                if count == 0 {
                    Ok(CallAnswer::GoOn)
                } else {
                    Ok(self.receive(socket, memory, flags, ReceiveBuffer::First(headers))?)
                }
            }
        }
    }

    /// Makes a socket in the caller's place.
    fn socket(&mut self, family: i32, kind: i32, protocol: i32) -> Result<CallAnswer, Errno> {
        let family = match family {
            libc::AF_INET => AddressFamily::INET,
            libc::AF_INET6 => AddressFamily::INET6,
            _ => return Err(Errno::AFNOSUPPORT),
        };
        let protocol = std::num::NonZeroU32::new(protocol.cast_unsigned()).map(Protocol::from_raw);
        let flags = SocketFlags::from_bits_retain(kind.cast_unsigned() & !SOCKET_TYPE);
        let kind = SocketType::from_raw(kind.cast_unsigned() & SOCKET_TYPE);
        if flags.bits() & !(SocketFlags::NONBLOCK | SocketFlags::CLOEXEC).bits() != 0
            || !matches!(kind, SocketType::STREAM | SocketType::DGRAM)
        {
            return Err(Errno::INVAL);
        }
        self.table.as_mut().map_or(Ok(()), SocketTable::make_room)?;
        let socket = match &self.datagram_network {
            Some(datagram_network)
                if kind == SocketType::DGRAM && protocol != Some(rustix::net::ipproto::TCP) =>
            {
                let socket = datagram_network.socket(family == AddressFamily::INET6)?;
                ioctl_fionbio(&socket, flags.contains(SocketFlags::NONBLOCK))?;
                socket
            }
            _ => socket_with(family, kind, flags | SocketFlags::CLOEXEC, protocol)?,
        };
        // Datagrams from other hosts to this socket could not be answered: answers to them are
        // refused.
        if !self.rules.open || kind == SocketType::DGRAM {
            bind_to_loopback(socket.as_fd()).map_err(|error| errno_of(&error))?;
        }
        Ok(CallAnswer::Socket(
            socket,
            flags.contains(SocketFlags::CLOEXEC),
        ))
    }

    fn give(
        &mut self,
        listener: &OwnedFd,
        asked: Notification,
        answer: Result<CallAnswer, Errno>,
    ) -> io::Result<()> {
        let given = match answer {
            Ok(CallAnswer::Value(value)) => respond(listener, asked.id, Ok(value)),
            Ok(CallAnswer::GoOn) => let_go_on(listener, asked.id),
            Ok(CallAnswer::Socket(socket, close)) => {
                match answer_with(listener, asked.id, socket.as_fd(), close) {
                    // The caller has no room for one more.
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        respond(listener, asked.id, Err(errno_of(&error).raw_os_error()))
                    }
                    Ok(number) => {
                        if let Some(table) = &mut self.table {
                            table.hold(
                                socket.into(),
                                Holder {
                                    pid: asked.pid,
                                    number,
                                },
                            );
                        }
                        Ok(())
                    }
                    Err(gone) => Err(gone),
                }
            }
            Ok(CallAnswer::Later(socket, deed)) => match self.wait(asked, socket, deed) {
                Ok(()) => return Ok(()),
                Err(errno) => respond(listener, asked.id, Err(errno.raw_os_error())),
            },
            Err(errno) => respond(listener, asked.id, Err(errno.raw_os_error())),
        };
        match given {
            // Given up meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }
}

impl AsFd for Interceptor {
    /// Readable when there is something to serve beside the listener's calls.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

/// The part of a socket's type that is no flag (`SOCK_TYPE_MASK` of `linux/net.h`).
const SOCKET_TYPE: u32 = 0xf;
