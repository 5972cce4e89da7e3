//! What holds each command: one of three ways, built once and used for every command.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use nix::unistd::Pid;

use super::broker::Broker;

use super::fault::{Fault, Step};
use super::plan::{Network, Plan, Tier};
use super::program::Start;
use super::protected::{self, Protected};
use super::reach::{FirstProcess, Reach, SignalScope};
use super::routes::Counters;
use super::supervisor::{Standing, Supervisor};
use super::sys::{self, SingleThread};
use super::walls::{Walls, writable_on_system};
use super::wire::{Denied, Event, Hello, RawString, Request, send_event};
use super::{capabilities, namespaces, view};

/// What all commands of a server share.
pub struct Cells {
    alone: SingleThread,
    start: Start,
    /// Of the commands' own network, if they have one.
    counters: Option<Counters>,
    /// Below read-write directories.
    protected: Vec<protected::Guarded>,
    /// Allowed directories that are read-only, below read-write ones. They are mounted so already, but what lies above them
    /// could be moved.
    enclosed: Vec<protected::Guarded>,
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

impl Cells {
    /// Builds what the plan says, or says why that cannot be.
    pub fn build(plan: Plan, alone: SingleThread) -> Result<Self, Fault> {
        let scratch = plan.scratch.as_path();
        let (walls, home, tmp): (_, RawString, RawString) = match plan.tier {
            Tier::Off => (None, RawString::default(), RawString::default()),
            Tier::Namespaces => {
                namespaces::enter(&alone, plan.network)?;
                view::enter(&plan)?;
                (Some(Walls::in_view(&plan)?), view::home(&plan).into(), view::TMP.into())
            }
            Tier::Landlock => {
                if let Some(open) = super::explain::unenforceable(&plan, &[]).first() {
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
            gaps: gaps(&plan),
        };
        let writable = writable_on_system(&plan);
        let private_home = view::home(&plan);
        let protected = guarded(&plan, plan.protected.iter());
        let enclosed = guarded(&plan, plan.roots.iter().filter(|root| !root.writable).map(|root| &root.place.path));
        let readable = walls.as_ref().map(|walls| walls.readable().to_vec()).unwrap_or_default();
        let mut environment = plan.environment;
        for (name, value) in [("HOME", home), ("TMPDIR", tmp)] {
            environment.extend(value.map(|value| (name.into(), value)));
        }
        let start = Start { tier: plan.tier, walls, limits: plan.limits, environment };
        Ok(Self {
            alone,
            start,
            counters,
            protected,
            enclosed,
            before: Vec::new(),
            home: private_home,
            writable,
            readable,
            hello,
        })
    }

    /// What the server is told.
    pub fn hello(&self) -> &Hello {
        &self.hello
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
    pub fn leave(self) {
        if self.start.tier == Tier::Namespaces {
            view::leave(self.home);
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
    pub fn live(self, request: &Request, command: OwnedFd, stdio: Vec<OwnedFd>) -> ! {
        match self.enter() {
            Ok((reach, standing)) => {
                Supervisor { reach, server: command, start: &self.start, alone: &self.alone, standing }
                    .run(request, stdio);
            }
            Err(fault) => {
                let refused = Event::Refused { step: fault.step.clone(), errno: fault.errno() };
                let _ = send_event(&command, &refused, None);
            }
        }
        sys::exit_now(0)
    }

    /// What a supervisor does before it starts the program.
    fn enter(&self) -> Result<(Reach, Box<dyn Standing + '_>), Fault> {
        match self.start.tier {
            Tier::Off => {
                let own = rustix::process::getpid();
                rustix::process::set_child_subreaper(Some(own)).step("PR_SET_CHILD_SUBREAPER")?;
                Ok((Reach::Descendants, Box::new(Bare)))
            }
            Tier::Namespaces => {
                let first = FirstProcess::check()
                    .ok_or_else(|| Fault::because("pid namespace", "this process is not the first of one"))?;
                view::own_proc()?;
                if let Some(processes) = self.start.limits.processes.filter(|_| namespaces::can_bound_root()) {
                    namespaces::bound_root(processes)?;
                }
                self.enclosed.iter().try_for_each(protected::nail)?;
                let protected = self.protected.iter().map(Protected::hold).collect::<Result<_, _>>()?;
                let refused = self.counters.as_ref().and_then(|counters| Some((counters, counters.refused()?)));
                Ok((Reach::PidNamespace(first), Box::new(InView { protected, moved: Vec::new(), refused })))
            }
            Tier::Landlock => {
                let own = rustix::process::getpid();
                rustix::process::set_child_subreaper(Some(own)).step("PR_SET_CHILD_SUBREAPER")?;
                self.start.walls.as_ref().map_or(Ok(()), Walls::bound_supervisor)?;
                let scope = SignalScope::check()
                    .ok_or_else(|| Fault::because("Landlock", "signals to other processes are not kept back"))?;
                let protected = self.protected.iter().map(|guarded| guarded.path.clone()).collect();
                let standing = OnSystem {
                    broker: None,
                    writable: self.writable.clone(),
                    protected,
                    readable: self.readable.clone(),
                };
                Ok((Reach::Scope(scope), Box::new(standing)))
            }
        }
    }
}

/// What this system leaves open that another would not.
fn gaps(plan: &Plan) -> Vec<String> {
    let unbound = plan.tier == Tier::Namespaces
        && plan.limits.processes.is_some()
        && rustix::process::geteuid().is_root()
        && !namespaces::can_bound_root();
    let unbound =
        unbound.then(|| "the number of processes is not limited: this kernel holds root to no limit".to_owned());
    unbound.into_iter().collect()
}

/// These paths, as far as they lie in read-write directories, each with the outermost of these.
fn guarded<'a>(plan: &'a Plan, paths: impl Iterator<Item = &'a RawString>) -> Vec<protected::Guarded> {
    let roots = || plan.roots.iter().filter(|root| root.writable).map(|root| root.place.path.as_path());
    let outermost =
        |path: &Path| roots().filter(|root| path.starts_with(root)).min_by_key(|root| root.as_os_str().len());
    let paths = paths.map(RawString::as_path);
    paths.filter_map(|path| Some(protected::Guarded { path: path.into(), root: outermost(path)?.into() })).collect()
}

/// No wall: nothing to serve and nothing to tell.
struct Bare;

impl Standing for Bare {
    fn waits_for(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn serve(&mut self) {}

    fn take(&mut self, _from_program: OwnedFd) {}

    fn close(&mut self, _failed: bool) -> Vec<Denied> {
        Vec::new()
    }
}

/// A command in its own root.
struct InView<'a> {
    protected: Vec<Protected>,
    /// What was moved aside until now.
    moved: Vec<Denied>,
    /// The kernel's count of ways out that were not there, and how far it was when the command began.
    refused: Option<(&'a Counters, u64)>,
}

impl Standing for InView<'_> {
    fn waits_for(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn serve(&mut self) {}

    fn take(&mut self, _from_program: OwnedFd) {}

    fn has_to_look(&self) -> bool {
        !self.protected.is_empty()
    }

    fn look(&mut self) {
        for denied in self.protected.iter().filter_map(Protected::settle) {
            if !self.moved.contains(&denied) {
                self.moved.push(denied);
            }
        }
    }

    fn close(&mut self, failed: bool) -> Vec<Denied> {
        self.look();
        let mut denied = std::mem::take(&mut self.moved);
        if failed && self.refused.is_some_and(|(counters, before)| counters.refused() > Some(before)) {
            denied.push(Denied::Network);
        }
        denied
    }
}

/// A command on the system's own root: its changes of metadata are made for it, where they may be made, and attributes
/// read for it where it may read.
struct OnSystem {
    broker: Option<Broker>,
    writable: Vec<PathBuf>,
    protected: Vec<PathBuf>,
    readable: Vec<PathBuf>,
}

impl Standing for OnSystem {
    fn waits_for(&self) -> Option<BorrowedFd<'_>> {
        self.broker.as_ref().filter(|broker| !broker.is_over()).map(AsFd::as_fd)
    }

    fn serve(&mut self) {
        // A listener that fails is closed: the calls that wait for it fail in their turn.
        if self.broker.as_mut().is_some_and(|broker| broker.serve().is_err()) {
            self.broker = None;
        }
    }

    fn take(&mut self, from_program: OwnedFd) {
        self.broker =
            Some(Broker::new(from_program, self.writable.clone(), self.protected.clone(), self.readable.clone()));
    }

    fn close(&mut self, _failed: bool) -> Vec<Denied> {
        self.broker.as_ref().map(|broker| broker.denied().to_vec()).unwrap_or_default()
    }
}
