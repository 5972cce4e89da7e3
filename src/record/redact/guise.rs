//! Stand-ins that are written as what they stand for, so that a program which looks at the form of a token goes on: a UUID for a
//! UUID, hexadecimal digits for such, and so on, of the same length. They are known by a mark at the beginning and, where
//! there are no letters to write one with that says enough, by digits of a hash of the others.

use super::names::is_uuid;
use super::placeholder::hashed;

/// Fewest bytes of what has a form: there is no room for a mark and enough digits in less.
const SHORTEST_BYTES: usize = 20;
/// Marks in hexadecimal and decimal digits, in letters, and in capitals.
const HEXADECIMAL: &str = "edac7";
const DECIMAL: &str = "7332";
const LETTERS: &str = "redacted";
const CAPITALS: &str = "REDACTED";
/// Digits that check the others: of hexadecimal ones, and of decimal ones.
const CHECK_DIGITS: usize = 4;
const CHECK_DECIMALS: usize = 5;
/// Digits of the version and of the variant of a UUID (RFC 9562, 4.1 and 4.2), without dashes: they stay.
const UUID_KEPT: [usize; 2] = [12, 16];
/// Most digits, 128 bits, and of those that are written as a decimal number.
const MOST_DIGITS: usize = 32;
const MOST_OF_DECIMALS: usize = 16;

/// How a token is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Uuid,
    /// Hexadecimal, `0x` before it or not.
    Hexadecimal,
    Decimal,
    /// Capitals and digits, as base32 has them (RFC 4648, 6).
    Capitals,
    /// Letters and digits, and what else base64 has, and its padding (RFC 4648, 4).
    Letters,
}

impl Form {
    fn of(token: &[u8]) -> Option<Self> {
        let all = |is_one: fn(&u8) -> bool| token.iter().all(is_one);
        let digits = token.strip_prefix(b"0x").unwrap_or(token);
        let pad = padding(token);
        if is_uuid(token) {
            Some(Self::Uuid)
        } else if digits.len() < SHORTEST_BYTES {
            None
        } else if all(u8::is_ascii_digit) {
            Some(Self::Decimal)
        } else if digits.iter().all(u8::is_ascii_hexdigit) {
            Some(Self::Hexadecimal)
        } else if pad == 0 && all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()) {
            Some(Self::Capitals)
        } else if pad <= 2
            && token[..token.len() - pad].iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(byte))
        {
            Some(Self::Letters)
        } else {
            None
        }
    }

    /// How many digits of a hash there is room for in so many letters: of a UUID its digits, of the others without `0x` and padding.
    fn room(self, length: usize) -> usize {
        match self {
            Self::Uuid => 32 - UUID_KEPT.len() - HEXADECIMAL.len() - CHECK_DIGITS,
            Self::Hexadecimal => (length - HEXADECIMAL.len() - CHECK_DIGITS).min(MOST_DIGITS),
            // Six decimal digits have room for less than 5 hexadecimal ones.
            Self::Decimal => ((length - DECIMAL.len() - CHECK_DECIMALS) * 4 / 5).min(MOST_OF_DECIMALS),
            // The last letter has no bits that padding would have to be without (RFC 4648, 3.5).
            Self::Capitals | Self::Letters => (length - LETTERS.len() - 1).min(MOST_DIGITS),
        }
    }
}

/// What stands for a token that has such a form, with these digits of its hash: all there is room for, so there must be enough.
pub(super) fn of(token: &[u8], digits: &str) -> Option<Vec<u8>> {
    let form = Form::of(token)?;
    let (begin, end) = ends(form, token);
    let inside = &token[begin..token.len() - end];
    let digits = digits.get(..form.room(inside.len()))?;
    let mut out = token[..begin].to_vec();
    match form {
        Form::Uuid => out.extend(uuid(token, digits)),
        Form::Hexadecimal => {
            let text = format!("{HEXADECIMAL}{digits}{}", &hashed(digits.as_bytes())[..CHECK_DIGITS]);
            let is_upper =
                !token.iter().any(u8::is_ascii_lowercase) || begin > 0 && !inside.iter().any(u8::is_ascii_lowercase);
            let text = if is_upper { text.to_ascii_uppercase() } else { text };
            out.extend(text.into_bytes());
            out.resize(token.len(), b'0');
        }
        Form::Decimal => {
            let number = u64::from_str_radix(digits, 16).ok()?;
            let width = width(digits.len());
            out.extend(format!("{DECIMAL}{number:0width$}{:05}", check(number)).into_bytes());
            out.resize(token.len(), b'0');
        }
        Form::Capitals => {
            out.extend_from_slice(CAPITALS.as_bytes());
            out.extend(
                digits.bytes().filter_map(|digit| char::from(digit).to_digit(16)).map(|digit| b'B' + digit as u8),
            );
            out.resize(token.len(), b'A');
        }
        Form::Letters => {
            out.extend_from_slice(LETTERS.as_bytes());
            out.extend_from_slice(digits.as_bytes());
            out.resize(token.len() - end, b'A');
            out.resize(token.len(), b'=');
        }
    }
    Some(out)
}

