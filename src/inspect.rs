//! `replay sandbox`: the walls themselves, looked at and tried from the command line.

use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use crate::config::Config;
use crate::exec::{News, place_of};
use crate::policy::{Cause, Policy};
use crate::sandbox::explain::{Protected, Why, explain as text};
use crate::sandbox::{Event, Exit, Guard, Request, Standing, Tier};
use crate::server::Server;
use crate::start::plan;

/// The text of `replay sandbox explain`. When nothing stands, the rules are those of the best tier.
pub fn explain(config: &Config, policy: &Policy, standing: &Standing) -> Result<String> {
    let plan = plan(config, policy, standing.tier.unwrap_or(Tier::Namespaces), Path::new(""))?;
    let protected: Vec<&Path> = policy.protected_by_operator().collect();
    let uname = rustix::system::uname();
    let kernel = format!(
        "{} {} ({})",
        uname.sysname().to_string_lossy(),
        uname.release().to_string_lossy(),
        uname.machine().to_string_lossy()
    );
    let asked = config.sandbox.asked(&protected);
    let protected = protected_paths(policy);
    let why = Why { kernel: &kernel, system: &config.sandbox.system, protected: &protected, asked };
    let mut text = text(&plan, standing, &why);
    if policy.repositories().found().is_partial {
        text.push_str("  git repositories that lie deep, or after many directories, have not been looked for\n");
    }
    Ok(text)
}

/// What is read-only by itself, and what was found in git repositories.
fn protected_paths(policy: &Policy) -> Vec<Protected> {
    let named = policy.causes().map(|(path, cause)| {
        let (by, program) = match cause {
            Cause::Asked => ("--protect", None),
            Cause::Configures => ("configures this server", None),
            Cause::Default(program) => ("by default", Some(program)),
            Cause::Hidden => ("hidden", None),
        };
        Protected { path: path.into(), by, program }
    });
    let mut all: Vec<Protected> = named.collect();
    for path in policy.repositories().found().all() {
        if !all.iter().any(|known| known.path == path) {
            all.push(Protected { path: path.into(), by: "by default", program: Some("git") });
        }
    }
    all
}

/// `replay sandbox run`: one program with the streams of this process, in the first allowed directory. Returns its exit
/// status. A signal for this process ends the program and what it has started.
pub fn run(server: &Server, program: &[OsString], signals: BorrowedFd<'_>) -> Result<u8> {
    let services = server.services();
    let commands = &services.commands;
    let Some(launcher) = &commands.launcher else {
        bail!("commands are refused: {}", commands.standing.refused.as_deref().unwrap_or("the set of tools has none"));
    };
    let root = services.policy.project().context("there is no directory to run it in; add --allow DIR")?;
    // The shell finds the program on the PATH that commands have.
    let shell = ["/bin/sh", "-c", r#"exec "$@""#, "sh"].map(Into::into);
    let request = Request {
        argv: shell.into_iter().chain(program.iter().map(Into::into)).collect(),
        script: None,
        dir: place_of(root)?,
        environment: Vec::new(),
        stdin: true,
        terminal: None,
        announce: false,
        stays: false,
        intercept: None,
        guard: Guard::default(),
    };
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
            News::Said(Event::Ended { exit, .. }, _) => {
                let status = match exit {
                    Exit::Code(code) => code,
                    // As shells report it.
                    Exit::Signal(signal) => 128 + signal,
                };
                return Ok(u8::try_from(status).unwrap_or(u8::MAX));
            }
            News::Said(Event::Refused { step, errno }, _) => {
                let reason = std::io::Error::from_raw_os_error(errno);
                return Err(reason).context(format!("the program was not started: {step}"));
            }
            News::Gone => bail!("the program's supervisor has ended, and the program with it"),
            News::Said(Event::Started | Event::Listens | Event::Status { .. }, _) | News::Nothing => {}
        }
    }
}
