//! The commands of a server that run on after the call that started them.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::background::{Background, Listener, Shared, State, lock};
use super::drain::Pump;
use super::job::Countdown;
use super::poll::Bell;
use super::ring::{OutputFiles, Ring};
use super::running_command::Course;
use super::start::begin;
use super::streams::Streams;
use super::{Command, ExecError, Launcher};
use crate::cancel::CancelToken;
use crate::limits::KEPT_BACKGROUND_COMMANDS;

/// The background commands of a server. Dropping it ends them.
#[derive(Debug)]
pub struct BackgroundCommands {
    files: OutputFiles,
    most: usize,
    table: Arc<Mutex<Table>>,
    listener: Arc<Listener>,
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
        self.all
            .iter()
            .filter(|command| command.state() == State::Running)
    }
}

impl BackgroundCommands {
    /// At most `most` at a time, whose output goes to `files`.
    pub fn new(files: OutputFiles, most: usize) -> Self {
        Self {
            files,
            most,
            table: Arc::default(),
            listener: Arc::default(),
        }
    }

    /// Where their output goes.
    pub fn files(&self) -> &OutputFiles {
        &self.files
    }

    /// Has `listener` hear of each command that has ended, once, on the thread that followed it.
    /// The first one stays.
    pub fn on_end(&self, listener: impl Fn(&Background) + Send + Sync + 'static) {
        // Whoever starts the server says so once.
        let _ = self.listener.0.set(Box::new(listener));
    }

    /// Starts a command and returns once its program runs. Its standard input stays open, its two
    /// output streams are one. It gets SIGTERM after `timeout`, if there is one, and SIGKILL
    /// `grace` after any SIGTERM.
    pub fn start(
        &self,
        launcher: &Launcher,
        command: &Command<'_>,
        timeout: Option<Duration>,
        grace: Duration,
        cancel: &CancelToken,
    ) -> Result<Arc<Background>, ExecError> {
        let request = command.request(true, true)?;
        let place = self.place()?;
        let (job, input, output) = begin(launcher, &request, cancel)?;
        let course = Course::new(
            job,
            Streams::new([Some(output), None]),
            Countdown::new(timeout, grace),
        );
        place.fill(
            command,
            course,
            Some(input),
            Instant::now(),
            Default::default(),
            0,
        )
    }

    /// A place for one more, if there is one.
    pub fn place(&self) -> Result<BackgroundPlace<'_>, ExecError> {
        let (starting, id) = self.reserve()?;
        let ring = self.files.ring().map_err(ExecError::Follow)?;
        let bell = Bell::new().map_err(ExecError::Follow)?;
        Ok(BackgroundPlace {
            all: self,
            id,
            ring,
            bell,
            _starting: starting,
        })
    }

    /// The one with this id.
    pub fn find(&self, id: &str) -> Option<Arc<Background>> {
        lock(&self.table)
            .all
            .iter()
            .find(|command| command.id == id)
            .cloned()
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
        table
            .running()
            .map(|command| command.control.kill())
            .count()
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
            return Err(ExecError::NoBackgroundPlace {
                most: self.most,
                ids,
            });
        }
        table.starting += 1;
        table.last_id += 1;
        Ok((
            Starting(Arc::clone(&self.table)),
            format!("c{}", table.last_id),
        ))
    }
}

impl Drop for BackgroundCommands {
    fn drop(&mut self) {
        self.end_all();
    }
}

/// A place for a command, with what it needs there.
#[derive(Debug)]
pub struct BackgroundPlace<'a> {
    all: &'a BackgroundCommands,
    id: String,
    ring: Ring,
    bell: Bell,
    _starting: Starting,
}

impl BackgroundPlace<'_> {
    /// Takes in a command of whose output so many bytes were read before, and half a character of
    /// each stream.
    pub(super) fn fill(
        self,
        command: &Command<'_>,
        course: Course,
        input: Option<OwnedFd>,
        started: Instant,
        partial: [Vec<u8>; 2],
        read: u64,
    ) -> Result<Arc<Background>, ExecError> {
        let Self {
            all,
            id,
            ring,
            bell,
            _starting,
        } = self;
        let ring = ring.beginning_at(read);
        let background = Arc::new(Background {
            id,
            line: command.line.to_owned(),
            at: SystemTime::now() - started.elapsed(),
            started,
            control: course.job.control(),
            is_terminal: command.terminal.is_some(),
            input: Mutex::new(input),
            ending: AtomicBool::new(false),
            bell,
            shared: Mutex::new(Shared {
                ring,
                state: State::Running,
                ran: None,
                seen: read,
                watchers: Vec::new(),
            }),
        });
        let (followed, listener) = (Arc::clone(&background), Arc::clone(&all.listener));
        let pump = Pump {
            background: followed,
            course,
            partial,
            listener,
        };
        let mut table = lock(&all.table);
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
}

/// Counts a command that is being started.
#[derive(Debug)]
struct Starting(Arc<Mutex<Table>>);

impl Drop for Starting {
    fn drop(&mut self) {
        lock(&self.0).starting -= 1;
    }
}
