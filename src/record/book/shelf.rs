//! The recordings of one key: which of them answers whom.
//!
//! Secrets are in no key, since a replay has others, and most fields are not, since they say nothing of what is asked for. But
//! where several were recorded in one place, none being one of them, they choose the answer. Those that may be others with every page
//! choose it where they are known; otherwise it matters only whether there is one. So does a cookie that an answer gave: in what
//! order they are given is not the program's choice.

use std::collections::{BTreeMap, BTreeSet};

use super::fields::{self, Field};
use super::noise;
use super::queue::Queue;
use super::secrets;
use crate::record::exchange::{Content, Exchange};
use crate::record::redact::{self, Shown};

/// See the module. Recordings are put in by [`add`](Self::add), and then found after [`settle`](Self::settle).
#[derive(Default)]
pub(super) struct Shelf {
    added: Vec<(Asked, usize)>,
    fields: Fields,
    by_place: Apart<Apart<Apart<Queues>>>,
}

/// What is to be known of the fields of recordings that are alike.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    /// Names of those that are made anew for each request.
    anew: BTreeSet<String>,
    /// Those that choose.
    several: BTreeSet<Numbered>,
    /// Secrets of calls to databases that choose: a statement with one of them is another one than with another, whatever the
    /// state of the connection.
    secrets: BTreeSet<Numbered>,
}

impl Fields {
    /// Of all recordings on these shelves, which are not settled yet.
    pub(super) fn of(shelves: &[&Shelf]) -> Self {
        let all = || shelves.iter().flat_map(|shelf| &shelf.added).map(|(asked, _)| asked);
        let anew = fields::made_anew(all().map(|asked| asked.fields.as_slice()));
        let mut values: BTreeMap<&str, BTreeSet<Vec<&str>>> = BTreeMap::new();
        let names: BTreeSet<&str> = all().flat_map(Asked::choosing).map(|shown| shown.name.as_str()).collect();
        for asked in all() {
            for name in &names {
                let here = asked.choosing().filter(|shown| shown.name == *name).map(|shown| shown.digits.as_str());
                values.entry(name).or_default().insert(here.collect());
            }
        }
        let several = values.into_iter().filter(|(name, values)| values.len() > 1 && !anew.contains(*name));
        let several = several.map(|(name, _)| (name.to_owned(), 0, 0)).collect();
        let said: Vec<_> = all().filter(|asked| asked.is_wire).map(|asked| numbered(&asked.places)).collect();
        let secrets = differing(said.iter()).1;
        Self { anew, several, secrets }
    }
}

/// The recordings for a call.
pub(super) struct Found<'a> {
    pub(super) queue: &'a Queue,
    /// The name of what says who asks, and says another one than was recorded.
    pub(super) other: Option<String>,
    /// The secrets of what is asked that are others than the only ones which were recorded.
    pub(super) others: Vec<(Numbered, String)>,
}

/// Recordings in their order, by which of the secrets that pass they were asked for with.
#[derive(Default)]
struct Queues {
    /// Names of those that some of them were asked for with, and some not.
    mixed: BTreeSet<String>,
    /// Names of cookies of which they were asked for with several.
    several: BTreeSet<String>,
    by_presence: BTreeMap<Vec<bool>, Present>,
}

/// Recordings in their order, and those of them that were asked for with the same cookies of which there are several.
#[derive(Default)]
struct Present {
    all: Known,
    by_cookies: BTreeMap<Vec<Shown>, Known>,
}

/// Recordings in their order, and those of them that were asked for with each secret that passes.
#[derive(Default)]
struct Known {
    all: Queue,
    passing: BTreeMap<Shown, Queue>,
}

impl Shelf {
    pub(super) fn add(&mut self, exchange: &Exchange, noise: &noise::Fields, index: usize) {
        self.added.push((Asked::with(exchange, noise), index));
    }

    /// Finds out what tells the recordings apart; `fields` are those of all that is alike but for the fields of the key.
    pub(super) fn settle(&mut self, fields: Fields) {
        let added = std::mem::take(&mut self.added);
        self.fields = fields;
        let added = added.into_iter().map(|(asked, index)| (asked.sorted(&self.fields.anew), index));
        let by_place =
            added.map(|(asked, index)| (asked.places, (asked.chosen, asked.credentials, asked.passing, index)));
        let (none, several) = (BTreeSet::new(), &self.fields.several);
        self.by_place = Apart::of(by_place, Lone::Any, &self.fields.secrets, |here| {
            let by_field = here.into_iter().map(|(fields, who, passing, index)| (fields, (who, passing, index)));
            Apart::of(by_field, Lone::Itself, several, |here| {
                let by_caller = here.into_iter().map(|(who, passing, index)| (who, (passing, index)));
                Apart::of(by_caller, Lone::Any, &none, Queues::of)
            })
        });
    }

