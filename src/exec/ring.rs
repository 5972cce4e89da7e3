//! The last bytes of an endless stream, in a file that has no name.
#![expect(
    clippy::disallowed_methods,
    reason = "the file has no path that anybody could resolve: it is made below a private handle and never named"
)]

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags, openat, unlinkat};
use rustix::io::{Errno, pread, pwrite};

/// Where output is kept, of each stream the last bytes.
#[derive(Debug)]
pub struct OutputFiles {
    dir: OwnedFd,
    cap: u64,
}

impl OutputFiles {
    /// Files without names below `dir`, which must be writable to this process and out of the
    /// commands' reach, of at most `cap` bytes.
    pub fn new(dir: OwnedFd, cap: u64) -> Self {
        Self { dir, cap }
    }

    /// One for an empty stream.
    pub(super) fn ring(&self) -> io::Result<Ring> {
        Ring::new(&self.dir, self.cap)
    }
}

/// Bytes by their position in the whole stream; only the last ones are kept.
#[derive(Debug)]
pub struct Ring {
    file: OwnedFd,
    cap: u64,
    /// Position of the oldest byte that is kept.
    oldest: u64,
    /// Length of the stream so far.
    end: u64,
}

/// Two are alike that keep the same part of their streams: what is compared is how much came, not
/// the bytes.
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
    /// Bytes between the position that was asked for and the first of `bytes`, which are no longer
    /// kept.
    pub skipped: u64,
    /// The position behind `bytes`.
    pub next: u64,
    /// Length of the stream so far.
    pub end: u64,
}

impl Ring {
    /// An empty stream of which `cap` bytes are kept, in a nameless file below `dir`.
    fn new(dir: impl AsFd, cap: u64) -> io::Result<Self> {
        Ok(Self {
            file: nameless(dir)?,
            cap: cap.max(1),
            oldest: 0,
            end: 0,
        })
    }

    /// The same for a stream of which so many bytes went elsewhere.
    pub(super) fn beginning_at(self, position: u64) -> Self {
        Self {
            oldest: position,
            end: position,
            ..self
        }
    }

    /// Length of the stream so far.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Position of the oldest byte that is kept.
    pub(super) fn oldest(&self) -> u64 {
        self.oldest
    }

    /// Takes the last bytes back.
    pub(super) fn shorten(&mut self, bytes: usize) {
        self.end = self.end.saturating_sub(bytes as u64).max(self.oldest);
    }

    /// Adds bytes. When the disk does not take them, all that was kept is forgotten, and readers
    /// are told.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let first = bytes
            .len()
            .saturating_sub(usize::try_from(self.cap).unwrap_or(usize::MAX));
        // A full disk is told once.
        let is_news = self.oldest < self.end || self.end == 0;
        let start = self.end + first as u64;
        self.end += bytes.len() as u64;
        self.oldest = self.oldest.max(self.end.saturating_sub(self.cap));
        if let Err(error) = self.put(&bytes[first..], start) {
            if is_news {
                tracing::warn!("output of a command is lost: {error}");
            }
            self.oldest = self.end;
        }
    }

    /// What is kept from a position on, at most so many bytes.
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

    /// Where in the file a position lies, and how many bytes follow it there.
    fn slot(&self, position: u64) -> (u64, usize) {
        let offset = position % self.cap;
        (
            offset,
            usize::try_from(self.cap - offset).unwrap_or(usize::MAX),
        )
    }
}

/// A file that nobody else can open.
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
    fn keeps_the_last_bytes_and_counts_the_others() {
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
    fn a_disk_that_takes_nothing_is_told_as_skipped() {
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
        /// Whatever is written in whatever chunks, and wherever it is read: the exact bytes, or how
        /// many were skipped.
        #[test]
        fn a_page_is_exact_or_says_what_it_skips(
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
