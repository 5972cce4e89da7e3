//! The private directory of one server's commands: HOME and TMPDIR live in it.
#![expect(clippy::disallowed_methods, reason = "the directory is the program's own, made and removed here")]

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, chmodat, flock, mkdirat, openat, unlinkat,
};

use super::fault::{Fault, Step};
use super::wire::RawString;

/// What the name of every such directory begins with.
const PREFIX: &str = "replay-scratch-";
const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const PRIVATE: Mode = Mode::RWXU;

/// A private directory while the server lives. The lock on it says so to others.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    handle: OwnedFd,
}

impl Scratch {
    /// Makes one below `parent`, with `home` and `tmp` in it, and removes those of servers that are gone.
    pub fn create(parent: &Path) -> Result<Self, Fault> {
        let parent = std::fs::canonicalize(parent).step_with(|| format!("find `{}`", parent.display()))?;
        sweep(&parent);
        let mut random = [0; 8];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty()).step("getrandom")?;
        let path = parent.join(format!("{PREFIX}{:016x}", u64::from_ne_bytes(random)));
        let made = || format!("make `{}`", path.display());
        mkdirat(CWD, &path, PRIVATE).step_with(made)?;
        let handle = openat(CWD, &path, DIRECTORY, Mode::empty()).step_with(made)?;
        flock(&handle, FlockOperation::NonBlockingLockExclusive).step_with(made)?;
        for name in ["home", "tmp"] {
            mkdirat(&handle, name, PRIVATE).step_with(made)?;
        }
        Ok(Self { path, handle })
    }

    /// Where it is: absolute, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl AsFd for Scratch {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

/// The launcher's hold on the directory: a way to remove it that does not depend on what the launcher sees by then.
#[derive(Debug)]
pub struct Ground {
    parent: OwnedFd,
    name: PathBuf,
}

impl Ground {
    /// Opens the directory's parent.
    pub fn hold(scratch: &RawString) -> Result<Self, Fault> {
        let path = scratch.as_path();
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Fault::because("the private directory", "it has no parent"));
        };
        let parent = openat(CWD, parent, DIRECTORY, Mode::empty()).step("open the private directory's parent")?;
        Ok(Self { parent, name: name.into() })
    }

    /// Removes the directory with everything in it, as far as that can be.
    pub fn remove(self) {
        remove(&self.parent, &self.name);
    }
}

/// Removes the directories below `parent` that nobody holds a lock on: their servers were killed.
fn sweep(parent: &Path) {
    let Ok(handle) = openat(CWD, parent, DIRECTORY, Mode::empty()) else { return };
    let Ok(entries) = Dir::read_from(&handle) else { return };
    for entry in entries.flatten() {
        if !entry.file_name().to_bytes().starts_with(PREFIX.as_bytes()) {
            continue;
        }
        let Ok(scratch) = openat(&handle, entry.file_name(), DIRECTORY, Mode::empty()) else { continue };
        // A directory of another user cannot be locked or removed, and one that was just made is locked in a moment.
        let own = rustix::fs::fstat(&scratch).is_ok_and(|stat| stat.st_uid == rustix::process::geteuid().as_raw());
        let made = rustix::fs::statat(&scratch, "tmp", AtFlags::SYMLINK_NOFOLLOW).is_ok();
        if own && made && flock(&scratch, FlockOperation::NonBlockingLockExclusive).is_ok() {
            remove(&handle, entry.file_name());
        }
    }
}

/// Removes a directory tree by handle. Links are removed, never followed.
fn remove(parent: &OwnedFd, name: impl rustix::path::Arg + Copy) {
    if let Ok(handle) = open_for_removal(parent, name) {
        empty(&handle);
    }
    let _ = unlinkat(parent, name, AtFlags::REMOVEDIR);
}

fn open_for_removal(parent: &OwnedFd, name: impl rustix::path::Arg + Copy) -> rustix::io::Result<OwnedFd> {
    openat(parent, name, DIRECTORY, Mode::empty()).or_else(|errno| {
        // A command may have taken its own rights away.
        chmodat(parent, name, PRIVATE, AtFlags::empty()).map_err(|_| errno)?;
        openat(parent, name, DIRECTORY, Mode::empty())
    })
}

/// Empties a directory, deepest first, without recursion: a command can nest deeper than a stack goes.
fn empty(top: &OwnedFd) {
    let Ok(top) = top.try_clone() else { return };
    let mut open = vec![top];
    while let Some(dir) = open.last() {
        let mut below = None;
        let _ = rustix::fs::fchmod(dir, PRIVATE);
        let Ok(entries) = Dir::read_from(dir) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let is_dir = matches!(entry.file_type(), FileType::Directory | FileType::Unknown);
            if unlinkat(dir, name, AtFlags::empty()).is_ok() {
                continue;
            }
            if is_dir && unlinkat(dir, name, AtFlags::REMOVEDIR).is_err() {
                below = below.or_else(|| open_for_removal(dir, name).ok());
            }
        }
        match below {
            // Its own entry goes when this directory is read again.
            Some(dir) if open.len() < crate::limits::MAX_WALK_DEPTH => open.push(dir),
            _ => drop(open.pop()),
        }
    }
}
