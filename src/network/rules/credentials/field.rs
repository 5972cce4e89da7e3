//! Credentials in the value of one HTTP field.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{
    GeneralPurpose, GeneralPurposeConfig, STANDARD_NO_PAD, URL_SAFE_NO_PAD,
};
use memchr::memmem;

use super::{Pair, Secret};

/// Base64 as in RFC 7617, with optional padding.
const BASIC: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Replaces the stand-in by the secret, in Basic tokens too (RFC 7617). Their new form is added to
/// `written`.
pub(super) fn fill(value: &mut Vec<u8>, stand_in: &[u8], secret: &[u8], written: &mut Vec<Pair>) {
    replace(value, stand_in, secret);
    let Some((token, mut plain)) = basic(value) else {
        return;
    };
    if !replace(&mut plain, stand_in, secret) {
        return;
    }
    let before = value[token.clone()].to_vec();
    let mut filled = BASIC.encode(&plain).into_bytes();
    // With as much padding as there was.
    filled.truncate(before.len());
    value.splice(token, filled.iter().copied());
    let pair = Pair {
        text: Secret::new(filled),
        instead: before,
    };
    if !written.contains(&pair) {
        written.push(pair);
    }
}

/// Forms of a secret inside base64 (RFC 4648, 4 and 5), each with that of its stand-in. There is
/// one for each offset in a group of three bytes, without the characters that depend on its
/// neighbours.
pub(super) fn in_base64(secret: &[u8], stand_in: &[u8]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
        for before in 0..3_usize {
            let inner = (8 * before).div_ceil(6)..8 * (before + secret.len()) / 6;
            let form = |text: &[u8]| {
                engine.encode([&[0; 3][..before], text].concat()).as_bytes()[inner.clone()].to_vec()
            };
            let pair = Pair {
                text: Secret::new(form(secret)),
                instead: form(stand_in),
            };
            if !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
    }
    pairs
}

/// Returns true if the value, or the decoded Basic token, contains the stand-in.
pub(super) fn holds(value: &[u8], stand_in: &[u8]) -> bool {
    let finds = |text: &[u8]| memmem::find(text, stand_in).is_some();
    finds(value) || basic(value).is_some_and(|(_, plain)| finds(&plain))
}

/// Returns the position of the Basic token, and the decoded user and password.
fn basic(value: &[u8]) -> Option<(std::ops::Range<usize>, Vec<u8>)> {
    const NAME: &[u8] = b"basic ";
    if !value.get(..NAME.len())?.eq_ignore_ascii_case(NAME) {
        return None;
    }
    let rest = &value[NAME.len()..];
    let start = NAME.len() + (rest.len() - rest.trim_ascii_start().len());
    let token = start..start + rest.trim_ascii().len();
    let plain = BASIC.decode(&value[token.clone()]).ok()?;
    Some((token, plain))
}

/// Replaces all occurrences by a text of the same length. Returns true if there was one.
fn replace(text: &mut [u8], from: &[u8], to: &[u8]) -> bool {
    let found: Vec<usize> = memmem::find_iter(text, from).collect();
    for at in &found {
        text[*at..*at + from.len()].copy_from_slice(to);
    }
    !found.is_empty()
}
