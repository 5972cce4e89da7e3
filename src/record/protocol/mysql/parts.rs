//! Parser of `MySQL` commands ("Command Phase").

use std::collections::BTreeSet;
use std::ops::Range;

use super::packet::{self, command};
use crate::protocol::part_list::{PartList, Placeholders, readable};
use crate::protocol::sql;

/// Command, statement id, flags, iteration count.
const EXECUTE_HEAD_BYTES: usize = 10;
/// Command, statement id, parameter number.
const LONG_DATA_HEAD_BYTES: usize = 7;

/// Parses `COM_QUERY`, `COM_STMT_PREPARE`, and executions of prepared statements.
pub(crate) fn parts(bytes: &[u8], taken: &mut PartList) -> Option<()> {
    let payload = packet::payload(bytes);
    // Other sequence numbers belong to answers to the server.
    if packet::sequence(bytes) != 0 {
        return None;
    }
    match payload.split_first()? {
        (&code @ (command::QUERY | command::PREPARE), text) => {
            if code == command::PREPARE {
                taken.prepared = Placeholders {
                    parameters: sql::parameters(text),
                    long: BTreeSet::new(),
                };
            }
            taken.head(&[code]);
            taken.statement(text, true);
            Some(())
        }
        (&command::LONG_DATA, _) => {
            let (head, data) = payload.split_at_checked(LONG_DATA_HEAD_BYTES)?;
            let number = usize::from(u16::from_le_bytes([head[5], head[6]]));
            taken.prepared.long.insert(number);
            taken.head(head);
            taken.value(format!("param.{}", number + 1), data, readable(data, false));
            Some(())
        }
        (&command::EXECUTE, _) => executed(payload, taken),
        _ => None,
    }
}

/// Parses an execution: NULL bitmap, flag for types, two bytes per type, values.
fn executed(payload: &[u8], taken: &mut PartList) -> Option<()> {
    let count = taken.prepared.parameters;
    let nulls = payload.get(EXECUTE_HEAD_BYTES..EXECUTE_HEAD_BYTES + count.div_ceil(8))?;
    let types = EXECUTE_HEAD_BYTES + nulls.len() + 1;
    if count == 0 || payload.get(types - 1) != Some(&1) {
        return None;
    }
    let mut at = types + 2 * count;
    taken.head(payload.get(..at)?);
    for number in 0..count {
        if nulls[number / 8] & (1 << (number % 8)) != 0 || taken.prepared.long.contains(&number) {
            continue;
        }
        let kind = &payload[types + 2 * number..types + 2 * number + 2];
        let start = at;
        let inside = value(payload, kind[0], &mut at)?;
        let value = payload.get(start..at)?;
        let text = if inside.end == 0 {
            fixed(kind, value)
        } else {
            readable(payload.get(inside)?, false)
        };
        taken.value(format!("param.{}", number + 1), value, text);
    }
    taken.head(payload.get(at..)?);
    Some(())
}

/// Skips the value of this type and returns the range of its text, or `0..0` if it is not text.
fn value(payload: &[u8], kind: u8, at: &mut usize) -> Option<Range<usize>> {
    let fixed = match kind {
        6 => Some(0),
        1 => Some(1),
        2 | 13 => Some(2),
        3 | 4 | 9 => Some(4),
        5 | 8 => Some(8),
        // Dates and times begin with their length.
        7 | 10..=12 => Some(1 + usize::from(*payload.get(*at)?)),
        _ => None,
    };
    if let Some(length) = fixed {
        *at += length;
        return Some(0..0);
    }
    let mut rest = payload.get(*at..)?;
    let length = usize::try_from(packet::integer(&mut rest).ok()?).ok()?;
    let start = payload.len() - rest.len();
    *at = start
        .checked_add(length)
        .filter(|end| *end <= payload.len())?;
    Some(start..*at)
}

/// Formats a value of a non-text type ("Binary Protocol Value"). The second byte of a type marks
/// unsigned numbers.
fn fixed(kind: &[u8], value: &[u8]) -> String {
    let number = || {
        let mut bytes = if kind[1] & 0x80 == 0 && value.last().is_some_and(|last| last & 0x80 != 0)
        {
            [0xff; 8]
        } else {
            [0; 8]
        };
        bytes[..value.len()].copy_from_slice(value);
        if kind[1] & 0x80 == 0 {
            i64::from_le_bytes(bytes).to_string()
        } else {
            u64::from_le_bytes(bytes).to_string()
        }
    };
    match (kind[0], value) {
        (1 | 2 | 3 | 8 | 9 | 13, _) => number(),
        (4, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]).to_string(),
        (5, _) => f64::from_le_bytes(value.first_chunk().copied().unwrap_or_default()).to_string(),
        // Length, year, month, day; hour, minute, second; microseconds.
        (7 | 10 | 12, &[_, low, high, month, day, ref time @ ..]) => {
            let date = format!("{:04}-{month:02}-{day:02}", u16::from_le_bytes([low, high]));
            match *time {
                [hour, minute, second, a, b, c, d] => {
                    let micros = u32::from_le_bytes([a, b, c, d]);
                    format!("{date} {hour:02}:{minute:02}:{second:02}.{micros:06}")
                }
                [hour, minute, second] => format!("{date} {hour:02}:{minute:02}:{second:02}"),
                _ => date,
            }
        }
        _ => readable(value, false),
    }
}
