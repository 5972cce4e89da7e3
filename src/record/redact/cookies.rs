//! Cookies (RFC 6265, 4.1 and 4.2): which of them are secrets. The others are settings, such as a language: the program
//! chooses by them what it does, so they stay as they are.

use super::echo::is_telling;
use super::fields::is_secret_cookie;
use super::names::decoded;
use super::walk::{Edit, Form, Replace, Secret, within};
use super::{MARKED, blank};

/// What the name of a cookie has before it among those of secrets.
pub(super) const PREFIX: &str = "cookie ";

/// The values of a `Cookie`, or the one of a `Set-Cookie`. Names and attributes stay.
pub(super) fn values(value: &[u8], is_set: bool, replace: Replace<'_>) -> Option<Vec<u8>> {
    let mut edit = Edit::new(value);
    let mut from = 0;
    for pair in value.split(|byte| *byte == b';').take(if is_set { 1 } else { usize::MAX }) {
        let begin = memchr::memchr(b'=', pair).map_or(from, |at| from + at + 1);
        let end = from + pair.len();
        let is_quoted = end - begin > 2 && value[begin] == b'"' && value[end - 1] == b'"';
        let at = if is_quoted { begin + 1..end - 1 } else { begin..end };
        let name = String::from_utf8_lossy(value[from..begin].strip_suffix(b"=").unwrap_or_default().trim_ascii());
        let cookie = &value[at.clone()];
        let form = if is_secret(&name, cookie) { Form::Cookie } else { Form::Setting };
        let name = format!("{PREFIX}{name}");
        let secret = Secret { name: &name, value: cookie, form, guessable: false, place: 0 };
        // One without a value is none.
        edit.put(at.clone(), (!at.is_empty()).then(|| replace(&secret)).flatten());
        from += pair.len() + 1;
    }
    edit.end()
}

/// Whether the name says so, or the value is one that nobody chose: a single token, or a text with secrets in it.
fn is_secret(name: &str, value: &[u8]) -> bool {
    if is_secret_cookie(name) || value.starts_with(MARKED.as_bytes()) {
        return true;
    }
    let text = String::from_utf8_lossy(value);
    let plain = decoded(&text);
    is_token(plain.as_bytes()) && is_telling(plain.as_bytes()) && !is_date(plain.as_bytes())
        || within(plain.as_bytes(), &mut blank).is_some()
}

/// Whether this is a single token.
fn is_token(value: &[u8]) -> bool {
    value.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/=:|!".contains(byte))
}

/// Whether a date begins it (RFC 3339, 5.6).
fn is_date(value: &[u8]) -> bool {
    let is_part = |at: usize, byte: &u8| if matches!(at, 4 | 7) { *byte == b'-' } else { byte.is_ascii_digit() };
    value.get(..10).is_some_and(|day| day.iter().enumerate().all(|(at, byte)| is_part(at, byte)))
}
