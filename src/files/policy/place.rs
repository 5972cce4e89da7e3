//! Current place of an open directory, from the kernel, and the changes that are allowed there.
//!
//! A handle stays with its directory wherever others move it. So the giver of a name asks before
//! and after, and takes the name back if it may not be there. The mover of a directory looks
//! afterwards at what the directory holds. Of two at the same time, one sees the other. The
//! launcher does the same for commands (`sandbox/protected_paths.rs`).
#![expect(clippy::disallowed_methods, reason = "looks at what is open")]

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use replay_base::limits::MAX_HIDDEN_DEPTH;
use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, openat, readlinkat};
use rustix::io::Errno;

use super::exists_below;
use super::resolve::PATH_DIR;
use super::rules::{Cause, Rules, is_dot_git, is_of_repository};
use crate::journal::{Changer, Misplaced as ForJournal};

/// Reason why a name may not be given, changed or removed in its directory.
#[derive(Debug)]
pub(crate) enum Misplaced {
    Protected {
        protected: PathBuf,
        why: Cause,
    },
    /// The place is read-only, hidden or outside.
    Elsewhere,
    Unknown(Errno),
}

fn path_of(dir: impl AsFd) -> Result<PathBuf, Errno> {
    let link = format!("/proc/self/fd/{}", dir.as_fd().as_raw_fd());
    Ok(OsString::from_vec(readlinkat(CWD, link, Vec::new())?.into_bytes()).into())
}

impl Rules {
    /// Returns the current place of an open directory; `None` if it is in no allowed directory.
    pub(crate) fn place_of(&self, dir: impl AsFd) -> Result<Option<PathBuf>, Errno> {
        let path = path_of(dir)?;
        let mut nearest: Option<(usize, PathBuf)> = None;
        for root in &self.roots {
            let Some(handle) = &root.handle else { continue };
            // Rules go with an allowed directory that was moved.
            let top = path_of(handle)?;
            let length = top.as_os_str().len();
            if nearest.as_ref().is_none_or(|(known, _)| length > *known)
                && let Ok(below) = path.strip_prefix(&top)
            {
                nearest = Some((length, root.path.join(below)));
            }
        }
        Ok(nearest.map(|(_, place)| place))
    }

    /// Returns the place of a name in an open directory, if the name may be made, changed or
    /// removed there.
    pub(crate) fn may_change(&self, dir: impl AsFd, name: &OsStr) -> Result<PathBuf, Misplaced> {
        let dir = self
            .place_of(dir)
            .map_err(Misplaced::Unknown)?
            .ok_or(Misplaced::Elsewhere)?;
        let place = if name.is_empty() { dir } else { dir.join(name) };
        self.may_change_at(&place)?;
        Ok(place)
    }

    /// Checks a place that the kernel has named.
    pub(crate) fn may_change_at(&self, place: &Path) -> Result<(), Misplaced> {
        if !self.writable(place) || self.hides(place) {
            return Err(Misplaced::Elsewhere);
        }
        self.protecting(place)
            .map_or(Ok(()), |protected| Err(self.protected_by(protected)))
    }

    /// Returns the place of a name, if the object that has or gets it may have it. `thing` says how
    /// to look into a directory; `None` means another kind of object.
    pub(crate) fn may_bear(
        &self,
        dir: impl AsFd,
        name: &OsStr,
        thing: Option<(BorrowedFd<'_>, &OsStr)>,
    ) -> Result<PathBuf, Misplaced> {
        let place = self.may_change(dir, name)?;
        let is_there = |rest: &Path| thing.is_none_or(|(dir, name)| exists_below(dir, name, rest));
        if let Some((protected, _)) = self
            .protected_below(&place)
            .find(|(_, rest)| is_there(rest))
        {
            return Err(self.protected_by(&protected));
        }
        // Any directory there could become the repository of a submodule or worktree.
        if thing.is_some() && self.is_in_repository(&place) {
            return Err(self.protected_by(&place));
        }
        Ok(place)
    }

    fn protected_by(&self, protected: &Path) -> Misplaced {
        Misplaced::Protected {
            protected: protected.into(),
            why: self.cause(protected),
        }
    }
}

/// Returns true if a name below a directory is one that git obeys in a repository, or if that
/// cannot be known.
fn holds_repository(dir: BorrowedFd<'_>, name: &OsStr, depth: usize) -> bool {
    let opened = match openat(
        dir,
        name,
        OFlags::RDONLY | PATH_DIR.difference(OFlags::PATH),
        Mode::empty(),
    ) {
        Err(Errno::NOENT | Errno::NOTDIR) => return false,
        opened => opened.and_then(|dir| Ok((Dir::read_from(&dir)?, dir))),
    };
    let Ok((entries, dir)) = opened else {
        return true;
    };
    depth > MAX_HIDDEN_DEPTH
        || entries.into_iter().any(|entry| {
            let Ok(entry) = entry else { return true };
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            let is_dir = matches!(entry.file_type(), FileType::Directory | FileType::Unknown);
            !matches!(name.as_bytes(), b"." | b"..")
                && (is_of_repository(name)
                    || is_dir && holds_repository(dir.as_fd(), name, depth + 1))
        })
}

impl Changer for Rules {
    fn may_change(&self, dir: BorrowedFd<'_>, name: &OsStr) -> Result<(), ForJournal> {
        Ok(Rules::may_change(self, dir, name).map(drop)?)
    }

    fn may_bear(
        &self,
        dir: BorrowedFd<'_>,
        name: &OsStr,
        thing: Option<(BorrowedFd<'_>, &OsStr)>,
    ) -> Result<(), ForJournal> {
        let place = Rules::may_change(self, dir, name)?;
        match thing {
            // A part of a repository, such as a deleted ref directory, comes back.
            Some((from, old_name))
                if self.is_in_repository(&place) && !holds_repository(from, old_name, 0) =>
            {
                Ok(())
            }
            thing => Ok(Rules::may_bear(self, dir, name, thing).map(drop)?),
        }
    }

    fn protects(&self, path: &Path) -> Option<PathBuf> {
        self.protecting(path).map(Path::to_path_buf)
    }

    fn protected_from(&self, place: &Path) -> Vec<PathBuf> {
        let known = self
            .protected
            .iter()
            .map(|known| &known.path)
            .filter(|path| path.starts_with(place));
        known
            .filter(|path| path.ends_with("hooks") || !path.iter().any(is_dot_git))
            .cloned()
            .collect()
    }
}

impl From<Misplaced> for ForJournal {
    fn from(misplaced: Misplaced) -> Self {
        match misplaced {
            Misplaced::Protected { protected, .. } => Self::Protected(protected),
            Misplaced::Elsewhere => Self::Elsewhere,
            Misplaced::Unknown(errno) => Self::Unknown(errno),
        }
    }
}
