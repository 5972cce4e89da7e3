//! Frames of unknown protocols: their length, and their number.

use crate::call::Framing;
use crate::protocol::byte_parts::byte_parts;
use crate::protocol::dialogue::Fault;
use crate::protocol::part_list::{PartList, readable};

/// Bytes of a number that is random. Others count.
pub(crate) const RANDOM_BYTES: u8 = 8;
/// Longest line, in bytes.
const MAX_LINE_BYTES: usize = 1 << 20;

/// Returns the length of the first frame; `None` while it is unknown.
pub(crate) fn length(framing: Framing, bytes: &[u8]) -> Result<Option<usize>, Fault> {
    let [at, width, little, uncounted, ..] = framing.0.map(usize::from);
    if width == 0 {
        return match memchr::memchr(b'\n', bytes) {
            None if bytes.len() >= MAX_LINE_BYTES => Err("a line of more than 1 MiB"),
            end => Ok(end.map(|end| end + 1)),
        };
    }
    let Some(field) = bytes.get(at..at + width) else {
        return Ok(None);
    };
    let counted = usize::try_from(value(field, little != 0)).unwrap_or(usize::MAX);
    match counted.saturating_add(uncounted) {
        length if length < at + width => Err("a frame that is shorter than its header"),
        length => Ok(Some(length)),
    }
}

/// Reads an integer.
pub(crate) fn value(bytes: &[u8], is_little_endian: bool) -> u64 {
    let add = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
    if is_little_endian {
        bytes.iter().rev().fold(0, add)
    } else {
        bytes.iter().fold(0, add)
    }
}

/// Copies the number of a call into its answer.
pub(crate) fn renumber(framing: Framing, recorded: &[u8], asked: &[u8], answer: &mut [u8]) {
    let recorded = framing.number_in(recorded, false);
    if let Some(asked) = framing.number_in(asked, false)
        && recorded.is_some()
        && recorded == framing.number_in(answer, true)
    {
        answer[framing.number_at(true)].copy_from_slice(asked);
    }
}

/// Takes a request apart, without a number that counts.
pub(crate) fn parts(framing: Framing, frame: &[u8], taken: &mut PartList) {
    byte_parts(&unnumbered(framing, frame, false), taken);
    let number = framing.number_in(frame, false);
    if let Some(number) = number.filter(|number| number.len() == usize::from(RANDOM_BYTES)) {
        // Compared as a UUID: an equal one is preferred, another one is new.
        let id = number.repeat(2);
        taken.value("number".to_owned(), &id, readable(&id, true));
    }
}

/// Returns a frame with zeros in place of its number.
pub(crate) fn unnumbered(framing: Framing, frame: &[u8], is_answer: bool) -> Vec<u8> {
    let mut frame = frame.to_vec();
    if let Some(number) = frame.get_mut(framing.number_at(is_answer)) {
        number.fill(0);
    }
    frame
}
