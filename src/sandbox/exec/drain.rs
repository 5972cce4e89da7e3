//! Thread of one background command: reads its output and follows it to its end.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use nix::sys::signal::Signal;

use super::ExecError;
use super::background::{Background, Ending, Listener, State};
use super::capture::without_partial_character;
use super::running_command::RunningCommand;
use crate::Event;

/// State of the thread. Dropping it, also in a panic, ends the command and reports that.
pub(super) struct Pump {
    pub(super) background: Arc<Background>,
    pub(super) course: RunningCommand,
    /// Incomplete character at the end of each stream, held back so that the other stream cannot
    /// split it.
    pub(super) partial: [Vec<u8>; 2],
    /// Callback for the end of the command.
    pub(super) listener: Arc<Listener>,
}

impl Pump {
    /// Follows the command until it has ended and all its output is read.
    pub(super) fn run(mut self) {
        let state = self
            .follow()
            .map_or_else(|error| State::Lost(error.to_string()), State::Ended);
        self.partial
            .iter()
            .for_each(|rest| self.background.push(rest));
        self.background.settle(state);
    }

    fn follow(&mut self) -> Result<Ending, ExecError> {
        let Self {
            background,
            course,
            partial,
            ..
        } = self;
        let mut take = |stream: usize, bytes: &[u8]| {
            let rest = &mut partial[stream];
            rest.extend_from_slice(bytes);
            let whole = without_partial_character(rest).len();
            background.push(&rest[..whole]);
            rest.drain(..whole);
        };
        loop {
            if background.ending.load(Ordering::SeqCst) {
                course.countdown.terminate(&course.job, Signal::SIGTERM);
            } else if course.countdown.is_up() {
                course.time_out();
            }
            let waited =
                course.wait([Some(background.bell.as_fd()), None, None], None, &mut take)?;
            if waited.ready[0] {
                background.bell.hush();
            }
            match waited.said {
                None => {}
                Some((
                    Event::Ended {
                        exit,
                        left,
                        denied,
                        changed,
                    },
                    _,
                )) => {
                    let asked = background.ending.load(Ordering::SeqCst);
                    return Ok(Ending {
                        exit,
                        timed_out: course.timed_out,
                        asked,
                        left,
                        denied,
                        changed,
                    });
                }
                Some(_) => return Err(ExecError::out_of_turn()),
            }
        }
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        self.background.settle(State::Lost(
            "the server has a bug here; its log has the details".to_owned(),
        ));
        self.listener.notify(&self.background);
    }
}
