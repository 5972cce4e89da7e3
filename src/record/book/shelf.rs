//! The recordings of one key: which of them answers whom.
//!
//! Secrets are in no key, since a replay has others. But where several were recorded in one place, they choose the answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicUsize;

use crate::record::exchange::{Content, Exchange};
use crate::record::redact::{self, Shown};

/// See the module. Recordings are put in by [`add`](Self::add), and then found after [`settle`](Self::settle).
#[derive(Default)]
pub(super) struct Shelf {
    added: Vec<(Vec<Shown>, Vec<Shown>, usize)>,
    by_place: Apart<Apart<Queue>>,
}

/// Recordings in their order.
#[derive(Default)]
pub(super) struct Queue {
    /// Places in the book, in order.
    pub(super) entries: Vec<usize>,
    /// How many were used.
    pub(super) next: AtomicUsize,
}

impl Shelf {
    pub(super) fn add(&mut self, exchange: &Exchange, index: usize) {
        let (places, credentials) = asked_with(exchange);
        self.added.push((places, credentials, index));
    }

    /// Finds out what tells the recordings apart.
    pub(super) fn settle(&mut self) {
        let added = std::mem::take(&mut self.added);
        self.by_place =
            Apart::of(added.into_iter().map(|(places, credentials, index)| (places, (credentials, index))), |here| {
                Apart::of(here.into_iter(), |entries| Queue { entries, ..Queue::default() })
            });
    }

    /// The recordings for a call.
    pub(super) fn of(&self, asked: &Exchange) -> Option<&Queue> {
        let (places, credentials) = asked_with(asked);
        self.by_place.get(&places)?.get(&credentials)
    }
}

/// The secrets of what is asked, and of who asks.
fn asked_with(exchange: &Exchange) -> (Vec<Shown>, Vec<Shown>) {
    match &exchange.content {
        Content::Http(http) | Content::Grpc(http) => {
            (redact::places(&http.request), redact::credentials(&http.request))
        }
        Content::Wire(protocol, wire) => (redact::said(*protocol, wire), Vec::new()),
        Content::Dns(_) => (Vec::new(), Vec::new()),
    }
}

/// Things by the secrets that they were asked with.
///
/// Where one secret of a name was recorded, it does not matter: a replay has another one. Where several were, each has its own
/// answers, and any other has none. A call without any secret is never one with some.
struct Apart<T> {
    /// Names, with which of those of one name, of which there are several.
    counting: BTreeSet<(String, usize)>,
    all: BTreeMap<Vec<Option<String>>, T>,
}

/// Secrets by their names, each with its number among those of the same name.
type Numbered = BTreeMap<(String, usize), String>;

impl<T> Default for Apart<T> {
    fn default() -> Self {
        Self { counting: BTreeSet::new(), all: BTreeMap::new() }
    }
}

impl<T> Apart<T> {
    fn of<I>(items: impl Iterator<Item = (Vec<Shown>, I)>, mut make: impl FnMut(Vec<I>) -> T) -> Self {
        let items: Vec<(Numbered, I)> = items.map(|(secrets, item)| (numbered(&secrets), item)).collect();
        let mut seen: BTreeMap<&(String, usize), &str> = BTreeMap::new();
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

/// Each by its name and which of those of this name it is.
fn numbered(secrets: &[Shown]) -> BTreeMap<(String, usize), String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut all = BTreeMap::new();
    for secret in secrets {
        let count = counts.entry(&secret.name).or_default();
        all.insert((secret.name.clone(), *count), secret.digits.clone());
        *count += 1;
    }
    all
}

/// The digits of the secrets that count, and whether there are any.
fn chosen(counting: &BTreeSet<(String, usize)>, secrets: &BTreeMap<(String, usize), String>) -> Vec<Option<String>> {
    let any = (!secrets.is_empty()).then(String::new);
    std::iter::once(any).chain(counting.iter().map(|name| secrets.get(name).cloned())).collect()
}

fn alike(one: &str, other: &str) -> bool {
    one.starts_with(other) || other.starts_with(one)
}
