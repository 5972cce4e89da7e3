//! The parts of calls that secrets stand in: one that is left out as noise chooses no answer, and one of which each run has others
//! is learned as noise.

use std::collections::{BTreeSet, HashMap};

use super::Book;
use super::body::Leaf;
use super::closest::short;
use super::noise::{self, Fields};
use super::parts::{self, Parts, Placed};
use super::shelf::{Found, Numbered, Shelf, alike, numbered};
use crate::limits::MAX_DIFFERENCES;
use crate::record::exchange::{Content, Exchange, Http, HttpRequest, Protocol, Target, Wire};
use crate::record::redact::{self, REDACTED, Shown, without_secrets};

/// What is behind a value where digits of its secrets follow.
const TOLD: char = '\0';

/// The secrets of what is asked, but for those in what is left out, by name and place; those of one place in their order.
pub(super) fn choosing(exchange: &Exchange, noise: &Fields) -> Vec<Shown> {
    match &exchange.content {
        Content::Http(http) | Content::Grpc(http) => {
            let all = redact::places(&http.request);
            if noise.is_empty() || all.is_empty() {
                return all;
            }
            let (leaves, secrets) = of_request(&http.request);
            let mut kept = kept(secrets, |at| is_left_out(noise, &leaves[at]));
            kept.sort_by(|one, other| (&one.name, one.place).cmp(&(&other.name, other.place)));
            kept
        }
        Content::Wire(protocol, wire) => {
            let all = redact::said(*protocol, wire);
            if noise.is_empty() || all.is_empty() {
                return all;
            }
            let Some((parts, secrets)) = Parts::with_secrets(*protocol, wire, noise) else { return all };
            let values: Vec<_> = parts.values().collect();
            kept(secrets, |at| parts::left_out(noise, values[at]).is_some())
        }
        Content::Dns(_) => Vec::new(),
    }
}

fn kept(secrets: Placed, is_left_out: impl Fn(usize) -> bool) -> Vec<Shown> {
    // Of many secrets in one part it is looked at once.
    let mut known: HashMap<usize, bool> = HashMap::new();
    let mut is_left_out = |at| *known.entry(at).or_insert_with(|| is_left_out(at));
    secrets.into_iter().filter_map(|(secret, at)| (!at.is_some_and(&mut is_left_out)).then_some(secret)).collect()
}

/// Whether a field is left out, by its name, that of what it stands in, or its value.
fn is_left_out(noise: &Fields, leaf: &Leaf) -> bool {
    let mut outer = leaf.name.match_indices('.').map(|(at, _)| &leaf.name[..at]);
    let text = leaf.value.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(&leaf.value);
    noise.has(&leaf.name) || outer.any(|name| noise.has(name)) || noise.has_value(text)
}

/// The fields of a request, and its secrets.
fn of_request(request: &HttpRequest) -> (Vec<Leaf>, Placed) {
    let leaves = noise::leaves(&without_secrets(request));
    let (numbered, secrets) = redact::numbered_request(request);
    let mut places = vec![None; secrets.len()];
    let numbered = noise::leaves(&numbered);
    if numbered.iter().map(|leaf| &leaf.name).eq(leaves.iter().map(|leaf| &leaf.name)) {
        for (at, leaf) in numbered.iter().enumerate() {
            for number in redact::numbers(leaf.value.as_bytes()) {
                if let Some(place) = places.get_mut(number) {
                    *place = Some(at);
                }
            }
        }
    }
    (leaves, secrets.into_iter().zip(places).collect())
}

/// The digits of the secrets that answers of two recordings gave over HTTP: a program shows these again in a replay, too.
pub(super) struct Given([BTreeSet<String>; 2]);

impl Given {
    pub(super) fn of(recordings: [&[Exchange]; 2]) -> Self {
        let response = |exchange: &Exchange| match &exchange.content {
            Content::Http(http) | Content::Grpc(http) => http.response.as_ref().map(redact::of_answer),
            Content::Dns(_) | Content::Wire(..) => None,
        };
        Self(recordings.map(|exchanges| exchanges.iter().filter_map(response).flatten().collect()))
    }

    /// Leaves out what answers gave.
    fn retain<T>(&self, recordings: [&mut Vec<(T, Placed)>; 2]) {
        for (given, calls) in self.0.iter().zip(recordings) {
            let given: BTreeSet<&str> = given.iter().map(String::as_str).filter(|digits| !digits.is_empty()).collect();
            for (_, secrets) in calls {
                secrets.retain(|(secret, _)| !has_like(&given, &secret.digits));
            }
        }
    }
}

