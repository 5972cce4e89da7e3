//! Values that were left out as noise and were others in this replay: which answers repeat the recorded ones, so that a program
//! finds what it never sent. Only ever told.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError, RwLock};

use super::Entry;
use super::needles::Needles;
use super::noise::{Fields, leaves};
use super::parts::Parts;
use crate::limits::{MAX_NOISE_ECHOES_FOLLOWED, MIN_NOISE_ECHO_BYTES};
use crate::record::call::{Content, Exchange, Http, Side};
use crate::record::redact::{decoded, is_uuid};

/// Most bytes of zero of a value: a small number of 8 bytes stands anywhere.
const MOST_ZEROS: usize = 2;

/// See the module.
#[derive(Default)]
pub(super) struct Echoes {
    sent: RwLock<Sent>,
    /// Names of recordings whose answers repeat a value, each with the name of the value.
    found: Mutex<BTreeMap<String, String>>,
    /// Whether a recorded value stood in an answer before the program sent it: so it did not make it.
    given: Mutex<HashMap<Vec<u8>, bool>>,
}

#[derive(Default)]
struct Sent {
    values: Needles<Source>,
    count: usize,
}

/// The recording that has a value, by its place, and the name of the value there.
#[derive(Clone, Debug)]
struct Source {
    entry: usize,
    name: String,
}

impl Echoes {
    /// A call was answered by this one of the recordings, this left out.
    pub(super) fn answered(&self, asked: &Exchange, entries: &[Entry], index: usize, noise: &Fields) {
        let recorded = &entries[index].exchange;
        if !noise.is_empty() {
            self.follow(others(asked, recorded, noise), index);
        }
        let sent = self.sent.read().unwrap_or_else(PoisonError::into_inner);
        let mut first: Option<&Source> = None;
        for part in answer(recorded) {
            sent.values.find(part, |_, _| true, &mut |at, source| {
                if first.is_none() && !self.was_given(&part[at], entries, source.entry) {
                    first = Some(source);
                }
            });
        }
        if let Some(Source { entry, name }) = first {
            let shown = if *entry == index { name.clone() } else { format!("{name} of {}", entries[*entry].name) };
            self.found
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .entry(entries[index].name.clone())
                .or_insert(shown);
        }
    }

    /// What was found so far.
    pub(super) fn found(&self) -> BTreeMap<String, String> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn follow(&self, values: Vec<(String, Vec<Vec<u8>>)>, entry: usize) {
        if values.is_empty() {
            return;
        }
        let mut sent = self.sent.write().unwrap_or_else(PoisonError::into_inner);
        for (name, spellings) in values {
            for spelt in spellings.into_iter().filter(|spelt| is_telling(spelt)) {
                if sent.count < MAX_NOISE_ECHOES_FOLLOWED {
                    sent.count += 1;
                    sent.values.add(spelt, Source { entry, name: name.clone() });
                }
            }
        }
    }

    fn was_given(&self, value: &[u8], entries: &[Entry], until: usize) -> bool {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = given.get(value) {
            return *known;
        }
        let was_given = entries[..until]
            .iter()
            .any(|entry| answer(&entry.exchange).any(|part| memchr::memmem::find(part, value).is_some()));
        given.insert(value.to_vec(), was_given);
        was_given
    }
}

/// What is short, or zeros, may stand in an answer by chance.
fn is_telling(value: &[u8]) -> bool {
    value.len() >= MIN_NOISE_ECHO_BYTES && memchr::memchr_iter(0, value).count() <= MOST_ZEROS
}

/// What a server said.
pub(super) fn answer(exchange: &Exchange) -> impl Iterator<Item = &[u8]> {
    let (messages, response) = match &exchange.content {
        Content::Http(http) | Content::Grpc(http) => (None, http.response.as_ref()),
        Content::Wire(_, wire) => (Some(&wire.messages), None),
        Content::Dns(_) => (None, None),
    };
    let said = messages.into_iter().flatten().filter(|message| message.from == Side::Server);
    let said = said.map(|message| message.bytes.as_slice());
    said.chain(response.into_iter().flat_map(|response| {
        let fields = response.headers.iter().map(|(_, value)| value.as_slice());
        fields.chain([response.body.as_slice()])
    }))
}

/// The recorded values that are left out and are others in this call: the name of each, and how it may be written.
fn others(asked: &Exchange, recorded: &Exchange, noise: &Fields) -> Vec<(String, Vec<Vec<u8>>)> {
    match (&asked.content, &recorded.content) {
        (Content::Http(asked), Content::Http(recorded)) => of_request(asked, recorded, noise),
        (Content::Wire(..), Content::Wire(..)) => {
            let parts = Parts::of_call(asked, noise).zip(Parts::of_call(recorded, noise));
            parts.map_or(Vec::new(), |(asked, recorded)| {
                let others = recorded.others(&asked, noise);
                others.map(|value| (value.name.clone(), spellings(&value.bytes, &value.text))).collect()
            })
        }
        _ => Vec::new(),
    }
}

fn of_request(asked: &Http, recorded: &Http, noise: &Fields) -> Vec<(String, Vec<Vec<u8>>)> {
    let is_left_out = |name: &str, value: &str| {
        let mut ends = name.match_indices('.').map(|(at, _)| at).chain([name.len()]);
        ends.any(|end| noise.has(&name[..end])) || noise.has_value(value)
    };
    let (asked, recorded) = (leaves(&asked.request), leaves(&recorded.request));
    let pairs = recorded.iter().zip(&asked).filter(|(one, other)| one.name == other.name && one.value != other.value);
    let values = pairs.map(|(one, _)| {
        let value = one.value.strip_prefix('=').unwrap_or(&one.value);
        let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
        (&one.name, value)
    });
    let values = values.filter(|(name, value)| is_left_out(name, value));
    values
        .map(|(name, value)| {
            (name.clone(), spellings(value.as_bytes(), &String::from_utf8_lossy(&decoded(value.as_bytes(), false))))
        })
        .collect()
}

/// How a value may be written: as it was sent, as it is told, and a UUID by its bytes.
fn spellings(bytes: &[u8], text: &str) -> Vec<Vec<u8>> {
    let mut all = vec![bytes.to_vec()];
    let digits: Vec<u32> =
        text.bytes().filter(|byte| *byte != b'-').map_while(|byte| char::from(byte).to_digit(16)).collect();
    if is_uuid(text.as_bytes()) {
        all.push(digits.chunks_exact(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect());
    }
    if text.as_bytes() != bytes {
        all.push(text.as_bytes().to_vec());
    }
    all
}
