//! Versions of files, and the reliability of filesystems in this respect.

use std::os::fd::BorrowedFd;

use rustix::fs::{Stat, Statx, fstatfs, makedev};

use replay_sys::pages::unwritten_pages;

/// Identity, size and times of a file or directory. Equal versions have the same content if the
/// older one was settled (defined in `search::memory`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// Device number of the filesystem.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Size in bytes.
    pub size: u64,
    /// Time of the last change of content (mtime, can be set): seconds since 1970, and nanoseconds.
    pub modified: (i64, u32),
    /// Time of the last change of content or metadata (ctime, cannot be set, `inode(7)`): seconds
    /// since 1970, and nanoseconds.
    pub changed: (i64, u32),
}

impl Version {
    pub(super) fn of(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: (
                stat.st_mtime,
                u32::try_from(stat.st_mtime_nsec).unwrap_or(0),
            ),
            changed: (
                stat.st_ctime,
                u32::try_from(stat.st_ctime_nsec).unwrap_or(0),
            ),
        }
    }

    pub(super) fn of_statx(found: &Statx) -> Self {
        Self {
            device: makedev(found.stx_dev_major, found.stx_dev_minor),
            inode: found.stx_ino,
            size: found.stx_size,
            modified: (found.stx_mtime.tv_sec, found.stx_mtime.tv_nsec),
            changed: (found.stx_ctime.tv_sec, found.stx_ctime.tv_nsec),
        }
    }
}

/// `f_type` of ext2/ext3/ext4, XFS and Btrfs (`statfs(2)`), in a type that holds it on every
/// platform.
const HONEST: [i128; 3] = [0xEF53, 0x5846_5342, 0x9123_683E];

/// Returns true if the filesystem is known to keep inode numbers, to timestamp every change by this
/// machine's clock, and to write mapped pages back. False for all others, also if unknown. tmpfs
/// never writes back. On overlay, FUSE and network filesystems, files change elsewhere. F2FS can
/// undo a write without a timestamp (`F2FS_IOC_ABORT_ATOMIC_WRITE`).
pub(super) fn is_honest(file: BorrowedFd<'_>) -> bool {
    fstatfs(file).is_ok_and(|found| HONEST.contains(&i128::from(found.f_type)))
}

/// Returns true if every cached page of the file is on disk too; `None` if the kernel does not tell
/// (`cachestat(2)`, Linux 6.5).
pub(super) fn is_written_back(file: BorrowedFd<'_>) -> Option<bool> {
    unwritten_pages(file).ok().map(|pages| pages == 0)
}
