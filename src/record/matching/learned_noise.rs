//! What two recordings of the same run tell of what changes from run to run.
//!
//! A value is noise if none of those that one recording has in its place occurs in the other, and
//! if without such values both recordings have the same calls: so it is learned only where every
//! other part is equal. An identifier or a time does that, a value that two calls have in another
//! order does not. Calls are compared with those of their method and path, or of their statement,
//! and commands of Redis, in which all is values, with those that differ from them in the same
//! arguments alone; of these each recording may have any number, as a lock is tried for as often as
//! it is held by another.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::description::short;
use super::fields::Fields;
use super::key::Question;
use super::noise::{Noise, Shape};
use super::parts::{chooses, choosing};
use super::{is_session, queue};
use crate::limits::MAX_NOISE_COMPARED;
use crate::record::call::{Content, Exchange, HttpResponse, Protocol, Side};
use crate::record::protocol::parts::Part;
use crate::record::redact;

/// What two recordings tell of one shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lesson {
    /// As `HTTP shop:80 POST /orders`, `Postgres db:5432 SELECT * FROM orders WHERE id = ?`.
    pub place: String,
    /// How many calls of it each recording has. If these are not as many, nothing is learned.
    pub calls: (usize, usize),
    pub changes: Vec<Change>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// `body.order.id`.
    pub field: String,
    /// The values of the first pair of calls that differs, for one line each.
    pub values: (String, String),
}

struct Call<'a> {
    exchange: &'a Exchange,
    /// What is no value.
    bare: Vec<u8>,
    /// Its values, and the fields of its head that choose.
    values: Vec<Part>,
}

impl Call<'_> {
    /// All but the values of these names.
    fn kept(&self, left_out: &BTreeSet<String>) -> Vec<&[u8]> {
        let values = self.values.iter().map(|value| {
            if left_out.contains(&value.name) {
                b""
            } else {
                &value.bytes[..]
            }
        });
        [&self.bare[..]].into_iter().chain(values).collect()
    }

    fn differing(&self, other: &Self) -> BTreeSet<String> {
        let pairs = self
            .values
            .iter()
            .zip(&other.values)
            .filter(|(one, other)| one != other);
        pairs.map(|(one, _)| one.name.clone()).collect()
    }
}

/// The calls of both recordings that are compared.
type Pair<'a, 'b> = [Vec<&'b Call<'a>>; 2];

/// The values that changed between two recordings of the same run, and where they did.
pub fn learn(a: &[Exchange], b: &[Exchange]) -> (Noise, Vec<Lesson>) {
    let mut noise = Noise::default();
    let given = [given(a), given(b)];
    let (mut lessons, mut theirs) = (Vec::new(), by_place(b));
    for (place, ours) in by_place(a) {
        let theirs = theirs.remove(&place).unwrap_or_default();
        let [ours, theirs] = calls(&ours, &theirs);
        let calls = (ours.len(), theirs.len());
        let protocol = ours.first().map(|call| call.exchange.content.protocol());
        if protocol == Some(Protocol::Redis) {
            lessons.extend(commands(&place, &ours, &theirs, &given, &mut noise));
            continue;
        }
        let changes = changes(
            &[ours.iter().collect(), theirs.iter().collect()],
            &given,
            false,
        );
        if let (Some(first), false) = (ours.first(), changes.is_empty()) {
            put(&mut noise, first.exchange, &changes);
        }
        if !changes.is_empty() || protocol == Some(Protocol::Http) && calls.0 != calls.1 {
            lessons.push(Lesson {
                place: short(&place),
                calls,
                changes,
            });
        }
    }
    let is_http = |calls: &[Question<'_>]| matches!(calls[0].exchange.content, Content::Http(_));
    let theirs = theirs.into_iter().filter(|(_, theirs)| is_http(theirs));
    lessons.extend(theirs.map(|(place, theirs)| Lesson {
        place,
        calls: (0, theirs.len()),
        changes: Vec::new(),
    }));
    (noise, lessons)
}

fn put(noise: &mut Noise, of: &Exchange, changes: &[Change]) {
    if let Ok(fields) = Fields::new(changes.iter().map(|change| change.field.clone()), &[]) {
        noise.put(&Question::of(of), &fields);
    }
}

/// Calls by what noise belongs to, in words.
fn by_place(exchanges: &[Exchange]) -> BTreeMap<String, Vec<Question<'_>>> {
    let mut found: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for exchange in exchanges.iter().filter(|exchange| !exchange.is_no_call()) {
        let question = Question::of(exchange);
        found
            .entry(Shape::of(&question, &exchange.target).to_string())
            .or_default()
            .push(question);
    }
    found
}

