//! Foreground commands: the loop that follows one from its start to its outcome.

use std::cell::Cell;
use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use replay_base::cancel::CancelToken;
use replay_base::limits::COMMAND_PROGRESS_MS;
use replay_files::policy::{AccessKind, note};

use super::capture::Capture;
use super::gatekeeper::Guarded;
use super::interception::{Interception, Listening, in_memory};
use super::job::Countdown;
use super::poll::received;
use super::running_command::RunningCommand;
use super::slots::Slot;
use super::streams::{Streams, output_pipe};
use super::{
    Background, BackgroundPlace, Captured, Command, Denied, ExecError, Launcher, Outcome,
    OutputFiles, Slots,
};
use crate::{Changed, Dial, DryRunReport, Event, Intercept, Request};

/// Progress of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage<'a> {
    /// All slots are taken, and this command waits for one.
    Waiting,
    Running {
        stdout: &'a Captured,
        stderr: &'a Captured,
    },
}

impl Stage<'_> {
    /// Returns the length of the output on both streams so far, in bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            Stage::Waiting => 0,
            Stage::Running { stdout, stderr } => stdout.total_bytes + stderr.total_bytes,
        }
    }
}

/// Settings for the interception of a command's network connections.
#[derive(Clone, Copy, Debug, Default)]
pub struct Intercepted<'a> {
    /// Additional environment variables; they override those of all commands.
    pub environment: &'a [(OsString, OsString)],
    /// Certificates (PEM) that replace the system's: the system's own, and the one that signs the
    /// server's certificates. Used only if commands have their own root. At most
    /// [`replay_base::limits::CERTIFICATES_BYTES`].
    pub certificates: Option<&'a [u8]>,
    /// Availability of [`Interception::dial`], within the network of commands.
    pub dial: Dial,
    /// `true` if other machines can reach servers that the command starts, provided that it uses
    /// the network of the system.
    pub open: bool,
    /// Standard input, output and error of the command, which are then not captured.
    pub streams: Option<[BorrowedFd<'a>; 3]>,
    /// Signals for this process that are forwarded to all processes of the command (signalfd(2);
    /// SIGTERM, SIGINT, SIGHUP, SIGQUIT). The grace period begins with the first one. A second one
    /// means SIGKILL at once.
    pub signals: Option<BorrowedFd<'a>>,
    /// `true` to redirect no connection. [`Sockets::tcp_4`](super::interception::Sockets::tcp_4) is
    /// then a proxy on 127.0.0.1. Its port replaces [`PROXY_PORT`](super::PROXY_PORT) in the
    /// variables in any case.
    pub proxy_only: bool,
}

/// Callback that receives the interception; returns the guard of the command's connections, if any.
pub(super) type OnStart<'a> = dyn FnMut(Interception) -> Option<Arc<dyn Guarded>> + 'a;

/// Interception state to attach to a command.
struct InterceptionSetup<'a> {
    channel: OwnedFd,
    bundle: Option<OwnedFd>,
    waiting: Listening,
    signals: Option<BorrowedFd<'a>>,
    on_start: &'a mut OnStart<'a>,
}

/// Settings for running a foreground command: launcher, slots and limits.
#[derive(Clone, Copy, Debug)]
pub struct Foreground<'a> {
    pub launcher: &'a Launcher,
    /// Slots for commands; the command takes one.
    pub running: &'a Slots,
    /// Token that ends the command.
    pub cancel: &'a CancelToken,
    /// Time until all processes of the command get SIGTERM. The wait for a slot before that is
    /// limited to the same time.
    pub timeout: Duration,
    /// Time from SIGTERM to SIGKILL.
    pub grace: Duration,
    /// Bytes of each stream that are kept in memory.
    pub output_cap_bytes: usize,
    /// Files for longer output. Without them, only the end of longer output is kept.
    pub files: Option<&'a OutputFiles>,
    /// Flag that the progress callback sets to end the command as at the time limit.
    pub over: Option<&'a Cell<bool>>,
}

