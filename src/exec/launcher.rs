//! The server's side of the launcher, the process that starts every command inside the walls.
#![expect(
    clippy::disallowed_methods,
    reason = "exec is the process door: `Command::new` is called here and nowhere else, with /dev/null"
)]

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, Shutdown, SocketFlags, SocketType, shutdown, socketpair};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use thiserror::Error;

use super::activity::Activity;
use super::gatekeeper::Gatekeeper;
use super::interception::{Listening, in_memory};
use super::poll::readable;
use super::{ExecError, Job};
use crate::journal::Journal;
use crate::limits::{LAUNCHER_END_MS, LAUNCHER_REMOVAL_MS, LAUNCHER_START_MS};
use crate::policy::{Found, Repositories};
use crate::sandbox::landlock::public_entries;
use crate::sandbox::wire::{receive, send};
use crate::sandbox::{
    Dial, Guard, Hello, Intercept, LAUNCHER_ARGUMENT, MemoryHold, Plan, RawString, Request, Tier,
};

/// Every connection waits for the gatekeeper, who reaches the commands' own loopback through the
/// supervisor.
const GATED: Intercept = Intercept {
    dial: Dial::Wanted,
    open: false,
    bundle: false,
    proxy_only: false,
};

/// A launcher, which has built the walls once it was told to. Dropping it ends it.
#[derive(Debug)]
pub struct Launcher {
    /// `None` once the launcher was ended, or found to have gone.
    socket: Mutex<Option<OwnedFd>>,
    child: Mutex<Option<Child>>,
    /// As in the plan.
    environment: Vec<(RawString, RawString)>,
    works: Activity,
    /// What commands have left on the disk is removed with nobody waiting for it, be it little.
    is_for_one: bool,
    /// Who decides about the connections of commands; without one their network does.
    gatekeeper: Option<Arc<dyn Gatekeeper>>,
    /// Where commands are held to what was found in them. The launcher is told with the first
    /// command.
    repositories: Option<Arc<Repositories>>,
    /// Whether it was. Changed under the lock of the socket.
    has_told: AtomicBool,
    /// Where supervisors note what commands change, if they do.
    journal: Option<Arc<Journal>>,
}

/// What the launcher says of the walls it has built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    /// HOME of commands; `None` for what the environment of the plan says.
    pub home: Option<RawString>,
    /// TMPDIR of commands; `None` for what the environment of the plan says.
    pub tmp: Option<RawString>,
    /// Version of the Landlock interface; `None` if it is not used.
    pub landlock_abi: Option<u32>,
    /// What holds commands to their memory; `None` if it is not limited.
    pub memory: Option<MemoryHold>,
    /// What this tier leaves open on this system, a line each.
    pub gaps: Vec<String>,
}

/// Why there is no launcher.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// It was not started.
    #[error("cannot start the launcher of commands: {0}")]
    Start(#[source] io::Error),
    /// The conversation with it broke off.
    #[error("cannot speak with the launcher of commands: {0}")]
    Speak(#[source] io::Error),
    /// It says nothing.
    #[error("the launcher of commands has not answered within {} s", LAUNCHER_START_MS / 1000)]
    Silent,
    /// It ended before it said how it went.
    #[error("the launcher of commands has ended at its start")]
    Ended,
    /// The walls of this tier cannot be built here.
    #[error("{reason}")]
    Cannot {
        /// What was tried and what the kernel said.
        reason: String,
    },
}

impl LaunchError {
    /// What to do next, if there is something the operator can do.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Cannot { .. } => Some("try another tier (--sandbox)".into()),
            Self::Start(_) | Self::Speak(_) | Self::Silent | Self::Ended => None,
        }
    }
}

impl Launcher {
    /// Starts `program` (this program again) as a launcher, which waits for its plan.
    ///
    /// It gets an empty environment, and its socket, `/dev/null` and the server's standard error as
    /// its three streams.
    pub fn begin(program: &Path) -> Result<Self, LaunchError> {
        let (here, there) = pair(SocketType::STREAM).map_err(LaunchError::Start)?;
        // For both ways: it becomes the standard input of commands.
        let null = File::options()
            .read(true)
            .write(true)
            .open("/dev/null")
            .map_err(LaunchError::Start)?;
        let child = Command::new(program)
            .arg(LAUNCHER_ARGUMENT)
            .env_clear()
            .stdin(Stdio::from(there))
            .stdout(Stdio::from(null))
            .spawn()
            .map_err(LaunchError::Start)?;
        Ok(Self::over(here, Some(child)))
    }

    /// Has it carry out the plan.
    pub fn build(self, plan: &Plan) -> Result<(Self, Ready), LaunchError> {
        self.build_beside(plan, &mut |_| ())
    }