/// The digits of what stands for such a token; `None` if it is no stand-in.
pub(super) fn known(text: &[u8]) -> Option<String> {
    let marks = [HEXADECIMAL, DECIMAL, LETTERS, CAPITALS];
    let start = text.strip_prefix(b"0x").unwrap_or(text);
    let begins = |mark: &str| start.get(..mark.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(mark.as_bytes()));
    if text.len() < SHORTEST_BYTES || !marks.into_iter().any(begins) {
        return None;
    }
    let form = Form::of(text)?;
    let (begin, end) = ends(form, text);
    let inside = &text[begin..text.len() - end];
    let room = form.room(inside.len());
    let digits = match form {
        Form::Uuid => {
            let digits = digits_of_uuid(text);
            digits.get(HEXADECIMAL.len()..HEXADECIMAL.len() + room)?.to_owned()
        }
        Form::Hexadecimal => {
            let text = String::from_utf8_lossy(inside).to_ascii_lowercase();
            text.get(HEXADECIMAL.len()..HEXADECIMAL.len() + room)?.to_owned()
        }
        Form::Decimal => {
            let from = DECIMAL.len();
            let number: u64 = std::str::from_utf8(inside.get(from..from + width(room))?).ok()?.parse().ok()?;
            format!("{number:0room$x}")
        }
        Form::Capitals => {
            let letters = &inside[CAPITALS.len()..CAPITALS.len() + room];
            letters
                .iter()
                .map(|letter| char::from_digit(u32::from(letter.checked_sub(b'B')?), 16))
                .collect::<Option<_>>()?
        }
        Form::Letters => String::from_utf8_lossy(&inside[LETTERS.len()..LETTERS.len() + room]).into_owned(),
    };
    // It is one if it is what would be written.
    (digits.len() == room && of(text, &digits)? == text).then_some(digits)
}

/// A UUID with these digits. Its version and its variant stay.
fn uuid(token: &[u8], digits: &str) -> Vec<u8> {
    let is_upper = token.iter().any(u8::is_ascii_uppercase);
    let text = format!("{HEXADECIMAL}{digits}{}", &hashed(digits.as_bytes())[..CHECK_DIGITS]);
    let mut digits = text.bytes();
    let mut number = 0;
    let mut next = |letter: u8| {
        if letter == b'-' {
            return letter;
        }
        number += 1;
        let other = if UUID_KEPT.contains(&(number - 1)) { letter } else { digits.next().unwrap_or(b'0') };
        if is_upper { other.to_ascii_uppercase() } else { other }
    };
    token.iter().map(|letter| next(*letter)).collect()
}

/// The digits of a UUID but for version and variant.
fn digits_of_uuid(text: &[u8]) -> String {
    let digits = text.iter().filter(|letter| **letter != b'-').enumerate();
    let digits = digits.filter(|(at, _)| !UUID_KEPT.contains(at));
    digits.map(|(_, digit)| char::from(digit.to_ascii_lowercase())).collect()
}

/// How much of a token stays at its beginning and at its end.
fn ends(form: Form, token: &[u8]) -> (usize, usize) {
    match form {
        Form::Hexadecimal if token.starts_with(b"0x") => (2, 0),
        Form::Letters => (0, padding(token)),
        _ => (0, 0),
    }
}

fn padding(token: &[u8]) -> usize {
    token.iter().rev().take_while(|byte| **byte == b'=').count()
}

/// How many decimal digits so many hexadecimal ones need at most.
fn width(digits: usize) -> usize {
    (digits * 5).div_ceil(4)
}

/// A number of five digits that checks this one.
fn check(number: u64) -> u64 {
    let digits = hashed(number.to_string().as_bytes());
    u64::from_str_radix(&digits[..8], 16).unwrap_or_default() % 100_000
}
