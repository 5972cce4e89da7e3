//! Decides whether a path may be used, and opens it in the same breath. The only maker of
//! [`Checked`] handles.
//!
//! Files: `mounts` knows which filesystems there are; `place` asks the kernel where a directory
//! lies; `spelling` and `rules` are functions of text; `defaults` lists what is protected;
//! `directories` holds the allowed directories and the rules over them; `grant` opens them at
//! start; `repositories` finds what git obeys, `linked_git` the repository of a worktree or
//! submodule; `resolve` turns a path into a handle; this file and `entries` put them together, one
//! function for each kind of use.
#![expect(
    clippy::disallowed_methods,
    reason = "policy is where paths become handles"
)]

mod access_record;
mod defaults;
mod directories;
mod entries;
mod error;
mod grant;
mod handle;
mod kind;
mod linked_git;
mod mounts;
mod place;
mod repositories;
mod resolve;
mod root;
mod rules;
mod spelling;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
pub(crate) mod tests;

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, openat, statat};
use rustix::io::Errno;

pub use access_record::{
    AccessKind, AccessRecord, Caller, TouchedPath, TouchedPaths, note, note_refusal,
};
pub use defaults::{PROTECTED_FOR_OTHERS, PROTECTED_IN_REPOSITORIES, protected_by_default};
pub use directories::Policy;
pub use error::{GrantFlag, PolicyError};
pub use error::{Quoted, way_past};
pub use grant::{Access, Grant, Pins, Restrictions};
pub use handle::{Checked, Entry, Look, NewDir, Read, Write};
pub use kind::FileKind;
pub use linked_git::{GitDirectory, LinkedRepository};
pub(crate) use place::Misplaced;
pub use repositories::{Repositories, RepositoryPaths};
pub use root::Root;
pub use rules::{Cause, Hidden};
pub(crate) use rules::{Id, Rules};

use replay_base::limits::RESOLVE_RETRIES;
use resolve::{Halt, LastPart, PATH_DIR, WalkTarget};
use rules::below;
use spelling::Spelling;

/// Never blocks, on a named pipe for example, and never makes a terminal the controlling one.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

impl Policy {
    /// Returns the absolute path of `requested`, cleaned as text (`..` is kept), without disk
    /// access.
    ///
    /// Errors: empty, a NUL byte, too long, or relative without any allowed directory.
    pub fn absolute(&self, requested: impl AsRef<Path>) -> Result<PathBuf, PolicyError> {
        Ok(self.spell(requested.as_ref())?.into_path())
    }

    /// Opens a regular file or directory for reading. Links are followed while they stay inside.
    pub fn read(&self, requested: impl AsRef<Path>) -> Result<Checked<Read>, PolicyError> {
        let access = |file: &Checked<Read>| {
            if file.kind() == FileKind::Directory {
                AccessKind::List
            } else {
                AccessKind::Read
            }
        };
        record_access(access, |real| self.open_to_read(requested.as_ref(), real))
    }

    /// Like [`Policy::read`], but for the server's own questions: a refusal is not recorded.
    pub fn probe(&self, path: impl AsRef<Path>) -> Result<Checked<Read>, PolicyError> {
        let mut real = None;
        let file = self.open_to_read(path.as_ref(), &mut real)?;
        if access_record::is_watched() {
            note(
                file.display_path(),
                real,
                if file.kind() == FileKind::Directory {
                    AccessKind::List
                } else {
                    AccessKind::Read
                },
            );
        }
        Ok(file)
    }

