//! The recordings of one key: which of them answers whom.
//!
//! Secrets are in no key, since a replay has others. But where several were recorded in one place, they choose the answer.
//! Those that may be others with every page choose it where they are known, and otherwise do not matter.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicUsize;

use crate::record::exchange::{Content, Exchange};
use crate::record::redact::{self, Shown};

/// See the module. Recordings are put in by [`add`](Self::add), and then found after [`settle`](Self::settle).
#[derive(Default)]
pub(super) struct Shelf {
    added: Vec<(Asked, usize)>,
    by_place: Apart<Apart<Queues>>,
}

/// Recordings in their order, and those of them that were asked for with each secret that passes.
#[derive(Default)]
struct Queues {
    all: Queue,
    passing: BTreeMap<Shown, Queue>,
}

/// Recordings in their order. Some may stand in another queue as well.
#[derive(Default)]
pub(super) struct Queue {
    /// Places in the book, in order.
    pub(super) entries: Vec<usize>,
    /// How many were used.
    pub(super) next: AtomicUsize,
}

impl Shelf {
    pub(super) fn add(&mut self, exchange: &Exchange, index: usize) {
        self.added.push((Asked::with(exchange), index));
    }

    /// Finds out what tells the recordings apart.
    pub(super) fn settle(&mut self) {
        let added = std::mem::take(&mut self.added);
        let by_place =
            added.into_iter().map(|(asked, index)| (asked.places, (asked.credentials, asked.passing, index)));
        self.by_place = Apart::of(by_place, |here| {
            let by_caller = here.into_iter().map(|(credentials, passing, index)| (credentials, (passing, index)));
            Apart::of(by_caller, Queues::of)
        });
    }

    /// The recordings for a call.
    pub(super) fn of(&self, exchange: &Exchange) -> Option<&Queue> {
        let asked = Asked::with(exchange);
        Some(self.by_place.get(&asked.places)?.get(&asked.credentials)?.with(&asked.passing))
    }
}

impl Queues {
    fn of(recordings: Vec<(Vec<Shown>, usize)>) -> Self {
        let mut queues = Self::default();
        for (passing, index) in recordings {
            queues.all.entries.push(index);
            for secret in passing.into_iter().filter(|secret| !secret.digits.is_empty()) {
                queues.passing.entry(secret).or_default().entries.push(index);
            }
        }
        queues
    }

    /// Those of the known secret that the fewest were asked for with; all, if none is known.
    fn with(&self, passing: &[Shown]) -> &Queue {
        let is_known = |known: &Shown| {
            passing.iter().any(|asked| asked.name == known.name && !asked.digits.is_empty() && asked.is_like(known))
        };
        let known = self.passing.iter().filter(|(secret, _)| is_known(secret)).map(|(_, queue)| queue);
        known.min_by_key(|queue| queue.entries.len()).unwrap_or(&self.all)
    }
}

/// The secrets of what is asked, of who asks, and those that may be others with every page.
#[derive(Default)]
struct Asked {
    places: Vec<Shown>,
    credentials: Vec<Shown>,
    passing: Vec<Shown>,
}

impl Asked {
    fn with(exchange: &Exchange) -> Self {
        match &exchange.content {
            Content::Http(http) | Content::Grpc(http) => Self {
                places: redact::places(&http.request),
                credentials: redact::credentials(&http.request),
                passing: redact::passing(&http.request),
            },
            Content::Wire(protocol, wire) => Self { places: redact::said(*protocol, wire), ..Self::default() },
            Content::Dns(_) => Self::default(),
        }
    }
}

/// Things by the secrets that they were asked with.
///
/// Where one secret of a name was recorded, it does not matter: a replay has another one. Where several were, each has its own
/// answers, and any other has none. A call without any secret is never one with some.
struct Apart<T> {
    /// Names and places, with which of those of one place, of which there are several.
    counting: BTreeSet<Numbered>,
    all: BTreeMap<Vec<Option<String>>, T>,
}

/// The name and the place of a secret, and its number among those of the same place.
type Numbered = (String, u64, usize);

impl<T> Default for Apart<T> {
    fn default() -> Self {
        Self { counting: BTreeSet::new(), all: BTreeMap::new() }
    }
}

impl<T> Apart<T> {
    fn of<I>(items: impl Iterator<Item = (Vec<Shown>, I)>, mut make: impl FnMut(Vec<I>) -> T) -> Self {
        let items: Vec<(BTreeMap<Numbered, String>, I)> =
            items.map(|(secrets, item)| (numbered(&secrets), item)).collect();
        let mut seen: BTreeMap<&Numbered, &str> = BTreeMap::new();
        let mut counting = BTreeSet::new();
        for (name, digits) in items.iter().flat_map(|(secrets, _)| secrets).filter(|(_, digits)| !digits.is_empty()) {
            let first = seen.entry(name).or_insert(digits);
            if !alike(first, digits) {
                counting.insert(name.clone());
            }
        }
        let mut groups: BTreeMap<Vec<Option<String>>, Vec<I>> = BTreeMap::new();
        for (secrets, item) in items {
            groups.entry(chosen(&counting, &secrets)).or_default().push(item);
        }
        Self { counting, all: groups.into_iter().map(|(who, items)| (who, make(items))).collect() }
    }

    fn get(&self, secrets: &[Shown]) -> Option<&T> {
        if self.all.len() == 1 && self.counting.is_empty() {
            return self.all.values().next();
        }
        let who = chosen(&self.counting, &numbered(secrets));
        if let Some(found) = self.all.get(&who) {
            return Some(found);
        }
        let is_alike = |one: &Option<String>, other: &Option<String>| match (one, other) {
            (Some(one), Some(other)) => alike(one, other),
            (None, None) => true,
            _ => false,
        };
        let mut found = self.all.iter().filter(|(known, _)| known.iter().zip(&who).all(|(a, b)| is_alike(a, b)));
        match (found.next(), found.next()) {
            (Some((_, one)), None) => Some(one),
            _ => None,
        }
    }
}

/// Each by its name, its place and which of those of this place it is.
fn numbered(secrets: &[Shown]) -> BTreeMap<Numbered, String> {
    let mut counts: BTreeMap<(&str, u64), usize> = BTreeMap::new();
    let mut all = BTreeMap::new();
    for secret in secrets {
        let count = counts.entry((&secret.name, secret.place)).or_default();
        all.insert((secret.name.clone(), secret.place, *count), secret.digits.clone());
        *count += 1;
    }
    all
}

/// The digits of the secrets that count, and whether there are any.
fn chosen(counting: &BTreeSet<Numbered>, secrets: &BTreeMap<Numbered, String>) -> Vec<Option<String>> {
    let any = (!secrets.is_empty()).then(String::new);
    std::iter::once(any).chain(counting.iter().map(|name| secrets.get(name).cloned())).collect()
}

fn alike(one: &str, other: &str) -> bool {
    one.starts_with(other) || other.starts_with(one)
}
