//! Temporary files beside their target: `.replay-tmp-` and sixteen hexadecimal digits, locked while
//! in use.
#![expect(clippy::disallowed_methods, reason = "fs opens files")]

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{
    AtFlags, FlockOperation, Mode, OFlags, RenameFlags, Stat, Timespec, Timestamps, UTIME_OMIT,
    flock, fstat, fsync, futimens, openat, renameat_with, unlinkat,
};
use rustix::io::{Errno, retry_on_intr, write};
use rustix::rand::{GetRandomFlags, getrandom};
use rustix::time::{ClockId, clock_gettime};

use super::error::FsError;

/// Pieces of a new content up to this length in bytes are gathered before they are written.
const WRITE_BUFFER_BYTES: usize = 128 * 1024;

pub(super) const PREFIX: &str = ".replay-tmp-";
/// Name prefix of a version that could not get its name back: sweeps skip it.
const KEPT_PREFIX: &str = ".replay-kept-";
const DIGITS: usize = 16;
const NANOSECONDS: i64 = 1_000_000_000;

/// Returns true if this is the name of a temporary file.
pub(super) fn is_temp_name(name: &OsStr) -> bool {
    let digits = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
    digits.is_some_and(|digits| {
        digits.len() == DIGITS && digits.bytes().all(|b| b.is_ascii_hexdigit())
    })
}

/// Returns an unpredictable name, so that nobody can take it in advance.
fn random_name() -> Result<OsString, Errno> {
    let mut bytes = [0u8; DIGITS / 2];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    let mut name = String::from(PREFIX);
    for byte in bytes {
        let _ = write!(name, "{byte:02x}");
    }
    Ok(name.into())
}

/// Mode of a temporary file until it gets that of its target.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Privacy {
    /// 0600: the mode of the old file is set later.
    Owner,
    /// 0666 without the umask, like any new file.
    NewFile,
}

/// A file under a temporary name; dropping it removes the file with that name.
#[derive(Debug)]
pub(super) struct Temp {
    dir: Arc<OwnedFd>,
    name: OsString,
    file: OwnedFd,
    armed: bool,
}

impl Temp {
    pub(super) fn create(
        dir: &Arc<OwnedFd>,
        privacy: Privacy,
        shown: &Path,
    ) -> Result<Self, FsError> {
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(if privacy == Privacy::Owner {
            0o600
        } else {
            0o666
        });
        let name = random_name().map_err(|errno| FsError::of(shown, "write", errno))?;
        let file = match openat(dir, &name, flags, mode) {
            Ok(file) => file,
            Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) => {
                return Err(FsError::DirectoryNotWritable { path: shown.into() });
            }
            // The directory was removed, or no unused name was found.
            Err(errno) => return Err(FsError::of(shown, "write", errno)),
        };
        // Without working locks there is no sweep either, which takes the lock first.
        let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
        Ok(Self {
            dir: Arc::clone(dir),
            name,
            file,
            armed: true,
        })
    }

    /// Writes the pieces in order; small ones are joined.
    pub(super) fn fill<'a>(
        &self,
        pieces: impl IntoIterator<Item = &'a [u8]>,
        shown: &Path,
    ) -> Result<(), FsError> {
        let mut gathered: Vec<u8> = Vec::new();
        let mut pieces = pieces
            .into_iter()
            .filter(|piece| !piece.is_empty())
            .peekable();
        while let Some(piece) = pieces.next() {
            let alone = gathered.is_empty() && pieces.peek().is_none();
            if !alone && gathered.len() + piece.len() <= WRITE_BUFFER_BYTES {
                gathered.reserve_exact(if gathered.is_empty() {
                    WRITE_BUFFER_BYTES
                } else {
                    0
                });
                gathered.extend_from_slice(piece);
                continue;
            }
            self.write_all(&gathered, shown)?;
            gathered.clear();
            if piece.len() <= WRITE_BUFFER_BYTES && pieces.peek().is_some() {
                gathered.extend_from_slice(piece);
            } else {
                self.write_all(piece, shown)?;
            }
        }
        self.write_all(&gathered, shown)
    }

    fn write_all(&self, mut bytes: &[u8], shown: &Path) -> Result<(), FsError> {
        while !bytes.is_empty() {
            let written = retry_on_intr(|| write(&self.file, bytes))
                .map_err(|errno| FsError::of(shown, "write", errno))?;
            bytes = &bytes[written..];
        }
        Ok(())
    }

    /// Sets the mtime of the file that it replaces.
    pub(super) fn set_modified(&self, old: &Stat, shown: &Path) -> Result<(), FsError> {
        self.set_time(
            old.st_mtime,
            old.st_mtime_nsec.try_into().unwrap_or(0),
            shown,
        )
    }

    fn set_time(&self, tv_sec: i64, tv_nsec: i64, shown: &Path) -> Result<(), FsError> {
        let keep = Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT,
        };
        let times = Timestamps {
            last_access: keep,
            last_modification: Timespec { tv_sec, tv_nsec },
        };
        futimens(&self.file, &times).map_err(|errno| FsError::of(shown, "write", errno))
    }

    /// Sets the mtime to the current time of the precise clock. If that is not later than the mtime
    /// of `old`, uses that plus the smallest unit of the filesystem. Kernel timestamps are coarse.
    /// With the precise time, files that another program wrote within the same tick are still
    /// older, so a build sees the change.
    pub(super) fn date_after(&self, old: Option<&Stat>, shown: &Path) -> Result<(), FsError> {
        let time = |stat: &Stat| {
            (
                stat.st_mtime,
                i64::try_from(stat.st_mtime_nsec).unwrap_or(0),
            )
        };
        let now = clock_gettime(ClockId::Realtime);
        // Without permission, as on another user's file, the kernel's time stays.
        let _ = self.set_time(now.tv_sec, now.tv_nsec, shown);
        let Some(before) = old.map(time) else {
            return Ok(());
        };
        let later = || {
            fstat(&self.file)
                .map(|now| time(&now) > before)
                .map_err(|errno| FsError::of(shown, "write", errno))
        };
        // ext4 and others store nanoseconds; FAT rounds to two seconds.
        for (seconds, nanoseconds) in [(0, 1), (2, 0)] {
            if later()? {
                break;
            }
            let nanoseconds = before.1 + nanoseconds;
            let over = nanoseconds / NANOSECONDS;
            self.set_time(before.0 + seconds + over, nanoseconds % NANOSECONDS, shown)?;
        }
        Ok(())
    }

    pub(super) fn sync(&self, shown: &Path) -> Result<(), FsError> {
        fsync(&self.file).map_err(|errno| FsError::of(shown, "write", errno))
    }

    pub(super) fn dir(&self) -> &Arc<OwnedFd> {
        &self.dir
    }

    pub(super) fn name(&self) -> &OsStr {
        &self.name
    }

    pub(super) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Renames the file so that sweeps skip it; returns its new name.
    pub(super) fn keep_aside(&mut self) -> OsString {
        self.armed = false;
        let name = self.name.to_string_lossy().replacen(PREFIX, KEPT_PREFIX, 1);
        match renameat_with(
            &self.dir,
            &self.name,
            &self.dir,
            &name,
            RenameFlags::NOREPLACE,
        ) {
            Ok(()) => name.into(),
            Err(_) => self.name.clone(),
        }
    }

    /// Marks the name as final: the file is not removed.
    pub(super) fn disarm(&mut self) {
        self.armed = false;
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        if self.armed {
            let _ = unlinkat(&self.dir, &self.name, AtFlags::empty());
        }
    }
}
