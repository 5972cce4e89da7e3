//! Pages: what the page cache holds of a file, and memory that is there before it is touched.
#![expect(unsafe_code, reason = "no safe crate has these calls")]

use std::io;
use std::mem::MaybeUninit;
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

/// Pages of an open file that are changed in memory and not yet on disk. `ENOSYS` before Linux 6.5, `EPERM` for a file that
/// the caller neither owns nor may write.
pub fn unwritten_pages(file: BorrowedFd<'_>) -> io::Result<u64> {
    let range = Range { offset: 0, length: 0 };
    let mut counts = Counts::default();
    // SAFETY: both structures are laid out as the kernel's and live until the call returns; it reads the first, writes the
    // second, and keeps neither. The descriptor is open for as long as it is borrowed.
    let result =
        unsafe { libc::syscall(CACHESTAT, file.as_raw_fd(), &raw const range, &raw mut counts, 0 as libc::c_uint) };
    if result == 0 { Ok(counts.dirty.saturating_add(counts.writeback)) } else { Err(io::Error::last_os_error()) }
}

/// Has the kernel back memory that is about to be written, all at once, which takes it less than a fault for each page does
/// (madvise(2), `MADV_POPULATE_WRITE`). Only whole pages of it; before Linux 5.14, or where there is not enough memory, nothing
/// happens, and pages come when they are touched.
pub fn back_with_pages(memory: &mut [MaybeUninit<u8>]) {
    let page = rustix::param::page_size();
    let skipped = memory.as_ptr().align_offset(page);
    let Some(whole) = memory.get_mut(skipped..) else { return };
    let length = whole.len() / page * page;
    if length > 0 {
        // SAFETY: the range lies in memory that is borrowed for writing until the call returns, and the advice changes no byte
        // of what is there already.
        unsafe { libc::madvise(whole.as_mut_ptr().cast(), length, libc::MADV_POPULATE_WRITE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_backed_keeps_its_bytes() {
        let mut bytes = vec![7; 10];
        bytes.reserve(1 << 20);
        let room = bytes.spare_capacity_mut();
        room[0].write(8);
        back_with_pages(room);
        back_with_pages(&mut bytes.spare_capacity_mut()[..1]);
        back_with_pages(&mut []);
        // SAFETY: the byte behind the ten was written.
        unsafe { bytes.set_len(11) };
        assert_eq!(bytes, [&[7; 10][..], &[8]].concat());
    }
}