/// The calls of one place in both recordings. Of the fields of a head those are values that choose
/// in one of them.
fn calls<'a>(ours: &[Question<'a>], theirs: &[Question<'a>]) -> [Vec<Call<'a>>; 2] {
    let none = Fields::default();
    let choosing = |calls: &[Question<'_>]| {
        let differ = || {
            calls
                .iter()
                .any(|call| queue::answer(call.exchange) != queue::answer(calls[0].exchange))
        };
        choosing(
            &calls
                .iter()
                .map(|call| call.parts.head(&none).collect())
                .collect::<Vec<_>>(),
            differ,
        )
    };
    let both: BTreeSet<String> = choosing(ours).into_iter().chain(choosing(theirs)).collect();
    let of = |question: &Question<'a>| {
        let head = || {
            question
                .parts
                .head(&none)
                .filter(|field| chooses(field, &both))
        };
        let names: Vec<&[u8]> = head().map(|field| field.name.as_bytes()).collect();
        let bare = [question.parts.bare(&none), names.join(&0)].concat();
        let values = question
            .parts
            .values(&none)
            .chain(head())
            .cloned()
            .collect();
        Call {
            exchange: question.exchange,
            bare,
            values,
        }
    };
    [ours, theirs].map(|calls| calls.iter().map(of).collect())
}

/// What these calls have otherwise in each recording: nothing, if the others of their parts are not
/// the same in both. `alike` if they are known to be.
fn changes([ours, theirs]: &Pair<'_, '_>, given: &[Given; 2], alike: bool) -> Vec<Change> {
    let (here, there) = (by_name(ours), by_name(theirs));
    let both = here
        .iter()
        .filter_map(|(name, one)| Some((*name, one, there.get(name)?)));
    let others: Vec<_> = both
        // What is no field is the call itself, not a part of it that changes.
        .filter(|(name, ..)| name.contains('.'))
        .filter(|(_, one, other)| {
            one.iter()
                .all(|value| other.iter().all(|other| value.bytes != other.bytes))
        })
        .collect();
    let left_out: BTreeSet<String> = others.iter().map(|(name, ..)| (*name).to_owned()).collect();
    if !alike && kept(ours, &left_out) != kept(theirs, &left_out) {
        return Vec::new();
    }
    let is_noise = |(_, one, other): &&(&str, &Vec<&Part>, &Vec<&Part>)| {
        !(are_secret(one, &given[0]) && are_secret(other, &given[1]))
    };
    let change = |(name, one, other): &(&str, &Vec<&Part>, &Vec<&Part>)| Change {
        field: (*name).to_owned(),
        values: (short(&one[0].text), short(&other[0].text)),
    };
    others.iter().filter(is_noise).map(change).collect()
}

fn by_name<'b>(calls: &[&'b Call<'_>]) -> BTreeMap<&'b str, Vec<&'b Part>> {
    let mut found: BTreeMap<&str, Vec<&Part>> = BTreeMap::new();
    let mut seen = HashSet::new();
    for value in calls.iter().flat_map(|call| &call.values) {
        if seen.insert((&value.name, &value.bytes)) {
            found.entry(&value.name).or_default().push(value);
        }
    }
    found
}

/// What is left of these calls, in one order. What belongs to connections, of which a pool opens
/// any number, once.
fn kept<'b>(calls: &[&'b Call<'_>], left_out: &BTreeSet<String>) -> Vec<(bool, Vec<&'b [u8]>)> {
    let mut kept: Vec<_> = calls
        .iter()
        .map(|call| (is_session(call.exchange), call.kept(left_out)))
        .collect();
    kept.sort_unstable();
    kept.dedup_by(|one, other| one.0 && one == other);
    kept
}

