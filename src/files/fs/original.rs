//! A file to be replaced: its version and content.
#![expect(clippy::disallowed_methods, reason = "fs opens files")]

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use replay_base::budget::{Room, Share};
use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, openat};
use sha2::{Digest, Sha256};

use crate::policy::{Cause, Checked, FileKind, Write};

use super::error::FsError;
use super::read::{Loaded, Reader, read_whole};
use super::temp::Temp;
use super::version::Version;

/// The coarsest time that a filesystem gives a change, in seconds: FAT rounds to two.
const COARSEST_CLOCK_SECS: i64 = 2;

const OPEN_ORIGINAL: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Version of a file.
#[derive(Debug, Clone)]
pub struct Stamp {
    version: Version,
    /// SHA-256 of the content, for a version so recent that another change in the same clock tick
    /// could have the same times.
    pub(super) content: Option<[u8; 32]>,
}

impl Stamp {
    pub(super) fn of(stat: &Stat) -> Self {
        Self {
            version: Version::of(stat),
            content: None,
        }
    }

    /// Returns true if a file with this metadata is that version.
    pub(super) fn is(&self, stat: &Stat) -> bool {
        self.version == Version::of(stat)
    }

    /// Like [`Self::is`], but ignores the ctime, which a new hard link changes.
    pub(super) fn is_content_of(&self, stat: &Stat) -> bool {
        self.version
            == Version {
                changed: self.version.changed,
                ..Version::of(stat)
            }
    }

    fn is_recent(&self) -> bool {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |now| now.as_secs());
        i64::try_from(now)
            .unwrap_or(i64::MAX)
            .saturating_sub(self.version.changed.0)
            <= COARSEST_CLOCK_SECS
    }
}

/// Current content of a file that is about to be changed.
#[derive(Debug)]
pub struct Current {
    /// All bytes.
    pub bytes: Vec<u8>,
    /// Their share of the memory budget.
    pub share: Share,
    /// Version for [`CallWriter::replace`](super::CallWriter::replace), which refuses to replace
    /// any other.
    pub stamp: Stamp,
}

/// Reads the content of a file to be changed, at most `max_bytes`. The memory is taken from `room`.
pub fn current(
    target: &Checked<Write>,
    max_bytes: u64,
    room: Option<Room<'_>>,
) -> Result<Current, FsError> {
    if !target.parents().is_empty() {
        return Err(FsError::NotFound {
            path: target.display_path().into(),
        });
    }
    let old = open_original(target.dir(), target)?;
    let size = u64::try_from(old.stat.st_size).unwrap_or(0);
    let mut stamp = Stamp::of(&old.stat);
    let is_recent = stamp.is_recent();
    let Loaded { bytes, share } = read_whole(
        old.file.as_fd(),
        size,
        max_bytes,
        target.display_path(),
        room,
    )?;
    stamp.content = is_recent.then(|| Sha256::digest(&bytes).into());
    Ok(Current {
        bytes,
        share,
        stamp,
    })
}

/// A file to be replaced.
#[derive(Debug)]
pub(super) struct Original {
    pub(super) file: OwnedFd,
    pub(super) stat: Stat,
    /// `true` if new writers have to wait.
    pub(super) leased: bool,
}

pub(super) fn open_original(dir: &OwnedFd, target: &Checked<Write>) -> Result<Original, FsError> {
    let failed = |errno| FsError::of(target.display_path(), "replace", errno);
    let file = openat(dir, target.name(), OPEN_ORIGINAL, Mode::empty()).map_err(failed)?;
    let stat = fstat(&file).map_err(failed)?;
    if target.rules().is_hidden((stat.st_dev, stat.st_ino)) {
        let (path, protected) = (target.display_path().into(), target.place().into());
        return Err(FsError::Protected {
            path,
            protected,
            why: Cause::Hidden,
        });
    }
    match FileKind::from(FileType::from_raw_mode(stat.st_mode)) {
        FileKind::File => Ok(Original {
            file,
            stat,
            leased: false,
        }),
        FileKind::Directory => Err(FsError::IsDirectory {
            path: target.display_path().into(),
        }),
        kind => Err(FsError::Special {
            path: target.display_path().into(),
            kind,
        }),
    }
}

/// Copies a file into a temporary one.
pub(super) fn copy(from: &mut Reader<'_>, to: &Temp, shown: &Path) -> Result<(), FsError> {
    each_piece(from, shown, |piece| to.fill([piece], shown))
}

/// Returns the SHA-256 of all remaining bytes.
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
    // The allocator returns larger buffers to the kernel each time.
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
