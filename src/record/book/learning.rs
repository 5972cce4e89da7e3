//! What two recordings of the same run tell of calls to databases.
//!
//! A value of a shape is noise if none of those that it had in one recording occurs in the other, and if without it both
//! recordings have the same calls of the shape: so it is learned only where every other part is equal. Of Redis the calls that
//! one recording has and the other has not are paired, each with the one that differs in the fewest arguments. Where nothing but
//! the name of a command would be left, names are told by how they begin: `session:` and what follows it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::closest::short;
use super::noise::{Change, Fields, Lesson, Noise, Shape, shape};
use super::parts::{Parts, Value};
use crate::limits::MAX_NOISE_COMPARED;
use crate::record::exchange::{Content, Exchange, Protocol};
use crate::record::outline::is_no_call;
use crate::record::summary::word;

/// The calls of one shape in a recording.
type Calls<'a> = Vec<(&'a Exchange, Parts)>;

/// Whether it is a call to a database that one run makes as often as another, and none of its connections.
pub(super) fn counts(exchange: &Exchange) -> bool {
    !is_of_connection(exchange) && !is_no_call(exchange)
}

fn is_of_connection(exchange: &Exchange) -> bool {
    matches!(&exchange.content, Content::Wire(_, wire) if wire.session)
}

/// Adds what is learned to the noise; what it is.
pub(super) fn learn(a: &[Exchange], b: &[Exchange], noise: &mut Noise) -> Vec<Lesson> {
    let (mut lessons, mut theirs) = (Vec::new(), by_shape(b));
    for (shape, ours) in by_shape(a) {
        let theirs = theirs.remove(&shape).unwrap_or_default();
        if shape.protocol == Protocol::Redis {
            lessons.extend(commands(&shape, &ours, &theirs, noise));
        } else {
            lessons.extend(values(&shape, &ours, &theirs, noise));
        }
    }
    lessons
}

fn by_shape(exchanges: &[Exchange]) -> BTreeMap<Shape, Calls<'_>> {
    let mut found: BTreeMap<Shape, Calls<'_>> = BTreeMap::new();
    for exchange in exchanges.iter().filter(|exchange| !is_no_call(exchange)) {
        if let Some((shape, parts)) = shape(exchange, &exchange.target) {
            found.entry(shape).or_default().push((exchange, parts));
        }
    }
    found
}

fn lesson(shape: &Shape, text: &str, calls: usize, changes: Vec<Change>) -> Lesson {
    let place = format!("{} {} {}", word(shape.protocol), shape.target, short(text));
    Lesson { place, calls: (calls, calls), changes }
}

fn change(one: &Value, other: &Value) -> Change {
    Change { field: one.name.clone(), values: (short(&one.text), short(&other.text)) }
}

