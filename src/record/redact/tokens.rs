//! Tokens that a program is given by one call and shows in others: they are replaced everywhere by the same text, so what
//! the program does with them in a replay is what it did in the recording.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::time::SystemTime;

use memchr::memmem;

use super::echo::{self, is_telling};
use super::names::decoded;
use super::placeholder::Marks;
use super::walk::{Edit, Form, Secret, encoded};
use super::{Seen, resize};
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

/// Ways in which tokens are written, all of which are looked for at once.
#[derive(Debug, Default)]
struct Spellings {
    all: HashMap<Vec<u8>, Spelling>,
    /// How long those are that begin with these bytes, the longest first.
    lengths: HashMap<[u8; BEGIN_BYTES], BTreeSet<Reverse<usize>>>,
    /// The first bytes of all, so that most places are passed over without more.
    firsts: Vec<bool>,
}

/// Bytes by which spellings are told apart first; none is shorter.
const BEGIN_BYTES: usize = 4;

impl Spellings {
    fn of(tokens: &[Vec<u8>], marks: &Marks) -> Self {
        let mut found = Self { firsts: vec![false; 1 << 16], ..Self::default() };
        for (token, spelt) in tokens.iter().enumerate() {
            let other = marks.stand_in(spelt, false);
            // What stands for one already.
            if other == *spelt {
                continue;
            }
            for written in ways(spelt) {
                let Some(begin) = written.first_chunk::<BEGIN_BYTES>() else { continue };
                found.lengths.entry(*begin).or_default().insert(Reverse(written.len()));
                found.firsts[usize::from(begin[0]) << 8 | usize::from(begin[1])] = true;
                let alone = written.len() < MIN_TOKEN_BYTES;
                found.all.entry(written).or_insert_with(|| Spelling { other: other.clone(), token, alone });
            }
        }
        found
    }

    /// Leaves those out whose token is none.
    fn retain(&mut self, is_one: impl Fn(usize) -> bool) {
        self.all.retain(|_, spelling| is_one(spelling.token));
    }

    /// Shows each place where one is; the longest, and none in another.
    fn find<'a>(&'a self, bytes: &[u8], tell: &mut dyn FnMut(Range<usize>, &'a Spelling)) {
        let mut end = 0;
        for (at, two) in bytes.windows(2).enumerate() {
            if at < end || !self.firsts[usize::from(two[0]) << 8 | usize::from(two[1])] {
                continue;
            }
            let lengths = bytes[at..].first_chunk::<BEGIN_BYTES>().and_then(|begin| self.lengths.get(begin));
            let found = lengths.into_iter().flatten().find_map(|Reverse(length)| {
                let text = bytes.get(at..at + length)?;
                let spelling = self.all.get(text)?;
                (!spelling.alone || echo::stands_alone(bytes, &(at..at + length)))
                    .then_some((at..at + length, spelling))
            });
            if let Some((place, spelling)) = found {
                end = place.end;
                tell(place, spelling);
            }
        }
    }

    /// The same with stand-ins; those of another length only where lengths may change.
    fn replaced(&self, bytes: &[u8], any_length: bool) -> Option<Vec<u8>> {
        let mut edit = Edit::new(bytes);
        self.find(bytes, &mut |at, spelling| {
            if any_length || spelling.other.len() == at.len() {
                edit.put(at, Some(spelling.other.clone()));
            }
        });
        edit.end()
    }
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
    let mut spellings = Spellings::of(&tokens, marks);
    let mut known = vec![false; tokens.len()];
    for exchange in &*exchanges {
        said(exchange, &mut |bytes| {
            spellings
                .find(bytes, &mut |_, spelling| known[spelling.token] |= exchange.sent_at <= asked[spelling.token]);
        });
    }
    spellings.retain(|token| !known[token]);
    if spellings.all.is_empty() {
        return false;
    }
    exchanges.iter_mut().for_each(|exchange| everywhere(exchange, &spellings));
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
fn everywhere(exchange: &mut Exchange, spellings: &Spellings) {
    let change = |bytes: &mut Vec<u8>| {
        if let Some(other) = spellings.replaced(bytes, true) {
            *bytes = other;
        }
    };
    let body = |headers: &mut [(String, Vec<u8>)], body: &mut Vec<u8>, is_text: bool| {
        if let Some(other) = spellings.replaced(body, is_text && std::str::from_utf8(body).is_ok()) {
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
            if let Some(other) = spellings.replaced(request.path.as_bytes(), true) {
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
        Content::Wire(_, wire) => {
            for message in &mut wire.messages {
                if let Some(other) = spellings.replaced(&message.bytes, false) {
                    message.bytes = other;
                }
            }
        }
        Content::Dns(_) => {}
    }
}
