//! Process execution: starts the launcher, sends it commands and follows each to its end.
//!
//! A command is a [`Job`]: a socket to the supervisor that runs and ends it. The server waits in
//! one `poll` over that socket, the output and the cancel token. When the supervisor reports the
//! end, no process of the command is alive, so its output is complete. Nothing depends on a process
//! id or on the holders of a pipe.

mod activity;
mod background;
mod background_commands;
mod capture;
mod control;
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
mod ports;
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

use replay_base::limits::{JOURNAL_TITLE_BYTES, MAX_COMMAND_BYTES};
use replay_files::journal::Changes;
use replay_files::policy::{AccessKind, note};
use rustix::io::Errno;
use thiserror::Error;

use crate::{CanonicalPath, Cause, DryRunReport, Guard, Request, Run};

pub use crate::PROXY_PORT;
pub use crate::intercept::{Counts, Flow, Mark, ProgramName};
pub use crate::{Blocked, Denied, Exit, ProxyRefusal};
pub use background::{Background, Ending, State};
pub use background_commands::{BackgroundCommands, BackgroundPlace};
pub use capture::Captured;
pub use foreground::{Foreground, HandedOver, Intercepted, Stage, Waited};
pub use gatekeeper::{Gatekeeper, Guarded, Trusting};
pub use interception::{Interception, Listening};
pub use job::{Job, News};
pub use launcher::Launcher;
pub use logs::{LOGS, Log, Logs};
pub use place::place_of;
pub use poll::{Bell, readable, received};
pub use ports::{IpVersion, ListeningPort, Ports};
pub use reader::{READER_ARGUMENT, ReaderError, ReaderLimits, read_apart, serve_reader};
pub use resident::{Program, ProgramStatus, Resident};
pub use ring::{OutputFiles, Page};
pub use slots::Slots;

/// One command line for the shell of commands.
#[derive(Clone, Debug)]
pub struct Command<'a> {
    /// Changes of the call that runs the command.
    pub changes: &'a Changes<'a>,
    /// Command line, passed to the shell unchanged.
    pub line: &'a str,
    /// Working directory, from [`place_of`] a checked handle. A different directory that has taken
    /// its path since is refused.
    pub dir: CanonicalPath,
    /// Rows and columns of the terminal that the command gets; `None` for pipes.
    pub terminal: Option<(u16, u16)>,
    /// PATH of the command; `None` for the default.
    pub path: Option<OsString>,
}

/// Result of a finished command: exit status, output, processes killed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Output on the standard output or the terminal.
    pub stdout: Captured,
    /// Output on the standard error.
    pub stderr: Captured,
    /// Exit status of the shell.
    pub exit: Exit,
    /// `true` if the time limit passed before the shell ended.
    pub timed_out: bool,
    /// `true` if the call was cancelled before the shell ended.
    pub cancelled: bool,
    /// Number of the signal that the user sent to this process to end the command, if any
    /// ([`Intercepted::signals`]).
    pub asked_by: Option<i32>,
    /// Number of processes that outlived the shell and were killed with it.
    pub left: u32,
    /// Accesses that the sandbox denied, without duplicates.
    pub denied: Vec<Denied>,
    /// Changes that a dry run would have made.
    pub would_change: Option<DryRunReport>,
}

/// Returns the title of a tool's command in the journal; of an empty line the tool alone.
pub fn title(tool: &str, line: &str) -> String {
    let line = line.lines().next().unwrap_or_default();
    if line.is_empty() {
        return tool.to_owned();
    }
    format!(
        "{tool}: {}",
        &line[..line.floor_char_boundary(JOURNAL_TITLE_BYTES)]
    )
}

