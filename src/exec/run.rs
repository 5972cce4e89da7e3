//! The loop that follows one command from its start to its outcome.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::leader::Leader;
use super::{Captured, Command, ExecError, Outcome, Running};
use crate::cancel::CancelToken;
use crate::limits::{COMMAND_PROGRESS_MS, DRAIN_MS, MAX_COMMAND_BYTES, PIPE_READ_BYTES, PIPE_RELEASE_MS};

/// Runs `command` to its end and returns what it wrote and how it ended.
///
/// At the time limit the group gets SIGTERM and, after the grace, SIGKILL; a cancelled token means SIGKILL
/// at once. When the shell exits by itself, what it left in its group is ended and the reply is made
/// without waiting for anybody else who holds the pipes. `on_progress` is told the elapsed time and the bytes
/// written to both streams so far, about every half second.
pub fn run(
    command: &Command<'_>,
    running: &Running,
    cancel: &CancelToken,
    on_progress: &mut dyn FnMut(Duration, u64),
) -> Result<Outcome, ExecError> {
    if let Some(offset) = command.line.bytes().position(|byte| byte == 0) {
        return Err(ExecError::Nul { offset });
    }
    if command.line.len() > MAX_COMMAND_BYTES {
        return Err(ExecError::TooLong { bytes: command.line.len() });
    }
    let started = Instant::now();
    let mut leader = Leader::start(command, running)?;
    let pipes = leader.take_pipes().map(|(out, err)| [OwnedFd::from(out), OwnedFd::from(err)]);
    let mut streams = Streams::new(pipes, command.output_cap_bytes)?;

    let mut pace = Pace { started, next_progress: started + PROGRESS };
    let stop = follow(command, &leader, &mut streams, cancel, &mut |bytes| pace.tell(bytes, on_progress))?;

    leader.target().kill();
    streams.drain()?;
    let pipe_held = streams.await_release()?;
    let exit = leader.finish()?;
    let [stdout, stderr] = streams.captured;
    Ok(Outcome {
        stdout,
        stderr,
        exit,
        timed_out: stop == Stop::TimedOut,
        cancelled: stop == Stop::Cancelled,
        pipe_held,
    })
}

const PROGRESS: Duration = Duration::from_millis(COMMAND_PROGRESS_MS);

/// Why the loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    Exited,
    TimedOut,
    Cancelled,
}

/// Keeps the progress reports apart.
struct Pace {
    started: Instant,
    next_progress: Instant,
}

impl Pace {
    /// Reports if it is time to, and returns when the next report is due.
    fn tell(&mut self, bytes: u64, on_progress: &mut dyn FnMut(Duration, u64)) -> Instant {
        let now = Instant::now();
        if now >= self.next_progress {
            on_progress(now - self.started, bytes);
            self.next_progress = now + PROGRESS;
        }
        self.next_progress
    }
}

/// Reads until the shell has ended, its time (and grace) is over, or the call is cancelled.
fn follow(
    command: &Command<'_>,
    leader: &Leader,
    streams: &mut Streams,
    cancel: &CancelToken,
    tell: &mut dyn FnMut(u64) -> Instant,
) -> Result<Stop, ExecError> {
    let wake = cancel.wake_fd().map_err(failed)?;
    let mut limit = Instant::now().checked_add(command.timeout);
    let mut terminated = false;
    let mut exited = false;
    loop {
        if cancel.is_cancelled() {
            return Ok(Stop::Cancelled);
        }
        // After SIGTERM the shell is often gone before the programs it started; they keep their grace.
        match (exited, terminated) {
            (true, false) => return Ok(Stop::Exited),
            (true, true) if streams.ended() => return Ok(Stop::TimedOut),
            _ => {}
        }
        let now = Instant::now();
        if limit.is_some_and(|limit| now >= limit) {
            if terminated {
                return Ok(Stop::TimedOut);
            }
            leader.target().terminate();
            terminated = true;
            limit = now.checked_add(command.grace);
        }
        let next_progress = tell(streams.total_bytes());
        let until = limit.map_or(next_progress, |limit| limit.min(next_progress));
        let pidfd = if exited { None } else { Some(leader.pidfd()) };
        exited |= streams.wait(pidfd, Some(wake), until)?;
    }
}

