//! What a supervisor does for its command while the command runs, in each of the three ways to hold it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use super::broker::Broker;
use super::protected::Protected;
use super::routes::Counters;
use super::wire::Denied;

/// What the walls of one command need while it runs. Nothing, unless they say otherwise.
pub trait Duties {
    /// A descriptor to wait for, beside the supervisor's own.
    fn waits_for(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Does what the descriptor is ready for.
    fn serve(&mut self) {}

    /// Takes the descriptor that came from the program's side of the walls.
    fn take(&mut self, _from_program: OwnedFd) {}

    /// Whether [`Duties::look`] has work to do now and then.
    fn has_to_look(&self) -> bool {
        false
    }

    /// Looks whether the command has done what nothing tells about.
    fn look(&mut self) {}

    /// The command is over; `failed` if its program was. What the walls refused to it.
    fn close(&mut self, _failed: bool) -> Vec<Denied> {
        Vec::new()
    }
}

/// No wall: nothing to serve and nothing to tell.
pub struct Bare;

impl Duties for Bare {}

/// A command in its own root.
pub struct InView<'a> {
    /// What the command may not put anything in the place of.
    pub protected: Vec<Protected>,
    /// What was moved aside until now.
    pub moved: Vec<Denied>,
    /// The kernel's count of ways out that were not there, and how far it was when the command began.
    pub refused: Option<(&'a Counters, u64)>,
}

impl Duties for InView<'_> {
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
pub struct OnSystem {
    /// Once the program has handed its listener over.
    pub broker: Option<Broker>,
    /// Where metadata may be changed.
    pub writable: Vec<PathBuf>,
    /// Where it may not, below those.
    pub protected: Vec<PathBuf>,
    /// Where attributes may be read.
    pub readable: Vec<PathBuf>,
}

impl Duties for OnSystem {
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
