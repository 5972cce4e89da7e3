//! Resident programs: they receive requests on a socket, survive interrupts and run until they are
//! ended.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use replay_base::cancel::CancelToken;
use replay_files::policy::{AccessKind, note};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::activity::{Activity, ActivityGuard};
use super::poll::{Bell, readable};
use super::slots::Slot;
use super::start::await_start;
use super::streams::output_pipe;
use super::{Denied, ExecError, Exit, Job, Launcher, News, Slots};
use crate::{CanonicalPath, Changed, Event, Guard, RawString, Request, Run, Vitals};

/// A program that runs without a shell.
#[derive(Clone, Debug)]
pub struct Program<'a> {
    /// Title of its entry in the journal.
    pub title: &'a str,
    /// Its absolute path and its arguments.
    pub argv: &'a [RawString],
    /// Working directory, from [`super::place_of`] a checked handle. A different directory that has
    /// taken its path since is refused.
    pub dir: CanonicalPath,
    /// Additional environment variables; they override those of all commands.
    pub environment: &'a [(OsString, OsString)],
}

/// A resident program: its standard input is one end of a socket, on which it receives requests and
/// sends answers.
///
/// It has the limits of commands, except for the time limit. Dropping this ends it and its
/// processes without waiting for them.
#[derive(Debug)]
pub struct Resident {
    // Dropped first: the slot must be freed after the program was told to end.
    job: Job,
    channel: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
    started: Instant,
    /// Number of the last status request.
    asked: AtomicU64,
    heard: Mutex<SupervisorState>,
    works: Activity,
    _slot: Slot,
}

/// Messages received from the supervisor.
#[derive(Debug, Default)]
struct SupervisorState {
    /// Last answer, with the number of its request.
    vitals: Option<(u64, Option<Vitals>)>,
    account: Option<(u64, Option<Changed>)>,
    denied: Vec<Denied>,
    over: Option<ProgramEnd>,
    /// Bells of the waiting threads; one of them receives the message.
    watchers: Vec<Arc<Bell>>,
}

/// End of the program.
#[derive(Clone, Debug)]
struct ProgramEnd {
    exit: Exit,
    denied: Vec<Denied>,
    changed: Option<Changed>,
}

/// Recent status of a resident program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramStatus {
    /// State of its first thread, as a letter of proc(5) (`/proc/PID/stat`). `R` is running, `S`
    /// and `D` are waiting, `T` is stopped. `Z` has ended while a process that it started still
    /// runs; then all other fields except `processes` and `uptime` are 0.
    pub state: char,
    /// Resident memory of the program in bytes, without its children.
    pub rss_bytes: u64,
    /// CPU time of all threads of the program, user and system, to about 10 ms.
    pub cpu: Duration,
    /// CPU time of its descendants that have ended and were waited for.
    pub children_cpu: Duration,
    pub threads: u32,
    /// Time since its start.
    pub uptime: Duration,
    /// Number of living processes: the program and its descendants, at most
    /// [`replay_base::limits::MAX_COUNTED_PROCESSES`].
    pub processes: u32,
}

impl Resident {
    /// Starts a program and returns once it is executed. It takes a slot of `running`, so
    /// [`Slots::end_all`] ends it too.
    ///
    /// Fails at once with [`ExecError::NoResidentPlace`] if all slots are taken, and with
    /// [`ExecError::Refused`] if the program cannot be executed.
    pub fn start(
        launcher: &Launcher,
        program: &Program<'_>,
        running: &Slots,
        cancel: &CancelToken,
    ) -> Result<Self, ExecError> {
        let resident = Self::spawn(launcher, program, running)?;
        if await_start(&resident.job, cancel)?.is_some() {
            return Err(ExecError::out_of_turn());
        }
        Ok(resident)
    }

    /// Starts a program like [`Self::start`] without waiting for its execution. If that fails
    /// later, the program counts as killed ([`Resident::ended`]).
    pub fn spawn(
        launcher: &Launcher,
        program: &Program<'_>,
        running: &Slots,
    ) -> Result<Self, ExecError> {
        let request = program.request()?;
        let slot = running.enter_at_once()?;
        let started = Instant::now();
        let (channel, stdin) = socketpair(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )
        .map_err(ExecError::follow)?;
        // Only our end: each end has its own open file description, and a program expects blocking
        // reads.
        rustix::io::ioctl_fionbio(&channel, true).map_err(ExecError::follow)?;
        let ((stdout, out), (stderr, err)) = (output_pipe()?, output_pipe()?);
        let job = launcher.spawn(&request, &[stdin.as_fd(), out.as_fd(), err.as_fd()])?;
        drop((stdin, out, err));
        slot.attach(&job)?;
        let (asked, heard) = (AtomicU64::new(0), Mutex::default());
        let works = launcher.works();
        Ok(Self {
            job,
            channel,
            stdout,
            stderr,
            started,
            asked,
            heard,
            works,
            _slot: slot,
        })
    }

