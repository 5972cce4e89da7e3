//! Values of prepared statements of `MySQL` ("Client/Server Protocol", `COM_STMT_EXECUTE`, "Binary Protocol Value").

use super::sql;
use super::walk::Replace;

/// Command, number of the statement, flags, count of iterations.
const HEAD_BYTES: usize = 10;

/// `COM_STMT_EXECUTE` of a statement with so many parameters, with others of these values. Types are given with it.
pub(super) fn executed(
    payload: &[u8],
    secret: &sql::Parameters,
    count: usize,
    replace: Replace<'_>,
) -> Option<Vec<u8>> {
    if count == 0 {
        return None;
    }
    let nulls = payload.get(HEAD_BYTES..HEAD_BYTES + count.div_ceil(8))?;
    let types = HEAD_BYTES + nulls.len() + 1;
    if payload.get(types - 1) != Some(&1) {
        return None;
    }
    let (mut at, mut kept, mut out) = (types + 2 * count, 0, Vec::new());
    for number in 0..count {
        if nulls[number / 8] & (1 << (number % 8)) != 0 {
            continue;
        }
        let start = at;
        let inside = value(payload, payload.get(types + 2 * number).copied()?, &mut at)?;
        let text = payload.get(inside.clone()).filter(|text| !text.is_empty());
        let other = text.and_then(|text| match secret.get(&number) {
            Some(name) => replace(&sql::secret(name, text)?),
            None => sql::bound(text, replace),
        });
        if let Some(other) = other {
            out.extend_from_slice(&payload[kept..start]);
            out.extend(counted(other.len()));
            out.extend_from_slice(&other);
            kept = at;
        }
    }
    out.extend_from_slice(if kept == 0 { &[] } else { payload.get(kept..)? });
    (kept > 0).then_some(out)
}

/// Passes over the value of this type that begins here; where its text is, if it is one, else `0..0`.
pub(in crate::record) fn value(payload: &[u8], kind: u8, at: &mut usize) -> Option<std::ops::Range<usize>> {
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

/// A length before a text.
fn counted(length: usize) -> Vec<u8> {
    match length {
        0..251 => vec![length as u8],
        251..0x1_0000 => [&[0xfc][..], &(length as u16).to_le_bytes()].concat(),
        _ => [&[0xfd][..], &(length as u32).to_le_bytes()[..3]].concat(),
    }
}
