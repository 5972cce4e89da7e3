//! Header fields that select among recordings of one question.
//!
//! Fields that say what is asked, such as a tenant, have the same value in several calls. Fields
//! that say how it was sent, such as the number of a call or its timing, never repeat. So the fewest
//! fields that group the recordings, or tell who asks, select. A field with another value in each
//! recording selects only by a recorded value; an unknown one leaves the choice to the order.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::Hash;
use std::time::SystemTime;

use super::call_parts::is_always_selecting;
use super::volatile_values::ValueBlanker;
use crate::protocol::part_list::Part;
use crate::redact;

/// The header of a recording.
pub(super) struct RecordedHead<'a> {
    /// Index of the recording.
    pub(super) index: usize,
    pub(super) fields: Vec<HeadField<'a>>,
}

/// A header field of a recording.
#[derive(Clone, Debug)]
pub(super) struct HeadField<'a> {
    part: &'a Part,
    /// Its value without times.
    value: String,
    /// `true` if it has an id that each run makes anew.
    is_generated: bool,
    is_credential: bool,
}

impl<'a> HeadField<'a> {
    /// Creates a field of a call at this time. With `is_exact`, times count as other values do.
    pub(super) fn new(part: &'a Part, near: SystemTime, is_exact: bool) -> Self {
        let blank = ValueBlanker::new(near, is_exact);
        let (value, is_generated) = blank.without_times(&part.text);
        // RFC 9110, 11.6.2; RFC 6265, 5.4.
        let is_named =
            part.name == "header.authorization" || part.name.starts_with("header.cookie ");
        Self {
            part,
            value,
            is_generated,
            is_credential: is_named || !redact::places(&part.bytes).is_empty(),
        }
    }
}

/// Numbers of calls with a field and of its values, in all calls to a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldUse {
    pub(super) calls: usize,
    pub(super) values: usize,
}

/// Fields that select among the recordings of one question.
#[derive(Debug, Default)]
pub(super) struct HeadSelection {
    /// Fields whose values must be equal.
    pub(super) required: BTreeSet<String>,
    /// Recordings by the values of fields that select only by recorded values.
    preferred: BTreeMap<String, HashMap<String, HashSet<usize>>>,
}

/// A field that differs between recordings of one question.
struct Candidate {
    /// Its value in each recording, as a number.
    values: Vec<usize>,
    distinct: usize,
    is_generated: bool,
    /// `true` if it tells who asks.
    is_credential: bool,
}

impl HeadSelection {
    /// Chooses the fields. `answer` returns the answer of a recording by its index, `used` the use
    /// of a field in all calls to the target.
    pub(super) fn new<A: Eq + Hash>(
        heads: &[RecordedHead<'_>],
        answer: impl Fn(usize) -> A,
        used: impl Fn(&str) -> FieldUse,
    ) -> Self {
        let candidates = candidates(heads);
        if candidates.is_empty() {
            return Self::default();
        }
        let answers = numbers(heads.iter().map(|head| answer(head.index)));
        if answers.iter().all(|answer| *answer == 0) {
            return Self::default();
        }
        let required = required(&candidates, &answers, used);
        let mut preferred: BTreeMap<String, HashMap<String, HashSet<usize>>> = BTreeMap::new();
        for head in heads {
            let is_left = |field: &&HeadField<'_>| {
                candidates.contains_key(field.part.name.as_str())
                    && !required.contains(field.part.name.as_str())
            };
            for field in head.fields.iter().filter(is_left) {
                let values = preferred.entry(field.part.name.clone()).or_default();
                let recordings = values.entry(field.part.text.clone()).or_default();
                recordings.insert(head.index);
            }
        }
        Self {
            required: required.into_iter().map(str::to_owned).collect(),
            preferred,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.required.is_empty() && self.preferred.is_empty()
    }

    /// Returns the recordings that each recorded value of a header limits the choice to.
    pub(super) fn limits<'a>(&self, head: impl Iterator<Item = &'a Part>) -> HeadLimits<'_> {
        let limit = |field: &Part| self.preferred.get_key_value(&field.name);
        let of = |field: &Part| {
            let (name, values) = limit(field)?;
            Some((name.as_str(), values.get(&field.text)?))
        };
        HeadLimits(head.filter_map(of).collect())
    }
}

