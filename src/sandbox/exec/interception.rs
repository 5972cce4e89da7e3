//! Server side of an interception: the sockets that receive a command's connections, and the
//! original destinations.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use std::{fmt, io};

use replay_base::limits::{MAX_DATAGRAM_PLACES, MAX_INTERCEPTED_SOCKETS};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::{AddressFamily, Shutdown, SocketFlags, SocketType, shutdown, socketpair};

use super::ExecError;
use crate::intercept::{SupervisorMessage, SupervisorRequest};
use crate::wire::{receive_packet, send_packet};

pub(super) use crate::intercept::{Counts, Datagrams, Flow, Mark};

/// Timeout for a supervisor that reads no messages from the server, in milliseconds.
const SUPERVISOR_TAKES_MS: u64 = 5_000;

/// Returns a memfd with these bytes, at offset 0.
pub(super) fn in_memory(bytes: &[u8]) -> Result<OwnedFd, ExecError> {
    let file = memfd_create("certificates", MemfdFlags::CLOEXEC).map_err(ExecError::follow)?;
    let mut written = 0;
    while written < bytes.len() {
        written += rustix::io::pwrite(&file, &bytes[written..], written as u64)
            .map_err(ExecError::follow)?;
    }
    Ok(file)
}

/// Sockets that receive all redirected traffic. They are nonblocking.
#[derive(Debug)]
pub struct Sockets {
    /// TCP connections to any address.
    pub tcp_4: OwnedFd,
    /// TCP connections of IPv6-only sockets; `None` without IPv6.
    pub tcp_6: Option<OwnedFd>,
    /// DNS queries over UDP to any server. A reply returns to the sender of the query and appears
    /// to come from the original server. (DNS over TCP is a connection to port 53.)
    pub udp_4: OwnedFd,
    /// DNS queries of IPv6 sockets.
    pub udp_6: Option<OwnedFd>,
}

/// Interception of one command. Its methods can be called from any thread and do not block for
/// long.
///
/// Dropping this makes every further connection of the command fail.
#[derive(Debug)]
pub struct Interception {
    shared: Shared,
    sockets: Option<Sockets>,
}

struct Shared {
    channel: OwnedFd,
    heard: Mutex<InterceptionState>,
    asking: Mutex<()>,
    /// Callback for new connections.
    on_flow: OnceLock<OnFlow>,
    /// Callback for connections that were given up.
    on_given_up: OnceLock<Box<dyn Fn(Mark) + Send + Sync>>,
    /// Callback for connections that arrive without being accepted from a socket.
    on_arrival: OnceLock<Box<dyn Fn(OwnedFd) + Send + Sync>>,
    /// Callback for datagrams; without one, datagrams have no route.
    on_datagrams: OnceLock<Box<dyn Fn(Datagrams) + Send + Sync>>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Shared")
            .field("channel", &self.channel)
            .finish_non_exhaustive()
    }
}

/// Callback for a connection, with the dialed connection to its destination if there is one.
type OnFlow = Box<dyn Fn(Flow, Option<OwnedFd>) + Send + Sync>;

/// Callback for the result of a dial.
type DialCallback = Box<dyn FnOnce(io::Result<OwnedFd>) + Send>;

#[derive(Default)]
struct InterceptionState {
    flows: HashMap<Mark, Flow>,
    order: VecDeque<Mark>,
    /// Connections not yet passed to `on_flow`.
    unasked: Vec<(Flow, Option<OwnedFd>)>,
    /// Connections given up, not yet passed to `on_given_up`.
    given_up: Vec<Mark>,
    counts: Counts,
    last_token: u64,
    /// Connections not yet passed to `on_arrival`.
    arrived: Vec<OwnedFd>,
    /// Datagram destinations not yet passed to `on_datagrams`.
    datagrams: Vec<Datagrams>,
    /// Pending dials, by token.
    dialed: HashMap<u64, DialCallback>,
    /// Dial results not yet passed to their callbacks.
    untold: Vec<(DialCallback, io::Result<OwnedFd>)>,
    is_over: bool,
}