impl Foreground<'_> {
    /// Runs `command` to its end and returns its output and exit status.
    ///
    /// Waits for a slot first, at most for the time limit. At the time limit all processes get
    /// SIGTERM and, after the grace period, SIGKILL. Cancelling means SIGKILL at once. When the
    /// shell exits by itself, its remaining processes are killed. `on_progress` receives the
    /// elapsed time and the stage about every half second.
    pub fn run(
        &self,
        command: &Command<'_>,
        on_progress: &mut dyn FnMut(Duration, Stage<'_>),
    ) -> Result<Outcome, ExecError> {
        self.follow(
            command,
            &command.request(false, false)?,
            None,
            None,
            on_progress,
        )
    }

    /// Runs `command` on overlays of the read-write directories, so that it changes none of them,
    /// and fills [`Outcome::would_change`]. Fails with [`ExecError::Refused`] if overlays are not
    /// available.
    pub fn run_dry(
        &self,
        command: &Command<'_>,
        on_progress: &mut dyn FnMut(Duration, Stage<'_>),
    ) -> Result<Outcome, ExecError> {
        let request = Request {
            is_dry_run: true,
            ..command.request(false, false)?
        };
        self.follow(command, &request, None, None, on_progress)
    }

    /// Runs a command like [`Foreground::run`], with its network connections redirected to the
    /// sockets given to `on_start`. Cancelling means SIGTERM and, after the grace period, SIGKILL.
    ///
    /// `on_start` is called once, before the program connects, on the thread of this call. The
    /// thread does not follow the command meanwhile, so `on_start` must return soon. Dropping the
    /// interception makes every further connection of the command fail. Fails with
    /// [`ExecError::Refused`], and the reason, if connections cannot be intercepted: another
    /// supervisor is present, or the kernel lacks a feature.
    pub fn run_intercepted(
        &self,
        command: &Command<'_>,
        how: &Intercepted<'_>,
        on_start: &mut OnStart<'_>,
        on_progress: &mut dyn FnMut(Duration, Stage<'_>),
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
        let with = InterceptionSetup {
            channel,
            bundle,
            waiting,
            signals: how.signals,
            on_start,
        };
        self.follow(command, &request, how.streams, Some(with), on_progress)
    }

    /// Runs a command like [`Foreground::run`], until the time limit. Then `place` is asked for a
    /// background slot. With one, the command goes on there for `rest`. Else the call waits for
    /// `rest`, if there is any, and then the command is ended.
    pub fn run_or_hand_over<'b>(
        &self,
        command: &Command<'_>,
        mut rest: Option<Duration>,
        place: &mut dyn FnMut() -> Option<BackgroundPlace<'b>>,
        on_progress: &mut dyn FnMut(Duration, Stage<'_>),
    ) -> Result<Waited, ExecError> {
        let mut attended = self.begin(&command.request(false, false)?, None, None, on_progress)?;
        loop {
            if let Some(outcome) = attended.attend(command, on_progress)? {
                return Ok(Waited::Over(outcome));
            }
            match (place(), rest.take()) {
                (Some(place), rest) => {
                    let handed = attended.hand_over(command, place, rest);
                    return handed.map(Waited::HandedOver);
                }
                (None, Some(rest)) => attended.course.limit_to(Some(rest)),
                (None, None) => attended.course.time_out(),
            }
        }
    }

    fn follow<'a>(
        &'a self,
        command: &Command<'_>,
        request: &Request,
        passed: Option<[BorrowedFd<'_>; 3]>,
        with: Option<InterceptionSetup<'a>>,
        on_progress: &mut dyn FnMut(Duration, Stage<'_>),
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
        with: Option<InterceptionSetup<'a>>,
        on_progress: &mut dyn FnMut(Duration, Stage<'_>),
    ) -> Result<ForegroundRun<'a>, ExecError> {
        let begun = Instant::now();
        let mut pace = ProgressTimer { begun, next: begun };
        let slot = self
            .running
            .enter(self.cancel, begun.checked_add(self.timeout), &mut || {
                pace.report(Stage::Waiting, on_progress)
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
        // The supervisor shall hold the only copy of its end.
        drop((channel, bundle));
        slot.attach(&job)?;
        Ok(ForegroundRun {
            cancel: self.cancel,
            wake: self.cancel.wake_fd().map_err(ExecError::follow)?,
            // Connections made until then are recorded.
            is_ended_gently: listening.is_some(),
            course: RunningCommand::new(
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

/// Result of waiting for a command.
#[derive(Debug)]
pub enum Waited {
    Over(Outcome),
    /// The time limit passed first.
    HandedOver(HandedOver),
}

/// A command that continues in the background.
#[derive(Debug)]
pub struct HandedOver {
    pub command: Arc<Background>,
    /// Output until then, which [`Background::read`] does not return.
    pub stdout: Captured,
    pub stderr: Captured,
}

/// A command that its call waits for.
struct ForegroundRun<'a> {
    course: RunningCommand,
    captured: [Capture<'a>; 2],
    over: Option<&'a Cell<bool>>,
    cancel: &'a CancelToken,
    /// Readable when the call is cancelled.
    wake: BorrowedFd<'a>,
    /// `true` if cancelling means SIGTERM first.
    is_ended_gently: bool,
    started: Instant,
    pace: ProgressTimer,
    /// Set until the first message of the supervisor.
    listening: Option<(Listening, &'a mut OnStart<'a>)>,
    signals: Option<BorrowedFd<'a>>,
    cancelled: bool,
    asked_by: Option<i32>,
    would_change: Option<DryRunReport>,
    _slot: Slot,
}

impl ForegroundRun<'_> {
    /// Waits for the end of the command; `None` when its time limit has passed.
    fn attend(
        &mut self,
        command: &Command<'_>,
        on_progress: &mut dyn FnMut(Duration, Stage<'_>),
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
            let [stdout, stderr] = self.captured.each_ref().map(Capture::so_far);
            let stage = Stage::Running { stdout, stderr };
            let next = self.pace.report(stage, on_progress);
            let wake = (!self.cancelled).then_some(self.wake);
            let heard = self
                .listening
                .as_ref()
                .map(|(listening, _)| listening.as_fd());
            let mut take = |stream: usize, bytes: &[u8]| self.captured[stream].push(bytes);
            let waited = course.wait([wake, heard, self.signals], Some(next), &mut take)?;
            let [_, heard, asked] = waited.ready;
            if asked && let Some(signal) = self.signals.and_then(received) {
                course.countdown.pass_on(&course.job, signal);
                self.asked_by = self.asked_by.or(Some(signal as i32));
            }
            if heard && let Some((ready, on_start)) = self.listening.take() {
                // Otherwise the supervisor is gone and gives the reason on the other socket.
                if let Some(interception) = ready.begin()? {
                    course.job.guarded = on_start(interception);
                }
            }
            match waited.said {
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
        mut self,
        command: &Command<'_>,
        place: BackgroundPlace<'_>,
        rest: Option<Duration>,
    ) -> Result<HandedOver, ExecError> {
        self.course.limit_to(rest);
        let [(stdout, out), (stderr, err)] = self.captured.map(Capture::finish_whole_characters);
        let partial = [out, err];
        let read = stdout.total_bytes + stderr.total_bytes;
        let input = self
            .course
            .streams
            .terminal_input(command.terminal.is_some())?;
        let command = place.fill(command, self.course, input, self.started, partial, read)?;
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
            note(path.as_path(), None, AccessKind::Denied);
        }
        Denied::Blocked(blocked) => note(&blocked.url(), None, AccessKind::Denied),
        _ => {}
    }
}

const PROGRESS: Duration = Duration::from_millis(COMMAND_PROGRESS_MS);

/// Limits the rate of progress reports.
struct ProgressTimer {
    begun: Instant,
    next: Instant,
}

impl ProgressTimer {
    /// Reports progress if due, and returns the time of the next report.
    fn report(
        &mut self,
        stage: Stage<'_>,
        on_progress: &mut dyn FnMut(Duration, Stage<'_>),
    ) -> Instant {
        let now = Instant::now();
        if now >= self.next {
            on_progress(now - self.begun, stage);
            self.next = now + PROGRESS;
        }
        self.next
    }
}
