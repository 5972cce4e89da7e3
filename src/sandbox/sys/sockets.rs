//! Options of sockets that no safe crate sets.
#![expect(unsafe_code, reason = "no safe crate that is used here binds a socket to a device")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Binds a socket to the loopback device (`SO_BINDTODEVICE`, socket(7)): it sends and receives nowhere else, whatever
/// addresses it is given.
///
/// Anybody may do so to a socket that is bound to none, since Linux 5.7; only `CAP_NET_RAW` undoes it.
pub fn bind_to_loopback(socket: BorrowedFd<'_>) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_BINDTODEVICE, b"lo\0")
}

/// Has the next bind(2) choose a port (`IP_BIND_ADDRESS_NO_PORT`, ip(7)): some programs leave that to connect(2).
pub fn bind_with_port(socket: BorrowedFd<'_>) -> io::Result<()> {
    set(socket, libc::SOL_IP, libc::IP_BIND_ADDRESS_NO_PORT, &0_i32.to_ne_bytes())
}

/// Drops whatever comes to a socket from now on, before it is looked at (`SO_ATTACH_FILTER`, socket(7)).
pub fn drop_what_comes(socket: BorrowedFd<'_>) -> io::Result<()> {
    /// `BPF_RET | BPF_K` of `linux/bpf_common.h`: how many bytes of a packet are kept.
    const KEEP: u16 = 0x06;
    let mut nothing = libc::sock_filter { code: KEEP, jt: 0, jf: 0, k: 0 };
    let program = libc::sock_fprog { len: 1, filter: &raw mut nothing };
    let length = size_of::<libc::sock_fprog>() as libc::socklen_t;
    let (socket, option) = (socket.as_raw_fd(), libc::SO_ATTACH_FILTER);
    // SAFETY: the kernel copies the program and its one instruction, which both live past the call.
    let done = unsafe { libc::setsockopt(socket, libc::SOL_SOCKET, option, (&raw const program).cast(), length) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn set(socket: BorrowedFd<'_>, level: i32, option: i32, value: &[u8]) -> io::Result<()> {
    let length = value.len() as libc::socklen_t;
    // SAFETY: the kernel reads the value, which is as long as it is told and lives past the call.
    let done = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, value.as_ptr().cast(), length) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
