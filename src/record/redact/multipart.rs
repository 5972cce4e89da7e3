//! The parts of a form or a message of several parts (RFC 2046, 5.1; RFC 7578): values of those that have the name of a secret,
//! and what is in the others.

use std::ops::Range;

use super::names::{decoded, is_secret_argument};
use super::queries::is_card;
use super::walk::{Edit, Replace, lines_or_texts, text, text_body};
use super::{cards, settings};

/// Deepest nesting that is looked into.
const MAX_DEPTH: usize = 4;

/// The body of this media type with other secrets in its parts.
pub(super) fn parts(media_type: &str, bytes: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
    within(media_type, bytes, replace, 0)
}

fn within(media_type: &str, bytes: &[u8], replace: Replace<'_>, depth: usize) -> Option<Vec<u8>> {
    let mut edit = Edit::new(bytes);
    for (head, value) in found(media_type, bytes) {
        let headers = headers(&bytes[head]);
        let field = |name: &str| headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let of = |name: &str| field(name).map(|(_, value)| String::from_utf8_lossy(value)).unwrap_or_default();
        let (disposition, kind) = (of("content-disposition"), of("content-type"));
        let inside = &bytes[value.clone()];
        let name = parameter(&disposition, "name").or_else(|| parameter(&disposition, "name*").map(extended));
        let name = name.unwrap_or_default();
        let is_card = is_card(&name, inside);
        if is_card || is_secret_argument(&name, inside) {
            let secret = text(if is_card { cards::NAME } else { &name }, inside);
            edit.put(value, (!inside.is_empty()).then(|| replace(&secret)).flatten());
        } else if parameter(&disposition, "filename").is_some_and(|file| holds_settings(&file)) {
            edit.put(value, settings::lines(inside, replace));
        } else if kind.get(..10).is_some_and(|begin| begin.eq_ignore_ascii_case("multipart/")) {
            if depth < MAX_DEPTH {
                edit.put(value, within(&kind, inside, replace, depth + 1));
            }
        } else if kind.is_empty() {
            edit.put(value, lines_or_texts(inside, replace));
        } else {
            edit.put(value, text_body(&headers, inside, replace));
        }
    }
    edit.end()
}

/// Whether a file of this name is made of lines with settings.
fn holds_settings(file: &str) -> bool {
    let name = file.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
    let ends = [".env", ".properties", ".ini", ".conf", ".cfg", ".toml", ".yaml", ".yml"];
    name.starts_with(".env") || ends.iter().any(|end| name.ends_with(end))
}

/// Head and value of each part.
fn found(media_type: &str, bytes: &[u8]) -> Vec<(Range<usize>, Range<usize>)> {
    let first_line = || bytes.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii_end().to_vec();
    let between = match parameter(media_type, "boundary") {
        Some(boundary) => [b"--", boundary.as_bytes()].concat(),
        None => first_line(),
    };
    let mut found = Vec::new();
    if between.len() < 3 || !between.starts_with(b"--") {
        return found;
    }
    let begins_line = |at: &usize| *at == 0 || bytes[at - 1] == b'\n';
    let places: Vec<usize> = memchr::memmem::find_iter(bytes, &between).filter(begins_line).collect();
    for (index, place) in places.iter().enumerate() {
        let head = place + between.len();
        let end = places.get(index + 1).copied().unwrap_or(bytes.len());
        if bytes[head..end].starts_with(b"--") {
            break;
        }
        let blank =
            |line: &[u8]| memchr::memmem::find(&bytes[head..end], line).map(|at| (head + at, head + at + line.len()));
        let Some((head_end, value)) = blank(b"\r\n\r\n").or_else(|| blank(b"\n\n")) else { continue };
        let inside = &bytes[value..end];
        let inside = inside.strip_suffix(b"\n").map_or(inside, |inside| inside.strip_suffix(b"\r").unwrap_or(inside));
        found.push((head..head_end, value..value + inside.len()));
    }
    found
}

fn headers(head: &[u8]) -> Vec<(String, Vec<u8>)> {
    let lines = head.split(|byte| *byte == b'\n').filter_map(|line| {
        let colon = memchr::memchr(b':', line)?;
        let name = String::from_utf8_lossy(line[..colon].trim_ascii()).into_owned();
        Some((name, line[colon + 1..].trim_ascii().to_vec()))
    });
    lines.collect()
}

/// The value of a parameter of a field (RFC 9110, 5.6.6), without quotes.
fn parameter(field: &str, name: &str) -> Option<String> {
    let mut rest = field;
    while let Some(start) = rest.find(';') {
        rest = &rest[start + 1..];
        let equals = rest.find(['=', ';'])?;
        let is_named = rest.as_bytes()[equals] == b'=' && rest[..equals].trim().eq_ignore_ascii_case(name);
        if rest.as_bytes()[equals] == b';' {
            continue;
        }
        let value = rest[equals + 1..].trim_start();
        let (value, after) = if let Some(quoted) = value.strip_prefix('"') {
            unquoted(quoted)
        } else {
            let (value, after) = value.split_at(value.find(';').unwrap_or(value.len()));
            (value.to_owned(), after)
        };
        if is_named {
            return Some(value.trim().to_owned());
        }
        rest = after;
    }
    None
}

/// A text up to its closing quote, and what follows.
fn unquoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (value, &text[at + 1..]),
            '\\' => value.extend(letters.next().map(|(_, letter)| letter)),
            _ => value.push(letter),
        }
    }
    (value, "")
}

/// The value of an extended parameter: `UTF-8'en'name` (RFC 8187).
fn extended(value: String) -> String {
    match value.splitn(3, '\'').nth(2) {
        Some(text) => decoded(text).into_owned(),
        None => value,
    }
}
