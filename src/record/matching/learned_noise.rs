//! Learning of noise from two recordings of the same run.
//!
//! A field is noise under two conditions: the recordings share none of its values, and without such
//! values both have the same calls. So only a field whose surroundings are equal is learned.
//! Identifiers and times are; a value that two calls have in another order is not.
//!
//! Calls are compared with those of the same method and path, or statement. Redis commands and
//! messages of unknown protocols consist of values only, so they are compared with calls that differ
//! in the same values. Their number may differ, since a lock is retried while another client holds
//! it.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::call_parts::chooses;
use super::description::short;
use super::fields::NoiseFields;
use super::head_selection::{FieldUse, HeadField, HeadSelection, RecordedHead};
use super::key::Question;
use super::noise::{Noise, Shape};
use super::{is_session, queue};
use crate::call::{Content, Exchange, HttpResponse, Protocol, Side};
use crate::protocol::part_list::Part;
use crate::redact;

/// Calls of another recording that one command is compared with to learn which of its arguments are
/// noise.
const MAX_NOISE_COMPARED: usize = 200;

/// Changes between two recordings of one shape of call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lesson {
    /// Such as `HTTP shop:80 POST /orders`, `Postgres db:5432 SELECT * FROM orders WHERE id = ?`.
    pub place: String,
    /// Number of calls in each recording. If they differ, no change is learned.
    pub calls: (usize, usize),
    pub changes: Vec<FieldChange>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldChange {
    /// Field name, such as `body.order.id`.
    pub field: String,
    /// The values of the first differing pair of calls, each for one line.
    pub values: (String, String),
}

struct ComparedCall<'a> {
    exchange: &'a Exchange,
    /// The parts that are not values.
    bare: Vec<u8>,
    /// Its values, and its selecting header fields.
    values: Vec<Part>,
}

