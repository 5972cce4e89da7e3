//! The recordings of one key: which of them answers whom.
//!
//! Most fields of HTTP are in no key, since they say nothing of what is asked for. But where several values were recorded in one of
//! them, none being one of them, they choose the answer. Of a secret that was the only one any other is as good: a replay has others.
//! Fields that may be others with every request choose where they are known, and otherwise pass.

use std::collections::{BTreeMap, BTreeSet};

use super::fields::{self, Field, Shown};
use super::noise;
use super::queue::Queue;
use crate::record::call::{Content, Exchange};

/// See the module. Recordings are put in by [`add`](Self::add), and then found after [`settle`](Self::settle).
#[derive(Default)]
pub(super) struct Shelf {
    added: Vec<(Vec<Field>, usize)>,
    fields: Fields,
    by_field: Apart<Apart<Known>>,
}

/// What is to be known of the fields of recordings that are alike.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    /// Names of those that are made anew for each request.
    anew: BTreeSet<String>,
    /// Names of those that choose.
    several: BTreeSet<String>,
}

impl Fields {
    /// Of all recordings on these shelves, which are not settled yet.
    pub(super) fn of(shelves: &[&Shelf]) -> Self {
        let all = || shelves.iter().flat_map(|shelf| &shelf.added).map(|(fields, _)| fields.as_slice());
        let anew = fields::made_anew(all());
        let names: BTreeSet<&str> =
            all().flatten().filter(|field| !field.is_secret()).map(|field| field.shown.name.as_str()).collect();
        let is_several = |name: &&str| {
            let values = |fields: &[Field]| -> Vec<String> {
                let here = fields.iter().filter(|field| field.shown.name == **name);
                here.map(|field| field.shown.digest.clone()).collect()
            };
            all().map(values).collect::<BTreeSet<_>>().len() > 1
        };
        let several = names.into_iter().filter(|name| !anew.contains(*name)).filter(is_several);
        let several = several.map(str::to_owned).collect();
        Self { anew, several }
    }
}

/// The recordings for a call.
pub(super) struct Found<'a> {
    pub(super) queue: &'a Queue,
    /// The name of what says who asks, and says another one than was recorded.
    pub(super) other: Option<String>,
}

/// Recordings in their order, and those of them that were asked for with each field that passes.
#[derive(Default)]
struct Known {
    all: Queue,
    passing: BTreeMap<Shown, Queue>,
}

/// The fields of a call by what they choose.
#[derive(Default)]
struct Asked {
    /// Those that choose.
    chosen: Vec<Shown>,
    /// Secrets.
    secrets: Vec<Shown>,
    /// Those that choose where they are known.
    passing: Vec<Shown>,
}

impl Asked {
    fn of(fields: Vec<Field>, anew: &BTreeSet<String>) -> Self {
        let mut asked = Self::default();
        for field in fields {
            let kind = match () {
                () if anew.contains(&field.shown.name) => &mut asked.passing,
                () if field.is_secret() => &mut asked.secrets,
                () => &mut asked.chosen,
            };
            kind.push(field.shown);
        }
        asked
    }
}

impl Shelf {
    pub(super) fn add(&mut self, exchange: &Exchange, noise: &noise::Fields, index: usize) {
        self.added.push((of_call(exchange, noise), index));
    }

    /// Finds out what tells the recordings apart; `fields` are those of all that is alike but for the fields of the key.
    pub(super) fn settle(&mut self, fields: Fields) {
        let added = std::mem::take(&mut self.added).into_iter();
        let added = added.map(|(asked, index)| (Asked::of(asked, &fields.anew), index));
        let by_field = added.map(|(asked, index)| (asked.chosen, (asked.secrets, (asked.passing, index))));
        self.by_field = Apart::of(by_field, Lone::Itself, &fields.several, |here| {
            Apart::of(here.into_iter(), Lone::Any, &BTreeSet::new(), |here| {
                let mut known = Known::default();
                for (passing, index) in here {
                    known.add(passing, index);
                }
                known
            })
        });
        self.fields = fields;
    }

    /// The recordings for a call.
    pub(super) fn of(&self, exchange: &Exchange, noise: &noise::Fields) -> Option<Found<'_>> {
        let asked = Asked::of(of_call(exchange, noise), &self.fields.anew);
        let by_secret = self.by_field.get(&asked.chosen)?;
        let queue = by_secret.get(&asked.secrets)?.with(&asked.passing);
        let who = || self.by_field.other(&asked.chosen).find(|name| fields::says_who(name));
        Some(Found { queue, other: by_secret.other(&asked.secrets).next().or_else(who) })
    }

    /// All queues of recordings.
    pub(super) fn each_queue(&mut self, mut see: impl FnMut(&mut Queue)) {
        let known = self.by_field.all.values_mut().flat_map(|here| here.all.values_mut());
        known.flat_map(|known| std::iter::once(&mut known.all).chain(known.passing.values_mut())).for_each(&mut see);
    }

    /// The names of the fields that choose.
    pub(super) fn choosing(&self) -> BTreeSet<&str> {
        let secrets = self.by_field.all.values().flat_map(|here| &here.counting);
        self.by_field.counting.iter().chain(secrets).map(String::as_str).collect()
    }
}

