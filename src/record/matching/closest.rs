//! What is most like a call that nothing answers, and how it differs. Only ever told, never served.

use std::collections::{BTreeSet, HashMap};

use super::body::{Body, Leaf, media_type};
use super::heads;
use super::json::Json;
use super::key::{Place, path_only, place, virtual_host};
use super::noise::{Fields, Noise};
use super::{Closest, parts, queue, values};
use crate::limits::{
    MAX_CLOSEST_COMPARED, MAX_CLOSEST_HEAD_BYTES, MAX_CLOSEST_LOOKED_AT, MAX_DIFFERENCE_CHARS, MAX_DIFFERENCES,
    MIN_BODY_APART_BYTES,
};
use crate::record::call::{Content, End, Exchange, Http, Message, Protocol, Side, Target, Wire};
use crate::record::matching::history::Done;
use crate::record::protocol::{postgres, words};
use crate::record::redact::{self, places};

/// What to do where secrets differ, or a program was given a stand-in and made something of it that the recording has otherwise.
const STAND_IN_HINT: &str = "`redacted...` and `edac7...` stand for secrets, which the recording has otherwise: record again with the secrets of this run, or with `--keep-secrets` if the program takes them apart";

/// What to do where more than values differs.
const RECORD_HINT: &str = "it is another call: record again what makes it";

/// What the same statement counts for, in thousandths: more than all that texts have in common.
const SAME_SHAPE: i64 = 2000;

/// Recordings by how near they can be to a call.
#[derive(Default)]
pub(super) struct Index {
    places: HashMap<Place, Vec<usize>>,
    targets: HashMap<(Target, Protocol), Vec<usize>>,
    protocols: HashMap<Protocol, Vec<usize>>,
}

/// A recording that may be the nearest one.
pub(super) struct Candidate<'a> {
    pub(super) name: &'a str,
    pub(super) exchange: &'a Exchange,
    /// Whether it is not known where and how it went.
    pub(super) named: bool,
    pub(super) used: bool,
    /// What its connection had done before it.
    pub(super) done: &'a Done,
}

impl Index {
    pub(super) fn add(&mut self, exchange: &Exchange, index: usize) {
        let protocol = exchange.content.protocol();
        self.places.entry(place(exchange, &exchange.target)).or_default().push(index);
        self.targets.entry((exchange.target.clone(), protocol)).or_default().push(index);
        self.protocols.entry(protocol).or_default().push(index);
    }

    pub(super) fn targets(&self) -> impl Iterator<Item = &(Target, Protocol)> {
        self.targets.keys()
    }

    /// The nearest recording: of the same place if there are any, else of the same target, else of the protocol; one that is
    /// known to be `alike` is it.
    pub(super) fn closest<'a>(
        &self,
        asked: &Exchange,
        alike: Option<usize>,
        entry: impl Fn(usize) -> Candidate<'a>,
        noise: &Noise,
        choosing: &BTreeSet<String>,
        done: &Done,
    ) -> Option<Closest> {
        let protocol = asked.content.protocol();
        let here = place(asked, &asked.target);
        let alike = alike.map(|index| vec![index]);
        let candidates = alike.as_ref().or_else(|| self.places.get(&here));
        let candidates = candidates.or_else(|| self.targets.get(&(asked.target.clone(), protocol)));
        let candidates = candidates.or_else(|| self.protocols.get(&protocol))?;
        let fields = noise.at(asked, &asked.target);
        // Of many, those with the most similar path are compared in full.
        let mut ranked: Vec<(i64, usize)> = candidates
            .iter()
            .take(MAX_CLOSEST_LOOKED_AT)
            .map(|index| (-likeness(asked, entry(*index).exchange), *index))
            .collect();
        ranked.sort_unstable();
        ranked.truncate(MAX_CLOSEST_COMPARED);
        let compared = ranked.into_iter().map(|(rank, index)| {
            let Candidate { name, exchange: recorded, named, used, done: before } = entry(index);
            let mut differences = differences(recorded, asked, &fields, choosing);
            if differences.is_empty() {
                differences = queue::differences(before, done);
            }
            let is_http = matches!(asked.content, Content::Http(_) | Content::Grpc(_));
            if is_http && !named && recorded.tls != asked.tls {
                let word = |tls| if tls { "yes" } else { "no" };
                differences
                    .insert(0, format!("encryption: recorded {}, asked {}", word(recorded.tls), word(asked.tls)));
            }
            let score = i64::try_from(differences.len()).unwrap_or(i64::MAX) - common(recorded, asked);
            ((rank, score, used, index), name, differences)
        });
        let ((.., nearest), name, mut differences) = compared.min_by_key(|(order, ..)| *order)?;
        if differences.len() > MAX_DIFFERENCES {
            let more = differences.len() - MAX_DIFFERENCES;
            differences.truncate(MAX_DIFFERENCES);
            differences.push(format!("and {more} more"));
        }
        let hint = if differences.iter().any(|line| is_of_stand_in(line) || is_of_secrets(line)) {
            STAND_IN_HINT.to_owned()
        } else {
            let declared = values::next_step(entry(nearest).exchange, asked, &differences, &fields, name);
            declared.unwrap_or_else(|| RECORD_HINT.to_owned())
        };
        differences.push(hint);
        Some(Closest { name: name.to_owned(), differences })
    }
}

