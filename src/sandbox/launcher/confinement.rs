//! Confinement of commands: one of three tiers, built once and used for every command.

use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use replay_base::limits::MAX_ORDER_BYTES;
use replay_files::hide::{GlobsOf, Hide};
use replay_sys as sys;

use crate::cgroup::{Bounds, Group, Groups};
use crate::dry_run::DryRun;
use crate::explain::ExplicitRequests;
use crate::fault::{Fault, StepContext};
use crate::intercept::{self as interception, DatagramNetwork, Interceptor, ProxySocket};
use crate::journaling::{Journal, SkipsOf};
use crate::kill_scope::{FirstProcess, KillScope, SignalScope};
use crate::memory_watch::kernel_kills;
use crate::monitor::{InView, Monitor, NamingRules, OnSystem, WithoutWalls};
use crate::opens::{Places, SharedLock};
use crate::plan::{CanonicalPath, Extent, Network, Plan, Tier};
use crate::program::Start;
use crate::protected_paths::{Guarded, Watcher};
use crate::raw_string::RawString;
use crate::remedy::with_remedy;
use crate::route_counters::RouteCounters;
use crate::supervisor::{Supervisor, wait_for_more};
use crate::supervisor_table::{CommandOrder, SupervisorLine, SupervisorTable};
use crate::thread_names::ThreadNames;
use crate::unix_sockets::SocketOwners;
use crate::walls::{Walls, writable_on_system};
use crate::wire::{
    CgroupView, Dial, Event, Guard, Hello, Intercept, MemoryHold, Request, send_event, send_up_to,
};
use crate::{
    capabilities, certificates, cgroup_view, common_git, etc, hidden_paths, kernel_filesystems,
    landlock, namespaces, system_gaps, traced_call, view,
};

/// State that all commands of a server share.
pub(crate) struct Confinement {
    start: Start,
    /// Child that still copies /etc into the view.
    copying: Option<Pid>,
    /// Cgroups that limit the memory of each command, if available.
    groups: Option<Groups>,
    /// The plan, without the parts moved into `start`.
    plan: Plan,
    /// Counters of the commands' own network, if they have one.
    counters: Option<RouteCounters>,
    /// Running commands. Only used while something watches them.
    supervisors: SupervisorTable,
    /// Guards the protected paths in [`Tier::Namespaces`].
    watcher: Option<Watcher>,
    protected: Vec<PathBuf>,
    /// Allowed directories below read-write ones, which are mount points. No directory above them
    /// can be moved.
    enclosed: Vec<Guarded>,
    /// Files that are read-only if they exist when a command starts.
    pinned: Vec<Guarded>,
    /// Files hidden from commands.
    hidden: Vec<hidden_paths::HiddenPath>,
    /// Check for kernel filesystems below directories that commands see.
    kernels: Option<kernel_filesystems::MountCheck>,
    /// Supervisor that waits for the next command.
    spare: Option<SpareSupervisor>,
    /// OOM kill count of the kernel, read ahead while no client waits.
    kernel_kills: Option<u64>,
    /// Network counters at that time, if no running command can have changed them since.
    refused: Option<u64>,
    /// Directories in which the broker permits metadata changes.
    writable: Vec<PathBuf>,
    /// Directories in which the broker permits reading attributes.
    readable: Vec<PathBuf>,
    journal: Option<Journal>,
    /// Hidden paths by pattern.
    hide: Option<Arc<Hide>>,
    /// Lock file for supervisors that link and rename.
    places_lock: SharedLock,
    /// Unix sockets that commands may connect to.
    sockets: Option<SocketOwners>,
    hello: Hello,
}

/// Supervisor for the next command: a copy of the launcher, made ahead of time, that has done all
/// setup that does not depend on the command. It exits when its socket is closed.
#[derive(Debug)]
struct SpareSupervisor {
    pid: Pid,
    line: OwnedFd,
}

impl SpareSupervisor {
    /// Kills it, even if it is stopped.
    fn end(&self) {
        // An unreaped child, so its process number cannot be reused. The call fails only if it has
        // ended.
        let _ = kill(self.pid, Signal::SIGKILL);
    }
}

/// File descriptors attached to the request for one command.
#[derive(Debug)]
pub(crate) struct RequestDescriptors {
    /// The supervisor's end of the command's socket.
    pub command: OwnedFd,
    /// The supervisor's end of the interception socket.
    pub channel: Option<OwnedFd>,
    pub bundle: Option<OwnedFd>,
    pub stdio: Vec<OwnedFd>,
}