    /// The recordings for a call.
    pub(super) fn of(&self, exchange: &Exchange, noise: &noise::Fields) -> Option<Found<'_>> {
        let asked = Asked::with(exchange, noise).sorted(&self.fields.anew);
        let by_field = self.by_place.get(&asked.places)?;
        let callers = by_field.get(&asked.chosen)?;
        let queue = callers.get(&asked.credentials)?.with(&asked.passing, &asked.given)?;
        let who = || by_field.other(&asked.chosen).map(|((name, ..), _)| name).find(|name| fields::says_who(name));
        let other = callers.other(&asked.credentials).map(|((name, ..), _)| name).next();
        let others = self.by_place.other(&asked.places).collect();
        Some(Found { queue, other: other.or_else(who), others })
    }

    /// All queues of recordings.
    pub(super) fn each_queue(&mut self, mut see: impl FnMut(&mut Queue)) {
        let by_field = self.by_place.all.values_mut().flat_map(|places| places.all.values_mut());
        let queues = by_field.flat_map(|fields| fields.all.values_mut()).flat_map(|who| who.by_presence.values_mut());
        let known = queues.flat_map(|here| std::iter::once(&mut here.all).chain(here.by_cookies.values_mut()));
        known.flat_map(|known| std::iter::once(&mut known.all).chain(known.passing.values_mut())).for_each(&mut see);
    }

    /// The names of the fields that choose.
    pub(super) fn choosing(&self) -> BTreeSet<&str> {
        let names = self.by_place.all.values().flat_map(|here| &here.counting);
        names.map(|(name, ..)| name.as_str()).collect()
    }
}

impl Queues {
    fn of(recordings: Vec<(Vec<Shown>, usize)>) -> Self {
        let names: Vec<BTreeSet<&str>> = recordings.iter().map(|(passing, _)| of_names(passing).collect()).collect();
        let any: BTreeSet<&str> = names.iter().flatten().copied().collect();
        let mixed = any.iter().filter(|name| !names.iter().all(|names| names.contains(**name)));
        let mixed = mixed.map(|name| (*name).to_owned()).collect();
        let all = || recordings.iter().flat_map(|(passing, _)| passing).filter(|shown| !shown.digits.is_empty());
        let is_several = |name: &&str| {
            let mut values = all().filter(|shown| shown.name == *name);
            let first = values.next();
            redact::is_of_visitor(name) && values.any(|other| first.is_some_and(|first| !first.is_like(other)))
        };
        let several = any.iter().copied().filter(is_several).map(str::to_owned).collect();
        let mut queues = Self { mixed, several, by_presence: BTreeMap::new() };
        for (passing, index) in recordings {
            let presence = queues.presence(&passing);
            let cookies = queues.cookies(&passing).cloned().collect();
            let here = queues.by_presence.entry(presence).or_default();
            here.all.add(&passing, index);
            here.by_cookies.entry(cookies).or_default().add(&passing, index);
        }
        queues
    }

    fn presence(&self, passing: &[Shown]) -> Vec<bool> {
        self.mixed.iter().map(|name| has(passing, name)).collect()
    }

    fn cookies<'a>(&'a self, passing: &'a [Shown]) -> impl Iterator<Item = &'a Shown> {
        passing.iter().filter(|shown| self.several.contains(&shown.name))
    }

    /// Those of the known secret that the fewest were asked for with; all of these cookies, if none is known. `given` are
    /// cookies that an answer gave.
    fn with(&self, passing: &[Shown], given: &[Shown]) -> Option<&Queue> {
        let here = self.by_presence.get(&self.presence(passing))?;
        let asked: Vec<&Shown> = self.cookies(passing).collect();
        let fits = |known: &[Shown], is_any: &dyn Fn(&Shown) -> bool| {
            let is_one =
                |(known, asked): (&Shown, &&Shown)| known.name == asked.name && (known.is_like(asked) || is_any(asked));
            known.len() == asked.len() && known.iter().zip(&asked).all(is_one)
        };
        let found = |is_any: &dyn Fn(&Shown) -> bool| {
            let mut found = here.by_cookies.iter().filter(|(known, _)| fits(known, is_any)).map(|(_, known)| known);
            let first = found.next()?;
            Some(if found.next().is_some() { &here.all } else { first })
        };
        Some(found(&|_| false).or_else(|| found(&|asked| given.contains(asked)))?.with(passing))
    }
}

