//! Secrets in JSON texts, in JSON lines and in event streams. Only values change. The scan is
//! linear at any nesting depth: a name applies to the value after it, and to the items of a list
//! there.

use std::borrow::Cow;
use std::collections::HashMap;

use super::edit::Edit;
use super::secret_names::{self, NameKind};
use super::{Redactor, stand_in};

/// Replaces the values of secret names; `None` if nothing changes. JSON inside a string is scanned
/// too, one level deep.
pub(super) fn values(bytes: &[u8], found: Redactor<'_>) -> Option<Vec<u8>> {
    walk(bytes, found, true)
}

fn walk(bytes: &[u8], found: Redactor<'_>, is_outermost: bool) -> Option<Vec<u8>> {
    let mut edit = Edit::new(bytes);
    let mut here = JsonName {
        text: Cow::Borrowed(""),
        kind: NameKind::Other,
        is_listed: false,
    };
    // Few distinct names occur, many times each.
    let mut kinds: HashMap<&[u8], NameKind> = HashMap::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at).copied() {
        let mut end = at + 1;
        match byte {
            b'"' => {
                let Some(quote) = end_of_text(bytes, at) else {
                    break;
                };
                end = quote + 1;
                let text = &bytes[at + 1..quote];
                let after = end
                    + bytes[end..]
                        .iter()
                        .take_while(|byte| byte.is_ascii_whitespace())
                        .count();
                if bytes.get(after) == Some(&b':') {
                    let name = unescaped(text);
                    let kind = *kinds
                        .entry(text)
                        .or_insert_with(|| found.secrets.kind(&name));
                    here = JsonName {
                        text: name,
                        kind,
                        is_listed: false,
                    };
                    end = after + 1;
                } else {
                    let other = here
                        .text(text, found)
                        .or_else(|| inner(text, found).filter(|_| is_outermost));
                    edit.put(at + 1..quote, other);
                }
            }
            b'{' | b'}' | b']' => here.kind = NameKind::Other,
            b'[' => here.is_listed = true,
            b'-' | b'0'..=b'9' => {
                let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
                end = at + bytes[at..].iter().take_while(is_part).count();
                edit.put(at..end, here.number(&bytes[at..end]));
            }
            _ => {}
        }
        at = end;
    }
    edit.end()
}

/// The name that applies at the current position.
struct JsonName<'a> {
    text: Cow<'a, str>,
    kind: NameKind,
    /// `true` inside a list under this name.
    is_listed: bool,
}

impl JsonName<'_> {
    fn text(&self, value: &[u8], found: Redactor<'_>) -> Option<Vec<u8>> {
        if self.kind == NameKind::Other || value.is_empty() {
            return None;
        }
        let value = unescaped(value);
        // An answer may describe a problem with a password in a sentence.
        let is_sentence = found.is_answer && value.contains(char::is_whitespace);
        let is_secret =
            secret_names::is_secret(self.kind, &self.text, value.as_bytes(), self.is_listed)
                && !is_sentence;
        is_secret.then(|| escaped(&String::from_utf8_lossy(&found.secret(value.as_bytes()))))
    }

    fn number(&self, value: &[u8]) -> Option<Vec<u8>> {
        let is_number =
            value.iter().all(u8::is_ascii_digit) && !secret_names::is_counted(&self.text);
        let is_secret = self.kind == NameKind::Secret && is_number && !self.is_listed;
        (is_secret && secret_names::is_secret(self.kind, &self.text, value, false))
            .then(|| stand_in::placeholder(value))
    }
}

/// Redacts a string that holds JSON itself.
fn inner(text: &[u8], found: Redactor<'_>) -> Option<Vec<u8>> {
    if !matches!(text.first(), Some(b'{' | b'[')) || !text.contains(&b'\\') {
        return None;
    }
    walk(unescaped(text).as_bytes(), found, false)
        .map(|other| escaped(&String::from_utf8_lossy(&other)))
}

/// Returns the position of the closing quote of the string that begins here.
fn end_of_text(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// Decodes the escapes of a JSON string (RFC 8259, 7). Invalid strings stay unchanged.
fn unescaped(text: &[u8]) -> Cow<'_, str> {
    if memchr::memchr(b'\\', text).is_none() {
        return String::from_utf8_lossy(text);
    }
    match serde_json::from_slice(&[b"\"", text, b"\""].concat()) {
        Ok(text) => Cow::Owned(text),
        Err(_) => String::from_utf8_lossy(text),
    }
}

/// Encodes a JSON string, without quotes.
fn escaped(text: &str) -> Vec<u8> {
    let quoted = serde_json::Value::from(text).to_string().into_bytes();
    quoted[1..quoted.len() - 1].to_vec()
}
