//! Lines of a protocol, and their words.

use crate::protocol::dialogue::Fault;

/// Longest line, in bytes.
const MAX_LINE_BYTES: usize = 1 << 20;

/// Returns the first line without its end; `None` while it is incomplete.
pub(super) fn first(bytes: &[u8]) -> Result<Option<&[u8]>, Fault> {
    match memchr::memmem::find(bytes, b"\r\n") {
        None if bytes.len() >= MAX_LINE_BYTES => Err("a line of more than 1 MiB"),
        end => Ok(end.map(|end| &bytes[..end])),
    }
}

/// Returns the first line of a frame without its end.
pub(super) fn of(frame: &[u8]) -> Option<&[u8]> {
    first(frame).ok()?
}

/// Returns the words of the first line of a frame.
pub(super) fn words(frame: &[u8]) -> impl Iterator<Item = &[u8]> {
    of(frame)
        .unwrap_or_default()
        .split(|byte| matches!(byte, b' ' | b'\t'))
        .filter(|word| !word.is_empty())
}

/// Returns true if the first word of a frame is this one, in any case.
pub(super) fn is(frame: &[u8], word: &[u8]) -> bool {
    frame
        .get(..word.len())
        .is_some_and(|first| first.eq_ignore_ascii_case(word))
        && frame.get(word.len()).is_none_or(u8::is_ascii_whitespace)
}

/// Parses a length in bytes.
pub(super) fn size(word: Option<&[u8]>) -> Result<usize, Fault> {
    word.and_then(|word| str::from_utf8(word).ok()?.parse().ok())
        .ok_or("a line without the length of its data")
}