/// Reason why a command did not run to its end.
#[derive(Debug, Error)]
pub enum ExecError {
    /// The line contains a NUL, which no program argument can.
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
        /// Error of the kernel.
        cause: io::Error,
    },
    /// All slots were taken, and none became free in time.
    #[error(
        "all {most} slots for commands are in use (--max-commands), and none became free within \
         the timeout"
    )]
    NoPlace {
        /// Maximum number of commands.
        most: usize,
    },
    /// All background slots are taken.
    #[error("all {most} slots for background commands are in use (--max-background-commands): {}", ids.join(", "))]
    NoBackgroundPlace {
        /// Maximum number of background commands.
        most: usize,
        ids: Vec<String>,
    },
    /// All slots for resident programs are taken.
    #[error("all {most} slots for long-running programs are in use")]
    NoResidentPlace {
        /// Maximum number of resident programs.
        most: usize,
    },
    /// A resident program ended before the request.
    #[error("the program has ended already, {}", describe_exit(*exit))]
    Over { exit: Exit },
    /// The supervisor of a resident program did not answer in time.
    #[error("the supervisor of the program has not answered within {} ms", timeout.as_millis())]
    Silent {
        /// Timeout of the request.
        timeout: Duration,
    },
    /// The launcher has ended.
    #[error("the launcher of commands has ended, and no command can be started without it")]
    NoLauncher,
    /// The supervisor has gone without a final message.
    #[error("the supervisor of the command has crashed, so the result of the command is unknown")]
    Vanished,
    /// A process of the command still exists, seconds after SIGKILL.
    #[error("the command does not end, not even after SIGKILL; it may hang in the kernel")]
    Stuck,
    /// The kernel refused an operation that the run needs (a pipe, `poll`), or a message of the
    /// supervisor is invalid.
    #[error("cannot follow the command: {0}")]
    Follow(#[source] io::Error),
    /// The call was cancelled before the command began.
    #[error("the call was cancelled")]
    Cancelled,
    /// The server is shutting down and starts no commands.
    #[error("the server is shutting down and starts no more commands")]
    ShuttingDown,
}

impl ExecError {
    /// Returns a hint for the caller, if there is one.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            Self::Nul { .. } => {
                "write the byte as an escape, for example with `printf '\\0'`".into()
            }
            Self::TooLong { .. } => {
                "write the script to a file with `write_file` and run that file".into()
            }
            Self::NoPlace { .. } => {
                "wait for a running command, or cancel one, then try again".into()
            }
            Self::NoBackgroundPlace { .. } => {
                "end one of these commands with follow_command and `end: true`".into()
            }
            Self::NoResidentPlace { .. } => "end one of them, then try again".into(),
            Self::Over { .. } => "start the program again; its memory is lost".into(),
            Self::NoLauncher => {
                "the operator must restart the server; file tools still work".into()
            }
            Self::Vanished => "check what the command did before you run it again".into(),
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

    /// Returns the error for a program that the supervisor could not start.
    fn refused(step: String, cause: Cause) -> Self {
        Self::Refused {
            step,
            cause: cause.into(),
        }
    }

    /// Returns the error for a program that the supervisor has ended.
    fn broken(step: &str, cause: Cause) -> Self {
        Self::Follow(io::Error::other(format!(
            "{step}: {}",
            io::Error::from(cause)
        )))
    }

    /// Returns the error for a message that is invalid at this point.
    fn out_of_turn() -> Self {
        Self::Follow(io::Error::new(
            io::ErrorKind::InvalidData,
            "its supervisor sent an unexpected message",
        ))
    }
}

/// Describes the exit status in words.
fn describe_exit(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("with exit code {code}"),
        Exit::Signal(signal) => format!("by signal {signal}"),
    }
}

impl Command<'_> {
    /// Returns the subject of the call if the tool made the line itself, else the line.
    fn told(&self) -> &str {
        let is_made = |subject: &&str| {
            subject.is_empty()
                || !self
                    .line
                    .trim_start()
                    .starts_with(subject.trim_end_matches('…'))
        };
        let subject = self.changes.subject();
        subject.filter(is_made).unwrap_or(self.line)
    }

    /// Returns the request for the launcher. Fails if the kernel would reject the line.
    fn request(&self, stdin: bool, announce: bool) -> Result<Request, ExecError> {
        if let Some(offset) = self.line.bytes().position(|byte| byte == 0) {
            return Err(ExecError::Nul { offset });
        }
        if self.line.len() > MAX_COMMAND_BYTES {
            return Err(ExecError::TooLong {
                bytes: self.line.len(),
            });
        }
        note(self.dir.path.as_path(), None, AccessKind::Run);
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
            // The terminal is sent back with the announcement.
            announce: announce || self.terminal.is_some(),
            stays: false,
            intercept: None,
            guard: Guard::default(),
            title: title(self.changes.title(), self.told()),
            call: self.changes.lend(),
            is_dry_run: false,
        })
    }
}
