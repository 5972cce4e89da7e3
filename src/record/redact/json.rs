//! Secrets in texts that are JSON or hold some: lines of it, events of a stream. Nothing but values changes.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use super::cards;
use super::meaning::{self, holds, is_text, tells_of_fields};
use super::names::{
    Kind, is_description, is_doubtful, is_secret_below, is_secret_key, is_secret_number, is_secret_value, kind, word_of,
};
use super::plain::may_hold;
use super::settings;
use super::walk::below;

/// A value that is a secret or may hold one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found<'a> {
    /// The key that makes it a secret, without escapes; empty where none does.
    pub(super) key: Cow<'a, str>,
    /// Where it is: with escapes, without quotes.
    pub(super) at: Range<usize>,
    /// Whether it is a number, which has no quotes around it.
    pub(super) is_number: bool,
    /// The place of what it stands in, and its key there or its number.
    outer: u64,
    step: Step<'a>,
}

/// The key of a value, or its number in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step<'a> {
    Key(Cow<'a, str>),
    Number(usize),
}

impl Found<'_> {
    /// The hash of the keys and places in lists that lead to it: the same in whichever order keys are written.
    pub(super) fn place(&self) -> u64 {
        match &self.step {
            Step::Key(key) => below(self.outer, key),
            Step::Number(number) => below(self.outer, number),
        }
    }
}

/// Deepest nesting that is looked into; what is deeper is taken for a part of what it is in.
const MAX_DEPTH: usize = 128;
/// Longest key that is kept as it is, in bytes.
const LONGEST_KEY_BYTES: usize = 256;
/// Keys of pairs that have their key as a value: `{"name": "password", "value": ...}`.
const NAMES: [&str; 4] = ["name", "key", "field", "id"];
/// Keys beside which a `token` is a part of a text (`OpenAI`, "log probabilities"; Elasticsearch, "analyze").
const SPEECH: [&str; 3] = ["logprob", "token_logprobs", "start_offset"];

/// A mapping or a list that is not closed yet.
#[derive(Clone, Debug, Default)]
struct Open<'a> {
    /// The key that it is under, if all in it is secret.
    secret: Option<Cow<'a, str>>,
    /// The key that it is under itself.
    under: Option<Cow<'a, str>>,
    /// The key of the next value, and what it says of it.
    key: Option<(Cow<'a, str>, Kind)>,
    /// The name and the value of a pair.
    name: Option<Cow<'a, str>>,
    value: Option<Range<usize>>,
    /// What it stands in, and how many values of a list are before the next one.
    place: u64,
    count: usize,
    /// How many values were found before it, and whether those under `token` are parts of a text.
    before: usize,
    is_speech: bool,
    /// Whether texts in it are about fields.
    tells: bool,
}

impl<'a> Open<'a> {
    /// The key that makes the next value a secret.
    fn secret_key(&self, value: &[u8]) -> Option<&Cow<'a, str>> {
        if self.tells && is_text(value) {
            return None;
        }
        let Some((key, kind)) = &self.key else { return self.secret.as_ref().filter(|key| !word_of(key, value)) };
        let is_below = || self.under.as_ref().is_some_and(|under| is_secret_below(under, key, value));
        match kind {
            Kind::Secret => Some(key).filter(|key| !word_of(key, value)),
            Kind::Doubtful if is_secret_value(key, value) || is_below() => Some(key),
            Kind::Doubtful if is_description(key) => None,
            Kind::Description => None,
            Kind::Doubtful | Kind::Other => self.secret.as_ref().filter(|outer| holds(outer, key)),
        }
    }

    /// What is to be known inside of the next value: the key that makes all of it a secret, and the key that it is under.
    fn opened(&self, is_list: bool, before: usize) -> Self {
        // A mapping `token` says of a token whose it is, and has a key for the token.
        let is_kind = |key: &Cow<'a, str>| is_list || !is_doubtful(key);
        let secret = self.secret_key(&[]).filter(|key| is_kind(key)).cloned();
        let under = match &self.key {
            Some((key, _)) => Some(key.clone()),
            None => self.under.clone(),
        };
        let tells = self.key.as_ref().is_some_and(|(key, _)| is_list && self.tells || tells_of_fields(key));
        let place = self.found(Cow::default(), 0..0, false).place();
        Self { secret, under, place, before, tells, ..Self::default() }
    }

    /// Whether the next value is the number of a card: its key says so, or that of what it stands in.
    fn is_card(&self, value: &[u8]) -> bool {
        let is_named = || {
            let own = self.key.as_ref().map(|(key, _)| &**key);
            own.or(self.under.as_deref()).is_some_and(|key| meaning::is_card(self.under.as_deref(), key))
        };
        cards::is_number(value) && is_named()
    }

    /// The next value, with the key that makes it a secret.
    fn found(&self, key: Cow<'a, str>, at: Range<usize>, is_number: bool) -> Found<'a> {
        let step = match &self.key {
            Some((key, _)) => Step::Key(key.clone()),
            None => Step::Number(self.count),
        };
        Found { key, at, is_number, outer: self.place, step }
    }

    fn text(&mut self, bytes: &'a [u8], at: Range<usize>, found: &mut Vec<Found<'a>>) {
        let value = &bytes[at.clone()];
        let is_card = || self.is_card(value);
        let secret = self.secret_key(value).cloned().or_else(|| is_card().then_some(Cow::Borrowed(cards::NAME)));
        let key = self.key.as_ref().map(|(key, _)| key.to_ascii_lowercase());
        let is_value = key.as_deref() == Some("value");
        match key.as_deref() {
            Some("value") if secret.is_none() => self.value = Some(at.clone()),
            Some(key) if NAMES.contains(&key) => self.name = Some(unescaped(&bytes[at.clone()])),
            _ => {}
        }
        if secret.is_some() || is_value || may_hold(value) {
            found.push(self.found(secret.unwrap_or_default(), at, false));
        }
    }

    /// Makes the value of a pair a secret, if the name says so, and none of parts of a text.
    fn close(&mut self, found: &mut [Found<'a>]) {
        if self.is_speech {
            for part in found[self.before..].iter_mut().filter(|part| matches!(&*part.key, "token" | "tokens")) {
                part.key = Cow::default();
            }
        }
        let (Some(name), Some(value)) = (self.name.take(), self.value.take()) else { return };
        if is_secret_key(&name)
            && let Ok(index) = found.binary_search_by_key(&value.start, |found| found.at.start)
        {
            found[index].key = name;
        }
    }
}

/// Texts and numbers that are secret, and texts that may hold something that is, in their order.
pub(super) fn values(bytes: &[u8]) -> Vec<Found<'_>> {
    let found = values_with(bytes, &HashMap::new());
    if memchr::memmem::find(bytes, b"\"variables\"").is_none() {
        return found;
    }
    // Which variables of a query of GraphQL are secrets is said in the query.
    let texts = found.iter().filter(|found| found.key.is_empty()).map(|found| unescaped(&bytes[found.at.clone()]));
    let queries: Vec<_> = texts.filter(|text| settings::is_query(text.as_bytes())).collect();
    let secret: HashMap<_, _> = queries.iter().rev().flat_map(|query| settings::variables(query)).collect();
    if secret.is_empty() { found } else { values_with(bytes, &secret) }
}

