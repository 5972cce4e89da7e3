//! Secrets in settings that are written in lines (YAML, TOML), and in arguments of a query (GraphQL).

use std::collections::HashMap;
use std::ops::Range;

use super::cards;
use super::credential_files;
use super::names::{is_password, is_secret_key, is_secret_value};
use super::plain::{addresses, prose};
use super::queries::is_card;
use super::walk::{Edit, Form, Replace, Secret, text as named};

/// Lines `key: value` and `key = value`, with other values where the key says that they are secrets.
pub(super) fn lines(bytes: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
    let mut edit = Edit::new(bytes);
    // A value that stands in the lines below its key, which are further in.
    let (mut at, mut block): (usize, Option<(usize, String, Range<usize>)>) = (0, None);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let start = at;
        at += line.len();
        let text = line.trim_ascii_end();
        let indent = text.len() - text.trim_ascii_start().len();
        if let Some((.., inside)) = block.as_mut().filter(|(outer, ..)| text.is_empty() || indent > *outer) {
            if !text.is_empty() {
                inside.start = if inside.end == 0 { start + indent } else { inside.start };
                inside.end = start + text.len();
            }
            continue;
        }
        if let Some((_, name, inside)) = block.take() {
            put(&mut edit, bytes, &name, inside, replace);
        }
        let Some((key, value)) = pair(text) else {
            edit.put(start..start + text.len(), addresses(text, replace));
            continue;
        };
        let value = start + value.start..start + value.end;
        if is_card(&key, &bytes[value.clone()]) {
            edit.put(value.clone(), replace(&named(cards::NAME, &bytes[value])));
        } else if !is_secret_value(&key, &bytes[value.clone()]) {
            match addresses(&bytes[value.clone()], replace) {
                Some(other) => edit.put(value, Some(other)),
                None => edit.put(start..start + text.len(), addresses(text, replace)),
            }
        } else if matches!(bytes[value.clone()].first(), Some(b'|' | b'>')) {
            let dash = if text[indent..].starts_with(b"- ") { 2 } else { 0 };
            block = Some((indent + dash, key, 0..0));
        } else if !matches!(bytes[value.clone()].first(), Some(b'{' | b'&' | b'*')) {
            put(&mut edit, bytes, &key, value, replace);
        }
    }
    if let Some((_, name, inside)) = block {
        put(&mut edit, bytes, &name, inside, replace);
    }
    edit.end()
}

/// Lines `NAME=value` of an environment in a text that may be anything: the names are in capitals. The rest of the lines is
/// searched for passwords in addresses.
pub(super) fn environment(bytes: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
    let mut edit = Edit::new(bytes);
    let mut passwords = credential_files::of_netrc(bytes).into_iter().peekable();
    let mut at = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let start = at;
        at += line.len();
        let text = line.trim_ascii_end();
        if passwords.peek().is_some_and(|password| password.start < at) {
            while let Some(password) = passwords.next_if(|password| password.start < at) {
                put(&mut edit, bytes, "password", password, replace);
            }
            continue;
        }
        if let Some((name, value)) = credential_files::of_line(text) {
            put(&mut edit, bytes, name, start + value.start..start + value.end, replace);
            continue;
        }
        let is_name = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
        let name = memchr::memchr(b'=', text).map(|at| text[..at].trim_ascii());
        let name = name.map(|name| name.strip_prefix(b"export ").unwrap_or(name));
        let is_setting = name.is_some_and(|name| !name.is_empty() && name.iter().all(is_name));
        let pair = if is_setting { pair(text) } else { None };
        let value = pair.as_ref().map(|(_, value)| start + value.start..start + value.end);
        match pair.zip(value) {
            Some(((name, _), value)) if is_card(&name, &bytes[value.clone()]) => {
                edit.put(value.clone(), replace(&named(cards::NAME, &bytes[value])));
            }
            Some(((name, _), value)) if is_secret_value(&name, &bytes[value.clone()]) => {
                put(&mut edit, bytes, &name, value, replace);
            }
            _ => edit.put(start..start + text.len(), prose(text, replace)),
        }
    }
    edit.end()
}

