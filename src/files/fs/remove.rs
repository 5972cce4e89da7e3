//! Deletes an entry, optionally with everything below it. Links are removed, never followed.
#![expect(clippy::disallowed_methods, reason = "fs opens files")]

use std::ffi::OsStr;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use replay_base::cancel::CancelToken;
use replay_base::limits::MAX_WALK_DEPTH;
use rustix::fs::{AtFlags, Mode, fstat, openat, unlinkat};
use rustix::io::Errno;

use crate::journal::Changes;
use crate::policy::{Checked, Entry, FileKind, Misplaced};

use super::descent::{Descent, DescentStep};
use super::dir::{LIST, is_hidden};
use super::error::FsError;
use super::locks::DirLocks;

/// Retries of a recursive delete if new entries appear in a directory.
const REMOVE_RETRIES: usize = 16;

/// Result of a delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Removed {
    /// Number of files, links and other non-directories.
    pub files: u64,
    pub directories: u64,
}

/// Removes `entry`. A non-empty directory requires `recursive`. A recursive delete stops at an
/// allowed directory or a protected path.
pub fn remove(
    changes: &Changes<'_>,
    entry: &Checked<Entry>,
    recursive: bool,
    cancel: &CancelToken,
) -> Result<Removed, FsError> {
    let failed = |errno| FsError::of(entry.display_path(), "delete", errno);
    // A delete would take the wrong file while a server gives a name back.
    let locked = DirLocks::if_readable(entry.dir(), entry.display_path())?;
    changes
        .before_remove(entry.dir().as_fd(), entry.place())
        .map_err(FsError::of_journal(entry.display_path()))?;
    let may = entry.rules().may_change(entry.dir(), entry.name());
    may.map_err(|misplaced| FsError::of_place(entry.display_path(), misplaced))?;
    match unlinkat(entry.dir(), entry.name(), AtFlags::empty()) {
        Ok(()) => {
            return Ok(Removed {
                files: 1,
                directories: 0,
            });
        }
        // Linux returns EISDIR; POSIX allows EPERM too (unlink(2)).
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(errno) => return Err(failed(errno)),
    }
    match unlinkat(entry.dir(), entry.name(), AtFlags::REMOVEDIR) {
        Ok(()) => {
            return Ok(Removed {
                files: 0,
                directories: 1,
            });
        }
        Err(Errno::NOTEMPTY | Errno::EXIST) if recursive => {}
        // Not a directory, but unlink failed.
        Err(Errno::NOTDIR) => return Err(failed(Errno::PERM)),
        Err(Errno::EXIST) => return Err(failed(Errno::NOTEMPTY)),
        Err(errno) => return Err(failed(errno)),
    }
    drop(locked);
    let mut removal = Removal {
        changes,
        entry,
        cancel,
        below: PathBuf::new(),
        guarded: entry
            .rules()
            .protected_below(entry.place())
            .next()
            .is_some(),
        removed: Removed {
            files: 0,
            directories: 0,
        },
        retries: 0,
    };
    removal.run().map_err(
        |error| match removal.removed.files + removal.removed.directories {
            0 => error,
            removed => FsError::Partly {
                path: entry.display_path().into(),
                removed,
                source: Box::new(error),
            },
        },
    )?;
    Ok(removal.removed)
}

struct Removal<'a> {
    changes: &'a Changes<'a>,
    entry: &'a Checked<Entry>,
    cancel: &'a CancelToken,
    /// Path of the current directory, relative to the entry.
    below: PathBuf,
    /// `true` if a protected path could lie below.
    guarded: bool,
    removed: Removed,
    retries: usize,
}

