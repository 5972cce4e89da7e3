//! The table of commands that run now, so that a server that ends leaves none behind.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::leader::Target;

/// Shared by the server, which may end everything, and by every call that runs a command.
#[derive(Clone, Debug, Default)]
pub struct Running(Arc<Mutex<Table>>);

#[derive(Debug, Default)]
struct Table {
    targets: HashMap<u32, Arc<Target>>,
    ended: bool,
}

impl Running {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends every command with SIGKILL and lets no new one start. Returns how many there were.
    pub fn end_all(&self) -> usize {
        let mut table = self.lock();
        table.ended = true;
        for target in table.targets.values() {
            target.kill();
        }
        table.targets.len()
    }

    /// How many commands run now.
    pub fn len(&self) -> usize {
        self.lock().targets.len()
    }

    /// Whether no command runs now.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Enters a command; false if everything was ended already, and then it is not entered.
    pub(super) fn enter(&self, target: &Arc<Target>) -> bool {
        let mut table = self.lock();
        if table.ended {
            return false;
        }
        table.targets.insert(target.id(), Arc::clone(target));
        true
    }

    /// Takes a command out, which must happen before its leader is reaped.
    pub(super) fn leave(&self, target: &Target) {
        self.lock().targets.remove(&target.id());
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        // No code that can panic runs under the lock, and a map of numbers is whole at any point.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
