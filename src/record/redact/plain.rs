//! Secrets in texts of no form: passwords in addresses and in what connections are made with, numbers of cards.

use std::ops::Range;

use super::cards;
use super::walk::{Edit, Form, Replace, Secret};

/// Names in what a connection is made with (libpq, "Keyword/Value Connection Strings"; ADO.NET; Azure Storage and Service Bus).
const PAIRS: [&str; 4] = ["password", "pwd", "accountkey", "sharedaccesskey"];
/// How hashes of passwords begin (crypt(5); the PHC string format; frameworks; RFC 2307, 5.3; RFC 5803, 3).
const HASHES: [&str; 21] = [
    "$2a$",
    "$2b$",
    "$2y$",
    "$argon2",
    "$scrypt$",
    "$pbkdf2",
    "$1$",
    "$5$",
    "$6$",
    "$y$",
    "$P$",
    "$H$",
    "pbkdf2_sha",
    "bcrypt_sha256$",
    "argon2$",
    "scrypt:",
    "pbkdf2:sha",
    "{SSHA",
    "{SHA",
    "{BCRYPT}",
    "SCRAM-SHA-256$",
];
/// Fewest bytes of one.
const HASH_BYTES: usize = 20;
/// Fewest bytes of a text that is looked at.
const SHORTEST_BYTES: usize = 5;

/// What a text may hold, by the bytes that are in it: most texts hold nothing, and are looked at once.
#[derive(Clone, Copy)]
struct Marks {
    bits: u8,
    digits: usize,
}

const COLON: u8 = 1;
const EQUALS: u8 = 2;
const DASH: u8 = 4;
/// What JSON, queries, escapes and hashes begin with.
const OTHER: u8 = 8;
/// The bit of each byte.
const BITS: [u8; 256] = {
    let mut bits = [0; 256];
    bits[b':' as usize] = COLON;
    bits[b'=' as usize] = EQUALS;
    bits[b'-' as usize] = DASH;
    let others = b"{[(\\$";
    let mut at = 0;
    while at < others.len() {
        bits[others[at] as usize] = OTHER;
        at += 1;
    }
    bits
};

impl Marks {
    fn of(bytes: &[u8]) -> Self {
        let mut marks = Self { bits: 0, digits: 0 };
        for byte in bytes {
            marks.bits |= BITS[usize::from(*byte)];
            marks.digits += usize::from(byte.is_ascii_digit());
        }
        marks
    }

    fn has(self, bits: u8) -> bool {
        self.bits & bits != 0
    }

    /// Of what stands for the number of a card there are fewer digits, and a dash.
    fn may_be_card(self) -> bool {
        self.digits >= cards::DIGITS[0] || self.has(DASH)
    }
}

/// Whether a text may hold a secret, or JSON in which there is one.
pub(super) fn may_hold(text: &[u8]) -> bool {
    let marks = Marks::of(text);
    text.len() >= SHORTEST_BYTES && (marks.has(COLON | EQUALS | OTHER) || marks.may_be_card())
}

/// Passwords in addresses: `scheme://user:password@host` (RFC 3986, 3.2.1), `host=h password=p` as databases have it.
pub(super) fn addresses(bytes: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
    within(bytes, false, replace)
}

/// The same in a text that somebody may have written, and numbers of cards in groups.
pub(super) fn prose(bytes: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
    within(bytes, true, replace)
}

fn within(bytes: &[u8], has_cards: bool, replace: Replace<'_>) -> Option<Vec<u8>> {
    if bytes.len() < SHORTEST_BYTES {
        return None;
    }
    if is_hash(bytes) {
        return replace(&Secret::password(bytes, Form::Address));
    }
    let mut edit = Edit::new(bytes);
    let marks = Marks::of(bytes);
    let mut found = if marks.has(COLON) { users(bytes) } else { Vec::new() };
    if marks.has(EQUALS) {
        found.extend(pairs(bytes));
    }
    // What stands for the number of a card has a dash in it, and fewer digits.
    let cards = if has_cards && marks.may_be_card() { cards::places(bytes) } else { Vec::new() };
    let mut found: Vec<(Range<usize>, &str)> = found.into_iter().map(|at| (at, "password")).collect();
    found.extend(cards.into_iter().map(|at| (at, cards::NAME)));
    found.sort_by_key(|(at, _)| at.start);
    for (at, name) in found.into_iter().filter(|(at, _)| !at.is_empty()) {
        if at.start >= edit.kept() {
            let secret = Secret { name, ..Secret::password(&bytes[at.clone()], Form::Address) };
            edit.put(at, replace(&secret));
        }
    }
    edit.end()
}

/// The part of the hash of a password that is replaced; the rest says what it is.
pub(super) fn hash(text: &[u8]) -> Option<&[u8]> {
    let first = text.first()?;
    let begin = HASHES.iter().find(|begin| begin.as_bytes()[0] == *first && text.starts_with(begin.as_bytes()))?;
    Some(&text[begin.len()..])
}

fn is_hash(text: &[u8]) -> bool {
    text.len() >= HASH_BYTES
        && hash(text).is_some_and(|rest| {
            rest.iter().all(u8::is_ascii_graphic) && !rest.contains(&b'"') && !rest.contains(&b'\'')
        })
}

fn users(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for start in memchr::memmem::find_iter(bytes, b"://").map(|at| at + 3) {
        let ends = |byte: &u8| b"/?#<>\"'\\".contains(byte) || byte.is_ascii_whitespace();
        let rest = &bytes[start..];
        let rest = &rest[..rest.iter().position(ends).unwrap_or(rest.len())];
        if let Some(at) = memchr::memrchr(b'@', rest)
            && let Some(colon) = memchr::memchr(b':', &rest[..at])
        {
            found.push(start + colon + 1..start + at);
        }
    }
    found
}

fn pairs(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for equals in memchr::memchr_iter(b'=', bytes) {
        // What stands in a password is a part of it.
        if found.last().is_some_and(|last| equals < last.end) {
            continue;
        }
        let before = bytes[..equals].trim_ascii_end();
        let named = PAIRS.iter().any(|name| {
            before.len().checked_sub(name.len()).is_some_and(|start| {
                let is_word = start > 0 && before[start - 1].is_ascii_alphanumeric();
                !is_word && before[start..].eq_ignore_ascii_case(name.as_bytes())
            })
        });
        if named {
            let start = equals + 1 + (bytes.len() - equals - 1 - bytes[equals + 1..].trim_ascii_start().len());
            let ends = |byte: &u8| b";&,\"'\\".contains(byte) || byte.is_ascii_whitespace();
            let end = bytes[start..].iter().position(ends).map_or(bytes.len(), |length| start + length);
            found.push(start..end);
        }
    }
    found
}
