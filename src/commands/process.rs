//! Process-wide helpers of subcommands: signals, standard streams, logging.

use std::borrow::Cow;
use std::fs::File;
use std::io::{IsTerminal as _, Write};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use replay_base::PROGRAM_NAME;
use replay_base::text::escape::{harmless, show_path};
use replay_sandbox::Exit;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use thiserror::Error;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::compose::alone_with_ports;
use crate::config::Config;
use crate::tools::Services;

/// Signals that end a server.
const ENDING: [Signal; 3] = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP];

/// Error: the program was not started.
#[derive(Debug, Error)]
#[error("{0}")]
pub(super) struct NotRun(pub String);

/// Runs an action that needs one command. Running the command also tests the walls. If that fails
/// before the start, repeats the action with walls tested in advance, as for a server. Other walls
/// may then be chosen.
pub(super) fn with_one_command<T>(
    config: Config,
    act: impl Fn(&Services) -> Result<T>,
) -> Result<T> {
    let done = act(alone_with_ports(&config)?.services());
    if done.as_ref().is_err_and(anyhow::Error::is::<NotRun>) {
        return act(alone_with_ports(&config.with_wall_test())?.services());
    }
    done
}

/// Prints text to stdout, with escape sequences made harmless. The text may contain names chosen by
/// agents and hosts.
pub(super) fn print(text: impl AsRef<str>) -> Result<ExitCode> {
    std::io::stdout().write_all(harmless(text.as_ref()).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Prints file content or a document: unchanged, except to a terminal.
pub(super) fn print_content(content: impl AsRef<[u8]>) -> Result<ExitCode> {
    let content = content.as_ref();
    if std::io::stdout().is_terminal() {
        return print(String::from_utf8_lossy(content));
    }
    std::io::stdout().write_all(content)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes lines to stderr and ignores failures.
pub(super) fn tell(text: impl AsRef<str>) {
    let _ = writeln!(std::io::stderr(), "{}", harmless(text.as_ref()));
}

/// Writer that makes terminal escape sequences in log lines harmless, except the logger's own
/// colours.
struct HarmlessLines<W>(W);

impl<W: Write> Write for HarmlessLines<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // ASCII is escaped by the logger.
        if bytes.is_ascii() {
            return self.0.write(bytes);
        }
        let text = String::from_utf8_lossy(bytes);
        let pieces = text.split_inclusive(|c: char| c.is_ascii_control());
        let lines: String = pieces
            .map(|piece| {
                let end =
                    piece.len() - usize::from(piece.ends_with(|c: char| c.is_ascii_control()));
                harmless(&piece[..end]).into_owned() + &piece[end..]
            })
            .collect();
        self.0.write_all(lines.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// Exit status of an action that ran but may have failed.
pub(super) fn status(good: bool) -> ExitCode {
    if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Exit status of a program, as shells report it.
pub(super) fn exit_status(exit: Exit) -> u8 {
    let status = match exit {
        Exit::Code(code) => code,
        Exit::Signal(signal) => 128 + signal,
    };
    u8::try_from(status).unwrap_or(u8::MAX)
}

/// Quotes a word for the shell.
pub(super) fn quoted(word: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "-_./=:,@%+".contains(char);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Quotes a path for the shell; for bash, if it contains unsafe characters.
pub(super) fn quoted_path(path: &Path) -> String {
    match show_path(path) {
        Cow::Owned(escaped) => escaped,
        Cow::Borrowed(plain) => quoted(plain),
    }
}

/// Suggests that a failed program may have missed hidden paths of the disk. Applies if the shell
/// could not find or run a program (sh(1), "Exit Status"). Also applies if a program failed without
/// a call (`idle`).
pub(super) fn hidden_path_hint(services: &Services, exit: Exit, idle: bool) -> Option<String> {
    let failed = matches!(exit, Exit::Code(126 | 127)) || idle && matches!(exit, Exit::Code(1..));
    if !failed || !services.commands.are_walled() {
        return None;
    }
    let roots = services
        .policy
        .roots()
        .iter()
        .map(|root| root.path().display().to_string());
    let roots = roots.collect::<Vec<_>>().join(", ");
    let home = if services.commands.standing.private_home {
        ", and HOME is private"
    } else {
        ""
    };
    Some(format!(
        "the program sees installed programs and the allowed directories ({roots}); \
         --allow DIR adds a directory, --system PATH a program{home}"
    ))
}

/// Blocks the signals that end this process and returns a signalfd. Call it before any thread
/// starts, so that all threads inherit the mask.
pub(super) fn catch_signals() -> Result<SignalFd> {
    catch(&ENDING)
}

/// Runs an action that may wait for a client. Meanwhile these signals end the process at once,
/// since there is nothing to clean up yet.
pub(super) fn interruptible<T>(act: impl FnOnce() -> T) -> T {
    let signals: SigSet = ENDING.into_iter().collect();
    // Neither can fail (sigprocmask(2)).
    let _ = signals.thread_unblock();
    let done = act();
    let _ = signals.thread_block();
    done
}

/// Blocks these signals and returns a signalfd, to forward them to a program.
pub(super) fn catch(caught: &[Signal]) -> Result<SignalFd> {
    let signals: SigSet = caught.iter().copied().collect();
    signals
        .thread_block()
        .context("signals cannot be blocked")?;
    SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
        .context("signals cannot be received")
}

/// Raises the soft limit of open files to the hard limit. Most systems have 1024, and an atomic
/// edit of many files holds each of them open. Commands get a lower limit
/// (`OPEN_FILES_KEPT_SHARE`).
pub(super) fn raise_open_files() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    if let Err(error) = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: maximum,
            maximum,
        },
    ) {
        tracing::warn!("the limit of open files cannot be raised: {error}");
    }
}

/// Sets up logging to stderr, since stdout carries the protocol.
pub(super) fn logging(level: LevelFilter) {
    // Low-level messages of libraries do not help users. Targets of all own crates begin with the
    // name.
    let own = Targets::new()
        .with_target(PROGRAM_NAME, level)
        .with_default(level.min(LevelFilter::WARN));
    let lines = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_target(false)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(|| HarmlessLines(std::io::stderr()))
        // Such errors go to stderr and panic if stderr is closed, but a reader of the log may end
        // before its server.
        .log_internal_errors(false)
        .finish();
    lines.with(own).init();
}

/// Unbuffered stdin; the reader splits blocks into lines itself.
pub(super) fn stdin() -> Result<File> {
    Ok(std::io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .context("stdin is closed")?
        .into())
}

/// Unbuffered stdout; one write is one message.
pub(super) fn stdout() -> Result<File> {
    Ok(std::io::stdout()
        .as_fd()
        .try_clone_to_owned()
        .context("stdout is closed")?
        .into())
}
