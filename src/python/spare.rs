//! A started interpreter that belongs to nobody yet, so that a session need not wait for one.
//!
//! It runs in the walls that every session's interpreter runs in, with what commands have in their
//! environment, and nothing of a session ever reaches it before it is one. Whoever takes it asks it
//! first whether an interpreter that started now would be the same: it looks at what its own start
//! stood on (`driver/adoption.py`), and one that is not sure is ended.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::driver::{Adoption, Driver, Interpreter};
use super::host::Host;
use super::kernel::Kernel as _;
use crate::cancel::CancelToken;
use crate::exec::place_of;
use crate::limits::DEFAULT_PYTHON;

/// The place for one.
#[derive(Debug)]
pub(super) struct Spare {
    directory: PathBuf,
    /// It is ended when nobody has taken it for so long.
    idle: Duration,
    /// The operator wants none, or nobody could take one.
    is_forbidden: AtomicBool,
    /// Somebody is there that may make sessions.
    is_wanted: AtomicBool,
    kept: Mutex<Option<Driver>>,
}

impl Spare {
    /// None yet, and none as long as nobody wants one.
    pub(super) fn new(directory: PathBuf, idle: Duration) -> Self {
        let (is_forbidden, is_wanted) = (AtomicBool::new(false), AtomicBool::new(false));
        Self {
            directory,
            idle,
            is_forbidden,
            is_wanted,
            kept: Mutex::default(),
        }
    }

    /// There is never to be one.
    pub(super) fn forbid(&self) {
        self.is_forbidden.store(true, Ordering::Relaxed);
    }

    /// From now on there is to be one.
    pub(super) fn want(&self) {
        self.is_wanted.store(true, Ordering::Relaxed);
    }

    /// Begins to start one, if one is wanted, there is none, and there is room for one more
    /// session. Does not wait for it; one that cannot be started is one that is not there.
    pub(super) fn prepare(&self, host: &Host<'_>, has_room: bool) {
        if self.is_forbidden.load(Ordering::Relaxed) || !self.is_wanted.load(Ordering::Relaxed) {
            return;
        }
        let mut kept = self.lock();
        if !has_room {
            *kept = None;
        } else if kept.as_ref().is_none_or(|driver| driver.ended().is_some()) {
            *kept = self.begin(host);
        }
    }

    /// Ends the one that there is. Another one is there once somebody is expected again.
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

    /// The one that there is, as the interpreter that is asked for; `None` if it cannot be that.
    pub(super) fn take(&self, wanted: &Interpreter<'_>, cancel: &CancelToken) -> Option<Driver> {
        if wanted.python != DEFAULT_PYTHON || !wanted.environment.is_empty() {
            return None;
        }
        let driver = self.lock().take()?;
        match driver.adopted(wanted, cancel) {
            Adoption::Done(driver) => Some(driver),
            Adoption::Refused => None,
            Adoption::Never => {
                self.forbid();
                None
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Driver>> {
        // There is one or there is none.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
