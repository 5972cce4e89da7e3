//! The server's end of an interception: the sockets that a command's calls are led to, and where they wanted to go.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use std::{fmt, io};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, Shutdown, SocketFlags, SocketType, shutdown, socketpair};

use super::ExecError;
use super::wait::readable;
use crate::limits::{DIAL_MS, MAX_INTERCEPTED_SOCKETS};
use crate::sandbox::intercept::{Told, Wanted};
use crate::sandbox::wire::{receive_packet, send_packet};

pub use crate::sandbox::intercept::{Counts, Flow, Mark};

/// The sockets that everything is led to. None of them blocks.
#[derive(Debug)]
pub struct Sockets {
    /// TCP, to whatever address a command wanted to connect.
    pub tcp_4: OwnedFd,
    /// TCP of sockets that can only speak IPv6; `None` where there is no IPv6.
    pub tcp_6: Option<OwnedFd>,
    /// Questions of names over UDP, to whatever server the command asked. An answer goes back to where the question came
    /// from, and looks to the command as if it came from that server. (Those over TCP are connections to port 53.)
    pub udp_4: OwnedFd,
    /// The same for sockets of IPv6.
    pub udp_6: Option<OwnedFd>,
}

/// The interception of one command. Everything about it works from any thread, and waits for nothing long.
///
/// When it is dropped, every further connection of the command fails.
#[derive(Debug)]
pub struct Interception {
    shared: Arc<Shared>,
    sockets: Option<Sockets>,
}

struct Shared {
    channel: OwnedFd,
    heard: Mutex<Heard>,
    news: Condvar,
    /// Who decides about connections.
    on_flow: OnceLock<Box<dyn Fn(Flow) + Send + Sync>>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Shared").field("channel", &self.channel).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Heard {
    flows: HashMap<Mark, SocketAddr>,
    order: VecDeque<Mark>,
    /// Those of them that nobody was asked about.
    unasked: Vec<Flow>,
    counts: Counts,
    last_token: u64,
    /// Who waits for a connection, and what came of it.
    dialed: HashMap<u64, Option<io::Result<OwnedFd>>>,
    is_over: bool,
}

/// The server's end before the supervisor has said its first word.
#[derive(Debug)]
pub struct Listening(OwnedFd);

impl Listening {
    /// Both ends; the second one is the supervisor's.
    pub(super) fn new() -> Result<(Self, OwnedFd), ExecError> {
        let (here, there) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .map_err(ExecError::follow)?;
        rustix::io::ioctl_fionbio(&here, true).map_err(ExecError::follow)?;
        Ok((Self(here), there))
    }

