//! Makes directories, one name at a time below an open one.
#![expect(clippy::disallowed_methods, reason = "fs is the disk door")]

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;

use crate::policy::{Checked, NewDir};

use super::error::FsError;

pub(super) const ENTER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Makes a directory and its missing parents, as `mkdir -p`. Returns how many were made: none if it was there.
pub fn create_dir(dir: &Checked<NewDir>) -> Result<usize, FsError> {
    make_below(dir.dir(), dir.missing(), dir.shown()).map(|(_, made)| made)
}

/// Makes and enters `names` below `dir`. A link that appears on the way is an error, never a way.
pub(super) fn make_below(
    dir: &Arc<OwnedFd>,
    names: &[OsString],
    shown: &Path,
) -> Result<(Arc<OwnedFd>, usize), FsError> {
    let mut at = Arc::clone(dir);
    let mut made = 0;
    for name in names {
        match mkdirat(&at, name, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
            Ok(()) => made += 1,
            // Somebody else made it: all the same, if it is a directory.
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(FsError::of(shown, "make the directories of", errno)),
        }
        let next = openat(&at, name, ENTER, Mode::empty());
        at = Arc::new(next.map_err(|errno| FsError::of(shown, "enter the directories of", errno))?);
    }
    Ok((at, made))
}