/// Server side of the channel, before the first message of the supervisor.
#[derive(Debug)]
pub struct Listening(OwnedFd);

impl Listening {
    /// Creates both ends; the second one is for the supervisor.
    pub(super) fn new() -> Result<(Self, OwnedFd), ExecError> {
        let (here, there) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .map_err(ExecError::follow)?;
        rustix::io::ioctl_fionbio(&here, true).map_err(ExecError::follow)?;
        Ok((Self(here), there))
    }

    /// Receives the first message, which must be readable. `None` if the supervisor is gone.
    pub fn begin(self) -> Result<Option<Interception>, ExecError> {
        let (told, sockets) = match receive_packet(&self.0) {
            Ok(Some(packet)) => packet,
            Ok(None) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
            Err(error) => return Err(ExecError::Follow(error)),
        };
        let SupervisorMessage::Ready { version_6 } = told else {
            return Err(ExecError::out_of_turn());
        };
        let mut sockets = sockets.into_iter();
        let mut next = |there: bool| if there { sockets.next() } else { None };
        let (tcp_4, tcp_6, udp_4, udp_6) =
            (next(true), next(version_6), next(true), next(version_6));
        let (Some(tcp_4), Some(udp_4)) = (tcp_4, udp_4) else {
            return Err(ExecError::out_of_turn());
        };
        let shared = Shared {
            channel: self.0,
            heard: Mutex::default(),
            asking: Mutex::default(),
            on_flow: OnceLock::new(),
            on_given_up: OnceLock::new(),
            on_arrival: OnceLock::new(),
            on_datagrams: OnceLock::new(),
        };
        Ok(Some(Interception {
            shared,
            sockets: Some(Sockets {
                tcp_4,
                tcp_6,
                udp_4,
                udp_6,
            }),
        }))
    }
}

/// Readable when the first message has arrived.
impl AsFd for Listening {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Interception {
    /// Returns the sockets to accept connections and DNS queries from; `None` if they were taken
    /// already.
    pub fn sockets(&mut self) -> Option<Sockets> {
        self.sockets.take()
    }

    /// Returns the original destination of an accepted connection, given its local and its peer
    /// address. Each can be queried once. `None` for a connection that the command did not make:
    /// any process can connect if the loopback device is shared with the system. The caller closes
    /// such a connection.
    pub fn destination(&self, local: SocketAddr, peer: SocketAddr) -> Option<Flow> {
        let mark = Mark::of(local, peer)?;
        let mut heard = self.shared.lock();
        if !heard.flows.contains_key(&mark) {
            // The supervisor reported it before connecting, but the message may still be unread.
            self.shared.hear(&mut heard);
        }
        let flow = heard.flows.remove(&mark);
        drop(heard);
        self.shared.run_callbacks();
        flow
    }

    /// Sets the callback for new connections. Each connection waits for [`Self::decide`]. If the
    /// interception was begun with dialing, the callback also receives the connection to the
    /// destination, and nothing waits. It runs on threads of this program and must return soon.
    pub fn on_flow(&self, told: impl Fn(Flow, Option<OwnedFd>) + Send + Sync + 'static) {
        let _ = self.shared.on_flow.set(Box::new(told));
        self.shared.run_callbacks();
    }

    /// Sets the callback for connections that were given up because the caller is gone or has
    /// stopped waiting. It runs on threads of this program and must return soon.
    pub fn on_given_up(&self, told: impl Fn(Mark) + Send + Sync + 'static) {
        let _ = self.shared.on_given_up.set(Box::new(told));
    }

    /// Sets the callback for connections that arrive without being accepted from one of the
    /// sockets: they were in progress when they were decided about. It runs on threads of this
    /// program and must return soon.
    pub fn on_arrival(&self, told: impl Fn(OwnedFd) + Send + Sync + 'static) {
        let _ = self.shared.on_arrival.set(Box::new(told));
        self.shared.run_callbacks();
    }

