//! Commands that are waited for: the loop that follows one from its start to its outcome.

use std::cell::Cell;
use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::capture::Capture;
use super::gatekeeper::Guarded;
use super::interception::{Interception, Listening, in_memory};
use super::job::Countdown;
use super::poll::received;
use super::running_command::Course;
use super::slots::Slot;
use super::streams::{Streams, output_pipe};
use super::{
    Background, BackgroundPlace, Captured, Command, Denied, ExecError, Launcher, Outcome,
    OutputFiles, Slots,
};
use crate::cancel::CancelToken;
use crate::limits::COMMAND_PROGRESS_MS;
use crate::policy::{Touch, note};
use crate::sandbox::{Changed, Dial, DryRunReport, Event, Intercept, Request};

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// As many commands run as may, and this one waits for its turn.
    Waiting,
    Running {
        /// What it wrote to both streams so far, in bytes.
        bytes: u64,
    },
}

/// How the calls of a command over the network are intercepted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Intercepted<'a> {
    /// Variables beside, or instead of, those that commands have.
    pub environment: &'a [(OsString, OsString)],
    /// Certificates (PEM) that take the place of the system's, where commands have a root of their
    /// own: of those of the system, and the one that signs what the server shows. At most
    /// [`crate::limits::CERTIFICATES_BYTES`].
    pub certificates: Option<&'a [u8]>,
    /// Whether [`Interception::dial`] works, as far as the network of commands reaches.
    pub dial: Dial,
    /// Whether servers that the command starts can be reached from other machines, if its network
    /// is that of the system.
    pub open: bool,
    /// Its standard input, output and error, which then nobody captures.
    pub streams: Option<[BorrowedFd<'a>; 3]>,
    /// Signals for this process that are passed on to everything of the command (signalfd(2);
    /// SIGTERM, SIGINT, SIGHUP, SIGQUIT). It has the grace after the first one; a second one means
    /// SIGKILL at once.
    pub signals: Option<BorrowedFd<'a>>,
    /// Nothing is led anywhere: [`Sockets::tcp_4`](super::interception::Sockets::tcp_4) is a proxy
    /// on 127.0.0.1, whose port takes the place of [`PROXY_PORT`](super::PROXY_PORT) in the
    /// variables.
    pub proxy_only: bool,
}

/// Takes an interception, and says who decides about its connections, if somebody does.
pub type OnStart<'a> = dyn FnMut(Interception) -> Option<Arc<dyn Guarded>> + 'a;

/// What goes with an intercepted command.
struct With<'a> {
    channel: OwnedFd,
    bundle: Option<OwnedFd>,
    waiting: Listening,
    signals: Option<BorrowedFd<'a>>,
    on_start: &'a mut OnStart<'a>,
}

/// How a command is run that is waited for: by whom, among which others, and what it is held to.
#[derive(Clone, Copy, Debug)]
pub struct Foreground<'a> {
    pub launcher: &'a Launcher,
    /// Who may run; it takes a place there.
    pub running: &'a Slots,
    /// Ends it.
    pub cancel: &'a CancelToken,
    /// Time until everything of it gets SIGTERM, and as long again at most for a place before that.
    pub timeout: Duration,
    /// Time from SIGTERM to SIGKILL.
    pub grace: Duration,
    /// Bytes of each of the two streams that are kept in memory.
    pub output_cap_bytes: usize,
    /// For what is more; without them that has only an end.
    pub files: Option<&'a OutputFiles>,
    /// Whoever is told the progress sets it to end the command as at the time limit.
    pub over: Option<&'a Cell<bool>>,
}

