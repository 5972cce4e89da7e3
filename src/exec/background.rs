//! Commands that run on after the call that started them.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::io::Errno;

use super::job::{Control, Countdown};
use super::pump::{Pump, begin};
use super::ring::Ring;
use super::run::END_OF_INPUT;
use super::wait::{Bell, readable, writable};
use super::{Command, Denied, ExecError, Exit, Launcher, Page};
use crate::cancel::CancelToken;
use crate::limits::{KEPT_BACKGROUND_COMMANDS, OUTPUT_GATHER_MS, OUTPUT_QUIET_MS};

/// The background commands of a server. Dropping it ends them.
#[derive(Debug)]
pub struct BackgroundCommands {
    dir: OwnedFd,
    most: usize,
    output_bytes: u64,
    table: Arc<Mutex<Table>>,
    listener: Arc<Listener>,
}

type OnEnd = Box<dyn Fn(&Background) + Send + Sync>;

/// Who hears that a command has ended, or nobody.
#[derive(Default)]
pub(super) struct Listener(OnceLock<OnEnd>);

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

#[derive(Debug, Default)]
struct Table {
    last_id: u64,
    /// Being started, so that many calls at once do not pass the limit.
    starting: usize,
    /// The oldest first; those that have ended are kept for a while.
    all: VecDeque<Arc<Background>>,
    ended: bool,
}

impl Table {
    fn running(&self) -> impl Iterator<Item = &Arc<Background>> {
        self.all.iter().filter(|command| command.state() == State::Running)
    }
}

impl BackgroundCommands {
    /// At most `most` at a time. Of the output of each, the last `output_bytes` are kept in a nameless file below `dir`,
    /// which must be writable to this process and out of the commands' reach.
    pub fn new(dir: OwnedFd, most: usize, output_bytes: u64) -> Self {
        Self { dir, most, output_bytes, table: Arc::default(), listener: Arc::default() }
    }

    /// Has `listener` hear of each command that has ended, once, on the thread that followed it. The first one stays.
    pub fn on_end(&self, listener: impl Fn(&Background) + Send + Sync + 'static) {
        // Whoever starts the server says so once.
        let _ = self.listener.0.set(Box::new(listener));
    }

    /// Starts a command and returns once its program runs. Its standard input stays open, its two output streams are one.
    /// It gets SIGTERM after `timeout`, if there is one, and SIGKILL `grace` after any SIGTERM.
    pub fn start(
        &self,
        launcher: &Launcher,
        command: &Command<'_>,
        timeout: Option<Duration>,
        grace: Duration,
        cancel: &CancelToken,
    ) -> Result<Arc<Background>, ExecError> {
        let request = command.request(true, true)?;
        let (_starting, id) = self.reserve()?;
        let ring = Ring::new(&self.dir, self.output_bytes).map_err(ExecError::Follow)?;
        let (job, input, output) = begin(launcher, &request, cancel)?;
        let background = Arc::new(Background {
            id,
            line: command.line.to_owned(),
            at: SystemTime::now(),
            started: Instant::now(),
            control: job.control(),
            is_terminal: command.terminal.is_some(),
            input: Mutex::new(Some(input)),
            ending: AtomicBool::new(false),
            bell: Bell::new().map_err(ExecError::Follow)?,
            shared: Mutex::new(Shared { ring, state: State::Running, ran: None, seen: 0, watchers: Vec::new() }),
        });
        let countdown = Countdown::new(timeout, grace);
        let (followed, listener) = (Arc::clone(&background), Arc::clone(&self.listener));
        let pump = Pump { background: followed, job, output: Some(output), countdown, timed_out: false, listener };
        let mut table = lock(&self.table);
        if table.ended {
            return Err(ExecError::ShuttingDown);
        }
        thread::Builder::new()
            .name(format!("background {}", background.id))
            .spawn(move || pump.run())
            .map_err(ExecError::Follow)?;
        table.all.push_back(Arc::clone(&background));
        let ended = |command: &Arc<Background>| command.state() != State::Running;
        while table.all.iter().filter(|command| ended(command)).count() > KEPT_BACKGROUND_COMMANDS {
            let oldest = table.all.iter().position(ended);
            oldest.and_then(|oldest| table.all.remove(oldest));
        }
        Ok(background)
    }

    /// The one with this id.
    pub fn find(&self, id: &str) -> Option<Arc<Background>> {
        lock(&self.table).all.iter().find(|command| command.id == id).cloned()
    }

    /// Those that run and the last ones that have ended, the oldest first.
    pub fn list(&self) -> Vec<Arc<Background>> {
        lock(&self.table).all.iter().cloned().collect()
    }

    pub fn running(&self) -> usize {
        lock(&self.table).running().count()
    }

