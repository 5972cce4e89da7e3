//! One command as the server holds it: a socket to its supervisor.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use rustix::io::Errno;
use rustix::net::{SendFlags, Shutdown, send, shutdown};

use super::ExecError;
use super::activity::ActivityMark;
use super::gatekeeper::Guarded;
use crate::journal::Journal;
use crate::limits::KILL_WAIT_MS;
use crate::sandbox::wire::{ACCOUNT, INTERRUPT, KILL, STATUS, TERMINATE, receive_event};
use crate::sandbox::{Denied, Event};

/// Ends a command from wherever this was cloned to.
#[derive(Clone, Debug)]
pub(super) struct Control(Arc<OwnedFd>);

impl Control {
    fn say(&self, words: &[u8]) -> Result<(), Errno> {
        send(&*self.0, words, SendFlags::NOSIGNAL | SendFlags::DONTWAIT).map(drop)
    }

    /// SIGKILL to everything of the command.
    pub(super) fn kill(&self) {
        // It fails only when the supervisor has gone, and then its command has too.
        let _ = self.say(&[KILL]);
    }
}

/// A command that was handed to the launcher. Dropping it ends everything of the command.
#[derive(Debug)]
pub struct Job {
    control: Control,
    /// What programs that stay did when it began.
    others: ActivityMark,
    /// Who decides about its connections, if somebody does.
    pub(super) guarded: Option<Arc<dyn Guarded>>,
    /// Where its supervisor notes what it changes.
    journal: Option<Arc<Journal>>,
}

/// What [`Job::next_event`] finds.
#[derive(Debug)]
pub enum News {
    /// Nothing was said.
    Nothing,
    /// The supervisor said this; a descriptor comes with [`Event::Started`] if there is a terminal.
    Said(Event, Option<OwnedFd>),
    /// The supervisor's end is closed.
    Gone,
}

impl Job {
    /// Takes the server's end of a command's socket, which must not block.
    pub(super) fn new(
        socket: OwnedFd,
        others: ActivityMark,
        guarded: Option<Arc<dyn Guarded>>,
        journal: Option<Arc<Journal>>,
    ) -> Self {
        Self {
            control: Control(Arc::new(socket)),
            others,
            guarded,
            journal,
        }
    }

    /// A signal to everything of the command that asks it to end: SIGTERM, or SIGINT, SIGHUP or
    /// SIGQUIT.
    pub fn terminate(&self, signal: Signal) {
        // As with `Control::kill`.
        let _ = self.control.say(&[TERMINATE, signal as u8]);
    }

    /// SIGINT to everything of the command, which may live on. Fails when nobody hears it.
    pub fn interrupt(&self) -> Result<(), ExecError> {
        self.control.say(&[INTERRUPT]).map_err(ExecError::follow)
    }

    /// Asks how the program is, under this number. Fails when nobody hears it.
    pub(super) fn ask(&self, number: u64) -> Result<(), ExecError> {
        let mut words = [STATUS; 9];
        words[1..].copy_from_slice(&number.to_le_bytes());
        self.control.say(&words).map_err(ExecError::follow)
    }

    /// Asks what was changed until now, under this number; what is changed from now on is called
    /// `next`.
    pub(super) fn ask_for_account(&self, number: u64, next: &str) -> Result<(), ExecError> {
        let words = [&[ACCOUNT][..], &number.to_le_bytes(), next.as_bytes()].concat();
        self.control.say(&words).map_err(ExecError::follow)
    }

    /// SIGKILL to everything of the command.
    pub fn kill(&self) {
        self.control.kill();
    }

