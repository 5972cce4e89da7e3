//! What the allocator keeps of memory that was given back to it.
#![expect(unsafe_code, reason = "no safe crate has mallopt(3)")]

use crate::limits::{HEAP_ARENAS, HEAP_BLOCK_BYTES};

/// Has large blocks go back to the system when they are freed, and small ones lie in few heaps. By itself the allocator of glibc
/// raises its bound with each large block that is freed, up to 32 MiB, and has eight heaps for each processor: it then keeps
/// several times what is in use (mallopt(3)).
#[cfg(target_env = "gnu")]
pub fn keep_little() {
    // SAFETY: mallopt takes two numbers; the process has one thread still.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, HEAP_BLOCK_BYTES);
        libc::mallopt(libc::M_ARENA_MAX, HEAP_ARENAS);
    }
}

/// Gives back what was freed between blocks that are in use, which the allocator keeps by itself (`malloc_trim(3)`).
#[cfg(target_env = "gnu")]
pub fn give_back() {
    // SAFETY: malloc_trim takes a number, and locks what it looks at.
    unsafe { libc::malloc_trim(0) };
}

/// Other allocators keep little by themselves.
#[cfg(not(target_env = "gnu"))]
pub fn keep_little() {}

/// Other allocators keep little by themselves.
#[cfg(not(target_env = "gnu"))]
pub fn give_back() {}