/// How like two calls are at a glance, in thousandths; the same method counts for a fifth.
fn likeness(asked: &Exchange, recorded: &Exchange) -> i64 {
    let head = |text: &str| text.floor_char_boundary(MAX_CLOSEST_HEAD_BYTES);
    let alike = |a: &str, b: &str| (strsim::jaro(&a[..head(a)], &b[..head(b)]) * 1000.0) as i64;
    match (&asked.content, &recorded.content) {
        (Content::Http(a) | Content::Grpc(a), Content::Http(b) | Content::Grpc(b)) => {
            let same_method = i64::from(a.request.method == b.request.method) * 200;
            alike(path_only(&a.request.path), path_only(&b.request.path)) + same_method
        }
        (Content::Dns(a), Content::Dns(b)) => alike(&a.name, &b.name),
        (Content::Wire(protocol, a), Content::Wire(_, b)) => {
            let head = |wire| words::said(*protocol, wire).chars().take(200).collect::<String>();
            alike(&head(a), &head(b)) + i64::from(parts::are_of_one_statement(*protocol, a, b)) * SAME_SHAPE
        }
        _ => 0,
    }
}

/// How many fields of two bodies have the same name, and how many of those the same value.
fn common(recorded: &Exchange, asked: &Exchange) -> i64 {
    let (Content::Http(a), Content::Http(b)) = (&recorded.content, &asked.content) else { return 0 };
    // What is so long has many fields, and takes seconds.
    if a.request.body.len().max(b.request.body.len()) >= MIN_BODY_APART_BYTES {
        return 0;
    }
    let (ours, theirs) = (Body::of(&a.request).leaves("body"), Body::of(&b.request).leaves("body"));
    let mut values: HashMap<&str, Vec<&str>> = HashMap::new();
    for leaf in &theirs {
        values.entry(&leaf.name).or_default().push(&leaf.value);
    }
    let shared = ours.iter().filter_map(|leaf| values.get(leaf.name.as_str()).map(|values| (leaf, values)));
    shared.map(|(leaf, values)| 1 + i64::from(values.contains(&leaf.value.as_str()))).sum()
}

