//! Rules for journaled commands: the supervisor sees calls that change directory entries or open
//! existing files for writing.

use super::Clause::{Has, In, NotIn};
use super::{
    ALL, ENOSYS, ENOTTY, EOPNOTSUPP, FilterAction, FilterRule, PATH, SYS_FCHMODAT2,
    SYS_REMOVEXATTRAT, line,
};

/// Of a file that was opened for appending, only the size is kept: what else can change it comes
/// here as well.
const CAN_OVERWRITE: &str =
    "what was opened for appending may be changed elsewhere by it, so its bytes are kept before";
/// `O_WRONLY`, `O_RDWR`, `O_CREAT`, `O_TRUNC`.
const CHANGES_BY_OPENING: u32 = 0o1 | 0o2 | 0o100 | 0o1000;
const APPEND: u32 = libc::O_APPEND.cast_unsigned();
/// `RWF_NOAPPEND` of `linux/fs.h`.
const NO_APPEND: u32 = 0x20;
/// Types (`_IOC_TYPE`) of ioctls that no file system takes: terminals, with `FIONREAD` and the
/// like, sockets, namespaces, pidfds, epoll, the random device.
const OF_NO_FILE: &[u32] = &[0x5400, 0x8900, 0xb700, 0xff00, 0x8a00, 0x5200];
/// Ioctls on regular files that change no content, or only by a descriptor that may write anywhere:
/// `FIGETBSZ`, `FS_IOC_GETFLAGS`, `FS_IOC_GETVERSION`, `FS_IOC_FIEMAP`, `FS_IOC_FSGETXATTR`,
/// `FS_IOC_GETFSLABEL`, `FS_IOC_GETFSUUID`, `FICLONE`, `FICLONERANGE`, `FIDEDUPERANGE`.
const OF_FILES: &[u32] = &[
    2,
    0x8008_6601,
    0x8008_7601,
    0xc020_660b,
    0x801c_581f,
    0x8100_9431,
    0x8011_1500,
    0x4004_9409,
    0x4020_940d,
    0xc018_9436,
];

/// Types of ioctls of file systems (Documentation/userspace-api/ioctl/ioctl-number.rst): the block
/// layer, XFS, ZFS, ext4 and the generic ones, NILFS, OCFS2, FAT, ext2, btrfs, Ceph, bcachefs, CIFS
/// and F2FS.
const OF_FILE_SYSTEMS: &[u32] = &[
    0x1200, 0x5800, 0x5a00, 0x6600, 0x6e00, 0x6f00, 0x7200, 0x7600, 0x9400, 0x9700, 0xbc00, 0xcf00,
    0xf500,
];

pub(super) const LINES: &[FilterRule] = &[
    #[cfg(target_arch = "x86_64")]
    line(
        &[libc::SYS_open],
        &[Has(1, CHANGES_BY_OPENING), NotIn(1, PATH, &[PATH])],
        FilterAction::Ask,
        "what is there may be written to",
    ),
    line(
        &[libc::SYS_openat],
        &[Has(2, CHANGES_BY_OPENING), NotIn(2, PATH, &[PATH])],
        FilterAction::Ask,
        "what is there may be written to",
    ),
    #[cfg(target_arch = "x86_64")]
    line(
        &[
            libc::SYS_creat,
            libc::SYS_mkdir,
            libc::SYS_mknod,
            libc::SYS_symlink,
            libc::SYS_link,
            libc::SYS_unlink,
            libc::SYS_rmdir,
            libc::SYS_rename,
        ],
        &[],
        FilterAction::Ask,
        "another object gets the name, or none",
    ),
    line(
        &[
            libc::SYS_mkdirat,
            libc::SYS_mknodat,
            libc::SYS_symlinkat,
            libc::SYS_linkat,
            libc::SYS_unlinkat,
            libc::SYS_renameat,
            libc::SYS_renameat2,
            libc::SYS_bind,
        ],
        &[],
        FilterAction::Ask,
        "another object gets the name, or none",
    ),
    #[cfg(target_arch = "x86_64")]
    line(
        &[
            libc::SYS_chmod,
            libc::SYS_chown,
            libc::SYS_lchown,
            libc::SYS_utime,
            libc::SYS_utimes,
            libc::SYS_futimesat,
        ],
        &[],
        FilterAction::Ask,
        "metadata",
    ),
    line(
        &[
            libc::SYS_fchmod,
            libc::SYS_fchmodat,
            SYS_FCHMODAT2,
            libc::SYS_fchown,
            libc::SYS_fchownat,
            libc::SYS_utimensat,
            libc::SYS_removexattr,
            libc::SYS_lremovexattr,
            libc::SYS_fremovexattr,
            SYS_REMOVEXATTRAT,
        ],
        &[],
        FilterAction::Ask,
        "metadata",
    ),
    line(
        &[libc::SYS_truncate],
        &[],
        FilterAction::Ask,
        "the end of what is there is lost",
    ),
    line(
        &[libc::SYS_ftruncate],
        &[],
        FilterAction::Ask,
        CAN_OVERWRITE,
    ),
    // FALLOC_FL_KEEP_SIZE only makes room.
    line(
        &[libc::SYS_fallocate],
        &[Has(1, !1)],
        FilterAction::Ask,
        CAN_OVERWRITE,
    ),
    line(
        &[libc::SYS_fcntl],
        &[
            In(1, ALL, &[libc::F_SETFL.cast_unsigned()]),
            NotIn(2, APPEND, &[APPEND]),
        ],
        FilterAction::Ask,
        CAN_OVERWRITE,
    ),
    line(
        &[libc::SYS_pwritev2],
        &[Has(5, NO_APPEND)],
        EOPNOTSUPP,
        "the same; kernels before Linux 6.9 have it not, either",
    ),
    line(
        &[libc::SYS_io_setup, libc::SYS_io_submit],
        &[],
        ENOSYS,
        "the same flag lies in memory there, which a filter cannot read; kernels can be built without",
    ),
];

pub(super) const IOCTLS: FilterRule = line(
    &[libc::SYS_ioctl],
    &[NotIn(1, 0xff00, OF_NO_FILE), NotIn(1, ALL, OF_FILES)],
    ENOTTY,
    "file systems change contents by ioctls of their own; a file system without one answers the same",
);

/// For commands with devices of the machine, each of which has types of its own.
pub(super) const IOCTLS_OF_FILE_SYSTEMS: FilterRule = line(
    &[libc::SYS_ioctl],
    &[In(1, 0xff00, OF_FILE_SYSTEMS), NotIn(1, ALL, OF_FILES)],
    ENOTTY,
    "file systems change contents by ioctls of their own; a file system without one answers the same",
);