/// Sets of recordings that the recorded values of a header limit the choice to, by field.
pub(super) struct HeadLimits<'a>(Vec<(&'a str, &'a HashSet<usize>)>);

impl HeadLimits<'_> {
    pub(super) fn permit(&self, index: usize) -> bool {
        self.0.iter().all(|(_, indexes)| indexes.contains(&index))
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| *name)
    }
}

/// Numbers values by their first appearance, from 0.
fn numbers<T: Eq + Hash>(values: impl Iterator<Item = T>) -> Vec<usize> {
    let mut known = HashMap::new();
    let number = |value| {
        let next = known.len();
        *known.entry(value).or_insert(next)
    };
    values.map(number).collect()
}

/// Returns the fields with several values, by name. A missing field counts as a value.
fn candidates<'a>(heads: &'a [RecordedHead<'_>]) -> BTreeMap<&'a str, Candidate> {
    let mut fields: BTreeMap<&str, Vec<Option<&HeadField<'_>>>> = BTreeMap::new();
    for (at, head) in heads.iter().enumerate() {
        for field in &head.fields {
            let values = fields.entry(&field.part.name).or_default();
            values.resize(at, None);
            values.push(Some(field));
        }
    }
    let candidate = |(name, mut fields): (_, Vec<Option<&HeadField<'_>>>)| {
        fields.resize(heads.len(), None);
        let values = numbers(fields.iter().map(|field| field.map(|it| it.value.as_str())));
        let distinct = values.iter().max().map_or(0, |most| most + 1);
        let is_generated = fields.iter().flatten().any(|field| field.is_generated);
        let candidate = Candidate {
            values,
            distinct,
            is_generated,
            is_credential: fields.iter().flatten().any(|field| field.is_credential),
        };
        (distinct > 1).then_some((name, candidate))
    };
    fields.into_iter().filter_map(candidate).collect()
}

/// Returns the fewest fields that group the recordings as all repeating fields do, or that tell all
/// answers apart as well as these.
fn required<'a>(
    candidates: &BTreeMap<&'a str, Candidate>,
    answers: &[usize],
    used: impl Fn(&str) -> FieldUse,
) -> BTreeSet<&'a str> {
    let count = answers.len();
    let chosen = |is_chosen: &dyn Fn(&str, &Candidate) -> bool| -> BTreeSet<&'a str> {
        let all = candidates.iter();
        all.filter(|(name, one)| is_chosen(name, one))
            .map(|(name, _)| *name)
            .collect()
    };
    let mut repeating = chosen(&|_, one| one.distinct < count || one.is_credential);
    if repeating.is_empty() {
        repeating = chosen(&|name, _| used(name).values < used(name).calls);
    }
    if repeating.is_empty() {
        // Calls of other questions tell nothing about these fields. One alone is what differs.
        let open = chosen(&|name, _| used(name).calls <= count);
        return if open.len() == 1 { open } else { repeating };
    }
    let always = chosen(&|name, _| is_always_selecting(name));
    let groups = |names: &BTreeSet<&str>| {
        let of = |at: usize| -> Vec<usize> {
            let all = names.union(&always);
            all.map(|name| candidates[name].values[at]).collect()
        };
        numbers((0..count).map(of))
    };
    let tells_apart = |groups: &[usize]| {
        let mut first = HashMap::new();
        let mut pairs = groups.iter().zip(answers);
        pairs.all(|(group, answer)| first.entry(group).or_insert(answer) == &answer)
    };
    let all = groups(&repeating);
    let is_enough = |names: &BTreeSet<&str>| {
        let some = groups(names);
        some == all || tells_apart(&all) && tells_apart(&some)
    };
    // Ids, and fields with many values, rather belong to the sending.
    let mut order: Vec<&str> = repeating.iter().copied().collect();
    order.sort_by_key(|name| {
        let one = &candidates[name];
        (std::cmp::Reverse((one.is_generated, one.distinct)), *name)
    });
    let mut left = repeating.clone();
    for name in order {
        left.remove(name);
        if !is_enough(&left) {
            left.insert(name);
        }
    }
    left
}
