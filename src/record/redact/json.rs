//! Secrets in texts that are JSON or hold some: lines of it, events of a stream. Nothing but values changes.

use super::names::is_secret_key;

/// A text under a key that holds secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found<'a> {
    /// The key, as it is spelt.
    pub(super) key: &'a str,
    /// The text, as it is spelt: with escapes, without quotes.
    pub(super) value: &'a [u8],
    /// Where it begins.
    pub(super) at: usize,
}

/// All texts under keys that hold secrets, alone or in a list. Numbers and words are none, and an object has keys of its own.
pub(super) fn secrets(bytes: &[u8]) -> Vec<Found<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = memchr::memchr(b'"', bytes.get(at..).unwrap_or_default()).map(|next| at + next) {
        let Some((text, after)) = text(bytes, start) else { break };
        at = after;
        let mut value = after_space(bytes, after);
        if bytes.get(value) != Some(&b':') {
            continue;
        }
        value = after_space(bytes, value + 1);
        let Some(key) = std::str::from_utf8(text).ok().filter(|key| is_secret_key(key)) else { continue };
        at = values(bytes, value, key, &mut found);
    }
    found
}

/// The texts of one value; where to go on.
fn values<'a>(bytes: &'a [u8], mut at: usize, key: &'a str, found: &mut Vec<Found<'a>>) -> usize {
    let in_list = bytes.get(at) == Some(&b'[');
    at += usize::from(in_list);
    loop {
        at = after_space(bytes, at);
        if bytes.get(at) != Some(&b'"') {
            return at;
        }
        let Some((value, after)) = text(bytes, at) else { return bytes.len() };
        found.push(Found { key, value, at: at + 1 });
        at = after_space(bytes, after);
        if !in_list || bytes.get(at) != Some(&b',') {
            return at;
        }
        at += 1;
    }
}

/// What stands between the quotes of a text that begins here, and where it ends.
fn text(bytes: &[u8], start: usize) -> Option<(&[u8], usize)> {
    let mut at = start + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some((&bytes[start + 1..at], at + 1));
        }
        at += 2;
    }
}

fn after_space(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}
