//! Placeholders for secrets. A placeholder depends only on the secret, has its length and a
//! recognizable prefix, and keeps the form that programs check:
//!
//! * A UUID, or 16 or more hexadecimal digits: `edac7`, a hash, four check digits.
//! * Up to 19 decimal digits: `7332`, zeros, a hash of at most four digits.
//! * 20 or more decimal digits: `7332`, a hash, four check digits.
//! * Another value of 13 bytes or more: `redacted-`, a hash, padding of `-`. For plain letters and
//!   digits the mark is `x` instead of `-`.
//! * A shorter value: as much of `redacted` as fits, `*`, a hash.
//!
//! A value that a person may have chosen gets at most 16 bits of hash, too few to guess it.

use std::ops::Range;

use sha2::{Digest as _, Sha256};

use replay_base::text::escape::hex;

/// Prefix of long placeholders.
const WORD: &[u8] = b"redacted";
/// Prefix of hexadecimal placeholders.
const HEXADECIMAL: &[u8] = b"edac7";
/// Prefix of decimal placeholders.
const DECIMAL: &[u8] = b"7332";
/// Number of digits that verify the preceding ones.
const CHECK_DIGITS: usize = 4;
/// Minimum length of a hexadecimal number; shorter ones may be words.
const FEWEST_HEXADECIMAL: usize = 16;
/// Minimum length for the whole prefix, its mark and a hash.
const FEWEST_LONG: usize = 13;
/// Hexadecimal digits of hash for values that could be guessed.
const FEW_DIGITS: usize = 4;
/// Maximum number of hash digits: 128 bits distinguish all values.
const MOST_DIGITS: usize = 32;
/// Minimum length of a decimal placeholder with a hash; shorter ones are indistinguishable.
const FEWEST_TOLD: usize = 8;
/// Minimum length of a decimal number without another meaning: card numbers have up to 19 digits.
const FEWEST_RANDOM_DECIMAL: usize = 20;
/// Hash part of a signature's placeholder. Signatures differ for each request and identify nothing.
const NOTHING: &[u8] = b"0000";

/// Returns the placeholder for a secret. A placeholder is returned unchanged.
pub(super) fn placeholder(secret: &[u8]) -> Vec<u8> {
    if is_placeholder(secret) {
        return secret.to_vec();
    }
    if secret.iter().all(u8::is_ascii_digit) {
        return decimal(secret);
    }
    match hexadecimal_digits(secret) {
        Some(digits) => hexadecimal(secret, &digits),
        None => worded(
            secret,
            &hashed(secret)[..if looks_random(secret) {
                MOST_DIGITS
            } else {
                FEW_DIGITS
            }],
        ),
    }
}

pub(super) fn signature(secret: &[u8]) -> Vec<u8> {
    if secret.len() < FEWEST_LONG {
        [WORD, b"-", NOTHING].concat()
    } else {
        worded(secret, NOTHING)
    }
}

/// Returns true for a placeholder, also behind a prefix that names the kind of secret.
pub fn is_placeholder(value: &[u8]) -> bool {
    if value.iter().all(u8::is_ascii_digit) {
        return is_decimal(value);
    }
    if let Some(digits) = hexadecimal_digits(value) {
        return is_checked(HEXADECIMAL, &digits, hashed);
    }
    let behind = |begin: &[u8], is_rest: &dyn Fn(&[u8]) -> bool| {
        memchr::memmem::rfind(value, begin).is_some_and(|at| is_rest(&value[at..]))
    };
    let is_hexadecimal = |rest: &[u8]| {
        hexadecimal_digits(rest).is_some_and(|digits| is_checked(HEXADECIMAL, &digits, hashed))
    };
    behind(WORD, &|rest| is_long(&rest[WORD.len()..]))
        || behind(HEXADECIMAL, &is_hexadecimal)
        || is_short(value)
}

