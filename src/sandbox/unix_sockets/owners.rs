//! The table as the launcher sees it: which supervisor has which files.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::table::{Owner, SocketFiles};
use crate::fault::Fault;
use crate::plan::{Plan, Tier};

/// Table with the supervisors that live.
#[derive(Debug)]
pub(crate) struct SocketOwners {
    files: Arc<SocketFiles>,
    /// The copy of this process that was made last.
    last: Owner,
    /// By process number.
    alive: HashMap<i32, Owner>,
}

impl SocketOwners {
    /// `None` in a tier without unix sockets.
    pub(crate) fn of(plan: &Plan) -> Result<Option<Self>, Fault> {
        if plan.tier != Tier::Namespaces {
            return Ok(None);
        }
        let files = Arc::new(SocketFiles::allowing(&plan.sockets)?);
        Ok(Some(Self {
            files,
            last: Owner::default(),
            alive: HashMap::new(),
        }))
    }

    /// The next copy of this process is another owner. To be called before it is made.
    pub(crate) fn begin(&mut self) {
        self.last = self.last.next();
    }

    /// The copy has this number.
    pub(crate) fn begun(&mut self, pid: i32) {
        self.alive.insert(pid, self.last);
    }

    /// Returns the table for the copy that calls this.
    pub(crate) fn own(&self) -> (Arc<SocketFiles>, Owner) {
        (Arc::clone(&self.files), self.last)
    }

    /// Removes the files of supervisors that are not among these any more: one that was killed did
    /// not.
    pub(crate) fn tidy(&mut self, supervisors: &HashSet<i32>) {
        for (_, owner) in self.alive.extract_if(|pid, _| !supervisors.contains(pid)) {
            self.files.release(owner);
        }
    }
}
