//! landlock(7): the two calls that the `landlock` crate keeps to itself.
#![expect(
    unsafe_code,
    reason = "no safe crate asks for the version alone, or enters one ruleset many times"
)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `LANDLOCK_CREATE_RULESET_VERSION` of `linux/landlock.h`.
const CREATE_RULESET_VERSION: u32 = 1;

/// Version of the Landlock interface, 1 or more; an error if the kernel has none or it is switched
/// off.
pub fn version() -> io::Result<u32> {
    // SAFETY: with this flag the kernel wants a null pointer and a size of 0, and only returns a
    // number.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<u8>(),
            0,
            CREATE_RULESET_VERSION,
        )
    };
    u32::try_from(version).map_err(|_| io::Error::last_os_error())
}

/// Holds the calling thread, and all that it starts later, to a ruleset. It must have given up new
/// privileges.
pub fn restrict_self(ruleset: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: takes two numbers and touches no memory; the descriptor is open for as long as it is
    // borrowed.
    match unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
