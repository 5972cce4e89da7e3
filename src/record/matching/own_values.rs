//! Values of the program in answers.
//!
//! A program makes an id, sends it, and gets it back: in the same answer, in rows, in lists. In a
//! replay it makes another id, so answers must hold that one. Only a value that came first in a
//! question is the program's own; an id that an answer brought is the server's and stays.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::time::SystemTime;

use replay_base::text::escape::hex;

use super::{Entry, encoded_text};
use crate::call::{Content, Exchange, HttpResponse, Side};
use crate::http::{coding, digest};

/// Fewest bytes of a value that is replaced in its raw form, and of the end by which it is found.
const MIN_VALUE_BYTES: usize = 8;
/// Hexadecimal digits of a UUID.
const UUID_DIGITS: usize = 32;
/// Start of a signed token (JWT): `{"` in base64.
const SIGNED: &[u8] = b"eyJ";
/// Longest token in front of a value that is searched for the start of a signed one, in bytes.
const MAX_SIGNED_BYTES: usize = 4096;

/// Written form of a value. A server may write an id in another form than the program did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    AsAsked,
    UpperCase,
    Uuid,
    UpperCaseUuid,
    Digits,
    UpperCaseDigits,
    Raw,
}

/// Returns the forms in which a value may stand in an answer. Different forms may be equal bytes.
fn forms(value: &str) -> Vec<(Form, Vec<u8>)> {
    let mut forms = vec![(Form::AsAsked, value.as_bytes().to_vec())];
    let digits: String = value
        .strip_prefix("0x")
        .unwrap_or(value)
        .split('-')
        .collect::<String>()
        .to_ascii_lowercase();
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hex || !digits.len().is_multiple_of(2) || digits.len() < 2 * MIN_VALUE_BYTES {
        return forms;
    }
    forms.push((Form::UpperCase, value.to_ascii_uppercase().into_bytes()));
    if digits.len() == UUID_DIGITS {
        let at = [0..8, 8..12, 12..16, 16..20, 20..32];
        let uuid = at.map(|at| &digits[at]).join("-");
        let upper = uuid.to_ascii_uppercase();
        forms.push((Form::Uuid, uuid.into_bytes()));
        forms.push((Form::UpperCaseUuid, upper.into_bytes()));
    }
    let pairs = digits.as_bytes().chunks(2);
    let raw = pairs.filter_map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok());
    let raw: Vec<u8> = raw.collect();
    debug_assert_eq!(hex(&raw), digits);
    let upper = digits.to_ascii_uppercase();
    forms.push((Form::Digits, digits.into_bytes()));
    forms.push((Form::UpperCaseDigits, upper.into_bytes()));
    forms.push((Form::Raw, raw));
    forms
}

/// Part of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AnswerPart {
    /// A header field, by its number.
    Field(usize),
    Body,
    /// A trailer field, by its number.
    Trailer(usize),
    /// A message of the connection, by its number.
    Message(usize),
}

/// A value in an answer.
#[derive(Clone, Debug)]
struct ValuePlace {
    part: AnswerPart,
    range: Range<usize>,
    /// Place of the text in base64 that the range belongs to, if it does.
    encoded: Option<Range<usize>>,
    /// Number of the value.
    value: usize,
    form: Form,
    /// `true` if it belongs to a signed token.
    is_signed: bool,
}

/// Places of the program's own values in the answers of a set.
#[derive(Debug, Default)]
pub(super) struct OwnValueIndex {
    values: Vec<String>,
    /// Places by the index of the recording, in order.
    places: HashMap<usize, Vec<ValuePlace>>,
}

impl OwnValueIndex {
    /// Finds values in all answers. Each comes with the recording whose question first had it.
    pub(super) fn new(entries: &[Entry], first: &HashMap<String, usize>) -> Self {
        let values = first.keys().filter(|value| may_be_own(value));
        let values: Vec<String> = values.cloned().collect();
        let finder = Finder::new(&values);
        let mut is_of_server = vec![false; values.len()];
        let mut places = HashMap::new();
        for (index, entry) in entries.iter().enumerate() {
            let found = finder.find_in(&entry.exchange);
            for place in &found {
                let asked = first[&values[place.value]];
                let sent_at = entries[asked].exchange.sent_at;
                is_of_server[place.value] |=
                    index < asked && came(&entry.exchange, place.part) <= sent_at;
            }
            if !found.is_empty() {
                places.insert(index, found);
            }
        }
        for places in places.values_mut() {
            places.retain(|place| !is_of_server[place.value]);
        }
        Self { values, places }
    }

