//! Secrets of HTTP by place: header fields, cookies, query and form parameters, JSON keys and
//! multipart parts.

use std::ops::Range;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

use super::edit::Edit;
use super::secret_names::{self, NameKind, decoded, is_word};
use super::stand_in::{is_placeholder, looks_random, signature};
use super::{Redactor, json};

/// Credential parameters that identify the caller and stay. All others vary with each request (RFC
/// 7616, 3.4; RFC 5849, 3.1; AWS, "Signature Version 4").
const CALLERS: [&str; 5] = ["username", "keyid", "id", "realm", "algorithm"];

/// Characters to percent-encode in a parameter (RFC 3986, 2.1).
const MARKED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'*');

pub(super) fn field(name: &str, value: &[u8], found: Redactor<'_>) -> Option<Vec<u8>> {
    let lower = name.to_ascii_lowercase();
    if matches!(lower.as_str(), "cookie" | "set-cookie") {
        return cookies(value, lower == "set-cookie", found);
    }
    let start = value.len() - value.trim_ascii_start().len();
    let at = start..value.trim_ascii_end().len().max(start);
    let text = &value[at.clone()];
    let mut edit = Edit::new(value);
    if lower.ends_with("authorization") {
        let scheme = text
            .iter()
            .position(|byte| *byte == b' ')
            .map_or(0, |space| space + 1);
        let rest = &text[scheme..];
        let is_signed = !matches!(
            &text[..scheme].to_ascii_lowercase()[..],
            b"basic " | b"bearer "
        ) && scheme > 0;
        let other = if is_signed && is_list(rest) {
            signed(rest, found)
        } else {
            whole(&lower, rest, found)
        };
        edit.put(start + scheme..at.end, other);
    } else if found.secrets.kind(name) != NameKind::Other {
        edit.put(at, of_name(name, text, found));
    } else if secret_names::is_key(name, text) {
        edit.put(at, Some(found.secret(text)));
    } else if let Some(question) = memchr::memchr2(b'?', b'#', value) {
        // A URL, whose query or fragment may hold secrets.
        let ends = |byte: &u8| b">\" ".contains(byte);
        let end = value[question..]
            .iter()
            .position(ends)
            .map_or(value.len(), |length| question + length);
        let start = question + 1;
        edit.put(start..end, parameters(&value[start..end], found));
    }
    edit.end()
}

/// Returns the placeholder for a value of this name, if it is a secret.
fn of_name(name: &str, value: &[u8], found: Redactor<'_>) -> Option<Vec<u8>> {
    let kind = found.secrets.kind(name);
    let is_sentence = found.is_answer && value.contains(&b' ');
    (secret_names::is_secret(kind, name, value, false) && !is_sentence)
        .then(|| whole(name, value, found))
        .flatten()
}

fn whole(name: &str, value: &[u8], found: Redactor<'_>) -> Option<Vec<u8>> {
    if value.is_empty() || is_placeholder(value) {
        return None;
    }
    if let Some(slash) =
        memchr::memchr(b'/', value).filter(|_| name.to_ascii_lowercase().ends_with("credential"))
    {
        // The signer stays: it is no secret, or it is a key with a known shape. The signing time
        // follows.
        return Some([&value[..=slash], &signature(b"")].concat());
    }
    Some(if secret_names::is_signature(name) {
        signature(value)
    } else {
        found.secret(value)
    })
}

fn is_list(text: &[u8]) -> bool {
    memchr::memchr(b'=', text).is_some_and(|equals| {
        text[..equals]
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-*".contains(byte))
            && text[equals + 1..].iter().any(|byte| *byte != b'=')
    })
}

/// Redacts credential parameters: the caller stays, a token gets its own placeholder, and values
/// that vary with each request are erased.
fn signed(text: &[u8], found: Redactor<'_>) -> Option<Vec<u8>> {
    let mut edit = Edit::new(text);
    for (name, at) in parse_pairs(text, b",") {
        let (name, secret) = (name.to_ascii_lowercase(), &text[at.clone()]);
        if CALLERS.contains(&name.as_str()) || is_placeholder(secret) || secret.is_empty() {
        } else if found.secrets.kind(&name) != NameKind::Other && !secret_names::is_signature(&name)
        {
            edit.put(at, whole(&name, secret, found));
        } else {
            edit.put(at, Some(signature(b"")));
        }
    }
    edit.end()
}

