//! Calls that the broker serves, made as they are.

use std::io;

use crate::sandbox::broker::{Call, decode};
use crate::sandbox::seccomp::{SYS_GETXATTRAT, SYS_LISTXATTRAT};

/// One of the calls that the broker serves and that write to no memory, made as it is, with any
/// arguments.
pub(in crate::sandbox) fn change(number: libc::c_long, args: [usize; 6]) -> Result<(), i32> {
    assert!(!matches!(
        decode(number as i32, &args.map(|arg| arg as u64)),
        None | Some(Call::Read(..))
    ));
    // SAFETY: these calls only read memory, and the kernel checks every address that it reads from.
    match unsafe { libc::syscall(number, args[0], args[1], args[2], args[3], args[4], args[5]) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error().raw_os_error().unwrap_or(0)),
    }
}

/// Buffer for the attributes that a call reads.
pub(in crate::sandbox) enum Room<'a> {
    Bytes(&'a mut [u8]),
    /// Unmapped memory of this size.
    Nowhere(usize),
    /// Read-only memory.
    Constant(&'static [u8]),
}

/// One of the calls that read attributes, made as it is, with any arguments but those that say
/// where to. Of getxattrat(2) the fifth argument is the flags in its structure and the sixth its
/// bytes, 0: as many as it has.
pub(in crate::sandbox) fn look(
    number: libc::c_long,
    mut args: [usize; 6],
    room: Room<'_>,
) -> Result<usize, i32> {
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
        _ => panic!("{number} reads no attributes"),
    }
    // SAFETY: of memory these calls write only what `room` lends, has nothing in, or protects;
    // every other address is read, and the kernel checks each.
    match unsafe { libc::syscall(number, args[0], args[1], args[2], args[3], args[4], args[5]) } {
        -1 => Err(io::Error::last_os_error().raw_os_error().unwrap_or(0)),
        length => usize::try_from(length).map_err(|_| libc::EOVERFLOW),
    }
}
