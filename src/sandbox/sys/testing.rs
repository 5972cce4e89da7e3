//! Raw system calls for the tests of other crates.

use std::io;

use nix::unistd::{ForkResult, Pid};

const SYS_GETXATTRAT: libc::c_long = 464;
const SYS_LISTXATTRAT: libc::c_long = 465;

/// Forks a test process, which has several threads. `None` in the child, which must exit.
pub fn fork_among_threads() -> io::Result<Option<Pid>> {
    // SAFETY: glibc makes its own locks usable in the child. The child of a test takes no lock of
    // the test harness.
    match unsafe { nix::unistd::fork() }? {
        ForkResult::Parent { child } => Ok(Some(child)),
        ForkResult::Child => Ok(None),
    }
}

/// Makes a system call that only reads memory, with any arguments. Returns the number of its error.
pub fn change(number: libc::c_long, args: [usize; 6]) -> Result<(), i32> {
    // SAFETY: the caller tests calls that only read memory, and the kernel checks every address.
    match unsafe { libc::syscall(number, args[0], args[1], args[2], args[3], args[4], args[5]) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error().raw_os_error().unwrap_or(0)),
    }
}

/// Buffer for the attributes that a call reads.
pub enum Room<'a> {
    Bytes(&'a mut [u8]),
    /// Unmapped memory of this size.
    Nowhere(usize),
    /// Read-only memory.
    Constant(&'static [u8]),
}

/// Reads extended attributes into `room`, by any of the calls for that. The arguments for the room
/// are filled in. Of getxattrat(2) the fifth argument is the flags in its structure and the sixth
/// its length, 0 for the full length. Returns the number of bytes, or of the error: `EINVAL` for
/// calls that read no attributes.
pub fn look(number: libc::c_long, mut args: [usize; 6], room: Room<'_>) -> Result<usize, i32> {
    let (address, size) = match room {
        Room::Bytes(bytes) => (bytes.as_mut_ptr() as usize, bytes.len()),
        Room::Nowhere(size) => (4096, size),
        Room::Constant(bytes) => (bytes.as_ptr() as usize, bytes.len()),
    };
    let structure = [address, size | args[4] << 32, 0, 0];
    match number {
        libc::SYS_getxattr | libc::SYS_lgetxattr | libc::SYS_fgetxattr => {
            args[2..4].copy_from_slice(&[address, size]);
        }
        libc::SYS_listxattr | libc::SYS_llistxattr | libc::SYS_flistxattr => {
            args[1..3].copy_from_slice(&[address, size]);
        }
        SYS_GETXATTRAT => {
            args[4] = structure.as_ptr() as usize;
            args[5] = if args[5] == 0 { 16 } else { args[5] };
        }
        SYS_LISTXATTRAT => args[3..5].copy_from_slice(&[address, size]),
        _ => return Err(libc::EINVAL),
    }
    // SAFETY: of memory these calls write only what `room` lends, has nothing in, or protects;
    // every other address is read, and the kernel checks each.
    match unsafe { libc::syscall(number, args[0], args[1], args[2], args[3], args[4], args[5]) } {
        -1 => Err(io::Error::last_os_error().raw_os_error().unwrap_or(0)),
        length => usize::try_from(length).map_err(|_| libc::EOVERFLOW),
    }
}
