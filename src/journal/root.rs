//! Where the journal looks.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// A directory below which changes are noted. Roots lie apart from each other.
#[derive(Debug)]
pub struct Root {
    pub handle: OwnedFd,
    /// How it is named in errors.
    pub shown: PathBuf,
}
