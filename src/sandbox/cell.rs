//! What holds each command: one of three ways, built once and used for every command.

use std::collections::HashSet;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use nix::unistd::Pid;

use super::cgroup::{Bounds, Group, Groups};
use super::duties::{Bare, Duties, InView, OnSystem};
use super::explain::Asked;
use super::fault::{Fault, Step};
use super::intercept::{self as interception, Interceptor, Usher};
use super::plan::{Network, Plan, Tier};
use super::program::Start;
use super::protected::{self, Protected};
use super::reach::{FirstProcess, Reach, SignalScope};
use super::roll::{Entry, Roll};
use super::routes::Counters;
use super::supervisor::Supervisor;
use super::sys::{self, SingleThread};
use super::walls::{Walls, writable_on_system};
use super::wire::{Event, Guard, Hello, Intercept, MemoryHold, RawString, Request, send_event};
use super::{capabilities, certificates, etc, hidden, namespaces, view};

/// What all commands of a server share.
pub struct Cells {
    alone: SingleThread,
    start: Start,
    /// Who still copies /etc for the view.
    copying: Option<Pid>,
    /// Where a cgroup holds each command to its memory.
    groups: Option<Groups>,
    network: Network,
    /// Of the commands' own network, if they have one.
    counters: Option<Counters>,
    /// Which commands run at the same time, where that matters.
    roll: Option<Roll>,
    /// Below read-write directories.
    protected: Vec<protected::Guarded>,
    /// Allowed directories that are read-only, below read-write ones. They are mounted so already, but what lies above them
    /// could be moved.
    enclosed: Vec<protected::Guarded>,
    /// Files that are read-only as far as they are there when a command starts.
    pinned: Vec<protected::Guarded>,
    /// The read-write directories.
    roots: Vec<PathBuf>,
    /// What commands must not see.
    hidden: Vec<hidden::At>,
    /// What was at the protected paths before the first of the commands that run now.
    before: Vec<Protected>,
    /// HOME of commands in the view.
    home: &'static str,
    /// Where the broker lets metadata be changed.
    writable: Vec<PathBuf>,
    /// Where it lets attributes be read.
    readable: Vec<PathBuf>,
    hello: Hello,
}

/// What came with the request for one command.
#[derive(Debug)]
pub struct Handed {
    /// The supervisor's end of the command's socket.
    pub command: OwnedFd,
    /// The supervisor's end of the socket for what is intercepted.
    pub channel: Option<OwnedFd>,
    /// Certificates.
    pub bundle: Option<OwnedFd>,
    /// The streams.
    pub stdio: Vec<OwnedFd>,
}

impl Handed {
    /// Sorts what came with a request. `None` if it is less than the request speaks of.
    pub fn sort(request: &Request, descriptors: Vec<OwnedFd>) -> Option<Self> {
        let mut descriptors = descriptors.into_iter();
        let command = descriptors.next()?;
        let channel = if request.intercept.is_some() { Some(descriptors.next()?) } else { None };
        let with_bundle = request.intercept.is_some_and(|intercept| intercept.bundle);
        let bundle = if with_bundle { Some(descriptors.next()?) } else { None };
        Some(Self { command, channel, bundle, stdio: descriptors.collect() })
    }
}

/// What a supervisor has once it is where its command will be.
type Entered<'a> = (Reach, Box<dyn Duties + 'a>, Option<Usher>);

/// What one command has for itself.
#[derive(Debug)]
pub struct Berth {
    group: Option<Group>,
    entry: Option<Entry>,
}

