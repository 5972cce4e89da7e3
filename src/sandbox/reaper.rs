//! Reaping of children without blocking.

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, wait};

use super::wire::Exit;

/// Result of an attempt to reap a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReapResult {
    /// This child has ended.
    Ended(Pid, Exit),
    /// No child has ended yet.
    NoneYet,
    /// There are no children.
    Nobody,
}

/// Reaps one ended child, if there is one.
pub(crate) fn reap_one() -> ReapResult {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => return ReapResult::Ended(pid, Exit::Code(code)),
                // Any signal number of the kernel, including real-time signals.
                (None, Some(signal)) => return ReapResult::Ended(pid, Exit::Signal(signal)),
                // A child may be traced by its parent (ptrace(2)); then stops are reported too.
                (None, None) => {}
            },
            Ok(None) => return ReapResult::NoneYet,
            Err(Errno::INTR) => {}
            Err(_) => return ReapResult::Nobody,
        }
    }
}
