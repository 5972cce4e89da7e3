//! Which part of a call each of its secrets stands in: each is replaced by its number, and who takes the call apart finds the
//! numbers in the parts.

use std::borrow::Cow;

use super::walk::{self, Form, Secret};
use super::{MARKED, STAND_IN, Shown, wires};
use crate::record::exchange::{HttpRequest, Protocol, Wire};

/// Hexadecimal digits of a number: more than what is taken for too few to be one of a secret.
const DIGITS: usize = 8;
/// The word that [`MARKED`] and [`STAND_IN`] have in them.
const WORD: &[u8] = b"redacted";

/// Puts numbers, from 0, in place of the secrets of what a program says to a database; the secrets in their order.
pub(in crate::record) fn in_wire(protocol: Protocol, wire: &mut Wire) -> Vec<Shown> {
    let mut found = Vec::new();
    wires::replace(protocol, wire, &mut |secret: &Secret<'_>| number(secret, &mut found));
    found
}

/// The same of the path and the body of a request.
pub(in crate::record) fn in_request(request: &HttpRequest) -> (Cow<'_, HttpRequest>, Vec<Shown>) {
    let mut found = Vec::new();
    let mut replace = |secret: &Secret<'_>| number(secret, &mut found);
    let path = walk::path(&request.path, &mut replace);
    let body = walk::body(&request.headers, &request.body, &mut replace);
    if path.is_none() && body.is_none() {
        return (Cow::Borrowed(request), found);
    }
    let path = path.unwrap_or_else(|| request.path.clone());
    let body = body.unwrap_or_else(|| request.body.clone());
    (Cow::Owned(HttpRequest { path, body, ..request.clone() }), found)
}

/// The numbers that stand in a part.
pub(in crate::record) fn numbers(part: &[u8]) -> impl Iterator<Item = usize> + '_ {
    memchr::memmem::find_iter(part, WORD).filter_map(|at| {
        let rest = &part[at + WORD.len()..];
        // A text in a form has its blanks encoded.
        let digits = [&b" "[..], b"-", b"%20"].iter().find_map(|mark| rest.strip_prefix(*mark))?.get(..DIGITS)?;
        usize::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    })
}

fn number(secret: &Secret<'_>, found: &mut Vec<Shown>) -> Option<Vec<u8>> {
    if secret.form == Form::Setting {
        return None;
    }
    let number = found.len();
    found.push(Shown::new(secret));
    Some(match secret.form {
        Form::Address | Form::Cookie | Form::Token => {
            let mut other = format!("{STAND_IN}{number:0DIGITS$x}").into_bytes();
            // No length changes around a token.
            let length = if secret.form == Form::Token { secret.value.len() } else { other.len() };
            other.resize(length, b'-');
            other
        }
        Form::Number => format!("\"{MARKED}{number:0DIGITS$x}]\"").into_bytes(),
        _ => format!("{MARKED}{number:0DIGITS$x}]").into_bytes(),
    })
}