    /// Replaces recorded values in the answer of a recording by those of this run, which `asked`
    /// returns. Returns the first value that had to stay, if any.
    pub(super) fn replace<'a>(
        &self,
        index: usize,
        asked: impl Fn(&str) -> Option<&'a str>,
        answer: &mut Exchange,
    ) -> Option<&str> {
        let places = self.places.get(&index).map_or(&[][..], Vec::as_slice);
        let is_body = |place: &&ValuePlace| place.part == AnswerPart::Body;
        let (body, rest): (Vec<_>, Vec<_>) = places.iter().partition(is_body);
        let stays = self.replace_at(&rest, &asked, |place, bytes| {
            let part = part_mut(answer, place.part);
            part.is_some_and(|part| put(part, place, bytes))
        });
        let (Content::Http(http) | Content::Grpc(http)) = &mut answer.content else {
            return stays;
        };
        let Some(response) = http.response.as_mut().filter(|_| !body.is_empty()) else {
            return stays;
        };
        let mut changed = plain(response);
        let put_in_body = |place: &_, bytes| put(&mut changed.body, place, bytes);
        let in_body = self.replace_at(&body, &asked, put_in_body);
        let (before, now) = (coding::sent_body(response), coding::sent_body(&changed));
        match digest::renewed(&response.headers, &before, &now) {
            Some(headers) => {
                changed.headers = headers;
                *response = changed;
                in_body.or(stays)
            }
            None if before == now => stays,
            None => body.first().map(|place| self.values[place.value].as_str()),
        }
    }

    /// Replaces values at these places by `put`, which returns true if it could. Returns a value that
    /// had to stay.
    fn replace_at<'a>(
        &self,
        places: &[&ValuePlace],
        asked: impl Fn(&str) -> Option<&'a str>,
        mut put: impl FnMut(&ValuePlace, Vec<u8>) -> bool,
    ) -> Option<&str> {
        let mut stays = None;
        // From the end, since a new value may have another length.
        for place in places.iter().rev() {
            let recorded = &self.values[place.value];
            let Some(now) = asked(recorded).filter(|now| now != recorded) else {
                continue;
            };
            let form = forms(now).into_iter().find(|(form, _)| *form == place.form);
            let is_message = matches!(place.part, AnswerPart::Message(_));
            let form = form.filter(|(_, bytes)| !is_message || bytes.len() == place.range.len());
            let is_put = form.is_some_and(|(_, bytes)| !place.is_signed && put(place, bytes));
            if !is_put {
                stays = Some(recorded.as_str());
            }
        }
        stays
    }

    /// Returns true if the answer of a recording has a value for which `asked` returns another.
    pub(super) fn differs<'a>(
        &self,
        index: usize,
        asked: impl Fn(&str) -> Option<&'a str>,
    ) -> bool {
        let mut places = self.places.get(&index).into_iter().flatten();
        places.any(|place| {
            let recorded = &self.values[place.value];
            asked(recorded).is_some_and(|now| now != recorded)
        })
    }
}

/// Returns the time at which a part of an answer came.
fn came(answer: &Exchange, part: AnswerPart) -> SystemTime {
    let pushed = match (&answer.content, part) {
        (Content::Wire(_, wire), AnswerPart::Message(at)) => {
            let first = wire.messages.len() - wire.pushed.len();
            at.checked_sub(first).and_then(|at| wire.pushed.get(at))
        }
        _ => None,
    };
    pushed.map_or(answer.answered_at, |waited| answer.sent_at + *waited)
}

/// Puts a value in its place; returns false if the part ends before it.
fn put(part: &mut Vec<u8>, place: &ValuePlace, bytes: Vec<u8>) -> bool {
    if let Some(encoded) = place.encoded.clone() {
        let encoded = part.get_mut(encoded);
        return encoded.is_some_and(|it| encoded_text::put(it, place.range.clone(), &bytes));
    }
    let is_there = place.range.end <= part.len();
    if is_there {
        part.splice(place.range.clone(), bytes);
    }
    is_there
}

/// Returns false for words of one case without digits, which are names.
fn may_be_own(value: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| value.as_bytes().iter().any(kind);
    has(u8::is_ascii_digit) || has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase)
}

fn part_mut(answer: &mut Exchange, part: AnswerPart) -> Option<&mut Vec<u8>> {
    match &mut answer.content {
        Content::Http(http) | Content::Grpc(http) => {
            let response = http.response.as_mut()?;
            match part {
                AnswerPart::Field(at) => response.headers.get_mut(at).map(|(_, value)| value),
                AnswerPart::Trailer(at) => response.trailers.get_mut(at).map(|(_, value)| value),
                AnswerPart::Body => Some(&mut response.body),
                AnswerPart::Message(_) => None,
            }
        }
        Content::Wire(_, wire) => match part {
            AnswerPart::Message(at) => Some(&mut wire.messages.get_mut(at)?.bytes),
            _ => None,
        },
        Content::Dns(_) => None,
    }
}

/// Finder of many values at once, each by its end: ids often begin alike.
struct Finder {
    patterns: Vec<Pattern>,
    by_end: HashMap<[u8; MIN_VALUE_BYTES], Vec<usize>>,
    /// One bit for each hash of an end.
    filter: Vec<u64>,
}

