//! What went wrong while walls were built or a program was started: the step, and what the kernel
//! said.

use std::io;

use thiserror::Error;

#[derive(Debug, Error)]
#[error("{step}: {cause}")]
pub struct Fault {
    /// What was tried, as in `mount /proc`.
    pub step: String,
    /// What came of it.
    pub cause: io::Error,
}

impl Fault {
    /// A step that failed for a reason that is not the kernel's.
    pub fn because(step: impl Into<String>, reason: &str) -> Self {
        Self {
            step: step.into(),
            cause: io::Error::other(reason.to_owned()),
        }
    }

    /// Somebody supervises this process already. The kernel says so with EBUSY, another replay's
    /// filter in its own way.
    pub fn supervised() -> Self {
        let step = "this program is supervised already, by another replay or the runtime of its container, and the kernel \
                    takes only one supervisor";
        Self {
            step: step.to_owned(),
            cause: io::Error::from_raw_os_error(libc::EBUSY),
        }
    }

    /// The number of errno(3); EIO if there is none.
    pub fn errno(&self) -> i32 {
        self.cause.raw_os_error().unwrap_or(libc::EIO)
    }
}

/// Names the step that a result comes from.
pub trait Step<T> {
    /// The result, with `step` in its error.
    fn step(self, step: &str) -> Result<T, Fault>;
    /// As [`Step::step`], with a name that is only made if it is needed.
    fn step_with(self, step: impl FnOnce() -> String) -> Result<T, Fault>;
}

impl<T, E: Into<io::Error>> Step<T> for Result<T, E> {
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
