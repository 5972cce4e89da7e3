//! A running command, followed by its call or by a thread of its own. Reads its output, enforces
//! its time limit and waits for its end.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::job::Countdown;
use super::poll::readable;
use super::streams::{END_OF_INPUT, Streams};
use super::{ExecError, Job, News};
use crate::Event;

/// A running command. Its follower can hand it over to another thread at any time.
pub(super) struct RunningCommand {
    pub(super) job: Job,
    pub(super) streams: Streams,
    pub(super) countdown: Countdown,
    /// `true` if the command was ended because of its time limit.
    pub(super) timed_out: bool,
}

/// Result of one wait.
pub(super) struct WaitResult {
    /// Readable ones of the other descriptors.
    pub(super) ready: [bool; 3],
    /// Message of the supervisor. With [`Event::Ended`], all output has been read.
    pub(super) said: Option<(Event, Option<OwnedFd>)>,
}

impl RunningCommand {
    pub(super) fn new(job: Job, streams: Streams, countdown: Countdown) -> Self {
        Self {
            job,
            streams,
            countdown,
            timed_out: false,
        }
    }

    /// Ends the command at its time limit: SIGTERM now, SIGKILL after the grace period.
    /// Replaces the time limit by one from now on.
    pub(super) fn limit_to(&mut self, rest: Option<Duration>) {
        self.countdown.limit_to(rest);
    }

    pub(super) fn time_out(&mut self) {
        self.timed_out = true;
        self.countdown.terminate(&self.job, Signal::SIGTERM);
    }

    /// Waits for the command or `others`, at most until `until` or the time limit. The caller
    /// checks the time limit ([`Countdown::is_up`]). Output goes to `take`, with the index of its
    /// stream.
    pub(super) fn wait(
        &mut self,
        others: [Option<BorrowedFd<'_>>; 3],
        until: Option<Instant>,
        take: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<WaitResult, ExecError> {
        self.countdown.tick(&self.job)?;
        let until = until.into_iter().chain(self.countdown.next()).min();
        let ([stdout, stderr], [first, second, third]) = (self.streams.waited(), others);
        let watched = [Some(self.job.as_fd()), stdout, stderr, first, second, third];
        let [said, stdout, stderr, first, second, third] = readable(watched, until)?;
        for (index, ready) in [stdout, stderr].into_iter().enumerate() {
            if ready {
                self.streams.read(index, take)?;
            }
        }
        let ready = [first, second, third];
        let news = if said {
            self.job.next_event()?
        } else {
            News::Nothing
        };
        let said = match news {
            News::Nothing => None,
            News::Said(Event::Started, Some(terminal)) => {
                // Nobody types here yet, so the program reads the end of the input.
                let _ = rustix::io::write(&terminal, &[END_OF_INPUT]);
                self.streams.take_terminal(terminal)?;
                None
            }
            News::Said(Event::Refused { step, cause }, _) => {
                return Err(ExecError::refused(step, cause));
            }
            News::Said(Event::Broken { step, cause }, _) => {
                return Err(ExecError::broken(&step, cause));
            }
            News::Said(event, fd) => {
                if matches!(event, Event::Ended { .. }) {
                    self.streams.drain(take)?;
                }
                Some((event, fd))
            }
            News::Gone => return Err(ExecError::Vanished),
        };
        Ok(WaitResult { ready, said })
    }
}