impl Known {
    fn add(&mut self, passing: &[Shown], index: usize) {
        self.all.entries.push(index);
        for secret in passing.iter().filter(|secret| !secret.digits.is_empty()) {
            self.passing.entry(secret.clone()).or_default().entries.push(index);
        }
    }

    fn with(&self, passing: &[Shown]) -> &Queue {
        let is_known = |known: &Shown| {
            passing.iter().any(|asked| asked.name == known.name && !asked.digits.is_empty() && asked.is_like(known))
        };
        let known = self.passing.iter().filter(|(secret, _)| is_known(secret)).map(|(_, queue)| queue);
        known.min_by_key(|queue| queue.entries.len()).unwrap_or(&self.all)
    }
}

fn of_names(secrets: &[Shown]) -> impl Iterator<Item = &str> {
    secrets.iter().map(|secret| secret.name.as_str())
}

fn has(secrets: &[Shown], name: &str) -> bool {
    of_names(secrets).any(|known| known == name)
}

/// The secrets of what is asked, of who asks, and those that may be others with every page; and the fields.
#[derive(Default)]
struct Asked {
    places: Vec<Shown>,
    fields: Vec<Field>,
    /// Fields and cookies that choose.
    chosen: Vec<Shown>,
    credentials: Vec<Shown>,
    passing: Vec<Shown>,
    /// Those of them that are cookies which an answer gave.
    given: Vec<Shown>,
    /// Whether it is a call to a database, or of a protocol without requests.
    is_wire: bool,
}

impl Asked {
    fn with(exchange: &Exchange, noise: &noise::Fields) -> Self {
        match &exchange.content {
            Content::Http(http) | Content::Grpc(http) => Self {
                places: secrets::choosing(exchange, noise),
                fields: fields::of(&http.request, noise),
                chosen: redact::settings(&http.request),
                credentials: without(redact::credentials(&http.request), noise),
                passing: without(redact::passing(&http.request), noise),
                given: redact::given_cookies(&http.request),
                is_wire: false,
            },
            Content::Wire(..) => Self { places: secrets::choosing(exchange, noise), is_wire: true, ..Self::default() },
            Content::Dns(_) => Self::default(),
        }
    }

    /// What may choose.
    fn choosing(&self) -> impl Iterator<Item = &Shown> {
        self.fields.iter().map(|field| &field.shown).chain(&self.chosen)
    }

    /// The same with its fields among what chooses, or what passes.
    fn sorted(mut self, anew: &BTreeSet<String>) -> Self {
        for Field { shown, .. } in std::mem::take(&mut self.fields) {
            let kind = if anew.contains(&shown.name) { &mut self.passing } else { &mut self.chosen };
            kind.push(shown);
        }
        self
    }
}

/// Secrets of fields without those of fields that are left out. Cookies have their own name behind that of the field.
fn without(mut secrets: Vec<Shown>, noise: &noise::Fields) -> Vec<Shown> {
    let field = |secret: &Shown| secret.name.split(' ').next().map(|field| format!("header.{field}"));
    secrets.retain(|secret| !field(secret).is_some_and(|field| noise.has(&field)));
    secrets
}

/// Things by the secrets that they were asked with.
///
/// Where one secret of a name was recorded, it does not matter: a replay has another one. Where several were, or one and none,
/// each has its own answers, and any other has none, but that [`Lone`] says what the one beside none is. A call without any
/// secret is never one with some.
struct Apart<T> {
    /// Names and places, with which of those of one place, of which there are several.
    counting: BTreeSet<Numbered>,
    /// Those that had one value wherever they were.
    one: BTreeMap<Numbered, String>,
    lone: Lone,
    all: BTreeMap<Vec<Option<String>>, T>,
}

/// What a value stands for that was the only one beside none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Lone {
    /// Any value: it is a secret, of which a replay has another one.
    #[default]
    Any,
    /// Itself.
    Itself,
}

