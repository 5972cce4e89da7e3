//! Excerpt of a line. A very long line is cut around its match, with a note.

use std::ops::Range;

/// Longest line that a search shows whole, in bytes.
const MAX_SHOWN_BYTES: usize = 2000;
/// Length of a long line that is shown before its match, in bytes, if the match is not near the
/// beginning.
const SHOWN_BEFORE_MATCH_BYTES: usize = 500;

/// Returns a line as text, without its ending. Invalid UTF-8 becomes U+FFFD. Of a long line
/// [`MAX_SHOWN_BYTES`] are shown. They start at the line's beginning if that includes the match,
/// which is computed only then.
pub(super) fn excerpt(line: &[u8], matched: impl FnOnce(&[u8]) -> Option<Range<usize>>) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() <= MAX_SHOWN_BYTES {
        return String::from_utf8_lossy(line).into_owned();
    }
    let matched = matched(line).unwrap_or(0..0);
    let from = if matched.end <= MAX_SHOWN_BYTES {
        0
    } else {
        matched.start.saturating_sub(SHOWN_BEFORE_MATCH_BYTES)
    };
    let from = boundary(line, from.min(line.len() - MAX_SHOWN_BYTES));
    let to = boundary(line, from + MAX_SHOWN_BYTES);
    let before = if from > 0 {
        format!("[{from} bytes ...] ")
    } else {
        String::new()
    };
    let after = if to < line.len() {
        format!(" [... {} more bytes]", line.len() - to)
    } else {
        String::new()
    };
    format!(
        "{before}{}{after}",
        String::from_utf8_lossy(&line[from..to])
    )
}

/// The beginning of the character in which `at` lies.
fn boundary(line: &[u8], at: usize) -> usize {
    let starts = |at: usize| line.get(at).is_none_or(|byte| byte & 0xc0 != 0x80);
    (at.saturating_sub(3)..=at)
        .rev()
        .find(|&at| starts(at))
        .unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_line_is_cut_between_characters() {
        let line = "é".repeat(MAX_SHOWN_BYTES);
        let half = "é".repeat(MAX_SHOWN_BYTES / 2);
        assert_eq!(
            excerpt(line.as_bytes(), |_| None),
            format!("{half} [... {MAX_SHOWN_BYTES} more bytes]")
        );
    }

    #[test]
    fn match_far_inside_long_line_is_shown() {
        let line = format!("{}needle{}\r\n", "a".repeat(10_000), "b".repeat(10_000));
        let found = |line: &[u8]| memchr::memmem::find(line, b"needle").map(|at| at..at + 6);
        let before = SHOWN_BEFORE_MATCH_BYTES;
        let after = MAX_SHOWN_BYTES - before - 6;
        let expected = format!(
            "[{} bytes ...] {}needle{} [... {} more bytes]",
            10_000 - before,
            "a".repeat(before),
            "b".repeat(after),
            10_000 - after
        );
        assert_eq!(excerpt(line.as_bytes(), found), expected);
        let end = format!("{}needle", "a".repeat(10_000));
        let expected = format!(
            "[{} bytes ...] {}needle",
            10_006 - MAX_SHOWN_BYTES,
            "a".repeat(MAX_SHOWN_BYTES - 6)
        );
        assert_eq!(excerpt(end.as_bytes(), found), expected);
    }
}