/// A call in a line: `POST http://api.example.com:80/orders`.
pub fn describe(exchange: &Exchange) -> String {
    let mut line = match &exchange.content {
        Content::Http(http) | Content::Grpc(http) => {
            let request = &http.request;
            let path = redact::path(&request.path);
            format!("{} {}://{}{path}", request.method, request.scheme, exchange.target)
        }
        Content::Dns(dns) => format!("DNS {} {}", dns.kind, dns.name),
        _ if let End::Refused(refusal, _) = exchange.end => {
            let what = if refusal.is_silence() { "no answer" } else { "refused" };
            format!("TCP {}: {what} ({})", exchange.target, refusal.reason())
        }
        _ if exchange.is_silent() => {
            let end = if exchange.end == End::Closed { " until the server closed it" } else { "" };
            format!("TCP {}: connected, and nothing was said{end}", exchange.target)
        }
        Content::Wire(protocol, wire) => {
            format!("{} {} {}", protocol.word(), exchange.target, words::said(*protocol, wire))
        }
    };
    line = shown(redact::told(&line).trim_end(), 3 * MAX_DIFFERENCE_CHARS);
    line
}

/// A text for one line, without control characters, of at most so many characters.
fn shown(text: &str, most: usize) -> String {
    let mut line: String = text
        .chars()
        .take(most)
        .flat_map(|c| {
            let escaped: Vec<char> = if c.is_control() { c.escape_default().collect() } else { vec![c] };
            escaped
        })
        .collect();
    if text.chars().nth(most).is_some() {
        line.push_str("...");
    }
    line
}

pub(super) fn short(text: &str) -> String {
    shown(text, MAX_DIFFERENCE_CHARS)
}

/// How a recorded call differs from one that was asked, a line each.
fn differences(recorded: &Exchange, asked: &Exchange, noise: &Fields, choosing: &BTreeSet<String>) -> Vec<String> {
    let mut lines = Vec::new();
    if recorded.target != asked.target && !matches!(asked.content, Content::Dns(_)) {
        compare("target", &recorded.target.to_string(), &asked.target.to_string(), &mut lines);
    }
    match (&recorded.content, &asked.content) {
        (Content::Http(a) | Content::Grpc(a), Content::Http(b) | Content::Grpc(b)) => {
            compare(
                "host",
                &virtual_host(&a.request, &recorded.target),
                &virtual_host(&b.request, &asked.target),
                &mut lines,
            );
            let [head, other] = [recorded, asked].map(|call| {
                let head = heads::of(call, noise);
                let fields =
                    heads::chosen(&head, choosing).map(|(name, value)| (format!("header.{name}"), value.to_owned()));
                fields.map(|(name, value)| Leaf { name, value }).collect::<Vec<_>>()
            });
            requests(a, b, noise, &mut lines);
            fields(head, other, &|_| false, &mut lines);
        }
        (Content::Dns(a), Content::Dns(b)) => {
            compare("name", &a.name, &b.name, &mut lines);
            compare("type", &a.kind, &b.kind, &mut lines);
        }
        (Content::Wire(protocol, a), Content::Wire(_, b)) => {
            wires(*protocol, a, b, &mut lines);
        }
        _ => {}
    }
    // Of secrets it counts that they are others only where nothing else is.
    if lines.iter().all(|line| is_of_secrets(line)) {
        return lines;
    }
    lines.retain(|line| !is_of_secrets(line));
    lines
}

/// Whether nothing but secrets differs on the two sides of a difference.
fn is_of_secrets(line: &str) -> bool {
    let without = |side: &str| {
        let (mut out, mut kept) = (String::new(), 0);
        let side = side.trim_end_matches('`');
        for at in places(side.as_bytes()) {
            out.push_str(side.get(kept..at.start).unwrap_or_default());
            kept = at.end;
        }
        (kept > 0).then(|| out + side.get(kept..).unwrap_or_default())
    };
    let sides = line.split_once(": recorded `").and_then(|(_, rest)| rest.split_once("`, asked `"));
    sides.is_some_and(|(recorded, asked)| without(recorded).is_some_and(|one| Some(one) == without(asked)))
}

/// Whether one side of a difference has the stand-in of a token, and the other has none.
fn is_of_stand_in(line: &str) -> bool {
    let (recorded, asked) = line.split_once(", asked ").unwrap_or((line, ""));
    places(recorded.as_bytes()).is_empty() != places(asked.as_bytes()).is_empty()
}