impl Foreground<'_> {
    /// Runs `command` to its end and returns what it wrote and how it ended.
    ///
    /// At the time limit everything of it gets SIGTERM and, after the grace, SIGKILL; a cancelled
    /// token means SIGKILL at once. When the shell exits by itself, what it left running is ended.
    /// Waits for a place first, no longer than the time limit. `on_progress` is told the elapsed
    /// time and the stage, about every half second.
    pub fn run(
        &self,
        command: &Command<'_>,
        on_progress: &mut dyn FnMut(Duration, Stage),
    ) -> Result<Outcome, ExecError> {
        self.follow(
            command,
            &command.request(false, false)?,
            None,
            None,
            on_progress,
        )
    }

    /// The same on overlays of the read-write directories: the command changes none of them, and
    /// [`Outcome::would_change`] is there. [`ExecError::Refused`] where overlays cannot be had.
    pub fn run_dry(
        &self,
        command: &Command<'_>,
        on_progress: &mut dyn FnMut(Duration, Stage),
    ) -> Result<Outcome, ExecError> {
        let request = Request {
            is_dry_run: true,
            ..command.request(false, false)?
        };
        self.follow(command, &request, None, None, on_progress)
    }

    /// Runs a command as [`Foreground::run`] does, with its calls over the network led to
    /// `on_start`'s sockets. A cancelled token means SIGTERM and, after the grace, SIGKILL.
    ///
    /// `on_start` is called once, before the program connects to anything, on the thread of this
    /// call, which follows the command meanwhile not at all: it has to return soon. Dropping what
    /// it was given has every further connection of the command fail. Where calls cannot be
    /// intercepted (another supervisor is there already, or the kernel lacks something) it is
    /// [`ExecError::Refused`], whose text says why.
    pub fn run_intercepted(
        &self,
        command: &Command<'_>,
        how: &Intercepted<'_>,
        on_start: &mut OnStart<'_>,
        on_progress: &mut dyn FnMut(Duration, Stage),
    ) -> Result<Outcome, ExecError> {
        let mut request = command.request(how.streams.is_some(), false)?;
        let variables = how
            .environment
            .iter()
            .map(|(name, value)| (name.into(), value.into()));
        request.environment.extend(variables);
        request.intercept = Some(Intercept {
            dial: how.dial,
            open: how.open,
            bundle: how.certificates.is_some(),
            proxy_only: how.proxy_only,
        });
        let (waiting, channel) = Listening::new()?;
        let bundle = how.certificates.map(in_memory).transpose()?;
        let with = With {
            channel,
            bundle,
            waiting,
            signals: how.signals,
            on_start,
        };
        self.follow(command, &request, how.streams, Some(with), on_progress)
    }

    /// Runs a command as [`Foreground::run`] does, until the time limit: then `place` is asked for
    /// a place in the background, and if there is one the command goes on there, without a time
    /// limit. If there is none it is ended.
    pub fn run_or_hand_over<'b>(
        &self,
        command: &Command<'_>,
        place: &mut dyn FnMut() -> Option<BackgroundPlace<'b>>,
        on_progress: &mut dyn FnMut(Duration, Stage),
    ) -> Result<Waited, ExecError> {
        let mut attended = self.begin(&command.request(false, false)?, None, None, on_progress)?;
        loop {
            if let Some(outcome) = attended.attend(command, on_progress)? {
                return Ok(Waited::Over(outcome));
            }
            match place() {
                Some(place) => return attended.hand_over(command, place).map(Waited::HandedOver),
                None => attended.course.time_out(),
            }
        }
    }

    fn follow<'a>(
        &'a self,
        command: &Command<'_>,
        request: &Request,
        passed: Option<[BorrowedFd<'_>; 3]>,
        with: Option<With<'a>>,
        on_progress: &mut dyn FnMut(Duration, Stage),
    ) -> Result<Outcome, ExecError> {
        let mut attended = self.begin(request, passed, with, on_progress)?;
        loop {
            match attended.attend(command, on_progress)? {
                Some(outcome) => return Ok(outcome),
                None => attended.course.time_out(),
            }
        }
    }

    fn begin<'a>(
        &'a self,
        request: &Request,
        passed: Option<[BorrowedFd<'_>; 3]>,
        with: Option<With<'a>>,
        on_progress: &mut dyn FnMut(Duration, Stage),
    ) -> Result<Attended<'a>, ExecError> {
        let begun = Instant::now();
        let mut pace = Pace { begun, next: begun };
        let slot = self
            .running
            .enter(self.cancel, begun.checked_add(self.timeout), &mut || {
                pace.tell(Stage::Waiting, on_progress)
            })?;
        let started = Instant::now();
        pace.next = started + PROGRESS;

        let signals = with.as_ref().and_then(|with| with.signals);
        let (listening, channel, bundle) = match with {
            Some(with) => (
                Some((with.waiting, with.on_start)),
                Some(with.channel),
                with.bundle,
            ),
            None => (None, None, None),
        };
        let handed: Vec<BorrowedFd<'_>> = channel.iter().chain(&bundle).map(AsFd::as_fd).collect();
        let (job, open) = match passed {
            _ if request.terminal.is_some() => {
                (self.launcher.spawn(request, &handed)?, [None, None])
            }
            Some(passed) => (
                self.launcher
                    .spawn(request, &[handed, passed.to_vec()].concat())?,
                [None, None],
            ),
            None => {
                let ((stdout, out), (stderr, err)) = (output_pipe()?, output_pipe()?);
                let job = self
                    .launcher
                    .spawn(request, &[handed, vec![out.as_fd(), err.as_fd()]].concat())?;
                (job, [Some(stdout), Some(stderr)])
            }
        };
        // Its end at the supervisor shall be the only one.
        drop((channel, bundle));
        slot.attach(&job)?;
        Ok(Attended {
            cancel: self.cancel,
            wake: self.cancel.wake_fd().map_err(ExecError::follow)?,
            // What it has called until then is wanted.
            is_ended_gently: listening.is_some(),
            course: Course::new(
                job,
                Streams::new(open),
                Countdown::new(Some(self.timeout), self.grace),
            ),
            captured: [(); 2].map(|()| Capture::new(self.output_cap_bytes, self.files)),
            over: self.over,
            started,
            pace,
            listening,
            signals,
            cancelled: false,
            asked_by: None,
            would_change: None,
            _slot: slot,
        })
    }
}