impl Removal<'_> {
    fn run(&mut self) -> Result<(), FsError> {
        let entry = self.entry;
        loop {
            let top = openat(entry.dir(), entry.name(), LIST, Mode::empty())
                .map_err(|errno| self.failed(errno))?;
            let id = fstat(&top)
                .map(|stat| (stat.st_dev, stat.st_ino))
                .map_err(|errno| self.failed(errno))?;
            if entry.rules().is_root(id) {
                return Err(self.protected(entry.place().into()));
            }
            let mut descent = Descent::new(top).map_err(|errno| self.failed(errno))?;
            self.below.clear();
            while let Some(step) = descent.step().map_err(|errno| self.failed(errno))? {
                self.step(&mut descent, step)?;
            }
            match unlinkat(entry.dir(), entry.name(), AtFlags::REMOVEDIR) {
                Ok(()) => {
                    self.removed.directories += 1;
                    return Ok(());
                }
                Err(errno) => self.retry(errno)?,
            }
        }
    }

    fn step(&mut self, descent: &mut Descent, step: DescentStep) -> Result<(), FsError> {
        if self.cancel.is_cancelled() {
            return Err(FsError::Cancelled {
                path: self.display_path(),
            });
        }
        let (name, kind) = match step {
            DescentStep::Entry(entry) => {
                let dir = descent.dir().map_err(|errno| self.failed(errno))?;
                let place = || self.entry.place().join(&self.below).join(&entry.name);
                if is_hidden(
                    self.entry.rules(),
                    dir,
                    entry.name.as_bytes(),
                    entry.inode,
                    place,
                ) {
                    return Err(self.protected(place()));
                }
                (entry.name, entry.kind)
            }
            DescentStep::Left(name) => {
                self.below.pop();
                let dir = descent.dir().map_err(|errno| self.failed(errno))?;
                return match unlinkat(dir, &name, AtFlags::REMOVEDIR) {
                    Ok(()) => {
                        self.removed.directories += 1;
                        Ok(())
                    }
                    Err(Errno::NOENT) => Ok(()),
                    Err(errno) => {
                        self.retry(errno)?;
                        self.enter(descent, &name)
                    }
                };
            }
        };
        let dir = descent.dir().map_err(|errno| self.failed(errno))?;
        self.record_loss(dir, &name)?;
        self.guard(dir, &name)?;
        if kind != FileKind::Directory {
            let dir = descent.dir().map_err(|errno| self.failed(errno))?;
            match unlinkat(dir, &name, AtFlags::empty()) {
                Ok(()) => {
                    self.removed.files += 1;
                    return Ok(());
                }
                Err(Errno::NOENT) => return Ok(()),
                // A directory has replaced it, or the filesystem did not tell the type.
                Err(Errno::ISDIR) => {}
                Err(errno) => return Err(self.failed(errno)),
            }
        }
        self.enter(descent, &name)
    }

    fn enter(&mut self, descent: &mut Descent, name: &OsStr) -> Result<(), FsError> {
        if descent.depth() >= MAX_WALK_DEPTH {
            return Err(FsError::TooDeep {
                path: self.display_path(),
                max: MAX_WALK_DEPTH,
            });
        }
        let rules = self.entry.rules();
        match descent.enter(name, rules, |id| !rules.is_root(id)) {
            Ok(true) => self.below.push(name),
            Ok(false) => {
                return Err(self.protected(self.entry.place().join(&self.below).join(name)));
            }
            Err(Errno::NOENT) => {}
            // A link or file has replaced the directory: it is unlinked.
            Err(Errno::NOTDIR | Errno::LOOP) => {
                let dir = descent.dir().map_err(|errno| self.failed(errno))?;
                unlinkat(dir, name, AtFlags::empty()).map_err(|errno| self.failed(errno))?;
                self.removed.files += 1;
            }
            Err(errno) => return Err(self.failed(errno)),
        }
        Ok(())
    }

    /// Records the loss, before the entry or its content is removed.
    fn record_loss(&self, dir: &OwnedFd, name: &OsStr) -> Result<(), FsError> {
        let place = self.entry.place().join(&self.below).join(name);
        self.changes
            .before_remove(dir.as_fd(), &place)
            .map_err(FsError::of_journal(&self.display_path()))
    }

    /// Refuses a path that is protected or was moved meanwhile.
    fn guard(&self, dir: &OwnedFd, name: &OsStr) -> Result<(), FsError> {
        let (entry, rules) = (self.entry, self.entry.rules());
        // The policy found no protected path below the entry, so a directory that was not moved
        // needs no further check.
        if !self.guarded && self.is_in_place(dir) {
            return Ok(());
        }
        let may = match rules.may_change(dir, name) {
            // Too deep for the kernel to tell the path: it lies below the entry.
            Err(Misplaced::Unknown(Errno::NAMETOOLONG)) => {
                let top = rules.may_change(entry.dir(), entry.name());
                top.and_then(|top| rules.may_change_at(&top.join(&self.below).join(name)))
            }
            may => may.map(drop),
        };
        may.map_err(|misplaced| FsError::of_place(entry.display_path(), misplaced))
    }

    /// Returns true if a directory still lies at the entry or below it.
    fn is_in_place(&self, dir: &OwnedFd) -> bool {
        let (entry, rules) = (self.entry, self.entry.rules());
        match rules.place_of(dir) {
            Ok(place) => place.is_some_and(|place| place.starts_with(entry.place())),
            // Too deep for the kernel to tell the path: it lies below the entry.
            Err(errno) => {
                errno == Errno::NAMETOOLONG
                    && rules
                        .place_of(entry.dir())
                        .is_ok_and(|above| above.as_deref() == entry.place().parent())
            }
        }
    }

    /// Fails unless an emptied directory, which has new entries, may be emptied once more.
    fn retry(&mut self, errno: Errno) -> Result<(), FsError> {
        self.retries += 1;
        if matches!(errno, Errno::NOTEMPTY | Errno::EXIST) && self.retries <= REMOVE_RETRIES {
            return Ok(());
        }
        Err(self.failed(errno))
    }

    fn display_path(&self) -> PathBuf {
        self.entry.display_path().join(&self.below)
    }

    fn failed(&self, errno: Errno) -> FsError {
        FsError::of(&self.display_path(), "delete", errno)
    }

    fn protected(&self, protected: PathBuf) -> FsError {
        let why = self.entry.rules().cause(&protected);
        FsError::Protected {
            path: self.entry.display_path().into(),
            protected,
            why,
        }
    }
}
