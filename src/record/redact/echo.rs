//! Secrets of a request that its answer repeats.
//!
//! A password may be a word that an answer has for reasons of its own, and an answer that is changed is a wrong answer. So only
//! what cannot stand there by chance is replaced, where it stands by itself; of the rest it is told that it is there.

use std::ops::Range;

use memchr::memmem;

use super::placeholder::{Marks, known};
use super::walk::{Form, Secret};
use super::{in_request, resize};
use crate::limits::{MIN_ECHOED_BYTES, MIN_ECHOED_DIFFERENT_BYTES, MIN_ECHOED_PLAIN_BYTES};
use crate::record::exchange::{HttpRequest, HttpResponse};

/// What an answer has of the secrets of its request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Repeated {
    /// One was replaced.
    pub(super) replaced: bool,
    /// One may be there, and stays.
    pub(super) left: bool,
}

/// Whether a body repeats one that is replaced.
pub(super) fn is_in(request: &HttpRequest, body: &[u8]) -> bool {
    secrets(request).iter().any(|(secret, _)| is_telling(secret) && places(body, secret).next().is_some())
}

/// Replaces them. Where a length changes, only in texts: other bodies may have it beside what they hold.
pub(super) fn replace(request: &HttpRequest, response: &mut HttpResponse, marks: &Marks) -> Repeated {
    let mut repeated = Repeated::default();
    for (secret, guessable) in secrets(request) {
        if !is_telling(&secret) {
            repeated.left |= secret.len() >= MIN_ECHOED_BYTES && places(&response.body, &secret).next().is_some();
            continue;
        }
        let other = marks.stand_in(&secret, guessable);
        for (_, value) in response.headers.iter_mut().chain(&mut response.trailers) {
            if let Some(without) = replaced(value, &secret, &other) {
                *value = without;
                repeated.replaced = true;
            }
        }
        let Some(without) = replaced(&response.body, &secret, &other) else { continue };
        if other.len() == secret.len() || std::str::from_utf8(&response.body).is_ok() {
            resize(&mut response.headers, response.body.len(), without.len());
            response.body = without;
            repeated.replaced = true;
        } else {
            repeated.left = true;
        }
    }
    repeated
}

/// The longest first: one may be a part of another one.
fn secrets(request: &HttpRequest) -> Vec<(Vec<u8>, bool)> {
    let mut found = Vec::new();
    in_request(request, &mut |secret: &Secret<'_>| {
        if !matches!(secret.form, Form::Number | Form::Caller | Form::Setting) && known(secret.value).is_none() {
            found.push((secret.value.to_vec(), secret.guessable));
        }
        None
    });
    found.sort_by_key(|(secret, _)| std::cmp::Reverse(secret.len()));
    found.dedup();
    found
}

/// Whether no answer has this by chance: no word, no number and no date.
pub(super) fn is_telling(secret: &[u8]) -> bool {
    let is_mixed = secret.iter().any(u8::is_ascii_alphabetic) && secret.iter().any(u8::is_ascii_digit);
    let mut bytes = secret.to_vec();
    bytes.sort_unstable();
    bytes.dedup();
    let least = if is_mixed { MIN_ECHOED_BYTES } else { MIN_ECHOED_PLAIN_BYTES };
    secret.len() >= least && bytes.len() >= MIN_ECHOED_DIFFERENT_BYTES && !secret.iter().all(u8::is_ascii_digit)
}

/// Where a secret stands by itself: not as a part of a longer word.
fn places<'a>(bytes: &'a [u8], secret: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    memmem::find_iter(bytes, secret).filter(move |at| stands_alone(bytes, &(*at..at + secret.len())))
}

/// Whether what stands here is no part of a longer word.
pub(super) fn stands_alone(bytes: &[u8], at: &Range<usize>) -> bool {
    let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let before = at.start.checked_sub(1).and_then(|before| bytes.get(before));
    let joins = is_word(before) && is_word(bytes.get(at.start));
    !(joins || is_word(bytes.get(at.end)) && is_word(bytes.get(at.end - 1)))
}

/// The same with something else in its place, where it stands by itself; `None` if it is nowhere.
fn replaced(bytes: &[u8], secret: &[u8], other: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut kept = 0;
    for at in places(bytes, secret) {
        out.extend_from_slice(&bytes[kept..at]);
        out.extend_from_slice(other);
        kept = at + secret.len();
    }
    out.extend_from_slice(if kept == 0 { &[] } else { &bytes[kept..] });
    (kept > 0).then_some(out)
}