/// Arguments `name: "value"` of a query, and values of variables where none are given, with other values where the name says
/// that they are secrets.
pub(super) fn arguments(bytes: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
    let mut edit = Edit::new(bytes);
    let given = std::str::from_utf8(bytes).map(variables).unwrap_or_default();
    let mut at = 0;
    while let Some(quote) = memchr::memchr(b'"', &bytes[at..]).map(|length| at + length) {
        let (start, end, after) = quoted(bytes, quote);
        let before = bytes[at..quote].trim_ascii_end();
        // `$password: String! = "..."`
        let of_variable = before.strip_suffix(b"=").map(|rest| {
            let is_type = |byte: &u8| byte.is_ascii_alphanumeric() || b"_[]! ".contains(byte);
            &rest[..rest.len() - rest.iter().rev().take_while(|byte| is_type(byte)).count()]
        });
        let name = of_variable.unwrap_or(before).strip_suffix(b":").unwrap_or_default().trim_ascii_end();
        let begin = name.iter().rposition(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').map_or(0, |at| at + 1);
        let name = String::from_utf8_lossy(&name[begin..]);
        let argument = of_variable.and_then(|_| given.get(&*name));
        let name = argument.map_or(&*name, |argument| *argument);
        if is_secret_value(name, &bytes[start..end]) {
            put(&mut edit, bytes, name, start..end, replace);
        }
        at = after;
    }
    edit.end()
}

/// What stands in the text that is quoted here, once or by three quotes (specification, section 2.9.4), from where to where;
/// and what is behind it.
fn quoted(bytes: &[u8], quote: usize) -> (usize, usize, usize) {
    const BLOCK: &[u8] = b"\"\"\"";
    let is_block = bytes[quote..].starts_with(BLOCK);
    let length = if is_block { BLOCK.len() } else { 1 };
    let start = quote + length;
    let mut end = start;
    while let Some(rest) = bytes.get(end..).filter(|rest| !rest.is_empty() && !rest.starts_with(&BLOCK[..length])) {
        let is_marked = if is_block { rest[1..].starts_with(BLOCK) } else { true };
        end += if rest[0] == b'\\' && is_marked { 1 + length } else { 1 };
    }
    let end = end.min(bytes.len());
    (start, end, (end + length).min(bytes.len()))
}

/// The variables of a query that are given to arguments whose names say that they are secrets, with the names of these.
pub(super) fn variables(query: &str) -> HashMap<&str, &str> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    // Of several arguments the first counts.
    let given = query.rmatch_indices('$').filter_map(|(at, _)| {
        let variable = query[at + 1..].split(|letter| !is_part(letter)).next()?;
        let before = query[..at].trim_end().strip_suffix(':')?.trim_end();
        let argument = before.rsplit(|letter| !is_part(letter)).next()?;
        is_secret_key(argument).then_some((variable, argument))
    });
    given.collect()
}

/// Whether a text is a query of GraphQL (specification, section 2.3).
pub(super) fn is_query(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let begins = |word: &str| text.starts_with(word.as_bytes());
    ["mutation", "query", "subscription", "fragment", "{"].into_iter().any(begins) && text.contains(&b'(')
}

fn put(edit: &mut Edit<'_>, bytes: &[u8], name: &str, at: Range<usize>, replace: Replace<'_>) {
    let value = &bytes[at.clone()];
    if !value.is_empty() {
        let secret = Secret { name, value, form: Form::Text, guessable: is_password(name), place: 0 };
        edit.put(at, replace(&secret));
    }
}

/// The key of a line, and where its value is, without quotes and without a comment.
fn pair(line: &[u8]) -> Option<(String, Range<usize>)> {
    let separator = line.iter().position(|byte| matches!(byte, b':' | b'='))?;
    let mut key = line[..separator].trim_ascii();
    key = key.strip_prefix(b"export ").unwrap_or(key);
    key = key.strip_prefix(b"- ").unwrap_or(key).trim_ascii();
    let key =
        [b'"', b'\''].iter().find_map(|quote| key.strip_prefix(&[*quote])?.strip_suffix(&[*quote])).unwrap_or(key);
    if key.is_empty() || key[0] == b'#' || key.iter().any(u8::is_ascii_whitespace) {
        return None;
    }
    let rest = &line[separator + 1..];
    let start = separator + 1 + (rest.len() - rest.trim_ascii_start().len());
    let end = match line.get(start) {
        Some(quote @ (b'"' | b'\'')) => {
            let end = memchr::memchr(*quote, &line[start + 1..]).map_or(line.len(), |length| start + 1 + length);
            return Some((String::from_utf8_lossy(key).into_owned(), start + 1..end));
        }
        _ => memchr::memmem::find(&line[start..], b" #").map_or(line.len(), |length| start + length),
    };
    let value = line[start..end].trim_ascii_end().len();
    Some((String::from_utf8_lossy(key).into_owned(), start..start + value))
}
