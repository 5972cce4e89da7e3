//! Heap settings: unused memory that this process retains.
#![expect(
    unsafe_code,
    reason = "no safe crate has mallopt(3), or tells where the program's code lies"
)]

/// Blocks of memory from this size on go back to the system when they are freed, in bytes.
const HEAP_BLOCK_BYTES: i32 = 256 * 1024;
/// Heaps for smaller blocks.
const HEAP_ARENAS: i32 = 4;

/// Returns large freed blocks to the system, and keeps small ones in few heaps. By default the
/// allocator of glibc raises its threshold with each large block that is freed, up to 32 MiB. It
/// has eight heaps per processor, and so retains several times the memory in use (mallopt(3)).
#[cfg(target_env = "gnu")]
pub fn keep_little() {
    // SAFETY: mallopt takes two numbers; the process has one thread still.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, HEAP_BLOCK_BYTES);
        libc::mallopt(libc::M_ARENA_MAX, HEAP_ARENAS);
    }
}

/// Releases memory that only the start needed. This is free memory that the allocator retains
/// (`malloc_trim(3)`), and the mapping of the program's code. The kernel maps code that is called
/// again from the page cache, 64 KiB at a time.
pub fn give_back() {
    unsafe extern "C" {
        static __executable_start: u8;
        static etext: u8;
    }
    #[cfg(target_env = "gnu")]
    // SAFETY: malloc_trim takes a number, and locks what it looks at.
    unsafe {
        libc::malloc_trim(0);
    };
    // SAFETY: sysconf takes a number.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(1);
    let (from, to) = (
        (&raw const __executable_start).addr(),
        (&raw const etext).addr() / page * page,
    );
    // SAFETY: the linker puts only code and constants without addresses between the two. No program
    // writes there, so the pages equal those of the file. A read maps them again (madvise(2)).
    unsafe {
        libc::madvise(
            std::ptr::without_provenance_mut(from),
            to.saturating_sub(from),
            libc::MADV_DONTNEED,
        );
    }
}

/// Other allocators keep little by themselves.
#[cfg(not(target_env = "gnu"))]
pub fn keep_little() {}
