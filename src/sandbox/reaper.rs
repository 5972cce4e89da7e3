//! Reaps children without waiting for them.

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, wait};

use super::wire::Exit;

/// What there is to reap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaped {
    /// This one has ended.
    Ended(Pid, Exit),
    /// There are children, and none of them has ended.
    NoneYet,
    /// There are no children.
    Nobody,
}

/// Reaps one child that has ended, if there is one.
pub fn reap_one() -> Reaped {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => return Reaped::Ended(pid, Exit::Code(code)),
                // Any number that the kernel knows, real-time signals included.
                (None, Some(signal)) => return Reaped::Ended(pid, Exit::Signal(signal)),
                // A child may ask to be traced by its parent (ptrace(2)), and then its stops are
                // told as well.
                (None, None) => {}
            },
            Ok(None) => return Reaped::NoneYet,
            Err(Errno::INTR) => {}
            Err(_) => return Reaped::Nobody,
        }
    }
}