/// The name and the place of a secret, and its number among those of the same place.
pub(super) type Numbered = (String, u64, usize);

impl<T> Default for Apart<T> {
    fn default() -> Self {
        Self { counting: BTreeSet::new(), one: BTreeMap::new(), lone: Lone::default(), all: BTreeMap::new() }
    }
}

impl<T> Apart<T> {
    /// Those of `several` count, though they may have had one value here.
    fn of<I>(
        items: impl Iterator<Item = (Vec<Shown>, I)>,
        lone: Lone,
        several: &BTreeSet<Numbered>,
        mut make: impl FnMut(Vec<I>) -> T,
    ) -> Self {
        let items: Vec<(BTreeMap<Numbered, String>, I)> =
            items.map(|(secrets, item)| (numbered(&secrets), item)).collect();
        let (seen, mut of_several) = differing(items.iter().map(|(secrets, _)| secrets));
        let mut counting = of_several.clone();
        counting.extend(several.iter().cloned());
        // Of values that stand for themselves the only one here is told.
        if lone == Lone::Any {
            of_several.extend(several.iter().cloned());
        }
        for name in items.iter().flat_map(|(secrets, _)| secrets.keys()).collect::<BTreeSet<_>>() {
            if !items.iter().all(|(secrets, _)| secrets.contains_key(name)) {
                counting.insert(name.clone());
            }
        }
        let one = seen.into_iter().filter(|(name, _)| !of_several.contains(*name));
        let one = one.map(|(name, digits)| (name.clone(), digits.to_owned())).collect();
        let mut apart = Self { counting, one, lone, all: BTreeMap::new() };
        let mut groups: BTreeMap<Vec<Option<String>>, Vec<I>> = BTreeMap::new();
        for (secrets, item) in items {
            groups.entry(apart.chosen(&secrets)).or_default().push(item);
        }
        apart.all = groups.into_iter().map(|(who, items)| (who, make(items))).collect();
        apart
    }

    /// The digits of the secrets that count, and whether there are any.
    fn chosen(&self, secrets: &BTreeMap<Numbered, String>) -> Vec<Option<String>> {
        let any = (!secrets.is_empty()).then(String::new);
        let digits = |name| {
            let is_any = self.lone == Lone::Any && self.one.contains_key(name);
            secrets.get(name).map(|digits| if is_any { String::new() } else { digits.clone() })
        };
        std::iter::once(any).chain(self.counting.iter().map(digits)).collect()
    }

    /// Those of these secrets that are others than the only one of their name.
    fn other(&self, secrets: &[Shown]) -> impl Iterator<Item = (Numbered, String)> {
        let is_other = |(name, digits): &(Numbered, String)| {
            self.one.get(name).is_some_and(|known| !digits.is_empty() && !alike(known, digits))
        };
        numbered(secrets).into_iter().filter(is_other)
    }

    fn get(&self, secrets: &[Shown]) -> Option<&T> {
        if self.all.len() == 1 && self.counting.is_empty() {
            return self.all.values().next();
        }
        let who = self.chosen(&numbered(secrets));
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

/// The first value of each of these, and those that had several. One that is empty is none.
fn differing<'a>(
    all: impl Iterator<Item = &'a BTreeMap<Numbered, String>>,
) -> (BTreeMap<&'a Numbered, &'a str>, BTreeSet<Numbered>) {
    let (mut seen, mut several): (BTreeMap<&Numbered, &str>, _) = (BTreeMap::new(), BTreeSet::new());
    for (name, digits) in all.flatten().filter(|(_, digits)| !digits.is_empty()) {
        if !alike(seen.entry(name).or_insert(digits), digits) {
            several.insert(name.clone());
        }
    }
    (seen, several)
}

/// Each by its name, its place and which of those of this place it is.
pub(super) fn numbered(secrets: &[Shown]) -> BTreeMap<Numbered, String> {
    let mut counts: BTreeMap<(&str, u64), usize> = BTreeMap::new();
    let mut all = BTreeMap::new();
    for secret in secrets {
        let count = counts.entry((&secret.name, secret.place)).or_default();
        all.insert((secret.name.clone(), secret.place, *count), secret.digits.clone());
        *count += 1;
    }
    all
}

pub(super) fn alike(one: &str, other: &str) -> bool {
    one.starts_with(other) || other.starts_with(one)
}
