//! What holds each command: one of three ways, built once and used for every command.

use std::os::fd::{BorrowedFd, OwnedFd};

use nix::unistd::Pid;

use super::fault::{Fault, Step};
use super::plan::{Plan, Tier};
use super::program::Start;
use super::reach::Reach;
use super::supervisor::{Standing, Supervisor};
use super::sys::{self, SingleThread};
use super::wire::{Denied, Event, Hello, RawString, Request, send_event};

/// What all commands of a server share.
pub struct Cells {
    alone: SingleThread,
    start: Start,
    home: Option<RawString>,
    tmp: Option<RawString>,
}

impl Cells {
    /// Builds what the plan says, or says why that cannot be.
    pub fn build(plan: Plan, alone: SingleThread) -> Result<Self, Fault> {
        match plan.tier {
            Tier::Off => Ok(Self::off(plan, alone)),
            Tier::Namespaces | Tier::Landlock => Err(Fault::because("build walls", "this system has none")),
        }
    }

    fn off(plan: Plan, alone: SingleThread) -> Self {
        let start = Start { tier: plan.tier, limits: plan.limits, environment: plan.environment };
        Self { alone, start, home: None, tmp: None }
    }

    /// What the server is told.
    pub fn hello(&self) -> Hello {
        Hello::Ready { home: self.home.clone(), tmp: self.tmp.clone(), landlock_abi: None, gaps: Vec::new() }
    }

    /// Makes the copy of this process that will be a supervisor. `None` in the copy.
    pub fn copy(&self) -> Result<Option<Pid>, Fault> {
        sys::fork(&self.alone).step("fork")
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
        rustix::process::set_child_subreaper(Some(rustix::process::getpid())).step("PR_SET_CHILD_SUBREAPER")?;
        Ok((Reach::Descendants, Box::new(Nothing)))
    }
}

/// No wall: nothing to serve and nothing to tell.
struct Nothing;

impl Standing for Nothing {
    fn waits_for(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn serve(&mut self) {}

    fn take(&mut self, _from_program: OwnedFd) {}

    fn close(&mut self, _failed: bool) -> Vec<Denied> {
        Vec::new()
    }
}
