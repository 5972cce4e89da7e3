//! Creates directories, one component at a time below an open one.
#![expect(clippy::disallowed_methods, reason = "fs opens files")]

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use replay_base::limits::MAX_PATH_BYTES;
use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2, unlinkat};
use rustix::io::Errno;

use crate::journal::Changes;
use crate::policy::{Checked, NewDir, Read, Rules, Write};

use super::error::FsError;
use super::giving::give;

pub(super) const ENTER: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Creates a directory and its missing parents, like `mkdir -p`. Returns the number of created
/// directories: 0 if it existed.
pub fn create_dir(changes: &Changes<'_>, dir: &Checked<NewDir>) -> Result<usize, FsError> {
    let missing = MissingDirs {
        start: dir.dir(),
        names: dir.missing(),
        place: dir.place(),
        shown: dir.display_path(),
    };
    missing
        .create(changes, dir.rules())
        .map(|(_, created)| created)
}

/// Creates and enters the missing parents of a file. Returns the last one.
pub(super) fn make_parents(
    changes: &Changes<'_>,
    target: &Checked<Write>,
) -> Result<Arc<OwnedFd>, FsError> {
    let missing = MissingDirs {
        start: target.dir(),
        names: target.parents(),
        place: target.place().parent().unwrap_or(target.place()),
        shown: target.display_path(),
    };
    missing.create(changes, target.rules()).map(|(dir, _)| dir)
}

/// Directories to create below an open one.
struct MissingDirs<'a> {
    start: &'a Arc<OwnedFd>,
    /// Names below `start`, the outermost first.
    names: &'a [OsString],
    /// Path of the last one.
    place: &'a Path,
    /// Path in messages.
    shown: &'a Path,
}

impl MissingDirs<'_> {
    /// Creates and enters the directories. A link on the way is an error, and never followed.
    /// Returns the last directory, and the number of created ones.
    fn create(
        &self,
        changes: &Changes<'_>,
        rules: &Rules,
    ) -> Result<(Arc<OwnedFd>, usize), FsError> {
        let Self {
            start,
            names,
            place,
            shown,
        } = *self;
        let mut at = Arc::clone(start);
        let mut made = 0;
        for (index, name) in names.iter().enumerate() {
            let place = place
                .ancestors()
                .nth(names.len() - 1 - index)
                .unwrap_or(place);
            changes
                .before_create(at.as_fd(), place)
                .map_err(FsError::of_journal(shown))?;
            let misplaced = |misplaced| FsError::of_place(shown, misplaced);
            let may = || rules.may_change(&at, name).map(drop).map_err(misplaced);
            let make = || match mkdirat(&at, name, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
                Ok(()) => Ok(true),
                // Somebody else has created it, which is fine for a directory.
                Err(Errno::EXIST) => Ok(false),
                Err(errno) => Err(FsError::of(shown, "make the directories of", errno)),
            };
            // Entries of others in it stay.
            let remove = |is_new: bool| {
                if is_new {
                    let _ = unlinkat(&at, name, AtFlags::REMOVEDIR);
                }
                Ok(())
            };
            made += usize::from(give(may, make, remove)?);
            let next = openat(&at, name, ENTER, Mode::empty());
            at = Arc::new(
                next.map_err(|errno| FsError::of(shown, "enter the directories of", errno))?,
            );
        }
        Ok((at, made))
    }
}

/// Returns true if `below`, a path without `..`, leads from an open directory to a directory,
/// through directories only.
pub fn is_plain_way(start: &Checked<Read>, below: &[u8]) -> bool {
    reopen(start, below).is_ok()
}

/// Opens a directory below `start` without following links, at any depth: one system call per 4 KB
/// of path.
pub(super) fn reopen(start: impl AsFd, below: &[u8]) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let mut at = openat(start, ".", ENTER, Mode::empty())?;
    let mut rest = below.strip_suffix(b"/").unwrap_or(below);
    while !rest.is_empty() {
        let length = match rest.get(..MAX_PATH_BYTES) {
            None => rest.len(),
            Some(most) => memchr::memrchr(b'/', most).ok_or(Errno::NAMETOOLONG)?,
        };
        at = match openat2(&at, &rest[..length], ENTER, Mode::empty(), resolve) {
            // Raced by a rename, or not supported: component by component always works.
            Err(Errno::AGAIN | Errno::NOSYS | Errno::PERM) => enter_each(at, &rest[..length])?,
            opened => opened?,
        };
        rest = rest.get(length + 1..).unwrap_or_default();
    }
    Ok(at)
}

fn enter_each(mut at: OwnedFd, below: &[u8]) -> Result<OwnedFd, Errno> {
    for name in below.split(|&b| b == b'/') {
        at = openat(&at, name, ENTER, Mode::empty())?;
    }
    Ok(at)
}
