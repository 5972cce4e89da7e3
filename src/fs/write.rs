//! Replaces files whole: a temporary file beside the target, synced, then renamed over it. A reader
//! sees the old bytes or the new ones, never a mixture; a crash leaves one or the other.

use std::ops::Deref;
use std::os::fd::AsFd as _;
use std::sync::Arc;

use crate::journal::Changes;
use crate::policy::{Checked, Write};

use super::attributes;
use super::commit::{Dating, Prepared, commit_all};
use super::dirs::make_below;
use super::error::FsError;
use super::locks::{DirLocks, Locks, Named, PathLock};
use super::original::{Stamp, open_original};
use super::sweep::Sweeper;
use super::temp::{Privacy, Temp};

/// Writes files. One for the whole process: it knows the locks, and which directories were swept.
#[derive(Debug, Default)]
pub struct Writer {
    durability: Durability,
    locks: Locks,
    sweeper: Sweeper,
}

/// What a write has reached when it is answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// The bytes are on the disk before they get their name: after a power cut a file is whole, old
    /// or new.
    #[default]
    Disk,
    /// The bytes are with the kernel: the same holds after the end of any process, but not after a
    /// power cut.
    Kernel,
}

impl Writer {
    /// A writer of this durability.
    pub fn new(durability: Durability) -> Self {
        Self {
            durability,
            ..Self::default()
        }
    }

    /// Waits until nobody else changes `target`; hold it from reading to writing.
    pub fn lock(&self, target: &dyn Named) -> PathLock<'_> {
        self.locks.lock(target)
    }

    /// Locks several at once. Never while holding another lock.
    pub fn lock_all(&self, targets: &[&dyn Named]) -> PathLock<'_> {
        self.locks.lock_all(targets)
    }

    /// For what a call writes: every change is told before it is made.
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
    /// What the call changes.
    pub fn changes(&self) -> &'w Changes<'w> {
        self.changes
    }

    /// Puts `content`, given in pieces, where `target` says, making missing parents. Returns
    /// whether the file is new.
    ///
    /// Keeps mode, owner and extended attributes of an existing file. With `expected`, an existing
    /// file must still be that version, also at the very moment it is replaced.
    pub fn replace<'a>(
        &self,
        target: &Checked<Write>,
        content: impl IntoIterator<Item = &'a [u8]>,
        expected: Option<&Stamp>,
    ) -> Result<bool, FsError> {
        self.replace_under(None, target, content, expected)
    }

    /// The same while the directory of `target` is locked, if it is.
    pub fn replace_under<'a>(
        &self,
        held: Option<&DirLocks>,
        target: &Checked<Write>,
        content: impl IntoIterator<Item = &'a [u8]>,
        expected: Option<&Stamp>,
    ) -> Result<bool, FsError> {
        Self::settle(self.prepare(target, content, expected)?, held)
    }

    fn settle(prepared: Prepared<'_>, held: Option<&DirLocks>) -> Result<bool, FsError> {
        let is_new = prepared.old.is_none();
        if is_new {
            prepared.create(held)?;
        } else if prepared.expected.is_some() {
            commit_all(vec![prepared], held)?;
        } else {
            prepared.overwrite(held, Dating::Later)?;
        }
        Ok(is_new)
    }

    /// As [`replace`](Self::replace), and the file is then its owner's alone to read and to write
    /// (0600), if it is new.
    pub fn replace_private<'a>(
        &self,
        target: &Checked<Write>,
        content: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<bool, FsError> {
        Self::settle(
            self.prepare_as(target, content, None, Privacy::Owner)?,
            None,
        )
    }

    /// As [`replace`](Self::replace), and an existing file keeps the time of its last change: who
    /// goes by it takes the file for what it was.
    pub fn replace_undated<'a>(
        &self,
        target: &Checked<Write>,
        content: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<(), FsError> {
        let prepared = self.prepare(target, content, None)?;
        let Some(old) = &prepared.old else {
            return prepared.create(None);
        };
        prepared.temp.set_modified(&old.stat, target.shown())?;
        prepared.overwrite(None, Dating::Kept)
    }

    /// The first half of a change to several files: everything that can fail for want of space or
    /// rights happens here.
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
        let shown = target.shown();
        let above = (
            target.parents(),
            target.place().parent().unwrap_or(target.place()),
        );
        let (dir, _) = make_below((self.changes, target.rules()), target.dir(), above, shown)?;
        // What cannot be given its name is not prepared either.
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
            .gains(dir.as_fd(), target.place())
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
            .puts(temp.file().as_fd(), target.place())
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
