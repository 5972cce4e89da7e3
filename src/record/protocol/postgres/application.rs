//! The name that a program gives itself. Many put the number of their process into it, and it chooses an answer only where a
//! statement reads it.

use std::borrow::Cow;

use super::message::{message, opening_of, parameters};
use crate::record::protocol::sql::{self, Token};

/// The setting.
pub(super) const NAME: &str = "application_name";
/// Version of the startup messages of clients: 3.0. Others begin calls here, and say the state of a connection.
const LOGIN_VERSION: u32 = 196_608;

/// A message of a client without the name, where it is a login or a statement that does nothing but set the name.
pub(in crate::record) fn nameless(whole: &[u8]) -> Cow<'_, [u8]> {
    let other = match whole.first() {
        Some(0) => login(whole),
        Some(b'Q') => texts(whole, 0),
        Some(b'P' | b'B') => texts(whole, 1),
        Some(b'D') if whole.get(5) == Some(&b'S') => texts(whole, 0),
        _ => None,
    };
    other.map_or(Cow::Borrowed(whole), Cow::Owned)
}

fn login(whole: &[u8]) -> Option<Vec<u8>> {
    let is_named = parameters(whole).any(|(name, _)| name == NAME.as_bytes());
    if !is_named || opening_of(whole) != Some(LOGIN_VERSION) {
        return None;
    }
    let kept = parameters(whole).filter(|(name, _)| *name != NAME.as_bytes());
    let body: Vec<u8> = kept.flat_map(|(name, value)| [name, b"\0", value, b"\0"].concat()).collect();
    let length = (body.len() as u32 + 9).to_be_bytes();
    Some([&length[..], &LOGIN_VERSION.to_be_bytes(), &body, b"\0"].concat())
}

/// The statement stands behind so many other texts.
fn texts(whole: &[u8], before: usize) -> Option<Vec<u8>> {
    let body = whole.get(5..)?;
    // `Describe` says of what kind of thing first.
    let kind = usize::from(whole[0] == b'D');
    let start = body.iter().enumerate().filter(|(_, byte)| **byte == 0).map(|(at, _)| at + 1).take(before).last();
    let start = start.unwrap_or(0) + kind;
    let end = start + memchr::memchr(0, body.get(start..)?)?;
    let text = std::str::from_utf8(&body[start..end]).ok()?;
    let length = nameless_set(text)?;
    Some(message(whole[0], &[&body[..start + length], &body[end..]]))
}

/// How much of `SET application_name = ...` stands before the name.
fn nameless_set(text: &str) -> Option<usize> {
    let statements = sql::statements(text.as_bytes(), false, &[]);
    let [statement] = statements.as_slice() else { return None };
    let word = |at: usize| if let Some(Token::Word(word)) = statement.get(at) { word.as_str() } else { "" };
    let at = 1 + usize::from(matches!(word(1), "session" | "local"));
    // Set to one value, with nothing behind it.
    let is_set = word(0) == "set" && word(at) == NAME && statement.len() == at + 3;
    let start = text.to_ascii_lowercase().find(NAME).filter(|_| is_set)?;
    Some(start + NAME.len())
}
