//! A command on its way, followed by the call that started it or by a thread of its own: what it
//! writes is taken, its time counted, its end awaited.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use nix::sys::signal::Signal;

use super::job::Countdown;
use super::poll::readable;
use super::streams::{END_OF_INPUT, Streams};
use super::{ExecError, Job, News};
use crate::sandbox::Event;

/// Whoever follows a command can hand this to somebody else, at any time.
pub(super) struct Course {
    pub(super) job: Job,
    pub(super) streams: Streams,
    pub(super) countdown: Countdown,
    /// It was asked to end because its time was up.
    pub(super) timed_out: bool,
}

/// What a wait came to.
pub(super) struct Turn {
    /// Which of the others have news.
    pub(super) ready: [bool; 3],
    /// What the supervisor said. With [`Event::Ended`] all output was taken.
    pub(super) said: Option<(Event, Option<OwnedFd>)>,
}

impl Course {
    pub(super) fn new(job: Job, streams: Streams, countdown: Countdown) -> Self {
        Self {
            job,
            streams,
            countdown,
            timed_out: false,
        }
    }

    /// Its time is up: SIGTERM now, SIGKILL after the grace.
    pub(super) fn time_out(&mut self) {
        self.timed_out = true;
        self.countdown.terminate(&self.job, Signal::SIGTERM);
    }

    /// Waits for news of the command or of `others`, no longer than `until` or its time limit,
    /// which is for the caller to look at ([`Countdown::is_up`]). Output goes to `take`, with the
    /// number of its stream.
    pub(super) fn turn(
        &mut self,
        others: [Option<BorrowedFd<'_>>; 3],
        until: Option<Instant>,
        take: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<Turn, ExecError> {
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
                // Nobody types here yet, so whoever reads finds the end of the input.
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
        Ok(Turn { ready, said })
    }
}
