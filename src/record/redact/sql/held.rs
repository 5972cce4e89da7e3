//! What values hold that are no secrets themselves: JSON with secrets in it, addresses.

use crate::record::redact::plain::addresses;
use crate::record::redact::walk::{Replace, within};

/// What a text holds: JSON, or how something else is reached. `escapes` is whether `\` has a meaning in it.
pub(super) fn replaced(value: &[u8], escapes: bool, replace: Replace<'_>) -> Option<Vec<u8>> {
    if !escapes || memchr::memchr(b'\\', value).is_none() {
        return within(value, replace);
    }
    let mut plain = Vec::with_capacity(value.len());
    let mut bytes = value.iter();
    while let Some(byte) = bytes.next() {
        plain.push(if *byte == b'\\' { *bytes.next()? } else { *byte });
    }
    let marked = |plain: &[u8], marks: &[u8]| -> Vec<u8> {
        let mark = |byte: &u8| if marks.contains(byte) { vec![b'\\', *byte] } else { vec![*byte] };
        plain.iter().flat_map(mark).collect()
    };
    // Where it was written in another way, it could not be written again.
    let Some(marks) = [&b"\\'\""[..], b"\\'"].into_iter().find(|marks| marked(&plain, marks) == value) else {
        return addresses(value, replace);
    };
    within(&plain, replace).map(|other| marked(&other, marks))
}

/// The value of a parameter that is no secret itself with other secrets in it, if it is JSON: as text, or behind the number of
/// a version (`jsonb_recv`).
pub(in crate::record::redact) fn bound(value: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
    let length = usize::from(value.first() == Some(&1));
    let (version, text) = value.split_at(length);
    let is_json = matches!(text.first(), Some(b'{' | b'[')) && std::str::from_utf8(text).is_ok();
    let other = if is_json { within(text, replace)? } else { return None };
    Some([version, &other].concat())
}