    /// Returns the other end of the program's standard input: a bidirectional, nonblocking stream
    /// socket (unix(7)).
    ///
    /// The data comes from the program, or from any process that inherits its end. Arbitrary bytes
    /// can come at any time, and the end of the stream while the program lives. Plain read(2) makes
    /// the kernel close any passed descriptors.
    pub fn channel(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }

    /// Returns the read end of its standard output; nonblocking.
    pub fn stdout(&self) -> BorrowedFd<'_> {
        self.stdout.as_fd()
    }

    /// Returns the read end of its standard error; nonblocking.
    pub fn stderr(&self) -> BorrowedFd<'_> {
        self.stderr.as_fd()
    }

    /// Returns a descriptor that is readable when [`Resident::ended`] may have news, and always
    /// after the end.
    pub fn supervisor(&self) -> BorrowedFd<'_> {
        self.job.as_fd()
    }

    /// Marks the program as working until the guard is dropped. Commands that run meanwhile get no
    /// denials that rely on system-wide counters.
    pub fn work(&self) -> ActivityGuard {
        self.works.begin()
    }

    /// Sends SIGINT to all its processes, as a terminal does. If it handles the signal it lives on.
    ///
    /// Fails with [`ExecError::Over`] if the program has ended.
    pub fn interrupt(&self) -> Result<(), ExecError> {
        self.job.interrupt().or_else(|error| self.send_error(error))
    }

    /// Sends SIGTERM to all its processes. Those that ignore the signal run until
    /// [`Resident::kill`].
    pub fn terminate(&self) {
        self.job.terminate(Signal::SIGTERM);
    }

    /// Sends SIGKILL to all its processes.
    pub fn kill(&self) {
        self.job.kill();
    }

    /// Returns the time since the start.
    pub fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// Returns the status. Its supervisor answers, so the program itself may be busy.
    ///
    /// Fails with [`ExecError::Over`] if the program has ended, and with [`ExecError::Silent`] if
    /// no answer comes in time.
    pub fn status(&self, timeout: Duration) -> Result<ProgramStatus, ExecError> {
        let until = Instant::now().checked_add(timeout);
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        self.job
            .request_status(number)
            .or_else(|error| self.send_error(error))?;
        let vitals = self.watch(until, None, |heard| match &heard.vitals {
            Some((answered, vitals)) if *answered >= number => Some(vitals.clone()),
            _ => heard.over.is_some().then_some(None),
        })?;
        match vitals {
            Some(Some(vitals)) => Ok(ProgramStatus {
                state: vitals.state,
                rss_bytes: vitals.rss_bytes,
                cpu: Duration::from_millis(vitals.cpu_ms),
                children_cpu: Duration::from_millis(vitals.children_cpu_ms),
                threads: vitals.threads,
                uptime: self.uptime(),
                processes: vitals.processes,
            }),
            Some(None) => Err(match self.ended() {
                Some(exit) => ExecError::Over { exit },
                None => ExecError::Follow(io::Error::new(
                    io::ErrorKind::NotFound,
                    "it is not in /proc",
                )),
            }),
            None => Err(ExecError::Silent { timeout }),
        }
    }

    /// Returns the exit status if the program has ended; does not wait. Then all its processes are
    /// dead, and its channel and output hold all remaining data.
    ///
    /// If its supervisor was killed, the program was killed as well, and this returns SIGKILL.
    pub fn ended(&self) -> Option<Exit> {
        let mut heard = self.lock();
        self.process_messages(&mut heard);
        heard.over.as_ref().map(|over| over.exit)
    }

    /// Returns the accesses that the sandbox denied, without duplicates; known after the end.
    pub fn denied(&self) -> Vec<Denied> {
        self.lock()
            .over
            .as_ref()
            .map(|over| over.denied.clone())
            .unwrap_or_default()
    }

    /// Returns the connections blocked since the last call.
    pub fn blocked(&self) -> Vec<Denied> {
        self.job.blocked()
    }

    /// Takes the denials up to the last end of an entry, or up to the end of the program.
    pub fn take_denied(&self) -> Vec<Denied> {
        let mut heard = self.lock();
        let last = heard
            .over
            .as_mut()
            .map(|over| std::mem::take(&mut over.denied));
        std::mem::take(&mut heard.denied)
            .into_iter()
            .chain(last.unwrap_or_default())
            .collect()
    }

    /// Ends the journal entry and returns its changes. Later changes belong to an entry with the
    /// title `next`, which begins before this returns.
    pub fn end_entry(&self, next: &str, timeout: Duration) -> Result<Option<Changed>, ExecError> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let _ = self.job.request_changes(number, next);
        let account = self.watch(
            Instant::now().checked_add(timeout),
            None,
            |heard| match &heard.account {
                Some((answered, changed)) if *answered >= number => Some(changed.clone()),
                _ => heard.over.as_ref().map(|over| over.changed.clone()),
            },
        )?;
        account.ok_or(ExecError::Silent { timeout })
    }

    /// Waits for the end of the program. `None` if `until` passes or the call is cancelled first.
    pub fn await_end(
        &self,
        until: Instant,
        cancel: &CancelToken,
    ) -> Result<Option<Exit>, ExecError> {
        self.watch(Some(until), Some(cancel), |heard| {
            heard.over.as_ref().map(|over| over.exit)
        })
    }

    /// Waits until `find` returns a value for the received messages. `None` if `until` passes or
    /// the call is cancelled first.
    fn watch<T>(
        &self,
        until: Option<Instant>,
        cancel: Option<&CancelToken>,
        find: impl Fn(&SupervisorState) -> Option<T>,
    ) -> Result<Option<T>, ExecError> {
        let wake = cancel
            .map(CancelToken::wake_fd)
            .transpose()
            .map_err(ExecError::follow)?;
        // Another waiting thread may receive the message and ring this bell.
        let bell = Arc::new(Bell::new().map_err(ExecError::Follow)?);
        self.lock().watchers.push(Arc::clone(&bell));
        let found = loop {
            bell.hush();
            {
                let mut heard = self.lock();
                self.process_messages(&mut heard);
                if let Some(found) = find(&heard) {
                    break Ok(Some(found));
                }
            }
            if cancel.is_some_and(CancelToken::is_cancelled)
                || until.is_some_and(|until| Instant::now() >= until)
            {
                break Ok(None);
            }
            if let Err(error) = readable([Some(self.job.as_fd()), Some(bell.as_fd()), wake], until)
            {
                break Err(error);
            }
        };
        self.lock()
            .watchers
            .retain(|watcher| !Arc::ptr_eq(watcher, &bell));
        found
    }

    /// Processes the pending messages of the supervisor.
    fn process_messages(&self, heard: &mut SupervisorState) {
        while heard.over.is_none() {
            let over = match self.job.next_event() {
                Ok(News::Nothing) => return,
                Ok(News::Said(Event::Status { number, vitals }, _)) => {
                    // With two concurrent requests, the answer to the later one may come first. It
                    // serves both.
                    if heard
                        .vitals
                        .as_ref()
                        .is_none_or(|(answered, _)| *answered < number)
                    {
                        heard.vitals = Some((number, vitals));
                    }
                    None
                }
                // No caller waits for it.
                Ok(News::Said(Event::Started, _)) => None,
                Ok(News::Said(
                    Event::Accounted {
                        number,
                        changed,
                        denied,
                    },
                    _,
                )) => {
                    heard.denied.extend(denied);
                    heard.account = Some((number, changed));
                    None
                }
                Ok(News::Said(
                    Event::Ended {
                        exit,
                        denied,
                        changed,
                        ..
                    },
                    _,
                )) => Some(ProgramEnd {
                    exit,
                    denied,
                    changed,
                }),
                // If the supervisor sends an invalid message or is gone, the program is dead too.
                Ok(News::Said(..) | News::Gone) | Err(_) => Some(ProgramEnd {
                    exit: Exit::Signal(Signal::SIGKILL as i32),
                    denied: Vec::new(),
                    changed: None,
                }),
            };
            if over.is_some() {
                // Keeps the descriptor readable for pollers.
                self.job.close();
                heard.over = over;
            }
            heard.watchers.iter().for_each(|watcher| watcher.ring());
        }
    }

    /// Returns the error for a message that could not be sent.
    fn send_error(&self, error: ExecError) -> Result<(), ExecError> {
        Err(self.ended().map_or(error, |exit| ExecError::Over { exit }))
    }

    fn lock(&self) -> MutexGuard<'_, SupervisorState> {
        // The protected value is consistent at any point, also after a panic.
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Program<'_> {
    fn request(&self) -> Result<Request, ExecError> {
        let invalid = |what: &str| ExecError::Refused {
            step: what.to_owned(),
            cause: io::Error::from(io::ErrorKind::InvalidInput),
        };
        let environment: Vec<(RawString, RawString)> = self
            .environment
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        let variables = environment.iter().flat_map(|(name, value)| [name, value]);
        if self
            .argv
            .iter()
            .chain(variables)
            .any(|text| text.as_bytes().contains(&0))
        {
            return Err(invalid("an argument or a variable has a NUL byte"));
        }
        if !self
            .argv
            .first()
            .is_some_and(|program| program.as_path().is_absolute())
        {
            return Err(invalid("the program has no absolute path"));
        }
        note(self.dir.path.as_path(), None, AccessKind::Run);
        Ok(Request {
            run: Run::Program(self.argv.to_vec()),
            dir: self.dir.clone(),
            environment,
            stdin: true,
            terminal: None,
            announce: true,
            stays: true,
            intercept: None,
            guard: Guard::default(),
            title: self.title.to_owned(),
            call: None,
            is_dry_run: false,
        })
    }
}

#[cfg(test)]
mod tests;