impl Cells {
    /// Builds what the plan says, or says why that cannot be.
    pub fn build(plan: Plan, alone: SingleThread) -> Result<Self, Fault> {
        let scratch = plan.scratch.as_path();
        // The view has no cgroups.
        let (groups, memory) = groups(&plan, &alone);
        let mut copying = None;
        let (walls, home, tmp): (_, RawString, RawString) = match plan.tier {
            Tier::Off => (None, RawString::default(), RawString::default()),
            Tier::Namespaces => {
                namespaces::enter(&alone, plan.network)?;
                copying = view::enter(&plan, &alone)?;
                (Some(Walls::in_view(&plan)?), view::home(&plan).into(), view::TMP.into())
            }
            Tier::Landlock => {
                if let Some(hidden) = plan.hidden.first() {
                    let path = hidden.path.as_path().display();
                    return Err(Fault::because("Landlock", &format!("it cannot hide `{path}` from commands")));
                }
                if let Some(open) = super::explain::unenforceable(&plan, Asked::default()).first() {
                    return Err(Fault::because("Landlock", &open.describe()));
                }
                (Some(Walls::on_system(&plan)?), scratch.join("home").into(), scratch.join("tmp").into())
            }
        };
        let held = plan.tier != Tier::Off;
        if held {
            capabilities::bound().step("bound capabilities")?;
        }
        let counters =
            if plan.tier == Tier::Namespaces && plan.network != Network::Host { Counters::open() } else { None };
        let home = (held && plan.private_home).then_some(home);
        let tmp = held.then_some(tmp);
        let hello = Hello::Ready {
            home: home.clone(),
            tmp: tmp.clone(),
            landlock_abi: walls.as_ref().map(Walls::abi),
            gaps: gaps(&plan, groups.as_ref().is_some_and(Groups::counts_processes)),
            memory,
        };
        let writable = writable_on_system(&plan);
        let private_home = view::home(&plan);
        let roots = plan.roots.iter().filter(|root| root.writable).map(|root| root.place.path.as_path().into());
        let roots: Vec<PathBuf> = roots.collect();
        let protected = guarded(&roots, plan.protected.iter());
        let enclosed = guarded(&roots, plan.roots.iter().filter(|root| !root.writable).map(|root| &root.place.path));
        let hidden = hidden::At::all(&plan);
        let readable = walls.as_ref().map(|walls| walls.readable().to_vec()).unwrap_or_default();
        let mut environment = plan.environment;
        for (name, value) in [("HOME", home), ("TMPDIR", tmp)] {
            environment.extend(value.map(|value| (name.into(), value)));
        }
        let start = Start { tier: plan.tier, walls, limits: plan.limits, environment };
        Ok(Self {
            alone,
            start,
            copying,
            groups,
            network: plan.network,
            roll: counters.is_some().then(Roll::new).transpose().step("count the commands")?,
            counters,
            protected,
            enclosed,
            pinned: Vec::new(),
            roots,
            hidden,
            before: Vec::new(),
            home: private_home,
            writable,
            readable,
            hello,
        })
    }

    /// Whether there are walls, of which it has to be seen that they stand.
    pub fn hold(&self) -> bool {
        self.start.walls.is_some()
    }

    /// Waits for what is still being done for the walls while they are tried.
    pub fn finish(&mut self) -> Result<(), Fault> {
        self.copying.take().map_or(Ok(()), etc::wait_for_copy)
    }

    /// What the server is told.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Holds what was found since the plan was made as well.
    pub fn guard(&mut self, guard: &Guard) {
        self.protected.extend(guarded(&self.roots, guard.protected.iter()));
        self.pinned.extend(guarded(&self.roots, guard.pinned.iter()));
    }

    /// No command runs, and one is about to.
    pub fn begin(&mut self) {
        if self.start.tier == Tier::Namespaces {
            self.before = self.protected.iter().map(Protected::note).collect();
        }
    }

    /// The last command that ran has ended. What it could not be held to by itself is made good here.
    pub fn rest(&mut self) {
        self.before.drain(..).for_each(|protected| drop(protected.settle()));
    }

    /// Lets go of the private directory, so that it can be removed. No command runs any more.
    pub fn leave(mut self) {
        if let Some(groups) = &mut self.groups {
            groups.leave();
        }
        if self.start.tier == Tier::Namespaces {
            view::leave(self.home);
        }
    }

