//! An allowed directory.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::fstat;

/// An allowed directory, pinned: it stays the same directory whatever its name is made to mean
/// later.
#[derive(Debug)]
pub struct Root {
    pub(super) path: PathBuf,
    pub(super) writable: bool,
    pub(super) handle: Arc<OwnedFd>,
}

impl Root {
    /// Its canonical path at start.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if the directory was deleted. Its name may belong to another one now.
    pub(super) fn is_gone(&self) -> bool {
        fstat(&self.handle).is_ok_and(|stat| stat.st_nlink == 0)
    }

    /// Returns true if the directory is read-write.
    pub fn writable(&self) -> bool {
        self.writable
    }
}

/// An `O_PATH` handle.
impl AsFd for Root {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}
