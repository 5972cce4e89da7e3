//! Roots of the journal.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// A directory below which changes are recorded. Roots do not overlap.
#[derive(Debug)]
pub struct Root {
    pub handle: OwnedFd,
    /// Path used in errors.
    pub shown: PathBuf,
}
