//! Replaces files whole: a temporary file beside the target, synced, then renamed over it. A reader sees the old bytes or
//! the new ones, never a mixture; a crash leaves one or the other.
#![expect(clippy::disallowed_methods, reason = "fs is the disk door")]

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLockReadGuard};

use rustix::fs::{
    AtFlags, FileType, FlockOperation, Mode, OFlags, RenameFlags, Stat, flock, fstat, openat, renameat, renameat_with,
    statat, unlinkat,
};
use rustix::io::Errno;

use crate::budget::{Room, Share};
use crate::policy::{Checked, Kind, Rules, Write};

use super::dirs::make_below;
use super::error::FsError;
use super::locks::{Locks, Named, PathLock};
use super::read::{Loaded, Reader, read_whole};
use super::sweep::Sweeper;
use super::temp::{Privacy, Temp};
use super::{attributes, read};

const OPEN_OLD: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Which version of which file it was: identity, size and time of the last change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    id: (u64, u64),
    size: i64,
    modified: (i64, i64),
}

impl Stamp {
    fn of(stat: &Stat) -> Self {
        let modified = (stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or(0));
        Self { id: (stat.st_dev, stat.st_ino), size: stat.st_size, modified }
    }
}

/// The content of a file that is about to be changed.
#[derive(Debug)]
pub struct Current {
    /// All its bytes.
    pub bytes: Vec<u8>,
    /// What they take of the budget.
    pub share: Share,
    /// For [`Writer::replace`]: refuse if it is not this version any more.
    pub stamp: Stamp,
}

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
    /// The bytes are on the disk before they get their name: after a power cut a file is whole, old or new.
    #[default]
    Disk,
    /// The bytes are with the kernel: the same holds after the end of any process, but not after a power cut.
    Kernel,
}

impl Writer {
    /// A writer of this durability.
    pub fn new(durability: Durability) -> Self {
        Self { durability, ..Self::default() }
    }

    /// Waits until nobody else changes `target`; hold it from reading to writing.
    pub fn lock(&self, target: &dyn Named) -> PathLock<'_> {
        self.locks.lock(target)
    }

    /// Locks several at once. Never while holding another lock.
    pub fn lock_all(&self, targets: &[&dyn Named]) -> PathLock<'_> {
        self.locks.lock_all(targets)
    }

    /// Puts `content`, given in pieces, where `target` says, making missing parents. Returns whether the file is new.
    ///
    /// Keeps mode, owner and extended attributes of an existing file. With `expected`, an existing file must still be that
    /// version, also at the very moment it is replaced.
    pub fn replace<'a>(
        &self,
        target: &Checked<Write>,
        content: impl IntoIterator<Item = &'a [u8]>,
        expected: Option<&Stamp>,
    ) -> Result<bool, FsError> {
        let prepared = self.prepare(target, content, expected)?;
        let is_new = prepared.old.is_none();
        if expected.is_some() || is_new {
            prepared.commit()?.finish();
        } else {
            prepared.overwrite()?;
        }
        Ok(is_new)
    }

    /// As [`replace`](Self::replace), and the file is then its owner's alone to read and to write (0600), if it is new.
    pub fn replace_private<'a>(
        &self,
        target: &Checked<Write>,
        content: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<bool, FsError> {
        let prepared = self.prepare_as(target, content, None, Privacy::Owner)?;
        let is_new = prepared.old.is_none();
        if is_new {
            prepared.commit()?.finish();
        } else {
            prepared.overwrite()?;
        }
        Ok(is_new)
    }

    /// As [`replace`](Self::replace), and an existing file keeps the time of its last change: who goes by it takes the file for
    /// what it was.
    pub fn replace_undated<'a>(
        &self,
        target: &Checked<Write>,
        content: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<(), FsError> {
        let prepared = self.prepare(target, content, None)?;
        let Some(old) = &prepared.old else {
            prepared.commit()?.finish();
            return Ok(());
        };
        prepared.temp.set_modified(&old.stat, target.shown())?;
        prepared.overwrite()
    }

    /// The first half of a change to several files: everything that can fail for want of space or rights happens here.
    pub fn prepare<'a>(
        &self,
        target: &Checked<Write>,
        content: impl IntoIterator<Item = &'a [u8]>,
        expected: Option<&Stamp>,
    ) -> Result<Prepared, FsError> {
        self.prepare_as(target, content, expected, Privacy::NewFile)
    }

    fn prepare_as<'a>(
        &self,
        target: &Checked<Write>,
        content: impl IntoIterator<Item = &'a [u8]>,
        expected: Option<&Stamp>,
        new: Privacy,
    ) -> Result<Prepared, FsError> {
        let shown = target.shown();
        let (dir, _) = {
            let _held = target.hold().ok_or_else(|| FsError::Changed { path: shown.into() })?;
            make_below(target.dir(), target.parents(), shown)?
        };
        let old = match open_old(&dir, target) {
            Ok(old) => Some(old),
            Err(FsError::NotFound { .. }) => None,
            Err(error) => return Err(error),
        };
        if expected.is_some_and(|expected| old.as_ref().map(|old| Stamp::of(&old.stat)).as_ref() != Some(expected)) {
            return Err(FsError::Changed { path: shown.into() });
        }
        self.sweeper.first_write(&dir);
        let temp = Temp::create(&dir, if old.is_some() { Privacy::Owner } else { new }, shown)?;
        temp.fill(content, shown)?;
        if let Some(old) = &old {
            attributes::keep(&old.file, &old.stat, temp.file(), shown)?;
        }
        if self.durability == Durability::Disk {
            temp.sync(shown)?;
        }
        let expected = expected.cloned();
        Ok(Prepared {
            temp,
            name: target.name().into(),
            old,
            expected,
            shown: shown.into(),
            rules: Arc::clone(target.rules()),
            era: target.era(),
        })
    }
}

