//! Start of a program for a caller that waits until it runs.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use replay_base::cancel::CancelToken;

use super::poll::readable;
use super::streams::output_pipe;
use super::{ExecError, Job, Launcher, News};
use crate::{Event, Request};

/// Timeout for the start of a background command, in milliseconds.
const COMMAND_START_MS: u64 = 10_000;

/// Starts the program and waits until it runs. Returns the job, the write end of its input and the
/// read end of its output, both nonblocking; for a terminal they are the same.
pub(super) fn begin(
    launcher: &Launcher,
    request: &Request,
    cancel: &CancelToken,
) -> Result<(Job, OwnedFd, OwnedFd), ExecError> {
    let (job, ends) = if request.terminal.is_some() {
        (launcher.spawn(request, &[])?, None)
    } else {
        let (stdin, input) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(ExecError::follow)?;
        rustix::io::ioctl_fionbio(&input, true).map_err(ExecError::follow)?;
        let (output, out) = output_pipe()?;
        // One pipe for both streams keeps them in the order in which they were written.
        (
            launcher.spawn(request, &[stdin.as_fd(), out.as_fd(), out.as_fd()])?,
            Some((input, output)),
        )
    };
    match (await_start(&job, cancel)?, ends) {
        (None, Some((input, output))) => Ok((job, input, output)),
        (Some(terminal), None) => {
            rustix::io::ioctl_fionbio(&terminal, true).map_err(ExecError::follow)?;
            let input = terminal.try_clone().map_err(ExecError::Follow)?;
            Ok((job, input, terminal))
        }
        _ => Err(ExecError::out_of_turn()),
    }
}

/// Waits until the program of an announced command runs. Returns its terminal, if it has one.
pub(super) fn await_start(job: &Job, cancel: &CancelToken) -> Result<Option<OwnedFd>, ExecError> {
    let wake = cancel.wake_fd().map_err(ExecError::follow)?;
    let until = Instant::now() + Duration::from_millis(COMMAND_START_MS);
    loop {
        match job.next_event()? {
            News::Said(Event::Started, terminal) => return Ok(terminal),
            News::Said(Event::Refused { step, cause }, _) => {
                return Err(ExecError::refused(step, cause));
            }
            News::Said(Event::Broken { step, cause }, _) => {
                return Err(ExecError::broken(&step, cause));
            }
            News::Said(..) => return Err(ExecError::out_of_turn()),
            News::Gone => return Err(ExecError::Vanished),
            News::Nothing => {}
        }
        if cancel.is_cancelled() {
            return Err(ExecError::Cancelled);
        }
        if Instant::now() >= until {
            return Err(ExecError::Stuck);
        }
        readable([Some(job.as_fd()), Some(wake)], Some(until))?;
    }
}