/// Returns true if a value looks random: long, in one piece, a run of mixed letters and digits,
/// many different bytes.
pub(crate) fn looks_random(value: &[u8]) -> bool {
    const FEWEST_BYTES: usize = 16;
    const FEWEST_IN_RUN: usize = 12;
    const FEWEST_DIFFERENT: usize = 6;
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~+=/|:%!".contains(byte);
    let is_mixed = |run: &[u8]| {
        run.len() >= FEWEST_IN_RUN
            && run.iter().any(u8::is_ascii_digit)
            && run.iter().any(u8::is_ascii_alphabetic)
    };
    let mut seen = [false; 256];
    for byte in value {
        seen[usize::from(*byte)] = true;
    }
    value.len() >= FEWEST_BYTES
        && seen.iter().filter(|seen| **seen).count() >= FEWEST_DIFFERENT
        && value.iter().all(is_part)
        && (value
            .split(|byte| !byte.is_ascii_alphanumeric())
            .any(is_mixed)
            || is_uuid(value))
}

/// Returns true for the text form of a UUID (RFC 9562, 4).
pub(crate) fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn hashed(text: &[u8]) -> Vec<u8> {
    hex(&Sha256::digest(text)).into_bytes()
}

fn hashed_decimal(text: &[u8]) -> Vec<u8> {
    Sha256::digest(text)
        .iter()
        .map(|byte| b'0' + byte % 10)
        .collect()
}

fn decimal(secret: &[u8]) -> Vec<u8> {
    let length = secret.len();
    if length >= FEWEST_RANDOM_DECIMAL {
        return checked(
            filled(DECIMAL, &hashed_decimal(secret), length),
            hashed_decimal,
        );
    }
    let told = decimal_told(length);
    let mut out = DECIMAL[..length.min(DECIMAL.len())].to_vec();
    out.resize(length - told, b'0');
    out.extend(&hashed_decimal(secret)[..told]);
    out
}

/// Returns prefix, hash and zeros, with room for the check digits.
fn filled(begin: &[u8], hash: &[u8], length: usize) -> Vec<u8> {
    let mut out = [begin, hash].concat();
    out.resize(length - CHECK_DIGITS, b'0');
    out
}

fn checked(mut digits: Vec<u8>, hash: fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let check = hash(&digits);
    digits.extend(&check[..CHECK_DIGITS]);
    digits
}

fn is_checked(begin: &[u8], digits: &[u8], hash: fn(&[u8]) -> Vec<u8>) -> bool {
    let (told, check) = digits.split_at(digits.len().saturating_sub(CHECK_DIGITS));
    told.starts_with(begin) && check == &hash(told)[..CHECK_DIGITS]
}

/// Returns the number of hash digits in a number that a person may have chosen.
fn decimal_told(length: usize) -> usize {
    match length {
        0..FEWEST_TOLD => 0,
        FEWEST_TOLD..FEWEST_LONG => 2,
        _ => FEW_DIGITS,
    }
}

fn is_decimal(value: &[u8]) -> bool {
    let length = value.len();
    if length >= FEWEST_RANDOM_DECIMAL {
        return is_checked(DECIMAL, value, hashed_decimal);
    }
    let (fixed, _) = value.split_at(length - decimal_told(length));
    let (begin, noughts) = fixed.split_at(fixed.len().min(DECIMAL.len()));
    length > 2 && DECIMAL.starts_with(begin) && noughts.iter().all(|byte| *byte == b'0')
}

/// Returns the lower-case digits of a UUID or a hexadecimal number, if they are written in a single
/// case.
fn hexadecimal_digits(value: &[u8]) -> Option<Vec<u8>> {
    let one_case =
        !(value.iter().any(u8::is_ascii_lowercase) && value.iter().any(u8::is_ascii_uppercase));
    let is_number = value.len() >= FEWEST_HEXADECIMAL && value.iter().all(u8::is_ascii_hexdigit);
    (one_case && (is_number || is_uuid(value))).then(|| {
        value
            .iter()
            .filter(|byte| **byte != b'-')
            .map(u8::to_ascii_lowercase)
            .collect()
    })
}

