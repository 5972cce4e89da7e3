//! Characters of bytes that need not be UTF-8: a byte that is no part of a character reads as
//! U+FFFD.
//!
//! Reading to the left gives the same characters as reading to the right, because no two characters
//! overlap in UTF-8.

/// The character that begins at `at`, and where it ends; `None` at the end of the text.
#[inline]
pub(super) fn next(text: &[u8], at: usize) -> Option<(char, usize)> {
    let first = *text.get(at)?;
    if first.is_ascii() {
        Some((char::from(first), at + 1))
    } else {
        Some(wide(text, at, first))
    }
}

/// The character that ends at `at`, and where it begins; `None` at the beginning of the text.
#[inline]
pub(super) fn previous(text: &[u8], at: usize) -> Option<(char, usize)> {
    let last = *text.get(at.checked_sub(1)?)?;
    if last.is_ascii() {
        Some((char::from(last), at - 1))
    } else {
        Some(wide_before(text, at))
    }
}

/// [`next`] or, with `back`, [`previous`].
#[inline]
pub(super) fn step(text: &[u8], at: usize, back: bool) -> Option<(char, usize)> {
    if back {
        previous(text, at)
    } else {
        next(text, at)
    }
}

/// A character of more than one byte. The bounds of its second byte are those of table 3-7 of the
/// Unicode standard.
fn wide(text: &[u8], at: usize, first: u8) -> (char, usize) {
    let tail = |i: usize| {
        text.get(at + i)
            .copied()
            .filter(|byte| byte & 0xC0 == 0x80)
            .map(|byte| u32::from(byte & 0x3F))
    };
    let second = |low: u8, high: u8| {
        text.get(at + 1)
            .is_some_and(|byte| (low..=high).contains(byte))
    };
    let lead = u32::from(first);
    let decoded = match first {
        0xC2..=0xDF => tail(1).map(|b| ((lead & 0x1F) << 6 | b, 2)),
        0xE0..=0xEF => {
            let (low, high) = match first {
                0xE0 => (0xA0, 0xBF),
                0xED => (0x80, 0x9F),
                _ => (0x80, 0xBF),
            };
            tail(1)
                .zip(tail(2))
                .filter(|_| second(low, high))
                .map(|(b, c)| ((lead & 0x0F) << 12 | b << 6 | c, 3))
        }
        0xF0..=0xF4 => {
            let (low, high) = match first {
                0xF0 => (0x90, 0xBF),
                0xF4 => (0x80, 0x8F),
                _ => (0x80, 0xBF),
            };
            let tails = tail(1)
                .zip(tail(2))
                .zip(tail(3))
                .filter(|_| second(low, high));
            tails.map(|((b, c), d)| ((lead & 0x07) << 18 | b << 12 | c << 6 | d, 4))
        }
        _ => None,
    };
    let character = decoded.and_then(|(code, length)| Some((char::from_u32(code)?, at + length)));
    character.unwrap_or((char::REPLACEMENT_CHARACTER, at + 1))
}

fn wide_before(text: &[u8], at: usize) -> (char, usize) {
    for start in (at.saturating_sub(4)..at.saturating_sub(1)).rev() {
        if text[start] >= 0xC0 {
            let (character, end) = wide(text, start, text[start]);
            if end == at {
                return (character, start);
            }
            break;
        }
    }
    (char::REPLACEMENT_CHARACTER, at - 1)
}

/// Returns true if this character is a line terminator (ECMA-262, 12.3).
#[inline]
pub(super) fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

/// Returns true if `\b` counts this character as part of a word.
#[inline]
pub(super) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Characters = Vec<(char, usize)>;

    fn both_ways(text: &[u8]) -> (Characters, Characters) {
        let (mut right, mut at) = (Vec::new(), 0);
        while let Some((c, end)) = next(text, at) {
            right.push((c, at));
            at = end;
        }
        let mut left = Vec::new();
        while let Some((c, start)) = previous(text, at) {
            left.push((c, start));
            at = start;
        }
        left.reverse();
        (right, left)
    }

    proptest! {
        #[test]
        fn decoded_characters_agree_with_standard_library(text in ".{0,12}") {
            let expected: Vec<_> = text.char_indices().map(|(at, c)| (c, at)).collect();
            prop_assert_eq!(both_ways(text.as_bytes()), (expected.clone(), expected));
        }

        #[test]
        fn bytes_decode_alike_in_both_directions(
            text in proptest::collection::vec(
                proptest::sample::select(vec![b'a', 0x80, 0x9F, 0xA0, 0xBF, 0xC1, 0xC3, 0xE0, 0xE2, 0xED, 0xF0, 0xF4, 0xFF]), 0..12)
        ) {
            let (right, left) = both_ways(&text);
            prop_assert_eq!(right, left);
        }
    }
}
