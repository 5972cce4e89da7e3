//! Captured output of a program, in memory and in a file.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use super::ring::Ring;

/// Part of a log that is read at once, in bytes.
const LOG_PART_BYTES: usize = 256 * 1024;

/// Captured output: these bytes, followed by those of the file from a position on.
#[derive(Debug, PartialEq, Eq)]
pub struct CapturedLog {
    pub(super) bytes: Vec<u8>,
    pub(super) file: Option<(Arc<Ring>, u64)>,
}

impl From<Vec<u8>> for CapturedLog {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, file: None }
    }
}

impl CapturedLog {
    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
            + self
                .file
                .as_ref()
                .map_or(0, |(file, begin)| (file.end() - begin) as usize)
    }

    /// Reads at most `most` bytes from position `from` on. Fails like reading a file.
    pub fn read(&self, from: usize, most: usize) -> io::Result<Cow<'_, [u8]>> {
        let first = &self.bytes[from.min(self.bytes.len())..];
        let first = &first[..first.len().min(most)];
        let Some((file, begin)) = self.file.as_ref().filter(|_| first.len() < most) else {
            return Ok(first.into());
        };
        let position = begin + (from + first.len() - self.bytes.len()) as u64;
        let rest = file.read(position, most - first.len())?.bytes;
        Ok(if first.is_empty() {
            rest.into()
        } else {
            [first, &rest].concat().into()
        })
    }

    /// Returns the number of line feeds in the readable part.
    pub(super) fn lines(&self) -> usize {
        let mut lines = 0;
        let mut from = 0;
        while let Ok(part) = self.read(from, LOG_PART_BYTES)
            && !part.is_empty()
        {
            lines += memchr::memchr_iter(b'\n', &part).count();
            from += part.len();
        }
        lines
    }
}