    /// The same; `meanwhile` has the time until its descriptor is readable.
    pub fn build_beside(
        mut self,
        plan: &Plan,
        meanwhile: &mut dyn FnMut(BorrowedFd<'_>),
    ) -> Result<(Self, Ready), LaunchError> {
        self.works = if plan.tier == Tier::Namespaces {
            Activity::default()
        } else {
            Activity::apart()
        };
        self.environment.clone_from(&plan.environment);
        self.is_for_one = !plan.is_tried;
        let public = match plan.tier {
            Tier::Landlock => {
                let mut public = public_entries(Path::new("/etc"));
                public.retain(|path| !plan.answers_names || path != Path::new("/etc/hosts"));
                public.into_iter().map(Into::into).collect()
            }
            Tier::Namespaces | Tier::Off => Vec::new(),
        };
        match self.greet(
            &Plan {
                public,
                ..plan.clone()
            },
            meanwhile,
        ) {
            Ok(ready) => Ok((self, ready)),
            Err(error) => {
                // Whatever it is at, nothing came of it.
                if let Some(child) = &mut *lock(&self.child) {
                    let _ = child.kill();
                }
                Err(error)
            }
        }
    }

    /// One that is this process, or none.
    pub(super) fn over(socket: OwnedFd, child: Option<Child>) -> Self {
        let (socket, child) = (Mutex::new(Some(socket)), Mutex::new(child));
        Self {
            socket,
            child,
            environment: Vec::new(),
            works: Activity::default(),
            is_for_one: false,
            gatekeeper: None,
            repositories: None,
            has_told: AtomicBool::new(false),
            journal: None,
        }
    }

    /// Has somebody look what each entry of a command's came to.
    #[must_use]
    pub fn noting(mut self, journal: Option<Arc<Journal>>) -> Self {
        self.journal = journal;
        self
    }

    /// Has commands held to what is found in these repositories, from the first on.
    #[must_use]
    pub fn guarding(mut self, repositories: Arc<Repositories>) -> Self {
        self.repositories = Some(repositories);
        self
    }

    /// Has somebody decide about the connections of every command.
    #[must_use]
    pub fn guarded_by(mut self, gatekeeper: Arc<dyn Gatekeeper>) -> Self {
        self.gatekeeper = Some(gatekeeper);
        self
    }

    pub(super) fn greet(
        &self,
        plan: &Plan,
        meanwhile: &mut dyn FnMut(BorrowedFd<'_>),
    ) -> Result<Ready, LaunchError> {
        let socket = lock(&self.socket);
        let Some(socket) = &*socket else {
            return Err(LaunchError::Ended);
        };
        let limit = Some(Duration::from_millis(LAUNCHER_START_MS));
        // The launcher reads what it is sent, so this never lets it go on waiting for long: a
        // second line of defence.
        for side in [Timeout::Recv, Timeout::Send] {
            set_socket_timeout(socket, side, limit)
                .map_err(|errno| LaunchError::Start(errno.into()))?;
        }
        send(socket, plan, &[]).map_err(broken)?;
        meanwhile(socket.as_fd());
        match receive::<Hello>(socket).map_err(broken)? {
            Some((
                Hello::Ready {
                    home,
                    tmp,
                    landlock_abi,
                    memory,
                    gaps,
                },
                _,
            )) => Ok(Ready {
                home,
                tmp,
                landlock_abi,
                memory,
                gaps,
            }),
            Some((Hello::Cannot { reason }, _)) => Err(LaunchError::Cannot { reason }),
            None => Err(LaunchError::Ended),
        }
    }

    /// A variable of the environment of every command, as the plan has it: not HOME and TMPDIR.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        let found = self.environment.iter().find(|(known, _)| known.0 == name);
        found.map(|(_, value)| value.0.as_os_str())
    }

    /// Names and values of them, as texts.
    pub fn variables(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let text = |text: &OsStr| text.to_string_lossy().into_owned();
        self.environment
            .iter()
            .map(move |(name, value)| (text(&name.0), text(&value.0)))
    }

    /// What programs that stay do.
    pub(super) fn works(&self) -> Activity {
        self.works.clone()
    }

    /// Has a command started. `streams` are its standard input (if the request has one), output and
    /// error, and none for a terminal. The command may not have begun when this returns.
    pub fn spawn(&self, request: &Request, streams: &[BorrowedFd<'_>]) -> Result<Job, ExecError> {
        let (here, there) = pair(SocketType::SEQPACKET).map_err(ExecError::Follow)?;
        rustix::io::ioctl_fionbio(&here, true).map_err(ExecError::follow)?;
        let others = self.works.mark();
        // One whose calls are recorded, or answered, has somebody who decides already.
        let gatekeeper = self
            .gatekeeper
            .as_ref()
            .filter(|_| request.intercept.is_none());
        let gated = gatekeeper
            .map(|gatekeeper| Ok((gatekeeper, Listening::new()?)))
            .transpose()?;
        let channel = gated.as_ref().map(|(_, (_, channel))| channel.as_fd());
        let trusting = gatekeeper
            .map(|gatekeeper| gatekeeper.trusting())
            .transpose()
            .map_err(ExecError::Follow)?;
        let trusting = trusting.flatten();
        let bundle = trusting
            .as_ref()
            .map(|trusting| in_memory(trusting.bundle))
            .transpose()?;
        let handed = channel.into_iter().chain(bundle.as_ref().map(AsFd::as_fd));
        let fds: Vec<BorrowedFd<'_>> = [there.as_fd()]
            .into_iter()
            .chain(handed)
            .chain(streams.iter().copied())
            .collect();
        // It may still be looked for.
        let found = self
            .repositories
            .as_ref()
            .map(|repositories| repositories.found());
        let mut socket = lock(&self.socket);
        let Some(open) = &*socket else {
            return Err(self.lost());
        };
        let first = found.filter(|_| !self.has_told.load(Ordering::Relaxed));
        let guard = first.map(guard).unwrap_or_default();
        let gated_as = gated.as_ref().map(|_| Intercept {
            bundle: bundle.is_some(),
            ..GATED
        });
        let mut request = Request {
            intercept: request.intercept.or(gated_as),
            guard,
            ..request.clone()
        };
        let variables = trusting
            .into_iter()
            .flat_map(|trusting| trusting.environment);
        request
            .environment
            .extend(variables.map(|(name, value)| ((&name).into(), (&value).into())));
        if let Err(error) = send(open, &request, &fds) {
            if error.kind() == io::ErrorKind::InvalidInput {
                return Err(ExecError::Follow(error));
            }
            // Half a frame may have gone out, so that nothing sent after it could be understood.
            *socket = None;
            tracing::error!("the launcher of commands has ended: {error}");
            return Err(self.lost());
        }
        self.has_told.store(true, Ordering::Relaxed);
        let guarded =
            gated.map(|(gatekeeper, (listening, _))| gatekeeper.guard(listening, &request.title));
        Ok(Job::new(here, others, guarded, self.journal.clone()))
    }

    /// Nobody sets aside any more what its last commands made at protected paths, so the journal
    /// does.
    fn lost(&self) -> ExecError {
        if let Some(Err(error)) = self
            .journal
            .as_ref()
            .map(|journal| journal.mend_without_launcher())
        {
            tracing::warn!("what commands changed last cannot be read: {error}");
        }
        ExecError::NoLauncher
    }

    /// Ends the launcher and reaps it; no command is started from then on. It waits a while for its
    /// commands, which end when their jobs are dropped or killed, so that has to come first. What
    /// commands have left on the disk is removed with nobody waiting for it, unless there is
    /// little.
    pub fn end(&self) {
        let socket = lock(&self.socket).take();
        let Some(mut child) = lock(&self.child).take() else {
            return;
        };
        let until = Instant::now() + Duration::from_millis(LAUNCHER_END_MS);
        // Its end of the socket is closed when no command is left, and it has only to tidy up.
        let is_tidying = socket.is_some_and(|socket| {
            shutdown(&socket, Shutdown::Write).is_ok() && is_ready(socket.as_fd(), until)
        });
        if is_tidying && self.is_for_one {
            return;
        }
        let until = if is_tidying {
            Instant::now() + Duration::from_millis(LAUNCHER_REMOVAL_MS)
        } else {
            until
        };
        let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty());
        if !pidfd.is_ok_and(|pidfd| is_ready(pidfd.as_fd(), until)) && is_tidying {
            return;
        }
        // Without effect on one that has ended: its number is not given away before it is waited
        // for.
        let _ = child.kill();
        let _ = child.wait();
    }
}

fn guard(found: &Found) -> Guard {
    let raw = |paths: &[PathBuf]| paths.iter().map(Into::into).collect();
    Guard {
        protected: raw(&found.protected),
        pinned: [raw(&found.pinned), raw(&found.frozen)].concat(),
    }
}

/// Whether this becomes readable in time.
fn is_ready(fd: BorrowedFd<'_>, until: Instant) -> bool {
    loop {
        match readable([Some(fd)], Some(until)) {
            Ok([false]) if Instant::now() < until => {}
            Ok([is_ready]) => return is_ready,
            Err(_) => return false,
        }
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        self.end();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is under the locks is whole at any point.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn pair(kind: SocketType) -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(
        AddressFamily::UNIX,
        kind,
        SocketFlags::CLOEXEC,
        None,
    )?)
}

fn broken(error: io::Error) -> LaunchError {
    match error.kind() {
        io::ErrorKind::WouldBlock => LaunchError::Silent,
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::ConnectionReset => LaunchError::Ended,
        _ => LaunchError::Speak(error),
    }
}
