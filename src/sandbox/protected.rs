//! Protected paths: what is there is mounted read-only over itself for each command, and what commands put in its place is
//! moved aside.
//!
//! Each command answers for what it finds at its start. Commands that run at the same time could still pass something from
//! one to the other (hidden while the one ends, back before the other does), so the launcher remembers what was there
//! before the first of them, and looks again when the last of them has ended.
#![expect(clippy::disallowed_methods, reason = "looks at the protected paths as commands see them")]

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, chmod, open, openat, renameat_with, statat};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

use super::fault::Fault;
use super::view;
use super::wire::Denied;
use crate::limits::MAX_DENIED_PATH_BYTES;

/// Which file something is: device and inode.
type Identity = (u64, u64);

/// A protected path, and the outermost read-write directory that it lies in.
#[derive(Clone, Debug)]
pub struct Guarded {
    /// The protected path.
    pub path: PathBuf,
    /// Mounted in the view, so that it cannot be moved.
    pub root: PathBuf,
}

/// One protected path while commands run.
pub struct Protected {
    path: PathBuf,
    before: Option<Identity>,
}

impl Protected {
    /// Remembers which file is there.
    pub fn note(guarded: &Guarded) -> Self {
        Self { before: identity(&guarded.path), path: guarded.path.clone() }
    }

    /// Makes what is there read-only in the mount namespace of this process, nails the directories above it to their
    /// places, and remembers which file it is.
    pub fn hold(guarded: &Guarded) -> Result<Self, Fault> {
        let path = guarded.path.clone();
        let Some((dir, name)) = descend(guarded)? else { return Ok(Self { path, before: None }) };
        let before = view::make_read_only(&dir, &name)?;
        Ok(Self { path, before })
    }

    /// Moves away what is there now, if it is not what was there before. What it was, if so.
    pub fn settle(&self) -> Option<Denied> {
        let now = identity(&self.path)?;
        if Some(now) == self.before || is_harmless(&self.path) {
            return None;
        }
        let rename = |to: &OsStr| {
            let aside = self.path.with_file_name(to);
            match renameat_with(CWD, &self.path, CWD, &aside, RenameFlags::NOREPLACE) {
                // Not every file system can promise that. This one is asked instead.
                Err(Errno::INVAL) => identity(&aside).is_none() && rustix::fs::rename(&self.path, &aside).is_ok(),
                result => result.is_ok(),
            }
        };
        let mut aside = self.path.file_name().map(OsString::from).unwrap_or_default();
        aside.push(".set-aside");
        // All other names could be taken, too long, or not to be had because the directory's rights were taken away.
        let moved = rename(&aside) || {
            if let Some(parent) = self.path.parent() {
                let _ = chmod(parent, Mode::RWXU);
            }
            let mut random = [0; 8];
            let _ = getrandom(&mut random, GetRandomFlags::empty());
            rename(&OsString::from(format!("set-aside-{:016x}", u64::from_ne_bytes(random))))
        };
        if !moved {
            tracing::warn!("what a command put in place of the protected `{}` is still there", self.path.display());
        }
        let shown = self.path.as_os_str().as_bytes();
        Some(Denied::Protected(OsStr::from_bytes(&shown[..shown.len().min(MAX_DENIED_PATH_BYTES)]).into()))
    }
}

/// Nails the directories above to their places.
pub fn nail(guarded: &Guarded) -> Result<(), Fault> {
    descend(guarded).map(drop)
}

/// The directory of a protected path, and the name in it; `None` if there is no such directory.
///
/// A command could move away a directory above the path, and the path with it, so that the next command would find nothing
/// to make read-only. What something is mounted on cannot be moved, so each of those directories is mounted on itself. Step
/// by step, because other commands may be moving things about now: what is mounted on is what was looked at.
fn descend(guarded: &Guarded) -> Result<Option<(OwnedFd, OsString)>, Fault> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Some(name) = guarded.path.file_name() else { return Ok(None) };
    let above = guarded.path.parent().and_then(|parent| parent.strip_prefix(&guarded.root).ok());
    let Ok(mut dir) = open(&guarded.root, flags, Mode::empty()) else { return Ok(None) };
    for part in above.unwrap_or(Path::new("")) {
        dir = match openat(&dir, part, flags | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(below) => match view::nail(&dir, below)? {
                Some(nailed) => nailed,
                None => return Ok(None),
            },
            // A link stays free to be changed. What it leads to is held as far as it can be.
            Err(Errno::NOTDIR | Errno::LOOP) => match openat(&dir, part, flags, Mode::empty()) {
                Ok(below) => below,
                Err(_) => return Ok(None),
            },
            Err(_) => return Ok(None),
        };
    }
    Ok(Some((dir, name.into())))
}

fn identity(path: &Path) -> Option<Identity> {
    let stat = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some((stat.st_dev, stat.st_ino))
}

/// A directory of hooks as `git init` makes it: every name in it is one that git does not look at.
fn is_harmless(path: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(dir) = openat(CWD, path, flags, Mode::empty()) else { return false };
    let Ok(mut entries) = Dir::read_from(&dir) else { return false };
    path.ends_with(".git/hooks")
        && entries.all(|entry| {
            entry.is_ok_and(|entry| {
                let name = entry.file_name().to_bytes();
                name == b"."
                    || name == b".."
                    || name.ends_with(b".sample") && entry.file_type() == FileType::RegularFile
            })
        })
}
