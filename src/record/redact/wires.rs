//! Logins of databases, of which nothing stays that proves a password, and keys of documents of `MongoDB`.

use std::ops::Range;

use super::Found;
use super::names::{self, Kind};
use super::stand_in::stand_in;
use crate::record::call::Protocol;
use crate::record::protocol::redis::command;

/// What stands where `PostgreSQL` was told a password.
const LOGIN: &[u8] = b"redacted";
/// Type and length of a message of `PostgreSQL`.
const POSTGRES_HEAD_BYTES: usize = 5;
/// Length and number of a packet of `MySQL`.
const MYSQL_HEAD_BYTES: usize = 4;
const COM_CHANGE_USER: u8 = 0x11;
const CLIENT_SECURE_CONNECTION: u32 = 0x8000;
const CLIENT_PLUGIN_AUTH_LENENC: u32 = 0x0020_0000;
/// Capabilities, largest packet, character set and 23 bytes without meaning.
const MYSQL_RESPONSE_HEAD_BYTES: usize = 32;

/// What the messages of one call have in common.
#[derive(Default)]
pub(super) struct Login {
    /// Whether the greeting of `MySQL` was answered.
    answered: bool,
}

impl Login {
    /// A message of a program without what proves a password; `None` if it has nothing of that.
    pub(super) fn without(&mut self, protocol: Protocol, is_session: bool, bytes: &[u8]) -> Option<Vec<u8>> {
        match protocol {
            // `PasswordMessage`, `SASLInitialResponse`, `SASLResponse`, `GSSResponse`.
            Protocol::Postgres if bytes.first() == Some(&b'p') && bytes.len() > POSTGRES_HEAD_BYTES => {
                let length = (LOGIN.len() as u32 + 5).to_be_bytes();
                Some([b"p", &length[..], LOGIN, b"\0"].concat())
            }
            Protocol::MySql => self.mysql(is_session, bytes),
            Protocol::Redis => redis(bytes),
            _ => None,
        }
    }

    /// Answers to the greeting and to what it is followed by, and `COM_CHANGE_USER`.
    fn mysql(&mut self, is_session: bool, message: &[u8]) -> Option<Vec<u8>> {
        let (head, body) = message.split_at_checked(MYSQL_HEAD_BYTES)?;
        let number = head[MYSQL_HEAD_BYTES - 1];
        let mut body = body.to_vec();
        if number == 0 && body.first() == Some(&COM_CHANGE_USER) {
            after_name(&mut body, 1, true)?.fill(0);
        } else if is_session && number > 0 {
            // A request for encryption is the head alone; a single byte is a question, such as for a key.
            if body.len() <= 1 || body.len() == MYSQL_RESPONSE_HEAD_BYTES && !self.answered {
                return None;
            }
            if std::mem::replace(&mut self.answered, true) {
                body.fill(0);
            } else {
                let capabilities = u32::from_le_bytes(*body.first_chunk()?);
                // Both forms have their length in one byte as long as it is less than 251.
                let counted = capabilities & (CLIENT_SECURE_CONNECTION | CLIENT_PLUGIN_AUTH_LENENC) != 0;
                after_name(&mut body, MYSQL_RESPONSE_HEAD_BYTES, counted)?.fill(0);
            }
        } else {
            return None;
        }
        Some([head, &body].concat())
    }
}

/// What follows the name that begins at this byte: with its length before it, or up to a zero.
fn after_name(body: &mut [u8], from: usize, counted: bool) -> Option<&mut [u8]> {
    let start = from + memchr::memchr(0, body.get(from..)?)? + 1;
    if counted {
        let length = usize::from(*body.get(start)?);
        return body.get_mut(start + 1..start + 1 + length);
    }
    let length = memchr::memchr(0, body.get(start..)?)?;
    body.get_mut(start..start + length)
}

/// `AUTH [user] password` and `HELLO 3 AUTH user password`, one after another, with what stands for the password: a program may
/// try another one, which is refused.
fn redis(bytes: &[u8]) -> Option<Vec<u8>> {
    let (mut out, mut rest, mut is_changed) = (Vec::new(), bytes, false);
    while let Some((words, after)) = command(rest) {
        let is = |word: &[u8], other: &str| word.eq_ignore_ascii_case(other.as_bytes());
        let first = words.first().copied().unwrap_or_default();
        let password = match words.len() {
            // More than a user and a password are words of one.
            2 | 3 if is(first, "AUTH") => Some(words.len() - 1),
            4.. if is(first, "AUTH") => Some(1),
            _ if is(first, "HELLO") => words.iter().position(|word| is(word, "AUTH")).map(|at| at + 2),
            _ => None,
        };
        let whole = &rest[..rest.len() - after.len()];
        rest = after;
        let Some(password) = password.filter(|at| *at < words.len()) else {
            out.extend_from_slice(whole);
            continue;
        };
        is_changed = true;
        let end = if is(first, "AUTH") { words.len() } else { password + 1 };
        let other = stand_in(&words[password..end].join(&b' '));
        let words: Vec<&[u8]> = [&words[..password], &[&other], &words[end..]].concat();
        out.extend(format!("*{}\r\n", words.len()).into_bytes());
        for word in words {
            out.extend([format!("${}\r\n", word.len()).as_bytes(), word, b"\r\n"].concat());
        }
    }
    out.extend_from_slice(rest);
    is_changed.then_some(out)
}

