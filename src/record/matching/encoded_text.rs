//! Texts in base64 (RFC 4648, 4) within other texts, such as the arguments of a task in a queue.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Lengths of an encoded text that is looked into, in bytes.
const ENCODED_BYTES: std::ops::RangeInclusive<usize> = 24..=64 << 10;

/// Returns the end of the encoded text at this place, and the text; `None` if there is none.
pub(super) fn decoded_at(text: &[u8], at: usize) -> Option<(usize, Vec<u8>)> {
    let is_start = at == 0 || !is_encoded(text[at - 1]);
    if !is_start || !is_encoded(text[at]) {
        return None;
    }
    let rest = &text[at..];
    let letters = rest.iter().take_while(|byte| is_encoded(**byte)).count();
    let padding = rest[letters..]
        .iter()
        .take_while(|byte| **byte == b'=')
        .count();
    let length = letters + padding;
    if !ENCODED_BYTES.contains(&length) || !length.is_multiple_of(4) {
        return None;
    }
    let decoded = STANDARD.decode(&rest[..length]).ok()?;
    let is_printable = |c: char| !c.is_control() || c.is_whitespace();
    let is_text = str::from_utf8(&decoded).is_ok_and(|text| text.chars().all(is_printable));
    is_text.then_some((at + length, decoded))
}

/// Returns the places of all encoded texts, with the texts.
pub(super) fn all(text: &[u8]) -> Vec<(Range<usize>, Vec<u8>)> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < text.len() {
        let run = text[at..]
            .iter()
            .take_while(|byte| is_encoded(**byte))
            .count();
        match decoded_at(text, at) {
            Some((end, decoded)) => {
                found.push((at..end, decoded));
                at = end;
            }
            None => at += run.max(1),
        }
    }
    found
}

/// Replaces bytes of an encoded text by as many others; returns false if it is none.
pub(super) fn put(encoded: &mut [u8], range: Range<usize>, bytes: &[u8]) -> bool {
    let Ok(mut text) = STANDARD.decode(&*encoded) else {
        return false;
    };
    match text.get_mut(range).filter(|old| old.len() == bytes.len()) {
        Some(old) => old.copy_from_slice(bytes),
        None => return false,
    }
    encoded.copy_from_slice(STANDARD.encode(text).as_bytes());
    true
}

fn is_encoded(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/')
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn texts_in_base64_are_found_and_replaced() {
        let text = b"{\"body\": \"aWQgMTIzNDU2NzggZm9yIG9uZQ==\", \"AAECAwQFBgcICQoLDA0ODxAR\"}";
        let found = all(text);
        assert_eq!(found, [(10..38, b"id 12345678 for one".to_vec())]);
        let mut changed = text[found[0].0.clone()].to_vec();
        assert!(put(&mut changed, 3..11, b"87654321"));
        assert_eq!(STANDARD.decode(&changed).unwrap(), b"id 87654321 for one");
        assert!(!put(&mut changed, 3..11, b"1"));
    }
}
