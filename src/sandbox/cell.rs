//! What holds each command: one of three ways, built once and used for every command.

use std::os::fd::{BorrowedFd, OwnedFd};

use nix::unistd::Pid;

use super::fault::{Fault, Step};
use super::plan::{Network, Plan, Tier};
use super::program::Start;
use super::protected::Protected;
use super::reach::{FirstProcess, Reach};
use super::supervisor::{Standing, Supervisor};
use super::sys::{self, SingleThread};
use super::wire::{Denied, Event, Hello, RawString, Request, send_event};
use super::{namespaces, routes, view};

/// What all commands of a server share.
pub struct Cells {
    alone: SingleThread,
    start: Start,
    network: Network,
    /// Below read-write directories.
    protected: Vec<RawString>,
    hello: Hello,
}

impl Cells {
    /// Builds what the plan says, or says why that cannot be.
    pub fn build(plan: Plan, alone: SingleThread) -> Result<Self, Fault> {
        let mut home = None;
        let mut tmp = None;
        match plan.tier {
            Tier::Off => {}
            Tier::Namespaces => {
                namespaces::enter(&alone, plan.network)?;
                view::enter(&plan)?;
                home = plan.private_home.then(|| view::HOME.into());
                tmp = Some(view::TMP.into());
            }
            Tier::Landlock => return Err(Fault::because("build walls", "not yet")),
        }
        let hello = Hello::Ready { home: home.clone(), tmp: tmp.clone(), landlock_abi: None, gaps: Vec::new() };
        let mut environment = plan.environment;
        for (name, value) in [("HOME", home), ("TMPDIR", tmp)] {
            environment.extend(value.map(|value| (name.into(), value)));
        }
        let start = Start { tier: plan.tier, limits: plan.limits, environment };
        Ok(Self { alone, start, network: plan.network, protected: plan.protected, hello })
    }

    /// What the server is told.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Lets go of the private directory, so that it can be removed. No command runs any more.
    pub fn leave(self) {
        if self.start.tier == Tier::Namespaces {
            view::leave();
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
    fn enter(&self) -> Result<(Reach, Box<dyn Standing>), Fault> {
        match self.start.tier {
            Tier::Off => {
                let own = rustix::process::getpid();
                rustix::process::set_child_subreaper(Some(own)).step("PR_SET_CHILD_SUBREAPER")?;
                Ok((Reach::Descendants, Box::new(Bare)))
            }
            Tier::Namespaces | Tier::Landlock => {
                let first = FirstProcess::check()
                    .ok_or_else(|| Fault::because("pid namespace", "this process is not the first of one"))?;
                view::own_proc()?;
                let protected = self.protected.iter().map(Protected::hold).collect::<Result<_, _>>()?;
                let refused_before = if self.network == Network::Host { None } else { routes::refused() };
                Ok((Reach::PidNamespace(first), Box::new(InView { protected, refused_before })))
            }
        }
    }
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
struct InView {
    protected: Vec<Protected>,
    /// The kernel's count of ways out that were not there, when the command began.
    refused_before: Option<u64>,
}

impl Standing for InView {
    fn waits_for(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn serve(&mut self) {}

    fn take(&mut self, _from_program: OwnedFd) {}

    fn close(&mut self, failed: bool) -> Vec<Denied> {
        let mut denied: Vec<Denied> = self.protected.iter().filter_map(Protected::settle).collect();
        if failed && self.refused_before.is_some() && routes::refused() > self.refused_before {
            denied.push(Denied::Network);
        }
        denied
    }
}
