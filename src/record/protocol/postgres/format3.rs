//! Reader of calls in format 3, whose statements end with their metadata, as comments.

use std::collections::HashMap;
use std::num::ParseIntError;

use super::message;
use super::statement_names::portal_digest;
use crate::call::{Side, Wire};

/// Digests of portals by those in format 3, which also covered the metadata.
pub(crate) type PortalDigests = HashMap<String, String>;

/// Moves the metadata of a call from the ends of its statements to `meta`.
pub(crate) fn move_metadata(wire: &mut Wire, portals: &mut PortalDigests) {
    let Wire { messages, meta, .. } = wire;
    for asked in messages.iter_mut().filter(|it| it.from == Side::Client) {
        let bytes = &asked.bytes;
        let Some(at) = message::statement(bytes) else {
            continue;
        };
        let mut text = &bytes[at.clone()];
        match (bytes[0], bytes[message::HEAD]) {
            (b'E', _) => {
                let rows = cut(&mut text, "after", |rows| rows.parse().ok());
                let Some(bound) = cut(&mut text, "bound", digest) else {
                    continue;
                };
                meta.rows_before = rows.unwrap_or(0);
                meta.bound = portals.get(&bound).cloned().unwrap_or(bound);
            }
            (b'D', b'P') => {
                meta.results = cut(&mut text, "results", formats).unwrap_or_default();
            }
            (b'D' | b'B', _) => {}
            _ => continue,
        }
        if let Some(types) = cut(&mut text, "types", types) {
            meta.types = types;
        }
        let whole = message::message(
            bytes[0],
            &[&bytes[message::HEAD..at.start], text, &bytes[at.end..]],
        );
        if bytes[0] == b'B' && whole != *bytes {
            portals.insert(portal_digest(bytes), portal_digest(&whole));
        }
        asked.bytes = whole;
    }
}

/// Removes the comment with this name from the end of a statement, if its value is well-formed.
fn cut<T>(text: &mut &[u8], name: &str, read: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    let mark = format!(" -- {name} ");
    let at = memchr::memmem::rfind(text, mark.as_bytes())?;
    let value = read(std::str::from_utf8(&text[at + mark.len()..]).ok()?)?;
    *text = &text[..at];
    Some(value)
}

fn types(digits: &str) -> Option<Vec<u32>> {
    numbers(digits, 8, u32::from_str_radix).filter(|types| !types.is_empty())
}

/// Reads the formats of results after their count.
fn formats(digits: &str) -> Option<Vec<u16>> {
    let mut formats = numbers(digits, 4, u16::from_str_radix)?.into_iter();
    let count = usize::from(formats.next()?);
    (formats.len() == count).then(|| formats.collect())
}

fn digest(digits: &str) -> Option<String> {
    let numbers = numbers(digits, 32, u128::from_str_radix)?;
    (numbers.len() == 1).then(|| digits.to_owned())
}

/// Reads numbers of this many hexadecimal digits each.
fn numbers<T>(
    digits: &str,
    width: usize,
    read: fn(&str, u32) -> Result<T, ParseIntError>,
) -> Option<Vec<T>> {
    let is_whole = digits.len().is_multiple_of(width)
        && digits
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let number = |at| read(&digits[at..at + width], 16).ok();
    let all = || (0..digits.len()).step_by(width).map(number).collect();
    is_whole.then(all).flatten()
}
