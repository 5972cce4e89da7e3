//! The thread of one background command: carries its output away and follows it to its end.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::background::{Background, Ending, Listener, State};
use super::job::Countdown;
use super::poll::readable;
use super::streams::{Chunk, read_some};
use super::{ExecError, Job, News};
use crate::limits::{DRAIN_MS, MAX_PIPE_BYTES, PIPE_READ_BYTES};
use crate::sandbox::Event;

/// What the thread holds. Dropping it, also while a panic unwinds, ends the command and says so.
pub(super) struct Pump {
    pub(super) background: Arc<Background>,
    pub(super) job: Job,
    /// `None` once at its end.
    pub(super) output: Option<OwnedFd>,
    pub(super) countdown: Countdown,
    pub(super) timed_out: bool,
    /// Hears of its end.
    pub(super) listener: Arc<Listener>,
}

impl Pump {
    /// Follows the command until it has ended and all its output is taken.
    pub(super) fn run(mut self) {
        if let Err(error) = self.follow() {
            self.background.settle(State::Lost(error.to_string()));
        }
    }

    fn follow(&mut self) -> Result<(), ExecError> {
        let mut buffer = vec![0; PIPE_READ_BYTES];
        loop {
            if self.background.ending.load(Ordering::SeqCst) {
                self.countdown.terminate(&self.job, Signal::SIGTERM);
            }
            self.timed_out |= self.countdown.tick(&self.job)?;
            let output = self.output.as_ref().map(AsFd::as_fd);
            let watched = [Some(self.job.as_fd()), output, Some(self.background.bell.as_fd())];
            let [said, written, rung] = readable(watched, self.countdown.next())?;
            if rung {
                self.background.bell.hush();
            }
            if written {
                self.pump(&mut buffer)?;
            }
            if !said {
                continue;
            }
            match self.job.next_event()? {
                News::Nothing => {}
                News::Said(Event::Ended { exit, left, denied, changed }, _) => {
                    self.drain(&mut buffer)?;
                    let asked = self.background.ending.load(Ordering::SeqCst);
                    let timed_out = self.timed_out;
                    self.background.settle(State::Ended(Ending { exit, timed_out, asked, left, denied, changed }));
                    return Ok(());
                }
                News::Said(Event::Refused { step, cause }, _) => return Err(ExecError::refused(step, cause)),
                News::Said(..) => return Err(ExecError::out_of_turn()),
                News::Gone => return Err(ExecError::Vanished),
            }
        }
    }

    /// Carries away at most one buffer; returns how much there was.
    fn pump(&mut self, buffer: &mut [u8]) -> Result<usize, ExecError> {
        let Some(output) = &self.output else { return Ok(0) };
        match read_some(output, buffer)? {
            Chunk::Bytes(length) => {
                self.background.push(&buffer[..length]);
                Ok(length)
            }
            Chunk::Nothing => Ok(0),
            Chunk::End => {
                self.output = None;
                Ok(0)
            }
        }
    }

    /// As for a command that is waited for: all that lies there, and no more than a moment for whoever was missed.
    fn drain(&mut self, buffer: &mut [u8]) -> Result<(), ExecError> {
        let until = Instant::now() + Duration::from_millis(DRAIN_MS);
        let mut drained = 0;
        while let Some(output) = &self.output {
            if Instant::now() >= until && drained > MAX_PIPE_BYTES {
                break;
            }
            readable([Some(output.as_fd())], Some(until))?;
            match self.pump(buffer)? {
                0 if Instant::now() >= until => break,
                got => drained += got,
            }
        }
        Ok(())
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        self.background.settle(State::Lost("the server has a fault here; its log says more".to_owned()));
        self.listener.tell(&self.background);
    }
}
