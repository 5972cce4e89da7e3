//! The memory of a thread that waits for an answer.

use std::io::{IoSlice, IoSliceMut};

use nix::sys::uio::{RemoteIoVec, process_vm_readv, process_vm_writev};
use nix::unistd::Pid;
use rustix::io::Errno;

use super::capabilities::look_at;

/// Memory is readable or not by whole pages, and none are smaller.
const PAGE_BYTES: u64 = 4096;
/// What most paths are shorter than.
const MOSTLY_BYTES: u64 = 256;

/// The memory of what has this number now. It is the caller's only if the caller still waits after
/// it was read.
#[derive(Clone, Copy, Debug)]
pub struct CallerMemory(u32);

impl CallerMemory {
    pub fn of(pid: u32) -> Self {
        Self(pid)
    }

    /// This many bytes from an address on.
    pub fn bytes(self, address: u64, count: usize) -> Result<Vec<u8>, Errno> {
        let mut bytes = vec![0; count];
        let mut got = 0;
        while got < count {
            got += self.read(address.wrapping_add(got as u64), &mut bytes[got..])?;
        }
        Ok(bytes)
    }

    /// The text from an address on, up to its NUL, which stands behind at most `limit` bytes;
    /// `None` if it does not.
    pub fn text(self, address: u64, limit: usize) -> Result<Option<Vec<u8>>, Errno> {
        let mut text = vec![0; limit + 1];
        let mut got = 0;
        while got < text.len() {
            let from = address.wrapping_add(got as u64);
            // Not past a page: the next one need not be there. Most are short.
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

    /// At least one byte.
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

    /// Puts bytes to where the caller wants them: all, or the error after which some may be there,
    /// as with the kernel's own copies. For a caller that is known to wait still.
    pub fn put(self, address: u64, mut bytes: &[u8]) -> Result<(), Errno> {
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