    /// What a command that is about to run gets for itself; these supervisors have not been reaped yet. One that stays is
    /// not counted as running: the server knows when it does something (`exec/works`).
    pub fn prepare(&mut self, supervisors: &HashSet<i32>, stays: bool) -> Result<Berth, Fault> {
        let entry = self
            .roll
            .as_mut()
            .filter(|_| !stays)
            .map(|roll| roll.begin(supervisors))
            .transpose()
            .step("count the commands")?;
        Ok(Berth { group: self.groups.as_mut().map(Groups::make).transpose()?, entry })
    }

    /// This supervisor has the command, or nobody.
    pub fn settle(&mut self, supervisor: Option<Pid>, berth: Berth) {
        if let (Some(roll), Some(entry), Some(supervisor)) = (&mut self.roll, berth.entry, supervisor) {
            roll.enter(supervisor.as_raw(), entry);
        }
        if let (Some(groups), Some(group)) = (&mut self.groups, berth.group) {
            match supervisor {
                Some(supervisor) => groups.used_by(supervisor, group),
                None => groups.give_up(&group),
            }
        }
    }

    /// Removes the cgroups of supervisors that are not among these any more.
    pub fn tidy(&mut self, supervisors: &HashSet<i32>) {
        if let Some(groups) = &mut self.groups {
            groups.tidy(|supervisor| supervisors.contains(&supervisor));
        }
    }

    /// Makes the copy of this process that will be a supervisor. `None` in the copy.
    pub fn copy(&self) -> Result<Option<Pid>, Fault> {
        match self.start.tier {
            Tier::Namespaces => sys::fork_into_namespaces(&self.alone).step("fork into namespaces"),
            Tier::Landlock | Tier::Off => sys::fork(&self.alone).step("fork"),
        }
    }

    /// The life of the copy.
    pub fn live(self, request: &Request, handed: Handed, berth: Berth) -> ! {
        let Handed { command, channel, bundle, stdio } = handed;
        match self.enter(berth.entry, channel.zip(request.intercept), bundle) {
            Ok((reach, duties, usher)) => {
                let (start, alone, group) = (&self.start, &self.alone, berth.group);
                let told = usher.as_ref().map(|usher| request.with_proxy_port(usher.port()));
                let supervisor = Supervisor { reach, server: command, start, alone, duties, usher, group };
                supervisor.run(told.as_ref().unwrap_or(request), stdio);
            }
            Err(fault) => {
                let refused = Event::Refused { step: fault.step.clone(), errno: fault.errno() };
                let _ = send_event(&command, &refused, None);
            }
        }
        sys::exit_now(0)
    }

    /// Somebody who serves the calls over the network, in the network that this process is in, or who only serves the
    /// server.
    fn intercept(&self, channel: Option<(OwnedFd, Intercept)>) -> Result<(Option<Interceptor>, Option<Usher>), Fault> {
        let Some((channel, asked)) = channel else { return Ok((None, None)) };
        let (tier, network) = (self.start.tier, self.network);
        let of_system = network == Network::Host || tier == Tier::Off;
        let reaches = of_system || (network == Network::Loopback && tier == Tier::Namespaces);
        let rules = interception::Rules {
            strict: tier == Tier::Landlock && !of_system,
            open: asked.open && of_system,
            dial: asked.dial && reaches,
        };
        if !asked.proxy_only {
            return Ok((Some(Interceptor::begin(channel, rules)?), None));
        }
        if rules.strict {
            let reason = "commands have no network here, not even a loopback device of their own; the operator can give them \
                          one with --network host";
            return Err(Fault::because("reach a proxy", reason));
        }
        Ok((None, Some(Usher::begin(channel, rules.dial)?)))
    }

