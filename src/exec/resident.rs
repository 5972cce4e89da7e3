//! Programs that stay: one that hears requests on a socket, is interrupted and lives on, until it
//! is told to end.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::activity::{Activity, ActivityGuard};
use super::poll::{Bell, readable};
use super::slots::Slot;
use super::start::await_start;
use super::streams::output_pipe;
use super::{Denied, ExecError, Exit, Job, Launcher, News, Slots};
use crate::cancel::CancelToken;
use crate::policy::{Touch, note};
use crate::sandbox::{Changed, Event, Guard, Place, RawString, Request, Run, Vitals};

/// A program without a shell.
#[derive(Clone, Debug)]
pub struct Program<'a> {
    /// What its entry in the journal is called.
    pub title: &'a str,
    /// Its absolute path, and its arguments.
    pub argv: &'a [RawString],
    /// The working directory, from [`super::place_of`] a checked handle: another one that has taken
    /// its name since is refused.
    pub dir: Place,
    /// Variables beside, or instead of, those that commands have.
    pub environment: &'a [(OsString, OsString)],
}

/// A program that stays: it hears requests on its standard input, which is one end of a socket, and
/// answers there.
///
/// It is held as commands are, but to no time. Dropping this ends it and all that it has started,
/// with nobody waiting for that.
#[derive(Debug)]
pub struct Resident {
    // Dropped first: the place is free for another one when this one was told to end.
    job: Job,
    channel: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
    started: Instant,
    /// The number of the last question about its state.
    asked: AtomicU64,
    heard: Mutex<Heard>,
    works: Activity,
    _slot: Slot,
}

/// What its supervisor has said.
#[derive(Debug, Default)]
struct Heard {
    /// The last answer, and the number of its question.
    vitals: Option<(u64, Option<Vitals>)>,
    account: Option<(u64, Option<Changed>)>,
    denied: Vec<Denied>,
    over: Option<Over>,
    /// Who waits for something to be said: one of them hears it.
    watchers: Vec<Arc<Bell>>,
}

/// How it ended.
#[derive(Clone, Debug)]
struct Over {
    exit: Exit,
    denied: Vec<Denied>,
    changed: Option<Changed>,
}

/// How a program that stays was a moment ago.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramStatus {
    /// The state of its first thread, as a letter of proc(5) (`/proc/PID/stat`): `R` runs, `S` and
    /// `D` wait, `T` is stopped. `Z` has ended, and something that it started has not; then all
    /// else but `processes` and `uptime` is 0.
    pub state: char,
    /// Memory of the program that is resident, in bytes; its children not counted.
    pub rss_bytes: u64,
    /// Processor time of the program, all its threads and the kernel's work for it counted, to
    /// about 10 ms.
    pub cpu: Duration,
    /// The same of its children that have ended and were waited for, and theirs.
    pub children_cpu: Duration,
    pub threads: u32,
    /// Time since it was started.
    pub uptime: Duration,
    /// The program and all that it has started and that is still there, no more than
    /// [`crate::limits::MAX_COUNTED_PROCESSES`].
    pub processes: u32,
}

impl Resident {
    /// Starts a program and returns once it is executed. It takes one of the places of `running`,
    /// which end it with all others ([`Slots::end_all`]).
    ///
    /// Fails at once with [`ExecError::NoResidentPlace`] if all are taken, and with
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

    /// The same without waiting: it may not be executed yet when this returns, and one that cannot
    /// be is one that was killed ([`Resident::ended`]).
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
        // Only our end: each has an open file of its own, and a program expects its reads to wait.
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

    /// The other end of the program's standard input: a stream socket (unix(7)) for both ways,
    /// which does not block.
    ///
    /// What comes from there is the program's, and so of whoever it lets have its end: bytes of any
    /// kind, at any time, or the end of the stream while the program lives. Descriptors that it
    /// sends along are closed by the kernel if this is read with read(2).
    pub fn channel(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }

    /// The end to read its standard output from; does not block.
    pub fn stdout(&self) -> BorrowedFd<'_> {
        self.stdout.as_fd()
    }

    /// The end to read its standard error from; does not block.
    pub fn stderr(&self) -> BorrowedFd<'_> {
        self.stderr.as_fd()
    }

    /// Readable when there may be news for [`Resident::ended`], and always once there is.
    pub fn supervisor(&self) -> BorrowedFd<'_> {
        self.job.as_fd()
    }

    /// Says that it does something from now on, until what this returns is dropped. Commands that
    /// run meanwhile are not told of what only the kernel's counts for all together would tell.
    pub fn work(&self) -> ActivityGuard {
        self.works.begin()
    }

    /// SIGINT to everything of it, as a terminal does for a key. It lives on if it minds the
    /// signal, and nothing follows.
    ///
    /// Fails with [`ExecError::Over`] if it has ended.
    pub fn interrupt(&self) -> Result<(), ExecError> {
        self.job
            .interrupt()
            .or_else(|error| self.said_to_nobody(error))
    }

    /// SIGTERM to everything of it. What of it does not mind the signal goes on, until
    /// [`Resident::kill`].
    pub fn terminate(&self) {
        self.job.terminate(Signal::SIGTERM);
    }

    /// SIGKILL to everything of it.
    pub fn kill(&self) {
        self.job.kill();
    }

    /// Time since it was started.
    pub fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// How it is. Its supervisor answers, so it does not matter what the program is busy with.
    ///
    /// Fails with [`ExecError::Over`] if it has ended, and with [`ExecError::Silent`] if there is
    /// no answer in time.
    pub fn status(&self, timeout: Duration) -> Result<ProgramStatus, ExecError> {
        let until = Instant::now().checked_add(timeout);
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        self.job
            .ask(number)
            .or_else(|error| self.said_to_nobody(error))?;
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

    /// How it ended, if it has; does not wait. Then nothing of it is alive, and what lies in its
    /// channel and its output is all that comes.
    ///
    /// If the process that watched over it was killed, it was killed as well, and so this says.
    pub fn ended(&self) -> Option<Exit> {
        let mut heard = self.lock();
        self.hear(&mut heard);
        heard.over.as_ref().map(|over| over.exit)
    }

    /// What the walls refused to it, each thing once; known when it has ended.
    pub fn denied(&self) -> Vec<Denied> {
        self.lock()
            .over
            .as_ref()
            .map(|over| over.denied.clone())
            .unwrap_or_default()
    }

    /// The connections that no rule allows, since this was asked before.
    pub fn blocked(&self) -> Vec<Denied> {
        self.job.blocked()
    }

    /// Takes the refusals of the walls up to the last end of an entry, or up to its own end.
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

    /// What it changed since the last time; what comes after is called `next`, from before this
    /// returns.
    pub fn end_entry(&self, next: &str, timeout: Duration) -> Result<Option<Changed>, ExecError> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let _ = self.job.ask_for_account(number, next);
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

    /// Waits until it has ended. `None` when `until` comes or the call is cancelled before.
    pub fn await_end(
        &self,
        until: Instant,
        cancel: &CancelToken,
    ) -> Result<Option<Exit>, ExecError> {
        self.watch(Some(until), Some(cancel), |heard| {
            heard.over.as_ref().map(|over| over.exit)
        })
    }

    /// Waits until `find` has found something in what was said. `None` when `until` comes or the
    /// call is cancelled before.
    fn watch<T>(
        &self,
        until: Option<Instant>,
        cancel: Option<&CancelToken>,
        find: impl Fn(&Heard) -> Option<T>,
    ) -> Result<Option<T>, ExecError> {
        let wake = cancel
            .map(CancelToken::wake_fd)
            .transpose()
            .map_err(ExecError::follow)?;
        // Whoever else waits may be the one that hears.
        let bell = Arc::new(Bell::new().map_err(ExecError::Follow)?);
        self.lock().watchers.push(Arc::clone(&bell));
        let found = loop {
            bell.hush();
            {
                let mut heard = self.lock();
                self.hear(&mut heard);
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

    /// Takes in what its supervisor has said since.
    fn hear(&self, heard: &mut Heard) {
        while heard.over.is_none() {
            let over = match self.job.next_event() {
                Ok(News::Nothing) => return,
                Ok(News::Said(Event::Status { number, vitals }, _)) => {
                    // Of two who ask at once the later one may be heard first, and its answer does
                    // for both.
                    if heard
                        .vitals
                        .as_ref()
                        .is_none_or(|(answered, _)| *answered < number)
                    {
                        heard.vitals = Some((number, vitals));
                    }
                    None
                }
                // Nobody has waited for it.
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
                )) => Some(Over {
                    exit,
                    denied,
                    changed,
                }),
                // A supervisor that is not understood, or has gone, does not leave the program
                // behind.
                Ok(News::Said(..) | News::Gone) | Err(_) => Some(Over {
                    exit: Exit::Signal(Signal::SIGKILL as i32),
                    denied: Vec::new(),
                    changed: None,
                }),
            };
            if over.is_some() {
                // Those who only look for news shall find that there is some for good.
                self.job.close();
                heard.over = over;
            }
            heard.watchers.iter().for_each(|watcher| watcher.ring());
        }
    }

    /// Why the supervisor could not be told.
    fn said_to_nobody(&self, error: ExecError) -> Result<(), ExecError> {
        Err(self.ended().map_or(error, |exit| ExecError::Over { exit }))
    }

    fn lock(&self) -> MutexGuard<'_, Heard> {
        // What is under the lock is whole at any point.
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
        note(self.dir.path.as_path(), None, Touch::Run);
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