/// Redacts the values of a `Cookie` or the one value of a `Set-Cookie` (RFC 6265, 4.1 and 4.2).
/// Words stay: they are settings, such as a language, that steer the program.
fn cookies(value: &[u8], is_set: bool, found: Redactor<'_>) -> Option<Vec<u8>> {
    let mut edit = Edit::new(value);
    for (name, at) in parse_pairs(value, b";").take(if is_set { 1 } else { usize::MAX }) {
        let plain = decoded(&value[at.clone()], false);
        let is_named = found.secrets.kind(&name) != NameKind::Other && !is_word(&plain);
        if (is_named || looks_random(&plain)) && !plain.is_empty() && !is_placeholder(&plain) {
            edit.put(at, Some(found.secret(&plain)));
        }
    }
    edit.end()
}

/// Returns names and value ranges of a `name=value` list with these separators. The ranges exclude
/// quotes.
fn parse_pairs<'a>(
    text: &'a [u8],
    between: &'static [u8],
) -> impl Iterator<Item = (String, Range<usize>)> + 'a {
    let mut next = 0;
    text.split(|byte| between.contains(byte))
        .filter_map(move |part| {
            let start = next;
            next += part.len() + 1;
            let equals = memchr::memchr(b'=', part)?;
            let name = decoded(part[..equals].trim_ascii(), true);
            let at = start + equals + 1..start + part.trim_ascii_end().len().max(equals + 1);
            let is_quoted = at.len() > 2 && text[at.start] == b'"' && text[at.end - 1] == b'"';
            let at = if is_quoted {
                at.start + 1..at.end - 1
            } else {
                at
            };
            Some((String::from_utf8_lossy(&name).into_owned(), at))
        })
}

pub(super) fn path(path: &str, found: Redactor<'_>) -> Option<String> {
    let (before, query) = path.split_once('?')?;
    let other = parameters(query.as_bytes(), found)?;
    Some(format!("{before}?{}", String::from_utf8_lossy(&other)))
}

/// Redacts the parameters of a query or a form. Values may be JSON.
fn parameters(text: &[u8], found: Redactor<'_>) -> Option<Vec<u8>> {
    let mut edit = Edit::new(text);
    for (name, at) in parse_pairs(text, b"&#") {
        let plain = decoded(&text[at.clone()], true);
        let other = of_name(&name, &plain, found).filter(|_| !plain.is_empty());
        let other =
            other.or_else(|| secret_names::is_key(&name, &plain).then(|| found.secret(&plain)));
        let other = other.or_else(|| json::values(&plain, found).filter(|_| begins_json(&plain)));
        edit.put(
            at,
            other.map(|other| percent_encode(&other, MARKED).to_string().into_bytes()),
        );
    }
    edit.end()
}

fn begins_json(text: &[u8]) -> bool {
    matches!(text.trim_ascii_start().first(), Some(b'{' | b'['))
}

pub(super) fn body(
    headers: &[(String, Vec<u8>)],
    body: &[u8],
    found: Redactor<'_>,
) -> Option<Vec<u8>> {
    let field = headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let kind = field
        .map(|(_, value)| value.to_ascii_lowercase())
        .unwrap_or_default();
    let has = |word: &str| memchr::memmem::find(&kind, word.as_bytes()).is_some();
    if kind.starts_with(b"multipart/") {
        parts(body, found)
    } else if has("x-www-form-urlencoded") && !begins_json(body) {
        parameters(body, found)
    } else if !has("grpc")
        && !has("protobuf")
        && (begins_json(body) || has("json") || kind.starts_with(b"text/"))
    {
        json::values(body, found)
    } else {
        None
    }
}

/// Redacts multipart forms (RFC 7578): values with a secret's name, and JSON in other parts.
fn parts(body: &[u8], found: Redactor<'_>) -> Option<Vec<u8>> {
    let first = body.split(|byte| *byte == b'\n').next()?.trim_ascii_end();
    if first.len() < 3 || !first.starts_with(b"--") {
        return None;
    }
    let mut edit = Edit::new(body);
    let mut places = memchr::memmem::find_iter(body, first).peekable();
    while let Some(place) = places.next() {
        let all = place + first.len()..places.peek().copied().unwrap_or(body.len());
        let part = &body[all.clone()];
        let Some(blank) = memchr::memmem::find(part, b"\r\n\r\n") else {
            continue;
        };
        let start = blank + 4;
        let value = part[start..]
            .strip_suffix(b"\r\n")
            .unwrap_or(&part[start..]);
        let at = all.start + start..all.start + start + value.len();
        let name =
            memchr::memmem::find(&part[..blank], b" name=\"").map(|begin| &part[begin + 7..blank]);
        let name = name
            .and_then(|name| name.split(|byte| *byte == b'"').next())
            .unwrap_or_default();
        let name = String::from_utf8_lossy(name);
        let other = of_name(&name, value, found).filter(|_| !value.is_empty());
        edit.put(
            at,
            other.or_else(|| json::values(value, found).filter(|_| begins_json(value))),
        );
    }
    edit.end()
}
