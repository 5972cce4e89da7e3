//! Errors from building walls or starting a program: the failed step and its cause.

use std::io;

use thiserror::Error;

#[derive(Debug, Error)]
#[error("{step}: {cause}")]
pub struct Fault {
    /// The attempted step, as in `mount /proc`.
    pub step: String,
    /// The error of the step.
    pub cause: io::Error,
}

impl Fault {
    /// Creates a fault with a reason other than a kernel error.
    pub fn because(step: impl Into<String>, reason: &str) -> Self {
        Self {
            step: step.into(),
            cause: io::Error::other(reason.to_owned()),
        }
    }

    /// Creates the fault for a process that already has a supervisor. The kernel reports it with
    /// EBUSY, another replay's filter in its own way.
    pub fn supervised() -> Self {
        let step = "another replay or the container runtime already supervises this program, and \
            the kernel allows only one supervisor";
        Self {
            step: step.to_owned(),
            cause: io::Error::from_raw_os_error(libc::EBUSY),
        }
    }

    /// The error number, see errno(3); EIO if there is none.
    pub fn errno(&self) -> i32 {
        self.cause.raw_os_error().unwrap_or(libc::EIO)
    }
}

/// Adds the failed step to an error.
pub trait StepContext<T> {
    /// Adds `step` to the error.
    fn step(self, step: &str) -> Result<T, Fault>;
    /// Like [`StepContext::step`], with a step that is only computed for an error.
    fn step_with(self, step: impl FnOnce() -> String) -> Result<T, Fault>;
}

impl<T, E: Into<io::Error>> StepContext<T> for Result<T, E> {
    fn step(self, step: &str) -> Result<T, Fault> {
        self.step_with(|| step.to_owned())
    }

    fn step_with(self, step: impl FnOnce() -> String) -> Result<T, Fault> {
        self.map_err(|error| Fault {
            step: step(),
            cause: error.into(),
        })
    }
}
