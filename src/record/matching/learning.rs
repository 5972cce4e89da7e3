//! What two recordings of the same run tell of what changes from run to run.
//!
//! A value is noise if none of those that one recording has in its place occurs in the other, and if without such values both
//! recordings have the same calls: so it is learned only where every other part is equal. An identifier or a time does that, a value
//! that two calls have in another order does not. Calls are compared with those of their method and path, or of their statement, and
//! commands of Redis, in which all is values, with those that differ from them in the same arguments alone; of these each recording
//! may have any number, as a lock is tried for as often as it is held by another.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::body::Body;
use super::closest::short;
use super::heads::{self, Head};
use super::key::{path_only, place};
use super::noise::{Change, Fields, Lesson, Noise};
use super::parts::Parts;
use super::queue;
use crate::limits::MAX_NOISE_COMPARED;
use crate::record::call::{Content, Exchange, Protocol, Side};
use crate::record::protocol::parts::Part;
use crate::record::redact;

/// A call of which something may be learned.
struct Call<'a> {
    exchange: &'a Exchange,
    /// What is no value.
    bare: Vec<u8>,
    values: Vec<Value>,
    is_of_connection: bool,
}

struct Value {
    name: String,
    bytes: Vec<u8>,
    /// As it is told.
    text: String,
}

impl Call<'_> {
    /// All but the values of these names.
    fn kept(&self, left_out: &BTreeSet<String>) -> Vec<&[u8]> {
        let values =
            self.values.iter().map(|value| if left_out.contains(&value.name) { b"" } else { &value.bytes[..] });
        [&self.bare[..]].into_iter().chain(values).collect()
    }

    /// The names of the values that another call has otherwise.
    fn differing(&self, other: &Self) -> BTreeSet<String> {
        let pairs = self.values.iter().zip(&other.values).filter(|(one, other)| one.bytes != other.bytes);
        pairs.map(|(one, _)| one.name.clone()).collect()
    }
}

/// The calls of both recordings that are compared.
type Pair<'a, 'b> = [Vec<&'b Call<'a>>; 2];

/// See [`Noise::learn`].
pub(super) fn learn(a: &[Exchange], b: &[Exchange], noise: &mut Noise) -> Vec<Lesson> {
    let given = [given(a), given(b)];
    let (mut lessons, mut theirs) = (Vec::new(), by_place(b));
    for (place, ours) in by_place(a) {
        let theirs = theirs.remove(&place).unwrap_or_default();
        let [ours, theirs] = calls(&ours, &theirs);
        let calls = (ours.len(), theirs.len());
        let protocol = ours.first().map(|call| call.exchange.content.protocol());
        if protocol == Some(Protocol::Redis) {
            lessons.extend(commands(&place, &ours, &theirs, &given, noise));
            continue;
        }
        let changes = changes(&[ours.iter().collect(), theirs.iter().collect()], &given, false);
        if let (Some(first), false) = (ours.first(), changes.is_empty()) {
            put(noise, first.exchange, &changes);
        }
        if !changes.is_empty() || protocol == Some(Protocol::Http) && calls.0 != calls.1 {
            lessons.push(Lesson { place: short(&place), calls, changes });
        }
    }
    let is_http = |calls: &[&Exchange]| matches!(calls[0].content, Content::Http(_));
    let theirs = theirs.into_iter().filter(|(_, theirs)| is_http(theirs));
    lessons.extend(theirs.map(|(place, theirs)| Lesson { place, calls: (0, theirs.len()), changes: Vec::new() }));
    lessons
}

fn put(noise: &mut Noise, of: &Exchange, changes: &[Change]) {
    if let Ok(fields) = Fields::new(changes.iter().map(|change| change.field.clone()), &[]) {
        noise.put(of, &fields);
    }
}

/// Calls by what noise belongs to, in words.
fn by_place(exchanges: &[Exchange]) -> BTreeMap<String, Vec<&Exchange>> {
    let mut found: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for exchange in exchanges.iter().filter(|exchange| !exchange.is_no_call()) {
        let text = match &exchange.content {
            Content::Http(_) => place(exchange, &exchange.target).to_string(),
            Content::Wire(protocol, wire) => {
                let Some(parts) = Parts::of(*protocol, wire, &Fields::default()) else { continue };
                format!("{} {} {}", protocol.word(), exchange.target, parts.by_hash().shape())
            }
            Content::Grpc(_) | Content::Dns(_) => continue,
        };
        found.entry(text).or_default().push(exchange);
    }
    found
}