impl ComparedCall<'_> {
    /// Returns the parts without the values of these names.
    fn without_values(&self, left_out: &BTreeSet<String>) -> Vec<&[u8]> {
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

/// The compared calls of both recordings.
type Pair<'a, 'b> = [Vec<&'b ComparedCall<'a>>; 2];

/// Returns the values that changed between two recordings of one run, and their places.
pub fn learn(a: &[Exchange], b: &[Exchange]) -> (Noise, Vec<Lesson>) {
    let mut noise = Noise::default();
    let given = [answer_secrets(a), answer_secrets(b)];
    let (mut lessons, mut theirs) = (Vec::new(), by_place(b));
    for (place, ours) in by_place(a) {
        let theirs = theirs.remove(&place).unwrap_or_default();
        let [ours, theirs] = calls(&ours, &theirs);
        let calls = (ours.len(), theirs.len());
        let protocol = ours.first().map(|call| call.exchange.content.protocol());
        if protocol.is_some_and(|protocol| protocol == Protocol::Redis || protocol.is_in_turns()) {
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

fn put(noise: &mut Noise, of: &Exchange, changes: &[FieldChange]) {
    if let Ok(fields) = NoiseFields::new(changes.iter().map(|change| change.field.clone()), &[]) {
        noise.put(&Question::of(of), &fields);
    }
}

/// Groups calls by shape, as text.
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

/// Returns the header fields that select among these calls.
fn required(calls: &[Question<'_>]) -> BTreeSet<String> {
    let none = NoiseFields::default();
    let mut heads = Vec::new();
    for (index, call) in calls.iter().enumerate() {
        let near = call.exchange.sent_at;
        let fields = call.parts.head(&none);
        let fields = fields.map(|part| HeadField::new(part, near, false));
        let fields = fields.collect();
        heads.push(RecordedHead { index, fields });
    }
    let answer = |index: usize| queue::answer(calls[index].exchange);
    HeadSelection::new(&heads, answer, |_| FieldUse::default()).required
}

/// Returns the calls of one shape in both recordings. Header fields count as values if they select
/// answers in either recording.
fn calls<'a>(ours: &[Question<'a>], theirs: &[Question<'a>]) -> [Vec<ComparedCall<'a>>; 2] {
    let none = NoiseFields::default();
    let both: BTreeSet<String> = required(ours).into_iter().chain(required(theirs)).collect();
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
        ComparedCall {
            exchange: question.exchange,
            bare,
            values,
        }
    };
    [ours, theirs].map(|calls| calls.iter().map(of).collect())
}

/// Returns the changes between these calls; none if their other parts differ. `alike` if those are
/// known to be equal.
fn changes(
    [ours, theirs]: &Pair<'_, '_>,
    given: &[AnswerSecrets; 2],
    alike: bool,
) -> Vec<FieldChange> {
    let (here, there) = (by_name(ours), by_name(theirs));
    let both = here
        .iter()
        .filter_map(|(name, one)| Some((*name, one, there.get(name)?)));
    let others: Vec<_> = both
        // Fields have names; other parts identify the call.
        .filter(|(name, ..)| name.contains('.'))
        .filter(|(_, one, other)| {
            one.iter()
                .all(|value| other.iter().all(|other| value.bytes != other.bytes))
        })
        .collect();
    let left_out: BTreeSet<String> = others.iter().map(|(name, ..)| (*name).to_owned()).collect();
    if !alike && remaining_parts(ours, &left_out) != remaining_parts(theirs, &left_out) {
        return Vec::new();
    }
    let is_noise = |(_, one, other): &&(&str, &Vec<&Part>, &Vec<&Part>)| {
        !(are_secret(one, &given[0]) && are_secret(other, &given[1]))
    };
    let change = |(name, one, other): &(&str, &Vec<&Part>, &Vec<&Part>)| FieldChange {
        field: (*name).to_owned(),
        values: (short(&one[0].text), short(&other[0].text)),
    };
    others.iter().filter(is_noise).map(change).collect()
}

fn by_name<'b>(calls: &[&'b ComparedCall<'_>]) -> BTreeMap<&'b str, Vec<&'b Part>> {
    let mut found: BTreeMap<&str, Vec<&Part>> = BTreeMap::new();
    let mut seen = HashSet::new();
    for value in calls.iter().flat_map(|call| &call.values) {
        if seen.insert((&value.name, &value.bytes)) {
            found.entry(&value.name).or_default().push(value);
        }
    }
    found
}

/// Returns the remaining parts of the calls, sorted. Calls of connections are deduplicated, since a
/// pool opens any number.
fn remaining_parts<'b>(
    calls: &[&'b ComparedCall<'_>],
    left_out: &BTreeSet<String>,
) -> Vec<(bool, Vec<&'b [u8]>)> {
    let mut kept: Vec<_> = calls
        .iter()
        .map(|call| (is_session(call.exchange), call.without_values(left_out)))
        .collect();
    kept.sort_unstable();
    kept.dedup_by(|one, other| one.0 && one == other);
    kept
}

/// Compares each command that the other recording lacks with the closest one there.
fn commands(
    place: &str,
    ours: &[ComparedCall<'_>],
    theirs: &[ComparedCall<'_>],
    given: &[AnswerSecrets; 2],
    noise: &mut Noise,
) -> Vec<Lesson> {
    let whole = |calls: &[ComparedCall<'_>]| -> HashSet<Vec<Vec<u8>>> {
        calls.iter().map(all_parts).collect()
    };
    let mut known = [whole(ours), whole(theirs)];
    let mut lessons = Vec::new();
    for (at, call) in ours.iter().enumerate() {
        if known[1].contains(&all_parts(call)) {
            continue;
        }
        // Considers only commands at a similar position.
        let from = (at * theirs.len() / ours.len()).saturating_sub(MAX_NOISE_COMPARED / 2);
        let others = theirs[from..]
            .iter()
            .take(MAX_NOISE_COMPARED)
            .filter(|other| other.bare == call.bare && !known[0].contains(&all_parts(other)));
        let Some(partner) = others.min_by_key(|other| call.differing(other).len()) else {
            continue;
        };
        let names = call.differing(partner);
        // Nothing would distinguish other calls from it.
        let is_whole = call.values.iter().all(Part::is_piece) && names.len() == call.values.len();
        let is_alike =
            |other: &&ComparedCall<'_>| other.without_values(&names) == call.without_values(&names);
        let pair: Pair<'_, '_> =
            [ours, theirs].map(|calls| calls.iter().filter(is_alike).collect());
        let changes = changes(&pair, given, true);
        if changes.len() < names.len() || is_whole {
            continue;
        }
        for call in &pair[0] {
            put(noise, call.exchange, &changes);
        }
        let calls = (pair[0].len(), pair[1].len());
        add(
            &mut lessons,
            Lesson {
                place: short(&format_command(place, call, &names)),
                calls,
                changes,
            },
        );
        known[1].extend(pair[0].iter().map(|call| all_parts(call)));
        known[0].extend(pair[1].iter().map(|call| all_parts(call)));
    }
    lessons
}

/// Formats a command with its values, and with `?` for the values of these names.
fn format_command(place: &str, call: &ComparedCall<'_>, names: &BTreeSet<String>) -> String {
    let in_text = call.values.iter().filter(|value| value.is_in_text());
    let words = in_text.map(|value| {
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

/// Adds a lesson, or merges it with one about the same arguments.
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
            );
        }
        None => lessons.push(learned),
    }
}

fn all_parts(call: &ComparedCall<'_>) -> Vec<Vec<u8>> {
    call.without_values(&BTreeSet::new())
        .into_iter()
        .map(<[u8]>::to_vec)
        .collect()
}

/// Placeholders of secrets in the answers of a recording.
type AnswerSecrets = BTreeSet<Vec<u8>>;

fn answer_secrets(exchanges: &[Exchange]) -> AnswerSecrets {
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
        Content::Wire(_, wire) => wire.messages_by(Side::Server).collect(),
        Content::Dns(_) => Vec::new(),
    }
}

/// Returns true if the values are secrets that need no noise. That is a single one, which may
/// differ in a replay anyway, or secrets from answers, which a replay repeats.
fn are_secret(values: &[&Part], given: &AnswerSecrets) -> bool {
    values.iter().all(|value| {
        let places = redact::places(&value.bytes);
        !places.is_empty()
            && (values.len() == 1
                || places
                    .into_iter()
                    .all(|at| given.contains(&value.bytes[at])))
    })
}
