//! The only process door: starts the launcher, hands it one command after the other, and follows
//! each to its end.
//!
//! A command is a [`Job`]: a socket to the supervisor that runs and ends it. Everything waits in
//! one `poll` over that socket, the output and the cancel token. When the supervisor says that the
//! command has ended nothing of it is alive, so its output is at its end, and nothing here depends
//! on a process number or on who holds a pipe.

mod activity;
mod background;
mod background_commands;
mod capture;
mod drain;
mod foreground;
mod gatekeeper;
mod interception;
mod job;
mod launcher;
mod logs;
mod output;
mod place;
mod poll;
mod reader;
mod resident;
mod ring;
mod running_command;
mod slots;
mod start;
mod streams;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ffi::OsString;
use std::io;
use std::time::Duration;

use rustix::io::Errno;
use thiserror::Error;

use crate::journal::Changes;
use crate::limits::{JOURNAL_TITLE_BYTES, MAX_COMMAND_BYTES};
use crate::policy::{Touch, note};
use crate::sandbox::{Cause, DryRunReport, Guard, Place, Request, Run};

pub use crate::sandbox::PROXY_PORT;
pub use crate::sandbox::intercept::{Counts, ProgramName};
pub use crate::sandbox::{Blocked, Denied, Exit};
pub use background::{Background, Ending, State};
pub use background_commands::{BackgroundCommands, BackgroundPlace};
pub use capture::Captured;
pub use foreground::{Foreground, HandedOver, Intercepted, Stage, Waited};
pub use gatekeeper::{Gatekeeper, Guarded, Trusting};
pub use interception::{Flow, Interception, Listening, Mark};
pub use job::{Job, News};
pub use launcher::Launcher;
pub use logs::{LOGS, Log, Logs};
pub use place::place_of;
pub use poll::{Bell, readable, received};
pub use reader::{READER_ARGUMENT, ReaderError, ReaderLimits, read_apart, serve_reader};
pub use resident::{Program, ProgramStatus, Resident};
pub use ring::{OutputFiles, Page};
pub use slots::Slots;

/// One command line for the shell of commands.
#[derive(Clone, Debug)]
pub struct Command<'a> {
    /// What the call that runs it changes.
    pub changes: &'a Changes<'a>,
    /// The text given to the shell as it stands.
    pub line: &'a str,
    /// The working directory, from [`place_of`] a checked handle: another one that has taken its
    /// name since is refused.
    pub dir: Place,
    /// Rows and columns of the terminal that the command gets; `None` for pipes.
    pub terminal: Option<(u16, u16)>,
    /// Its PATH; `None` for that of every command.
    pub path: Option<OsString>,
}

/// What a command left behind when it was over, however it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What it wrote to its standard output, or to its terminal.
    pub stdout: Captured,
    /// What it wrote to its standard error.
    pub stderr: Captured,
    /// How the shell itself ended.
    pub exit: Exit,
    /// The time limit passed before the shell was done.
    pub timed_out: bool,
    /// The call was cancelled before the shell was done.
    pub cancelled: bool,
    /// The number of the signal that asked it to end in the name of whoever runs this process, if
    /// one did ([`Intercepted::signals`]).
    pub asked_by: Option<i32>,
    /// Processes that were still there when the shell ended, and were ended with it.
    pub left: u32,
    /// What the walls refused to it, each thing once.
    pub denied: Vec<Denied>,
    /// What it would have changed, if it only ran dry.
    pub would_change: Option<DryRunReport>,
}

