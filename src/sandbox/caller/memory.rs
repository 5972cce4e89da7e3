//! Memory of a thread that waits for the answer to an intercepted call.

use std::io::{IoSlice, IoSliceMut};

use nix::sys::uio::{RemoteIoVec, process_vm_readv, process_vm_writev};
use nix::unistd::Pid;
use rustix::io::Errno;

use crate::capabilities::look_at;

/// Readability is a property of whole pages, and this is the smallest page size.
const PAGE_BYTES: u64 = 4096;
/// Most paths are shorter.
const MOSTLY_BYTES: u64 = 256;

/// Memory of the process with this number. It belongs to the caller only if the caller still waits
/// after the read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallerMemory(u32);

impl CallerMemory {
    pub(crate) fn of(pid: u32) -> Self {
        Self(pid)
    }

    /// Reads `count` bytes at an address.
    pub(crate) fn bytes(self, address: u64, count: usize) -> Result<Vec<u8>, Errno> {
        let mut bytes = vec![0; count];
        let mut got = 0;
        while got < count {
            got += self.read(address.wrapping_add(got as u64), &mut bytes[got..])?;
        }
        Ok(bytes)
    }

    /// Reads a NUL-terminated string of at most `limit` bytes; `None` if it is longer.
    pub(crate) fn text(self, address: u64, limit: usize) -> Result<Option<Vec<u8>>, Errno> {
        let mut text = vec![0; limit + 1];
        let mut got = 0;
        while got < text.len() {
            let from = address.wrapping_add(got as u64);
            // Reads stop at a page boundary, since the next page may be unmapped. Most strings are
            // short.
            let most = if got == 0 { MOSTLY_BYTES } else { PAGE_BYTES };
            let until = text
                .len()
                .min(got + most.min(PAGE_BYTES - from % PAGE_BYTES) as usize);
            let more = self.read(from, &mut text[got..until])?;
            if let Some(end) = memchr::memchr(0, &text[got..got + more]) {
                text.truncate(got + end);
                return Ok(Some(text));
            }
            got += more;
        }
        Ok(None)
    }

    /// Reads at least one byte.
    fn read(self, address: u64, into: &mut [u8]) -> Result<usize, Errno> {
        let pid = Pid::from_raw(self.0.cast_signed());
        let remote = [RemoteIoVec {
            base: address as usize,
            len: into.len(),
        }];
        let mut read = || match process_vm_readv(pid, &mut [IoSliceMut::new(into)], &remote) {
            Ok(0) => Err(Errno::FAULT),
            Ok(got) => Ok(got),
            Err(error) => Err(Errno::from_raw_os_error(error as i32)),
        };
        look_at(&mut read)
    }

    /// Writes all bytes to the caller's memory. After an error a part may be written, as with the
    /// kernel's own copies. Requires a caller that is known to wait still.
    pub(crate) fn put(self, address: u64, mut bytes: &[u8]) -> Result<(), Errno> {
        let pid = Pid::from_raw(self.0.cast_signed());
        let mut address = address as usize;
        while !bytes.is_empty() {
            let remote = [RemoteIoVec {
                base: address,
                len: bytes.len(),
            }];
            let write = || match process_vm_writev(pid, &[IoSlice::new(bytes)], &remote) {
                Ok(0) => Err(Errno::FAULT),
                Ok(done) => Ok(done),
                Err(error) => Err(Errno::from_raw_os_error(error as i32)),
            };
            let done = look_at(write)?;
            (address, bytes) = (address.wrapping_add(done), &bytes[done..]);
        }
        Ok(())
    }
}
