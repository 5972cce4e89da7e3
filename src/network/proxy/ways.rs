//! The ways out of one command: what its interception hands over, who decides about it, and who
//! makes its connections.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;

use replay_sandbox::addresses;
use replay_sandbox::exec::{Counts, Flow, Interception, Mark};
use replay_sandbox::intercept::Datagrams;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::Handle;

use super::access::RuledAccess;
use replay_network::upstream_proxy::UpstreamProxy;
use replay_record::proxy::{AccessPolicy, Attempt, Dialed, Sockets, Wires};

pub struct Ways {
    interception: Interception,
    out: Out,
}

/// Way out of a command's connections.
#[derive(Clone, Debug)]
pub enum Out {
    /// No network.
    Nothing,
    /// Own network of the commands.
    AsCommands {
        /// `true` if names are resolved there.
        resolves: bool,
    },
    /// Network of this process, through the operator's proxy if there is one.
    AsServer(Option<Arc<UpstreamProxy>>),
    /// Network of this process, limited by rules.
    ByRule(Arc<RuledAccess>),
}

impl Ways {
    /// With the sockets that its connections and its questions of names arrive at.
    pub fn new(mut interception: Interception, out: Out) -> io::Result<(Arc<Self>, Sockets)> {
        let taken = interception.sockets().ok_or(io::ErrorKind::NotConnected)?;
        let tcp = [Some(taken.tcp_4), taken.tcp_6]
            .into_iter()
            .flatten()
            .map(Into::into)
            .collect();
        let udp = [Some(taken.udp_4), taken.udp_6]
            .into_iter()
            .flatten()
            .map(Into::into)
            .collect();
        Ok((
            Arc::new(Self { interception, out }),
            Sockets {
                tcp,
                udp,
                ..Sockets::default()
            },
        ))
    }

    /// Processes the messages of the interception on this runtime until it ends.
    pub fn listen(self: &Arc<Self>, runtime: &Handle) -> io::Result<()> {
        let entered = runtime.enter();
        let channel = watched(self.interception.as_fd())?;
        drop(entered);
        let ways = Arc::downgrade(self);
        let hear = move |_: &OwnedFd| match ways.upgrade() {
            Some(ways) if ways.interception.hear() => Err(io::ErrorKind::WouldBlock.into()),
            _ => Ok(()),
        };
        runtime.spawn(async move { channel.async_io(Interest::READABLE, hear).await });
        Ok(())
    }

    /// Returns the counters of events other than connections.
    pub fn counts(&self) -> Counts {
        self.interception.counts()
    }
}

/// Tells when there is something to be read from a socket.
#[expect(
    deprecated,
    reason = "what takes its place is unsafe; an owned descriptor is what it asks for"
)]
pub(super) fn watched(socket: BorrowedFd<'_>) -> io::Result<AsyncFd<OwnedFd>> {
    // That there is room is no news: it would wake a thread whenever the other side reads.
    AsyncFd::with_interest(socket.try_clone_to_owned()?, Interest::READABLE)
}

fn attempt(flow: Flow) -> Attempt {
    Attempt {
        key: flow.mark.key(),
        to: flow.to,
        by: flow.by,
        caller: flow.caller,
    }
}

impl Wires for Ways {
    fn access(&self) -> Option<&dyn AccessPolicy> {
        match &self.out {
            Out::ByRule(access) => Some(&**access),
            Out::Nothing | Out::AsCommands { .. } | Out::AsServer(_) => None,
        }
    }

    fn upstream_proxy(&self) -> Option<&UpstreamProxy> {
        match &self.out {
            Out::ByRule(access) => access.upstream_proxy(),
            Out::AsServer(proxy) => proxy.as_deref(),
            Out::Nothing | Out::AsCommands { .. } => None,
        }
    }

    fn destination(&self, accepted_local: SocketAddr, peer: SocketAddr) -> Option<Attempt> {
        self.interception
            .destination(accepted_local, peer)
            .map(attempt)
    }

    fn on_attempt(&self, told: Box<dyn Fn(Attempt, Option<OwnedFd>) + Send + Sync>) {
        self.interception
            .on_flow(move |flow, dialed| told(attempt(flow), dialed));
    }

    fn on_given_up(&self, told: Box<dyn Fn(u64) + Send + Sync>) {
        self.interception.on_given_up(move |mark| told(mark.key()));
    }

    fn on_arrival(&self, told: Box<dyn Fn(OwnedFd) + Send + Sync>) {
        self.interception.on_arrival(told);
    }

    fn on_datagrams(&self, told: Box<dyn Fn(Datagrams) + Send + Sync>) {
        self.interception.on_datagrams(told);
    }

    fn decide_datagrams(&self, token: u64, may_send: bool) {
        let _ = self.interception.decide_datagrams(token, may_send);
    }

    fn datagrams_to(&self, to: SocketAddr) -> io::Result<UdpSocket> {
        let Out::ByRule(_) = &self.out else {
            return Err(io::ErrorKind::PermissionDenied.into());
        };
        let from: IpAddr = if to.is_ipv4() {
            Ipv4Addr::UNSPECIFIED.into()
        } else {
            Ipv6Addr::UNSPECIFIED.into()
        };
        let socket = UdpSocket::bind((from, 0))?;
        socket.connect(to)?;
        Ok(socket)
    }

    fn decide(&self, key: u64, errno: Option<i32>) {
        // A program that has exited waits for no reply.
        let _ = self.interception.decide(Mark::of_key(key), errno);
    }

    fn dial(&self, to: SocketAddr, done: Dialed) {
        match &self.out {
            Out::Nothing => done(Err(io::ErrorKind::PermissionDenied.into())),
            Out::AsCommands { .. } => self.interception.dial(to, done),
            Out::ByRule(access) if access.is_own(to) => self.interception.dial(to, done),
            Out::AsServer(_) | Out::ByRule(_) => done(connecting(to)),
        }
    }

    fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        match &self.out {
            Out::Nothing | Out::AsCommands { resolves: false } => {
                Err(io::ErrorKind::NotFound.into())
            }
            Out::AsCommands { resolves: true } | Out::AsServer(_) => addresses(name),
            Out::ByRule(access) => addresses(name).inspect_err(|why| access.unresolved(name, why)),
        }
    }
}

/// Starts a non-blocking connection.
fn connecting(to: SocketAddr) -> io::Result<OwnedFd> {
    let family = if to.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let socket = socket_with(
        family,
        SocketType::STREAM,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )?;
    match connect(&socket, &to) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(errno) => Err(errno.into()),
    }
}