fn hexadecimal(secret: &[u8], digits: &[u8]) -> Vec<u8> {
    let mut other = filled(HEXADECIMAL, &hashed(secret), digits.len());
    if is_uuid(secret) {
        // Programs check version and variant.
        (other[12], other[16]) = (digits[12], digits[16]);
    }
    let mut others = checked(other, hashed).into_iter();
    let is_capital = secret.iter().any(u8::is_ascii_uppercase);
    let mut put = |byte: &u8| match byte {
        b'-' => b'-',
        _ => others.next().map_or(b'0', |other| {
            if is_capital {
                other.to_ascii_uppercase()
            } else {
                other
            }
        }),
    };
    secret.iter().map(&mut put).collect()
}

fn worded(secret: &[u8], hash: &[u8]) -> Vec<u8> {
    if secret.len() < FEWEST_LONG {
        return short(secret);
    }
    let is_plain = secret
        .iter()
        .all(|byte| byte.is_ascii_alphanumeric() || b"+/=\\ \r\n".contains(byte));
    let mark = if is_plain { b'x' } else { b'-' };
    let ends = secret
        .iter()
        .rev()
        .take(2)
        .take_while(|byte| **byte == b'=')
        .count();
    let room = secret.len() - WORD.len() - 1 - ends;
    let mut out = [WORD, &[mark], &hash[..hash.len().min(room.max(FEW_DIGITS))]].concat();
    out.resize(out.len().max(secret.len() - ends), mark);
    out.resize(secret.len(), b'=');
    out
}

/// Returns true for the part after the prefix: mark, hash, padding with the mark, base64 padding.
fn is_long(rest: &[u8]) -> bool {
    let Some((mark, rest)) = rest
        .split_first()
        .filter(|(mark, _)| matches!(mark, b'x' | b'-'))
    else {
        return false;
    };
    let digits = rest
        .iter()
        .take_while(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte))
        .count();
    let marks = rest[digits..]
        .iter()
        .take_while(|byte| *byte == mark)
        .count();
    let ends = &rest[digits + marks..];
    digits >= FEW_DIGITS && ends.len() <= 2 && ends.iter().all(|byte| *byte == b'=')
}

fn short(secret: &[u8]) -> Vec<u8> {
    let length = secret.len();
    let told = short_told(length);
    let begin = WORD.len().min(length.saturating_sub(told + 1));
    let mut out = WORD[..begin].to_vec();
    out.resize(length - told, b'*');
    out.extend(&hashed(secret)[..told]);
    out
}

/// Returns the number of hash digits in a short placeholder; zero without room.
fn short_told(length: usize) -> usize {
    length.saturating_sub(2).min(FEW_DIGITS)
}

fn is_short(value: &[u8]) -> bool {
    let begin: usize = value
        .iter()
        .zip(WORD)
        .take_while(|(byte, other)| byte == other)
        .count();
    let rest = &value[begin..];
    let marks = rest.iter().take_while(|byte| **byte == b'*').count();
    let told = &rest[marks..];
    let is_told = told.len() == short_told(value.len()) && told.iter().all(u8::is_ascii_hexdigit);
    value.len() < FEWEST_LONG && is_told && marks == 1
}

/// Returns true for the placeholder of a signature.
pub(crate) fn is_signed(value: &[u8]) -> bool {
    let rest = value.strip_prefix(WORD).filter(|rest| is_long(rest));
    rest.is_some_and(|rest| {
        rest[1..].starts_with(NOTHING) && !rest.get(5).is_some_and(u8::is_ascii_hexdigit)
    })
}

/// Returns true if a byte may belong to a placeholder or its prefix.
pub(super) fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-*_".contains(&byte)
}

/// Returns the ranges of all placeholders in a text, except short numbers, which may have another
/// meaning.
pub(crate) fn places(text: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let length = text[at..].iter().take_while(|byte| is_part(**byte)).count();
        let part = &text[at..at + length];
        let is_number = length < FEWEST_RANDOM_DECIMAL && part.iter().all(u8::is_ascii_digit);
        if length > 2 && !is_number && is_placeholder(part) {
            let long = memchr::memmem::rfind(part, WORD)
                .filter(|begin| is_long(&part[begin + WORD.len()..]));
            let end = at + length;
            let ends = text[end..]
                .iter()
                .take(2)
                .take_while(|byte| long.is_some() && **byte == b'=')
                .count();
            found.push(at + long.unwrap_or(0)..end + ends);
        }
        at += length.max(1);
    }
    found
}