/// Reads the present content of a file that is to be changed, at most `max_bytes`, into memory that is taken from `room`.
pub fn current(target: &Checked<Write>, max_bytes: u64, room: Option<Room<'_>>) -> Result<Current, FsError> {
    if !target.parents().is_empty() {
        return Err(FsError::NotFound { path: target.shown().into() });
    }
    let old = open_old(target.dir(), target)?;
    let size = u64::try_from(old.stat.st_size).unwrap_or(0);
    let Loaded { bytes, share } = read_whole(old.file.as_fd(), size, max_bytes, target.shown(), room)?;
    Ok(Current { bytes, share, stamp: Stamp::of(&old.stat) })
}

#[derive(Debug)]
struct Old {
    file: OwnedFd,
    stat: Stat,
}

fn open_old(dir: &OwnedFd, target: &Checked<Write>) -> Result<Old, FsError> {
    let failed = |errno| FsError::of(target.shown(), "replace", errno);
    let file = openat(dir, target.name(), OPEN_OLD, Mode::empty()).map_err(failed)?;
    let stat = fstat(&file).map_err(failed)?;
    if target.rules().is_hidden((stat.st_dev, stat.st_ino)) {
        return Err(FsError::Protected { path: target.shown().into(), protected: target.place().into() });
    }
    match Kind::from(FileType::from_raw_mode(stat.st_mode)) {
        Kind::File => Ok(Old { file, stat }),
        Kind::Directory => Err(FsError::IsDirectory { path: target.shown().into() }),
        kind => Err(FsError::Special { path: target.shown().into(), kind }),
    }
}

/// A replacement that lies ready under a temporary name. Dropping it leaves everything as it was.
#[derive(Debug)]
#[must_use = "nothing is replaced until it is committed"]
pub struct Prepared {
    temp: Temp,
    name: std::ffi::OsString,
    old: Option<Old>,
    expected: Option<Stamp>,
    shown: PathBuf,
    rules: Arc<Rules>,
    era: u64,
}

impl Prepared {
    /// Replaces the file for good: one rename.
    fn overwrite(mut self) -> Result<(), FsError> {
        let rules = Arc::clone(&self.rules);
        let _held = self.hold(&rules)?;
        renameat(self.temp.dir(), self.temp.name(), self.temp.dir(), &self.name).map_err(|errno| self.failed(errno))?;
        self.temp.disarm();
        Ok(())
    }