/// What is told of two texts that are not the same: where they are too long, from a little before the first difference on.
fn apart(recorded: &str, asked: &str) -> [String; 2] {
    let same = recorded.chars().zip(asked.chars()).take_while(|(a, b)| a == b).count();
    let is_long = |text: &str| text.chars().nth(MAX_DIFFERENCE_CHARS).is_some();
    let from = same.saturating_sub(MAX_DIFFERENCE_CHARS / 4);
    [recorded, asked].map(|text| {
        if from == 0 || !(is_long(recorded) || is_long(asked)) {
            return short(text);
        }
        let rest: String = text.chars().skip(from).collect();
        format!("...{}", short(&rest))
    })
}

fn compare(name: &str, recorded: &str, asked: &str, lines: &mut Vec<String>) {
    if recorded != asked {
        let [recorded, asked] = apart(recorded, asked);
        let value = |text: &str| if text.is_empty() { "nothing".to_owned() } else { format!("`{text}`") };
        lines.push(format!("{name}: recorded {}, asked {}", value(&recorded), value(&asked)));
    }
}

fn requests(a: &Http, b: &Http, noise: &Fields, lines: &mut Vec<String>) {
    let (a, b) = (&a.request, &b.request);
    compare("method", &a.method, &b.method, lines);
    compare("path", path_only(&a.path), path_only(&b.path), lines);
    let skip = |name: &str| noise.has(name);
    fields(Body::query(&a.path).leaves("query"), Body::query(&b.path).leaves("query"), &skip, lines);
    if !a.body.is_empty() && !b.body.is_empty() {
        compare("media type", &media_type(a), &media_type(b), lines);
    }
    match (Body::of(a), Body::of(b)) {
        (Body::Json(a), Body::Json(b)) => json(&a, &b, "body", "body", noise, lines),
        (a @ Body::Form(_), b @ Body::Form(_)) => fields(a.leaves("body"), b.leaves("body"), &skip, lines),
        _ if !noise.has("body") => bytes("body", &a.body, &b.body, lines),
        _ => {}
    }
}

/// Fields by name; those of one name are compared in their order.
fn fields(a: Vec<Leaf>, b: Vec<Leaf>, skip: &dyn Fn(&str) -> bool, lines: &mut Vec<String>) {
    let mut theirs: HashMap<String, Vec<String>> = HashMap::new();
    let mut order: Vec<String> = Vec::new();
    for leaf in b.into_iter().rev() {
        order.push(leaf.name.clone());
        theirs.entry(leaf.name).or_default().push(leaf.value);
    }
    let plain = |text: &str| text.strip_prefix('=').unwrap_or(text).to_owned();
    let value = |text: &str| format!("`{}`", short(&plain(text)));
    for leaf in a.into_iter().filter(|leaf| !skip(&leaf.name)) {
        match theirs.get_mut(&leaf.name).and_then(Vec::pop) {
            Some(other) if other == leaf.value => {}
            Some(other) => {
                let [recorded, asked] = apart(&plain(&leaf.value), &plain(&other));
                lines.push(format!("{}: recorded `{recorded}`, asked `{asked}`", leaf.name));
            }
            None => lines.push(format!("{}: recorded {}, not asked", leaf.name, value(&leaf.value))),
        }
    }
    for name in order.into_iter().rev().filter(|name| !skip(name)) {
        if let Some(other) = theirs.get_mut(&name).and_then(Vec::pop) {
            lines.push(format!("{name}: asked {}, not recorded", value(&other)));
        }
    }
}