    /// Ends every command with SIGKILL and lets no new one start. Returns how many there were.
    pub fn end_all(&self) -> usize {
        let mut table = lock(&self.table);
        table.ended = true;
        table.running().map(|command| command.control.kill()).count()
    }

    /// Whether none runs, or is about to.
    pub fn is_over(&self) -> bool {
        let table = lock(&self.table);
        table.starting == 0 && table.running().next().is_none()
    }

    fn reserve(&self) -> Result<(Starting, String), ExecError> {
        let mut table = lock(&self.table);
        if table.ended {
            return Err(ExecError::ShuttingDown);
        }
        if table.running().count() + table.starting >= self.most {
            let ids = table.running().map(|command| command.id.clone()).collect();
            return Err(ExecError::NoBackgroundPlace { most: self.most, ids });
        }
        table.starting += 1;
        table.last_id += 1;
        Ok((Starting(Arc::clone(&self.table)), format!("c{}", table.last_id)))
    }
}

impl Drop for BackgroundCommands {
    fn drop(&mut self) {
        self.end_all();
    }
}

/// Counts a command that is being started.
struct Starting(Arc<Mutex<Table>>);

impl Drop for Starting {
    fn drop(&mut self) {
        lock(&self.0).starting -= 1;
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
            Self::Ended(Ending { timed_out: true, .. }) => Some("timed out".to_owned()),
            Self::Ended(Ending { exit: Exit::Code(code), .. }) => Some(format!("exit code {code}")),
            Self::Ended(Ending { exit: Exit::Signal(signal), .. }) => Some(format!("signal {signal}")),
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
}

/// One background command: what it wrote, how it is doing, and the ways to act on it.
#[derive(Debug)]
pub struct Background {
    id: String,
    line: String,
    at: SystemTime,
    started: Instant,
    control: Control,
    is_terminal: bool,
    input: Mutex<Option<OwnedFd>>,
    /// Its end was asked for; the bell tells the pump.
    pub(super) ending: AtomicBool,
    pub(super) bell: Bell,
    pub(super) shared: Mutex<Shared>,
}

/// What the pump fills and the calls read.
#[derive(Debug)]
pub(super) struct Shared {
    ring: Ring,
    state: State,
    /// How long it ran, once it has ended.
    ran: Option<Duration>,
    /// How far a call without a cursor has read.
    seen: u64,
    watchers: Vec<Arc<Bell>>,
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

    /// What it wrote from `cursor` on, at most `most` bytes; without one, what no such call has read yet. Half a
    /// character at the end is left for the next call while its other half may come.
    pub fn read(&self, cursor: Option<u64>, most: usize) -> io::Result<Page> {
        let mut shared = lock(&self.shared);
        let mut page = shared.ring.read(cursor.unwrap_or(shared.seen), most)?;
        if page.next < page.end || shared.state == State::Running {
            let whole = super::capture::without_partial_character(&page.bytes).len();
            if whole > 0 || page.next == page.end {
                page.next -= (page.bytes.len() - whole) as u64;
                page.bytes.truncate(whole);
            }
        }
        // Whatever a call was shown is seen; looking back unsees nothing.
        shared.seen = shared.seen.max(page.next);
        Ok(page)
    }

    /// Writes to its standard input, or types on its terminal, as long as it takes the bytes. Returns how many it took
    /// until `until` came or the call was cancelled; `None` when its input is closed.
    pub fn write(&self, bytes: &[u8], until: Instant, cancel: &CancelToken) -> Result<Option<usize>, ExecError> {
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

    /// Ends its standard input; on a terminal this is typed, and means the end at the beginning of a line.
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

    /// Waits until it has written more than `beyond` bytes in all and then gathers for a moment what comes with them.
    /// Returns earlier when it has ended, `until` comes or the call is cancelled.
    pub fn await_output(&self, beyond: u64, until: Instant, cancel: &CancelToken) -> Result<(), ExecError> {
        self.watch(until, cancel, |shared| shared.ring.end() > beyond)?;
        let gathered = until.min(Instant::now() + Duration::from_millis(OUTPUT_GATHER_MS));
        loop {
            let now = self.written();
            let quiet = Instant::now() + Duration::from_millis(OUTPUT_QUIET_MS);
            self.watch(gathered.min(quiet), cancel, |shared| shared.ring.end() > now)?;
            if self.written() == now || Instant::now() >= gathered {
                return Ok(());
            }
        }
    }

    fn watch(&self, until: Instant, cancel: &CancelToken, done: impl Fn(&Shared) -> bool) -> Result<(), ExecError> {
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
        lock(&self.shared).watchers.retain(|watcher| !Arc::ptr_eq(watcher, &bell));
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is under the locks is whole at any point.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
