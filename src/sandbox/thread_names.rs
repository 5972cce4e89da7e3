//! Names of threads (`/proc/PID/task/TID/comm`), which some libraries set from another thread.
//!
//! /proc is read-only for commands: root's commands could change settings of the machine there. So
//! the supervisor opens this one file for them, if it is of a thread of the caller's own process.
//! The kernel accepts a new name only from that process (`comm_write` of fs/proc/base.c).
#![expect(
    clippy::disallowed_methods,
    reason = "opens what the command named, in its place"
)]

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use libc::{O_ACCMODE, O_RDONLY};
use rustix::fs::{Mode, OFlags, openat};

use super::caller::{Caller, is_procfs, path_of};
use super::fault::{Fault, StepContext};
use super::mount::{clone_mount, open_path};
use super::system_call::PathArgument;

const PROC: &str = "/proc";
const NAME: &str = "comm";

/// A /proc of the supervisor's own, in which names of threads can be opened for writing.
#[derive(Debug)]
pub(crate) struct ThreadNames {
    proc: OwnedFd,
}

impl ThreadNames {
    /// Copies the mount of /proc. Must be called before it becomes read-only.
    pub(crate) fn in_view() -> Result<Self, Fault> {
        let proc = clone_mount(Path::new(PROC)).step("copy the mount of /proc")?;
        Ok(Self { proc })
    }

    /// Uses the system's /proc.
    pub(crate) fn on_system() -> Result<Self, Fault> {
        let proc = open_path(Path::new(PROC))?;
        Ok(Self { proc })
    }

    /// Opens the name of a thread of the caller's process for writing. `None` if the call is for
    /// something else, or fails. The result is the caller's only if the caller still waits.
    pub(crate) fn open(&self, caller: &Caller, at: PathArgument, flags: i32) -> Option<OwnedFd> {
        if flags & O_ACCMODE == O_RDONLY {
            return None;
        }
        let path = caller.path(at, false).ok()?;
        if path.name() != Some(OsStr::new(NAME)) {
            return None;
        }
        let object = caller.find(&path, true).ok()?.object().ok()?;
        if !is_procfs(&object).ok()? {
            return None;
        }
        let below = name_of_thread(&path_of(&object).ok()?, &caller.status("Tgid").ok()?)?;
        let access = OFlags::from_bits_retain((flags & O_ACCMODE).cast_unsigned());
        let flags = access | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        openat(&self.proc, below, flags, Mode::empty()).ok()
    }
}

/// Returns the path below /proc, if `place` is the name of a thread of this process.
fn name_of_thread(place: &Path, process: &str) -> Option<PathBuf> {
    let below = place.strip_prefix(PROC).ok()?;
    let parts: Vec<_> = below.iter().filter_map(OsStr::to_str).collect();
    match parts[..] {
        [own, "task", thread, NAME]
            if own == process && thread.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            Some(below.to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn name_of_own_thread_is_only_match() {
        for (place, is_own) in [
            ("/proc/12/task/13/comm", true),
            ("/proc/14/task/14/comm", false),
            ("/proc/12/comm", false),
            ("/proc/12/task/13/children", false),
            ("/proc/12/task/../comm", false),
            ("/proc/sys/kernel/comm", false),
            ("/tmp/12/task/13/comm", false),
        ] {
            let below = Path::new(place).strip_prefix(PROC).ok().map(Path::to_owned);
            let expected = below.filter(|_| is_own);
            assert_eq!(name_of_thread(Path::new(place), "12"), expected, "{place}");
        }
    }
}
