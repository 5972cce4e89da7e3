//! Commands of `MySQL` ("Command Phase").

use std::collections::BTreeSet;
use std::ops::Range;

use super::{Taken, readable};
use crate::record::protocol::sql;

/// Length and sequence number of a packet.
const PACKET_HEAD_BYTES: usize = 4;
/// Payload of a packet that another one follows.
const FULL_BYTES: usize = 0xff_ffff;
const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_SEND_LONG_DATA: u8 = 0x18;
/// Command, number of the statement, flags, count of iterations.
const EXECUTE_HEAD_BYTES: usize = 10;
/// Command, number of the statement, number of the parameter.
const LONG_DATA_HEAD_BYTES: usize = 7;

/// What is to be known of a statement when it is carried out.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    parameters: usize,
    /// Those that were sent ahead, from 0.
    long: BTreeSet<usize>,
}

impl Taken {
    /// `COM_QUERY`, `COM_STMT_PREPARE`, and what carries a prepared statement out.
    pub(super) fn mysql(&mut self, bytes: &[u8]) -> Option<()> {
        let (head, payload) = bytes.split_at_checked(PACKET_HEAD_BYTES)?;
        // What follows a request for a file has other numbers.
        if head[PACKET_HEAD_BYTES - 1] != 0 || payload.len() >= FULL_BYTES {
            return None;
        }
        match payload.split_first()? {
            (&command @ (COM_QUERY | COM_STMT_PREPARE), text) => {
                if command == COM_STMT_PREPARE {
                    self.prepared = Prepared { parameters: sql::parameters(text), long: BTreeSet::new() };
                }
                self.head(&[command]);
                self.statement(text, true);
                Some(())
            }
            (&COM_STMT_SEND_LONG_DATA, _) => {
                let (head, data) = payload.split_at_checked(LONG_DATA_HEAD_BYTES)?;
                let number = usize::from(u16::from_le_bytes([head[5], head[6]]));
                self.prepared.long.insert(number);
                self.head(head);
                self.value(format!("param.{}", number + 1), data, readable(data, false));
                Some(())
            }
            (&COM_STMT_EXECUTE, _) => self.executed(payload),
            _ => None,
        }
    }

    /// Bits of what is NULL, whether types follow, two bytes of each type, the values.
    fn executed(&mut self, payload: &[u8]) -> Option<()> {
        let count = self.prepared.parameters;
        let nulls = payload.get(EXECUTE_HEAD_BYTES..EXECUTE_HEAD_BYTES + count.div_ceil(8))?;
        let types = EXECUTE_HEAD_BYTES + nulls.len() + 1;
        if count == 0 || payload.get(types - 1) != Some(&1) {
            return None;
        }
        let mut at = types + 2 * count;
        self.head(payload.get(..at)?);
        for number in 0..count {
            if nulls[number / 8] & (1 << (number % 8)) != 0 || self.prepared.long.contains(&number) {
                continue;
            }
            let kind = &payload[types + 2 * number..types + 2 * number + 2];
            let start = at;
            let inside = value(payload, kind[0], &mut at)?;
            let value = payload.get(start..at)?;
            let text = if inside.end == 0 { fixed(kind, value) } else { readable(payload.get(inside)?, false) };
            self.value(format!("param.{}", number + 1), value, text);
        }
        self.head(payload.get(at..)?);
        Some(())
    }
}

/// Passes over the value of this type that begins here; where its text is, if it is one, else `0..0`.
fn value(payload: &[u8], kind: u8, at: &mut usize) -> Option<Range<usize>> {
    let fixed = match kind {
        6 => Some(0),
        1 => Some(1),
        2 | 13 => Some(2),
        3 | 4 | 9 => Some(4),
        5 | 8 => Some(8),
        // Dates and times have their length before them.
        7 | 10..=12 => Some(1 + usize::from(*payload.get(*at)?)),
        _ => None,
    };
    if let Some(length) = fixed {
        *at += length;
        return Some(0..0);
    }
    let size = match *payload.get(*at)? {
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        _ => 0,
    };
    let length = if size == 0 {
        u64::from(payload[*at])
    } else {
        let bytes = payload.get(*at + 1..*at + 1 + size)?;
        bytes.iter().rev().fold(0, |length, byte| length << 8 | u64::from(*byte))
    };
    let start = *at + 1 + size;
    *at = start.checked_add(usize::try_from(length).ok()?).filter(|end| *end <= payload.len())?;
    Some(start..*at)
}

/// A value of a type that is no text, as it is told ("Binary Protocol Value"). The second byte of a type says whether a number has
/// no sign.
fn fixed(kind: &[u8], value: &[u8]) -> String {
    let number = || {
        let mut bytes =
            if kind[1] & 0x80 == 0 && value.last().is_some_and(|last| last & 0x80 != 0) { [0xff; 8] } else { [0; 8] };
        bytes[..value.len()].copy_from_slice(value);
        if kind[1] & 0x80 == 0 { i64::from_le_bytes(bytes).to_string() } else { u64::from_le_bytes(bytes).to_string() }
    };
    match (kind[0], value) {
        (1 | 2 | 3 | 8 | 9 | 13, _) => number(),
        (4, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]).to_string(),
        (5, _) => <[u8; 8]>::try_from(value)
            .map_or_else(|_| readable(value, false), |bytes| f64::from_le_bytes(bytes).to_string()),
        // The length, year, month, day; hour, minute, second; microseconds.
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