/// The calls of one place in both recordings. Of the fields of a head those are values that choose in one of them.
fn calls<'a>(ours: &[&'a Exchange], theirs: &[&'a Exchange]) -> [Vec<Call<'a>>; 2] {
    let heads = [ours, theirs].map(|calls| calls.iter().map(|call| heads::of(call, &Fields::default())).collect());
    let choosing = |calls: &[&Exchange], heads: &Vec<Head>| {
        let differ = || calls.iter().any(|call| queue::answer(call) != queue::answer(calls[0]));
        heads::choosing(&heads.iter().collect::<Vec<_>>(), differ)
    };
    let mut both = choosing(ours, &heads[0]);
    both.append(&mut choosing(theirs, &heads[1]));
    let of = |calls: &[&'a Exchange], heads: &Vec<Head>| {
        calls.iter().zip(heads).filter_map(|(call, head)| taken_apart(call, head, &both)).collect()
    };
    [of(ours, &heads[0]), of(theirs, &heads[1])]
}

fn taken_apart<'a>(exchange: &'a Exchange, head: &Head, choosing: &BTreeSet<String>) -> Option<Call<'a>> {
    match &exchange.content {
        Content::Http(http) => {
            let (query, body) = (Body::query(&http.request.path), Body::of(&http.request));
            let leaves = query.leaves("query").into_iter().chain(body.leaves("body"));
            let fields =
                heads::chosen(head, choosing).map(|(name, value)| (format!("header.{name}"), value.to_owned()));
            let values = leaves.map(|leaf| (leaf.name, leaf.value)).chain(fields);
            let mut bare = path_only(&http.request.path).as_bytes().to_vec();
            let mut all = Vec::new();
            for (name, value) in values {
                bare.extend([b"\0", name.as_bytes()].concat());
                // A body that is no fields is the call itself, not a part of it that changes.
                if name == "body" {
                    bare.extend(value.into_bytes());
                } else {
                    all.push(Value {
                        name,
                        bytes: value.clone().into_bytes(),
                        text: value.trim_start_matches('=').to_owned(),
                    });
                }
            }
            Some(Call { exchange, bare, values: all, is_of_connection: false })
        }
        Content::Wire(protocol, wire) => {
            let parts = Parts::of(*protocol, wire, &Fields::default())?.by_hash();
            let value =
                |value: &Part| Value { name: value.name.clone(), bytes: value.bytes.clone(), text: value.text.clone() };
            let values = parts.values().map(value).collect();
            Some(Call { exchange, bare: parts.bare(), values, is_of_connection: wire.session })
        }
        Content::Grpc(_) | Content::Dns(_) => None,
    }
}

/// What these calls have otherwise in each recording: nothing, if the others of their parts are not the same in both. `alike` if they
/// are known to be.
fn changes([ours, theirs]: &Pair<'_, '_>, given: &[Given; 2], alike: bool) -> Vec<Change> {
    let (here, there) = (by_name(ours), by_name(theirs));
    let both = here.iter().filter_map(|(name, one)| Some((*name, one, there.get(name)?)));
    let others: Vec<_> = both
        .filter(|(_, one, other)| one.iter().all(|value| other.iter().all(|other| value.bytes != other.bytes)))
        .collect();
    let left_out: BTreeSet<String> = others.iter().map(|(name, ..)| (*name).to_owned()).collect();
    if !alike && kept(ours, &left_out) != kept(theirs, &left_out) {
        return Vec::new();
    }
    let is_noise = |(_, one, other): &&(&str, &Vec<&Value>, &Vec<&Value>)| {
        !(are_secret(one, &given[0]) && are_secret(other, &given[1]))
    };
    let change = |(name, one, other): &(&str, &Vec<&Value>, &Vec<&Value>)| Change {
        field: (*name).to_owned(),
        values: (short(&one[0].text), short(&other[0].text)),
    };
    others.iter().filter(is_noise).map(change).collect()
}

fn by_name<'b>(calls: &[&'b Call<'_>]) -> BTreeMap<&'b str, Vec<&'b Value>> {
    let mut found: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    let mut seen = HashSet::new();
    for value in calls.iter().flat_map(|call| &call.values) {
        if seen.insert((&value.name, &value.bytes)) {
            found.entry(&value.name).or_default().push(value);
        }
    }
    found
}

