//! Splits a byte stream into lines of limited length.

use std::io::{self, Read};

use memchr::memchr;

/// Size of one read; a pipe holds 64 KiB.
const READ_BYTES: usize = 64 * 1024;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum InputLine {
    /// A whole line, without its newline; the last one may have had none.
    Whole(Vec<u8>),
    /// A line above the length limit, which was read to its end and dropped.
    TooLong,
    /// The stream has ended.
    End,
}

/// Splits a stream into lines.
pub(super) struct Lines<R> {
    source: R,
    max_bytes: usize,
    /// Unread bytes are `buffer[start..end]`; the rest is free.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Number of bytes after `start` known to hold no newline.
    scanned: usize,
    /// `true` if the line at `start` is above the limit and only partly read.
    too_long: bool,
    ended: bool,
    put_back: Option<InputLine>,
}

impl<R: Read> Lines<R> {
    /// Creates a splitter for lines of at most `max_bytes`.
    pub(super) fn new(source: R, max_bytes: usize) -> Self {
        let buffer = vec![0; READ_BYTES];
        Self {
            source,
            max_bytes,
            buffer,
            start: 0,
            end: 0,
            scanned: 0,
            too_long: false,
            ended: false,
            put_back: None,
        }
    }

    /// Returns the next line; blocks until it is complete.
    pub(super) fn next(&mut self) -> io::Result<InputLine> {
        loop {
            if let Some(line) = self.buffered_line() {
                return Ok(line);
            }
            self.fill()?;
        }
    }

    /// Returns a line to the front.
    pub(super) fn put_back(&mut self, line: InputLine) {
        self.put_back = Some(line);
    }

    /// Returns the next line if it is complete in the buffer.
    pub(super) fn buffered_line(&mut self) -> Option<InputLine> {
        if let Some(line) = self.put_back.take() {
            return Some(line);
        }
        let unread = &self.buffer[self.start..self.end];
        if let Some(found) = memchr(b'\n', &unread[self.scanned..]) {
            let length = self.scanned + found;
            let line = if std::mem::take(&mut self.too_long) || length > self.max_bytes {
                self.start += length;
                InputLine::TooLong
            } else {
                InputLine::Whole(self.take(length))
            };
            self.start += 1;
            self.scanned = 0;
            return Some(line);
        }
        self.scanned = unread.len();
        if self.scanned > self.max_bytes {
            self.too_long = true;
            self.discard();
        }
        if !self.ended {
            return None;
        }
        let rest = self.take(self.end - self.start);
        self.discard();
        Some(
            match (std::mem::take(&mut self.too_long), rest.is_empty()) {
                (true, _) => InputLine::TooLong,
                (false, true) => InputLine::End,
                (false, false) => InputLine::Whole(rest),
            },
        )
    }

    /// Takes the next `length` bytes as a line. A large line takes the buffer with it: it is not
    /// copied, and does not stay in memory.
    fn take(&mut self, length: usize) -> Vec<u8> {
        let (from, to) = (self.start, self.start + length);
        if length <= READ_BYTES || from > 0 {
            self.start = to;
            return self.buffer[from..to].to_vec();
        }
        let rest = self.end - to;
        let mut room = vec![0; READ_BYTES.max(rest)];
        room[..rest].copy_from_slice(&self.buffer[to..self.end]);
        let mut line = std::mem::replace(&mut self.buffer, room);
        line.truncate(to);
        (self.start, self.end) = (0, rest);
        line
    }

    /// Drops all buffered bytes, and the memory of a line that was too long.
    fn discard(&mut self) {
        if self.buffer.len() > READ_BYTES {
            self.buffer = vec![0; READ_BYTES];
        }
        self.start = 0;
        self.end = 0;
        self.scanned = 0;
    }

    /// Reads once.
    pub(super) fn fill(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.buffer.len() {
            // Doubled, so that a long line does not cost a thousand small reads.
            self.buffer.resize(self.end * 2, 0);
        }
        let read = loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        self.end += read;
        self.ended = read == 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(source: impl Read, max_bytes: usize) -> Vec<InputLine> {
        let mut lines = Lines::new(source, max_bytes);
        let mut found = Vec::new();
        loop {
            match lines.next().unwrap() {
                InputLine::End => return found,
                line => found.push(line),
            }
        }
    }

    /// A source of one byte at a time, which covers all states of the buffer.
    struct Dribble<'a>(&'a [u8]);

    impl Read for Dribble<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let (Some((first, rest)), Some(place)) = (self.0.split_first(), out.first_mut()) else {
                return Ok(0);
            };
            *place = *first;
            self.0 = rest;
            Ok(1)
        }
    }

    #[test]
    fn line_above_buffer_size_keeps_next_line() {
        let long = "x".repeat(READ_BYTES * 3 + 5);
        let text = format!("{long}\nnext\n{long}\n{long}");
        let whole = |text: &str| InputLine::Whole(text.as_bytes().to_vec());
        let expected = [whole(&long), whole("next"), whole(&long), whole(&long)];
        assert!(all(text.as_bytes(), usize::MAX) == expected);
        assert!(all(Dribble(text.as_bytes()), usize::MAX) == expected);
        assert_eq!(
            all(text.as_bytes(), READ_BYTES),
            [
                InputLine::TooLong,
                whole("next"),
                InputLine::TooLong,
                InputLine::TooLong
            ]
        );
    }

    #[test]
    fn put_back_line_comes_first() {
        let mut lines = Lines::new(&b"one\ntwo\n"[..], 9);
        assert_eq!(lines.buffered_line(), None);
        lines.fill().unwrap();
        let first = lines.buffered_line().unwrap();
        lines.put_back(first);
        assert_eq!(lines.next().unwrap(), InputLine::Whole(b"one".to_vec()));
        assert_eq!(
            lines.buffered_line(),
            Some(InputLine::Whole(b"two".to_vec()))
        );
        assert_eq!(lines.buffered_line(), None);
    }

    #[test]
    fn dropped_line_frees_its_buffer() {
        let text = "x".repeat(READ_BYTES * 9) + "\nnext\n";
        let mut lines = Lines::new(text.as_bytes(), READ_BYTES * 4);
        assert_eq!(lines.next().unwrap(), InputLine::TooLong);
        assert_eq!(lines.next().unwrap(), InputLine::Whole(b"next".to_vec()));
        assert!(
            lines.buffer.len() <= 2 * READ_BYTES,
            "{}",
            lines.buffer.len()
        );
    }

    #[test]
    fn lines_are_split_and_length_limited() {
        let text = b"one\n\n1234567890\n123456789\ntwo";
        let whole = |text: &str| InputLine::Whole(text.as_bytes().to_vec());
        let expected = [
            whole("one"),
            whole(""),
            InputLine::TooLong,
            whole("123456789"),
            whole("two"),
        ];
        assert_eq!(all(&text[..], 9), expected);
        assert_eq!(all(Dribble(text), 9), expected);
        assert_eq!(all(Dribble(b"1234567890"), 9), [InputLine::TooLong]);
        assert_eq!(all(Dribble(b""), 9), []);
    }
}