impl RequestDescriptors {
    /// Assigns the descriptors of a request. `None` if there are fewer than the request needs.
    pub(crate) fn sort(request: &Request, descriptors: Vec<OwnedFd>) -> Option<Self> {
        let mut descriptors = descriptors.into_iter();
        let command = descriptors.next()?;
        let channel = if request.intercept.is_some() {
            Some(descriptors.next()?)
        } else {
            None
        };
        let with_bundle = request.intercept.is_some_and(|intercept| intercept.bundle);
        let bundle = if with_bundle {
            Some(descriptors.next()?)
        } else {
            None
        };
        Some(Self {
            command,
            channel,
            bundle,
            stdio: descriptors.collect(),
        })
    }

    /// Iterates over the descriptors in the order of the request.
    fn all(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        [&self.command]
            .into_iter()
            .chain(&self.channel)
            .chain(&self.bundle)
            .chain(&self.stdio)
            .map(AsFd::as_fd)
    }
}

/// Resources that only the forked copy has.
#[derive(Debug)]
pub(crate) struct ForkedSupervisor {
    line: SupervisorLine,
    group: Option<Group>,
}

/// Resources of a supervisor after it entered its command's environment.
type CommandResources<'a> = (KillScope, Box<dyn Monitor + 'a>, ServerSocket);

/// The socket by which a command reaches the server.
#[derive(Default)]
struct ServerSocket {
    /// Its port; `None` if no call is intercepted.
    port: Option<u16>,
    /// The socket, if the command uses it as a proxy.
    proxy: Option<ProxySocket>,
}

/// Resources for the interception of network calls.
type InterceptionSetup = (OwnedFd, Intercept, Option<DatagramNetwork>);

impl Confinement {
    /// Builds the confinement of the plan.
    pub(crate) fn build(
        mut plan: Plan,
        skips_of: SkipsOf,
        globs_of: GlobsOf,
    ) -> Result<Self, Fault> {
        let scratch = plan.scratch.as_path();
        let most_bytes = plan.limits.memory_bytes;
        let open = |planned| Journal::open(planned, skips_of, most_bytes);
        let journal = plan.journal.as_ref().map(open).transpose()?;
        let hide = hidden_paths::by_patterns(&plan, globs_of)?;
        let sockets = SocketOwners::of(&plan)?;
        // Inside the view and the cgroup namespace, its path is another.
        let own_group = plan.limits.memory_bytes.map(|_| Groups::open_own());
        let (cgroup, groups, memory);
        let (mut copying, mut not_public, mut watcher, mut kernels) = (None, None, None, None);
        // Before the pid namespace, whose first process must not end.
        let keeps_registers = plan.tier != Tier::Off && traced_call::tracers_pass_filters();
        let (walls, home, tmp): (_, RawString, RawString) = match plan.tier {
            Tier::Off => {
                (cgroup, (groups, memory)) = (None, groups_of(&plan, own_group));
                (None, RawString::default(), RawString::default())
            }
            Tier::Namespaces => {
                let mut outside = Watcher::new(plan.writable())?;
                let public = if rustix::process::geteuid().is_root() {
                    view::public_copies(&plan).unwrap_or_else(|fault| {
                        not_public = Some(fault);
                        Vec::new()
                    })
                } else {
                    Vec::new()
                };
                namespaces::enter(plan.network).map_err(with_remedy)?;
                let own = cgroup_view::mount_own();
                cgroup = Some(CgroupView::of(&own));
                (groups, memory) = groups_of(&plan, own_group);
                copying = view::enter(&plan, public, own.ok()).map_err(with_remedy)?;
                outside.guard(plan.protected.iter().map(RawString::as_path))?;
                watcher = Some(outside);
                let store = journal.as_ref().map(Journal::store);
                (
                    Some(Walls::in_view(&plan, store, false, keeps_registers)?),
                    view::home(&plan).into(),
                    view::TMP.into(),
                )
            }
            Tier::Landlock => {
                if let Some(open) =
                    crate::explain::unenforceable(&plan, ExplicitRequests::default()).first()
                {
                    return Err(Fault::because("Landlock", &open.describe()));
                }
                (cgroup, (groups, memory)) = (None, groups_of(&plan, own_group));
                let mut look = kernel_filesystems::MountCheck::new(&plan)?;
                look.refuse()?;
                kernels = Some(look);
                (
                    Some(Walls::on_system(&plan, keeps_registers)?),
                    scratch.join("home").into(),
                    scratch.join("tmp").into(),
                )
            }
        };
        let held = plan.tier != Tier::Off;
        if held {
            capabilities::bound().step("bound capabilities")?;
        }
        let counters = if plan.tier == Tier::Namespaces && plan.network != Network::Host {
            RouteCounters::open()
        } else {
            None
        };
        let home = (held && plan.private_home).then_some(home);
        let tmp = held.then_some(tmp);
        let hello = Hello::Ready {
            home: home.clone(),
            tmp: tmp.clone(),
            landlock_abi: walls.as_ref().and_then(Walls::abi),
            gaps: system_gaps::gaps(
                &plan,
                walls.as_ref(),
                groups.as_ref().is_some_and(Groups::counts_processes),
                not_public,
            ),
            memory,
            cgroup,
        };
        let protected = plan
            .protected
            .iter()
            .map(|path| path.as_path().into())
            .collect();
        let roots = plan.roots.iter().map(|root| root.place.path.as_path());
        let enclosed = roots.filter_map(|path| Guarded::new(path, plan.writable()));
        let enclosed = enclosed
            .filter(|guarded: &Guarded| !guarded.is_root())
            .collect();
        let writable = writable_on_system(&plan);
        let hidden = hidden_paths::HiddenPath::all(&plan);
        let readable = walls
            .as_ref()
            .map(|walls| walls.readable().to_vec())
            .unwrap_or_default();
        let mut environment = std::mem::take(&mut plan.environment);
        for (name, value) in [("HOME", home), ("TMPDIR", tmp)] {
            environment.extend(value.map(|value| (name.into(), value)));
        }
        let start = Start {
            tier: plan.tier,
            walls,
            limits: std::mem::take(&mut plan.limits),
            environment,
        };
        Ok(Self {
            start,
            copying,
            groups,
            plan,
            supervisors: SupervisorTable::default(),
            watcher,
            counters,
            protected,
            enclosed,
            pinned: Vec::new(),
            hidden,
            kernels,
            spare: None,
            kernel_kills: kernel_kills(),
            refused: None,
            writable,
            readable,
            journal,
            hide,
            places_lock: SharedLock::new().step("memfd_create")?,
            sockets,
            hello,
        })
    }

