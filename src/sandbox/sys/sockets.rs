//! Options and addresses of sockets that no safe crate sets.
#![expect(
    unsafe_code,
    reason = "no safe crate that is used here binds a socket to a device, or takes any address"
)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::net::SocketAddrAny;
use rustix::net::addr::SocketAddrStorage;

/// Binds a socket to the loopback device (`SO_BINDTODEVICE`, socket(7)): it sends and receives
/// nowhere else, whatever addresses it is given.
///
/// Anybody may do so to a socket that is bound to none, since Linux 5.7; only `CAP_NET_RAW` undoes
/// it.
pub fn bind_to_loopback(socket: BorrowedFd<'_>) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_BINDTODEVICE, b"lo\0")
}

/// Has the next bind(2) choose a port (`IP_BIND_ADDRESS_NO_PORT`, ip(7)): some programs leave that
/// to connect(2).
pub fn bind_with_port(socket: BorrowedFd<'_>) -> io::Result<()> {
    set(
        socket,
        libc::SOL_IP,
        libc::IP_BIND_ADDRESS_NO_PORT,
        &0_i32.to_ne_bytes(),
    )
}

/// An address of any family, as it stands in memory. `None` if it is shorter than its family, or
/// longer than any is.
pub fn address(bytes: &[u8]) -> Option<SocketAddrAny> {
    // SAFETY: all fields are bytes and numbers, for which zero is a value.
    let mut storage: SocketAddrStorage = unsafe { std::mem::zeroed() };
    if bytes.len() < size_of::<u16>() || bytes.len() > size_of_val(&storage) {
        return None;
    }
    // SAFETY: both are valid for so many bytes, as just seen, and a local variable overlaps
    // nothing.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), (&raw mut storage).cast(), bytes.len());
    };
    // SAFETY: reads so many bytes of `storage`, all of which are initialized.
    Some(unsafe { SocketAddrAny::read(&raw const storage, bytes.len() as _) })
}

fn set(socket: BorrowedFd<'_>, level: i32, option: i32, value: &[u8]) -> io::Result<()> {
    let length = value.len() as libc::socklen_t;
    // SAFETY: the kernel reads the value, which is as long as it is told and lives past the call.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            value.as_ptr().cast(),
            length,
        )
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
