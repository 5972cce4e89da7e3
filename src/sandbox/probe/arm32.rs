//! A program of 32 bits, whose system calls have other numbers (ELF for the Arm architecture).

use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;

use rustix::fs::MemfdFlags;

use super::outcome::{Try, blocked, not_possible, through};

const LOAD_ADDRESS: u32 = 0x1_0000;
const HEADER_BYTES: u32 = 52;
const SEGMENT_HEADER_BYTES: u32 = 32;

/// Makes getpid(2) and socket(2). The first that is answered leads to `bkpt` (`SIGTRAP`), the end to
/// `udf` (`SIGILL`).
const CODE: [u32; 13] = [
    0xe3a0_7014, // mov r7, #20 (getpid)
    0xef00_0000, // svc #0
    0xe350_0000, // cmp r0, #0
    0xaa00_0007, // bge bkpt
    0xe3a0_0002, // mov r0, #2 (AF_INET)
    0xe3a0_1001, // mov r1, #1 (SOCK_STREAM)
    0xe3a0_2000, // mov r2, #0
    0xe300_7119, // movw r7, #281 (socket)
    0xef00_0000, // svc #0
    0xe350_0000, // cmp r0, #0
    0xaa00_0000, // bge bkpt
    0xe7f0_00f0, // udf #0
    0xe120_0070, // bkpt #0
];

/// Starts the program. Not possible on a processor that has no 32-bit mode.
pub(super) fn call_as_32_bits() -> Try {
    let memory = File::from(rustix::fs::memfd_create("arm32", MemfdFlags::empty())?);
    (&memory).write_all(&program())?;
    match Command::new(format!("/proc/self/fd/{}", memory.as_raw_fd())).status() {
        Err(error) if error.raw_os_error() == Some(libc::ENOEXEC) => {
            not_possible("this processor runs no 32-bit programs")
        }
        Err(error) => Err(error.into()),
        Ok(status) => match status.signal() {
            Some(libc::SIGILL) => blocked("no call was answered"),
            _ => through(status.to_string()),
        },
    }
}

/// Returns the ELF file (elf(5)): one header, one segment, the code.
fn program() -> Vec<u8> {
    let start = HEADER_BYTES + SEGMENT_HEADER_BYTES;
    let size = start + size_of_val(&CODE) as u32;
    // ELFCLASS32, ELFDATA2LSB, EV_CURRENT.
    let mut file = b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let halves = |file: &mut Vec<u8>, values: &[u16]| {
        file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    };
    let words = |file: &mut Vec<u8>, values: &[u32]| {
        file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    };
    // ET_EXEC, EM_ARM; then version, entry, headers of segments and sections, EF_ARM_EABI_VER5.
    halves(&mut file, &[2, 40]);
    words(
        &mut file,
        &[1, LOAD_ADDRESS + start, HEADER_BYTES, 0, 0x0500_0000],
    );
    let sizes = [HEADER_BYTES as u16, SEGMENT_HEADER_BYTES as u16];
    halves(&mut file, &[sizes[0], sizes[1], 1, 0, 0, 0]);
    // PT_LOAD, offset, addresses, sizes, PF_R | PF_X, alignment.
    words(
        &mut file,
        &[1, 0, LOAD_ADDRESS, LOAD_ADDRESS, size, size, 5, 0x1000],
    );
    words(&mut file, &CODE);
    file
}
