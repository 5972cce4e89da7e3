//! Rules for commands whose files the supervisor opens for them.

use super::Clause::{Has, NotIn};
use super::{FilterAction, FilterRule, PATH, line};

/// An `O_PATH` descriptor can be neither passed on, read nor written; the supervisor sees each
/// attempt to reopen it.
const OPENED: &str = "what is hidden is not opened, not even for a moment";

pub(super) const LINES: &[FilterRule] = &[
    #[cfg(target_arch = "x86_64")]
    line(
        &[libc::SYS_open],
        &[NotIn(1, PATH, &[PATH])],
        FilterAction::Ask,
        OPENED,
    ),
    line(
        &[libc::SYS_openat],
        &[NotIn(2, PATH, &[PATH])],
        FilterAction::Ask,
        OPENED,
    ),
    #[cfg(target_arch = "x86_64")]
    line(&[libc::SYS_creat], &[], FilterAction::Ask, OPENED),
];

/// `O_WRONLY`, `O_RDWR`.
const WRITES: u32 = 0o1 | 0o2;
const THREAD_NAME: &str =
    "the supervisor opens the name of an own thread, and the kernel everything else";

/// Rules for commands whose threads name each other.
pub(super) const THREAD_NAMES: &[FilterRule] = &[
    #[cfg(target_arch = "x86_64")]
    line(
        &[libc::SYS_open],
        &[Has(1, WRITES), NotIn(1, PATH, &[PATH])],
        FilterAction::Ask,
        THREAD_NAME,
    ),
    line(
        &[libc::SYS_openat],
        &[Has(2, WRITES), NotIn(2, PATH, &[PATH])],
        FilterAction::Ask,
        THREAD_NAME,
    ),
];
