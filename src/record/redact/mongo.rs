//! Secrets in commands of `MongoDB`: texts of documents under such names, and what proves a password in a login.

use super::names::{is_password, is_secret_key, is_secret_value};
use super::plain::addresses;
use super::walk::{Form, Replace, Secret};
use super::{cards, meaning};
use crate::record::mongo::bson::{self, Element, kind};

const HEAD_BYTES: usize = 16;
const OP_MSG: [u8; 4] = 2013_u32.to_le_bytes();
/// Bit 0 of the flags of `OP_MSG`: a checksum of the message follows the sections.
const CHECKSUM: u8 = 1;
/// Deepest nesting of documents that is looked into, as deep as the server takes.
const MAX_DEPTH: usize = 100;

/// A message with other secrets in its documents. `payload` of the commands of SASL is emptied.
///
/// What is no whole message of this form keeps its lengths, so documents stay whole.
pub(super) fn message(message: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
    const LOGINS: [&[u8]; 3] = [b"saslStart\0", b"saslContinue\0", b"speculativeAuthenticate\0"];
    const USERS: [&[u8]; 2] = [b"createUser\0", b"updateUser\0"];
    let has = |commands: &[&[u8]]| commands.iter().any(|command| memchr::memmem::find(message, command).is_some());
    let is_login = has(&LOGINS);
    let Some(other) = sections(message, replace) else {
        return (is_login || has(&USERS)).then(|| emptied(message)).flatten();
    };
    let emptied = is_login.then(|| emptied(&other)).flatten();
    emptied.or_else(|| (other != message).then_some(other))
}

/// A whole `OP_MSG` without a checksum: a document, and lists of documents ("`MongoDB` Wire Protocol", `OP_MSG`).
fn sections(message: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
    let flags = message.get(HEAD_BYTES).filter(|_| message.get(HEAD_BYTES - 4..HEAD_BYTES) == Some(&OP_MSG))?;
    if flags & CHECKSUM != 0 {
        return None;
    }
    let mut out = message.get(..HEAD_BYTES + 4)?.to_vec();
    let mut rest = &message[HEAD_BYTES + 4..];
    while let Some((&kind, after)) = rest.split_first() {
        out.push(kind);
        if kind == 0 {
            let (one, after) = after.split_at_checked(bson::length(after).ok()?)?;
            out.extend(document(one, Outer::default(), replace, 0)?);
            rest = after;
        } else {
            let length = usize::try_from(i32::from_le_bytes(*after.first_chunk()?)).ok()?;
            let (list, after) = after.split_at_checked(length)?;
            let start = list.get(4..)?.iter().position(|byte| *byte == 0)? + 5;
            let (mut one, mut others) = (&list[start..], list[4..start].to_vec());
            while !one.is_empty() {
                let (first, more) = one.split_at_checked(bson::length(one).ok()?)?;
                others.extend(document(first, Outer::default(), replace, 0)?);
                one = more;
            }
            out.extend((others.len() as u32 + 4).to_le_bytes());
            out.extend(others);
            rest = after;
        }
    }
    let length = (out.len() as u32).to_le_bytes();
    out[..4].copy_from_slice(&length);
    Some(out)
}

/// What a document stands in.
#[derive(Clone, Copy, Default)]
struct Outer<'a> {
    /// The name that makes secrets of all in it: of a list, or of a condition (`$in`).
    secret: Option<&'a str>,
    /// The name that it stands under, or that of what it is a list or a condition of.
    under: Option<&'a str>,
}