    /// Sets the callback for datagram destinations. It runs before the first datagram to each,
    /// which waits for [`Self::decide_datagrams`]. It runs on threads of this program and must
    /// return soon.
    pub fn on_datagrams(&self, told: impl Fn(Datagrams) + Send + Sync + 'static) {
        let _ = self.shared.on_datagrams.set(Box::new(told));
        self.shared.run_callbacks();
    }

    /// Allows or blocks datagrams to the destination of this token.
    pub fn decide_datagrams(&self, token: u64, may_send: bool) -> io::Result<()> {
        self.shared
            .send(&SupervisorRequest::DecideDatagrams { token, may_send })
    }

    /// Allows the connection with this mark, or fails it with this errno. No effect if the
    /// connection does not wait any more. The kernel itself refuses with `ECONNREFUSED`, also where
    /// the command does not wait.
    pub fn decide(&self, mark: Mark, errno: Option<i32>) -> io::Result<()> {
        if errno.is_some() {
            self.shared.lock().flows.remove(&mark);
        }
        self.shared.send(&SupervisorRequest::Decide { mark, errno })
    }

    /// Dials a TCP connection from the command's network. `done` receives it, possibly still in
    /// progress: it is nonblocking, and writable once connected (connect(2), `EINPROGRESS`). `done`
    /// runs on threads of this program, possibly before this returns, and must return soon.
    ///
    /// Fails like connect(2). Fails with `EACCES` if the interception was begun without dialing or
    /// commands have no network, and with `NotConnected` once the command has ended.
    pub fn dial(&self, to: SocketAddr, done: impl FnOnce(io::Result<OwnedFd>) + Send + 'static) {
        let mut heard = self.shared.lock();
        heard.last_token += 1;
        let token = heard.last_token;
        heard.dialed.insert(token, Box::new(done));
        let is_over = heard.is_over;
        drop(heard);
        let sent = if is_over {
            Err(io::ErrorKind::NotConnected.into())
        } else {
            self.shared.send(&SupervisorRequest::Dial { token, to })
        };
        if let Err(error) = sent {
            // Unless it was notified of the end meanwhile.
            let done = self.shared.lock().dialed.remove(&token);
            if let Some(done) = done {
                done(Err(error));
            }
        }
    }

    /// Processes all pending messages. Returns true if more can come. The caller must call this
    /// whenever the descriptor is readable.
    pub fn hear(&self) -> bool {
        let mut heard = self.shared.lock();
        self.shared.hear(&mut heard);
        let is_over = heard.is_over;
        drop(heard);
        self.shared.run_callbacks();
        !is_over
    }

    /// Returns the counts so far; they are complete once the command has ended.
    pub fn counts(&self) -> Counts {
        self.hear();
        self.shared.lock().counts
    }
}

impl AsFd for Interception {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.channel.as_fd()
    }
}

impl Drop for Interception {
    fn drop(&mut self) {
        // Wakes all threads that wait for readability.
        let _ = shutdown(&self.shared.channel, Shutdown::Both);
    }
}

