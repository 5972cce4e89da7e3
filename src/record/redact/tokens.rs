//! Tokens that a program is given by one call and shows in others: they are replaced everywhere by the same text, so what
//! the program does with them in a replay is what it did in the recording.

use std::collections::BTreeMap;
use std::time::SystemTime;

use memchr::memmem::Finder;

use super::names::is_password;
use super::placeholder::Marks;
use super::walk::{Form, Secret};
use crate::limits::{MAX_TOKENS_FOLLOWED, MIN_TOKEN_BYTES};
use crate::record::exchange::{Content, Exchange, HttpResponse, Side};

/// Replaces what answers gave, wherever it stands. Lengths stay. What the program has said before it was given to it is no such
/// token: it knows that from elsewhere, and will in a replay.
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
        let mut replace = |bytes: &mut Vec<u8>| {
            let mut from = 0;
            while let Some(at) = finder.find(&bytes[from..]).map(|at| from + at) {
                from = at + token.len();
                bytes[at..from].copy_from_slice(&other);
            }
        };
        for exchange in &mut *exchanges {
            everywhere(exchange, &mut replace);
        }
    }
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
    let mut add = |token: &[u8]| {
        // Without what has to be written otherwise elsewhere, such as in a URL.
        let is_plain = token.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/=:".contains(byte));
        if is_plain && token.len() >= MIN_TOKEN_BYTES {
            tell(token);
        }
    };
    super::in_response(response, &mut |secret: &Secret<'_>| {
        match secret.form {
            Form::Field | Form::Text if !is_password(secret.name) => add(secret.value),
            _ => {}
        }
        None
    });
}

/// Shows every text of a call that a token may stand in.
fn everywhere(exchange: &mut Exchange, change: &mut dyn FnMut(&mut Vec<u8>)) {
    match &mut exchange.content {
        Content::Http(http) | Content::Grpc(http) => {
            let request = &mut http.request;
            let mut path = std::mem::take(&mut request.path).into_bytes();
            change(&mut path);
            request.path = String::from_utf8_lossy(&path).into_owned();
            request.headers.iter_mut().for_each(|(_, value)| change(value));
            change(&mut request.body);
            if let Some(response) = &mut http.response {
                response.headers.iter_mut().chain(&mut response.trailers).for_each(|(_, value)| change(value));
                change(&mut response.body);
            }
        }
        Content::Dns(_) => {}
        Content::Wire(_, wire) => wire.messages.iter_mut().for_each(|message| change(&mut message.bytes)),
    }
}
