//! The server's end of an interception: the sockets that a command's calls are led to, and where
//! they wanted to go.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use std::{fmt, io};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::{AddressFamily, Shutdown, SocketFlags, SocketType, shutdown, socketpair};

use super::ExecError;
use crate::limits::{MAX_DATAGRAM_PLACES, MAX_INTERCEPTED_SOCKETS, SUPERVISOR_TAKES_MS};
use crate::sandbox::intercept::{Told, Wanted};
use crate::sandbox::wire::{receive_packet, send_packet};

pub use crate::sandbox::intercept::{Counts, Datagrams, Flow, Mark};

/// A nameless file with these bytes, at its beginning.
pub(super) fn in_memory(bytes: &[u8]) -> Result<OwnedFd, ExecError> {
    let file = memfd_create("certificates", MemfdFlags::CLOEXEC).map_err(ExecError::follow)?;
    let mut written = 0;
    while written < bytes.len() {
        written += rustix::io::pwrite(&file, &bytes[written..], written as u64)
            .map_err(ExecError::follow)?;
    }
    Ok(file)
}

/// The sockets that everything is led to. None of them blocks.
#[derive(Debug)]
pub struct Sockets {
    /// TCP, to whatever address a command wanted to connect.
    pub tcp_4: OwnedFd,
    /// TCP of sockets that can only speak IPv6; `None` where there is no IPv6.
    pub tcp_6: Option<OwnedFd>,
    /// Questions of names over UDP, to whatever server the command asked. An answer goes back to
    /// where the question came from, and looks to the command as if it came from that server.
    /// (Those over TCP are connections to port 53.)
    pub udp_4: OwnedFd,
    /// The same for sockets of IPv6.
    pub udp_6: Option<OwnedFd>,
}

/// The interception of one command. Everything about it works from any thread, and waits for
/// nothing long.
///
/// When it is dropped, every further connection of the command fails.
#[derive(Debug)]
pub struct Interception {
    shared: Shared,
    sockets: Option<Sockets>,
}

struct Shared {
    channel: OwnedFd,
    heard: Mutex<Heard>,
    asking: Mutex<()>,
    /// Who decides about connections.
    on_flow: OnceLock<OnFlow>,
    /// Who is told which of them do not come.
    on_given_up: OnceLock<Box<dyn Fn(Mark) + Send + Sync>>,
    /// Who takes connections that are accepted by nobody.
    on_arrival: OnceLock<Box<dyn Fn(OwnedFd) + Send + Sync>>,
    /// Who decides about datagrams; without, there is no route for them.
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

/// Who is told of a connection, and of the one to where it wanted to go if that is made.
type OnFlow = Box<dyn Fn(Flow, Option<OwnedFd>) + Send + Sync>;

/// Who is told what came of a connection.
type Done = Box<dyn FnOnce(io::Result<OwnedFd>) + Send>;

#[derive(Default)]
struct Heard {
    flows: HashMap<Mark, Flow>,
    order: VecDeque<Mark>,
    /// Those of them that nobody was asked about.
    unasked: Vec<(Flow, Option<OwnedFd>)>,
    /// Those that do not come, of which nobody was told.
    given_up: Vec<Mark>,
    counts: Counts,
    last_token: u64,
    /// Connections that nobody has taken yet.
    arrived: Vec<OwnedFd>,
    /// Those that nobody was asked about.
    datagrams: Vec<Datagrams>,
    /// Who waits for a connection.
    dialed: HashMap<u64, Done>,
    /// What came of those that nobody was told of yet.
    untold: Vec<(Done, io::Result<OwnedFd>)>,
    is_over: bool,
}

/// The server's end before the supervisor has said its first word.
#[derive(Debug)]
pub struct Listening(OwnedFd);

impl Listening {
    /// Both ends; the second one is the supervisor's.
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