/// `path` shows places in lists, `name` does not: noise is declared for all of a list.
fn json(a: &Json, b: &Json, path: &str, name: &str, noise: &Fields, lines: &mut Vec<String>) {
    // Beyond what is told, only that there is more counts.
    if a == b || noise.has(name) || lines.len() > 2 * MAX_DIFFERENCES {
        return;
    }
    match (a, b) {
        (Json::Map(a), Json::Map(b)) => {
            let of = |members: &[(String, Json)], key: &str| {
                members.iter().find(|(known, _)| known == key).map(|(_, value)| value.clone())
            };
            for (key, value) in a {
                let (path, name) = (format!("{path}.{key}"), format!("{name}.{key}"));
                match of(b, key) {
                    Some(other) => json(value, &other, &path, &name, noise, lines),
                    None if noise.has(&name) => {}
                    None => lines.push(format!("{path}: recorded {}, not asked", literal(value))),
                }
            }
            for (key, value) in b.iter().filter(|(key, _)| of(a, key).is_none() && !noise.has(&format!("{name}.{key}")))
            {
                lines.push(format!("{path}.{key}: asked {}, not recorded", literal(value)));
            }
        }
        (Json::List(a), Json::List(b)) => {
            for (index, (one, other)) in a.iter().zip(b).enumerate() {
                json(one, other, &format!("{path}[{index}]"), name, noise, lines);
            }
            if a.len() != b.len() {
                lines.push(format!("{path}: recorded {} items, asked {}", a.len(), b.len()));
            }
        }
        (Json::Word(one) | Json::Text(one), Json::Word(other) | Json::Text(other))
            if noise.has_value(one) && noise.has_value(other) => {}
        (Json::Text(one), Json::Text(other)) => {
            let [recorded, asked] = apart(one, other);
            lines.push(format!("{path}: recorded `{recorded}`, asked `{asked}`"));
        }
        _ => lines.push(format!("{path}: recorded {}, asked {}", literal(a), literal(b))),
    }
}

fn literal(value: &Json) -> String {
    match value {
        Json::Word(word) => short(word),
        Json::Text(text) => format!("`{}`", short(text)),
        Json::List(items) => format!("a list of {}", items.len()),
        Json::Map(members) => format!("an object of {}", members.len()),
    }
}

fn bytes(name: &str, a: &[u8], b: &[u8], lines: &mut Vec<String>) {
    if a == b {
        return;
    }
    let at = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let part = |bytes: &[u8]| {
        let from = at.saturating_sub(MAX_DIFFERENCE_CHARS / 4);
        let part = &bytes[from.min(bytes.len())..(from + MAX_DIFFERENCE_CHARS).min(bytes.len())];
        let text = String::from_utf8_lossy(part);
        if part.is_empty() { "nothing".to_owned() } else { format!("`{}`", short(&text)) }
    };
    lines.push(format!(
        "{name}: recorded {} bytes, asked {}; from byte {at} on recorded {}, asked {}",
        a.len(),
        b.len(),
        part(a),
        part(b)
    ));
}

/// What the program said.
fn questions(protocol: Protocol, wire: &Wire) -> Vec<Message> {
    let mut wire = wire.clone();
    if protocol == Protocol::Postgres {
        postgres::unify(&mut wire.messages);
    }
    wire.messages.into_iter().filter(|message| message.from == Side::Client).collect()
}

fn wires(protocol: Protocol, a: &Wire, b: &Wire, lines: &mut Vec<String>) {
    let (a, b) = (questions(protocol, a), questions(protocol, b));
    for (index, (one, other)) in a.iter().zip(&b).enumerate().filter(|(_, (one, other))| one.bytes != other.bytes) {
        let number = index + 1;
        let (recorded, asked) = (words::text(protocol, &one.bytes), words::text(protocol, &other.bytes));
        if recorded == asked {
            // Its length comes first, and says nothing.
            let head = if protocol == Protocol::Postgres { 5 } else { 0 };
            let [a, b] = [one, other].map(|message| message.bytes.get(head..).unwrap_or_default());
            let [a, b] = if a == b { [&one.bytes[..], &other.bytes[..]] } else { [a, b] };
            bytes(&format!("message {number}"), a, b, lines);
        } else {
            compare(&format!("message {number}"), &recorded, &asked, lines);
        }
    }
    if a.len() != b.len() {
        lines.push(format!("recorded {} messages, asked {}", a.len(), b.len()));
    }
}
