//! What stands in place of a secret.

use std::borrow::Cow;
use std::collections::HashMap;

use sha2::{Digest as _, Sha256};

use super::{guise, plain, shapes};

/// Where secrets are not told apart. Legal in fields, queries and cookies.
pub const REDACTED: &str = "[redacted]";
/// What it begins with where secrets of a request are told apart: digits of their hash follow. Of what could be guessed they are
/// too few to guess it by, and enough to see that two are not the same.
pub const MARKED: &str = "[redacted ";
/// What a token begins with that a program was given, and may give back: the digits follow, and then so many `-` that it is
/// as long as the token was. It can stand wherever a token can (RFC 6750, 2.1), and no length changes around it.
pub const STAND_IN: &str = "redacted-";
const HEXADECIMAL: &[u8; 16] = b"0123456789abcdef";
/// Fewest digits (hexadecimal, so 16 bits).
const FEWEST_DIGITS: usize = 4;
/// Most digits: 128 bits tell any two apart.
const MOST_DIGITS: usize = 32;
/// What is shorter may have been thought of by a person.
const SHORTEST_RANDOM_BYTES: usize = 16;
/// Fewest bytes of a stand-in.
const SHORTEST_BYTES: usize = STAND_IN.len() + FEWEST_DIGITS;

/// How many digits secrets of one set have: so many that no two of them are alike.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// By all digits of a secret.
    digits: HashMap<String, usize>,
}

impl Marks {
    /// Of these secrets, with whether they could be guessed.
    pub(super) fn of<'a>(secrets: impl Iterator<Item = (&'a [u8], bool)>) -> Self {
        let mut digits: Vec<(String, usize)> = secrets
            .filter(|(secret, _)| known(secret).is_none())
            .map(|(secret, guessable)| (digits(secret), usual(secret, guessable)))
            .collect::<HashMap<_, _>>()
            .into_iter()
            .collect();
        digits.sort_unstable();
        // What two have in common is longest between neighbours.
        for index in 1..digits.len() {
            let (one, other) = (&digits[index - 1].0, &digits[index].0);
            let common = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
            for neighbour in [index - 1, index] {
                digits[neighbour].1 = digits[neighbour].1.max(common + 1);
            }
        }
        Self { digits: digits.into_iter().collect() }
    }

    fn mark(&self, secret: &[u8], guessable: bool) -> String {
        if let Some(known) = known(secret) {
            return known.into_owned();
        }
        let mut all = digits(secret);
        let count = self.digits.get(&all).copied().unwrap_or_default().max(usual(secret, guessable));
        all.truncate(count);
        all
    }

    /// What stands for a secret of a request.
    pub(super) fn marked(&self, secret: &[u8], guessable: bool) -> Vec<u8> {
        match self.mark(secret, guessable) {
            mark if mark.is_empty() => REDACTED.as_bytes().to_vec(),
            mark => format!("{MARKED}{mark}]").into_bytes(),
        }
    }

    /// What stands for a token that a program is given: as long as it was, unless that was shorter than 13 bytes, and of the
    /// form that it had where that is one ([`guise`]), unless it could be guessed by so many digits. Of a JSON web
    /// token only the signature is replaced (RFC 7519, 3.1): without it nobody is let in, and programs read the rest; of others
    /// that are known by their beginning it stays.
    pub(super) fn stand_in(&self, token: &[u8], guessable: bool) -> Vec<u8> {
        if known(token).is_some() {
            return token.to_vec();
        }
        let replaced = part(token);
        if !guessable
            && replaced.len() == token.len()
            && let Some(other) = guise::of(token, &hashed(token))
        {
            return other;
        }
        let mut mark = self.mark(token, guessable);
        if replaced.len() >= SHORTEST_RANDOM_BYTES {
            mark.truncate(replaced.len() - STAND_IN.len());
        }
        let mut out = token[..token.len() - replaced.len()].to_vec();
        out.extend_from_slice(STAND_IN.as_bytes());
        out.extend_from_slice(mark.as_bytes());
        out.resize(out.len().max(token.len()), b'-');
        out
    }
}

/// All digits of the hash of a secret, or those that its stand-in has: of two that are the same secret one begins with the other.
/// Empty where it was not told apart.
pub(super) fn digits(secret: &[u8]) -> String {
    if let Some(known) = known(secret) {
        return known.into_owned();
    }
    hashed(secret)
}

/// All digits of the hash of a text.
pub(super) fn hashed(text: &[u8]) -> String {
    let nibbles = Sha256::digest(text).into_iter().flat_map(|byte| [byte >> 4, byte & 15]);
    nibbles.map(|nibble| char::from(HEXADECIMAL[usize::from(nibble)])).collect()
}

/// What stands for a secret that is told from others wherever it is compared, by the fewest digits that any stand-in has.
pub(super) fn short(secret: &[u8]) -> String {
    let digits = digits(secret);
    digits.get(..FEWEST_DIGITS).map_or_else(|| REDACTED.to_owned(), |digits| format!("{MARKED}{digits}]"))
}

/// How many digits a secret has, unless it is like another one.
fn usual(secret: &[u8], guessable: bool) -> usize {
    if guessable || secret.len() < SHORTEST_RANDOM_BYTES {
        return FEWEST_DIGITS;
    }
    let replaced = part(secret);
    replaced.len().saturating_sub(STAND_IN.len()).clamp(FEWEST_DIGITS, MOST_DIGITS)
}

/// The digits of what stands for a secret.
pub(super) fn known(text: &[u8]) -> Option<Cow<'_, str>> {
    if let Some(digits) = guise::known(text) {
        return Some(Cow::Owned(digits));
    }
    // Most are none, which is seen at once.
    memchr::memmem::find(text, &STAND_IN.as_bytes()[..STAND_IN.len() - 1])?;
    if text == REDACTED.as_bytes() {
        return Some(Cow::Borrowed(""));
    }
    let marked = text.strip_prefix(MARKED.as_bytes()).and_then(|rest| rest.strip_suffix(b"]"));
    let digits = marked.or_else(|| {
        let rest = part(text).strip_prefix(STAND_IN.as_bytes())?;
        let end = rest.iter().position(|byte| *byte == b'-').unwrap_or(rest.len());
        rest[end..].iter().all(|byte| *byte == b'-').then_some(&rest[..end])
    })?;
    let good = digits.len() >= FEWEST_DIGITS && digits.iter().all(u8::is_ascii_hexdigit);
    std::str::from_utf8(digits).ok().filter(|_| good).map(Cow::Borrowed)
}

/// The part of a token that is replaced.
fn part(token: &[u8]) -> &[u8] {
    signature(token).or_else(|| shapes::tail(token)).or_else(|| plain::hash(token)).unwrap_or(token)
}

/// The last part of what looks like a JSON web token: three parts of base64url, the first a JSON object (RFC 7515, 7.1).
fn signature(text: &[u8]) -> Option<&[u8]> {
    let mut parts = text.split(|byte| *byte == b'.');
    let (head, claims, last) = (parts.next()?, parts.next()?, parts.next()?);
    let is_base64 = |part: &[u8]| part.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    let good = parts.next().is_none() && head.starts_with(b"eyJ") && last.len() >= SHORTEST_BYTES;
    (good && [head, claims, last].into_iter().all(is_base64)).then_some(last)
}