    fn open_to_read(
        &self,
        requested: &Path,
        real: &mut Option<PathBuf>,
    ) -> Result<Checked<Read>, PolicyError> {
        let spelling = self.spell_unseen(requested)?;
        if let Some((root, below)) = self.direct(&spelling) {
            let flags = if spelling.wants_dir {
                READ | OFlags::DIRECTORY
            } else {
                READ
            };
            let opened = self.open_direct(root, below, flags);
            // Nothing can be opened below what is gone.
            if below == b"." || !matches!(opened, Some(Ok(_))) {
                self.is_there_still(&spelling)?;
            }
            match opened {
                Some(Ok(handle)) => {
                    let at = Path::new(OsStr::from_bytes(below));
                    let place = if below == b"." {
                        self.roots[root].path.clone()
                    } else {
                        self.roots[root].path.join(at)
                    };
                    return self.readable(requested, spelling, handle, place);
                }
                Some(Err(errno)) => return Err(PolicyError::inside(spelling.into_path(), errno)),
                None => {}
            }
        } else {
            self.is_there_still(&spelling)?;
        }
        for _ in 0..RESOLVE_RETRIES {
            let spot = self
                .walk(&spelling, LastPart::Follow)
                .map_err(|halt| self.halted(requested, &spelling, halt))?;
            let place = below(&spot.place, &spot.tail);
            *real = Some(place.clone());
            let opened = match spot.tail.first() {
                None => openat(&spot.dir, ".", READ | OFlags::DIRECTORY, Mode::empty()),
                Some(name) if spot.found.is_some() => {
                    openat(&spot.dir, name, READ | OFlags::NOFOLLOW, Mode::empty())
                }
                Some(_) => Err(spot.stuck.unwrap_or(Errno::NOENT)),
            };
            match opened {
                // A link has taken the place of what was found: look again.
                Err(Errno::LOOP) => {}
                Ok(handle) => return self.readable(requested, spelling, handle, place),
                Err(errno) => return Err(PolicyError::inside(spelling.into_path(), errno)),
            }
        }
        Err(PolicyError::Busy {
            path: spelling.into_path(),
        })
    }

    /// Regular files and directories only.
    fn readable(
        &self,
        requested: &Path,
        spelling: Spelling,
        handle: OwnedFd,
        place: PathBuf,
    ) -> Result<Checked<Read>, PolicyError> {
        let stat = match fstat(&handle) {
            Ok(stat) => stat,
            Err(errno) => return Err(PolicyError::inside(spelling.into_path(), errno)),
        };
        if self.rules.is_hidden((stat.st_dev, stat.st_ino)) {
            return Err(PolicyError::Hidden {
                path: requested.into(),
            });
        }
        if self.rules.is_kernels(stat.st_dev, &handle) {
            return Err(PolicyError::Kernel {
                path: requested.into(),
            });
        }
        let kind = FileKind::from(FileType::from_raw_mode(stat.st_mode));
        if kind.is_special() {
            return Err(PolicyError::Special {
                path: spelling.into_path(),
                kind,
            });
        }
        let rules = Arc::clone(&self.rules);
        let writable = self.rules.writable(&place);
        Ok(Checked::new(
            spelling.into_path(),
            Read {
                handle,
                stat,
                place,
                writable,
                rules,
            },
        ))
    }

    /// Opens anything for its metadata alone, unreadable files and named pipes too. Links are
    /// followed while they stay inside.
    pub fn look(&self, requested: impl AsRef<Path>) -> Result<Checked<Look>, PolicyError> {
        record_access(
            |_| AccessKind::Look,
            |real| self.open_to_look(requested.as_ref(), real),
        )
    }

    fn open_to_look(
        &self,
        requested: &Path,
        real: &mut Option<PathBuf>,
    ) -> Result<Checked<Look>, PolicyError> {
        let spelling = self.spell(requested)?;
        let spot = self
            .walk(&spelling, LastPart::Follow)
            .map_err(|halt| self.halted(requested, &spelling, halt))?;
        let place = below(&spot.place, &spot.tail);
        let writable = self.rules.writable(&place);
        *real = Some(place);
        let (handle, kind) = match (spot.tail.is_empty(), spot.found) {
            (true, _) => (spot.dir, FileKind::Directory),
            (false, Some(found)) => found,
            (false, None) => {
                return Err(PolicyError::inside(
                    spelling.into_path(),
                    spot.stuck.unwrap_or(Errno::NOENT),
                ));
            }
        };
        Ok(Checked::new(
            spelling.into_path(),
            Look {
                handle,
                kind,
                writable,
            },
        ))
    }

