//! Ring buffer: the last bytes of an endless stream, in an unlinked file.
#![expect(
    clippy::disallowed_methods,
    reason = "the file has no path that anybody could resolve: it is made below a private handle and never named"
)]

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags, openat, unlinkat};
use rustix::io::{Errno, pread, pwrite};

/// Directory for the output files; each keeps the last bytes of a stream.
#[derive(Debug)]
pub struct OutputFiles {
    dir: OwnedFd,
    cap: u64,
}

impl OutputFiles {
    /// Creates unlinked files of at most `cap` bytes below `dir`. The directory must be writable to
    /// this process and unreachable for commands.
    pub fn new(dir: OwnedFd, cap: u64) -> Self {
        Self { dir, cap }
    }

    /// Creates the file of an empty stream.
    pub(super) fn ring(&self) -> io::Result<Ring> {
        Ring::new(&self.dir, self.cap)
    }
}

/// Bytes addressed by their position in the whole stream; only the last ones are kept.
#[derive(Debug)]
pub struct Ring {
    file: OwnedFd,
    cap: u64,
    /// Position of the oldest kept byte.
    oldest: u64,
    /// Length of the stream so far.
    end: u64,
}

/// Two rings are equal if they keep the same range of their streams; the bytes are not compared.
impl PartialEq for Ring {
    fn eq(&self, other: &Self) -> bool {
        (self.cap, self.oldest, self.end) == (other.cap, other.oldest, other.end)
    }
}

impl Eq for Ring {}

/// A part of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    pub bytes: Vec<u8>,
    /// Number of bytes between the requested position and `bytes`, which are no longer kept.
    pub skipped: u64,
    /// Position after `bytes`.
    pub next: u64,
    /// Length of the stream so far.
    pub end: u64,
}

impl Ring {
    /// Creates an empty ring of `cap` bytes, in an unlinked file below `dir`.
    fn new(dir: impl AsFd, cap: u64) -> io::Result<Self> {
        Ok(Self {
            file: nameless(dir)?,
            cap: cap.max(1),
            oldest: 0,
            end: 0,
        })
    }

    /// Returns the ring for a stream whose first bytes, up to `position`, went elsewhere.
    pub(super) fn beginning_at(self, position: u64) -> Self {
        Self {
            oldest: position,
            end: position,
            ..self
        }
    }

    /// Returns the length of the stream so far.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Returns the position of the oldest kept byte.
    pub(super) fn oldest(&self) -> u64 {
        self.oldest
    }

    /// Removes the last bytes again.
    pub(super) fn shorten(&mut self, bytes: usize) {
        self.end = self.end.saturating_sub(bytes as u64).max(self.oldest);
    }

    /// Adds bytes. If the disk rejects them, all kept bytes are dropped, and readers see them as
    /// skipped.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let first = bytes
            .len()
            .saturating_sub(usize::try_from(self.cap).unwrap_or(usize::MAX));
        // A full disk is logged once.
        let is_news = self.oldest < self.end || self.end == 0;
        let start = self.end + first as u64;
        self.end += bytes.len() as u64;
        self.oldest = self.oldest.max(self.end.saturating_sub(self.cap));
        if let Err(error) = self.put(&bytes[first..], start) {
            if is_news {
                tracing::warn!("output of a command was lost: {error}");
            }
            self.oldest = self.end;
        }
    }

    /// Reads at most `most` kept bytes from a position on.
    pub(super) fn read(&self, from: u64, most: usize) -> io::Result<Page> {
        let from = from.min(self.end);
        let start = from.max(self.oldest);
        let length = (self.end - start).min(most as u64) as usize;
        let mut bytes = vec![0; length];
        let mut done = 0;
        while done < length {
            let (offset, room) = self.slot(start + done as u64);
            let part = room.min(length - done);
            match pread(&self.file, &mut bytes[done..done + part], offset) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(got) => done += got,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(Page {
            bytes,
            skipped: start - from,
            next: start + length as u64,
            end: self.end,
        })
    }

    fn put(&self, bytes: &[u8], start: u64) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            let (offset, room) = self.slot(start + done as u64);
            let part = room.min(bytes.len() - done);
            match pwrite(&self.file, &bytes[done..done + part], offset) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(got) => done += got,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Returns the file offset of a position, and the number of contiguous bytes from there.
    fn slot(&self, position: u64) -> (u64, usize) {
        let offset = position % self.cap;
        (
            offset,
            usize::try_from(self.cap - offset).unwrap_or(usize::MAX),
        )
    }
}