fn of_call(exchange: &Exchange, noise: &noise::Fields) -> Vec<Field> {
    match &exchange.content {
        Content::Http(http) | Content::Grpc(http) => fields::of(&http.request, noise),
        Content::Wire(..) | Content::Dns(_) => Vec::new(),
    }
}

impl Known {
    fn add(&mut self, passing: Vec<Shown>, index: usize) {
        self.all.entries.push(index);
        for field in passing {
            self.passing.entry(field).or_default().entries.push(index);
        }
    }

    /// Those of the known field that the fewest were asked for with.
    fn with(&self, passing: &[Shown]) -> &Queue {
        let known = passing.iter().filter_map(|field| self.passing.get(field));
        known.min_by_key(|queue| queue.entries.len()).unwrap_or(&self.all)
    }
}

/// Things by the fields that they were asked with.
///
/// Where one value of a name was recorded, it does not matter. Where several were, or one and none, each has its own answers, and
/// any other has none, but that [`Lone`] says what the one beside none is.
struct Apart<T> {
    /// Names of which there are several.
    counting: BTreeSet<String>,
    /// Those that had one value wherever they were.
    one: Values,
    lone: Lone,
    all: BTreeMap<Vec<Option<String>>, T>,
}

/// By name the digest of all values, in their order.
type Values = BTreeMap<String, String>;

/// What a value stands for that was the only one beside none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Lone {
    /// Any value: it is a secret, of which a replay has another one.
    #[default]
    Any,
    /// Itself.
    Itself,
}

impl<T> Default for Apart<T> {
    fn default() -> Self {
        Self { counting: BTreeSet::new(), one: Values::new(), lone: Lone::default(), all: BTreeMap::new() }
    }
}

impl<T> Apart<T> {
    /// Those of `several` count, though they may have had one value here.
    fn of<I>(
        items: impl Iterator<Item = (Vec<Shown>, I)>,
        lone: Lone,
        several: &BTreeSet<String>,
        mut make: impl FnMut(Vec<I>) -> T,
    ) -> Self {
        let items: Vec<(Values, I)> = items.map(|(fields, item)| (values(&fields), item)).collect();
        let names: BTreeSet<&String> = items.iter().flat_map(|(values, _)| values.keys()).collect();
        let (mut counting, mut one) = (several.clone(), Values::new());
        for name in names {
            let found: BTreeSet<Option<&String>> = items.iter().map(|(values, _)| values.get(name)).collect();
            if found.len() > 1 {
                counting.insert(name.clone());
            }
            if let [value] = found.into_iter().flatten().collect::<Vec<_>>()[..] {
                one.insert(name.clone(), value.clone());
            }
        }
        let mut apart = Self { counting, one, lone, all: BTreeMap::new() };
        let mut groups: BTreeMap<Vec<Option<String>>, Vec<I>> = BTreeMap::new();
        for (values, item) in items {
            groups.entry(apart.chosen(&values)).or_default().push(item);
        }
        apart.all = groups.into_iter().map(|(who, items)| (who, make(items))).collect();
        apart
    }

    /// The values that count, each of which may be none.
    fn chosen(&self, values: &Values) -> Vec<Option<String>> {
        let is_any = |name: &String| self.lone == Lone::Any && self.one.contains_key(name);
        let value =
            |name: &String| values.get(name).map(|value| if is_any(name) { String::new() } else { value.clone() });
        self.counting.iter().map(value).collect()
    }

    /// The names of those of these fields that are others than the only one of their name.
    fn other(&self, fields: &[Shown]) -> impl Iterator<Item = String> {
        let is_other = |(name, value): &(String, String)| self.one.get(name).is_some_and(|known| known != value);
        values(fields).into_iter().filter(is_other).map(|(name, _)| name)
    }

    fn get(&self, fields: &[Shown]) -> Option<&T> {
        self.all.get(&self.chosen(&values(fields)))
    }
}

fn values(fields: &[Shown]) -> Values {
    let mut values = Values::new();
    for field in fields {
        let all = values.entry(field.name.clone()).or_default();
        all.push_str(&field.digest);
    }
    values
}
