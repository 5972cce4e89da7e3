//! Which version of which file it is, and whether the filesystem tells versions apart.

use std::os::fd::BorrowedFd;

use rustix::fs::{Stat, Statx, fstatfs, makedev};

use crate::sandbox::unwritten_pages;

/// Identity, size and times of a file or directory. Two of one value have the same content if the
/// older one was settled (`search::memory` says when it is).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// Number of the filesystem.
    pub device: u64,
    /// Number of the file in it.
    pub inode: u64,
    /// Size in bytes.
    pub size: u64,
    /// When the content was last changed, or what somebody set: seconds since 1970, and
    /// nanoseconds.
    pub modified: (i64, u32),
    /// When content or metadata were last changed, which nobody can set (`inode(7)`): seconds since
    /// 1970, and nanoseconds.
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

/// `f_type` of ext2, ext3 and ext4, of XFS and of Btrfs (`statfs(2)`), wide enough for any type
/// that it has somewhere.
const HONEST: [i128; 3] = [0xEF53, 0x5846_5342, 0x9123_683E];

/// Whether the filesystem is known to keep inode numbers, to stamp every change by this machine's
/// clock, and to write mapped pages back. Of any other, and where the kernel does not say: no.
/// tmpfs never writes back; overlay, FUSE and network filesystems have files that change elsewhere;
/// F2FS can undo a write without a stamp (`F2FS_IOC_ABORT_ATOMIC_WRITE`).
pub(super) fn is_honest(file: BorrowedFd<'_>) -> bool {
    fstatfs(file).is_ok_and(|found| HONEST.contains(&i128::from(found.f_type)))
}

/// Whether every page of the file in memory is on disk too; `None` if the kernel does not say
/// (`cachestat(2)`, Linux 6.5).
pub(super) fn is_written_back(file: BorrowedFd<'_>) -> Option<bool> {
    unwritten_pages(file).ok().map(|pages| pages == 0)
}
