//! What two recordings of the same run tell of calls to databases.
//!
//! A value of a shape is noise if none of those that it had in one recording occurs in the other, and if without it both
//! recordings have the same calls of the shape: so it is learned only where every other part is equal. Of commands of Redis see
//! `commands`.

use std::collections::{BTreeMap, BTreeSet};

use super::closest::short;
use super::commands;
use super::noise::{Change, Fields, Given, Lesson, Noise, Shape, are_secret};
use super::parts::Parts;
use crate::record::call::{Content, Exchange, Protocol, is_no_call};
use crate::record::protocol::parts::Part;

/// The calls of one shape in a recording.
pub(super) type Calls<'a> = Vec<(&'a Exchange, Parts)>;

/// Whether it is a call to a database that one run makes as often as another, and none of its connections.
pub(super) fn counts(exchange: &Exchange) -> bool {
    !is_of_connection(exchange) && !is_no_call(exchange)
}

fn is_of_connection(exchange: &Exchange) -> bool {
    matches!(&exchange.content, Content::Wire(_, wire) if wire.session)
}

/// Adds what is learned to the noise; what it is.
pub(super) fn learn(a: &[Exchange], b: &[Exchange], given: &[Given; 2], noise: &mut Noise) -> Vec<Lesson> {
    let (mut lessons, mut theirs) = (Vec::new(), by_shape(b));
    for (shape, ours) in by_shape(a) {
        let theirs = theirs.remove(&shape).unwrap_or_default();
        if shape.protocol == Protocol::Redis {
            lessons.extend(commands::learn(&shape, &ours, &theirs, noise));
        } else {
            lessons.extend(values(&shape, [&ours, &theirs], given, noise));
        }
    }
    lessons
}

fn by_shape(exchanges: &[Exchange]) -> BTreeMap<Shape, Calls<'_>> {
    let mut found: BTreeMap<Shape, Vec<_>> = BTreeMap::new();
    for exchange in exchanges.iter().filter(|exchange| !is_no_call(exchange)) {
        if let Content::Wire(protocol, wire) = &exchange.content
            && let Some(mut parts) = Parts::of(*protocol, wire, &Fields::default())
        {
            let mut shape = Shape { protocol: *protocol, target: exchange.target.clone(), text: parts.shape() };
            if shape.protocol == Protocol::Redis {
                parts = parts.by_hash();
                shape.text = parts.shape();
            }
            found.entry(shape).or_default().push((exchange, parts));
        }
    }
    found
}

pub(super) fn lesson(shape: &Shape, text: &str, calls: usize, changes: Vec<Change>) -> Lesson {
    let place = format!("{} {} {}", shape.protocol.word(), shape.target, short(text));
    Lesson { place, calls: (calls, calls), changes }
}

pub(super) fn change(one: &Part, other: &Part) -> Change {
    Change { field: one.name.clone(), values: (short(&one.text), short(&other.text)) }
}

/// What all calls of a statement, or of a command of `MongoDB`, have otherwise in each recording.
fn values(shape: &Shape, [ours, theirs]: [&Calls<'_>; 2], given: &[Given; 2], noise: &mut Noise) -> Option<Lesson> {
    let (here, there) = (by_name(ours), by_name(theirs));
    let both = here.iter().filter_map(|(name, one)| Some((one, there.get(name)?)));
    let is_secret = |named: &Named<'_>, given: &Given| are_secret(named.values.iter().copied(), given);
    let others = both.filter(|(one, other)| {
        one.values.is_disjoint(&other.values) && !(is_secret(one, &given[0]) && is_secret(other, &given[1]))
    });
    let changes: Vec<_> = others.map(|(one, other)| change(one.first, other.first)).collect();
    let fields = Fields::new(changes.iter().map(|change| change.field.clone()), &[]).ok()?;
    if changes.is_empty() || kept(ours, &fields) != kept(theirs, &fields) {
        return None;
    }
    noise.put(ours.first()?.0, &fields);
    Some(lesson(shape, &shape.text, ours.len(), changes))
}

/// What calls have under one name.
struct Named<'a> {
    values: BTreeSet<&'a [u8]>,
    first: &'a Part,
}

fn by_name<'a>(calls: &'a Calls<'_>) -> BTreeMap<&'a str, Named<'a>> {
    let mut found: BTreeMap<&str, Named<'_>> = BTreeMap::new();
    for value in calls.iter().flat_map(|(_, parts)| parts.values()) {
        let named = found.entry(&value.name).or_insert_with(|| Named { values: BTreeSet::new(), first: value });
        named.values.insert(&value.bytes);
    }
    found
}

/// What is left of these calls, in one order. What belongs to connections, of which a pool opens any number, once.
fn kept(calls: &Calls<'_>, noise: &Fields) -> Vec<(bool, Vec<u8>)> {
    let mut kept: Vec<_> =
        calls.iter().map(|(exchange, parts)| (is_of_connection(exchange), parts.kept(noise))).collect();
    kept.sort_unstable();
    kept.dedup_by(|one, other| one.0 && one == other);
    kept
}
