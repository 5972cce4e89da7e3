//! Checked paths: open handles that only this layer can make.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::Stat;

use super::kind::FileKind;
use super::rules::Rules;

/// A path that the policy has opened for one kind of use. It is no path any more: nothing is
/// resolved a second time.
#[derive(Debug)]
#[must_use = "a checked path does nothing until it is handed to `fs`"]
pub struct Checked<Use> {
    shown: PathBuf,
    pub(super) how: Use,
}

/// An open regular file or directory.
#[derive(Debug)]
pub struct Read {
    pub(super) handle: OwnedFd,
    pub(super) stat: Stat,
    pub(super) place: PathBuf,
    pub(super) writable: bool,
    pub(super) rules: Arc<Rules>,
}

/// A place whose metadata may be looked at: an `O_PATH` handle, of whatever kind.
#[derive(Debug)]
pub struct Look {
    pub(super) handle: Arc<OwnedFd>,
    pub(super) kind: FileKind,
    pub(super) writable: bool,
}

/// Destination of a write: the handle of the deepest existing directory, the directories to create,
/// and a name.
#[derive(Debug)]
pub struct Write {
    pub(super) dir: Arc<OwnedFd>,
    pub(super) parents: Vec<OsString>,
    pub(super) name: OsString,
    pub(super) place: PathBuf,
    pub(super) wants_dir: bool,
    pub(super) rules: Arc<Rules>,
}

/// A directory that shall exist: the deepest one that does, and the names still to make below it.
#[derive(Debug)]
pub struct NewDir {
    pub(super) dir: Arc<OwnedFd>,
    pub(super) missing: Vec<OsString>,
    pub(super) place: PathBuf,
    pub(super) rules: Arc<Rules>,
}

/// A directory entry itself, for deleting and moving: the handle of its directory and its name.
#[derive(Debug)]
pub struct Entry {
    pub(super) dir: Arc<OwnedFd>,
    pub(super) name: OsString,
    pub(super) place: PathBuf,
    pub(super) rules: Arc<Rules>,
}

impl<Use> Checked<Use> {
    pub(super) fn new(shown: PathBuf, how: Use) -> Self {
        Self { shown, how }
    }

    /// The absolute path as the agent spelt it. For messages and replies only.
    pub fn display_path(&self) -> &Path {
        &self.shown
    }
}

impl Checked<Read> {
    /// Returns true if the place may also be written.
    pub fn writable(&self) -> bool {
        self.how.writable
    }

    pub(crate) fn place(&self) -> &Path {
        &self.how.place
    }

    /// A regular file or a directory: nothing else is ever opened for reading.
    pub fn kind(&self) -> FileKind {
        FileKind::from(rustix::fs::FileType::from_raw_mode(self.how.stat.st_mode))
    }

    pub(crate) fn rules(&self) -> &Arc<Rules> {
        &self.how.rules
    }

    /// Size in bytes when it was opened.
    pub fn size(&self) -> u64 {
        u64::try_from(self.how.stat.st_size).unwrap_or(0)
    }

    /// The numbers of its filesystem and of itself there: while it exists nothing else has both
    /// (`inode(7)`).
    pub fn id(&self) -> (u64, u64) {
        (self.how.stat.st_dev, self.how.stat.st_ino)
    }
}

impl AsFd for Checked<Read> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.how.handle.as_fd()
    }
}

impl Checked<Look> {
    /// Returns true if the place may also be written.
    pub fn writable(&self) -> bool {
        self.how.writable
    }

    /// Returns the kind of the entry, with links followed.
    pub fn kind(&self) -> FileKind {
        self.how.kind
    }
}

impl AsFd for Checked<Look> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.how.handle.as_fd()
    }
}

impl Checked<Write> {
    pub(crate) fn dir(&self) -> &Arc<OwnedFd> {
        &self.how.dir
    }

    pub(crate) fn parents(&self) -> &[OsString] {
        &self.how.parents
    }

    pub(crate) fn name(&self) -> &OsStr {
        &self.how.name
    }

    /// The true position, for rules only.
    pub fn place(&self) -> &Path {
        &self.how.place
    }

    /// Spelt with a slash at the end.
    pub(crate) fn wants_dir(&self) -> bool {
        self.how.wants_dir
    }

    pub(crate) fn rules(&self) -> &Arc<Rules> {
        &self.how.rules
    }
}

impl Checked<NewDir> {
    pub(crate) fn rules(&self) -> &Arc<Rules> {
        &self.how.rules
    }

    pub(crate) fn dir(&self) -> &Arc<OwnedFd> {
        &self.how.dir
    }

    pub(crate) fn missing(&self) -> &[OsString] {
        &self.how.missing
    }

    /// The true position.
    pub(crate) fn place(&self) -> &Path {
        &self.how.place
    }
}

impl Checked<Entry> {
    pub(crate) fn dir(&self) -> &Arc<OwnedFd> {
        &self.how.dir
    }

    pub(crate) fn name(&self) -> &OsStr {
        &self.how.name
    }

    /// The true position, for rules only.
    pub(crate) fn place(&self) -> &Path {
        &self.how.place
    }

    pub(crate) fn rules(&self) -> &Arc<Rules> {
        &self.how.rules
    }
}
