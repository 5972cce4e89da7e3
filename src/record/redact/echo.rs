//! Secrets of a request that its answer repeats.
//!
//! A password may be a word that an answer has for reasons of its own, and an answer that is changed is a wrong answer. So only
//! what cannot stand there by chance is replaced, where it stands by itself; of the rest it is told that it is there. Answers of
//! databases are left as they are, and it is told as well: a row may repeat what another statement gave to it.

use std::ops::Range;

use super::needles::Needles;
use super::placeholder::{Marks, known};
use super::walk::{Edit, Form, Secret};
use super::{in_request, resize, wires};
use crate::limits::{MIN_ECHOED_BYTES, MIN_ECHOED_DIFFERENT_BYTES, MIN_ECHOED_PLAIN_BYTES};
use crate::record::exchange::{Content, Exchange, HttpRequest, HttpResponse, Side};

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
    let mut secrets = Needles::new();
    self::secrets(request, &mut |secret| {
        if is_telling(secret.value) {
            secrets.add(secret.value.to_vec(), ());
        }
    });
    let mut is_in = false;
    secrets.find(body, |at, ()| stands_alone(body, at), &mut |_, ()| is_in = true);
    is_in
}

/// Replaces them. Where a length changes, only in texts: other bodies may have it beside what they hold.
pub(super) fn replace(request: &HttpRequest, response: &mut HttpResponse, marks: &Marks) -> Repeated {
    let mut repeated = Repeated::default();
    // With whether each could be guessed, or nothing where it stays.
    let mut secrets: Needles<Option<bool>> = Needles::new();
    self::secrets(request, &mut |secret| {
        if secret.value.len() >= MIN_ECHOED_BYTES {
            secrets.add(secret.value.to_vec(), is_telling(secret.value).then_some(secret.guessable));
        }
    });
    for (_, value) in response.headers.iter_mut().chain(&mut response.trailers) {
        let mut ignored = false;
        if let Some(without) = replaced(&secrets, value, true, marks, &mut ignored) {
            *value = without;
            repeated.replaced = true;
        }
    }
    let is_text = std::str::from_utf8(&response.body).is_ok();
    if let Some(without) = replaced(&secrets, &response.body, is_text, marks, &mut repeated.left) {
        resize(&mut response.headers, response.body.len(), without.len());
        response.body = without;
        repeated.replaced = true;
    }
    repeated
}

/// The secrets of what was asked in these calls that no answer has by chance.
pub(super) fn asked(exchanges: &[Exchange]) -> Needles<()> {
    let mut found = Needles::new();
    let mut add = |secret: &Secret<'_>| {
        let is_one = !matches!(secret.form, Form::Number | Form::Caller | Form::Setting);
        if is_one && is_telling(secret.value) && known(secret.value).is_none() {
            found.add(secret.value.to_vec(), ());
        }
        None
    };
    for exchange in exchanges {
        match &exchange.content {
            Content::Http(http) | Content::Grpc(http) => in_request(&http.request, &mut add),
            Content::Wire(protocol, wire) => drop(wires::walk(*protocol, wire, &mut add)),
            Content::Dns(_) => {}
        }
    }
    found
}

/// Whether what a database answered has one of these. Lengths stand before its values, so none stands by itself.
pub(super) fn is_answered(secrets: &Needles<()>, exchange: &Exchange) -> bool {
    let Content::Wire(_, wire) = &exchange.content else { return false };
    let mut is_answered = false;
    for message in wire.messages.iter().filter(|message| message.from == Side::Server) {
        secrets.find(&message.bytes, |_, ()| true, &mut |_, ()| is_answered = true);
    }
    is_answered
}

/// The secrets of a request that an answer may repeat.
fn secrets(request: &HttpRequest, tell: &mut dyn FnMut(&Secret<'_>)) {
    in_request(request, &mut |secret: &Secret<'_>| {
        if !matches!(secret.form, Form::Number | Form::Caller | Form::Setting) && known(secret.value).is_none() {
            tell(secret);
        }
        None
    });
}

/// The same with others in their places, where they stand by themselves; `None` if there are none. `left` is whether one stays.
fn replaced(
    secrets: &Needles<Option<bool>>,
    bytes: &[u8],
    any_length: bool,
    marks: &Marks,
    left: &mut bool,
) -> Option<Vec<u8>> {
    let mut edit = Edit::new(bytes);
    secrets.find(bytes, |at, _| stands_alone(bytes, at), &mut |at, guessable| {
        let other = guessable.map(|guessable| marks.stand_in(&bytes[at.clone()], guessable));
        match other.filter(|other| any_length || other.len() == at.len()) {
            Some(other) => edit.put(at, Some(other)),
            None => *left = true,
        }
    });
    edit.end()
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

/// Whether what stands here is no part of a longer word.
pub(super) fn stands_alone(bytes: &[u8], at: &Range<usize>) -> bool {
    let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let before = at.start.checked_sub(1).and_then(|before| bytes.get(before));
    let joins = is_word(before) && is_word(bytes.get(at.start));
    !(joins || is_word(bytes.get(at.end)) && is_word(bytes.get(at.end - 1)))
}