    /// What a supervisor does before it starts the program.
    fn enter(
        &self,
        entry: Option<Entry>,
        channel: Option<(OwnedFd, Intercept)>,
        bundle: Option<OwnedFd>,
    ) -> Result<Entered<'_>, Fault> {
        let intercepts = channel.is_some();
        match self.start.tier {
            Tier::Off => {
                let own = rustix::process::getpid();
                rustix::process::set_child_subreaper(Some(own)).step("PR_SET_CHILD_SUBREAPER")?;
                let (interceptor, usher) = self.intercept(channel)?;
                Ok((Reach::Descendants, Box::new(Bare::new(interceptor)), usher))
            }
            Tier::Namespaces => {
                let first = FirstProcess::check()
                    .ok_or_else(|| Fault::because("pid namespace", "this process is not the first of one"))?;
                view::own_proc()?;
                if let Some(processes) = self.start.limits.processes.filter(|_| namespaces::can_bound_root()) {
                    namespaces::bound_root(processes)?;
                }
                hidden::cover_again(&self.hidden)?;
                self.enclosed.iter().try_for_each(protected::nail)?;
                self.pinned.iter().try_for_each(|guarded| Protected::hold(guarded).map(drop))?;
                let protected = self.protected.iter().map(Protected::hold).collect::<Result<_, _>>()?;
                if let Some(bundle) = bundle {
                    certificates::put(&bundle)?;
                }
                if intercepts && self.network == Network::None {
                    // Others without a network shall not meet what is intercepted here, nor have a loopback device.
                    namespaces::enter_own_loopback()?;
                }
                let ((interceptor, usher), roll) = (self.intercept(channel)?, self.roll.as_ref().zip(entry));
                let duties = InView::new(protected, self.counters.as_ref(), roll, interceptor);
                Ok((Reach::PidNamespace(first), Box::new(duties), usher))
            }
            Tier::Landlock => {
                let own = rustix::process::getpid();
                rustix::process::set_child_subreaper(Some(own)).step("PR_SET_CHILD_SUBREAPER")?;
                self.start.walls.as_ref().map_or(Ok(()), |walls| walls.bound_supervisor(intercepts))?;
                let scope = SignalScope::check()
                    .ok_or_else(|| Fault::because("Landlock", "signals to other processes are not kept back"))?;
                let protected = self.protected.iter().map(|guarded| guarded.path.clone()).collect();
                let (interceptor, usher) = self.intercept(channel)?;
                let duties = OnSystem::new(self.writable.clone(), protected, self.readable.clone(), interceptor);
                Ok((Reach::Scope(scope), Box::new(duties), usher))
            }
        }
    }
}

/// Cgroups, if memory is limited and they can be had, and what holds it.
fn groups(plan: &Plan, alone: &SingleThread) -> (Option<Groups>, Option<MemoryHold>) {
    let Some(memory_bytes) = plan.limits.memory_bytes else { return (None, None) };
    match Groups::prepare(Bounds { memory_bytes, processes: plan.limits.processes }, alone) {
        Ok(groups) => {
            let hold = MemoryHold::Cgroup { processes: groups.counts_processes() };
            (Some(groups), Some(hold))
        }
        Err(reason) => (None, Some(MemoryHold::Watch { reason })),
    }
}

/// What this system leaves open that another would not.
fn gaps(plan: &Plan, counts_processes: bool) -> Vec<String> {
    let unbound = !counts_processes
        && plan.tier == Tier::Namespaces
        && plan.limits.processes.is_some()
        && rustix::process::geteuid().is_root()
        && !namespaces::can_bound_root();
    let unbound =
        unbound.then(|| "the number of processes is not limited: this kernel holds root to no limit".to_owned());
    // In namespaces something lies over each.
    let of_root = plan.tier == Tier::Landlock && rustix::process::geteuid().is_root();
    let of_root = of_root.then(|| {
        "commands can read what the kernel tells root alone about the memory of the machine (/proc/kpagecount, \
         /proc/slabinfo, /proc/vmallocinfo and the like)"
            .to_owned()
    });
    unbound.into_iter().chain(of_root).collect()
}

/// These paths, as far as they lie in read-write directories, each with the outermost of these.
fn guarded<'a>(roots: &[PathBuf], paths: impl Iterator<Item = &'a RawString>) -> Vec<protected::Guarded> {
    let outermost =
        |path: &Path| roots.iter().filter(|root| path.starts_with(root)).min_by_key(|root| root.as_os_str().len());
    let paths = paths.map(RawString::as_path);
    paths.filter_map(|path| Some(protected::Guarded { path: path.into(), root: outermost(path)?.into() })).collect()
}
