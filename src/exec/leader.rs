//! The shell of one command: started, signalled together with its group, and reaped last.
#![expect(
    clippy::disallowed_methods,
    reason = "exec is the process door: `Command::new` is called here and nowhere else"
)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, ChildStdout, Command as Process, Stdio};
use std::sync::Arc;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};

use super::{Command, ExecError, Exit, Running};

/// The process group of one command, and the pidfd of its leader. Valid until the leader is reaped.
#[derive(Debug)]
pub(super) struct Target {
    group: Pid,
    pidfd: OwnedFd,
}

impl Target {
    /// The number of the group, which is also that of the leader.
    pub(super) fn id(&self) -> u32 {
        self.group.as_raw_nonzero().get().unsigned_abs()
    }

    /// Asks everything in the group to end.
    pub(super) fn terminate(&self) {
        // A leader may have moved itself to another group. It is not asked twice: to some programs a
        // second SIGTERM means that they shall drop everything.
        if kill_process_group(self.group, Signal::TERM).is_err() {
            let _ = pidfd_send_signal(&self.pidfd, Signal::TERM);
        }
    }

    /// Ends everything in the group, and the leader wherever it went.
    pub(super) fn kill(&self) {
        // The only failure is that nobody is left to be signalled.
        let _ = kill_process_group(self.group, Signal::KILL);
        let _ = pidfd_send_signal(&self.pidfd, Signal::KILL);
    }
}

/// A started shell. Dropping it, also while a panic unwinds, ends its group and reaps it.
#[derive(Debug)]
pub(super) struct Leader {
    child: Child,
    target: Arc<Target>,
    running: Running,
    reaped: bool,
}

impl Leader {
    /// Starts the shell in a group of its own, with pipes for its output and nothing on its input.
    pub(super) fn start(command: &Command<'_>, running: &Running) -> Result<Self, ExecError> {
        let mut child = Process::new("/bin/sh")
            .arg("-c")
            .arg(command.line)
            // Resolved in the child, after it got its copy of our descriptors and before exec closes them.
            .current_dir(format!("/proc/self/fd/{}", command.dir.as_raw_fd()))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(ExecError::Start)?;
        let group = Pid::from_child(&child);
        let pidfd = match pidfd_open(group, PidfdFlags::empty()) {
            Ok(pidfd) => pidfd,
            Err(errno) => {
                let _ = kill_process_group(group, Signal::KILL);
                let _ = child.wait();
                return Err(ExecError::Follow(errno.into()));
            }
        };
        let target = Arc::new(Target { group, pidfd });
        let entered = running.enter(&target);
        let leader = Self { child, target, running: running.clone(), reaped: false };
        if entered { Ok(leader) } else { Err(ExecError::ShuttingDown) }
    }

    /// The group, to be signalled.
    pub(super) fn target(&self) -> &Target {
        &self.target
    }

    /// Readable once the shell has ended.
    pub(super) fn pidfd(&self) -> BorrowedFd<'_> {
        self.target.pidfd.as_fd()
    }

    /// The read ends of the shell's standard output and standard error; given away once.
    pub(super) fn take_pipes(&mut self) -> Option<(ChildStdout, ChildStderr)> {
        Some((self.child.stdout.take()?, self.child.stderr.take()?))
    }

    /// Ends what is left of the group, then reaps the shell. Waits for the shell if it still runs.
    pub(super) fn finish(mut self) -> Result<Exit, ExecError> {
        self.end().map_err(ExecError::Follow)
    }

    fn end(&mut self) -> io::Result<Exit> {
        self.reaped = true;
        self.target.kill();
        self.running.leave(&self.target);
        let status = self.child.wait()?;
        // waitpid(2): without WUNTRACED a child either exited or was ended by a signal.
        Ok(match (status.code(), status.signal()) {
            (Some(code), _) => Exit::Code(code),
            (None, signal) => Exit::Signal(signal.unwrap_or_default()),
        })
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        if !self.reaped {
            let _ = self.end();
        }
    }
}
