//! Background commands of a server.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use replay_base::cancel::CancelToken;
use replay_base::limits::KEPT_BACKGROUND_COMMANDS;

use super::background::{Background, Listener, Shared, State, lock};
use super::drain::Pump;
use super::job::Countdown;
use super::poll::Bell;
use super::ring::{OutputFiles, Ring};
use super::running_command::RunningCommand;
use super::start::begin;
use super::streams::Streams;
use super::{Command, ExecError, Launcher};

/// Background commands of a server. Dropping this ends them.
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
    /// Number of commands being started; they count against the limit.
    starting: usize,
    /// All commands, oldest first; ended ones are kept for a while.
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
    /// Creates a table for at most `most` commands at a time, whose output goes to `files`.
    pub fn new(files: OutputFiles, most: usize) -> Self {
        Self {
            files,
            most,
            table: Arc::default(),
            listener: Arc::default(),
        }
    }

    /// Returns the files for output.
    pub fn files(&self) -> &OutputFiles {
        &self.files
    }

    /// Sets the callback for ended commands. It runs once per command, on the thread that followed
    /// the command. Only the first call has an effect.
    pub fn on_end(&self, listener: impl Fn(&Background) + Send + Sync + 'static) {
        // The server sets it once, at its start.
        let _ = self.listener.0.set(Box::new(listener));
    }

    /// Starts a command and returns once its program runs. Its standard input stays open, and both
    /// output streams share one pipe. The command gets SIGTERM after `timeout`, if any, and SIGKILL
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
        let course = RunningCommand::new(
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

    /// Reserves a slot for one more command. Fails if all are taken.
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

    /// Returns the command with this id.
    pub fn find(&self, id: &str) -> Option<Arc<Background>> {
        lock(&self.table)
            .all
            .iter()
            .find(|command| command.id == id)
            .cloned()
    }

    /// Returns the running commands and the last ended ones, oldest first.
    pub fn list(&self) -> Vec<Arc<Background>> {
        lock(&self.table).all.iter().cloned().collect()
    }

    pub fn running(&self) -> usize {
        lock(&self.table).running().count()
    }

    /// Kills every command and lets no new one start. Returns the number of commands killed.
    pub fn end_all(&self) -> usize {
        let mut table = lock(&self.table);
        table.ended = true;
        table
            .running()
            .map(|command| command.control.kill())
            .count()
    }

    /// Returns true if no command runs or is being started.
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

/// A reserved slot for a background command, with its output file and bell.
#[derive(Debug)]
pub struct BackgroundPlace<'a> {
    all: &'a BackgroundCommands,
    id: String,
    ring: Ring,
    bell: Bell,
    _starting: Starting,
}

impl BackgroundPlace<'_> {
    /// Takes over a running command. The call has read `read` bytes of its output, and `partial`
    /// holds an incomplete character of each stream.
    pub(super) fn fill(
        self,
        command: &Command<'_>,
        course: RunningCommand,
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
        course.job.goes_on_as(&id);
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

/// Counts a command as being started until dropped.
#[derive(Debug)]
struct Starting(Arc<Mutex<Table>>);

impl Drop for Starting {
    fn drop(&mut self) {
        lock(&self.0).starting -= 1;
    }
}