    /// Returns true if there are walls to try.
    pub(crate) fn has_walls(&self) -> bool {
        self.start.walls.is_some()
    }

    /// Waits for the rest of the setup, which runs while the walls are tried.
    pub(crate) fn finish(&mut self) -> Result<(), Fault> {
        self.copying.take().map_or(Ok(()), etc::wait_for_copy)
    }

    /// Answer of the launcher to the server.
    pub(crate) fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Also protects paths that the server found after the plan was made.
    pub(crate) fn guard(&mut self, guard: &Guard) -> Result<(), Fault> {
        let all = guard.protected.iter().chain(&guard.pinned);
        self.protected.extend(all.map(|path| path.as_path().into()));
        let Some(watcher) = &mut self.watcher else {
            return Ok(());
        };
        self.pinned.extend(
            guard
                .pinned
                .iter()
                .filter_map(|path| watcher.guarded(path.as_path())),
        );
        watcher.guard(guard.protected.iter().map(RawString::as_path))
    }

    /// Waits until one of `fds` is readable or closed, or until the timeout. Returns the ready
    /// ones. Handles events of running commands meanwhile.
    pub(crate) fn wait_for<const N: usize>(
        &mut self,
        fds: [Option<BorrowedFd<'_>>; N],
        timeout: Option<Duration>,
    ) -> Result<[bool; N], Fault> {
        let (supervisors, mut more) = self.supervisors.lines();
        // Events while no command runs are handled before the next command starts.
        more.extend(
            self.watcher
                .as_ref()
                .filter(|_| !self.supervisors.is_empty())
                .map(AsFd::as_fd),
        );
        let (states, of_more) = wait_for_more(fds, &more, timeout)?;
        let ready = states.map(|state| !state.is_empty());
        if of_more.is_empty() {
            return Ok(ready);
        }
        self.watch_over();
        for supervisor in of_more
            .into_iter()
            .filter_map(|index| supervisors.get(index))
        {
            let appearances = self.watcher.as_ref().map_or(0, Watcher::appearances);
            let wanted = self.supervisors.hear(*supervisor, appearances, |since| {
                self.watcher
                    .as_ref()
                    .map(|it| it.appeared_since(since))
                    .unwrap_or_default()
            });
            if let (Some(path), Some(watcher)) = (wanted, &mut self.watcher) {
                self.supervisors
                    .removed(*supervisor, watcher.remove(path.as_path()));
            }
        }
        Ok(ready)
    }

    /// Reverts changes of running commands at protected paths.
    fn watch_over(&mut self) {
        if let Some(why) = self.watcher.as_mut().and_then(Watcher::settle) {
            self.supervisors.end_all(&why);
        }
    }

    /// Leaves the private directory, so that it can be removed. Called after the last command
    /// ended.
    pub(crate) fn leave(&mut self) {
        if let Some(groups) = &mut self.groups {
            groups.leave();
        }
        if self.start.tier == Tier::Namespaces {
            view::leave(&self.plan);
        }
    }

    /// Hands a command to the spare supervisor. A resident command does not count as running beside
    /// others: the server knows when it is active (`exec/activity`).
    ///
    /// Adds a helper child that ends with the supervisor to `supervisors`.
    pub(crate) fn hand_over(
        &mut self,
        request: Request,
        handed: &RequestDescriptors,
        supervisors: &mut HashSet<i32>,
    ) -> Result<(), Fault> {
        let step = "hand the command to its supervisor";
        self.kernels
            .as_mut()
            .map_or(Ok(()), kernel_filesystems::MountCheck::refuse)?;
        match &mut self.watcher {
            Some(watcher) if self.supervisors.is_empty() => watcher.note_all()?,
            _ => self.watch_over(),
        }
        let is_apart = self.needs_datagram_network(&request);
        let datagram_network = is_apart.then(DatagramNetwork::start).transpose()?;
        supervisors.extend(datagram_network.iter().map(|(_, maker)| maker.as_raw()));
        let noted = self
            .watcher
            .as_ref()
            .map(Watcher::places)
            .unwrap_or_default();
        let places = self
            .pinned
            .iter()
            .chain(&noted)
            .map(|guarded| guarded.path().into())
            .collect();
        let order = CommandOrder {
            request,
            places,
            kernel_kills: self.kernel_kills,
            refused: self.refused.take(),
        };
        let fds: Vec<BorrowedFd<'_>> = handed
            .all()
            .chain(
                datagram_network
                    .iter()
                    .map(|(datagram_network, _)| datagram_network.as_fd()),
            )
            .collect();
        let spare = self
            .spare
            .take()
            .ok_or_else(|| Fault::because(step, "there is none"))?;
        send_up_to(&spare.line, &order, &fds, MAX_ORDER_BYTES)
            .inspect_err(|_| spare.end())
            .step(step)?;
        if let Some(watcher) = &self.watcher {
            self.supervisors.begin(
                spare.pid.as_raw(),
                spare.line,
                order.request.stays,
                watcher.appearances(),
            );
        }
        Ok(())
    }

    /// Forgets commands whose supervisors are not in `supervisors`. Returns true if a spare
    /// supervisor should be made: not if there is one, or if the last one exited by itself.
    pub(crate) fn tidy(&mut self, supervisors: &HashSet<i32>) -> bool {
        if !self.supervisors.is_empty() {
            self.watch_over();
            self.supervisors.retain(supervisors);
        }
        self.watcher
            .iter_mut()
            .filter(|_| self.supervisors.is_empty())
            .for_each(Watcher::sweep_or_warn);
        if let Some(groups) = &mut self.groups {
            groups.tidy(|supervisor| supervisors.contains(&supervisor));
        }
        self.sockets
            .iter_mut()
            .for_each(|sockets| sockets.tidy(supervisors));
        let is_lost = self
            .spare
            .take_if(|spare| !supervisors.contains(&spare.pid.as_raw()))
            .is_some();
        self.kernel_kills = kernel_kills();
        let is_idle = supervisors.len() == usize::from(self.spare.is_some());
        self.refused = self
            .counters
            .as_ref()
            .filter(|_| is_idle)
            .and_then(RouteCounters::refused);
        self.spare.is_none() && !is_lost
    }

    /// Ends the spare supervisor: no more commands will come.
    pub(crate) fn close(&mut self) {
        if let Some(spare) = self.spare.take() {
            spare.end();
        }
    }

    /// Forks the next spare supervisor, unless there is one, and adds it to `supervisors`. `None`
    /// in the parent.
    pub(crate) fn copy(
        &mut self,
        supervisors: &mut HashSet<i32>,
    ) -> Result<Option<ForkedSupervisor>, Fault> {
        if self.spare.is_some() {
            return Ok(None);
        }
        let (line, launchers) = SupervisorLine::new()?;
        self.sockets.iter_mut().for_each(SocketOwners::begin);
        let group = self.groups.as_mut().map(Groups::make).transpose()?;
        let copy = match self.start.tier {
            Tier::Namespaces => sys::fork_into_namespaces().step("fork into namespaces"),
            Tier::Landlock | Tier::Off => sys::fork().step("fork"),
        };
        let Some(pid) = copy.inspect_err(|_| {
            if let (Some(groups), Some(group)) = (&self.groups, &group) {
                groups.give_up(group);
            }
        })?
        else {
            return Ok(Some(ForkedSupervisor { line, group }));
        };
        if let (Some(groups), Some(group)) = (&mut self.groups, group) {
            groups.used_by(pid, group);
        }
        supervisors.insert(pid.as_raw());
        self.sockets
            .iter_mut()
            .for_each(|sockets| sockets.begun(pid.as_raw()));
        self.spare = Some(SpareSupervisor {
            pid,
            line: launchers,
        });
        Ok(None)
    }

    fn allows_unix_sockets(&self) -> bool {
        self.start
            .walls
            .as_ref()
            .is_some_and(Walls::allow_unix_sockets)
    }

    /// Returns true if the command's datagrams need a network of their own, because
    /// commands share the system's network.
    fn needs_datagram_network(&self, request: &Request) -> bool {
        let leads_nowhere =
            self.start.tier == Tier::Namespaces && self.plan.network != Network::Host;
        request.intercepts_calls() && !leads_nowhere
    }

    /// Main function of the forked supervisor.
    pub(crate) fn run_supervisor(mut self, copied: ForkedSupervisor) -> ! {
        let ForkedSupervisor { line, group } = copied;
        let line = Rc::new(line);
        // No descendant may keep the launcher's end of a socket or its watches open.
        drop(std::mem::take(&mut self.supervisors));
        let writable = self
            .watcher
            .take()
            .map(Watcher::into_writable)
            .unwrap_or_default();
        let settled = self.settle();
        let Some((order, mut fds)) = line.order() else {
            sys::exit_now(0)
        };
        let CommandOrder {
            mut request,
            places,
            kernel_kills,
            refused,
        } = order;
        let writable = || writable.iter().map(PathBuf::as_path);
        let places: Vec<_> = places
            .iter()
            .filter_map(|path| Guarded::new(path.as_path(), writable()))
            .collect();
        let is_apart = self.needs_datagram_network(&request);
        let datagram_network = if is_apart {
            fds.pop().map(DatagramNetwork::from)
        } else {
            None
        };
        let Some(RequestDescriptors {
            command,
            channel,
            bundle,
            stdio,
        }) = RequestDescriptors::sort(&request, fds)
        else {
            sys::exit_now(0)
        };
        let channel = channel
            .zip(request.intercept)
            .map(|(channel, asked)| (channel, asked, datagram_network));
        let entered = settled.and_then(|()| self.guard(&request.guard));
        let dry_run = entered.and_then(|()| {
            request
                .is_dry_run
                .then(|| self.run_dry(&mut request.dir))
                .transpose()
        });
        let entered = dry_run.and_then(|dry_run| {
            // A dry run removes nothing.
            let removes = dry_run.is_none().then(|| Rc::clone(&line));
            let entered = self.enter(&places, removes, refused, channel, bundle, &request)?;
            Ok((dry_run, entered))
        });
        match entered {
            Ok((dry_run, (kill_scope, monitor, server_socket))) => {
                let start = &self.start;
                let line = (start.tier == Tier::Namespaces).then_some(line);
                let told = server_socket.port.map(|port| request.with_proxy_port(port));
                let supervisor = Supervisor {
                    kill_scope,
                    server: command,
                    start,
                    monitor,
                    dry_run,
                    proxy_socket: server_socket.proxy,
                    line,
                    group,
                    kernel_kills,
                    may_have_begun: false,
                };
                supervisor.run(told.as_ref().unwrap_or(&request), stdio);
            }
            Err(fault) => {
                let _ = send_event(&command, &Event::refused(&fault), None);
            }
        }
        sys::exit_now(0)
    }

    /// Setup of a supervisor before it knows its command.
    fn settle(&self) -> Result<(), Fault> {
        if self.start.tier != Tier::Namespaces {
            let own = rustix::process::getpid();
            return rustix::process::set_child_subreaper(Some(own)).step("PR_SET_CHILD_SUBREAPER");
        }
        view::own_proc()?;
        view::own_terminals()?;
        let processes = self
            .start
            .limits
            .processes
            .filter(|_| namespaces::can_bound_root());
        processes.map_or(Ok(()), namespaces::bound_root)
    }

    /// Mounts overlays over all directories that the command of this supervisor could change.
    /// Changes there are not recorded.
    fn run_dry(&mut self, dir: &mut CanonicalPath) -> Result<DryRun, Fault> {
        if self.start.tier != Tier::Namespaces {
            let reason = format!(
                "it needs the namespaces tier (overlays in a private root); the tier here is `{}`",
                self.start.tier.as_str()
            );
            return Err(Fault::because("run a command with dryRun", &reason));
        }
        (self.journal, self.plan.journal) = (None, None);
        let writable: Vec<&Path> = self.plan.writable().collect();
        let dry_run = DryRun::begin(&writable, self.start.limits.memory_bytes, dir)?;
        // A Landlock rule refers to an inode, and overlays have other inodes.
        let keeps_registers = self
            .start
            .walls
            .as_ref()
            .is_some_and(Walls::keeps_registers);
        self.start.walls = Some(Walls::in_view(&self.plan, None, true, keeps_registers)?);
        if let Some(hide) = self.hide.as_mut().and_then(Arc::get_mut) {
            hide.on_any_device = true;
        }
        Ok(dry_run)
    }

    /// Creates the interceptor of network calls in the network of this process, or only a proxy
    /// socket for the server.
    fn intercept(
        &self,
        channel: Option<InterceptionSetup>,
    ) -> Result<(Option<Interceptor>, ServerSocket), Fault> {
        let Some((channel, asked, datagram_network)) = channel else {
            return Ok((None, ServerSocket::default()));
        };
        let (tier, network) = (self.start.tier, self.plan.network);
        let of_system = network == Network::Host || tier == Tier::Off;
        let reaches = of_system || (network == Network::Loopback && tier == Tier::Namespaces);
        let rules = interception::Rules {
            strict: tier == Tier::Landlock && !of_system,
            ip_only: self.allows_unix_sockets(),
            // Without Landlock's TCP rules, the device binding of its sockets is the only guard
            // against direct connections.
            open: asked.open && of_system && landlock::knows_tcp(),
            dial: if reaches { asked.dial } else { Dial::Never },
        };
        if !asked.proxy_only {
            let interceptor = Interceptor::begin(channel, rules, datagram_network)?;
            let (port, proxy) = (Some(interceptor.port()), None);
            return Ok((Some(interceptor), ServerSocket { port, proxy }));
        }
        if rules.strict {
            let reason = "commands have no network here, not even a loopback device of their own; the operator can give them \
                          one with --network host";
            return Err(Fault::because("reach a proxy", reason));
        }
        let proxy = ProxySocket::begin(channel, rules.dial)?;
        let (port, proxy) = (Some(proxy.port()), Some(proxy));
        Ok((None, ServerSocket { port, proxy }))
    }

    /// Mounts the parts of the common git directory read-only that do not belong to the allowed
    /// worktree.
    fn hold_common_git(&self) -> Result<(), Fault> {
        let roots = &self.plan.roots;
        let common = roots
            .iter()
            .filter(|root| root.writable && root.extent == Extent::CommonOfGit);
        let places: Vec<&Path> = roots.iter().map(|root| root.place.path.as_path()).collect();
        common
            .map(|root| root.place.path.as_path())
            .try_for_each(|common| common_git::hold(common, &places))
    }

    /// Returns the paths that links and renames of a command must not touch. `held` are its
    /// protected paths.
    fn spared_places(&self, held: &[Guarded]) -> Result<Places, Fault> {
        let linked = self
            .plan
            .roots
            .iter()
            .filter(|root| matches!(root.extent, Extent::OfGit | Extent::CommonOfGit));
        let linked = linked.map(|root| root.place.path.as_path());
        let fixed = held.iter().chain(&self.enclosed).map(Guarded::path);
        let places = Places::new(self.protected.iter().map(PathBuf::as_path), linked, fixed);
        Ok(places.locking(self.places_lock.try_clone().step("dup")?))
    }

    /// Prepares to open names of threads, if the command writes them.
    fn thread_names(
        &self,
        prepare: impl FnOnce() -> Result<ThreadNames, Fault>,
    ) -> Result<Option<ThreadNames>, Fault> {
        self.plan.devices.names_threads.then(prepare).transpose()
    }

    /// Setup of a supervisor before it starts the program.
    fn enter(
        &self,
        places: &[Guarded],
        line: Option<Rc<SupervisorLine>>,
        refused: Option<u64>,
        channel: Option<InterceptionSetup>,
        bundle: Option<OwnedFd>,
        request: &Request,
    ) -> Result<CommandResources<'_>, Fault> {
        let intercepts = channel.is_some();
        let journal = self
            .journal
            .as_ref()
            .map(|journal| journal.command(request.title.clone(), request.call));
        match self.start.tier {
            Tier::Off => {
                let (interceptor, server_socket) = self.intercept(channel)?;
                Ok((
                    KillScope::Descendants,
                    Box::new(WithoutWalls::new(interceptor)),
                    server_socket,
                ))
            }
            Tier::Namespaces => {
                let first = FirstProcess::check().ok_or_else(|| {
                    Fault::because("pid namespace", "this process is not the first of one")
                })?;
                hidden_paths::cover_again(&self.hidden)?;
                Guarded::hold(places.iter())?;
                self.hold_common_git()?;
                if let Some(bundle) = bundle {
                    certificates::put(&bundle)?;
                }
                if intercepts && self.plan.network == Network::None {
                    // Other commands without a network must not see the interceptor, nor get a
                    // loopback device.
                    namespaces::enter_own_loopback()?;
                }
                let (interceptor, server_socket) = self.intercept(channel)?;
                let naming = NamingRules {
                    hide: self.hide.clone(),
                    places: self.spared_places(places)?,
                    line,
                    thread_names: self.thread_names(ThreadNames::in_view)?,
                };
                let sockets = self
                    .sockets
                    .as_ref()
                    .filter(|_| self.allows_unix_sockets())
                    .map(SocketOwners::own);
                let counters = self.counters.as_ref();
                let monitor = InView::new(counters, refused, interceptor, journal, naming, sockets);
                Ok((
                    KillScope::PidNamespace(first),
                    Box::new(monitor),
                    server_socket,
                ))
            }
            Tier::Landlock => {
                self.start
                    .walls
                    .as_ref()
                    .map_or(Ok(()), |walls| walls.bound_supervisor(intercepts))?;
                let scope = SignalScope::check().ok_or_else(|| {
                    Fault::because("Landlock", "signals to other processes are not blocked")
                })?;
                let protected = self.protected.clone();
                let (interceptor, server_socket) = self.intercept(channel)?;
                let (writable, readable) = (self.writable.clone(), self.readable.clone());
                let naming = NamingRules {
                    hide: None,
                    places: self.spared_places(places)?,
                    line: None,
                    thread_names: self.thread_names(ThreadNames::on_system)?,
                };
                let monitor =
                    OnSystem::new(writable, protected, readable, naming, interceptor, journal);
                Ok((KillScope::Scope(scope), Box::new(monitor), server_socket))
            }
        }
    }
}

/// Returns the cgroups, if memory is limited and cgroups are available, and the memory limit
/// mechanism.
fn groups_of(
    plan: &Plan,
    own: Option<Result<OwnedFd, String>>,
) -> (Option<Groups>, Option<MemoryHold>) {
    let Some((memory_bytes, own)) = plan.limits.memory_bytes.zip(own) else {
        return (None, None);
    };
    let bounds = Bounds {
        memory_bytes,
        processes: plan.limits.processes,
    };
    match own.and_then(|own| Groups::prepare(own, bounds)) {
        Ok(groups) => {
            let hold = MemoryHold::Cgroup {
                processes: groups.counts_processes(),
            };
            (Some(groups), Some(hold))
        }
        Err(reason) => (None, Some(MemoryHold::Watch { reason })),
    }
}