    /// Returns news of the supervisor; does not wait, but for verdicts about connections of a
    /// command that has ended.
    pub fn next_event(&self) -> Result<News, ExecError> {
        let heard = match receive_event(&*self.control.0) {
            // unix(7): the other end was closed with something unread in it. That is said once, and
            // before what came from there, which is still to be had.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                receive_event(&*self.control.0)
            }
            heard => heard,
        };
        match heard {
            Ok(Some((mut event, fd))) => {
                if let Event::Ended { denied, .. } = &mut event {
                    if !self.others.is_quiet() {
                        // Which of them has looked for a network the kernel does not tell.
                        denied.retain(|denied| *denied != Denied::Network);
                    }
                    if let Some(guarded) = &self.guarded {
                        guarded.settle();
                    }
                    denied.extend(self.blocked());
                }
                if let (
                    Some(journal),
                    Event::Ended { changed, .. } | Event::Accounted { changed, .. },
                ) = (&self.journal, &mut event)
                    && let Some(changed) = changed
                    && let Some(call) = changed.call
                {
                    changed.settled = journal.settle_entry(call);
                }
                Ok(News::Said(event, fd))
            }
            Ok(None) => Ok(News::Gone),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock => Ok(News::Nothing),
                io::ErrorKind::ConnectionReset => Ok(News::Gone),
                _ => Err(ExecError::Follow(error)),
            },
        }
    }

    /// The connections that no rule allows, since this was asked before.
    pub(super) fn blocked(&self) -> Vec<Denied> {
        self.guarded
            .as_ref()
            .map(|guarded| guarded.blocked())
            .unwrap_or_default()
    }

    /// Closes the conversation: from now on there is always news, and to the supervisor it is as if
    /// this were dropped.
    pub(super) fn close(&self) {
        // Whoever else still holds the descriptor. It fails only where there is nothing to close.
        let _ = shutdown(&*self.control.0, Shutdown::Both);
    }

    pub(super) fn control(&self) -> Control {
        self.control.clone()
    }
}

/// Readable when the supervisor has said something, or is gone.
impl AsFd for Job {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.control.0.as_fd()
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.close();
    }
}

/// How far a command is on the way from SIGTERM to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Running,
    Terminated,
    Killed,
}

/// When a command's time is up, when it gets SIGKILL, and when it is given up.
#[derive(Debug)]
pub(super) struct Countdown {
    step: Step,
    grace: Duration,
    /// When the next step is due; `None` for never.
    next: Option<Instant>,
}

impl Countdown {
    /// A command that has `timeout`, and `grace` more from SIGTERM to SIGKILL.
    pub(super) fn new(timeout: Option<Duration>, grace: Duration) -> Self {
        let next = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        Self {
            step: Step::Running,
            grace,
            next,
        }
    }

    /// When [`Countdown::is_up`], or [`Countdown::tick`] has something to do.
    pub(super) fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Whether the time is up of a command that nobody has asked to end.
    pub(super) fn is_up(&self) -> bool {
        self.step == Step::Running && self.is_due()
    }

    fn is_due(&self) -> bool {
        self.next.is_some_and(|next| Instant::now() >= next)
    }

    /// Goes on with a command that was asked to end. Fails when it does not even end by SIGKILL.
    pub(super) fn tick(&mut self, job: &Job) -> Result<(), ExecError> {
        match self.step {
            Step::Terminated if self.is_due() => self.kill(job),
            Step::Killed if self.is_due() => return Err(ExecError::Stuck),
            _ => {}
        }
        Ok(())
    }

    /// Without a time limit from now on.
    pub(super) fn unlimited(self) -> Self {
        Self::new(None, self.grace)
    }

    /// This signal now, if none was sent yet: to some programs a second one means that they shall
    /// drop everything.
    pub(super) fn terminate(&mut self, job: &Job, signal: Signal) {
        if self.step == Step::Running {
            job.terminate(signal);
            self.step = Step::Terminated;
            self.next = Instant::now().checked_add(self.grace);
        }
    }

    /// The signal of somebody who wants it to end is passed on; a second one means SIGKILL.
    pub(super) fn pass_on(&mut self, job: &Job, signal: Signal) {
        match self.step {
            Step::Running => self.terminate(job, signal),
            Step::Terminated => self.kill(job),
            Step::Killed => {}
        }
    }

    pub(super) fn kill(&mut self, job: &Job) {
        job.kill();
        self.step = Step::Killed;
        self.next = Some(Instant::now() + Duration::from_millis(KILL_WAIT_MS));
    }
}
