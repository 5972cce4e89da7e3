//! Server side of one command: the socket to its supervisor.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use replay_base::limits::KILL_WAIT_MS;
use replay_files::journal::Journal;
use rustix::net::{Shutdown, shutdown};

use super::ExecError;
use super::activity::ActivityMark;
use super::control::Control;
use super::gatekeeper::Guarded;
use super::ports::{PortJob, Ports};
use crate::wire::{ACCOUNT, INTERRUPT, STATUS, TERMINATE, receive_event};
use crate::{Denied, Event};

/// A command that was handed to the launcher. Dropping it ends everything of the command.
#[derive(Debug)]
pub struct Job {
    control: Control,
    /// Activity of resident programs when the command began.
    others: ActivityMark,
    /// Guard of its connections, if any.
    pub(super) guarded: Option<Arc<dyn Guarded>>,
    /// Journal in which its supervisor records changes.
    journal: Option<Arc<Journal>>,
    /// Its entry among the commands that may listen.
    listens: Option<Arc<PortJob>>,
}

/// Result of [`Job::next_event`].
#[derive(Debug)]
pub enum News {
    /// No message is pending.
    Nothing,
    /// Message of the supervisor; [`Event::Started`] carries a descriptor if there is a terminal.
    Said(Event, Option<OwnedFd>),
    /// The supervisor has closed its end.
    Gone,
}

impl Job {
    /// Creates a job from the server's end of a command's socket, which must be nonblocking.
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
            listens: None,
        }
    }

    /// Adds it to the commands that may listen. `is_resident` is true if it outlives its call.
    #[must_use]
    pub(super) fn listening(mut self, ports: Option<&Arc<Ports>>, is_resident: bool) -> Self {
        self.listens = ports.map(|ports| ports.add(self.control.clone(), is_resident));
        self
    }

    /// Continues as the background command with this id.
    pub(super) fn goes_on_as(&self, id: &str) {
        if let Some(listens) = &self.listens {
            listens.goes_on_as(id);
        }
    }

    /// Sends a terminating signal to all processes of the command: SIGTERM, SIGINT, SIGHUP or
    /// SIGQUIT.
    pub fn terminate(&self, signal: Signal) {
        // Errors are ignored, as in `Control::kill`.
        let _ = self.control.send(&[TERMINATE, signal as u8]);
    }

    /// Sends SIGINT to all processes of the command, which may survive it. Fails if the supervisor
    /// is gone.
    pub fn interrupt(&self) -> Result<(), ExecError> {
        self.control.send(&[INTERRUPT]).map_err(ExecError::follow)
    }

    /// Requests the status of the program, under this number. Fails if the supervisor is gone.
    pub(super) fn request_status(&self, number: u64) -> Result<(), ExecError> {
        let mut words = [STATUS; 9];
        words[1..].copy_from_slice(&number.to_le_bytes());
        self.control.send(&words).map_err(ExecError::follow)
    }

    /// Requests the changes so far, under this number. Later changes belong to an entry with the
    /// title `next`.
    pub(super) fn request_changes(&self, number: u64, next: &str) -> Result<(), ExecError> {
        let words = [&[ACCOUNT][..], &number.to_le_bytes(), next.as_bytes()].concat();
        self.control.send(&words).map_err(ExecError::follow)
    }

    /// Sends SIGKILL to all processes of the command.
    pub fn kill(&self) {
        self.control.kill();
    }

    /// Returns the next message of the supervisor. Does not block, except for pending verdicts
    /// about connections of an ended command.
    pub fn next_event(&self) -> Result<News, ExecError> {
        let heard = match receive_event(&*self.control.0) {
            // unix(7): the other end was closed with unread data. The error comes once, before the
            // data that was sent from there, which can still be read.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                receive_event(&*self.control.0)
            }
            heard => heard,
        };
        match heard {
            Ok(Some((mut event, fd))) => {
                if let Event::Ended { denied, .. } = &mut event {
                    if !self.others.is_quiet() {
                        // The kernel does not tell which of them used the network.
                        denied.iter_mut().for_each(Denied::blame_others_too);
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

    /// Returns the connections blocked since the last call.
    pub(super) fn blocked(&self) -> Vec<Denied> {
        self.guarded
            .as_ref()
            .map(|guarded| guarded.blocked())
            .unwrap_or_default()
    }

    /// Shuts the socket down: it is readable from now on, and the supervisor sees its end as if
    /// this were dropped.
    pub(super) fn close(&self) {
        // Affects all clones of the descriptor. It fails only if the socket is closed already.
        let _ = shutdown(&*self.control.0, Shutdown::Both);
    }

    pub(super) fn control(&self) -> Control {
        self.control.clone()
    }
}

/// Readable when the supervisor has sent a message, or is gone.
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

/// Progress of a command from SIGTERM to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommandPhase {
    Running,
    Terminated,
    Killed,
}

/// Deadlines of a command: its time limit, SIGKILL after the grace period, and giving up.
#[derive(Debug)]
pub(super) struct Countdown {
    step: CommandPhase,
    grace: Duration,
    /// Deadline of the next step; `None` for never.
    next: Option<Instant>,
}

impl Countdown {
    /// Creates a countdown with a time limit of `timeout`, and `grace` from SIGTERM to SIGKILL.
    pub(super) fn new(timeout: Option<Duration>, grace: Duration) -> Self {
        let next = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        Self {
            step: CommandPhase::Running,
            grace,
            next,
        }
    }

    /// Returns the next deadline, after which [`Countdown::is_up`] or [`Countdown::tick`] acts.
    pub(super) fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Returns true if the time limit has passed and no signal was sent yet.
    pub(super) fn is_up(&self) -> bool {
        self.step == CommandPhase::Running && self.is_due()
    }

    fn is_due(&self) -> bool {
        self.next.is_some_and(|next| Instant::now() >= next)
    }

    /// Takes the next step for a command that was asked to end. Fails if it survives SIGKILL.
    pub(super) fn tick(&mut self, job: &Job) -> Result<(), ExecError> {
        match self.step {
            CommandPhase::Terminated if self.is_due() => self.kill(job),
            CommandPhase::Killed if self.is_due() => return Err(ExecError::Stuck),
            _ => {}
        }
        Ok(())
    }

    /// Replaces the time limit by one from now on.
    pub(super) fn limit_to(&mut self, rest: Option<Duration>) {
        *self = Self::new(rest, self.grace);
    }

    /// Sends this signal, unless one was sent before: some programs exit at once on a second one.
    pub(super) fn terminate(&mut self, job: &Job, signal: Signal) {
        if self.step == CommandPhase::Running {
            job.terminate(signal);
            self.step = CommandPhase::Terminated;
            self.next = Instant::now().checked_add(self.grace);
        }
    }

    /// Forwards a signal of a user who wants the command to end; a second one means SIGKILL.
    pub(super) fn pass_on(&mut self, job: &Job, signal: Signal) {
        match self.step {
            CommandPhase::Running => self.terminate(job, signal),
            CommandPhase::Terminated => self.kill(job),
            CommandPhase::Killed => {}
        }
    }

    pub(super) fn kill(&mut self, job: &Job) {
        job.kill();
        self.step = CommandPhase::Killed;
        self.next = Some(Instant::now() + Duration::from_millis(KILL_WAIT_MS));
    }
}
