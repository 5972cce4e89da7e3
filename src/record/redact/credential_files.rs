//! Secrets in files of credentials that are sent as plain text: `.netrc`, `.npmrc`, those of AWS. In any other text the same words
//! are words.

use std::ops::Range;

/// Settings of a file of AWS ("Configuration and credential file settings").
const AWS: [&str; 3] = ["aws_secret_access_key", "aws_session_token", "aws_security_token"];
/// Settings of `.npmrc`, behind the address of a registry or alone (npm, "Auth related configuration").
const NPM: [&str; 3] = ["_authToken", "_auth", "_password"];
/// Words of `.netrc` that are followed by another one (GNU Inetutils, "The .netrc file").
const NETRC: [&str; 5] = ["login", "user", "password", "account", "port"];

/// Whether a text begins with the name of a section, `[default]`, and no list of JSON.
pub(super) fn begins_section(text: &[u8]) -> bool {
    let mut lines = text.trim_ascii_start().splitn(2, |byte| *byte == b'\n');
    let (first, rest) = (lines.next().unwrap_or_default().trim_ascii_end(), lines.next().unwrap_or_default());
    let name = first.strip_prefix(b"[").and_then(|name| name.strip_suffix(b"]")).unwrap_or_default();
    let is_name = name.first().is_some_and(u8::is_ascii_alphabetic)
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b" _.-".contains(byte));
    is_name && rest.contains(&b'=')
}

/// The secret of a line, and what it is called.
pub(super) fn of_line(line: &[u8]) -> Option<(&str, Range<usize>)> {
    let equals = memchr::memchr(b'=', line)?;
    let name = std::str::from_utf8(&line[..equals]).ok()?.trim();
    let last = name.rsplit(':').next().unwrap_or_default();
    let is_npm = NPM.contains(&last) && (name == last || name.starts_with("//"));
    if !is_npm && !AWS.contains(&name) {
        return None;
    }
    let rest = &line[equals + 1..];
    let start = equals + 1 + (rest.len() - rest.trim_ascii_start().len());
    let value = rest.trim_ascii();
    // A variable is no secret.
    (!value.is_empty() && !value.starts_with(b"${")).then(|| (last, start..start + value.len()))
}

/// The passwords of a text that is a `.netrc`.
pub(super) fn of_netrc(text: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let begins = [&b"machine"[..], b"default"].iter().any(|word| text.trim_ascii_start().starts_with(word));
    if !begins && memchr::memmem::find(text, b"machine").is_none() {
        return found;
    }
    let words = words(text);
    let word = |at: usize| words.get(at).map_or(&b""[..], |place| &text[place.clone()]);
    let is_key = |at: usize| NETRC.iter().any(|key| word(at) == key.as_bytes());
    // What stands for a password has a blank in it.
    let after = |key: usize| if word(key + 1) == b"[redacted" { key + 3 } else { key + 2 };
    // Where there is nothing else it is one whatever the hosts are called.
    let is_whole = begins && {
        let mut at = 0;
        while at < words.len() && (is_key(at) || matches!(word(at), b"machine" | b"default")) {
            at = if word(at) == b"default" { at + 1 } else { after(at) };
        }
        at == words.len() && (0..at).any(|at| word(at) == b"login")
    };
    let (mut at, mut is_netrc) = (0, is_whole);
    while at < words.len() {
        // The name of a host has a point in it.
        let is_host = is_whole || word(at + 1).contains(&b'.') || word(at + 1) == b"localhost";
        let begins = match word(at) {
            b"machine" if is_host && is_key(at + 2) => Some(at + 2),
            b"default" if is_netrc && is_key(at + 1) => Some(at + 1),
            _ => None,
        };
        at += 1;
        let Some(mut key) = begins else { continue };
        is_netrc = true;
        while is_key(key) {
            if word(key) == b"password" && key + 1 < words.len() {
                let end = words.get(after(key) - 1).unwrap_or(&words[key + 1]).end;
                found.push(words[key + 1].start..end);
            }
            key = after(key);
        }
        at = key;
    }
    found
}

fn words(text: &[u8]) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let mut at = 0;
    for word in text.split(u8::is_ascii_whitespace) {
        if !word.is_empty() {
            words.push(at..at + word.len());
        }
        at += word.len() + 1;
    }
    words
}
