//! The launcher: this program, started again by the server before the server restricts itself.
//!
//! It has one thread and a few megabytes, so that forking it is cheap whatever the size of the
//! server. It builds the state that all commands share and tries it with a trivial command, unless
//! only one command comes. It prepares one supervisor ahead of each request. When the server is
//! gone, the supervisors end their commands; the launcher waits for them, removes the private
//! directory and exits.

mod confinement;

use std::collections::HashSet;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use replay_base::limits::LAST_PROCESSES_MS;
use replay_files::hide::GlobsOf;
use replay_sys as sys;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, recv, socketpair};
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit,
};

use super::cache::Cache;
use super::fault::{Fault, StepContext};
use super::journaling::SkipsOf;
use super::kill_scope::strays;
use super::plan::{CanonicalPath, Network, Plan, Tier};
use super::port_sockets::PortSockets;
use super::processors;
use super::reaper::{ReapResult, reap_one};
use super::scratch::ScratchHold;
use super::supervisor::wait_for;
use super::wire::{self, Event, Exit, Guard, Hello, Request, Run, receive_event};

use confinement::{Confinement, RequestDescriptors};

/// Timeout of the trial command at start, in milliseconds.
const TRIAL_MS: u64 = 5000;
/// Time that the launcher waits for its supervisors after the server is gone, in milliseconds.
const LAUNCHER_FAREWELL_MS: u64 = 5000;

/// Main function of the launcher. Standard input is the socket to the server.
///
/// Fails if it cannot communicate with the server; failures to build the walls are reported to the
/// server.
pub fn run(skips_of: SkipsOf, globs_of: GlobsOf) -> Result<(), Fault> {
    // A terminal's SIGINT is for the server; this process ends with the server.
    rustix::process::setsid().step("setsid")?;
    let server =
        rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).step("the server's socket")?;
    // The server passed /dev/null as standard output.
    rustix::stdio::dup2_stdin(rustix::stdio::stdout()).step("stdin")?;
    setrlimit(
        Resource::Core,
        Rlimit {
            current: Some(0),
            maximum: Some(0),
        },
    )
    .step("limit Core")?;
    // Descriptors pass through this process and its copies; commands get a lower limit
    // (`OPEN_FILES_KEPT_SHARE`).
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: maximum,
            maximum,
        },
    )
    .step("limit Nofile")?;
    // Commands do not inherit ignored signals; this process ignores SIGPIPE.
    sys::default_signals((1..=libc::SIGRTMAX()).filter(|signal| *signal != libc::SIGPIPE));
    let mut child = SigSet::empty();
    child.add(Signal::SIGCHLD);
    child.thread_block().step("block SIGCHLD")?;
    let children = SignalFd::with_flags(&child, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
        .step("signalfd")?;
    let Some((plan, _)) = wire::receive::<Plan>(&server).step("hear the plan")? else {
        return Ok(());
    };
    // Before this process moves into a cgroup without the limits.
    processors::keep_to_quota();
    let (ground, is_tried) = (ScratchHold::hold(&plan.scratch)?, plan.is_tried);
    let has_loopback = plan.tier == Tier::Namespaces && plan.network == Network::Loopback;
    let cache = plan.cache.as_ref().map(Cache::hold).transpose()?;
    if plan.tier != Tier::Namespaces {
        // If a supervisor is killed, its command survives. It is reparented to this process, which
        // ends it. In namespaces the kernel does so.
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .step("PR_SET_CHILD_SUBREAPER")?;
    }
    let built = Confinement::build(plan, skips_of, globs_of).and_then(|cells| {
        set_dumpable_behavior(DumpableBehavior::NotDumpable).step("PR_SET_DUMPABLE")?;
        Ok(Launcher {
            server: server.try_clone().step("dup")?,
            children,
            ground,
            cache,
            cells,
            is_tried,
            ports: None,
            supervisors: HashSet::new(),
        })
    });
    let attempted = built.and_then(|launcher| {
        if is_tried && launcher.cells.has_walls() {
            launcher.attempt()
        } else {
            Ok(launcher)
        }
    });
    match attempted {
        Ok(mut launcher) => {
            // Not earlier: the trial must not hold them. Without them no port is reported or published.
            let (ports, of_server) = has_loopback
                .then(|| PortSockets::open().ok())
                .flatten()
                .unzip();
            launcher.ports = ports;
            let attached: Vec<_> = of_server.iter().flatten().map(AsFd::as_fd).collect();
            wire::send(&server, launcher.cells.hello(), &attached).step("answer the server")?;
            drop((server, of_server));
            // No command precedes it. A failure ends this process and all commands.
            launcher.cells.finish()?;
            sys::heap::give_back();
            launcher.serve();
            Ok(())
        }
        Err(fault) => {
            let reason = fault.to_string();
            wire::send(&server, &Hello::Cannot { reason }, &[]).step("answer the server")
        }
    }
}

