//! The only process door: runs one shell command in its own process group and ends all of it.
//!
//! Everything waits in one `poll` over the two pipes, a pidfd of the shell and the cancel token, so
//! nothing depends on the end of a pipe that some grandchild may hold open. A group is signalled only
//! while its leader is not yet reaped: until then the kernel cannot give the number to anybody else.

mod capture;
mod leader;
mod run;
mod running;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use thiserror::Error;

use crate::limits::MAX_COMMAND_BYTES;

pub use capture::Captured;
pub use run::run;
pub use running::Running;

/// One command line for `/bin/sh -c`, and what it is held to.
#[derive(Clone, Copy, Debug)]
pub struct Command<'a> {
    /// The text given to the shell as it stands.
    pub line: &'a str,
    /// Handle of the working directory (`O_PATH` is enough). The child goes there through the handle,
    /// so a directory renamed or replaced since the check changes nothing.
    pub dir: BorrowedFd<'a>,
    /// Time until the group gets SIGTERM.
    pub timeout: Duration,
    /// Time from SIGTERM to SIGKILL.
    pub grace: Duration,
    /// Bytes kept of each of the two streams; what comes after is read and counted, not kept.
    pub output_cap_bytes: usize,
}

/// How the shell ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It exited with this code (0 to 255).
    Code(i32),
    /// A signal with this number ended it.
    Signal(i32),
}

/// What a command left behind when it was over, however it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What it wrote to its standard output.
    pub stdout: Captured,
    /// What it wrote to its standard error.
    pub stderr: Captured,
    /// How the shell itself ended.
    pub exit: Exit,
    /// The time limit passed before the shell was done.
    pub timed_out: bool,
    /// The call was cancelled before the shell was done.
    pub cancelled: bool,
    /// Some process outside the group still held an output pipe when the reply was made: it left the
    /// group (`setsid`), and what it writes from now on is lost.
    pub pipe_held: bool,
}

/// Why a command was not run to an end.
#[derive(Debug, Error)]
pub enum ExecError {
    /// The line holds a NUL, which no argument of a program can.
    #[error("`command` has a NUL byte at offset {offset}, and a shell command cannot contain one")]
    Nul {
        /// Offset of the first NUL, in bytes.
        offset: usize,
    },
    /// The line is longer than the kernel takes for one argument (`MAX_ARG_STRLEN`, execve(2)).
    #[error("`command` is {bytes} bytes long, and at most {MAX_COMMAND_BYTES} bytes are allowed")]
    TooLong {
        /// Length of the line, in bytes.
        bytes: usize,
    },
    /// The shell did not start.
    #[error("cannot start `/bin/sh`: {0}")]
    Start(#[source] io::Error),
    /// The kernel refused something that the run needs (a pipe, a pidfd, `poll`).
    #[error("cannot follow the command: {0}")]
    Follow(#[source] io::Error),
    /// The server is ending its commands and starts no new ones.
    #[error("the server is shutting down and starts no more commands")]
    ShuttingDown,
}

impl ExecError {
    /// What to do next, if there is something the caller can do.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Nul { .. } => Some("write the byte as an escape, for example with `printf '\\0'`".into()),
            Self::TooLong { .. } => Some("write the script to a file with `write_file` and run that file".into()),
            Self::Start(_) | Self::Follow(_) | Self::ShuttingDown => None,
        }
    }
}