/// Creates a file that no other process can open.
fn nameless(dir: impl AsFd) -> io::Result<OwnedFd> {
    let mode = Mode::RUSR | Mode::WUSR;
    match openat(
        &dir,
        ".",
        OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC,
        mode,
    ) {
        // Filesystems without O_TMPFILE, such as overlayfs of older kernels (open(2)).
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => {}
        result => return Ok(result?),
    }
    let mut random = [0; 8];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
    let name = format!("output-{:016x}", u64::from_ne_bytes(random));
    let file = openat(
        &dir,
        &*name,
        OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC,
        mode,
    )?;
    unlinkat(&dir, &*name, AtFlags::empty())?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn ring(cap: u64) -> Ring {
        Ring::new(std::fs::File::open(std::env::temp_dir()).unwrap(), cap).unwrap()
    }

    #[test]
    fn ring_over_cap_keeps_last_bytes() {
        let mut ring = ring(5);
        assert_eq!(ring.read(0, 9).unwrap(), Page::default());
        ring.push(b"abc");
        assert_eq!(
            ring.read(1, 9).unwrap(),
            Page {
                bytes: b"bc".to_vec(),
                skipped: 0,
                next: 3,
                end: 3
            }
        );
        ring.push(b"defg");
        assert_eq!(
            ring.read(0, 2).unwrap(),
            Page {
                bytes: b"cd".to_vec(),
                skipped: 2,
                next: 4,
                end: 7
            }
        );
        ring.push(b"0123456789");
        assert_eq!(
            ring.read(4, 99).unwrap(),
            Page {
                bytes: b"56789".to_vec(),
                skipped: 8,
                next: 17,
                end: 17
            }
        );
        assert_eq!(
            ring.read(99, 99).unwrap(),
            Page {
                bytes: vec![],
                skipped: 0,
                next: 17,
                end: 17
            }
        );
    }

    #[test]
    fn ring_counts_skipped_bytes_after_disk_error() {
        let mut ring = ring(100);
        ring.push(b"abc");
        ring.file = std::fs::File::open("/dev/null").unwrap().into();
        ring.push(b"def");
        assert_eq!(
            ring.read(1, 99).unwrap(),
            Page {
                bytes: vec![],
                skipped: 5,
                next: 6,
                end: 6
            }
        );
    }

    proptest! {
        /// A page is exact or tells the number of skipped bytes, for any chunks and positions.
        #[test]
        fn page_is_exact_or_counts_skipped_bytes(
            cap in 1_u64..40,
            steps in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..60), 0_u64..200, 0_usize..60), 1..12),
        ) {
            let mut ring = ring(cap);
            let mut all: Vec<u8> = Vec::new();
            for (chunk, from, most) in steps {
                ring.push(&chunk);
                all.extend(&chunk);
                let page = ring.read(from, most).unwrap();
                let end = all.len() as u64;
                let from = from.min(end);
                let oldest = end.saturating_sub(cap);
                prop_assert_eq!(page.end, end);
                prop_assert_eq!(page.skipped, oldest.saturating_sub(from));
                let start = (from + page.skipped) as usize;
                prop_assert_eq!(&page.bytes, &all[start..page.next as usize]);
                prop_assert_eq!(page.bytes.len(), most.min(all.len() - start));
            }
        }
    }
}