impl Shared {
    /// Sends a message; waits for buffer space if there is none.
    fn send(&self, wanted: &SupervisorRequest) -> io::Result<()> {
        loop {
            match send_packet(&self.channel, wanted, &[]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
            // A supervisor that reads nothing for so long is stopped, or gone.
            let mut full = [PollFd::new(&self.channel, PollFlags::OUT)];
            let patience =
                Timespec::try_from(Duration::from_millis(SUPERVISOR_TAKES_MS)).unwrap_or_default();
            if poll(&mut full, Some(&patience))? == 0 {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, InterceptionState> {
        // The protected value is consistent at any point, also after a panic.
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls the callbacks for all queued results. The lock is not held, because a callback may
    /// answer at once.
    fn run_callbacks(&self) {
        let untold = std::mem::take(&mut self.lock().untold);
        for (done, dialed) in untold {
            done(dialed);
        }
        if let Some(on_arrival) = self.on_arrival.get() {
            let arrived = std::mem::take(&mut self.lock().arrived);
            arrived.into_iter().for_each(on_arrival);
        }
        let datagrams = std::mem::take(&mut self.lock().datagrams);
        for told in datagrams {
            match self.on_datagrams.get() {
                Some(on_datagrams) => on_datagrams(told),
                // Without a callback there is no route.
                None => drop(self.send(&SupervisorRequest::DecideDatagrams {
                    token: told.token,
                    may_send: false,
                })),
            }
        }
        let given_up = std::mem::take(&mut self.lock().given_up);
        if let Some(on_given_up) = self.on_given_up.get() {
            given_up.into_iter().for_each(on_given_up);
        }
        let Some(on_flow) = self.on_flow.get() else {
            return;
        };
        // A caller of `destination` for an already accepted connection waits until the callback has
        // returned.
        let _asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        let unasked = std::mem::take(&mut self.lock().unasked);
        for (flow, dialed) in unasked {
            on_flow(flow, dialed);
        }
    }

    /// Processes all pending messages.
    fn hear(&self, heard: &mut InterceptionState) {
        while !heard.is_over {
            match receive_packet::<SupervisorMessage>(&self.channel) {
                Ok(Some((told, sockets))) => heard.apply(told, sockets),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Ok(None) | Err(_) => heard.end(),
            }
        }
    }
}

impl InterceptionState {
    /// Marks the end of the conversation and fails all pending dials.
    fn end(&mut self) {
        self.is_over = true;
        let waiting = std::mem::take(&mut self.dialed).into_values();
        self.untold
            .extend(waiting.map(|done| (done, Err(io::ErrorKind::NotConnected.into()))));
    }

    fn apply(&mut self, told: SupervisorMessage, mut sockets: Vec<OwnedFd>) {
        match told {
            SupervisorMessage::Ready { .. } => {}
            SupervisorMessage::Flow(flow) => {
                if self.flows.insert(flow.mark, flow.clone()).is_none() {
                    self.order.push_back(flow.mark);
                }
                self.unasked.push((flow, sockets.pop()));
                if self.unasked.len() > MAX_INTERCEPTED_SOCKETS {
                    self.unasked.clear();
                }
                while self.order.len() > MAX_INTERCEPTED_SOCKETS
                    && let Some(first) = self.order.pop_front()
                {
                    self.flows.remove(&first);
                }
            }
            SupervisorMessage::Dialed { token, errno } => {
                let dialed = match (errno, sockets.pop()) {
                    (None, Some(socket)) => Ok(socket),
                    (Some(errno), _) => Err(io::Error::from_raw_os_error(errno)),
                    (None, None) => Err(io::ErrorKind::InvalidData.into()),
                };
                if let Some(done) = self.dialed.remove(&token) {
                    self.untold.push((done, dialed));
                }
            }
            SupervisorMessage::GivenUp { mark } => {
                self.flows.remove(&mark);
                let count = self.unasked.len();
                self.unasked.retain(|(flow, _)| flow.mark != mark);
                if self.unasked.len() == count {
                    self.given_up.push(mark);
                }
            }
            SupervisorMessage::Arrived => {
                self.arrived.extend(sockets.pop());
                if self.arrived.len() > MAX_INTERCEPTED_SOCKETS {
                    self.arrived.clear();
                }
            }
            SupervisorMessage::Datagrams { token, to, by } => {
                self.datagrams.extend(sockets.pop().map(|socket| Datagrams {
                    token,
                    to,
                    by,
                    socket,
                }));
                if self.datagrams.len() > MAX_DATAGRAM_PLACES {
                    self.datagrams.clear();
                }
            }
            SupervisorMessage::Counts(counts) => self.counts = counts,
        }
    }
}