/// The same, with variables that are secrets, and what these are called.
pub(super) fn values_with<'a>(bytes: &'a [u8], variables: &HashMap<&str, &str>) -> Vec<Found<'a>> {
    let mut found = Vec::new();
    let mut outer: Vec<Open<'_>> = Vec::new();
    let mut here = Open::default();
    // The same few keys come again and again.
    let mut kinds: HashMap<&[u8], Kind> = HashMap::new();
    let (mut at, mut too_deep) = (0, 0_usize);
    while let Some(byte) = bytes.get(at).copied() {
        let mut end = at + 1;
        match byte {
            b'"' => {
                let Some(quote) = end_of_text(bytes, at) else { break };
                end = quote + 1;
                let after = after_space(bytes, end);
                if bytes.get(after) == Some(&b':') {
                    let key = unescaped(&bytes[at + 1..quote]);
                    let kind = *kinds.entry(&bytes[at + 1..quote]).or_insert_with(|| kind(&key));
                    here.is_speech |= SPEECH.contains(&&*key);
                    let is_variable = !variables.is_empty() && here.under.as_deref() == Some("variables");
                    let secret = if is_variable { variables.get(&*key) } else { None };
                    here.key = Some(match secret {
                        Some(called) => (Cow::Owned((*called).to_owned()), Kind::Secret),
                        None => (shortened(key), kind),
                    });
                    end = after + 1;
                } else {
                    here.text(bytes, at + 1..quote, &mut found);
                }
            }
            b'{' | b'[' if outer.len() < MAX_DEPTH => {
                let inner = here.opened(byte == b'[', found.len());
                outer.push(std::mem::replace(&mut here, inner));
            }
            b'{' | b'[' => too_deep += 1,
            b'}' | b']' if too_deep > 0 => too_deep -= 1,
            b'}' | b']' => {
                here.close(&mut found);
                here = outer.pop().unwrap_or_default();
            }
            b',' => {
                here.key = None;
                here.count += 1;
            }
            _ if byte.is_ascii_alphanumeric() || byte == b'-' => {
                let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
                end = at + bytes[at..].iter().take_while(is_part).count();
                let is_number = byte == b'-' || byte.is_ascii_digit();
                let value = &bytes[at..end];
                if let Some(key) = here.secret_key(value).filter(|key| is_number && is_secret_number(key)) {
                    found.push(here.found(key.clone(), at..end, true));
                } else if is_number && here.is_card(value) {
                    found.push(here.found(Cow::Borrowed(cards::NAME), at..end, true));
                }
            }
            _ => {}
        }
        at = end;
    }
    here.close(&mut found);
    found
}

/// A key; of one that is longer than any name a digest, since it is looked at with each value below it.
fn shortened(key: Cow<'_, str>) -> Cow<'_, str> {
    if key.len() <= LONGEST_KEY_BYTES { key } else { Cow::Owned(format!("long key {}", below(0, key))) }
}

/// Where the quote is that ends a text which begins here.
fn end_of_text(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

fn after_space(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// What a text says (RFC 8259, 7). What is no escape stays.
pub(super) fn unescaped(text: &[u8]) -> Cow<'_, str> {
    if memchr::memchr(b'\\', text).is_none() {
        return String::from_utf8_lossy(text);
    }
    let quoted = [b"\"", text, b"\""].concat();
    match serde_json::from_slice(&quoted) {
        Ok(text) => Cow::Owned(text),
        Err(_) => String::from_utf8_lossy(text),
    }
}

/// How a text is written, without quotes.
pub(super) fn escaped(text: &str) -> Vec<u8> {
    let quoted = serde_json::Value::from(text).to_string().into_bytes();
    quoted[1..quoted.len() - 1].to_vec()
}
