//! Memory that a process shares with the copies of itself.
#![expect(
    unsafe_code,
    reason = "no safe crate maps shared memory without a file"
)]

use std::io;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::atomic::AtomicU64;

/// Numbers that this process shares with all processes that fork from it, until they execute
/// another program.
#[derive(Debug)]
pub struct SharedWords {
    first: NonNull<AtomicU64>,
    count: usize,
}

// SAFETY: the mapping belongs to no thread, and all access goes through atomics.
unsafe impl Send for SharedWords {}
// SAFETY: as above.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// Maps this many numbers, all 0.
    pub fn new(count: usize) -> io::Result<Self> {
        let (access, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
        );
        // SAFETY: the kernel chooses the address, so no other memory is touched.
        let address = unsafe {
            libc::mmap(
                ptr::null_mut(),
                count * size_of::<AtomicU64>(),
                access,
                flags,
                -1,
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let first = NonNull::new(address.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { first, count })
    }

    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is as long as this, aligned to a page, never unmapped while `self`
        // lives, and zeroes are numbers.
        unsafe { slice::from_raw_parts(self.first.as_ptr(), self.count) }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's alone, and nothing borrows from it any more.
        unsafe {
            libc::munmap(
                self.first.as_ptr().cast(),
                self.count * size_of::<AtomicU64>(),
            )
        };
    }
}
