//! Pages: what the page cache holds of a file.
#![expect(unsafe_code, reason = "no safe crate has these calls")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `__NR_cachestat` of `asm-generic/unistd.h`: one number on all architectures.
const CACHESTAT: libc::c_long = 451;

/// `struct cachestat_range` of `linux/mman.h`; a length of 0 means up to the end.
#[repr(C)]
struct Range {
    offset: u64,
    length: u64,
}

/// `struct cachestat` of `linux/mman.h`, in pages.
#[repr(C)]
#[derive(Default)]
struct Counts {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Pages of an open file that are changed in memory and not yet on disk. `ENOSYS` before Linux 6.5,
/// `EPERM` for a file that the caller neither owns nor may write.
pub fn unwritten_pages(file: BorrowedFd<'_>) -> io::Result<u64> {
    let range = Range {
        offset: 0,
        length: 0,
    };
    let mut counts = Counts::default();
    // SAFETY: both structures are laid out as the kernel's and live until the call returns; it
    // reads the first, writes the second, and keeps neither. The descriptor is open for as long as
    // it is borrowed.
    let result = unsafe {
        libc::syscall(
            CACHESTAT,
            file.as_raw_fd(),
            &raw const range,
            &raw mut counts,
            0 as libc::c_uint,
        )
    };
    if result == 0 {
        Ok(counts.dirty.saturating_add(counts.writeback))
    } else {
        Err(io::Error::last_os_error())
    }
}