/// The read ends of both pipes (`None` once at their end) and what came out of them.
struct Streams {
    pipes: [Option<OwnedFd>; 2],
    captured: [Captured; 2],
    cap: usize,
    buffer: Vec<u8>,
}

impl Streams {
    fn new(pipes: Option<[OwnedFd; 2]>, cap: usize) -> Result<Self, ExecError> {
        let pipes = pipes.ok_or_else(|| failed(Errno::BADF))?;
        for pipe in &pipes {
            // Only our end: the writers have an open file of their own and still block when it is full.
            rustix::io::ioctl_fionbio(pipe, true).map_err(failed)?;
        }
        Ok(Self { pipes: pipes.map(Some), captured: Default::default(), cap, buffer: vec![0; PIPE_READ_BYTES] })
    }

    fn ended(&self) -> bool {
        self.pipes.iter().all(Option::is_none)
    }

    fn total_bytes(&self) -> u64 {
        self.captured.iter().map(|stream| stream.total_bytes).sum()
    }

    /// Waits until something is to be done or `until` comes, reads at most one buffer from each pipe,
    /// and returns whether the process behind `pidfd` has ended.
    fn wait(
        &mut self,
        pidfd: Option<BorrowedFd<'_>>,
        wake: Option<BorrowedFd<'_>>,
        until: Instant,
    ) -> Result<bool, ExecError> {
        let mut waited = Vec::with_capacity(4);
        waited.extend(self.pipes.iter().flatten().map(AsFd::as_fd));
        let pipes = waited.len();
        waited.extend(pidfd);
        waited.extend(wake);
        let mut fds: Vec<PollFd<'_>> = waited.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 });
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(false),
            Err(errno) => return Err(failed(errno)),
        }
        let exited = pidfd.is_some() && !fds[pipes].revents().is_empty();
        let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
        let ready = [0, 1].map(|index| self.pipes[index].is_some() && ready.next() == Some(true));
        drop(waited);
        for (index, ready) in ready.into_iter().enumerate() {
            if ready {
                self.read(index)?;
            }
        }
        Ok(exited)
    }

    /// Reads one buffer from a pipe; returns whether there was anything.
    fn read(&mut self, index: usize) -> Result<bool, ExecError> {
        let Some(pipe) = &self.pipes[index] else { return Ok(false) };
        match rustix::io::read(pipe, &mut self.buffer[..]) {
            Ok(0) => {
                self.pipes[index] = None;
                Ok(false)
            }
            Ok(length) => {
                self.captured[index].push(&self.buffer[..length], self.cap);
                Ok(true)
            }
            Err(Errno::AGAIN) => Ok(false),
            Err(Errno::INTR) => Ok(true),
            Err(errno) => Err(failed(errno)),
        }
    }

    /// Takes what already lies in the pipes: all that the shell and the programs it waited for wrote.
    /// Bounded, because somebody outside the group may go on writing.
    fn drain(&mut self) -> Result<(), ExecError> {
        let until = Instant::now() + Duration::from_millis(DRAIN_MS);
        for index in [0, 1] {
            while self.read(index)? && Instant::now() < until {}
        }
        Ok(())
    }

    /// Gives the ended group a moment to let go of the pipes; returns whether somebody still holds one.
    fn await_release(&mut self) -> Result<bool, ExecError> {
        let until = Instant::now() + Duration::from_millis(PIPE_RELEASE_MS);
        while !self.ended() && Instant::now() < until {
            self.wait(None, None, until)?;
        }
        Ok(!self.ended())
    }
}

fn failed(errno: Errno) -> ExecError {
    ExecError::Follow(errno.into())
}
