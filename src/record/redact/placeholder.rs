//! What stands in place of a secret.

use sha2::{Digest as _, Sha256};

/// Where secrets are not told apart. Legal in fields, queries and cookies.
pub const REDACTED: &str = "[redacted]";
/// What it begins with where credentials of a request are told apart: four digits of their hash follow, too few to guess a
/// secret by, and enough to see that two are not the same.
pub const MARKED: &str = "[redacted ";
/// What a token begins with that a program was given, and may give back: the four digits follow, and then so many `-` that
/// it is as long as the token was. It can stand wherever a token can (RFC 6750, 2.1), and no length changes around it.
const STAND_IN: &str = "redacted-";
const DIGITS: usize = 4;
/// Fewest bytes of a stand-in.
const SHORTEST_BYTES: usize = STAND_IN.len() + DIGITS;

/// Four digits of the hash of a secret; the same for its stand-in.
pub(super) fn digits(secret: &[u8]) -> String {
    if let Some(known) = known_digits(secret) {
        return known.to_owned();
    }
    let hash = Sha256::digest(secret);
    format!("{:02x}{:02x}", hash[0], hash[1])
}

/// What stands for a secret of a request in a field.
pub(super) fn marked(secret: &str) -> String {
    if secret == REDACTED || secret.starts_with(MARKED) {
        return secret.to_owned();
    }
    format!("{MARKED}{}]", digits(secret.as_bytes()))
}

/// What stands for a token that a program is given: as long as it was, unless that was shorter than 13 bytes. Of a JSON web
/// token only the signature is replaced (RFC 7519, 3.1): without it nobody is let in, and programs read the rest.
pub(super) fn stand_in(token: &[u8]) -> Vec<u8> {
    if known_digits(token).is_some() {
        return token.to_vec();
    }
    let digits = digits(token);
    let replaced = signature(token).unwrap_or(token);
    let mut out = token[..token.len() - replaced.len()].to_vec();
    out.extend_from_slice(STAND_IN.as_bytes());
    out.extend_from_slice(digits.as_bytes());
    out.resize(out.len().max(token.len()), b'-');
    out
}

/// The digits of what is a stand-in.
fn known_digits(text: &[u8]) -> Option<&str> {
    let last = signature(text).unwrap_or(text);
    let rest = last.strip_prefix(STAND_IN.as_bytes())?;
    let (digits, rest) = rest.split_at_checked(DIGITS)?;
    let good = digits.iter().all(u8::is_ascii_hexdigit) && rest.iter().all(|byte| *byte == b'-');
    std::str::from_utf8(digits).ok().filter(|_| good)
}

/// The last part of what looks like a JSON web token: three parts of base64url, the first a JSON object (RFC 7515, 7.1).
fn signature(text: &[u8]) -> Option<&[u8]> {
    let mut parts = text.split(|byte| *byte == b'.');
    let (head, claims, last) = (parts.next()?, parts.next()?, parts.next()?);
    let is_base64 = |part: &[u8]| part.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    let good = parts.next().is_none() && head.starts_with(b"eyJ") && last.len() >= SHORTEST_BYTES;
    (good && [head, claims, last].into_iter().all(is_base64)).then_some(last)
}