struct Launcher {
    server: OwnedFd,
    children: SignalFd,
    ground: ScratchHold,
    cache: Option<Cache>,
    cells: Confinement,
    /// `false` if only one command comes.
    is_tried: bool,
    /// Channel on which the server requests sockets of the commands' network.
    ports: Option<PortSockets>,
    /// Unreaped supervisors and their helpers.
    supervisors: HashSet<i32>,
}

impl Launcher {
    /// Runs a trivial command the whole way to prove that the walls stand.
    fn attempt(mut self) -> Result<Self, Fault> {
        let trial = || {
            Fault::because(
                "a trivial command inside the walls",
                "it did not come to an end in time",
            )
        };
        let spare;
        (self, spare) = self.make_spare();
        let (here, there) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .step("socketpair")?;
        let null = || rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3).step("dup");
        let stdio = vec![null()?, null()?, null()?];
        let root = rustix::fs::stat("/").step("stat /")?;
        let request = Request {
            title: String::new(),
            call: None,
            is_dry_run: false,
            run: Run::Script(":".into()),
            dir: CanonicalPath {
                path: "/".into(),
                dev: root.st_dev,
                ino: root.st_ino,
            },
            environment: Vec::new(),
            stdin: true,
            terminal: None,
            announce: false,
            stays: false,
            intercept: None,
            guard: Guard::default(),
        };
        let handed = RequestDescriptors {
            command: there,
            channel: None,
            bundle: None,
            stdio,
        };
        self.launch(spare, request, handed);
        let until = Instant::now() + Duration::from_millis(TRIAL_MS);
        while !self.cells.wait_for(
            [Some(here.as_fd())],
            Some(until.saturating_duration_since(Instant::now())),
        )?[0]
        {
            if Instant::now() >= until {
                return Err(trial());
            }
        }
        match receive_event(&here).step("hear the trivial command")? {
            Some((
                Event::Ended {
                    exit: Exit::Code(0),
                    left: 0,
                    ..
                },
                _,
            )) => Ok(self),
            Some((Event::Refused { step, cause } | Event::Broken { step, cause }, _)) => {
                Err(Fault {
                    step,
                    cause: cause.into(),
                })
            }
            Some((event, _)) => Err(Fault::because(
                "a trivial command inside the walls",
                &format!("{event:?}"),
            )),
            None => Err(Fault::because(
                "a trivial command inside the walls",
                "its supervisor ended",
            )),
        }
    }

    /// Serves requests until the server is gone.
    fn serve(mut self) {
        // A failure is reported with the first command.
        (self, _) = self.make_spare();
        while let Ok([server, child, ports]) = self.cells.wait_for(
            [
                Some(self.server.as_fd()),
                Some(self.children.as_fd()),
                self.ports.as_ref().map(AsFd::as_fd),
            ],
            None,
        ) {
            if ports {
                self.ports.take_if(|ports| !ports.serve());
            }
            let (has_room, mut spare) = (child && self.reap() && self.is_tried, Ok(()));
            // No supervisor is made after the server has gone.
            if server
                && recv(&self.server, &mut [0; 1], RecvFlags::PEEK).is_ok_and(|(got, _)| got == 0)
            {
                break;
            }
            if has_room || server {
                (self, spare) = self.make_spare();
            }
            if !server {
                continue;
            }
            // Requests decide which programs run. An unexpected message ends the connection.
            let Ok(Some((request, fds))) = wire::receive::<Request>(&self.server) else {
                break;
            };
            let Some(handed) = RequestDescriptors::sort(&request, fds) else {
                break;
            };
            self.launch(spare, request, handed);
        }
        self.shut_down();
    }

    /// Makes the supervisor of the next command, unless there is one. Must be called while no
    /// descriptor of a command is open, because a copy would hold it open too.
    fn make_spare(mut self) -> (Self, Result<(), Fault>) {
        match self.cells.copy(&mut self.supervisors) {
            Ok(None) => (self, Ok(())),
            Ok(Some(copied)) => {
                let Self {
                    server,
                    children,
                    ground,
                    cache,
                    cells,
                    ports,
                    ..
                } = self;
                // No child may keep the server's socket, or a way out, open.
                drop((server, children, ground, cache, ports));
                cells.run_supervisor(copied)
            }
            Err(fault) => (self, Err(fault)),
        }
    }

    /// Starts a supervised command; failures are reported on the command's own socket.
    fn launch(
        &mut self,
        spare: Result<(), Fault>,
        request: Request,
        mut handed: RequestDescriptors,
    ) {
        let null = if !request.stdin && request.terminal.is_none() {
            let null = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).step("dup");
            null.map(|null| handed.stdio.insert(0, null))
        } else {
            Ok(())
        };
        // Guarded paths are sent only once, so they are kept even if a later step fails.
        let ready = self.cells.guard(&request.guard).and(spare).and(null);
        if let Err(fault) = ready.and_then(|()| {
            self.cells
                .hand_over(request, &handed, &mut self.supervisors)
        }) {
            // The spare supervisor lacks the state that came with this command.
            self.cells.close();
            let _ = wire::send_event(&handed.command, &Event::refused(&fault), None);
        }
    }

    /// Reaps children. Returns true if a spare supervisor should be made.
    fn reap(&mut self) -> bool {
        while self
            .children
            .read_signal()
            .is_ok_and(|signal| signal.is_some())
        {}
        end_strays(&mut self.supervisors);
        self.cells.tidy(&self.supervisors)
    }

    /// Shuts down after the server is gone. Its ends of all command sockets are closed, so the
    /// supervisors end the commands. Then the private directory can be removed.
    fn shut_down(self) {
        let Self {
            server,
            children,
            mut ground,
            cache,
            mut cells,
            mut supervisors,
            ..
        } = self;
        cells.close();
        let until = Instant::now() + Duration::from_millis(LAUNCHER_FAREWELL_MS);
        loop {
            while children.read_signal().is_ok_and(|signal| signal.is_some()) {}
            if end_strays(&mut supervisors) {
                break;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let _ = cells.wait_for([Some(children.as_fd())], Some(left));
        }
        cells.tidy(&supervisors);
        cells.leave();
        ground.give_up();
        // Removing many files takes long, so the server and the reader of its stderr are released
        // first.
        let _ = rustix::stdio::dup2_stderr(rustix::stdio::stdout());
        drop(server);
        // Not earlier: the kernel takes some clock ticks to release an inotify instance.
        drop(cells);
        ground.remove();
        if let Some(cache) = cache {
            cache.leave();
        }
    }
}

/// Reaps ended children; kills and reaps processes without a supervisor. Returns true if no child
/// is left.
fn end_strays(supervisors: &mut HashSet<i32>) -> bool {
    let until = Instant::now() + Duration::from_millis(LAST_PROCESSES_MS);
    loop {
        loop {
            match reap_one() {
                ReapResult::Ended(pid, _) => drop(supervisors.remove(&pid.as_raw_pid())),
                ReapResult::NoneYet => break,
                ReapResult::Nobody => return true,
            }
        }
        let strays = strays(supervisors);
        if strays.is_empty() || Instant::now() >= until {
            return false;
        }
        for stray in strays {
            let _ = kill(stray, Signal::SIGKILL);
        }
        // They may still be exiting, and new ones may just have been born.
        let _ = wait_for([], Some(Duration::from_millis(1)));
    }
}
