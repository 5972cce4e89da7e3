//! Metadata of an open file.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, FileType, Statx, StatxFlags, StatxTimestamp, statx};

use crate::policy::{Checked, FileKind, Look, Read};

use super::error::FsError;

/// Metadata from statx(2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    pub kind: FileKind,
    /// Size in bytes; for a link, the length of its target.
    pub size: u64,
    /// Permission bits, including setuid, setgid and sticky.
    pub mode: u32,
    /// User id of the owner.
    pub owner: u32,
    /// Group id.
    pub group: u32,
    pub links: u32,
    /// Birth time, if the filesystem records it.
    pub created: Option<SystemTime>,
    /// Time of the last change of content.
    pub modified: SystemTime,
    /// Time of the last access, as far as the mount options record it.
    pub accessed: SystemTime,
}

/// Returns the metadata of a path that the policy has resolved, readable or not.
pub fn info(place: &Checked<Look>) -> Result<Info, FsError> {
    info_of(
        place,
        OsStr::new(""),
        AtFlags::EMPTY_PATH,
        place.display_path(),
    )
}

/// Returns the metadata of a file or directory opened for reading.
pub fn info_of_open(file: &Checked<Read>) -> Result<Info, FsError> {
    info_of(
        file,
        OsStr::new(""),
        AtFlags::EMPTY_PATH,
        file.display_path(),
    )
}

pub(super) fn info_of(
    dir: impl AsFd,
    name: &OsStr,
    flags: AtFlags,
    shown: &Path,
) -> Result<Info, FsError> {
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    let flags = flags | AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    match statx(dir, name, flags, wanted) {
        Ok(found) => Ok(Info::from(&found)),
        Err(errno) => Err(FsError::of(shown, "look at", errno)),
    }
}

impl From<&Statx> for Info {
    fn from(found: &Statx) -> Self {
        let born = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::BTIME);
        Self {
            kind: FileType::from_raw_mode(found.stx_mode.into()).into(),
            size: found.stx_size,
            mode: u32::from(found.stx_mode) & 0o7777,
            owner: found.stx_uid,
            group: found.stx_gid,
            links: found.stx_nlink,
            created: born.then(|| time(&found.stx_btime)),
            modified: time(&found.stx_mtime),
            accessed: time(&found.stx_atime),
        }
    }
}

/// Converts a timestamp. Seconds may be negative; nanoseconds always count forward (statx(2)).
fn time(stamp: &StatxTimestamp) -> SystemTime {
    let whole = Duration::from_secs(stamp.tv_sec.unsigned_abs());
    let second = if stamp.tv_sec < 0 {
        UNIX_EPOCH.checked_sub(whole)
    } else {
        UNIX_EPOCH.checked_add(whole)
    };
    second.unwrap_or(UNIX_EPOCH) + Duration::from_nanos(stamp.tv_nsec.into())
}
