//! Server side of the launcher, the process that starts every command inside the sandbox.
#![expect(
    clippy::disallowed_methods,
    reason = "exec starts processes: `Command::new` is called here and nowhere else, with /dev/null"
)]

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use replay_base::limits::LAUNCHER_START_MS;
use replay_files::journal::Journal;
use replay_files::policy::{Repositories, RepositoryPaths};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, Shutdown, SocketFlags, SocketType, shutdown, socketpair};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use thiserror::Error;

use super::activity::Activity;
use super::gatekeeper::Gatekeeper;
use super::interception::{Listening, in_memory};
use super::poll::readable;
use super::{ExecError, Job, Ports};
use crate::landlock::public_entries;
use crate::wire::{CgroupView, receive, send};
use crate::{
    Dial, Guard, Hello, Intercept, LAUNCHER_ARGUMENT, MemoryHold, Plan, RawString, Request, Tier,
};

/// Timeout for the launcher to end its commands and itself, in milliseconds.
const LAUNCHER_END_MS: u64 = 5000;
/// Time that the server waits for the launcher to remove the private directory, in milliseconds.
/// After that the server removes it itself.
const LAUNCHER_REMOVAL_MS: u64 = 500;

/// Every connection waits for the gatekeeper, which reaches the commands' own loopback through the
/// supervisor.
const GATED: Intercept = Intercept {
    dial: Dial::Wanted,
    open: false,
    bundle: false,
    proxy_only: false,
};

/// A launcher, which builds the sandbox once it has its plan. Dropping this ends it.
#[derive(Debug)]
pub struct Launcher {
    /// `None` once the launcher was ended, or has died.
    socket: Mutex<Option<OwnedFd>>,
    child: Mutex<Option<Child>>,
    /// Environment of commands, as in the plan.
    environment: Vec<(RawString, RawString)>,
    works: Activity,
    /// `true` if files that commands have left are removed in the background, however few they are.
    is_for_one: bool,
    /// Gatekeeper of the commands' connections. Without one, only the network mode limits them.
    gatekeeper: Option<Arc<dyn Gatekeeper>>,
    /// Repositories with paths that are protected from commands. The launcher receives the list
    /// with the first command.
    repositories: Option<Arc<Repositories>>,
    /// `true` once the launcher has received the list. Changed under the lock of the socket.
    has_told: AtomicBool,
    /// Journal in which supervisors record changes, if any.
    journal: Option<Arc<Journal>>,
    /// Ports of commands, once the launcher has answered, if they have a loopback of their own.
    ports: OnceLock<Arc<Ports>>,
}

/// Report of the launcher on the sandbox that it has built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    /// HOME of commands; `None` for the value in the plan's environment.
    pub home: Option<RawString>,
    /// TMPDIR of commands; `None` for the value in the plan's environment.
    pub tmp: Option<RawString>,
    /// Version of the Landlock interface; `None` if it is not used.
    pub landlock_abi: Option<u32>,
    /// Mechanism that limits the memory of commands; `None` if it is not limited.
    pub memory: Option<MemoryHold>,
    /// Cgroup of the server in the view of commands; `None` without a view.
    pub cgroup: Option<CgroupView>,
    /// Gaps in the protection of this tier on this system, one per line.
    pub gaps: Vec<String>,
}

/// Reason for a missing launcher.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// The process could not be started.
    #[error("cannot start the launcher of commands: {0}")]
    Start(#[source] io::Error),
    /// Sending or receiving failed.
    #[error("cannot talk to the launcher of commands: {0}")]
    Speak(#[source] io::Error),
    /// The launcher did not answer in time.
    #[error("the launcher of commands has not answered within {} s", LAUNCHER_START_MS / 1000)]
    Silent,
    /// The launcher ended before it answered.
    #[error("the launcher of commands has ended at its start")]
    Ended,
    /// The sandbox of this tier cannot be built here.
    #[error("{reason}")]
    Cannot {
        /// The failed step and the error of the kernel.
        reason: String,
    },
}

impl LaunchError {
    /// Returns a hint for the operator, if there is one.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Cannot { .. } => Some("try another tier (--sandbox)".into()),
            Self::Start(_) | Self::Speak(_) | Self::Silent | Self::Ended => None,
        }
    }
}

