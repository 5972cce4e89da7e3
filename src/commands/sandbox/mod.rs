//! `replay sandbox`: the walls themselves, looked at and tried from the command line.

mod explain;
mod probe;

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

pub use explain::kernel;

use super::process::{catch_signals, exit_status, logging, print, status, unseen};
use crate::cli::{Options, SandboxAction};
use crate::compose::alone;
use crate::config::Config;
use crate::exec::{Denied, Launcher, News, place_of};
use crate::sandbox::{Event, Guard, Place, RawString, Request, Run};
use crate::tools::Commands;

pub fn run(options: Options, action: &SandboxAction) -> Result<ExitCode> {
    match action {
        SandboxAction::Explain => print(explain::explain(&options)?),
        SandboxAction::Probe => {
            let (text, holds) = probe::probe(options)?;
            print(text)?;
            Ok(status(holds))
        }
        SandboxAction::Run { program } => Ok(ExitCode::from(run_program(&Config::resolve(&options)?, program)?)),
    }
}

/// What starts commands. Fails, with the reason, where they are refused.
pub fn launcher(commands: &Commands) -> Result<&Launcher> {
    commands.launcher.as_ref().with_context(|| commands.standing.word().into_owned())
}

/// One program on its own, which is neither watched nor kept.
pub fn request(argv: Vec<RawString>, dir: Place, stdin: bool) -> Request {
    Request {
        title: String::new(),
        call: None,
        is_dry_run: false,
        run: Run::Program(argv),
        dir,
        environment: Vec::new(),
        stdin,
        terminal: None,
        announce: false,
        stays: false,
        intercept: None,
        guard: Guard::default(),
    }
}

/// What a program writes until nothing of it is left.
pub fn output(launcher: &Launcher, request: &Request, signals: BorrowedFd<'_>) -> io::Result<Vec<u8>> {
    let (mut reader, writer) = io::pipe()?;
    let job = launcher
        .spawn(request, &[writer.as_fd(), rustix::stdio::stderr()])
        .map_err(|error| io::Error::other(error.to_string()))?;
    drop(writer);
    let mut written = Vec::new();
    let mut chunk = [0; 8 * 1024];
    loop {
        let mut fds = [PollFd::new(&reader, PollFlags::IN), PollFd::from_borrowed_fd(signals, PollFlags::IN)];
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        if !fds[1].revents().is_empty() {
            job.kill();
            return Err(io::Error::new(io::ErrorKind::Interrupted, "stopped by a signal"));
        }
        if !fds[0].revents().is_empty() {
            match reader.read(&mut chunk)? {
                0 => return Ok(written),
                length => written.extend_from_slice(&chunk[..length]),
            }
        }
    }
}

/// One program with the streams of this process, in the first allowed directory. Returns its exit status. A signal for
/// this process ends the program and what it has started.
pub fn run_program(config: &Config, program: &[OsString]) -> Result<u8> {
    logging(config.log_level);
    let signals = catch_signals()?;
    let server = alone(config)?;
    let services = server.services();
    let commands = &services.commands;
    let launcher = launcher(commands)?;
    let root = services.policy.project().context("there is no directory to run it in; add --allow DIR")?;
    // The shell finds the program on the PATH that commands have.
    let shell = ["/bin/sh", "-c", r#"exec "$@""#, "sh"].map(Into::into);
    let argv = shell.into_iter().chain(program.iter().map(Into::into)).collect();
    let request = request(argv, place_of(root)?, true);
    let streams = [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()];
    let job = launcher.spawn(&request, &streams)?;
    loop {
        let mut fds = [PollFd::new(&job, PollFlags::IN), PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN)];
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno).context("the program cannot be waited for"),
        }
        if !fds[1].revents().is_empty() {
            job.kill();
        }
        match job.next_event()? {
            News::Said(Event::Ended { exit, denied, .. }, _) => {
                // Nobody may be reading stderr.
                for blocked in denied.iter().filter_map(Denied::blocked_in_words) {
                    let _ = writeln!(io::stderr(), "replay: {blocked}");
                }
                let _ = unseen(services, exit, false).map(|hint| writeln!(io::stderr(), "replay: {hint}"));
                return Ok(exit_status(exit));
            }
            News::Said(Event::Refused { step, cause }, _) => {
                let reason = io::Error::from(cause);
                return Err(reason).context(format!("the program was not started: {step}"));
            }
            News::Gone => bail!("the program's supervisor has ended, and the program with it"),
            News::Said(..) | News::Nothing => {}
        }
    }
}
