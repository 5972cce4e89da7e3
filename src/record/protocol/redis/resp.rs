//! Framing of RESP messages, and parsing of simple elements.

use memchr::memchr;

use crate::call::Side;
use crate::protocol::dialogue::Fault;

/// Deepest nesting of a Redis reply.
const MAX_RESP_DEPTH: usize = 128;
/// Longest line of a Redis message, in bytes (`PROTO_INLINE_MAX_SIZE` of Redis is 64 KiB).
const MAX_RESP_LINE_BYTES: usize = 64 * 1024;

/// Incremental search for the end of the first message; reads each byte once.
#[derive(Debug, Default)]
pub(super) struct FrameScanner {
    /// Offset of the first incomplete element.
    at: usize,
    /// Offset up to which its first line was searched for its end.
    searched: usize,
    /// Number of missing elements of each open aggregate, the innermost last.
    open: Vec<u64>,
}

impl FrameScanner {
    /// Returns the length of the first message, once it is complete. The next call begins with the
    /// message after it.
    pub(super) fn length(&mut self, from: Side, bytes: &[u8]) -> Result<Option<usize>, Fault> {
        loop {
            let start = self.at.max(self.searched);
            let Some(found) = memchr(b'\n', &bytes[start..]) else {
                self.searched = bytes.len();
                let too_long = bytes.len() - self.at > MAX_RESP_LINE_BYTES;
                return if too_long {
                    Err("a line of RESP is longer than 64 KiB")
                } else {
                    Ok(None)
                };
            };
            let end = start + found + 1;
            let line = &bytes[self.at..end];
            let kind = line[0];
            if from == Side::Client && kind != b'*' && self.open.is_empty() && self.at == 0 {
                return Ok(Some(self.whole(end)));
            }
            let Some(head) = line.strip_suffix(b"\r\n").filter(|head| !head.is_empty()) else {
                return Err("a line of RESP does not end with CRLF");
            };
            let (next, children) = match kind {
                b'+' | b'-' | b':' | b'_' | b',' | b'#' | b'(' if from == Side::Server => (end, 0),
                b'$' | b'!' | b'=' => match number(&head[1..])? {
                    -1 => (end, 0),
                    length => {
                        let length =
                            usize::try_from(length).map_err(|_| "a length of RESP is negative")?;
                        let next = end.saturating_add(length).saturating_add(2);
                        if bytes.len() < next {
                            self.searched = end - 1;
                            return Ok(None);
                        }
                        if &bytes[next - 2..next] != b"\r\n" {
                            return Err("a string of RESP does not end with CRLF");
                        }
                        (next, 0)
                    }
                },
                b'*' | b'~' | b'>' | b'%' | b'|' => {
                    let count = match number(&head[1..])? {
                        -1 => 0,
                        count => u64::try_from(count).map_err(|_| "a count of RESP is negative")?,
                    };
                    match kind {
                        b'%' => (end, count.saturating_mul(2)),
                        // Attributes precede an element and count as one with it.
                        b'|' => (end, count.saturating_mul(2).saturating_add(1)),
                        _ => (end, count),
                    }
                }
                _ => return Err("a RESP element has an unknown type"),
            };
            self.at = next;
            self.searched = 0;
            if children > 0 {
                if self.open.len() == MAX_RESP_DEPTH {
                    return Err("a Redis reply is nested deeper than 128 levels");
                }
                self.open.push(children);
            } else if self.element_ends() {
                return Ok(Some(self.whole(next)));
            }
        }
    }

    fn element_ends(&mut self) -> bool {
        while let Some(left) = self.open.last_mut() {
            *left -= 1;
            if *left > 0 {
                return false;
            }
            self.open.pop();
        }
        true
    }

    fn whole(&mut self, length: usize) -> usize {
        *self = Self::default();
        length
    }
}

fn number(text: &[u8]) -> Result<i64, Fault> {
    std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or("a RESP length is not a number")
}

/// Returns the words of a command; empty if it is malformed.
pub(super) fn words(bytes: &[u8]) -> Vec<&[u8]> {
    command(bytes).map(|(words, _)| words).unwrap_or_default()
}

/// Returns the simple elements of an array, up to the first other element.
pub(super) fn elements(array: &[u8]) -> Vec<&[u8]> {
    let Some((_, mut rest)) = line(array) else {
        return Vec::new();
    };
    let next = || match rest.first()? {
        b'$' => string(&mut rest),
        b':' | b'+' | b'_' => {
            let (head, after) = line(rest)?;
            rest = after;
            Some(&head[1..])
        }
        _ => None,
    };
    std::iter::from_fn(next).collect()
}

/// Reads a string with a length prefix; empty if it is null.
fn string<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (head, after) = line(rest)?;
    let (word, after) = match number(head.strip_prefix(b"$")?).ok()? {
        -1 => (&b""[..], after),
        length => {
            let (word, after) = after.split_at_checked(usize::try_from(length).ok()?)?;
            (word, after.strip_prefix(b"\r\n")?)
        }
    };
    *rest = after;
    Some(word)
}

fn line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr(b'\n', bytes)?;
    let head = &bytes[..end];
    Some((head.strip_suffix(b"\r").unwrap_or(head), &bytes[end + 1..]))
}

/// Parses the command at the start, in either of its forms; returns its words and the rest.
pub(crate) fn command(bytes: &[u8]) -> Option<(Vec<&[u8]>, &[u8])> {
    let (head, mut rest) = line(bytes)?;
    let Some(count) = head.strip_prefix(b"*") else {
        return Some((
            head.split(u8::is_ascii_whitespace)
                .filter(|word| !word.is_empty())
                .collect(),
            rest,
        ));
    };
    // No allocation by count: it may be large without any data.
    let mut words = Vec::new();
    for _ in 0..usize::try_from(number(count).ok()?).ok()? {
        words.push(string(&mut rest)?);
    }
    Some((words, rest))
}