/// The fields of the requests of two recordings, in which secrets are told from others where a recording has several.
pub(super) fn told_leaves(recordings: [&[&Http]; 2], given: &Given) -> [Vec<Vec<Leaf>>; 2] {
    let mut all = recordings.map(|calls| calls.iter().map(|http| of_request(&http.request)).collect::<Vec<_>>());
    given.retain(all.each_mut());
    let placed = all.each_ref().map(|calls| {
        let secrets = calls.iter().flat_map(|(leaves, secrets)| {
            secrets.iter().filter_map(|(secret, at)| Some((leaves[(*at)?].name.as_str(), secret)))
        });
        secrets.collect()
    });
    let digits = digits(&placed);
    for (leaves, secrets) in all.iter_mut().flatten() {
        for (secret, at) in secrets {
            let Some(leaf) = at.and_then(|at| leaves.get_mut(at)) else { continue };
            if let Some(count) = digits.get(&leaf.name) {
                leaf.value.push(TOLD);
                leaf.value.push_str(&secret.digits[..*count]);
            }
        }
    }
    all.map(|calls| calls.into_iter().map(|(leaves, _)| leaves).collect())
}

/// Tells secrets from others in the calls of one shape of two recordings, in values of which a recording has several.
pub(super) fn tell<T>(recordings: &mut [Vec<((T, Parts), Placed)>; 2], given: &Given) {
    given.retain(recordings.each_mut());
    let placed = recordings.each_ref().map(|calls| {
        let secrets = calls.iter().filter(|(_, secrets)| !secrets.is_empty()).flat_map(|((_, parts), secrets)| {
            let values: Vec<_> = parts.values().collect();
            secrets.iter().filter_map(move |(secret, at)| Some((values[(*at)?].name.as_str(), secret)))
        });
        secrets.collect()
    });
    let digits = digits(&placed);
    if digits.is_empty() {
        return;
    }
    for ((_, parts), secrets) in recordings.iter_mut().flatten() {
        let mut values: Vec<_> = parts.values_mut().collect();
        for (secret, at) in secrets {
            let Some(value) = at.and_then(|at| values.get_mut(at)) else { continue };
            if let Some(count) = digits.get(&value.name) {
                value.bytes.push(TOLD as u8);
                value.bytes.extend_from_slice(&secret.digits.as_bytes()[..*count]);
            }
        }
    }
}

/// By how many digits the secrets are told apart that stand in parts of the same name: as many as all of them have. `None` where no
/// recording has several.
fn digits(recordings: &[Vec<(&str, &Shown)>; 2]) -> HashMap<String, usize> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for (name, secret) in recordings.iter().flatten() {
        let count = counts.entry(name).or_insert(secret.digits.len());
        *count = secret.digits.len().min(*count);
    }
    let mut several = BTreeSet::new();
    for recording in recordings {
        let mut first: HashMap<&str, &str> = HashMap::new();
        for (name, secret) in recording {
            let digits = &secret.digits[..counts[name]];
            if *first.entry(name).or_insert(digits) != digits {
                several.insert(*name);
            }
        }
    }
    several.into_iter().map(|name| (name.to_owned(), counts[name])).collect()
}

/// The secrets that were recorded in each statement of SQL, its values aside.
#[derive(Debug, Default)]
pub(super) struct Statements {
    known: HashMap<Statement, HashMap<Numbered, BTreeSet<String>>>,
}

/// A target, and what is the same in all calls of a statement.
type Statement = (Target, Vec<u8>);

impl Statements {
    pub(super) fn add(&mut self, exchange: &Exchange) {
        let Some((protocol, wire)) = of_sql(exchange) else { return };
        let secrets = redact::said(protocol, wire);
        if let Some(statement) = (!secrets.is_empty()).then(|| statement(exchange)).flatten() {
            let known = self.known.entry(statement).or_default();
            for (place, digits) in numbered(&secrets) {
                known.entry(place).or_default().insert(digits);
            }
        }
    }

    /// Whether one of these secrets, which are others than the only ones that were recorded of the very call, was recorded in
    /// another call of the statement: what it is answered there says nothing of this call.
    pub(super) fn knows(&self, asked: &Exchange, others: &[(Numbered, String)]) -> bool {
        if others.is_empty() || of_sql(asked).is_none() {
            return false;
        }
        let is_known = |known: &HashMap<Numbered, BTreeSet<String>>| {
            others.iter().any(|(place, digits)| {
                known.get(place).is_some_and(|all| all.iter().any(|one| !one.is_empty() && alike(one, digits)))
            })
        };
        statement(asked).and_then(|statement| self.known.get(&statement)).is_some_and(is_known)
    }
}

fn of_sql(exchange: &Exchange) -> Option<(Protocol, &Wire)> {
    match &exchange.content {
        Content::Wire(protocol @ (Protocol::Postgres | Protocol::MySql), wire) => Some((*protocol, wire)),
        _ => None,
    }
}

