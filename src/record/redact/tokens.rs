//! Tokens that a program is given by one call and shows in others: they are replaced everywhere by the same text, so what
//! the program does with them in a replay is what it did in the recording.

use std::collections::BTreeMap;
use std::time::SystemTime;

use memchr::memmem::{self, Finder};

use super::echo::{self, is_telling};
use super::names::decoded;
use super::placeholder::Marks;
use super::resize;
use super::walk::{Edit, Form, Secret, encoded};
use crate::limits::{MAX_TOKENS_FOLLOWED, MIN_TOKEN_BYTES};
use crate::record::exchange::{Content, Exchange, HttpResponse, Side};

/// A way in which a token is written.
struct Spelling {
    finder: Finder<'static>,
    other: Vec<u8>,
    /// Whether it is replaced only where it stands by itself.
    alone: bool,
}

impl Spelling {
    fn replaced(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let token = self.finder.needle();
        if self.alone {
            return echo::replaced(bytes, token, &self.other);
        }
        let mut edit = Edit::new(bytes);
        for at in self.finder.find_iter(bytes) {
            edit.put(at..at + token.len(), Some(self.other.clone()));
        }
        edit.end()
    }

    fn keeps_length(&self) -> bool {
        self.other.len() == self.finder.needle().len()
    }
}

/// Replaces what answers gave, wherever it stands. What the program has said before it was given to it is no such token: it knows
/// that from elsewhere, and will in a replay.
pub(super) fn replace(exchanges: &mut [Exchange], marks: &Marks) {
    let mut tokens: BTreeMap<Vec<u8>, SystemTime> = BTreeMap::new();
    for exchange in &*exchanges {
        if let Content::Http(http) = &exchange.content
            && let Some(response) = &http.response
        {
            given(response, &mut |token| {
                let asked = tokens.entry(token.to_vec()).or_insert(exchange.sent_at);
                *asked = exchange.sent_at.min(*asked);
            });
        }
    }
    // A token may be a part of another one.
    let mut tokens: Vec<(Vec<u8>, SystemTime)> = tokens.into_iter().collect();
    tokens.sort_by_key(|(token, _)| std::cmp::Reverse(token.len()));
    tokens.truncate(MAX_TOKENS_FOLLOWED);
    for (token, asked) in &tokens {
        let other = marks.stand_in(token, false);
        let finder = Finder::new(token);
        let mut before = exchanges.iter().filter(|exchange| exchange.sent_at <= *asked);
        if other == *token || before.any(|exchange| says(exchange, &finder)) {
            continue;
        }
        for spelling in spellings(token, &other) {
            for exchange in &mut *exchanges {
                everywhere(exchange, &spelling);
            }
        }
    }
}

/// How a token may be written: as it was given, and with and without percent-encoding, which its stand-in needs nowhere.
fn spellings(token: &[u8], other: &[u8]) -> Vec<Spelling> {
    let decoded = decoded(&String::from_utf8_lossy(token)).into_owned().into_bytes();
    let encoded = encoded(&decoded);
    let mut all = vec![token.to_vec()];
    for written in [encoded, decoded] {
        if !all.contains(&written) && is_telling(&written) {
            all.push(written);
        }
    }
    let spelling = |written: Vec<u8>| Spelling {
        alone: written.len() < MIN_TOKEN_BYTES,
        finder: Finder::new(&written).into_owned(),
        other: other.to_vec(),
    };
    all.into_iter().map(spelling).collect()
}

/// Whether the program said this in a call.
fn says(exchange: &Exchange, finder: &Finder<'_>) -> bool {
    let has = |bytes: &[u8]| finder.find(bytes).is_some();
    match &exchange.content {
        Content::Http(http) | Content::Grpc(http) => {
            let request = &http.request;
            let in_fields = request.headers.iter().any(|(_, value)| has(value));
            in_fields || has(request.path.as_bytes()) || has(&request.body)
        }
        Content::Dns(_) => false,
        Content::Wire(_, wire) => {
            wire.messages.iter().any(|message| message.from == Side::Client && has(&message.bytes))
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

/// Puts the stand-in of a token in every text of a call that it may stand in. Where lengths are told beside it, they stay.
fn everywhere(exchange: &mut Exchange, spelling: &Spelling) {
    let change = |bytes: &mut Vec<u8>| {
        if let Some(other) = spelling.replaced(bytes) {
            *bytes = other;
        }
    };
    let body = |headers: &mut [(String, Vec<u8>)], body: &mut Vec<u8>, is_text: bool| {
        if (spelling.keeps_length() || is_text && std::str::from_utf8(body).is_ok())
            && let Some(other) = spelling.replaced(body)
        {
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
            if let Some(other) = spelling.replaced(request.path.as_bytes()) {
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
        Content::Wire(_, wire) if spelling.keeps_length() => {
            wire.messages.iter_mut().for_each(|message| change(&mut message.bytes));
        }
        Content::Wire(..) | Content::Dns(_) => {}
    }
}