struct Pattern {
    bytes: Vec<u8>,
    value: usize,
    form: Form,
}

/// Bits of the hash of an end.
const FILTER_BITS: u32 = 20;

fn filter_bit(end: [u8; MIN_VALUE_BYTES]) -> usize {
    // The multiplier of Fibonacci hashing: 2^64 divided by the golden ratio.
    let hash = u64::from_le_bytes(end).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (hash >> (64 - FILTER_BITS)) as usize
}

impl Finder {
    fn new(values: &[String]) -> Self {
        let mut finder = Self {
            patterns: Vec::new(),
            by_end: HashMap::new(),
            filter: vec![0; 1 << (FILTER_BITS - 6)],
        };
        for (value, text) in values.iter().enumerate() {
            let mut known: Vec<Vec<u8>> = Vec::new();
            for (form, bytes) in forms(text) {
                let Some(end) = bytes.last_chunk().copied() else {
                    continue;
                };
                if known.contains(&bytes) {
                    continue;
                }
                known.push(bytes.clone());
                let bit = filter_bit(end);
                finder.filter[bit / 64] |= 1 << (bit % 64);
                finder
                    .by_end
                    .entry(end)
                    .or_default()
                    .push(finder.patterns.len());
                finder.patterns.push(Pattern { bytes, value, form });
            }
        }
        finder
    }

    /// Returns the values in an answer, in order, without overlaps.
    fn find_in(&self, exchange: &Exchange) -> Vec<ValuePlace> {
        let mut found = Vec::new();
        match &exchange.content {
            Content::Http(http) | Content::Grpc(http) => {
                let Some(response) = &http.response else {
                    return found;
                };
                for (at, (_, value)) in response.headers.iter().enumerate() {
                    self.find(value, AnswerPart::Field(at), &mut found);
                }
                self.find(&plain_body(response), AnswerPart::Body, &mut found);
                for (at, (_, value)) in response.trailers.iter().enumerate() {
                    self.find(value, AnswerPart::Trailer(at), &mut found);
                }
            }
            Content::Wire(_, wire) => {
                let messages = wire.messages.iter().enumerate();
                for (at, message) in messages.filter(|(_, message)| message.from == Side::Server) {
                    self.find(&message.bytes, AnswerPart::Message(at), &mut found);
                }
            }
            Content::Dns(_) => {}
        }
        found
    }

    /// Finds the values of a text and of the texts in base64 in it.
    fn find(&self, text: &[u8], part: AnswerPart, found: &mut Vec<ValuePlace>) {
        let first = found.len();
        self.find_plain(text, part, found);
        for (encoded, decoded) in encoded_text::all(text) {
            let inside = found.len();
            self.find_plain(&decoded, part, found);
            for place in &mut found[inside..] {
                place.encoded = Some(encoded.clone());
                place.is_signed |= is_signed(&text[..encoded.end]);
            }
        }
        found[first..].sort_by_key(|place| place.encoded.as_ref().unwrap_or(&place.range).start);
    }

    fn find_plain(&self, text: &[u8], part: AnswerPart, found: &mut Vec<ValuePlace>) {
        let mut from = 0;
        for (at, end) in text.windows(MIN_VALUE_BYTES).enumerate() {
            let Some(end) = end.first_chunk().copied() else {
                continue;
            };
            let bit = filter_bit(end);
            if self.filter[bit / 64] & 1 << (bit % 64) == 0 {
                continue;
            }
            let until = at + MIN_VALUE_BYTES;
            let ends_here = self.by_end.get(&end).into_iter().flatten();
            let longest = ends_here
                .map(|pattern| &self.patterns[*pattern])
                .filter(|pattern| text[from..until].ends_with(&pattern.bytes))
                .max_by_key(|pattern| pattern.bytes.len());
            let Some(pattern) = longest else { continue };
            let range = until - pattern.bytes.len()..until;
            from = until;
            found.push(ValuePlace {
                part,
                is_signed: is_signed(&text[..range.start]),
                range,
                encoded: None,
                value: pattern.value,
                form: pattern.form,
            });
        }
    }
}

/// Returns true if a text ends within a signed token.
fn is_signed(before: &[u8]) -> bool {
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let token = before.iter().rev().take(MAX_SIGNED_BYTES);
    let length = token.take_while(is_part).count();
    before[before.len() - length..].starts_with(SIGNED)
}

/// Returns the body without codings, as far as they can be undone.
fn plain_body(response: &HttpResponse) -> Cow<'_, [u8]> {
    let plain = response
        .is_coded
        .then(|| coding::decoded(&response.headers, &response.body))
        .flatten();
    plain.map_or(Cow::Borrowed(&response.body), Cow::Owned)
}

/// Returns a response with its body without codings, as far as they can be undone.
fn plain(response: &HttpResponse) -> HttpResponse {
    let mut plain = response.clone();
    if let Cow::Owned(body) = plain_body(response) {
        (plain.body, plain.is_coded) = (body, false);
    }
    plain
}
