//! What stands in place of a secret: a function of its value alone, of the same length, known by
//! how it begins, and in the form that programs check.
//!
//! | the secret is | what stands for it |
//! |---|---|
//! | a UUID, or 16 hexadecimal digits or more | such digits: `edac7`, a hash, four that check the others |
//! | digits | digits: `7332`, noughts, a hash of the last two or four; from 20 on four that check the others |
//! | anything else of 13 bytes or more | `redacted-` (`redactedx` where only letters and digits stood), a hash, and so many of the same mark |
//! | anything shorter | as much of `redacted` as there is room for, `*`, a hash |
//!
//! What a person may have chosen gets so little of a hash that it cannot be guessed by it: 16 bits,
//! or less.

use std::ops::Range;

use sha2::{Digest as _, Sha256};

use crate::text::escape::hex;

/// How long ones begin.
const WORD: &[u8] = b"redacted";
/// How those of hexadecimal digits begin.
const HEXADECIMAL: &[u8] = b"edac7";
/// How those of digits begin.
const DECIMAL: &[u8] = b"7332";
/// Digits that check those before them.
const CHECK_DIGITS: usize = 4;
/// Fewest digits of a hexadecimal number that is written as one: a shorter one may be a word.
const FEWEST_HEXADECIMAL: usize = 16;
/// Fewest bytes for a whole word, its mark and a hash.
const FEWEST_LONG: usize = 13;
/// Digits (hexadecimal) of the hash of what may be guessed.
const FEW_DIGITS: usize = 4;
/// Most digits of a hash: 128 bits tell any two apart.
const MOST_DIGITS: usize = 32;
/// Fewest digits of a number with a hash in it: what is shorter is told apart by nothing.
const FEWEST_TOLD: usize = 8;
/// Fewest digits of a number that has no other meaning: of cards there are up to 19.
const FEWEST_RANDOM_DECIMAL: usize = 20;
/// What stands for a signature, which is made anew for each request and tells nothing apart.
const NOTHING: &[u8] = b"0000";

/// What stands for this secret. What stands for one already stays.
pub(super) fn stand_in(secret: &[u8]) -> Vec<u8> {
    if is_stand_in(secret) {
        return secret.to_vec();
    }
    if secret.iter().all(u8::is_ascii_digit) {
        return decimal(secret);
    }
    match hexadecimal_digits(secret) {
        Some(digits) => hexadecimal(secret, &digits),
        None => worded(
            secret,
            &hashed(secret)[..if is_made(secret) {
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

/// Whether this stands for a secret; behind a beginning that says what it was, too.
pub fn is_stand_in(value: &[u8]) -> bool {
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

/// Whether nobody chose a value: long, in one piece, letters with digits among them in a run, and
/// many different ones.
pub fn is_made(value: &[u8]) -> bool {
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

/// Whether this is written as a UUID (RFC 9562, 4).
pub fn is_uuid(value: &[u8]) -> bool {
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

/// The beginning, a hash and noughts, with room for digits that check them.
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

/// How many digits of a hash there are in a number that a person may have chosen.
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

/// The digits of a UUID or a hexadecimal number, in small letters; both are written in small
/// letters or in capitals.
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
        // Version and variant, which programs look at.
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

/// What follows the word: a mark, a hash, the same mark, and the end of base64.
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

/// How many digits of a hash there are in a short one: none where there is no room.
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

/// Whether this stands for a signature, which tells nothing apart.
pub fn is_signed(value: &[u8]) -> bool {
    let rest = value.strip_prefix(WORD).filter(|rest| is_long(rest));
    rest.is_some_and(|rest| {
        rest[1..].starts_with(NOTHING) && !rest.get(5).is_some_and(u8::is_ascii_hexdigit)
    })
}

/// Whether a byte may belong to what stands for a secret, or to the beginning that it has.
pub(super) fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-*_".contains(&byte)
}

/// Where what stands for secrets is in a text, in its order; but for numbers that may be of
/// something else.
pub fn places(text: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let length = text[at..].iter().take_while(|byte| is_part(**byte)).count();
        let part = &text[at..at + length];
        let is_number = length < FEWEST_RANDOM_DECIMAL && part.iter().all(u8::is_ascii_digit);
        if length > 2 && !is_number && is_stand_in(part) {
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
