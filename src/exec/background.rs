//! A command that runs on after the call that started it.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use rustix::io::Errno;

use super::capture::without_partial_character;
use super::job::Control;
use super::poll::{Bell, readable, writable};
use super::ring::Ring;
use super::streams::END_OF_INPUT;
use super::{Denied, ExecError, Exit, Page};
use crate::cancel::CancelToken;
use crate::limits::{OUTPUT_GATHER_MS, OUTPUT_QUIET_MS};
use crate::sandbox::Changed;

type OnEnd = Box<dyn Fn(&Background) + Send + Sync>;

/// Who hears that a command has ended, or nobody.
#[derive(Default)]
pub(super) struct Listener(pub(super) OnceLock<OnEnd>);

impl fmt::Debug for Listener {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Listener").finish_non_exhaustive()
    }
}

impl Listener {
    /// Tells it of one.
    pub(super) fn tell(&self, command: &Background) {
        if let Some(listener) = self.0.get() {
            listener(command);
        }
    }
}

/// How a background command is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    Running,
    /// It has ended, with everything that it had started.
    Ended(Ending),
    /// It is no longer followed, for this reason; what it was doing has been ended.
    Lost(String),
}

impl State {
    /// How it ended, in a few words; `None` while it runs.
    pub fn end(&self) -> Option<String> {
        match self {
            Self::Running => None,
            Self::Lost(reason) => Some(format!("lost: {reason}")),
            Self::Ended(Ending {
                timed_out: true, ..
            }) => Some("timed out".to_owned()),
            Self::Ended(Ending {
                exit: Exit::Code(code),
                ..
            }) => Some(format!("exit code {code}")),
            Self::Ended(Ending {
                exit: Exit::Signal(signal),
                ..
            }) => Some(format!("signal {signal}")),
        }
    }
}

/// How a background command has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// How the shell itself ended.
    pub exit: Exit,
    /// The time limit passed before the shell was done.
    pub timed_out: bool,
    /// Somebody had asked for its end.
    pub asked: bool,
    /// Processes that were still there when the shell ended, and were ended with it.
    pub left: u32,
    /// What the walls refused to it, each thing once.
    pub denied: Vec<Denied>,
    /// What it changed in the allowed directories, as far as that is noted.
    pub changed: Option<Changed>,
}

/// One background command: what it wrote, how it is doing, and the ways to act on it.
#[derive(Debug)]
pub struct Background {
    pub(super) id: String,
    pub(super) line: String,
    pub(super) at: SystemTime,
    pub(super) started: Instant,
    pub(super) control: Control,
    pub(super) is_terminal: bool,
    pub(super) input: Mutex<Option<OwnedFd>>,
    /// Its end was asked for; the bell tells the pump.
    pub(super) ending: AtomicBool,
    pub(super) bell: Bell,
    pub(super) shared: Mutex<Shared>,
}

/// What the pump fills and the calls read.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) ring: Ring,
    pub(super) state: State,
    /// How long it ran, once it has ended.
    pub(super) ran: Option<Duration>,
    /// How far a call without a cursor has read.
    pub(super) seen: u64,
    pub(super) watchers: Vec<Arc<Bell>>,
}

impl Shared {
    fn page(&self, cursor: u64, most: usize) -> io::Result<Page> {
        let mut page = self.ring.read(cursor, most)?;
        let whole = without_partial_character(&page.bytes).len();
        if page.next < page.end && whole > 0 {
            page.next -= (page.bytes.len() - whole) as u64;
            page.bytes.truncate(whole);
        }
        Ok(page)
    }
}

impl Background {
    /// Its name, such as `c1`.
    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn line(&self) -> &str {
        &self.line
    }

    /// When it was started.
    pub fn at(&self) -> SystemTime {
        self.at
    }

    /// How long it has run: until now, or until its end.
    pub fn ran(&self) -> Duration {
        lock(&self.shared).ran.unwrap_or_else(|| self.age())
    }

    /// Time since it was started.
    pub fn age(&self) -> Duration {
        self.started.elapsed()
    }

    /// How it is doing.
    pub fn state(&self) -> State {
        lock(&self.shared).state.clone()
    }

    /// What it has written, in bytes.
    pub fn written(&self) -> u64 {
        lock(&self.shared).ring.end()
    }

    /// How far calls of [`Background::read`] without a position have come.
    pub fn seen(&self) -> u64 {
        lock(&self.shared).seen
    }

    /// What it wrote from `cursor` on, at most `most` bytes; without one, what no such call has
    /// read yet. Half a character at the end is left for the next call.
    pub fn read(&self, cursor: Option<u64>, most: usize) -> io::Result<Page> {
        let mut shared = lock(&self.shared);
        let page = shared.page(cursor.unwrap_or(shared.seen), most)?;
        // Whatever a call was shown is seen; looking back unsees nothing.
        shared.seen = shared.seen.max(page.next);
        Ok(page)
    }