/// What all calls of a statement, or of a command of `MongoDB`, have otherwise in each recording.
fn values(shape: &Shape, ours: &Calls<'_>, theirs: &Calls<'_>, noise: &mut Noise) -> Option<Lesson> {
    let (here, there) = (by_name(ours), by_name(theirs));
    let both = here.iter().filter_map(|(name, one)| Some((one, there.get(name)?)));
    let others = both.filter(|(one, other)| one.values.is_disjoint(&other.values));
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
    first: &'a Value,
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

/// What commands of Redis have otherwise in each recording that are the same in all else.
fn commands(shape: &Shape, ours: &Calls<'_>, theirs: &Calls<'_>, noise: &mut Noise) -> Vec<Lesson> {
    let mut lessons: Vec<Lesson> = Vec::new();
    let mut others = unmatched(theirs, ours);
    let mut seen: Vec<Seen<'_>> = Vec::new();
    for (exchange, parts) in unmatched(ours, theirs) {
        let nearest = (0..others.len().min(MAX_NOISE_COMPARED)).min_by_key(|at| differing(parts, others[*at].1).len());
        let Some(partner) = nearest.map(|at| others.remove(at).1) else { break };
        let pairs = differing(parts, partner);
        let Some(fields) = left_out(&pairs, pairs.len() == parts.values().count()) else { continue };
        let kept = parts.kept(&fields);
        let known = seen.iter().position(|seen| seen.fields.is_same(&fields)).unwrap_or_else(|| {
            seen.push(Seen::of(&fields, ours, theirs));
            seen.len() - 1
        });
        if partner.kept(&fields) != kept || !pairs.iter().all(|(one, _)| seen[known].is_new(&kept, &one.name)) {
            continue;
        }
        noise.put(exchange, &fields);
        let changes = pairs.iter().map(|(one, other)| change(one, other)).collect();
        let learned = lesson(shape, &parts.shown(&fields), 1, changes);
        let fields = |lesson: &Lesson| lesson.changes.iter().map(|change| change.field.clone()).collect::<Vec<_>>();
        match lessons.iter_mut().find(|known| known.place == learned.place && fields(known) == fields(&learned)) {
            Some(known) => known.calls = (known.calls.0 + 1, known.calls.1 + 1),
            None => lessons.push(learned),
        }
    }
    lessons
}

/// The values of each name, in each recording.
type ByName<'a> = HashMap<&'a str, [BTreeSet<&'a [u8]>; 2]>;

/// The values of the arguments of all commands, by what is the same in all but what is left out, in each recording.
struct Seen<'a> {
    fields: Fields,
    values: HashMap<Vec<u8>, ByName<'a>>,
}

impl<'a> Seen<'a> {
    fn of(fields: &Fields, ours: &'a Calls<'_>, theirs: &'a Calls<'_>) -> Self {
        let mut values: HashMap<Vec<u8>, ByName<'a>> = HashMap::new();
        for (recording, calls) in [ours, theirs].into_iter().enumerate() {
            for (_, parts) in calls {
                let alike = values.entry(parts.kept(fields)).or_default();
                for value in parts.values() {
                    alike.entry(&value.name).or_default()[recording].insert(&value.bytes);
                }
            }
        }
        Self { fields: fields.clone(), values }
    }

    /// Whether no value of this name is in both recordings.
    fn is_new(&self, kept: &[u8], name: &str) -> bool {
        let named = self.values.get(kept).and_then(|alike| alike.get(name));
        named.is_none_or(|[ours, theirs]| ours.is_disjoint(theirs))
    }
}

/// The calls that the other recording has not, as often.
fn unmatched<'a>(calls: &'a Calls<'a>, other: &Calls<'_>) -> Vec<(&'a Exchange, &'a Parts)> {
    let mut known: HashMap<Vec<u8>, usize> = HashMap::new();
    for (_, parts) in other {
        *known.entry(parts.kept(&Fields::default())).or_default() += 1;
    }
    let mut is_new = |parts: &Parts| match known.get_mut(&parts.kept(&Fields::default())) {
        Some(count @ 1..) => {
            *count -= 1;
            false
        }
        _ => true,
    };
    calls.iter().filter(|(_, parts)| is_new(parts)).map(|(exchange, parts)| (*exchange, parts)).collect()
}

/// The values that two calls of one shape have otherwise.
fn differing<'a>(one: &'a Parts, other: &'a Parts) -> Vec<(&'a Value, &'a Value)> {
    one.values().zip(other.values()).filter(|(one, other)| one.bytes != other.bytes).collect()
}

/// What is left out of a command: arguments, but keys (the first argument, and where `all` differ) by how they begin.
fn left_out(pairs: &[(&Value, &Value)], all: bool) -> Option<Fields> {
    let (mut names, mut patterns) = (Vec::new(), BTreeSet::new());
    for (one, other) in pairs {
        let is_key = all || one.name == "arg.1";
        match key_prefix(&one.text, &other.text).filter(|_| is_key) {
            Some(prefix) => drop(patterns.insert(format!("^{}", escaped(prefix)))),
            None if all => return None,
            None => names.push(one.name.clone()),
        }
    }
    Fields::new(names, &patterns.into_iter().collect::<Vec<_>>()).ok()
}

/// What both keys begin with, up to a mark between their parts: words without digits, which programs do not make up.
fn key_prefix<'a>(one: &'a str, other: &str) -> Option<&'a str> {
    let is_mark = |letter: char| matches!(letter, ':' | '/' | '|' | '.');
    let mut end = 0;
    for part in one.split_inclusive(is_mark) {
        let is_word = part.ends_with(is_mark) && !part.contains(|letter: char| letter.is_ascii_digit());
        if !is_word || !other[end..].starts_with(part) {
            break;
        }
        end += part.len();
    }
    one.get(..end).filter(|prefix| prefix.starts_with(|letter: char| letter.is_ascii_alphabetic()))
}

/// A pattern for this text.
fn escaped(text: &str) -> String {
    let mut pattern = String::new();
    for letter in text.chars() {
        if r"\^$.|?*+()[]{}/".contains(letter) {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern
}