    /// Replaces the file and keeps the old one at hand until [`Committed::finish`].
    ///
    /// Fails with `Changed`, and changes nothing, if the target is not what it was.
    pub fn commit(mut self) -> Result<Committed, FsError> {
        let dir = Arc::clone(self.temp.dir());
        let rules = Arc::clone(&self.rules);
        let _held = self.hold(&rules)?;
        let Some(old) = &self.old else {
            return match renameat_with(&dir, self.temp.name(), &dir, &self.name, RenameFlags::NOREPLACE) {
                Ok(()) => Ok(self.committed(Undo::Remove)),
                Err(Errno::EXIST) => Err(FsError::Changed { path: self.shown.clone() }),
                Err(Errno::INVAL | Errno::NOSYS) => self.rename_over(Undo::Remove),
                Err(errno) => Err(self.failed(errno)),
            };
        };
        // For the time that the old file bears a temporary name: no sweep may take it for left over.
        let _ = flock(&old.file, FlockOperation::NonBlockingLockExclusive);
        match renameat_with(&dir, self.temp.name(), &dir, &self.name, RenameFlags::EXCHANGE) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(FsError::Changed { path: self.shown.clone() }),
            // Filesystems without exchange, NFS for one: the old bytes stay reachable by the open handle.
            Err(Errno::INVAL | Errno::NOSYS) => return self.rename_over(Undo::Rewrite),
            Err(errno) => return Err(self.failed(errno)),
        }
        if let Some(expected) = &self.expected {
            let swapped = statat(&dir, self.temp.name(), AtFlags::SYMLINK_NOFOLLOW);
            if !swapped.is_ok_and(|stat| Stamp::of(&stat) == *expected) {
                self.go_back(&dir);
                return Err(FsError::Changed { path: self.shown.clone() });
            }
        }
        Ok(self.committed(Undo::Exchange))
    }

    /// Gives the name back to what somebody else had put there.
    fn go_back(&mut self, dir: &OwnedFd) {
        let back = renameat_with(dir, self.temp.name(), dir, &self.name, RenameFlags::EXCHANGE)
            .or_else(|_| renameat_with(dir, self.temp.name(), dir, &self.name, RenameFlags::NOREPLACE));
        if back.is_err() {
            // What bears the temporary name is not ours: better left over than removed.
            self.temp.disarm();
        }
    }

    fn rename_over(mut self, undo: Undo) -> Result<Committed, FsError> {
        if let Some(expected) = &self.expected {
            let there = statat(self.temp.dir(), &self.name, AtFlags::SYMLINK_NOFOLLOW);
            if !there.is_ok_and(|stat| Stamp::of(&stat) == *expected) {
                return Err(FsError::Changed { path: self.shown.clone() });
            }
        }
        renameat(self.temp.dir(), self.temp.name(), self.temp.dir(), &self.name).map_err(|errno| self.failed(errno))?;
        self.temp.disarm();
        Ok(self.committed(undo))
    }

    fn committed(mut self, undo: Undo) -> Committed {
        if undo == Undo::Remove {
            self.temp.disarm();
        }
        Committed { prepared: self, undo: Some(undo) }
    }

    /// The directory may have become the parent of a protected path since the target was looked up.
    fn hold<'r>(&self, rules: &'r Rules) -> Result<RwLockReadGuard<'r, u64>, FsError> {
        let held = rules.hold(self.era, [self.name.as_os_str()]);
        held.ok_or_else(|| FsError::Changed { path: self.shown.clone() })
    }

    fn failed(&self, errno: Errno) -> FsError {
        FsError::of(&self.shown, "replace", errno)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Undo {
    /// The file is new: remove it.
    Remove,
    /// The old file bears the temporary name: rename it back.
    Exchange,
    /// The old file has no name any more: write its bytes again.
    Rewrite,
}

/// A replacement that can still be taken back; dropping it takes it back.
#[derive(Debug)]
#[must_use = "it is taken back unless it is finished"]
pub struct Committed {
    prepared: Prepared,
    undo: Option<Undo>,
}

impl Committed {
    /// Lets go of the old file.
    pub fn finish(mut self) {
        self.undo = None;
    }

    /// Puts the old file back, under its own identity where the filesystem can exchange names.
    pub fn revert(mut self) -> Result<(), FsError> {
        self.take_back()
    }

    fn take_back(&mut self) -> Result<(), FsError> {
        let Some(undo) = self.undo.take() else { return Ok(()) };
        let Prepared { temp, name, old, shown, .. } = &mut self.prepared;
        let failed = |errno| FsError::of(shown, "put back", errno);
        let dir = Arc::clone(temp.dir());
        match (undo, old) {
            (Undo::Exchange, _) => {
                renameat(&dir, temp.name(), &dir, &*name).map_err(failed)?;
                temp.disarm();
            }
            (Undo::Rewrite, Some(old)) => rewrite(&dir, name, old, shown)?,
            _ => {
                let ours = fstat(temp.file()).map_err(failed)?;
                let there = statat(&dir, &*name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
                if (ours.st_dev, ours.st_ino) == (there.st_dev, there.st_ino) {
                    unlinkat(&dir, &*name, AtFlags::empty()).map_err(failed)?;
                }
            }
        }
        Ok(())
    }
}

impl Drop for Committed {
    fn drop(&mut self) {
        let _ = self.take_back();
    }
}

fn rewrite(dir: &Arc<OwnedFd>, name: &std::ffi::OsStr, old: &Old, shown: &Path) -> Result<(), FsError> {
    let mut temp = Temp::create(dir, Privacy::Owner, shown)?;
    copy(&mut read::reader_of(old.file.as_fd()), &temp, shown)?;
    attributes::keep(&old.file, &old.stat, temp.file(), shown)?;
    temp.sync(shown)?;
    renameat(dir, temp.name(), dir, name).map_err(|errno| FsError::of(shown, "put back", errno))?;
    temp.disarm();
    Ok(())
}

/// Fills a temporary file from another one.
pub(super) fn copy(from: &mut Reader<'_>, to: &Temp, shown: &Path) -> Result<(), FsError> {
    let mut buffer = vec![0; 256 * 1024];
    loop {
        match std::io::Read::read(from, &mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => to.fill([&buffer[..read]], shown)?,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(FsError::of_io(shown, "copy", &error)),
        }
    }
}