    /// The same, and nothing of it is seen.
    pub fn peek(&self, cursor: u64, most: usize) -> io::Result<Page> {
        lock(&self.shared).page(cursor, most)
    }

    /// Writes to its standard input, or types on its terminal, as long as it takes the bytes.
    /// Returns how many it took until `until` came or the call was cancelled; `None` when its input
    /// is closed.
    pub fn write(
        &self,
        bytes: &[u8],
        until: Instant,
        cancel: &CancelToken,
    ) -> Result<Option<usize>, ExecError> {
        let wake = cancel.wake_fd().map_err(ExecError::follow)?;
        let mut input = lock(&self.input);
        let mut taken = 0;
        while taken < bytes.len() {
            let Some(open) = &*input else { return Ok(None) };
            match rustix::io::write(open, &bytes[taken..]) {
                Ok(length) => taken += length,
                Err(Errno::INTR) => {}
                Err(Errno::PIPE | Errno::IO) => *input = None,
                Err(Errno::AGAIN) if Instant::now() >= until || cancel.is_cancelled() => break,
                Err(Errno::AGAIN) => writable(open.as_fd(), wake, until)?,
                Err(errno) => return Err(ExecError::follow(errno)),
            }
        }
        Ok(Some(taken))
    }

    /// Ends its standard input; on a terminal this is typed, and means the end at the beginning of
    /// a line.
    pub fn close_input(&self) {
        let mut input = lock(&self.input);
        if self.is_terminal {
            if let Some(open) = &*input {
                let _ = rustix::io::write(open, &[END_OF_INPUT]);
            }
        } else {
            *input = None;
        }
    }

    /// Asks it to end: SIGTERM now, SIGKILL after the grace.
    pub fn end(&self) {
        self.ending.store(true, Ordering::SeqCst);
        self.bell.ring();
    }

    /// Waits until it has ended. Returns earlier when `until` comes or the call is cancelled.
    pub fn await_end(&self, until: Instant, cancel: &CancelToken) -> Result<(), ExecError> {
        self.watch(until, cancel, |_| false)
    }

    /// Waits until it has written more than `beyond` bytes in all and then gathers for a moment
    /// what comes with them. Returns earlier when it has ended, `until` comes or the call is
    /// cancelled.
    pub fn await_output(
        &self,
        beyond: u64,
        until: Instant,
        cancel: &CancelToken,
    ) -> Result<(), ExecError> {
        self.watch(until, cancel, |shared| shared.ring.end() > beyond)?;
        let gathered = until.min(Instant::now() + Duration::from_millis(OUTPUT_GATHER_MS));
        loop {
            let now = self.written();
            let quiet = Instant::now() + Duration::from_millis(OUTPUT_QUIET_MS);
            self.watch(gathered.min(quiet), cancel, |shared| {
                shared.ring.end() > now
            })?;
            if self.written() == now || Instant::now() >= gathered {
                return Ok(());
            }
        }
    }

    fn watch(
        &self,
        until: Instant,
        cancel: &CancelToken,
        done: impl Fn(&Shared) -> bool,
    ) -> Result<(), ExecError> {
        let wake = cancel.wake_fd().map_err(ExecError::follow)?;
        let bell = Arc::new(Bell::new().map_err(ExecError::Follow)?);
        lock(&self.shared).watchers.push(Arc::clone(&bell));
        let waited = loop {
            bell.hush();
            {
                let shared = lock(&self.shared);
                if shared.state != State::Running || done(&shared) {
                    break Ok(());
                }
            }
            if cancel.is_cancelled() || Instant::now() >= until {
                break Ok(());
            }
            if let Err(error) = readable([Some(bell.as_fd()), Some(wake)], Some(until)) {
                break Err(error);
            }
        };
        lock(&self.shared)
            .watchers
            .retain(|watcher| !Arc::ptr_eq(watcher, &bell));
        waited
    }

    /// Adds output, for the pump.
    pub(super) fn push(&self, bytes: &[u8]) {
        let mut shared = lock(&self.shared);
        shared.ring.push(bytes);
        shared.watchers.iter().for_each(|watcher| watcher.ring());
    }

    /// It has ended, for the pump. The first word counts.
    pub(super) fn settle(&self, state: State) {
        {
            let mut shared = lock(&self.shared);
            if shared.state != State::Running {
                return;
            }
            shared.state = state;
            shared.ran = Some(self.age());
            shared.watchers.iter().for_each(|watcher| watcher.ring());
        }
        // After the state, because a call may be writing.
        *lock(&self.input) = None;
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is under the locks is whole at any point.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
