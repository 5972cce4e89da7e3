//! Replaces files whole: a temporary file beside the target, synced, then renamed over it. A reader sees the old bytes or
//! the new ones, never a mixture; a crash leaves one or the other.
#![expect(clippy::disallowed_methods, reason = "fs is the disk door")]

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, openat};
use sha2::{Digest, Sha256};

use crate::budget::{Room, Share};
use crate::limits::COARSEST_CLOCK_SECS;
use crate::policy::{Checked, Kind, Write};

use super::attributes;
use super::commit::{Dating, Prepared, commit_all};
use super::dirs::make_below;
use super::error::FsError;
use super::locks::{DirLocks, Locks, Named, PathLock};
use super::read::{Loaded, Reader, read_whole};
use super::sweep::Sweeper;
use super::temp::{Privacy, Temp};

const OPEN_OLD: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Which version of which file it was: identity, size and times of the last change of content and of anything.
#[derive(Debug, Clone)]
pub struct Stamp {
    id: (u64, u64),
    size: i64,
    modified: (i64, i64),
    changed: (i64, i64),
    /// SHA-256 of the content, where another change could have the same times: two in one tick of the clock.
    pub(super) content: Option<[u8; 32]>,
}

impl Stamp {
    pub(super) fn of(stat: &Stat) -> Self {
        let modified = (stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or(0));
        let changed = (stat.st_ctime, i64::try_from(stat.st_ctime_nsec).unwrap_or(0));
        Self { id: (stat.st_dev, stat.st_ino), size: stat.st_size, modified, changed, content: None }
    }

    /// Whether a file of this status is that version.
    pub(super) fn is(&self, stat: &Stat) -> bool {
        self.is_content_of(stat) && self.changed == Self::of(stat).changed
    }

    /// The same but for what another name changes: the time of the last change of anything.
    pub(super) fn is_content_of(&self, stat: &Stat) -> bool {
        let other = Self::of(stat);
        (self.id, self.size, self.modified) == (other.id, other.size, other.modified)
    }

    fn is_recent(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
        i64::try_from(now).unwrap_or(i64::MAX).saturating_sub(self.changed.0) <= COARSEST_CLOCK_SECS
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

    fn settle(prepared: Prepared, held: Option<&DirLocks>) -> Result<bool, FsError> {
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

    /// As [`replace`](Self::replace), and the file is then its owner's alone to read and to write (0600), if it is new.
    pub fn replace_private<'a>(
        &self,
        target: &Checked<Write>,
        content: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<bool, FsError> {
        Self::settle(self.prepare_as(target, content, None, Privacy::Owner)?, None)
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
            return prepared.create(None);
        };
        prepared.temp.set_modified(&old.stat, target.shown())?;
        prepared.overwrite(None, Dating::Kept)
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
        if expected.is_some_and(|expected| !old.as_ref().is_some_and(|old| expected.is(&old.stat))) {
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
    let mut stamp = Stamp::of(&old.stat);
    let is_recent = stamp.is_recent();
    let Loaded { bytes, share } = read_whole(old.file.as_fd(), size, max_bytes, target.shown(), room)?;
    stamp.content = is_recent.then(|| Sha256::digest(&bytes).into());
    Ok(Current { bytes, share, stamp })
}

/// A file that is to be replaced.
#[derive(Debug)]
pub(super) struct Old {
    pub(super) file: OwnedFd,
    pub(super) stat: Stat,
    /// Whether programs that want to write to it wait.
    pub(super) leased: bool,
}

fn open_old(dir: &OwnedFd, target: &Checked<Write>) -> Result<Old, FsError> {
    let failed = |errno| FsError::of(target.shown(), "replace", errno);
    let file = openat(dir, target.name(), OPEN_OLD, Mode::empty()).map_err(failed)?;
    let stat = fstat(&file).map_err(failed)?;
    if target.rules().is_hidden((stat.st_dev, stat.st_ino)) {
        return Err(FsError::Protected { path: target.shown().into(), protected: target.place().into() });
    }
    match Kind::from(FileType::from_raw_mode(stat.st_mode)) {
        Kind::File => Ok(Old { file, stat, leased: false }),
        Kind::Directory => Err(FsError::IsDirectory { path: target.shown().into() }),
        kind => Err(FsError::Special { path: target.shown().into(), kind }),
    }
}

/// Fills a temporary file from another one.
pub(super) fn copy(from: &mut Reader<'_>, to: &Temp, shown: &Path) -> Result<(), FsError> {
    each_piece(from, shown, |piece| to.fill([piece], shown))
}

/// SHA-256 of all that there is to read.
pub(super) fn digest(from: &mut Reader<'_>, shown: &Path) -> Result<[u8; 32], FsError> {
    let mut hasher = Sha256::new();
    each_piece(from, shown, |piece| {
        hasher.update(piece);
        Ok(())
    })?;
    Ok(hasher.finalize().into())
}

fn each_piece(
    from: &mut Reader<'_>,
    shown: &Path,
    mut work: impl FnMut(&[u8]) -> Result<(), FsError>,
) -> Result<(), FsError> {
    // Larger ones are given back to the kernel each time.
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match std::io::Read::read(from, &mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => work(&buffer[..read])?,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(FsError::of_io(shown, "copy", &error)),
        }
    }
}
