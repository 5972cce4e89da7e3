//! Lines: their starts, their endings, and the line of an offset.
//!
//! A line ends with LF, CRLF, or (old Macintosh files) a lone CR. Line numbers count only LFs, like
//! all tools that an agent compares with. A lone CR is only considered for the report on a file's
//! line endings.

use memchr::{memchr_iter, memrchr};
use std::borrow::Cow;

/// Line endings of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEndings {
    /// Every line ends with `\n`.
    Lf,
    /// Every line ends with `\r\n`.
    Crlf,
    /// Every line ends with a lone `\r`.
    Cr,
    /// More than one kind.
    Mixed,
    /// There is no line ending.
    None,
}

impl LineEndings {
    /// Returns the name shown to agents: `lf`, `crlf`, `cr`, `mixed` or `none`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lf => "lf",
            Self::Crlf => "crlf",
            Self::Cr => "cr",
            Self::Mixed => "mixed",
            Self::None => "none",
        }
    }

    /// Determines the line endings of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        let (mut crlf, mut cr) = (0_usize, 0_usize);
        for at in memchr_iter(b'\r', bytes) {
            if bytes.get(at + 1) == Some(&b'\n') {
                crlf += 1;
            } else {
                cr += 1;
            }
        }
        let lf = memchr_iter(b'\n', bytes).count() - crlf;
        match (lf > 0, crlf > 0, cr > 0) {
            (false, false, false) => Self::None,
            (true, false, false) => Self::Lf,
            (false, true, false) => Self::Crlf,
            (false, false, true) => Self::Cr,
            _ => Self::Mixed,
        }
    }
}

/// Returns the lines of ascending offsets into a text in pieces, from 1. Offsets past the end count
/// as the end.
pub fn lines_of<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, offsets: &[usize]) -> Vec<usize> {
    let mut lines = Vec::with_capacity(offsets.len());
    let (mut line, mut start) = (1, 0);
    for piece in pieces {
        let mut from = 0;
        while let Some(&offset) = offsets.get(lines.len())
            && offset <= start + piece.len()
        {
            line += memchr_iter(b'\n', &piece[from..offset - start]).count();
            from = offset - start;
            lines.push(line);
        }
        if lines.len() == offsets.len() {
            return lines;
        }
        line += memchr_iter(b'\n', &piece[from..]).count();
        start += piece.len();
    }
    lines.resize(offsets.len(), line);
    lines
}

/// Returns the line of byte `offset`, from 1. Counts the LFs before it; an offset past the end
/// counts as the end.
pub fn line_at(bytes: &[u8], offset: usize) -> usize {
    memchr_iter(b'\n', &bytes[..offset.min(bytes.len())]).count() + 1
}

/// Returns the offset of the first byte of the line that contains `offset`.
pub fn line_start(bytes: &[u8], offset: usize) -> usize {
    memrchr(b'\n', &bytes[..offset.min(bytes.len())]).map_or(0, |at| at + 1)
}

/// Returns the offset after the line that contains `offset`, including its line ending.
pub fn line_end(bytes: &[u8], offset: usize) -> usize {
    let offset = offset.min(bytes.len());
    memchr::memchr(b'\n', &bytes[offset..]).map_or(bytes.len(), |at| offset + at + 1)
}

/// Splits a line into its content and its ending (`\r\n`, `\n` or nothing).
pub fn split_ending(line: &str) -> (&str, &str) {
    let content = line
        .strip_suffix("\r\n")
        .or_else(|| line.strip_suffix('\n'))
        .unwrap_or(line);
    (content, &line[content.len()..])
}

/// Returns the text with every `\r\n` replaced by `\n`; borrowed if there is none.
pub fn to_lf(text: &str) -> Cow<'_, str> {
    let mut pairs = memchr::memmem::find_iter(text.as_bytes(), b"\r\n").peekable();
    if pairs.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for at in pairs {
        out.push_str(&text[from..at]);
        from = at + 1;
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_endings_have_names() {
        for (text, expected) in [
            ("", "none"),
            ("a", "none"),
            ("a\n", "lf"),
            ("a\r\nb\r\n", "crlf"),
            ("a\rb", "cr"),
            ("a\r\nb\n", "mixed"),
            ("a\r\r\n", "mixed"),
        ] {
            assert_eq!(
                LineEndings::of(text.as_bytes()).name(),
                expected,
                "{text:?}"
            );
        }
    }

    #[test]
    fn lines_are_counted_across_pieces() {
        let pieces: [&[u8]; 4] = [b"a\nb", b"", b"\n", b"c\n"];
        assert_eq!(
            lines_of(pieces, &[0, 1, 2, 3, 4, 4, 5, 6, 99]),
            [1, 1, 2, 2, 3, 3, 3, 4, 4]
        );
        assert_eq!(lines_of([], &[0]), [1]);
    }

    #[test]
    fn split_ending_keeps_line_ending() {
        assert_eq!(split_ending("a\r\n"), ("a", "\r\n"));
        assert_eq!(split_ending("a\r"), ("a\r", ""));
        assert_eq!(to_lf("a\r\nb\rc\n"), "a\nb\rc\n");
        assert_eq!((line_start(b"ab\ncd", 4), line_end(b"ab\ncd", 1)), (3, 3));
    }
}
