//! Atomic replacement of files: a temporary file beside the target, synced, then renamed over it. A
//! reader sees the old content or the new one, never a mixture; the same holds after a crash.

use std::ops::Deref;
use std::os::fd::AsFd as _;
use std::sync::Arc;

use crate::journal::Changes;
use crate::policy::{Checked, Write};

use super::attributes;
use super::commit::{MtimePolicy, Prepared, commit_in_turn};
use super::dirs::make_parents;
use super::error::FsError;
use super::locks::{DirLocks, Lockable, Locks, PathLock};
use super::original::{Stamp, open_original};
use super::sweep::Sweeper;
use super::temp::{Privacy, Temp};

/// Writes files. One instance per process: it holds the locks and the list of swept directories.
#[derive(Debug, Default)]
pub struct Writer {
    durability: Durability,
    locks: Locks,
    sweeper: Sweeper,
}

/// Durability of a finished write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// The content is on the disk before the rename: after a power failure a file is complete, old
    /// or new.
    #[default]
    Disk,
    /// The content is in the page cache: a file is complete after the end of any process, but not
    /// after a power failure.
    Kernel,
}

impl Writer {
    /// Creates a writer with this durability.
    pub fn new(durability: Durability) -> Self {
        Self {
            durability,
            ..Self::default()
        }
    }

    /// Waits for the lock on `target`; hold it from reading to writing.
    pub fn lock(&self, target: &dyn Lockable) -> PathLock<'_> {
        self.locks.lock(target)
    }

    /// Locks several targets. Never while holding another lock.
    pub fn lock_all(&self, targets: &[&dyn Lockable]) -> PathLock<'_> {
        self.locks.lock_all(targets)
    }

    /// Returns a writer for one call that records every change before it is made.
    pub fn telling<'a>(&'a self, changes: &'a Changes<'a>) -> CallWriter<'a> {
        CallWriter {
            writer: self,
            changes,
        }
    }
}

/// Writes files of one call.
#[derive(Clone, Copy, Debug)]
pub struct CallWriter<'a> {
    writer: &'a Writer,
    changes: &'a Changes<'a>,
}

impl Deref for CallWriter<'_> {
    type Target = Writer;

    fn deref(&self) -> &Writer {
        self.writer
    }
}

impl<'w> CallWriter<'w> {
    /// Returns the changes of the call.
    pub fn changes(&self) -> &'w Changes<'w> {
        self.changes
    }

    /// Writes `content`, given in pieces, to `target` and creates missing parents. Returns true if
    /// the file is new.
    ///
    /// Keeps mode, owner and extended attributes of an existing file. With `expected`, an existing
    /// file must still be that version, until the moment of its replacement.
    pub fn replace<'a>(
        &self,
        target: &Checked<Write>,
        content: impl IntoIterator<Item = &'a [u8]>,
        expected: Option<&Stamp>,
    ) -> Result<bool, FsError> {
        self.replace_under(None, target, content, expected)
    }

    /// Writes like [`Self::replace`], with the directory of `target` already locked, if at all.
    pub fn replace_under<'a>(
        &self,
        held: Option<&DirLocks>,
        target: &Checked<Write>,
        content: impl IntoIterator<Item = &'a [u8]>,
        expected: Option<&Stamp>,
    ) -> Result<bool, FsError> {
        self.settle(self.prepare(target, content, expected)?, held)
    }

    fn settle(&self, prepared: Prepared<'_>, held: Option<&DirLocks>) -> Result<bool, FsError> {
        let is_new = prepared.old.is_none();
        if is_new {
            prepared.create(held)?;
        } else if prepared.expected.is_some() {
            commit_in_turn(vec![prepared], held, Some(&self.locks))?;
        } else {
            prepared.overwrite(held, MtimePolicy::Later)?;
        }
        Ok(is_new)
    }

    /// Writes like [`replace`](Self::replace), but a new file is readable and writable only for its
    /// owner (0600).
    pub fn replace_private<'a>(
        &self,
        target: &Checked<Write>,
        content: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<bool, FsError> {
        self.settle(
            self.prepare_as(target, content, None, Privacy::Owner)?,
            None,
        )
    }

    /// Writes like [`replace`](Self::replace), but an existing file keeps its mtime, so that tools
    /// that compare times see no change.
    pub fn replace_undated<'a>(
        &self,
        target: &Checked<Write>,
        content: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<(), FsError> {
        let prepared = self.prepare(target, content, None)?;
        let Some(old) = &prepared.old else {
            return prepared.create(None);
        };
        prepared
            .temp
            .set_modified(&old.stat, target.display_path())?;
        prepared.overwrite(None, MtimePolicy::AsSet)
    }

    /// Prepares one of several changes: everything that can fail for lack of space or permission
    /// happens here.
    pub fn prepare<'a>(
        &self,
        target: &Checked<Write>,
        content: impl IntoIterator<Item = &'a [u8]>,
        expected: Option<&Stamp>,
    ) -> Result<Prepared<'w>, FsError> {
        self.prepare_as(target, content, expected, Privacy::NewFile)
    }

    fn prepare_as<'a>(
        &self,
        target: &Checked<Write>,
        content: impl IntoIterator<Item = &'a [u8]>,
        expected: Option<&Stamp>,
        new: Privacy,
    ) -> Result<Prepared<'w>, FsError> {
        let shown = target.display_path();
        let dir = make_parents(self.changes, target)?;
        // Fails early if the name is refused.
        target
            .rules()
            .may_bear(&dir, target.name(), None)
            .map_err(|misplaced| FsError::of_place(shown, misplaced))?;
        let old = match open_original(&dir, target) {
            Ok(old) => Some(old),
            Err(FsError::NotFound { .. }) => None,
            Err(error) => return Err(error),
        };
        if expected.is_some_and(|expected| !old.as_ref().is_some_and(|old| expected.is(&old.stat)))
        {
            return Err(FsError::Changed { path: shown.into() });
        }
        self.changes
            .before_create(dir.as_fd(), target.place())
            .map_err(FsError::of_journal(shown))?;
        self.sweeper.first_write(&dir);
        let temp = Temp::create(
            &dir,
            if old.is_some() { Privacy::Owner } else { new },
            shown,
        )?;
        temp.fill(content, shown)?;
        if let Some(old) = &old {
            attributes::keep(&old.file, &old.stat, temp.file(), shown)?;
        }
        self.changes
            .check_placement(temp.file().as_fd(), target.place())
            .map_err(FsError::of_journal(shown))?;
        if self.durability == Durability::Disk {
            temp.sync(shown)?;
        }
        let expected = expected.cloned();
        Ok(Prepared {
            changes: self.changes,
            place: target.place().into(),
            temp,
            name: target.name().into(),
            old,
            expected,
            shown: shown.into(),
            rules: Arc::clone(target.rules()),
        })
    }
}
