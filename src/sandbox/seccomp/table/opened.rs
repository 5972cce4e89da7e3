//! Rules for commands whose files the supervisor opens for them.

use super::Clause::NotIn;
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