    /// Takes the first word, which there is. `None` if the supervisor is gone.
    pub(super) fn begin(self) -> Result<Option<Interception>, ExecError> {
        let (told, sockets) = match receive_packet(&self.0) {
            Ok(Some(packet)) => packet,
            Ok(None) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
            Err(error) => return Err(ExecError::Follow(error)),
        };
        let Told::Ready { version_6 } = told else { return Err(ExecError::out_of_turn()) };
        let mut sockets = sockets.into_iter();
        let mut next = |there: bool| if there { sockets.next() } else { None };
        let (tcp_4, tcp_6, udp_4, udp_6) = (next(true), next(version_6), next(true), next(version_6));
        let (Some(tcp_4), Some(udp_4)) = (tcp_4, udp_4) else { return Err(ExecError::out_of_turn()) };
        let shared = Arc::new(Shared {
            channel: self.0,
            heard: Mutex::default(),
            news: Condvar::new(),
            on_flow: OnceLock::new(),
        });
        let listener = Arc::clone(&shared);
        thread::Builder::new()
            .name("interception".to_owned())
            .spawn(move || listener.listen())
            .map_err(ExecError::Follow)?;
        Ok(Some(Interception { shared, sockets: Some(Sockets { tcp_4, tcp_6, udp_4, udp_6 }) }))
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

    /// Where a connection wanted to go that was accepted from one of the sockets: its own end of it, and the command's. Each
    /// can be asked for once. `None` for a connection that the command did not make: on a loopback device that is shared with
    /// the system, anybody can connect. Such a one is to be closed.
    pub fn destination(&self, local: SocketAddr, peer: SocketAddr) -> Option<Flow> {
        let mark = Mark::of(local, peer)?;
        let mut heard = self.shared.lock();
        if !heard.flows.contains_key(&mark) {
            // The supervisor said it before it connected, but nobody may have listened since.
            self.shared.hear(&mut heard);
        }
        let to = heard.flows.remove(&mark);
        drop(heard);
        self.shared.ask();
        Some(Flow { mark, to: to? })
    }

    /// Has this be told every connection before it is made, where the interception was begun so that each waits for
    /// [`Self::decide`]. It is called from threads of this program and has to return soon.
    pub fn on_flow(&self, told: impl Fn(Flow) + Send + Sync + 'static) {
        let _ = self.shared.on_flow.set(Box::new(told));
        self.shared.ask();
    }

    /// The connection that is known by this may be made, or fails with this number of errno(3). Nothing happens if it does
    /// not wait any more; the kernel refuses with `ECONNREFUSED` in its own way, also where the command does not wait.
    pub fn decide(&self, mark: Mark, errno: Option<i32>) -> io::Result<()> {
        if errno.is_some() {
            self.shared.lock().flows.remove(&mark);
        }
        let decided = Wanted::Decide { mark, errno };
        loop {
            match send_packet(&self.shared.channel, &decided, &[]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
            // A supervisor that takes nothing for so long is stopped, or gone.
            let mut full = [PollFd::new(&self.shared.channel, PollFlags::OUT)];
            let patience = Timespec::try_from(Duration::from_millis(DIAL_MS)).unwrap_or_default();
            if poll(&mut full, Some(&patience))? == 0 {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }

    /// A TCP connection from where the command is, which may still be on its way: it does not block, and is writable once
    /// that is decided (connect(2), `EINPROGRESS`).
    ///
    /// Fails as connect(2) does; with `EACCES` where the interception was not begun for that, or commands have no network.
    /// Waits for the supervisor, which answers at once unless it is gone.
    pub fn dial(&self, to: SocketAddr) -> io::Result<OwnedFd> {
        let mut heard = self.shared.lock();
        heard.last_token += 1;
        let token = heard.last_token;
        if heard.is_over {
            return Err(io::ErrorKind::NotConnected.into());
        }
        send_packet(&self.shared.channel, &Wanted::Dial { token, to }, &[])?;
        heard.dialed.insert(token, None);
        let until = Instant::now() + Duration::from_millis(DIAL_MS);
        loop {
            if let Some(Some(_)) = heard.dialed.get(&token)
                && let Some(Some(dialed)) = heard.dialed.remove(&token)
            {
                return dialed;
            }
            let left = until.saturating_duration_since(Instant::now());
            if heard.is_over || left.is_zero() {
                heard.dialed.remove(&token);
                return Err(io::ErrorKind::TimedOut.into());
            }
            heard = self.shared.news.wait_timeout(heard, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// How much there was until now; all of it once the command is over.
    pub fn counts(&self) -> Counts {
        let mut heard = self.shared.lock();
        self.shared.hear(&mut heard);
        let counts = heard.counts;
        drop(heard);
        self.shared.ask();
        counts
    }
}

impl Drop for Interception {
    fn drop(&mut self) {
        // The thread ends with it.
        let _ = shutdown(&self.shared.channel, Shutdown::Both);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Heard> {
        // What is under the lock is whole at any point.
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hears what is said until the other end is closed.
    fn listen(&self) {
        while readable([Some(self.channel.as_fd())], None).is_ok() {
            let mut heard = self.lock();
            self.hear(&mut heard);
            let is_over = heard.is_over;
            drop(heard);
            self.ask();
            if is_over {
                return;
            }
        }
    }

    /// Tells who decides what connections there are, without the lock: the answer may come at once.
    fn ask(&self) {
        let Some(on_flow) = self.on_flow.get() else { return };
        let unasked = std::mem::take(&mut self.lock().unasked);
        for flow in unasked {
            on_flow(flow);
        }
    }

    /// Takes what was said until now.
    fn hear(&self, heard: &mut Heard) {
        while !heard.is_over {
            match receive_packet::<Told>(&self.channel) {
                Ok(Some((told, sockets))) => heard.take(&told, sockets),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Ok(None) | Err(_) => heard.is_over = true,
            }
        }
        self.news.notify_all();
    }
}

impl Heard {
    fn take(&mut self, told: &Told, mut sockets: Vec<OwnedFd>) {
        match *told {
            Told::Ready { .. } => {}
            Told::Flow(Flow { mark, to }) => {
                if self.flows.insert(mark, to).is_none() {
                    self.order.push_back(mark);
                }
                self.unasked.push(Flow { mark, to });
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
                // Who does not wait any more has taken the place away.
                if let Some(place) = self.dialed.get_mut(&token) {
                    *place = Some(dialed);
                }
            }
            Told::Counts(counts) => self.counts = counts,
        }
    }
}