impl Launcher {
    /// Starts `program` (this same executable) as a launcher, which waits for its plan.
    ///
    /// Its environment is empty. Its three streams are its socket, `/dev/null` and the server's
    /// standard error.
    pub fn begin(program: &Path) -> Result<Self, LaunchError> {
        let (here, there) = socket_pair(SocketType::STREAM).map_err(LaunchError::Start)?;
        // Opened for reading and writing, because it becomes the standard input of commands.
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

    /// Sends the plan and waits until the sandbox is built.
    pub fn build(self, plan: &Plan) -> Result<(Self, Ready), LaunchError> {
        self.build_beside(plan, &mut |_| ())
    }

    /// Builds the sandbox like [`Self::build`]. `meanwhile` may do other work until the descriptor
    /// is readable.
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
                // The launcher failed, whatever it is doing.
                if let Some(child) = &mut *lock(&self.child) {
                    let _ = child.kill();
                }
                Err(error)
            }
        }
    }

    /// Returns a launcher over this socket, with its child process if it has one.
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
            ports: OnceLock::new(),
        }
    }

    /// Sets the journal that records the changes of commands.
    #[must_use]
    pub fn noting(mut self, journal: Option<Arc<Journal>>) -> Self {
        self.journal = journal;
        self
    }

    /// Protects the paths found in these repositories, from the first command on.
    #[must_use]
    pub fn guarding(mut self, repositories: Arc<Repositories>) -> Self {
        self.repositories = Some(repositories);
        self
    }

    /// Sets the gatekeeper for the connections of every command.
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
        // The launcher reads at once, so these timeouts are a second line of defence.
        for side in [Timeout::Recv, Timeout::Send] {
            set_socket_timeout(socket, side, limit)
                .map_err(|errno| LaunchError::Start(errno.into()))?;
        }
        send(socket, plan, &[]).map_err(launch_error)?;
        meanwhile(socket.as_fd());
        match receive::<Hello>(socket).map_err(launch_error)? {
            Some((
                Hello::Ready {
                    home,
                    tmp,
                    landlock_abi,
                    memory,
                    cgroup,
                    gaps,
                },
                descriptors,
            )) => {
                if let Ok(descriptors) = descriptors.try_into() {
                    // A launcher answers once.
                    let _ = self.ports.set(Arc::new(Ports::new(descriptors)));
                }
                Ok(Ready {
                    home,
                    tmp,
                    landlock_abi,
                    memory,
                    cgroup,
                    gaps,
                })
            }
            Some((Hello::Cannot { reason }, _)) => Err(LaunchError::Cannot { reason }),
            None => Err(LaunchError::Ended),
        }
    }

    /// Returns the ports of commands, if they have a loopback of their own.
    pub fn ports(&self) -> Option<&Arc<Ports>> {
        self.ports.get()
    }

    /// Returns a variable of the environment of every command, as in the plan: without HOME and
    /// TMPDIR.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        let found = self.environment.iter().find(|(known, _)| known.0 == name);
        found.map(|(_, value)| value.0.as_os_str())
    }

    /// Returns names and values of these variables as text.
    pub fn variables(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let text = |text: &OsStr| text.to_string_lossy().into_owned();
        self.environment
            .iter()
            .map(move |(name, value)| (text(&name.0), text(&value.0)))
    }

    /// Returns the activity of resident programs.
    pub(super) fn works(&self) -> Activity {
        self.works.clone()
    }

    /// Starts a command. `streams` are its standard input (if the request has one), output and
    /// error; none for a terminal. The command may not have begun when this returns.
    pub fn spawn(&self, request: &Request, streams: &[BorrowedFd<'_>]) -> Result<Job, ExecError> {
        let (here, there) = socket_pair(SocketType::SEQPACKET).map_err(ExecError::Follow)?;
        rustix::io::ioctl_fionbio(&here, true).map_err(ExecError::follow)?;
        let others = self.works.mark();
        // A command whose connections are recorded or stubbed already has a guard.
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
        // The search for repositories may still be running.
        let found = self
            .repositories
            .as_ref()
            .map(|repositories| repositories.paths());
        let mut socket = lock(&self.socket);
        let Some(open) = &*socket else {
            return Err(self.lost_launcher_error());
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
            // A partial frame may have been sent, so the launcher could not parse later ones.
            *socket = None;
            tracing::error!("the launcher of commands has ended: {error}");
            return Err(self.lost_launcher_error());
        }
        self.has_told.store(true, Ordering::Relaxed);
        let guarded =
            gated.map(|(gatekeeper, (listening, _))| gatekeeper.guard(listening, &request.title));
        let job = Job::new(here, others, guarded, self.journal.clone());
        Ok(job.listening(self.ports.get(), request.stays))
    }

    /// Returns the error for a lost launcher. Has the journal set aside what the last commands
    /// created at protected paths, since the launcher cannot.
    fn lost_launcher_error(&self) -> ExecError {
        if let Some(Err(error)) = self
            .journal
            .as_ref()
            .map(|journal| journal.mend_without_launcher())
        {
            tracing::warn!("what commands changed last cannot be read: {error}");
        }
        ExecError::NoLauncher
    }

    /// Ends the launcher and reaps it; no command can start afterwards. It waits a while for its
    /// commands, so the caller drops or kills their jobs first. Files that commands have left on
    /// the disk are removed in the background, unless there are few.
    pub fn end(&self) {
        let socket = lock(&self.socket).take();
        let Some(mut child) = lock(&self.child).take() else {
            return;
        };
        let until = Instant::now() + Duration::from_millis(LAUNCHER_END_MS);
        // Its end of the socket is closed when no command is left and only cleanup remains.
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
        // No effect if it has ended: its process id is not reused before `wait`.
        let _ = child.kill();
        let _ = child.wait();
    }
}

fn guard(found: &RepositoryPaths) -> Guard {
    let raw = |paths: &[PathBuf]| paths.iter().map(Into::into).collect();
    Guard {
        protected: raw(&found.protected),
        pinned: [raw(&found.pinned), raw(&found.frozen)].concat(),
    }
}

/// Returns true if `fd` becomes readable in time.
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
    // The protected values are consistent at any point, also after a panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn socket_pair(kind: SocketType) -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(
        AddressFamily::UNIX,
        kind,
        SocketFlags::CLOEXEC,
        None,
    )?)
}

fn launch_error(error: io::Error) -> LaunchError {
    match error.kind() {
        io::ErrorKind::WouldBlock => LaunchError::Silent,
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::ConnectionReset => LaunchError::Ended,
        _ => LaunchError::Speak(error),
    }
}
