//! Removal of whole repositories.
//!
//! The protected paths of a repository are mounts, which the kernel lets nobody remove in this
//! mount namespace. A program that removes a directory tree goes through it, and would leave half a
//! repository. So what it removes of these paths is only noted here, and stays. When nothing else
//! is left in the directory, and the program removes that, the launcher removes both.
//!
//! A program that removes a tree reads its directories meanwhile. A program that removes only a
//! protected path does not, so the kernel refuses it.
#![expect(
    clippy::disallowed_methods,
    reason = "looks at what the command removes"
)]

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use replay_sys::seccomp::Notification;
use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, fstat, openat, statat};
use rustix::io::Errno;

use super::{CallAnswer, Opens, check, kind_of, place_of};
use crate::caller::{Caller, NameIn, without_slashes};
use crate::supervisor_table::SupervisorLine;
use crate::system_call::PathArgument;

/// Removals of repositories by one command.
#[derive(Debug)]
pub(super) struct Removals {
    /// To the launcher; without it nothing of this is done.
    line: Option<Rc<SupervisorLine>>,
    /// Protected paths that the command believes to be gone.
    noted: BTreeSet<PathBuf>,
    /// Directories that are gone.
    removed: Vec<PathBuf>,
}

impl Removals {
    pub(super) fn new(line: Option<Rc<SupervisorLine>>) -> Self {
        Self {
            line,
            noted: BTreeSet::new(),
            removed: Vec::new(),
        }
    }

    /// Returns true if the removal of a protected path was answered here.
    pub(super) fn has_answered(&self, place: &Path) -> bool {
        self.noted.contains(place)
            || self
                .removed
                .iter()
                .any(|removed| place.starts_with(removed))
    }

    /// Paths that are still there; of a directory only itself.
    pub(super) fn remaining_paths(&self) -> impl Iterator<Item = &Path> {
        let is_inside = |place: &PathBuf| {
            place
                .parent()
                .is_some_and(|above| self.noted.contains(above))
        };
        self.noted
            .iter()
            .filter(move |place| !is_inside(place))
            .map(PathBuf::as_path)
    }
}

impl Opens {
    pub(super) fn remove(
        &mut self,
        listener: &OwnedFd,
        asked: &Notification,
        at: PathArgument,
        is_dir: bool,
    ) -> Result<CallAnswer, Errno> {
        let Some(line) = self
            .removals
            .line
            .clone()
            .filter(|_| self.places.has_repositories())
        else {
            return Ok(CallAnswer::Kernel);
        };
        let caller = Caller::new(asked.pid);
        // The kernel cannot find such a path either.
        let spot = caller
            .path(at, false)
            .and_then(|path| caller.find_above(&path));
        let Ok(spot) = spot else {
            return Ok(CallAnswer::Kernel);
        };
        let Ok(place) = place_of(&spot) else {
            return Ok(CallAnswer::Kernel);
        };
        let noted = &mut self.removals.noted;
        let is_part = self.places.is_of_repository(&place);
        let is_last = is_dir && noted.iter().any(|noted| noted.parent() == Some(&place));
        if !is_part && !is_last {
            return Ok(CallAnswer::Kernel);
        }
        check(listener, asked)?;
        if is_part {
            let is_right = kind_of(&spot).is_ok_and(|kind| (kind == FileType::Directory) == is_dir);
            if !is_right || !caller.reads_directory(&spot.dir)? {
                return Ok(CallAnswer::Kernel);
            }
            if is_dir && !is_emptied(&spot, &place, noted)? {
                return Err(Errno::NOTEMPTY);
            }
            noted.insert(place);
            return Ok(CallAnswer::Nothing);
        }
        if !is_emptied(&spot, &place, noted)? {
            return Err(Errno::NOTEMPTY);
        }
        line.remove(&place)?;
        noted.retain(|noted| !noted.starts_with(&place));
        self.removals.removed.push(place);
        Ok(CallAnswer::Nothing)
    }
}

/// Returns true if everything in a directory was removed, as far as the command knows.
fn is_emptied(
    NameIn { dir, name }: &NameIn,
    place: &Path,
    noted: &BTreeSet<PathBuf>,
) -> Result<bool, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let listed = openat(dir, without_slashes(name), flags, Mode::empty())?;
    for entry in Dir::new(listed)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." && !noted.contains(&place.join(name)) {
            return Ok(false);
        }
    }
    Ok(true)
}

impl Caller {
    /// Returns true if it has a directory open to read it.
    fn reads_directory(&self, dir: &OwnedFd) -> Result<bool, Errno> {
        let wanted = fstat(dir)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = openat(
            CWD,
            format!("/proc/{}/fd", self.pid()),
            flags,
            Mode::empty(),
        )?;
        let is_it = |name: &OsStr| {
            let found = statat(&open, name, rustix::fs::AtFlags::empty());
            found.is_ok_and(|found| (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino))
        };
        Ok(Dir::read_from(&open)?
            .flatten()
            .any(|entry| is_it(OsStr::from_bytes(entry.file_name().to_bytes()))))
    }
}
