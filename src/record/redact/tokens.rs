//! Tokens that a program is given by one call and shows in others: they are replaced everywhere by the same text, so what
//! the program does with them in a replay is what it did in the recording.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::SystemTime;

use memchr::memmem;

use super::echo::{is_telling, stands_alone};
use super::names::decoded;
use super::needles::Needles;
use super::placeholder::Marks;
use super::queries::encoded;
use super::walk::{Edit, Form, Secret};
use super::{Seen, resize, wires};
use crate::limits::{MAX_TOKENS_FOLLOWED, MIN_TOKEN_BYTES};
use crate::record::exchange::{Content, Exchange, HttpResponse, Side};

/// A way in which a token is written.
#[derive(Debug)]
struct Spelling {
    other: Vec<u8>,
    /// The token that it is of.
    token: usize,
    /// Whether it is replaced only where it stands by itself.
    alone: bool,
}

fn spellings(tokens: &[Vec<u8>], marks: &Marks) -> Needles<Spelling> {
    let mut found = Needles::new();
    for (token, spelt) in tokens.iter().enumerate() {
        let other = marks.stand_in(spelt, false);
        // What stands for one already is none.
        for written in ways(spelt).into_iter().filter(|_| other != *spelt) {
            let alone = written.len() < MIN_TOKEN_BYTES;
            found.add(written, Spelling { other: other.clone(), token, alone });
        }
    }
    found
}

fn find<'a>(spellings: &'a Needles<Spelling>, bytes: &[u8], tell: &mut dyn FnMut(Range<usize>, &'a Spelling)) {
    spellings.find(bytes, |at, spelling| !spelling.alone || stands_alone(bytes, at), tell);
}

/// The same with stand-ins; those of another length only where lengths may change.
fn replaced(spellings: &Needles<Spelling>, bytes: &[u8], any_length: bool) -> Option<Vec<u8>> {
    let mut edit = Edit::new(bytes);
    find(spellings, bytes, &mut |at, spelling| {
        if any_length || spelling.other.len() == at.len() {
            edit.put(at, Some(spelling.other.clone()));
        }
    });
    edit.end()
}

/// Replaces what answers gave, wherever it stands; whether there was any. What the program has said before it was given to it is no
/// such token: it knows that from elsewhere, and will in a replay.
pub(super) fn replace(exchanges: &mut [Exchange], seen: &[Seen], marks: &Marks) -> bool {
    let mut tokens: BTreeMap<Vec<u8>, SystemTime> = BTreeMap::new();
    for (exchange, _) in exchanges.iter().zip(seen).filter(|(_, seen)| seen.answered) {
        if let Content::Http(http) = &exchange.content
            && let Some(response) = &http.response
        {
            given(response, &mut |token| {
                let asked = tokens.entry(token.to_vec()).or_insert(exchange.sent_at);
                *asked = exchange.sent_at.min(*asked);
            });
        }
    }
    let mut tokens: Vec<(Vec<u8>, SystemTime)> = tokens.into_iter().collect();
    tokens.sort_by_key(|(token, _)| Reverse(token.len()));
    tokens.truncate(MAX_TOKENS_FOLLOWED);
    let (tokens, asked): (Vec<Vec<u8>>, Vec<SystemTime>) = tokens.into_iter().unzip();
    let mut spellings = spellings(&tokens, marks);
    let mut known = vec![false; tokens.len()];
    for exchange in &*exchanges {
        said(exchange, &mut |bytes| {
            find(&spellings, bytes, &mut |_, spelling| {
                known[spelling.token] |= exchange.sent_at <= asked[spelling.token];
            });
        });
    }
    spellings.retain(|spelling| !known[spelling.token]);
    if spellings.is_empty() {
        return false;
    }
    for exchange in exchanges {
        everywhere(exchange, &spellings);
    }
    true
}

/// How a token may be written: as it was given, and with and without percent-encoding, which its stand-in needs nowhere.
fn ways(token: &[u8]) -> Vec<Vec<u8>> {
    let decoded = decoded(&String::from_utf8_lossy(token)).into_owned().into_bytes();
    let encoded = encoded(&decoded);
    let mut all = vec![token.to_vec()];
    for written in [encoded, decoded] {
        if !all.contains(&written) && is_telling(&written) {
            all.push(written);
        }
    }
    all
}

/// Shows what the program said in a call.
fn said(exchange: &Exchange, tell: &mut dyn FnMut(&[u8])) {
    match &exchange.content {
        Content::Http(http) | Content::Grpc(http) => {
            let request = &http.request;
            request.headers.iter().for_each(|(_, value)| tell(value));
            tell(request.path.as_bytes());
            tell(&request.body);
        }
        Content::Dns(_) => {}
        Content::Wire(_, wire) => {
            wire.messages
                .iter()
                .filter(|message| message.from == Side::Client)
                .for_each(|message| tell(&message.bytes));
        }
    }
}

/// Tokens of an answer.
fn given(response: &HttpResponse, tell: &mut dyn FnMut(&[u8])) {
    super::in_response(response, &mut |secret: &Secret<'_>| {
        // Without what has to be written otherwise elsewhere, such as in a URL.
        let is_plain = secret.value.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/=:".contains(byte));
        let is_one = match secret.form {
            Form::Field | Form::Text => is_plain && !secret.guessable && secret.value.len() >= MIN_TOKEN_BYTES,
            // Its percent-encoding is its own: programs show it as it is, or without.
            Form::Cookie => is_telling(secret.value),
            _ => false,
        };
        if is_one {
            tell(secret.value);
        }
        None
    });
}

/// Puts the stand-ins of tokens in every text of a call that they may stand in. Where lengths are told beside it, they stay.
fn everywhere(exchange: &mut Exchange, spellings: &Needles<Spelling>) {
    let change = |bytes: &mut Vec<u8>| {
        if let Some(other) = replaced(spellings, bytes, true) {
            *bytes = other;
        }
    };
    let body = |headers: &mut [(String, Vec<u8>)], body: &mut Vec<u8>, is_text: bool| {
        if let Some(other) = replaced(spellings, body, is_text && std::str::from_utf8(body).is_ok()) {
            resize(headers, body.len(), other.len());
            *body = other;
        }
    };
    match &mut exchange.content {
        Content::Http(http) | Content::Grpc(http) => {
            let is_text = |headers: &[(String, Vec<u8>)]| {
                let kind = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
                let has = |word: &str| kind.is_some_and(|(_, kind)| memmem::find(kind, word.as_bytes()).is_some());
                !has("grpc") && !has("protobuf")
            };
            let request = &mut http.request;
            if let Some(other) = replaced(spellings, request.path.as_bytes(), true) {
                request.path = String::from_utf8_lossy(&other).into_owned();
            }
            request.headers.iter_mut().for_each(|(_, value)| change(value));
            let text = is_text(&request.headers);
            body(&mut request.headers, &mut request.body, text);
            if let Some(response) = &mut http.response {
                response.headers.iter_mut().chain(&mut response.trailers).for_each(|(_, value)| change(value));
                let text = is_text(&response.headers);
                body(&mut response.headers, &mut response.body, text);
            }
        }
        Content::Wire(protocol, wire) => {
            for message in &mut wire.messages {
                let of_program = message.from == Side::Client;
                let other = of_program
                    .then(|| wires::with_texts(*protocol, &message.bytes, &mut |text| replaced(spellings, text, true)));
                if let Some(other) = other.flatten().or_else(|| replaced(spellings, &message.bytes, false)) {
                    message.bytes = other;
                }
            }
        }
        Content::Dns(_) => {}
    }
}