/// How the wait for a command ended.
#[derive(Debug)]
pub enum Waited {
    Over(Outcome),
    /// The time limit came first.
    HandedOver(HandedOver),
}

/// A command that goes on in the background.
#[derive(Debug)]
pub struct HandedOver {
    pub command: Arc<Background>,
    /// What it wrote until then, of which [`Background::read`] gives nothing.
    pub stdout: Captured,
    pub stderr: Captured,
}

/// A command that its call waits for.
struct Attended<'a> {
    course: Course,
    captured: [Capture<'a>; 2],
    over: Option<&'a Cell<bool>>,
    cancel: &'a CancelToken,
    /// Readable when it is cancelled.
    wake: BorrowedFd<'a>,
    /// A cancelled call means SIGTERM first.
    is_ended_gently: bool,
    started: Instant,
    pace: Pace,
    /// Until the supervisor has said its first word.
    listening: Option<(Listening, &'a mut OnStart<'a>)>,
    signals: Option<BorrowedFd<'a>>,
    cancelled: bool,
    asked_by: Option<i32>,
    would_change: Option<DryRunReport>,
    _slot: Slot,
}

impl Attended<'_> {
    /// Waits for the end of the command; `None` when its time is up.
    fn attend(
        &mut self,
        command: &Command<'_>,
        on_progress: &mut dyn FnMut(Duration, Stage),
    ) -> Result<Option<Outcome>, ExecError> {
        loop {
            let course = &mut self.course;
            if !self.cancelled && self.cancel.is_cancelled() {
                if self.is_ended_gently {
                    course.countdown.terminate(&course.job, Signal::SIGTERM);
                } else {
                    course.countdown.kill(&course.job);
                }
                self.cancelled = true;
            }
            let is_over = self.over.is_some_and(Cell::get) && !course.timed_out;
            if course.countdown.is_up() || is_over {
                return Ok(None);
            }
            let bytes = self.captured.iter().map(Capture::total_bytes).sum();
            let next = self.pace.tell(Stage::Running { bytes }, on_progress);
            let wake = (!self.cancelled).then_some(self.wake);
            let heard = self
                .listening
                .as_ref()
                .map(|(listening, _)| listening.as_fd());
            let mut take = |stream: usize, bytes: &[u8]| self.captured[stream].push(bytes);
            let turn = course.turn([wake, heard, self.signals], Some(next), &mut take)?;
            let [_, heard, asked] = turn.ready;
            if asked && let Some(signal) = self.signals.and_then(received) {
                course.countdown.pass_on(&course.job, signal);
                self.asked_by = self.asked_by.or(Some(signal as i32));
            }
            if heard && let Some((ready, on_start)) = self.listening.take() {
                // Else the supervisor is gone, and says why on the other socket.
                if let Some(interception) = ready.begin()? {
                    course.job.guarded = on_start(interception);
                }
            }
            match turn.said {
                None => {}
                Some((Event::WouldChange, Some(report))) => {
                    self.would_change =
                        Some(DryRunReport::unpack(report).map_err(ExecError::Follow)?);
                }
                Some((
                    Event::Ended {
                        exit,
                        left,
                        denied,
                        changed,
                    },
                    _,
                )) => {
                    denied.iter().for_each(note_denied);
                    if let Some(Changed {
                        call,
                        fault,
                        settled,
                    }) = changed
                    {
                        command.changes.come_back(call, fault, settled);
                    }
                    let nothing = || Capture::new(0, None);
                    let captured = std::mem::replace(&mut self.captured, [nothing(), nothing()]);
                    let [stdout, stderr] = captured.map(Capture::finish);
                    return Ok(Some(Outcome {
                        stdout,
                        stderr,
                        exit,
                        timed_out: self.course.timed_out,
                        cancelled: self.cancelled,
                        asked_by: self.asked_by,
                        left,
                        denied,
                        would_change: self.would_change.take(),
                    }));
                }
                Some(_) => return Err(ExecError::out_of_turn()),
            }
        }
    }

    fn hand_over(
        self,
        command: &Command<'_>,
        place: BackgroundPlace<'_>,
    ) -> Result<HandedOver, ExecError> {
        let [(stdout, out), (stderr, err)] = self.captured.map(Capture::finish_whole_characters);
        let partial = [out, err];
        let read = stdout.total_bytes + stderr.total_bytes;
        let input = self
            .course
            .streams
            .terminal_input(command.terminal.is_some())?;
        let course = Course {
            countdown: self.course.countdown.unlimited(),
            ..self.course
        };
        let command = place.fill(command, course, input, self.started, partial, read)?;
        Ok(HandedOver {
            command,
            stdout,
            stderr,
        })
    }
}

fn note_denied(denied: &Denied) {
    match denied {
        Denied::Protected(path)
        | Denied::ReadOnly(path)
        | Denied::Metadata(path)
        | Denied::Hidden(path)
        | Denied::Socket(path)
        | Denied::GitLink(path)
        | Denied::Move(path)
        | Denied::Kept(path) => {
            note(path.as_path(), None, Touch::Denied);
        }
        Denied::Blocked(blocked) => note(&blocked.url(), None, Touch::Denied),
        _ => {}
    }
}

const PROGRESS: Duration = Duration::from_millis(COMMAND_PROGRESS_MS);

/// Keeps the progress reports apart.
struct Pace {
    begun: Instant,
    next: Instant,
}

impl Pace {
    /// Reports if it is time to, and returns when the next report is due.
    fn tell(&mut self, stage: Stage, on_progress: &mut dyn FnMut(Duration, Stage)) -> Instant {
        let now = Instant::now();
        if now >= self.next {
            on_progress(now - self.begun, stage);
            self.next = now + PROGRESS;
        }
        self.next
    }
}