    /// Follows a link that a walk met, if it leads inside the allowed directories. `None` if it
    /// leads out, is dangling, or is a loop.
    pub fn leads_to(&self, link: impl AsRef<Path>) -> Option<Checked<Look>> {
        self.open_to_look(link.as_ref(), &mut None).ok()
    }

    /// Returns true if the path exists inside the allowed directories. This is the server's own
    /// question and is not recorded.
    pub fn is_there(&self, path: impl AsRef<Path>) -> bool {
        self.open_to_look(path.as_ref(), &mut None).is_ok()
    }

    /// Resolves a path for writing. A link in the last part is followed while it stays inside, also
    /// to a file that does not exist yet. Missing parents are no error; they are created when the
    /// file is written.
    pub fn write(&self, requested: impl AsRef<Path>) -> Result<Checked<Write>, PolicyError> {
        record_access(
            |_| AccessKind::Write,
            |real| self.find_to_write(requested.as_ref(), real),
        )
    }

    /// Like [`Self::write`], but for the server's own questions: nothing is recorded. A caller that
    /// knows the agent's path has to record a refusal itself ([`note_refusal()`]).
    pub fn try_write(&self, path: impl AsRef<Path>) -> Result<Checked<Write>, PolicyError> {
        self.find_to_write(path.as_ref(), &mut None)
    }

    fn find_to_write(
        &self,
        requested: &Path,
        real: &mut Option<PathBuf>,
    ) -> Result<Checked<Write>, PolicyError> {
        let spelling = self.spell(requested)?;
        let direct = self.direct_entry(&spelling)?;
        let direct = direct.filter(|entry| entry.kind != Some(FileKind::Symlink));
        let found = match direct {
            Some(entry) if entry.kind == Some(FileKind::Directory) => Err(Errno::ISDIR),
            Some(entry) => Ok((entry.dir, Vec::new(), entry.name, entry.place)),
            None => {
                let spot = self
                    .walk(&spelling, LastPart::Follow)
                    .map_err(|halt| self.halted(requested, &spelling, halt))?;
                if spot.wants_dir || spot.tail.is_empty() {
                    Err(Errno::ISDIR)
                } else {
                    split(spot)
                }
            }
        };
        let (dir, parents, name, place) = match found {
            Ok(found) => found,
            Err(errno) => return Err(PolicyError::inside(spelling.into_path(), errno)),
        };
        self.may_change(requested, &place)?;
        // A file named `.git` is as good as a directory of hooks: it says where they are.
        if let Some((protected, _)) = self.rules.protected_below(&place).next() {
            return Err(self.protected_by(requested, &protected));
        }
        access_record::keep(real, &place);
        let rules = Arc::clone(&self.rules);
        Ok(Checked::new(
            spelling.into_path(),
            Write {
                dir,
                parents,
                name,
                place,
                wants_dir: false,
                rules,
            },
        ))
    }

    /// A directory that shall exist, with its parents. Links are followed while they stay inside.
    pub fn create_dir(&self, requested: impl AsRef<Path>) -> Result<Checked<NewDir>, PolicyError> {
        record_access(
            |_| AccessKind::Create,
            |real| self.find_to_create(requested.as_ref(), real),
        )
    }

    fn find_to_create(
        &self,
        requested: &Path,
        real: &mut Option<PathBuf>,
    ) -> Result<Checked<NewDir>, PolicyError> {
        let spelling = self.spell(requested)?;
        let spot = self
            .walk(&spelling, LastPart::Follow)
            .map_err(|halt| self.halted(requested, &spelling, halt))?;
        let place = below(&spot.place, &spot.tail);
        self.may_change(requested, &place)?;
        access_record::keep(real, &place);
        let blocked = spot.stuck.or(spot.found.is_some().then_some(Errno::NOTDIR));
        if let Some(errno) = blocked {
            return Err(PolicyError::inside(spelling.into_path(), errno));
        }
        let rules = Arc::clone(&self.rules);
        Ok(Checked::new(
            spelling.into_path(),
            NewDir {
                dir: spot.dir,
                missing: spot.tail,
                place,
                rules,
            },
        ))
    }

