//! Ranges of lines: finds start and end without holding the text in memory.

use std::ops::Range;

use memchr::memchr_iter;

/// A requested range of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// First line, from 1; negative values count from the end, so -1 is the last line. Never 0.
    pub offset: i64,
    /// Maximum number of lines; `None` means to the end.
    pub limit: Option<u64>,
    /// Bytes of the first line to skip.
    pub skip: usize,
    /// `true` to show the number of each line.
    pub has_numbers: bool,
}

impl Page {
    /// Returns the range in a text of `total` lines, from 0, end excluded. `None` if it begins
    /// beyond the end. A negative offset before the beginning is clamped to the first line.
    pub fn lines(self, total: u64) -> Option<Range<u64>> {
        let back = self.offset.unsigned_abs();
        let start = if self.offset > 0 {
            back - 1
        } else {
            total.saturating_sub(back)
        };
        if start >= total && !(start == 0 && total == 0) {
            return None;
        }
        let end = self
            .limit
            .map_or(total, |limit| start.saturating_add(limit).min(total));
        Some(start..end)
    }
}

/// Distance between the marks of a [`LineMap`], in bytes.
const STRIDE: u64 = 1024 * 1024;

/// Sparse index of line starts: one mark per mebibyte, so that the map of a file of gigabytes stays
/// small. Fed from front to back.
#[derive(Debug)]
pub struct LineMap {
    /// Number of newlines before each multiple of [`STRIDE`].
    marks: Vec<u64>,
    newlines: u64,
    bytes: u64,
    ends_in_newline: bool,
}

impl Default for LineMap {
    fn default() -> Self {
        Self {
            marks: vec![0],
            newlines: 0,
            bytes: 0,
            ends_in_newline: true,
        }
    }
}

impl LineMap {
    /// Adds the next bytes.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = (STRIDE - self.bytes % STRIDE) as usize;
            let (now, rest) = bytes.split_at(room.min(bytes.len()));
            self.newlines += memchr_iter(b'\n', now).count() as u64;
            self.bytes += now.len() as u64;
            self.ends_in_newline = now.ends_with(b"\n");
            if self.bytes.is_multiple_of(STRIDE) {
                self.marks.push(self.newlines);
            }
            bytes = rest;
        }
    }

    /// Returns the number of lines so far; a last one without a newline counts.
    pub fn total(&self) -> u64 {
        self.newlines + u64::from(!self.ends_in_newline)
    }

    /// Returns a byte offset at or before the beginning of `line` (from 0), and the number of
    /// newlines between the two.
    pub fn before(&self, line: u64) -> (u64, u64) {
        // The line begins after newline number `line`, so after the last mark with fewer newlines.
        let index = self
            .marks
            .partition_point(|&newlines| newlines < line)
            .saturating_sub(1);
        (index as u64 * STRIDE, line - self.marks[index])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn page_is_clamped_to_text() {
        let lines = |offset, limit, total| {
            Page {
                offset,
                limit,
                skip: 0,
                has_numbers: false,
            }
            .lines(total)
        };
        assert_eq!(lines(1, None, 3), Some(0..3));
        assert_eq!(lines(2, Some(1), 3), Some(1..2));
        assert_eq!(lines(-1, None, 3), Some(2..3));
        assert_eq!(lines(-9, Some(2), 3), Some(0..2));
        assert_eq!(lines(4, None, 3), None);
        assert_eq!(lines(1, None, 0), Some(0..0));
        assert_eq!(lines(-1, None, 0), Some(0..0));
        assert_eq!(lines(i64::MIN, Some(u64::MAX), 3), Some(0..3));
    }

    proptest! {
        #[test]
        fn line_map_finds_every_line(lengths in proptest::collection::vec(0..900_000_usize, 1..8), cut in 1..2_000_000_usize) {
            let text: Vec<u8> = lengths.iter().flat_map(|&length| [vec![b'x'; length], vec![b'\n']].concat()).collect();
            let mut map = LineMap::default();
            text.chunks(cut).for_each(|chunk| map.feed(chunk));
            prop_assert_eq!(map.total(), lengths.len() as u64);
            let mut start = 0;
            for (line, length) in lengths.iter().enumerate() {
                let (offset, skip) = map.before(line as u64);
                let between = &text[offset as usize..start];
                prop_assert_eq!(memchr_iter(b'\n', between).count() as u64, skip);
                start += length + 1;
            }
        }
    }
}
