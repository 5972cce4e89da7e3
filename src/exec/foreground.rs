//! Commands that are waited for: the loop that follows one from its start to its outcome.

use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::gatekeeper::Guarded;
use super::interception::{Interception, Listening, in_memory};
use super::job::Countdown;
use super::poll::{readable, received};
use super::streams::{END_OF_INPUT, Streams, output_pipe};
use super::{Command, Denied, ExecError, Launcher, News, Outcome, Slots};
use crate::cancel::CancelToken;
use crate::limits::COMMAND_PROGRESS_MS;
use crate::policy::{Touch, note};
use crate::sandbox::{Changed, DryRunReport, Event, Intercept, Request};

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
    /// Certificates (PEM) that take the place of the system's, where commands have a root of their own: of those of the
    /// system, and the one that signs what the server shows. At most [`crate::limits::CERTIFICATES_BYTES`].
    pub certificates: Option<&'a [u8]>,
    /// Whether [`Interception::dial`] works, as far as the network of commands reaches.
    pub dial: bool,
    /// Whether servers that the command starts can be reached from other machines, if its network is that of the system.
    pub open: bool,
    /// Its standard input, output and error, which then nobody captures.
    pub streams: Option<[BorrowedFd<'a>; 3]>,
    /// Signals for this process that are passed on to everything of the command (signalfd(2); SIGTERM, SIGINT, SIGHUP, SIGQUIT).
    /// It has the grace after the first one; a second one means SIGKILL at once.
    pub signals: Option<BorrowedFd<'a>>,
    /// Nothing is led anywhere: [`Sockets::tcp_4`](super::interception::Sockets::tcp_4) is a proxy on 127.0.0.1, whose port takes the
    /// place of [`PROXY_PORT`](super::PROXY_PORT) in the variables.
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
    /// Bytes kept of each of the two streams; what comes after is read and counted, not kept.
    pub output_cap_bytes: usize,
}