    /// Takes the first word, which there is. `None` if the supervisor is gone.
    pub fn begin(self) -> Result<Option<Interception>, ExecError> {
        let (told, sockets) = match receive_packet(&self.0) {
            Ok(Some(packet)) => packet,
            Ok(None) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
            Err(error) => return Err(ExecError::Follow(error)),
        };
        let Told::Ready { version_6 } = told else {
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

/// Readable when there is a first word.
impl AsFd for Listening {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Interception {
    /// The sockets to accept connections and questions from; `None` if they were taken already.
    pub fn sockets(&mut self) -> Option<Sockets> {
        self.sockets.take()
    }

    /// Where a connection wanted to go that was accepted from one of the sockets: its own end of
    /// it, and the command's. Each can be asked for once. `None` for a connection that the command
    /// did not make: on a loopback device that is shared with the system, anybody can connect. Such
    /// a one is to be closed.
    pub fn destination(&self, local: SocketAddr, peer: SocketAddr) -> Option<Flow> {
        let mark = Mark::of(local, peer)?;
        let mut heard = self.shared.lock();
        if !heard.flows.contains_key(&mark) {
            // The supervisor said it before it connected, but nobody may have listened since.
            self.shared.hear(&mut heard);
        }
        let flow = heard.flows.remove(&mark);
        drop(heard);
        self.shared.ask();
        flow
    }

    /// Has this be told every connection before it is made, which waits for [`Self::decide`]; or,
    /// where the interception was begun so, with the one to where it wanted to go, and then it does
    /// not wait. It is called from threads of this program and has to return soon.
    pub fn on_flow(&self, told: impl Fn(Flow, Option<OwnedFd>) + Send + Sync + 'static) {
        let _ = self.shared.on_flow.set(Box::new(told));
        self.shared.ask();
    }

    /// Has this be told every connection that does not come, since its caller is gone or waits no
    /// longer. It is called from threads of this program and has to return soon.
    pub fn on_given_up(&self, told: impl Fn(Mark) + Send + Sync + 'static) {
        let _ = self.shared.on_given_up.set(Box::new(told));
    }

    /// Has this be told every connection that comes without being accepted from one of the sockets:
    /// it was on its way when it was decided about. It is called from threads of this program and
    /// has to return soon.
    pub fn on_arrival(&self, told: impl Fn(OwnedFd) + Send + Sync + 'static) {
        let _ = self.shared.on_arrival.set(Box::new(told));
        self.shared.ask();
    }

    /// Has this be told every place that datagrams are to go to, before the first one does, which
    /// waits for [`Self::decide_datagrams`]. It is called from threads of this program and has to
    /// return soon.
    pub fn on_datagrams(&self, told: impl Fn(Datagrams) + Send + Sync + 'static) {
        let _ = self.shared.on_datagrams.set(Box::new(told));
        self.shared.ask();
    }

    /// Datagrams may go where this token stands for, or have no route.
    pub fn decide_datagrams(&self, token: u64, may_send: bool) -> io::Result<()> {
        self.shared
            .say(&Wanted::DecideDatagrams { token, may_send })
    }

    /// The connection that is known by this may be made, or fails with this number of errno(3).
    /// Nothing happens if it does not wait any more; the kernel refuses with `ECONNREFUSED` in its
    /// own way, also where the command does not wait.
    pub fn decide(&self, mark: Mark, errno: Option<i32>) -> io::Result<()> {
        if errno.is_some() {
            self.shared.lock().flows.remove(&mark);
        }
        self.shared.say(&Wanted::Decide { mark, errno })
    }

    /// Has `done` be told a TCP connection from where the command is, which may still be on its
    /// way: it does not block, and is writable once that is decided (connect(2), `EINPROGRESS`). It
    /// is called from threads of this program, also before this returns, and has to return soon.
    ///
    /// It fails as connect(2) does; with `EACCES` where the interception was not begun for that, or
    /// commands have no network; with `NotConnected` once the command is over.
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
            self.shared.say(&Wanted::Dial { token, to })
        };
        if let Err(error) = sent {
            // Unless it was told of the end meanwhile.
            let done = self.shared.lock().dialed.remove(&token);
            if let Some(done) = done {
                done(Err(error));
            }
        }
    }

    /// Takes what was said until now; whether more can come. To be called whenever this is
    /// readable: nothing else sees to it.
    pub fn hear(&self) -> bool {
        let mut heard = self.shared.lock();
        self.shared.hear(&mut heard);
        let is_over = heard.is_over;
        drop(heard);
        self.shared.ask();
        !is_over
    }

    /// How much there was until now; all of it once the command is over.
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
        // Who waits for it to be readable shall hear of it.
        let _ = shutdown(&self.shared.channel, Shutdown::Both);
    }
}

impl Shared {
    /// Says this, and waits for room if there is none.
    fn say(&self, wanted: &Wanted) -> io::Result<()> {
        loop {
            match send_packet(&self.channel, wanted, &[]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
            // A supervisor that takes nothing for so long is stopped, or gone.
            let mut full = [PollFd::new(&self.channel, PollFlags::OUT)];
            let patience =
                Timespec::try_from(Duration::from_millis(SUPERVISOR_TAKES_MS)).unwrap_or_default();
            if poll(&mut full, Some(&patience))? == 0 {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Heard> {
        // What is under the lock is whole at any point.
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells who decides what connections there are, and who waits what came of it, without the
    /// lock: the answer may come at once.
    fn ask(&self) {
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
                // Who is gone waits for nothing.
                None => drop(self.say(&Wanted::DecideDatagrams {
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
        // Who is to hear where one wanted to go that has come already waits until this was told of
        // it.
        let _asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        let unasked = std::mem::take(&mut self.lock().unasked);
        for (flow, dialed) in unasked {
            on_flow(flow, dialed);
        }
    }

    /// Takes what was said until now.
    fn hear(&self, heard: &mut Heard) {
        while !heard.is_over {
            match receive_packet::<Told>(&self.channel) {
                Ok(Some((told, sockets))) => heard.take(&told, sockets),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Ok(None) | Err(_) => heard.end(),
            }
        }
    }
}

impl Heard {
    /// Nothing more comes.
    fn end(&mut self) {
        self.is_over = true;
        let waiting = std::mem::take(&mut self.dialed).into_values();
        self.untold
            .extend(waiting.map(|done| (done, Err(io::ErrorKind::NotConnected.into()))));
    }

    fn take(&mut self, told: &Told, mut sockets: Vec<OwnedFd>) {
        match *told {
            Told::Ready { .. } => {}
            Told::Flow(flow) => {
                if self.flows.insert(flow.mark, flow).is_none() {
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
            Told::Dialed { token, errno } => {
                let dialed = match (errno, sockets.pop()) {
                    (None, Some(socket)) => Ok(socket),
                    (Some(errno), _) => Err(io::Error::from_raw_os_error(errno)),
                    (None, None) => Err(io::ErrorKind::InvalidData.into()),
                };
                if let Some(done) = self.dialed.remove(&token) {
                    self.untold.push((done, dialed));
                }
            }
            Told::GivenUp { mark } => {
                self.flows.remove(&mark);
                let count = self.unasked.len();
                self.unasked.retain(|(flow, _)| flow.mark != mark);
                if self.unasked.len() == count {
                    self.given_up.push(mark);
                }
            }
            Told::Arrived => {
                self.arrived.extend(sockets.pop());
                if self.arrived.len() > MAX_INTERCEPTED_SOCKETS {
                    self.arrived.clear();
                }
            }
            Told::Datagrams { token, to, by } => {
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
            Told::Counts(counts) => self.counts = counts,
        }
    }
}