fn statement(exchange: &Exchange) -> Option<Statement> {
    let parts = Parts::of_call(exchange, &Fields::default())?;
    Some((exchange.target.clone(), parts.bare()))
}

impl Book {
    /// The recordings on a shelf for a call. Fails if there are none, or if it has a secret that is one of another call of its
    /// statement: with a recording that is the same but for the secret.
    pub(super) fn found<'a>(
        &self,
        shelf: &'a Shelf,
        asked: &Exchange,
        noise: &Fields,
    ) -> Result<Found<'a>, Option<usize>> {
        let found = shelf.of(asked, noise).ok_or(None)?;
        if self.statements.knows(asked, &found.others) {
            return Err(found.queue.entries.first().copied());
        }
        Ok(found)
    }
}

/// What chooses between the recordings of a call where nothing else does, a line for each name.
pub(super) fn differences(known: &[Shown], asked: &[Shown], lines: &mut Vec<String>) {
    let mut by_place: HashMap<(&str, u64), BTreeSet<&str>> = HashMap::new();
    for secret in known {
        by_place.entry((&secret.name, secret.place)).or_default().insert(&secret.digits);
    }
    // A statement is said again where it is carried out.
    let mut told = BTreeSet::new();
    for secret in asked {
        let said = match by_place.get(&(secret.name.as_str(), secret.place)) {
            None => "asked one, not recorded",
            Some(known) if has_like(known, &secret.digits) => continue,
            Some(_) => "recorded another one of several, asked one that is not recorded",
        };
        if told.insert((&secret.name, said)) {
            lines.push(format!("secret `{}`: {said}", short(&secret.name)));
        }
    }
    let names: BTreeSet<&str> = asked.iter().map(|secret| secret.name.as_str()).collect();
    for secret in known.iter().filter(|known| !names.contains(known.name.as_str())) {
        lines.push(format!("secret `{}`: recorded one, not asked", short(&secret.name)));
    }
}

/// Whether one of these may be the same secret: its digits begin with the others, or the other way round.
fn has_like(known: &BTreeSet<&str>, digits: &str) -> bool {
    let longer = known.range(digits..).next().is_some_and(|known| known.starts_with(digits));
    longer || (0..=digits.len()).any(|count| known.contains(&digits[..count]))
}

/// The names of the parts in which two calls that are the same in all else have other secrets.
pub(super) fn differing(protocol: Protocol, recorded: &Wire, asked: &Wire, noise: &Fields) -> Vec<String> {
    let of = |wire| Parts::with_secrets(protocol, wire, noise);
    let (Some((parts, recorded)), Some((_, asked))) = (of(recorded), of(asked)) else { return Vec::new() };
    let names: Vec<_> = parts.values().map(|value| &value.name).collect();
    let pairs = recorded.iter().zip(&asked).filter(|((one, _), (other, _))| !one.is_like(other));
    let mut found: Vec<String> = Vec::new();
    for name in pairs.filter_map(|((_, at), _)| names.get((*at)?)) {
        // More are not told.
        if found.len() <= MAX_DIFFERENCES && !found.contains(name) {
            found.push((*name).clone());
        }
    }
    found
}

/// The names of the fields in which two requests that are the same in all else have other secrets.
pub(super) fn differing_fields(recorded: &HttpRequest, asked: &HttpRequest) -> Vec<String> {
    let ((leaves, recorded), (_, asked)) = (of_request(recorded), of_request(asked));
    let pairs = recorded.iter().zip(&asked).filter(|((one, _), (other, _))| !one.is_like(other));
    let names: BTreeSet<&str> = pairs.filter_map(|((_, at), _)| Some(leaves[(*at)?].name.as_str())).collect();
    // A body that is no fields is the call itself.
    names.into_iter().filter(|name| *name != "body").map(str::to_owned).collect()
}

/// A field for a line, with digits of its secret if it was told from others.
pub(super) fn shown(value: &str) -> String {
    let (text, digits) = value.split_once(TOLD).unwrap_or((value, ""));
    with_digits(text, digits)
}

/// The same of a value of a database.
pub(super) fn shown_value(value: &parts::Value) -> String {
    let digits = value.bytes.strip_prefix(value.text.as_bytes()).and_then(|rest| rest.strip_prefix(&[TOLD as u8]));
    with_digits(&value.text, &String::from_utf8_lossy(digits.unwrap_or_default()))
}

fn with_digits(text: &str, digits: &str) -> String {
    const SHOWN: usize = 4;
    let Some(digits) = digits.get(..SHOWN) else { return short(text) };
    short(&text.replacen(REDACTED, &format!("{}{digits}]", redact::MARKED), 1))
}
