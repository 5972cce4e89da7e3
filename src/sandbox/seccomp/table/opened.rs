//! What the kernel asks about where the supervisor opens in the command's place.

use super::{Answer, EOPNOTSUPP, Line, line};

pub(super) const LINES: &[Line] = &[
    #[cfg(target_arch = "x86_64")]
    line(
        &[libc::SYS_open, libc::SYS_creat, libc::SYS_link, libc::SYS_rename],
        &[],
        Answer::Ask,
        "what is hidden is not opened, and gets no other name",
    ),
    line(
        &[libc::SYS_openat, libc::SYS_linkat, libc::SYS_renameat, libc::SYS_renameat2],
        &[],
        Answer::Ask,
        "what is hidden is not opened, and gets no other name",
    ),
    line(
        &[libc::SYS_landlock_create_ruleset],
        &[],
        EOPNOTSUPP,
        "whoever opens is not in a domain that a program makes, so it would hold nobody to anything; kernels without answer the same",
    ),
];
