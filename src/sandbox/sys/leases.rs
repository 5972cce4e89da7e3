//! Read leases: while one is held, a program that opens the file for writing waits (fcntl(2),
//! "Leases").
#![expect(unsafe_code, reason = "no safe crate has these commands of fcntl(2)")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `F_SETSIG` of `asm-generic/fcntl.h`; the libc crate has it for a few architectures only.
const SET_SIGNAL: libc::c_int = 10;

/// Takes a read lease on a file that is open for reading only; it ends when the last copy of the
/// descriptor is closed.
///
/// `WouldBlock` while the file is open for writing anywhere, mapped pages included. Other errors
/// mean that there are no leases here: `EACCES` for a file of another user without `CAP_LEASE`,
/// `EINVAL` where the filesystem or the system has none.
pub fn take_read_lease(file: BorrowedFd<'_>) -> io::Result<()> {
    // An open for writing sends a signal to the holder of the lease. The default, SIGIO, would end
    // this process; SIGURG is ignored by default (signal(7)).
    command(file, SET_SIGNAL, libc::SIGURG)?;
    command(file, libc::F_SETLEASE, libc::F_RDLCK).map(drop)
}

/// Returns true if the lease is still held, and no program waits for its end to write to the file.
pub fn is_lease_undisturbed(file: BorrowedFd<'_>) -> bool {
    command(file, libc::F_GETLEASE, 0).is_ok_and(|kind| kind == libc::F_RDLCK)
}

fn command(
    file: BorrowedFd<'_>,
    command: libc::c_int,
    argument: libc::c_int,
) -> io::Result<libc::c_int> {
    // SAFETY: these three commands take a number or nothing and touch no memory of this process.
    // The descriptor is open for as long as it is borrowed.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), command, argument) };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}
