//! Options of sockets that no safe crate sets.
#![expect(unsafe_code, reason = "no safe crate that is used here binds a socket to a device")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Binds a socket to the loopback device (`SO_BINDTODEVICE`, socket(7)): it sends and receives nowhere else, whatever
/// addresses it is given.
///
/// Anybody may do so to a socket that is bound to none, since Linux 5.7; only `CAP_NET_RAW` undoes it.
pub fn bind_to_loopback(socket: BorrowedFd<'_>) -> io::Result<()> {
    const NAME: &[u8] = b"lo\0";
    // SAFETY: the kernel reads the name, which is as long as it is told and lives past the call.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_BINDTODEVICE,
            NAME.as_ptr().cast(),
            NAME.len() as libc::socklen_t,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