/// What the entry in the journal is called of something that a tool runs.
pub fn title(tool: &str, line: &str) -> String {
    let line = line.lines().next().unwrap_or_default();
    format!(
        "{tool}: {}",
        &line[..line.floor_char_boundary(JOURNAL_TITLE_BYTES)]
    )
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
    #[error("cannot start the command: {step}: {cause}")]
    Refused {
        step: String,
        /// What the kernel said.
        cause: io::Error,
    },
    /// As many commands run as may, and none ended in time.
    #[error(
        "all {most} places for commands are taken (--max-commands), and none became free within the timeout"
    )]
    NoPlace {
        /// How many may run.
        most: usize,
    },
    /// As many background commands run as may.
    #[error("all {most} places for background commands are taken (--max-background-commands): {}", ids.join(", "))]
    NoBackgroundPlace {
        /// How many may run.
        most: usize,
        ids: Vec<String>,
    },
    /// As many programs stay as may.
    #[error("all {most} places for programs that stay are taken")]
    NoResidentPlace {
        /// How many may stay.
        most: usize,
    },
    /// A program that stays has ended before it was spoken to.
    #[error("the program has ended already, {}", told(*exit))]
    Over { exit: Exit },
    /// The supervisor of a program that stays is too slow.
    #[error("the process that watches over the program has not answered within {} ms", timeout.as_millis())]
    Silent {
        /// How long it had.
        timeout: Duration,
    },
    /// There is no launcher any more.
    #[error("the launcher of commands has ended, and no command can be started without it")]
    NoLauncher,
    /// The supervisor has gone without a last word.
    #[error(
        "the process that watched over the command has vanished; how the command ended is not known"
    )]
    Vanished,
    /// Something of the command is there still, seconds after SIGKILL.
    #[error("the command does not end, not even by SIGKILL; it may hang inside the kernel")]
    Stuck,
    /// The kernel refused something that the run needs (a pipe, `poll`), or the supervisor is not
    /// understood.
    #[error("cannot follow the command: {0}")]
    Follow(#[source] io::Error),
    /// The call was cancelled before the command began.
    #[error("the call was cancelled")]
    Cancelled,
    /// The server is ending its commands and starts no new ones.
    #[error("the server is shutting down and starts no more commands")]
    ShuttingDown,
}

impl ExecError {
    /// What to do next, if there is something the caller can do.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            Self::Nul { .. } => {
                "write the byte as an escape, for example with `printf '\\0'`".into()
            }
            Self::TooLong { .. } => {
                "write the script to a file with `write_file` and run that file".into()
            }
            Self::NoPlace { .. } => {
                "wait for the commands that run, or cancel one, then try again".into()
            }
            Self::NoBackgroundPlace { .. } => {
                "end one of them with follow_command and `end: true`".into()
            }
            Self::NoResidentPlace { .. } => "end one of them, then try again".into(),
            Self::Over { .. } => "start it again; what it held in memory is lost".into(),
            Self::NoLauncher => "the server must be restarted; the file tools work on".into(),
            Self::Vanished => "look at what the command did before it is run again".into(),
            Self::Silent { .. } => "try again; the machine may be busy".into(),
            Self::Refused { .. }
            | Self::Stuck
            | Self::Follow(_)
            | Self::Cancelled
            | Self::ShuttingDown => return None,
        })
    }

    fn follow(errno: Errno) -> Self {
        Self::Follow(errno.into())
    }

    /// What a supervisor says of a program that it could not start.
    fn refused(step: String, cause: Cause) -> Self {
        Self::Refused {
            step,
            cause: cause.into(),
        }
    }

    /// What a supervisor says of a program that it has ended.
    fn broken(step: &str, cause: Cause) -> Self {
        Self::Follow(io::Error::other(format!(
            "{step}: {}",
            io::Error::from(cause)
        )))
    }

    /// What a supervisor says that has nothing to say at this point.
    fn out_of_turn() -> Self {
        Self::Follow(io::Error::new(
            io::ErrorKind::InvalidData,
            "its supervisor speaks out of turn",
        ))
    }
}

/// The way in which a program ended, in words.
fn told(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("with exit code {code}"),
        Exit::Signal(signal) => format!("by signal {signal}"),
    }
}

impl Command<'_> {
    /// The request for the launcher. Fails when the kernel could not take the line.
    fn request(&self, stdin: bool, announce: bool) -> Result<Request, ExecError> {
        if let Some(offset) = self.line.bytes().position(|byte| byte == 0) {
            return Err(ExecError::Nul { offset });
        }
        if self.line.len() > MAX_COMMAND_BYTES {
            return Err(ExecError::TooLong {
                bytes: self.line.len(),
            });
        }
        note(self.dir.path.as_path(), None, Touch::Run);
        let terminal = self
            .terminal
            .map(|_| ("TERM".into(), "xterm-256color".into()));
        let path = self.path.as_ref().map(|path| ("PATH".into(), path.into()));
        Ok(Request {
            run: Run::Script(self.line.into()),
            dir: self.dir.clone(),
            environment: terminal.into_iter().chain(path).collect(),
            stdin: stdin && self.terminal.is_none(),
            terminal: self.terminal,
            // A terminal comes back with the announcement.
            announce: announce || self.terminal.is_some(),
            stays: false,
            intercept: None,
            guard: Guard::default(),
            title: title(self.changes.title(), self.line),
            call: self.changes.lend(),
            is_dry_run: false,
        })
    }
}
