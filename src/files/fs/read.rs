//! Reads open files: as a whole, up to a cap, or from any offset.

use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use replay_base::budget::{Room, Share};
use rustix::buffer::spare_capacity;
use rustix::fs::{MemfdFlags, fstat, memfd_create};
use rustix::io::{Errno, pread};

use crate::policy::{Checked, FileKind, Read};

use super::error::FsError;
use super::version::{Version, is_honest, is_written_back};

/// A file in memory, with its share of the budget: its length, including holes.
#[derive(Debug)]
pub struct Loaded {
    /// All bytes.
    pub bytes: Vec<u8>,
    /// Share of the budget, to be held as long as the bytes.
    pub share: Share,
}

/// Reads the whole file, with a single read call if its size has not changed since it was opened.
///
/// `max_bytes` limits the bytes read, not the reported size, so growing files and wrong sizes are
/// safe. The memory is not charged; use it only with small caps.
pub fn read_all(file: &Checked<Read>, max_bytes: u64) -> Result<Vec<u8>, FsError> {
    if file.kind() == FileKind::Directory {
        return Err(FsError::IsDirectory {
            path: file.display_path().into(),
        });
    }
    Ok(read_whole(
        file.as_fd(),
        file.size(),
        max_bytes,
        file.display_path(),
        None,
    )?
    .bytes)
}

/// Reads the whole file and charges the memory to `room` in advance; small files are not charged.
pub fn load(file: &Checked<Read>, max_bytes: u64, room: Room<'_>) -> Result<Loaded, FsError> {
    if file.kind() == FileKind::Directory {
        return Err(FsError::IsDirectory {
            path: file.display_path().into(),
        });
    }
    read_whole(
        file.as_fd(),
        file.size(),
        max_bytes,
        file.display_path(),
        Some(room),
    )
}

/// Reads any open file like [`load`]; `size` comes from `fstat`.
pub(super) fn read_whole(
    file: BorrowedFd<'_>,
    size: u64,
    max_bytes: u64,
    shown: &Path,
    room: Option<Room<'_>>,
) -> Result<Loaded, FsError> {
    let too_large = |bytes| FsError::TooLarge {
        path: shown.into(),
        bytes,
        cap: max_bytes,
    };
    if size > max_bytes {
        return Err(too_large(size));
    }
    let short = |source| FsError::Memory {
        path: shown.into(),
        source,
    };
    let mut share = room.map(|room| room.share()).unwrap_or_default();
    if let Some(room) = room {
        room.cover(&mut share, size as usize).map_err(short)?;
    }
    // One spare byte distinguishes a file of this size from one that has grown.
    let mut bytes = Vec::with_capacity(size as usize + 1);
    loop {
        if bytes.len() == bytes.capacity() {
            let more = bytes.len().clamp(64 * 1024, 64 * 1024 * 1024);
            // Never waits for memory: other threads may wait for this one.
            share.try_grow(more).map_err(short)?;
            bytes.reserve_exact(more);
        }
        let offset = bytes.len() as u64;
        match pread(file, spare_capacity(&mut bytes), offset) {
            Ok(0) => break,
            Ok(_) if bytes.len() as u64 > max_bytes => return Err(too_large(bytes.len() as u64)),
            Ok(_) if bytes.len() as u64 == size => break,
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(FsError::of(shown, "read", errno)),
        }
    }
    Ok(Loaded { bytes, share })
}

/// Reads a file from an offset on, as a stream. Several readers may share a descriptor: each has
/// its own position.
#[derive(Debug)]
pub struct Reader<'a> {
    file: BorrowedFd<'a>,
    offset: u64,
}

impl<'a> Reader<'a> {
    /// Starts at `offset` bytes.
    pub fn new(file: &'a Checked<Read>, offset: u64) -> Self {
        Self {
            file: file.as_fd(),
            offset,
        }
    }

    /// Returns the current position in bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }
}

impl io::Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = pread(self.file, buffer, self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}

pub(super) fn reader_of(file: BorrowedFd<'_>) -> Reader<'_> {
    Reader { file, offset: 0 }
}

/// An open regular file, found by a walk.
#[derive(Debug)]
pub struct OpenFile {
    pub(super) handle: OwnedFd,
    pub(super) version: Version,
}

impl OpenFile {
    /// Creates a file in memory with this content (`memfd_create(2)`).
    pub fn in_memory(content: &[u8]) -> io::Result<Self> {
        let handle = memfd_create("content", MemfdFlags::CLOEXEC)?;
        let mut file = std::fs::File::from(handle);
        file.write_all(content)?;
        let handle = OwnedFd::from(file);
        let version = Version::of(&fstat(&handle)?);
        Ok(Self { handle, version })
    }

    /// Wraps a regular file that the policy opened.
    pub fn of(file: &Checked<Read>) -> io::Result<Self> {
        if file.kind() != FileKind::File {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let handle = file.as_fd().try_clone_to_owned()?;
        let version = Version::of(&fstat(&handle)?);
        Ok(Self { handle, version })
    }

    /// Returns the size in bytes at the time of opening.
    pub fn size(&self) -> u64 {
        self.version.size
    }

    /// Returns the version at the time of opening.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Returns true if its filesystem has reliable versions.
    pub fn is_honest(&self) -> bool {
        is_honest(self.handle.as_fd())
    }

    /// Returns true if all pages are on disk; `None` if the kernel does not tell.
    pub fn is_written_back(&self) -> Option<bool> {
        is_written_back(self.handle.as_fd())
    }

    /// Returns a reader that starts at `offset` bytes.
    pub fn reader(&self, offset: u64) -> Reader<'_> {
        Reader {
            file: self.handle.as_fd(),
            offset,
        }
    }

    /// Replaces the content of `buffer` by the beginning of the file, at most `most` bytes, usually
    /// with one read call. Returns true if the file ends there.
    pub fn read_start(&self, buffer: &mut Vec<u8>, most: u64) -> io::Result<bool> {
        buffer.clear();
        let wanted = self.size().min(most) as usize;
        // One spare byte distinguishes a file of this size from one that has grown.
        buffer.reserve(wanted + 1);
        loop {
            let offset = buffer.len() as u64;
            match pread(&self.handle, spare_capacity(buffer), offset) {
                Ok(0) => return Ok(true),
                Ok(_) if buffer.len() == wanted && self.size() <= most => return Ok(true),
                Ok(_) if buffer.len() as u64 > most => return Ok(false),
                Ok(_) if buffer.len() == buffer.capacity() => buffer.reserve(buffer.len()),
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Reads the whole file, at most `max_bytes`; `shown` is the path for errors.
    pub fn read_all(&self, max_bytes: u64, shown: &Path) -> Result<Vec<u8>, FsError> {
        Ok(read_whole(
            self.handle.as_fd(),
            self.version.size,
            max_bytes,
            shown,
            None,
        )?
        .bytes)
    }
}