impl Foreground<'_> {
    /// Runs `command` to its end and returns what it wrote and how it ended.
    ///
    /// At the time limit everything of it gets SIGTERM and, after the grace, SIGKILL; a cancelled token means SIGKILL at once.
    /// When the shell exits by itself, what it left running is ended. Waits for a place first, no longer than the time
    /// limit. `on_progress` is told the elapsed time and the stage, about every half second.
    pub fn run(
        &self,
        command: &Command<'_>,
        on_progress: &mut dyn FnMut(Duration, Stage),
    ) -> Result<Outcome, ExecError> {
        self.follow(command, &command.request(false, false)?, None, None, on_progress)
    }

    /// The same on overlays of the read-write directories: the command changes none of them, and [`Outcome::would_change`] is
    /// there. [`ExecError::Refused`] where overlays cannot be had.
    pub fn run_dry(
        &self,
        command: &Command<'_>,
        on_progress: &mut dyn FnMut(Duration, Stage),
    ) -> Result<Outcome, ExecError> {
        let request = Request { is_dry_run: true, ..command.request(false, false)? };
        self.follow(command, &request, None, None, on_progress)
    }

    /// Runs a command as [`Foreground::run`] does, with its calls over the network led to `on_start`'s sockets. A cancelled
    /// token means SIGTERM and, after the grace, SIGKILL.
    ///
    /// `on_start` is called once, before the program connects to anything, on the thread of this call, which follows the command
    /// meanwhile not at all: it has to return soon. Dropping what it was given has every further connection of the command fail.
    /// Where calls cannot be intercepted (another supervisor is there already, or the kernel lacks something) it is
    /// [`ExecError::Refused`], whose text says why.
    pub fn run_intercepted(
        &self,
        command: &Command<'_>,
        how: &Intercepted<'_>,
        on_start: &mut OnStart<'_>,
        on_progress: &mut dyn FnMut(Duration, Stage),
    ) -> Result<Outcome, ExecError> {
        let mut request = command.request(how.streams.is_some(), false)?;
        let variables = how.environment.iter().map(|(name, value)| (name.into(), value.into()));
        request.environment.extend(variables);
        request.intercept = Some(Intercept {
            dial: how.dial,
            open: how.open,
            bundle: how.certificates.is_some(),
            proxy_only: how.proxy_only,
        });
        let (waiting, channel) = Listening::new()?;
        let bundle = how.certificates.map(in_memory).transpose()?;
        let with = With { channel, bundle, waiting, signals: how.signals, on_start };
        self.follow(command, &request, how.streams, Some(with), on_progress)
    }

    fn follow(
        &self,
        command: &Command<'_>,
        request: &Request,
        passed: Option<[BorrowedFd<'_>; 3]>,
        with: Option<With<'_>>,
        on_progress: &mut dyn FnMut(Duration, Stage),
    ) -> Result<Outcome, ExecError> {
        // What it has called until then is wanted.
        let gently = with.is_some();
        let signals = with.as_ref().and_then(|with| with.signals);
        let begun = Instant::now();
        let mut pace = Pace { begun, next: begun };
        let slot = self
            .running
            .enter(self.cancel, begun.checked_add(self.timeout), &mut || pace.tell(Stage::Waiting, on_progress))?;
        pace.next = Instant::now() + PROGRESS;

        let (mut listening, channel, bundle) = match with {
            Some(with) => (Some((with.waiting, with.on_start)), Some(with.channel), with.bundle),
            None => (None, None, None),
        };
        let handed: Vec<BorrowedFd<'_>> = channel.iter().chain(&bundle).map(AsFd::as_fd).collect();
        let (mut job, mut streams) = match passed {
            _ if request.terminal.is_some() => {
                (self.launcher.spawn(request, &handed)?, Streams::new([None, None], self.output_cap_bytes))
            }
            Some(passed) => {
                let job = self.launcher.spawn(request, &[handed, passed.to_vec()].concat())?;
                (job, Streams::new([None, None], self.output_cap_bytes))
            }
            None => {
                let ((stdout, out), (stderr, err)) = (output_pipe()?, output_pipe()?);
                let job = self.launcher.spawn(request, &[handed, vec![out.as_fd(), err.as_fd()]].concat())?;
                (job, Streams::new([Some(stdout), Some(stderr)], self.output_cap_bytes))
            }
        };
        // Its end at the supervisor shall be the only one.
        drop((channel, bundle));
        slot.attach(&job)?;

        let wake = self.cancel.wake_fd().map_err(ExecError::follow)?;
        let mut countdown = Countdown::new(Some(self.timeout), self.grace);
        let (mut timed_out, mut cancelled, mut asked_by, mut would_change) = (false, false, None, None);
        loop {
            if !cancelled && self.cancel.is_cancelled() {
                if gently {
                    countdown.terminate(&job, Signal::SIGTERM);
                } else {
                    countdown.kill(&job);
                }
                cancelled = true;
            }
            timed_out |= countdown.tick(&job)?;
            let next = pace.tell(Stage::Running { bytes: streams.total_bytes() }, on_progress);
            let until = countdown.next().map_or(next, |due| due.min(next));
            let [stdout, stderr] = streams.waited();
            let heard = listening.as_ref().map(|(listening, _)| listening.as_fd());
            let wake = (!cancelled).then_some(wake);
            let [said, stdout, stderr, _, heard, asked] =
                readable([Some(job.as_fd()), stdout, stderr, wake, heard, signals], Some(until))?;
            if asked && let Some(signal) = signals.and_then(received) {
                countdown.pass_on(&job, signal);
                asked_by = asked_by.or(Some(signal as i32));
            }
            if heard && let Some((ready, on_start)) = listening.take() {
                // Else the supervisor is gone, and says why on the other socket.
                if let Some(interception) = ready.begin()? {
                    job.guarded = on_start(interception);
                }
            }
            for (index, ready) in [stdout, stderr].into_iter().enumerate() {
                if ready {
                    streams.read(index)?;
                }
            }
            if !said {
                continue;
            }
            match job.next_event()? {
                News::Nothing => {}
                News::Said(Event::Started, Some(terminal)) if request.terminal.is_some() => {
                    // Nobody types here, so whoever reads finds the end of the input.
                    let _ = rustix::io::write(&terminal, &[END_OF_INPUT]);
                    streams.take_terminal(terminal)?;
                }
                News::Said(Event::WouldChange, Some(report)) if request.is_dry_run => {
                    would_change = Some(DryRunReport::unpack(report).map_err(ExecError::Follow)?);
                }
                News::Said(Event::Refused { step, cause }, _) => return Err(ExecError::refused(step, cause)),
                News::Said(Event::Ended { exit, left, denied, changed }, _) => {
                    let [stdout, stderr] = streams.drain()?;
                    denied.iter().for_each(note_denied);
                    if let Some(Changed { call, fault }) = changed {
                        command.changes.come_back(call, fault);
                    }
                    return Ok(Outcome {
                        stdout,
                        stderr,
                        exit,
                        timed_out,
                        cancelled,
                        asked_by,
                        left,
                        denied,
                        would_change,
                    });
                }
                News::Said(..) => return Err(ExecError::out_of_turn()),
                News::Gone => return Err(ExecError::Vanished),
            }
        }
    }
}

fn note_denied(denied: &Denied) {
    match denied {
        Denied::Protected(path) | Denied::Metadata(path) => note(path.as_path(), None, Touch::Denied),
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