/// A message of `MongoDB` with others in place of the values of keys of secrets, at the same length, and without what proves a
/// password; whether anything changed.
pub(super) fn documents(message: &mut [u8], found: Found<'_>) -> bool {
    let mut is_changed = false;
    let mut is_login = false;
    for (name, kind, at) in elements(message) {
        is_login |= matches!(&message[name.clone()], b"saslStart" | b"saslContinue");
        let name = String::from_utf8_lossy(&message[name]).into_owned();
        let value = &message[at.clone()];
        let other = if is_login && name == "payload" {
            vec![0; value.len()]
        } else {
            let of = if kind == TEXT { found.secrets.kind(&name) } else { Kind::Other };
            let is_kept = found.is_answer && super::is_hash(value);
            if is_kept || value.is_empty() || !names::is_secret(of, &name, value, false) {
                continue;
            }
            found.secret(value)
        };
        is_changed |= message[at.clone()] != other[..];
        message[at].copy_from_slice(&other);
    }
    is_changed
}

const TEXT: u8 = 0x02;

/// The name, the type and the value of an element.
type Element = (Range<usize>, u8, Range<usize>);

/// The elements of all documents of a message (`MongoDB`, "Wire Protocol"; bsonspec.org). A document in another one is read like
/// the elements beside it, and has no value of its own.
fn elements(message: &[u8]) -> Vec<Element> {
    const REPLY: usize = 1;
    const QUERY: usize = 2004;
    const MSG: usize = 2013;
    let mut found = Vec::new();
    let zero = |from: usize| memchr::memchr(0, message.get(from..)?).map(|length| from + length);
    // Where documents begin, or, of the last, sections.
    let (mut at, is_sectioned) = match number(message, 12) {
        Some(REPLY) => (36, false),
        Some(QUERY) => (zero(20).map_or(message.len(), |end| end + 9), false),
        Some(MSG) => (20, true),
        _ => return found,
    };
    // Documents follow one another up to there.
    let mut end = if is_sectioned { at } else { message.len() };
    while at < message.len() {
        if at >= end {
            // A document, or a length, a name and documents.
            let next = match message[at] {
                0 => number(message, at + 1).map(|length| (at + 1, at + 1 + length)),
                1 => zero(at + 5).zip(number(message, at + 1)).map(|(name, length)| (name + 1, at + 1 + length)),
                _ => None,
            };
            let Some(next) = next.filter(|(start, _)| *start > at) else { break };
            (at, end) = next;
        }
        let Some(next) = document(message, at, &mut found) else { break };
        at = next;
    }
    found
}

fn number(message: &[u8], at: usize) -> Option<usize> {
    let bytes = message.get(at..at.checked_add(4)?)?;
    usize::try_from(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])).ok()
}

/// The elements of the document here, and where it ends.
fn document(message: &[u8], start: usize, found: &mut Vec<Element>) -> Option<usize> {
    let end = start.checked_add(number(message, start)?).filter(|end| *end <= message.len() && *end > start + 4)?;
    let mut at = start + 4;
    while at < end {
        let kind = message[at];
        at += 1;
        if kind == 0 {
            continue;
        }
        let name = at..at + memchr::memchr(0, &message[at..end])?;
        at = name.end + 1;
        let value = match kind {
            TEXT | 0x0d | 0x0e => at + 4..(at + 4).checked_add(number(message, at)?.checked_sub(1)?)?,
            0x05 => at + 5..(at + 5).checked_add(number(message, at)?)?,
            0x03 | 0x04 => at + 4..at + 4,
            0x0f => at + 4..at.checked_add(number(message, at)?)?,
            0x01 | 0x09 | 0x11 | 0x12 => at..at + 8,
            0x10 => at..at + 4,
            0x07 => at..at + 12,
            0x08 => at..at + 1,
            0x13 => at..at + 16,
            0x06 | 0x0a | 0x7f | 0xff => at..at,
            0x0b => {
                let pattern = at + memchr::memchr(0, &message[at..end])? + 1;
                at..pattern + memchr::memchr(0, message.get(pattern..end)?)?
            }
            _ => return None,
        };
        // A text ends in a zero that its length counts, a pattern in one that it does not.
        at = value.end + usize::from(matches!(kind, TEXT | 0x0b | 0x0d | 0x0e));
        if value.end > end {
            return None;
        }
        found.push((name, kind, value));
    }
    Some(end)
}