/// A document with other secrets.
fn document(bytes: &[u8], outer: Outer<'_>, replace: Replace<'_>, depth: usize) -> Option<Vec<u8>> {
    let mut elements = bson::elements(bytes).ok()?;
    let mut values: Vec<Option<Vec<u8>>> = Vec::with_capacity(elements.len());
    for element in &elements {
        let name = String::from_utf8_lossy(element.name);
        let is_condition = name.starts_with('$') || name.bytes().all(|byte| byte.is_ascii_digit());
        let own = is_secret_key(&name).then_some(&*name);
        let secret = own.or(outer.secret.filter(|_| is_condition));
        let under = outer.under.filter(|_| is_condition).or(Some(&name));
        values.push(match element.kind {
            kind::STRING if meaning::is_card(outer.under, under.unwrap_or(&name)) && is_number(element) => {
                card(element, replace)
            }
            kind::INT64 | kind::DOUBLE if meaning::is_card(outer.under, under.unwrap_or(&name)) => {
                digits(element).filter(|digits| cards::is_number(digits)).and_then(|digits| number(&digits, replace))
            }
            kind::STRING => text(element, &name, secret, replace),
            kind::DOCUMENT | kind::ARRAY if depth < MAX_DEPTH => {
                Some(document(element.value, Outer { secret, under }, replace, depth + 1)?)
            }
            _ => None,
        });
    }
    for (element, value) in elements.iter_mut().zip(&values) {
        let is_number = matches!(element.kind, kind::INT64 | kind::DOUBLE);
        // No number stands for one.
        element.kind = if is_number && value.is_some() { kind::STRING } else { element.kind };
        element.value = value.as_deref().unwrap_or(element.value);
    }
    Some(bson::document(&elements))
}

/// Whether a text is the number of a card.
fn is_number(element: &Element<'_>) -> bool {
    said(element).is_some_and(cards::is_number)
}

fn card(element: &Element<'_>, replace: Replace<'_>) -> Option<Vec<u8>> {
    number(said(element)?, replace)
}

/// The text that stands for the number of a card.
fn number(digits: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
    let secret = Secret { name: cards::NAME, ..Secret::password(digits, Form::Address) };
    Some(counted(&replace(&secret)?))
}

/// The digits of a whole number: some drivers send large ones as floating point.
fn digits(element: &Element<'_>) -> Option<Vec<u8>> {
    let bytes = <[u8; 8]>::try_from(element.value).ok()?;
    let float = f64::from_le_bytes(bytes);
    let text = match element.kind {
        kind::INT64 => i64::from_le_bytes(bytes).to_string(),
        _ if float.fract() == 0.0 => float.to_string(),
        _ => return None,
    };
    Some(text.into_bytes())
}

/// What a text says, which has its length before it and a zero behind it.
fn said<'a>(element: &Element<'a>) -> Option<&'a [u8]> {
    element.value.get(4..)?.strip_suffix(b"\0").filter(|value| !value.is_empty())
}

fn counted(text: &[u8]) -> Vec<u8> {
    [&(text.len() as u32 + 1).to_le_bytes()[..], text, b"\0"].concat()
}

fn text(element: &Element<'_>, name: &str, secret: Option<&str>, replace: Replace<'_>) -> Option<Vec<u8>> {
    let value = said(element)?;
    let secret = secret.or_else(|| is_secret_value(name, value).then_some(name));
    let other = match secret {
        // Passwords are called the same in all databases.
        Some(name) if is_password(name) => replace(&Secret::password(value, Form::Text)),
        Some(name) => replace(&Secret { name, ..Secret::password(value, Form::Text) }),
        None => addresses(value, replace),
    }?;
    Some(counted(&other))
}

/// The same with nothing in place of secrets, as long as they were.
fn emptied(message: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = message.to_vec();
    // Type, name, length; binary data has a subtype behind it, a text counts its final zero.
    for (element, skipped, kept) in [(&b"\x05payload\0"[..], 1, 0), (b"\x02pwd\0", 0, 1), (b"\x02payload\0", 0, 1)] {
        let places: Vec<usize> = memchr::memmem::find_iter(message, element).map(|at| at + element.len()).collect();
        for at in places {
            let Some(length) = bytes.get(at..).and_then(|rest| rest.first_chunk()) else { continue };
            let length = u32::from_le_bytes(*length) as usize;
            let start = at + 4 + skipped;
            let secret = start.checked_add(length).and_then(|end| bytes.get_mut(start..end.checked_sub(kept)?));
            if let Some(secret) = secret {
                secret.fill(if kept == 1 { b'x' } else { 0 });
            }
        }
    }
    (bytes != message).then_some(bytes)
}
