//! Characters beyond U+FFFF, which patterns without the flag `u` write as two UTF-16 units.
//!
//! A text is searched by whole characters, so a half matches nothing by itself. Where two of them,
//! or two classes of them, follow each other, they are meant to be characters:
//! `\ud83d[\ude00-\ude4f]`, `[\ud800-\udbff][\udc00-\udfff]`.

use crate::limits::MAX_PATTERN_PRODUCT;

use super::super::ast::Class;
use super::super::error::PatternError;
use std::ops::RangeInclusive;

/// The first units of pairs (Unicode, 3.9, D91).
pub(super) const LEAD: RangeInclusive<u32> = 0xD800..=0xDBFF;
pub(super) const TRAIL: RangeInclusive<u32> = 0xDC00..=0xDFFF;

/// A set of units that are all leads or all trails, as ranges.
pub(super) enum Half {
    Lead(Vec<(u32, u32)>),
    Trail(Vec<(u32, u32)>),
}

/// The code point of a pair.
pub(super) fn pair(lead: u32, trail: u32) -> u32 {
    0x1_0000 + ((lead - LEAD.start()) << 10) + (trail - TRAIL.start())
}

/// The lead of a code point beyond U+FFFF.
pub(super) fn lead_of(code: u32) -> u32 {
    LEAD.start() + ((code - 0x1_0000) >> 10)
}

/// All characters with a lead and a trail out of these.
pub(super) fn join(lead: &[(u32, u32)], trail: &[(u32, u32)]) -> Result<Class, PatternError> {
    let leads: usize = lead
        .iter()
        .map(|(first, last)| (last - first) as usize + 1)
        .sum();
    if leads.saturating_mul(trail.len()) > MAX_PATTERN_PRODUCT {
        return Err(PatternError::TooLarge);
    }
    let mut ranges = Vec::with_capacity(leads * trail.len());
    for lead in lead.iter().flat_map(|(first, last)| *first..=*last) {
        ranges.extend(
            trail
                .iter()
                .map(|(first, last)| (pair(lead, *first), pair(lead, *last))),
        );
    }
    Ok(Class::of_code_points(&ranges))
}

pub(super) fn hexadecimal(text: &str, digits: usize) -> Option<u32> {
    let digits = text
        .get(..digits)
        .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
    u32::from_str_radix(digits, 16).ok()
}

/// Four hexadecimal digits, or two times four with `\u` between them that are the halves of one
/// character: the code and its length in bytes. A half alone is its code, a surrogate.
pub(super) fn unit_or_pair(text: &str) -> Option<(u32, usize)> {
    let unit = hexadecimal(text, 4)?;
    if LEAD.contains(&unit)
        && let Some(trail) = text[4..]
            .strip_prefix("\\u")
            .and_then(|rest| hexadecimal(rest, 4))
        && TRAIL.contains(&trail)
    {
        return Some((pair(unit, trail), "d83d\\ude00".len()));
    }
    Some((unit, 4))
}
