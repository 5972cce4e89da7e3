//! A command that outlives the call that started it.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use replay_base::cancel::CancelToken;
use rustix::io::Errno;

use super::capture::without_partial_character;
use super::control::Control;
use super::poll::{Bell, readable, writable};
use super::ring::Ring;
use super::streams::END_OF_INPUT;
use super::{Denied, ExecError, Exit, Page};
use crate::Changed;

/// Output of a background command is gathered until none came for so long, in milliseconds: a reply
/// for each line is dear.
const OUTPUT_QUIET_MS: u64 = 50;
/// Longest that output of a background command is gathered, in milliseconds.
const OUTPUT_GATHER_MS: u64 = 500;

type OnEnd = Box<dyn Fn(&Background) + Send + Sync>;

/// Callback for the end of background commands, if set.
#[derive(Default)]
pub(super) struct Listener(pub(super) OnceLock<OnEnd>);

impl fmt::Debug for Listener {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Listener").finish_non_exhaustive()
    }
}

impl Listener {
    /// Reports the end of a command.
    pub(super) fn notify(&self, command: &Background) {
        if let Some(listener) = self.0.get() {
            listener(command);
        }
    }
}

/// State of a background command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    Running,
    /// The command and all its processes have ended.
    Ended(Ending),
    /// The server follows the command no longer, for this reason; its processes were ended.
    Lost(String),
}

impl State {
    /// Describes the end in a few words; `None` while the command runs.
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

/// Result of a background command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Exit status of the shell.
    pub exit: Exit,
    /// `true` if the time limit passed before the shell ended.
    pub timed_out: bool,
    /// `true` if a call had asked the command to end.
    pub asked: bool,
    /// Number of processes that outlived the shell and were killed with it.
    pub left: u32,
    /// Accesses that the sandbox denied, without duplicates.
    pub denied: Vec<Denied>,
    /// Changes in the allowed directories, if a journal records them.
    pub changed: Option<Changed>,
}

/// One background command: its output, its state, and handles to control it.
#[derive(Debug)]
pub struct Background {
    pub(super) id: String,
    pub(super) line: String,
    pub(super) at: SystemTime,
    pub(super) started: Instant,
    pub(super) control: Control,
    pub(super) is_terminal: bool,
    pub(super) input: Mutex<Option<OwnedFd>>,
    /// `true` once the end was requested; the bell wakes the pump.
    pub(super) ending: AtomicBool,
    pub(super) bell: Bell,
    pub(super) shared: Mutex<Shared>,
}

/// State that the pump writes and the calls read.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) ring: Ring,
    pub(super) state: State,
    /// Run time, once the command has ended.
    pub(super) ran: Option<Duration>,
    /// Read position of calls without a cursor.
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
    /// Returns the id, such as `c1`.
    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn line(&self) -> &str {
        &self.line
    }

    /// Returns the start time.
    pub fn at(&self) -> SystemTime {
        self.at
    }

    /// Returns the run time: until now, or until the end of the command.
    pub fn ran(&self) -> Duration {
        lock(&self.shared).ran.unwrap_or_else(|| self.age())
    }

    /// Returns the time since the start.
    pub fn age(&self) -> Duration {
        self.started.elapsed()
    }

    /// Returns the current state.
    pub fn state(&self) -> State {
        lock(&self.shared).state.clone()
    }

    /// Returns the length of the output so far, in bytes.
    pub fn written(&self) -> u64 {
        lock(&self.shared).ring.end()
    }

    /// Returns the position up to which calls of [`Background::read`] without a cursor have read.
    pub fn read_position(&self) -> u64 {
        lock(&self.shared).seen
    }

    /// Reads at most `most` bytes of output from `cursor` on; without a cursor, from the first
    /// unread byte. An incomplete character at the end is left for the next call.
    pub fn read(&self, cursor: Option<u64>, most: usize) -> io::Result<Page> {
        let mut shared = lock(&self.shared);
        let page = shared.page(cursor.unwrap_or(shared.seen), most)?;
        // Bytes that a call returned count as read; reading earlier ones again does not reset that.
        shared.seen = shared.seen.max(page.next);
        Ok(page)
    }

    /// Reads output like [`Background::read`], without marking it as read.
    pub fn peek(&self, cursor: u64, most: usize) -> io::Result<Page> {
        lock(&self.shared).page(cursor, most)
    }

    /// Writes to the standard input or the terminal of the command. Returns the number of bytes
    /// written until `until` or until the call was cancelled; `None` if the input is closed.
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

    /// Closes the standard input. On a terminal this types VEOF, which ends the input only at the
    /// beginning of a line.
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

    /// Ends the command: SIGTERM now, SIGKILL after the grace period.
    pub fn end(&self) {
        self.ending.store(true, Ordering::SeqCst);
        self.bell.ring();
    }

    /// Waits until the command has ended, `until` has passed or the call is cancelled.
    pub fn await_end(&self, until: Instant, cancel: &CancelToken) -> Result<(), ExecError> {
        self.watch(until, cancel, |_| false)
    }

    /// Waits until more than `beyond` bytes of output exist, then gathers further output for a
    /// moment. Returns earlier if the command has ended, `until` has passed or the call is
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

    /// Adds output; called by the pump.
    pub(super) fn push(&self, bytes: &[u8]) {
        let mut shared = lock(&self.shared);
        shared.ring.push(bytes);
        shared.watchers.iter().for_each(|watcher| watcher.ring());
    }

    /// Sets the final state; called by the pump. The first call wins.
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
        // Closed after the state is set, because a call may be writing.
        *lock(&self.input) = None;
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The protected values are consistent at any point, also after a panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