    fn spell(&self, requested: &Path) -> Result<Spelling, PolicyError> {
        let spelling = self.spell_unseen(requested)?;
        self.is_there_still(&spelling)?;
        Ok(spelling)
    }

    /// Like `spell`, but the allowed directory need not exist.
    fn spell_unseen(&self, requested: &Path) -> Result<Spelling, PolicyError> {
        Spelling::of(requested, self.base())
    }

    /// An error if the allowed directory of a spelling was deleted.
    fn is_there_still(&self, spelling: &Spelling) -> Result<(), PolicyError> {
        if let Some((root, _)) = self.rules.allowed_prefix(&spelling.clean)
            && self.roots[root].is_gone()
        {
            return Err(PolicyError::Gone {
                directory: self.roots[root].path().into(),
            });
        }
        Ok(())
    }

    /// The directory and name of a spelling that needs no walk, and what is there (`None`:
    /// nothing).
    fn direct_entry(&self, spelling: &Spelling) -> Result<Option<DirectEntry>, PolicyError> {
        let Some((root, rest)) = self.direct(spelling) else {
            return Ok(None);
        };
        if spelling.wants_dir || rest == b"." {
            return Ok(None);
        }
        let (parent, name) = match memchr::memrchr(b'/', rest) {
            Some(slash) => (&rest[..slash], &rest[slash + 1..]),
            None => (&b""[..], rest),
        };
        let root = (root, &self.roots[root]);
        let dir = if parent.is_empty() {
            Arc::clone(&root.1.handle)
        } else {
            match self.open_direct(root.0, parent, PATH_DIR) {
                Some(Ok(handle)) => Arc::new(handle),
                // The walk reports an error of the parents, or avoids it.
                Some(Err(_)) | None => return Ok(None),
            }
        };
        let name = OsStr::from_bytes(name);
        let device = match fstat(&dir) {
            Ok(stat) if self.rules.is_kernels(stat.st_dev, &dir) => {
                return Err(PolicyError::Kernel {
                    path: spelling.clone().into_path(),
                });
            }
            Ok(stat) => stat.st_dev,
            Err(errno) => return Err(PolicyError::inside(spelling.clone().into_path(), errno)),
        };
        let kind = match statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if self.rules.is_hidden((stat.st_dev, stat.st_ino)) => {
                return Err(PolicyError::Hidden {
                    path: spelling.clone().into_path(),
                });
            }
            // Mounted by itself: the walk looks at it.
            Ok(stat) if stat.st_dev != device => return Ok(None),
            Ok(stat) => Some(FileKind::from(FileType::from_raw_mode(stat.st_mode))),
            Err(Errno::NOENT) => None,
            Err(errno) => return Err(PolicyError::inside(spelling.clone().into_path(), errno)),
        };
        let place = root.1.path().join(OsStr::from_bytes(rest));
        Ok(Some(DirectEntry {
            dir,
            name: name.into(),
            place,
            kind,
        }))
    }

    /// Checks by the rules alone if a place may be made, changed or removed.
    fn may_change(&self, requested: &Path, place: &Path) -> Result<(), PolicyError> {
        if !self.rules.writable(place) {
            let root = self
                .rules
                .over(place)
                .map(|index| self.roots[index].path.clone())
                .unwrap_or_default();
            return Err(PolicyError::ReadOnly {
                path: requested.into(),
                root,
                allowed: Arc::clone(&self.allowed),
            });
        }
        if self.rules.hides(place) {
            return Err(PolicyError::Hidden {
                path: requested.into(),
            });
        }
        if let Some(protected) = self.rules.protecting(place) {
            return Err(self.protected_by(requested, protected));
        }
        Ok(())
    }

    fn protected_by(&self, requested: &Path, protected: &Path) -> PolicyError {
        let why = self.rules.cause(protected);
        PolicyError::Protected {
            path: requested.into(),
            protected: protected.into(),
            why,
        }
    }

    fn halted(&self, requested: &Path, spelling: &Spelling, halt: Halt) -> PolicyError {
        match halt {
            Halt::Hidden => PolicyError::Hidden {
                path: requested.into(),
            },
            Halt::Kernel => PolicyError::Kernel {
                path: requested.into(),
            },
            Halt::Outside => PolicyError::Denied {
                path: requested.into(),
                allowed: Arc::clone(&self.allowed),
            },
            Halt::Errno(errno) => PolicyError::inside(spelling.clone().into_path(), errno),
            Halt::Raced => PolicyError::Busy {
                path: spelling.clone().into_path(),
            },
        }
    }

    /// The allowed directory whose rights hold for a path, which need not exist. Fails where
    /// nothing is allowed.
    pub fn governing(&self, path: &Path) -> Result<Option<&Root>, PolicyError> {
        let spot = self.look_for(path)?;
        let over = self.rules.over(&below(&spot.place, &spot.tail));
        Ok(over.map(|index| &self.roots[index]))
    }

    /// A walk to `path`, for the rules that are made at start.
    fn look_for(&self, path: &Path) -> Result<WalkTarget, PolicyError> {
        let spelling = self.spell(path)?;
        self.walk(&spelling, LastPart::Follow)
            .map_err(|halt| self.halted(path, &spelling, halt))
    }
}

