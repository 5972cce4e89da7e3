//! Redis logins, whose passwords are replaced, and document keys of `MongoDB`. Recordings of other
//! databases never contain password proofs.

use std::ops::Range;

use super::Redactor;
use super::secret_names::{self, NameKind};
use super::stand_in::placeholder;
use crate::protocol::mongo::{self, bson};
use crate::protocol::redis::command;

/// Replaces the passwords in a pipeline of `AUTH [user] password` and `HELLO 3 AUTH user password`.
/// Each password has its own placeholder, because a program may try a wrong one.
pub(super) fn login(bytes: &[u8]) -> Option<Vec<u8>> {
    let (mut out, mut rest, mut is_changed) = (Vec::new(), bytes, false);
    while let Some((words, after)) = command(rest) {
        let is = |word: &[u8], other: &str| word.eq_ignore_ascii_case(other.as_bytes());
        let first = words.first().copied().unwrap_or_default();
        let password = match words.len() {
            // More than two arguments are words of one password.
            2 | 3 if is(first, "AUTH") => Some(words.len() - 1),
            4.. if is(first, "AUTH") => Some(1),
            _ if is(first, "HELLO") => words
                .iter()
                .position(|word| is(word, "AUTH"))
                .map(|at| at + 2),
            _ => None,
        };
        let whole = &rest[..rest.len() - after.len()];
        rest = after;
        let Some(password) = password.filter(|at| *at < words.len()) else {
            out.extend_from_slice(whole);
            continue;
        };
        is_changed = true;
        let end = if is(first, "AUTH") {
            words.len()
        } else {
            password + 1
        };
        let other = placeholder(&words[password..end].join(&b' '));
        let words: Vec<&[u8]> = [&words[..password], &[&other], &words[end..]].concat();
        out.extend(format!("*{}\r\n", words.len()).into_bytes());
        for word in words {
            out.extend([format!("${}\r\n", word.len()).as_bytes(), word, b"\r\n"].concat());
        }
    }
    out.extend_from_slice(rest);
    is_changed.then_some(out)
}

/// Replaces secret values in a `MongoDB` message by placeholders of equal length, and erases
/// password proofs.
pub(super) fn documents(message: &mut [u8], found: Redactor<'_>) {
    let mut is_login = false;
    for (name, kind, at) in elements(message) {
        is_login |= matches!(name.as_str(), "saslStart" | "saslContinue");
        let value = &message[at.clone()];
        let other = if is_login && name == "payload" {
            vec![0; value.len()]
        } else {
            let of = if kind == bson::kind::STRING {
                found.secrets.kind(&name)
            } else {
                NameKind::Other
            };
            let is_kept = found.is_answer && super::is_hash(value);
            if is_kept || value.is_empty() || !secret_names::is_secret(of, &name, value, false) {
                continue;
            }
            found.secret(value)
        };
        message[at].copy_from_slice(&other);
    }
}

/// Returns name, type and value range of the leaf elements in all documents of a message, as far as
/// it is valid.
fn elements(message: &[u8]) -> Vec<(String, u8, Range<usize>)> {
    let mut found = Vec::new();
    for section in mongo::sections(message).unwrap_or_default() {
        let documents = match section {
            mongo::Section::Document(document) => vec![document],
            mongo::Section::Sequence(_, documents) => documents,
        };
        for document in documents {
            // A broken document yields the elements before the fault.
            let _ = bson::leaves(document, &mut found);
        }
    }
    let element = |element: &bson::Element<'_>| {
        let value = element.content();
        let start = value.as_ptr().addr() - message.as_ptr().addr();
        (
            String::from_utf8_lossy(element.name).into_owned(),
            element.kind,
            start..start + value.len(),
        )
    };
    found.iter().map(element).collect()
}
