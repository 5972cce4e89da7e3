//! Spare interpreter: started in advance, so that a session need not wait for a start.
//!
//! It runs in the same sandbox as every session's interpreter, with the environment of commands. It
//! holds no data of a session before its adoption. Before adoption it is asked if an interpreter
//! started now would be the same. It compares the files and variables of its own start
//! (`driver/adoption.py`), and is ended if it is not sure.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use replay_base::cancel::CancelToken;
use replay_base::limits::DEFAULT_PYTHON;
use replay_sandbox::exec::place_of;

use super::driver::{Adoption, Driver, Interpreter};
use super::host::Host;
use super::kernel::Kernel as _;

/// Slot for one spare interpreter.
#[derive(Debug)]
pub(super) struct Spare {
    directory: PathBuf,
    /// Idle time after which the spare interpreter is ended.
    idle: Duration,
    /// The operator disabled it, or no session could adopt it.
    is_forbidden: AtomicBool,
    /// A client that may make sessions is connected.
    is_wanted: AtomicBool,
    slot: Mutex<Option<Driver>>,
}

impl Spare {
    /// Creates an empty slot. It stays empty until [`Spare::enable`].
    pub(super) fn new(directory: PathBuf, idle: Duration) -> Self {
        let (is_forbidden, is_wanted) = (AtomicBool::new(false), AtomicBool::new(false));
        Self {
            directory,
            idle,
            is_forbidden,
            is_wanted,
            slot: Mutex::default(),
        }
    }

    /// Disables the spare interpreter for good.
    pub(super) fn disable(&self) {
        self.is_forbidden.store(true, Ordering::Relaxed);
    }

    /// Enables the spare interpreter.
    pub(super) fn enable(&self) {
        self.is_wanted.store(true, Ordering::Relaxed);
    }

    /// Begins to start a spare interpreter, if it is enabled, missing, and one more session has
    /// room. Does not wait for the start. A failed start leaves the slot empty.
    pub(super) fn prepare(&self, host: &Host<'_>, has_room: bool) {
        if self.is_forbidden.load(Ordering::Relaxed) || !self.is_wanted.load(Ordering::Relaxed) {
            return;
        }
        let mut slot = self.lock();
        if !has_room {
            *slot = None;
        } else if slot.as_ref().is_none_or(|driver| driver.ended().is_some()) {
            *slot = self.begin(host);
        }
    }

    /// Ends the spare interpreter. The next [`Spare::enable`] enables it again.
    pub(super) fn clear(&self) {
        self.is_wanted.store(false, Ordering::Relaxed);
        *self.lock() = None;
    }

    fn begin(&self, host: &Host<'_>) -> Option<Driver> {
        let dir = place_of(&host.policy.read(&self.directory).ok()?).ok()?;
        let interpreter = Interpreter {
            session: "spare",
            python: DEFAULT_PYTHON,
            dir,
            environment: &[],
            idle: self.idle,
        };
        Driver::begin(host.launcher, &interpreter, host.residents).ok()
    }

    /// Takes the spare interpreter for a session; `None` if it does not match the requested
    /// interpreter.
    pub(super) fn take(&self, wanted: &Interpreter<'_>, cancel: &CancelToken) -> Option<Driver> {
        if wanted.python != DEFAULT_PYTHON || !wanted.environment.is_empty() {
            return None;
        }
        let driver = self.lock().take()?;
        match driver.adopted(wanted, cancel) {
            Adoption::Done(driver) => Some(driver),
            Adoption::Refused => None,
            Adoption::Never => {
                self.disable();
                None
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Driver>> {
        // A panic leaves the slot consistent.
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