/// Runs a question to the policy and records its outcome. The work returns the real path if it is
/// known.
fn record_access<Use>(
    access: impl FnOnce(&Checked<Use>) -> AccessKind,
    work: impl FnOnce(&mut Option<PathBuf>) -> Result<Checked<Use>, PolicyError>,
) -> Result<Checked<Use>, PolicyError> {
    let mut real = None;
    let result = work(&mut real);
    if access_record::is_watched() {
        match &result {
            Ok(checked) => note(checked.display_path(), real, access(checked)),
            Err(error) => access_record::note_refusal(error),
        }
    }
    result
}

struct DirectEntry {
    dir: Arc<OwnedFd>,
    name: OsString,
    place: PathBuf,
    kind: Option<FileKind>,
}

type WalkEnd = (Arc<OwnedFd>, Vec<OsString>, OsString, PathBuf);

/// Directory, missing parents, name and place of where a walk ended.
fn split(spot: WalkTarget) -> Result<WalkEnd, Errno> {
    if let Some(errno) = spot.stuck {
        return Err(errno);
    }
    let place = below(&spot.place, &spot.tail);
    let mut parents = spot.tail;
    let name = parents.pop().ok_or(Errno::ISDIR)?;
    Ok((spot.dir, parents, name, place))
}

/// Returns true if `rest` exists below `dir/name`. A link on the way counts as yes, since its
/// target may change at any time.
pub(crate) fn exists_below(dir: impl AsFd, name: &OsStr, rest: &Path) -> bool {
    let mut at: Option<OwnedFd> = None;
    let mut parts = std::iter::once(name).chain(rest).peekable();
    while let Some(part) = parts.next() {
        let here = at.as_ref().map_or(dir.as_fd(), AsFd::as_fd);
        match statat(here, part, AtFlags::SYMLINK_NOFOLLOW)
            .map(|s| FileKind::from(FileType::from_raw_mode(s.st_mode)))
        {
            Ok(FileKind::Directory) => {}
            Ok(FileKind::Symlink) => return true,
            Ok(_) => return parts.peek().is_none(),
            Err(errno) => return !matches!(errno, Errno::NOENT | Errno::NOTDIR),
        }
        match openat(here, part, PATH_DIR, Mode::empty()) {
            Ok(next) => at = Some(next),
            Err(errno) => return !matches!(errno, Errno::NOENT | Errno::NOTDIR),
        }
    }
    true
}
