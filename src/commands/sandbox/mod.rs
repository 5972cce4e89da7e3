//! `replay sandbox`: explains and tests the walls, or runs a program inside.

mod explain;
mod probe;

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use nix::sys::signal::Signal;
use replay_sandbox::exec::{Denied, Launcher, News, place_of, received};
use replay_sandbox::{CanonicalPath, Event, Guard, RawString, Request, Run};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::process::{
    NotRun, catch, exit_status, hidden_path_hint, logging, print, quoted, status, tell,
    with_one_command,
};
use crate::cli::SandboxAction;
use crate::config::Config;
use crate::tools::{Commands, DATAGRAM_NOTE, Services, socket_note};

pub(crate) use explain::kernel;

pub(super) fn run(action: &SandboxAction) -> Result<ExitCode> {
    match action {
        SandboxAction::Explain(confined) => print(explain::explain(&confined.options())?),
        SandboxAction::Probe(confined) => {
            let (text, holds) = probe::probe(confined.options())?;
            print(text)?;
            Ok(status(holds))
        }
        SandboxAction::Run { confined, program } => Ok(ExitCode::from(run_program(
            Config::for_program(&confined.options())?,
            program,
        )?)),
    }
}

/// Returns the launcher of commands. Fails, with the reason, if commands are refused.
pub(super) fn launcher(commands: &Commands) -> Result<&Launcher> {
    commands
        .launcher
        .as_ref()
        .with_context(|| commands.standing.word().into_owned())
}

/// Request for a single program, without watching or journaling.
pub(super) fn request(argv: Vec<RawString>, dir: CanonicalPath, stdin: bool) -> Request {
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

/// Collects the output of a program until all its processes have ended.
pub(super) fn output(
    launcher: &Launcher,
    request: &Request,
    signals: BorrowedFd<'_>,
) -> io::Result<Vec<u8>> {
    let (mut reader, writer) = io::pipe()?;
    let job = launcher
        .spawn(request, &[writer.as_fd(), rustix::stdio::stderr()])
        .map_err(|error| io::Error::other(error.to_string()))?;
    drop(writer);
    let mut written = Vec::new();
    let mut chunk = [0; 8 * 1024];
    loop {
        let mut fds = [
            PollFd::new(&reader, PollFlags::IN),
            PollFd::from_borrowed_fd(signals, PollFlags::IN),
        ];
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        if !fds[1].revents().is_empty() {
            job.kill();
            return Err(io::Error::new(
                io::ErrorKind::Interrupted,
                "stopped by a signal",
            ));
        }
        if !fds[0].revents().is_empty() {
            match reader.read(&mut chunk)? {
                0 => return Ok(written),
                length => written.extend_from_slice(&chunk[..length]),
            }
        }
    }
}

/// Runs one program with the streams of this process in the first allowed directory, and returns
/// its exit status. Forwards signals to the program and its children.
pub(super) fn run_program(config: Config, program: &[OsString]) -> Result<u8> {
    logging(config.log_level);
    let signals = catch(&[
        Signal::SIGTERM,
        Signal::SIGINT,
        Signal::SIGHUP,
        Signal::SIGQUIT,
    ])?;
    with_one_command(config, |services| {
        run_in(services, program, signals.as_fd())
    })
}

fn run_in(services: &Services, program: &[OsString], signals: BorrowedFd<'_>) -> Result<u8> {
    let launcher = launcher(&services.commands)?;
    let root = services
        .policy
        .project()
        .context("there is no directory to run the program in; add --allow DIR")?;
    let dir = place_of(root)?;
    // A shell sets PWD in the same way.
    let environment = vec![("PWD".into(), dir.path.clone())];
    let run = Run::Named(program.iter().map(Into::into).collect());
    let title = program
        .iter()
        .map(|word| quoted(&word.to_string_lossy()))
        .collect::<Vec<_>>()
        .join(" ");
    let request = Request {
        run,
        environment,
        title,
        ..request(Vec::new(), dir, true)
    };
    let streams = [
        rustix::stdio::stdin(),
        rustix::stdio::stdout(),
        rustix::stdio::stderr(),
    ];
    let job = launcher.spawn(&request, &streams)?;
    let mut is_asked = false;
    loop {
        let mut fds = [
            PollFd::new(&job, PollFlags::IN),
            PollFd::from_borrowed_fd(signals, PollFlags::IN),
        ];
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno).context("the program cannot be waited for"),
        }
        match Some(signals)
            .filter(|_| !fds[1].revents().is_empty())
            .and_then(received)
        {
            None => {}
            // The program may survive SIGINT, as a shell does.
            Some(Signal::SIGINT) => job.interrupt()?,
            Some(_) if is_asked => job.kill(),
            Some(signal) => {
                job.terminate(signal);
                is_asked = true;
            }
        }
        match job.next_event()? {
            News::Said(Event::Ended { exit, denied, .. }, _) => {
                // Nobody may be reading stderr.
                for blocked in denied.iter().filter_map(Denied::blocked_in_words) {
                    tell(format!("replay: {blocked}"));
                }
                let socket_notes = denied.iter().filter_map(|denied| match denied {
                    Denied::Socket(at) => Some(socket_note(at.as_path())),
                    Denied::DatagramSocket => Some(DATAGRAM_NOTE.to_owned()),
                    _ => None,
                });
                for note in socket_notes {
                    let _ = writeln!(io::stderr(), "replay: {note}");
                }
                let _ = hidden_path_hint(services, exit, false)
                    .map(|hint| writeln!(io::stderr(), "replay: {hint}"));
                return Ok(exit_status(exit));
            }
            News::Said(Event::Refused { step, cause }, _) => {
                let reason = io::Error::from(cause);
                bail!(NotRun(format!(
                    "the program was not started: {step}: {reason}"
                )));
            }
            News::Said(Event::Broken { step, cause }, _) => {
                let reason = io::Error::from(cause);
                return Err(reason).context(format!("the program was ended: {step}"));
            }
            News::Gone => bail!(
                "the supervisor of the program crashed, which ended the program, \
                too"
            ),
            News::Said(..) | News::Nothing => {}
        }
    }
}
