//! What the kernel asks about where the supervisor opens in the command's place.

use super::Clause::NotIn;
use super::{Answer, Line, PATH, line};

/// What `O_PATH` gives cannot be handed over, and neither read nor written; to open it again is
/// asked about.
const OPENED: &str = "what is hidden is not opened, not even for a moment";

pub(super) const LINES: &[Line] = &[
    #[cfg(target_arch = "x86_64")]
    line(
        &[libc::SYS_open],
        &[NotIn(1, PATH, &[PATH])],
        Answer::Ask,
        OPENED,
    ),
    line(
        &[libc::SYS_openat],
        &[NotIn(2, PATH, &[PATH])],
        Answer::Ask,
        OPENED,
    ),
    #[cfg(target_arch = "x86_64")]
    line(&[libc::SYS_creat], &[], Answer::Ask, OPENED),
];