/// What is learned of commands: of each that the other recording has not, and the nearest there.
fn commands(
    place: &str,
    ours: &[Call<'_>],
    theirs: &[Call<'_>],
    given: &[Given; 2],
    noise: &mut Noise,
) -> Vec<Lesson> {
    let whole = |calls: &[Call<'_>]| -> HashSet<Vec<Vec<u8>>> { calls.iter().map(said).collect() };
    let mut known = [whole(ours), whole(theirs)];
    let mut lessons = Vec::new();
    for (at, call) in ours.iter().enumerate() {
        if known[1].contains(&said(call)) {
            continue;
        }
        // Among those that stand about where it does.
        let from = (at * theirs.len() / ours.len()).saturating_sub(MAX_NOISE_COMPARED / 2);
        let others = theirs[from..]
            .iter()
            .take(MAX_NOISE_COMPARED)
            .filter(|other| !known[0].contains(&said(other)));
        let Some(partner) = others.min_by_key(|other| call.differing(other).len()) else {
            continue;
        };
        let names = call.differing(partner);
        let is_alike = |other: &&Call<'_>| other.kept(&names) == call.kept(&names);
        let pair: Pair<'_, '_> =
            [ours, theirs].map(|calls| calls.iter().filter(is_alike).collect());
        let changes = changes(&pair, given, true);
        if changes.len() < names.len() {
            continue;
        }
        for call in &pair[0] {
            put(noise, call.exchange, &changes);
        }
        let calls = (pair[0].len(), pair[1].len());
        add(
            &mut lessons,
            Lesson {
                place: short(&shown(place, call, &names)),
                calls,
                changes,
            },
        );
        known[1].extend(pair[0].iter().map(|call| said(call)));
        known[0].extend(pair[1].iter().map(|call| said(call)));
    }
    lessons
}

/// A command in the words of its place, in which each value has a mark, with a mark only for those
/// of these names.
fn shown(place: &str, call: &Call<'_>, names: &BTreeSet<String>) -> String {
    let words = call.values.iter().map(|value| {
        if names.contains(&value.name) {
            "?"
        } else {
            &value.text
        }
    });
    place
        .split('?')
        .zip(words.chain([""]))
        .flat_map(|(piece, word)| [piece, word])
        .collect()
}

/// Adds a lesson, which may be about the same arguments as one before.
fn add(lessons: &mut Vec<Lesson>, learned: Lesson) {
    let fields = |lesson: &Lesson| {
        lesson
            .changes
            .iter()
            .map(|change| change.field.clone())
            .collect::<Vec<_>>()
    };
    match lessons
        .iter_mut()
        .find(|known| known.place == learned.place && fields(known) == fields(&learned))
    {
        Some(known) => {
            known.calls = (
                known.calls.0 + learned.calls.0,
                known.calls.1 + learned.calls.1,
            )
        }
        None => lessons.push(learned),
    }
}

fn said(call: &Call<'_>) -> Vec<Vec<u8>> {
    call.kept(&BTreeSet::new())
        .into_iter()
        .map(<[u8]>::to_vec)
        .collect()
}

/// What stands for secrets in the answers of a recording.
type Given = BTreeSet<Vec<u8>>;

fn given(exchanges: &[Exchange]) -> Given {
    let answers = exchanges.iter().flat_map(answer);
    answers
        .flat_map(|part| redact::places(part).into_iter().map(|at| part[at].to_vec()))
        .collect()
}

fn answer<'a>(exchange: &'a Exchange) -> Vec<&'a [u8]> {
    match &exchange.content {
        Content::Http(http) | Content::Grpc(http) => {
            let all = |it: &'a HttpResponse| {
                it.headers
                    .iter()
                    .map(|(_, value)| &value[..])
                    .chain([&it.body[..]])
            };
            http.response.iter().flat_map(all).collect()
        }
        Content::Wire(_, wire) => wire.said(Side::Server).collect(),
        Content::Dns(_) => Vec::new(),
    }
}

/// Whether values are secrets that need no noise: a single one, of which a replay has another one
/// in any case, or such as answers gave, which a replay gives again.
fn are_secret(values: &[&Part], given: &Given) -> bool {
    values.iter().all(|value| {
        let places = redact::places(&value.bytes);
        !places.is_empty()
            && (values.len() == 1
                || places
                    .into_iter()
                    .all(|at| given.contains(&value.bytes[at])))
    })
}
