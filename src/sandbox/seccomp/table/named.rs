//! Calls that give an object another name or place. The supervisor makes them itself
//! (`sandbox/opens`).

use super::{EOPNOTSUPP, FilterAction, FilterRule, line};

/// A path in memory can change after any check, so the kernel never carries out the caller's own
/// call.
const NAMED: &str = "no symlink appears below .git, and no directory above a protected path moves";

pub(super) const LINES: &[FilterRule] = &[
    #[cfg(target_arch = "x86_64")]
    line(
        &[libc::SYS_link, libc::SYS_symlink, libc::SYS_rename],
        &[],
        FilterAction::Ask,
        NAMED,
    ),
    line(
        &[
            libc::SYS_linkat,
            libc::SYS_symlinkat,
            libc::SYS_renameat,
            libc::SYS_renameat2,
        ],
        &[],
        FilterAction::Ask,
        NAMED,
    ),
    line(
        &[libc::SYS_landlock_create_ruleset],
        &[],
        EOPNOTSUPP,
        "the supervisor is not in a domain that a program makes, so that would not hold these calls; kernels without Landlock answer the same",
    ),
];

/// In namespaces: the kernel refuses to remove a protected path, since something is mounted there.
/// The supervisor removes it with its whole repository.
pub(super) const REMOVALS: &[FilterRule] = &[
    #[cfg(target_arch = "x86_64")]
    line(
        &[libc::SYS_unlink, libc::SYS_rmdir],
        &[],
        FilterAction::Ask,
        "a repository is removed as a whole",
    ),
    line(
        &[libc::SYS_unlinkat],
        &[],
        FilterAction::Ask,
        "a repository is removed as a whole",
    ),
];
