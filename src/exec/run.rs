//! The loop that follows one command from its start to its outcome.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use super::job::Countdown;
use super::streams::{Streams, output_pipe};
use super::wait::readable;
use super::{Bounds, Command, ExecError, Launcher, News, Outcome, Running};
use crate::cancel::CancelToken;
use crate::limits::COMMAND_PROGRESS_MS;
use crate::sandbox::Event;

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// As many commands run as may, and this one waits for its turn.
    Waiting,
    /// It runs.
    Running {
        /// What it wrote to both streams so far, in bytes.
        bytes: u64,
    },
}

/// Runs `command` to its end and returns what it wrote and how it ended.
///
/// At the time limit everything of it gets SIGTERM and, after the grace, SIGKILL; a cancelled token means SIGKILL at once.
/// When the shell exits by itself, what it left running is ended. Waits for a place first, no longer than the time
/// limit. `on_progress` is told the elapsed time and the stage, about every half second.
pub fn run(
    launcher: &Launcher,
    command: &Command<'_>,
    bounds: Bounds,
    running: &Running,
    cancel: &CancelToken,
    on_progress: &mut dyn FnMut(Duration, Stage),
) -> Result<Outcome, ExecError> {
    let request = command.request(false, false)?;
    let begun = Instant::now();
    let mut pace = Pace { begun, next: begun };
    let slot =
        running.enter(cancel, begun.checked_add(bounds.timeout), &mut || pace.tell(Stage::Waiting, on_progress))?;
    pace.next = Instant::now() + PROGRESS;

    let (job, mut streams) = if command.terminal.is_some() {
        (launcher.spawn(&request, &[])?, Streams::new([None, None], bounds.output_cap_bytes))
    } else {
        let ((stdout, out), (stderr, err)) = (output_pipe()?, output_pipe()?);
        let job = launcher.spawn(&request, &[out.as_fd(), err.as_fd()])?;
        (job, Streams::new([Some(stdout), Some(stderr)], bounds.output_cap_bytes))
    };
    slot.attach(&job)?;

    let wake = cancel.wake_fd().map_err(ExecError::follow)?;
    let mut countdown = Countdown::new(Some(bounds.timeout), bounds.grace);
    let (mut timed_out, mut cancelled) = (false, false);
    loop {
        if !cancelled && cancel.is_cancelled() {
            countdown.kill(&job);
            cancelled = true;
        }
        timed_out |= countdown.tick(&job)?;
        let next = pace.tell(Stage::Running { bytes: streams.total_bytes() }, on_progress);
        let until = countdown.next().map_or(next, |due| due.min(next));
        let [stdout, stderr] = streams.waited();
        let [said, stdout, stderr, _] =
            readable([Some(job.as_fd()), stdout, stderr, (!cancelled).then_some(wake)], Some(until))?;
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
            News::Said(Event::Started, Some(terminal)) if command.terminal.is_some() => {
                // Nobody types here, so whoever reads finds the end of the input.
                let _ = rustix::io::write(&terminal, &[END_OF_INPUT]);
                streams.take_terminal(terminal)?;
            }
            News::Said(Event::Started, _) => return Err(ExecError::out_of_turn()),
            News::Said(Event::Refused { step, errno }, _) => return Err(ExecError::refused(step, errno)),
            News::Said(Event::Ended { exit, left, denied }, _) => {
                let [stdout, stderr] = streams.drain()?;
                return Ok(Outcome { stdout, stderr, exit, timed_out, cancelled, left, denied });
            }
            News::Gone => return Err(ExecError::Vanished),
        }
    }
}

/// What a terminal takes for the end of the input at the beginning of a line (`VEOF`, termios(3)).
pub(super) const END_OF_INPUT: u8 = 4;

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