/// What is left of these calls, in one order. What belongs to connections, of which a pool opens any number, once.
fn kept<'b>(calls: &[&'b Call<'_>], left_out: &BTreeSet<String>) -> Vec<(bool, Vec<&'b [u8]>)> {
    let mut kept: Vec<_> = calls.iter().map(|call| (call.is_of_connection, call.kept(left_out))).collect();
    kept.sort_unstable();
    kept.dedup_by(|one, other| one.0 && one == other);
    kept
}

/// What is learned of commands: of each that the other recording has not, and the nearest there.
fn commands(place: &str, ours: &[Call<'_>], theirs: &[Call<'_>], given: &[Given; 2], noise: &mut Noise) -> Vec<Lesson> {
    let whole = |calls: &[Call<'_>]| -> HashSet<Vec<Vec<u8>>> { calls.iter().map(said).collect() };
    let mut known = [whole(ours), whole(theirs)];
    let mut lessons = Vec::new();
    for (at, call) in ours.iter().enumerate() {
        if known[1].contains(&said(call)) {
            continue;
        }
        // Among those that stand about where it does.
        let from = (at * theirs.len() / ours.len()).saturating_sub(MAX_NOISE_COMPARED / 2);
        let others = theirs[from..].iter().take(MAX_NOISE_COMPARED).filter(|other| !known[0].contains(&said(other)));
        let Some(partner) = others.min_by_key(|other| call.differing(other).len()) else { continue };
        let names = call.differing(partner);
        let is_alike = |other: &&Call<'_>| other.kept(&names) == call.kept(&names);
        let pair: Pair<'_, '_> = [ours, theirs].map(|calls| calls.iter().filter(is_alike).collect());
        let changes = changes(&pair, given, true);
        if changes.len() < names.len() {
            continue;
        }
        for call in &pair[0] {
            put(noise, call.exchange, &changes);
        }
        let calls = (pair[0].len(), pair[1].len());
        add(&mut lessons, Lesson { place: short(&shown(place, call, &names)), calls, changes });
        known[1].extend(pair[0].iter().map(|call| said(call)));
        known[0].extend(pair[1].iter().map(|call| said(call)));
    }
    lessons
}

/// A command in the words of its place, in which each value has a mark, with a mark only for those of these names.
fn shown(place: &str, call: &Call<'_>, names: &BTreeSet<String>) -> String {
    let words = call.values.iter().map(|value| if names.contains(&value.name) { "?" } else { &value.text });
    place.split('?').zip(words.chain([""])).flat_map(|(piece, word)| [piece, word]).collect()
}

/// Adds a lesson, which may be about the same arguments as one before.
fn add(lessons: &mut Vec<Lesson>, learned: Lesson) {
    let fields = |lesson: &Lesson| lesson.changes.iter().map(|change| change.field.clone()).collect::<Vec<_>>();
    match lessons.iter_mut().find(|known| known.place == learned.place && fields(known) == fields(&learned)) {
        Some(known) => known.calls = (known.calls.0 + learned.calls.0, known.calls.1 + learned.calls.1),
        None => lessons.push(learned),
    }
}

fn said(call: &Call<'_>) -> Vec<Vec<u8>> {
    call.kept(&BTreeSet::new()).into_iter().map(<[u8]>::to_vec).collect()
}

/// What stands for secrets in the answers of a recording.
type Given = BTreeSet<Vec<u8>>;

fn given(exchanges: &[Exchange]) -> Given {
    let answers = exchanges.iter().flat_map(answer);
    answers.flat_map(|part| redact::places(part).into_iter().map(|at| part[at].to_vec())).collect()
}

/// What a server said.
fn answer(exchange: &Exchange) -> Vec<&[u8]> {
    match &exchange.content {
        Content::Http(http) | Content::Grpc(http) => http
            .response
            .iter()
            .flat_map(|response| {
                response.headers.iter().map(|(_, value)| value.as_slice()).chain([response.body.as_slice()])
            })
            .collect(),
        Content::Wire(_, wire) => {
            let said = wire.messages.iter().filter(|message| message.from == Side::Server);
            said.map(|message| message.bytes.as_slice()).collect()
        }
        Content::Dns(_) => Vec::new(),
    }
}

/// Whether values are secrets that need no noise: a single one, of which a replay has another one in any case, or such as answers
/// gave, which a replay gives again.
fn are_secret(values: &[&Value], given: &Given) -> bool {
    values.iter().all(|value| {
        let places = redact::places(&value.bytes);
        !places.is_empty() && (values.len() == 1 || places.into_iter().all(|at| given.contains(&value.bytes[at])))
    })
}
