//! Diagnosis of missed calls: the closest recording, the differences, and a hint. It is only
//! reported, never served.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::atomic::Ordering;

use replay_base::limits::{MAX_DIFFERENCE_CHARS, MAX_DIFFERENCES};

use super::call_parts::{Parts, chooses};
use super::description::short;
use super::fields::NoiseFields;
use super::history::EffectDigests;
use super::key::{Key, Question, digest, path_only, virtual_host};
use super::lookup::LookupMiss;
use super::noise::Shape;
use super::{ClosestRecording, Entry, Recordings};
use crate::call::{Content, Exchange, Message, Protocol, Side, Target, Wire};
use crate::protocol::http::media_type;
use crate::protocol::part_list::{Part, Role};
use crate::protocol::{postgres, words};
use crate::redact::places;

/// Recordings that are looked at for the one that is most like a call that none of them answers.
const MAX_CLOSEST_LOOKED_AT: usize = 5000;
/// Length of a call's text that is compared to find the most similar recording, in bytes; the work
/// grows with its square.
const MAX_CLOSEST_HEAD_BYTES: usize = 256;
/// Recordings that are compared in detail with a call that none of them answers.
const MAX_CLOSEST_COMPARED: usize = 200;

/// Longest shown span of bytes that are not text.
const MAX_DIFFERENCE_BYTES: usize = 16;

/// Hint for differing secrets, or for a program that transforms a placeholder.
const STAND_IN_HINT: &str = "`redacted...` and `edac7...` stand for secrets, which differ from \
    the recorded ones: record again with the secrets of this run, or with `--keep-secrets` if the \
    program parses them";

/// Hint if more than values differs.
const RECORD_HINT: &str = "this call was not recorded: record the program again";

/// Recordings by common features. Built at the first miss.
pub(super) type Index = HashMap<IndexKey, Vec<usize>>;

#[derive(PartialEq, Eq, Hash)]
pub(super) enum IndexKey {
    Bare(Target, Key),
    Shape(Shape),
    Target(Target, Protocol),
    Protocol(Protocol),
}

/// Returns the index keys of a call, the closest first.
fn index_keys(question: &Question<'_>) -> [IndexKey; 4] {
    let (target, protocol) = (
        &question.exchange.target,
        question.exchange.content.protocol(),
    );
    [
        IndexKey::Bare(
            target.clone(),
            digest([question.parts.bare(&NoiseFields::default())]),
        ),
        IndexKey::Shape(Shape::of(question, target)),
        IndexKey::Target(target.clone(), protocol),
        IndexKey::Protocol(protocol),
    ]
}

impl Recordings {
    /// Returns the recording closest to a missed call; a known similar one takes precedence.
    pub(super) fn closest(
        &self,
        asked: &Question<'_>,
        unfound: &LookupMiss,
        done: &EffectDigests,
    ) -> Option<ClosestRecording> {
        let alike = unfound.alike.map(|index| vec![index]);
        let found = || {
            index_keys(asked)
                .iter()
                .find_map(|near| self.index().get(near))
        };
        let candidates = alike.as_ref().or_else(found)?;
        let noise = self.noise.at(asked, &asked.exchange.target);
        // Of many candidates, the most similar are compared in full.
        let said = words(asked.exchange);
        let likeness = |index: usize| {
            (strsim::jaro(&said, &words(self.entries[index].request())) * 1000.0) as i64
        };
        let looked_at = candidates.iter().copied().take(MAX_CLOSEST_LOOKED_AT);
        let mut ranked: Vec<(i64, usize)> =
            looked_at.map(|index| (-likeness(index), index)).collect();
        ranked.sort_unstable();
        ranked.truncate(MAX_CLOSEST_COMPARED);
        let compared = ranked.into_iter().map(|(rank, index)| {
            let entry = &self.entries[index];
            let mut compared = Comparison::of(entry, asked, &noise, &unfound.choosing);
            if compared.lines.is_empty() {
                compared.lines = state_differences(&entry.done, done);
            }
            let score = i64::try_from(compared.lines.len()).unwrap_or(i64::MAX) - compared.common;
            (
                (rank, score, entry.used.load(Ordering::Relaxed), index),
                &entry.name,
                compared,
            )
        });
        let (
            _,
            name,
            Comparison {
                lines: mut differences,
                values,
                ..
            },
        ) = compared.min_by_key(|(order, ..)| *order)?;
        if differences.len() > MAX_DIFFERENCES {
            let more = differences.len() - MAX_DIFFERENCES;
            differences.truncate(MAX_DIFFERENCES);
            differences.push(format!("and {more} more"));
        }
        differences.push(if differences.iter().any(|line| is_of_stand_in(line) || is_of_secrets(line)) {
            STAND_IN_HINT.to_owned()
        } else if let Some(names) = values.filter(|names| !names.is_empty() && names.len() <= MAX_DIFFERENCES) {
            let names = names.join(", ");
            format!(
                "only values differ. If the program was changed, record again. If they change in \
                 each run, add `noise: {{req: [{names}]}}` below `name: {name}`, or run `replay \
                 calls noise SET OTHER --write`"
            )
        } else {
            RECORD_HINT.to_owned()
        });
        Some(ClosestRecording {
            name: name.clone(),
            differences,
        })
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| {
            let mut index = Index::default();
            let calls = self
                .entries
                .iter()
                .enumerate()
                .filter(|(_, entry)| !entry.exchange.is_no_call());
            for (at, near) in calls.flat_map(|(at, entry)| {
                index_keys(&Question::of(entry.request())).map(|near| (at, near))
            }) {
                index.entry(near).or_default().push(at);
            }
            index
        })
    }
}

/// Returns the start of a call's description, for a quick comparison.
fn words(exchange: &Exchange) -> String {
    let mut line = match &exchange.content {
        Content::Http(http) | Content::Grpc(http) => {
            format!("{} {}", http.request.method, path_only(&http.request.path))
        }
        Content::Dns(dns) => dns.name.clone(),
        Content::Wire(protocol, wire) => words::client_text(*protocol, wire),
    };
    line.truncate(line.floor_char_boundary(MAX_CLOSEST_HEAD_BYTES));
    line
}

struct Comparison {
    lines: Vec<String>,
    /// Number of values with equal names, plus the number of equal ones among them.
    common: i64,
    /// Names of the differing values, if nothing else differs.
    values: Option<Vec<String>>,
}

impl Comparison {
    fn of(
        entry: &Entry,
        asked: &Question<'_>,
        noise: &NoiseFields,
        choosing: &BTreeSet<String>,
    ) -> Self {
        let (recorded, mut lines) = (entry.request(), Vec::new());
        if recorded.content.http().is_some() && !entry.named && recorded.tls != asked.exchange.tls {
            let word = |tls| if tls { "yes" } else { "no" };
            lines.push(format!(
                "encryption: recorded {}, asked {}",
                word(recorded.tls),
                word(asked.exchange.tls)
            ));
        }
        if recorded.target != asked.exchange.target && recorded.content.protocol() != Protocol::Dns
        {
            compare(
                "target",
                &recorded.target.to_string(),
                &asked.exchange.target.to_string(),
                &mut lines,
            );
        }
        let host = |exchange: &Exchange| {
            exchange
                .content
                .http()
                .map(|http| virtual_host(&http.request, &exchange.target))
                .unwrap_or_default()
        };
        compare("host", &host(recorded), &host(asked.exchange), &mut lines);
        let (ours, theirs) = (&Parts::of(recorded), &asked.parts);
        let mut common = 0;
        let is_same = lines.is_empty() && ours.bare(noise) == theirs.bare(noise);
        let values = is_same
            .then(|| declarable(ours, theirs, noise, choosing))
            .flatten();
        let of = |parts: &Parts, place: &str| -> Vec<Part> {
            parts
                .values(noise)
                .filter(|part| part.name.starts_with(place))
                .cloned()
                .collect()
        };
        match (&recorded.content, &asked.exchange.content) {
            (Content::Http(a) | Content::Grpc(a), Content::Http(b) | Content::Grpc(b)) => {
                let (a, b) = (&a.request, &b.request);
                compare("method", &a.method, &b.method, &mut lines);
                compare("path", path_only(&a.path), path_only(&b.path), &mut lines);
                common += fields(&of(ours, "query."), &of(theirs, "query."), &mut lines);
                if !a.body.is_empty() && !b.body.is_empty() {
                    compare("media type", &media_type(a), &media_type(b), &mut lines);
                }
                let before = lines.len();
                common += fields(&of(ours, "body"), &of(theirs, "body"), &mut lines);
                let is_body = |(part, why): (&Part, Option<&str>)| {
                    part.name.starts_with("body").then(|| {
                        if why.is_some() {
                            Vec::new()
                        } else {
                            part.bytes.clone()
                        }
                    })
                };
                let [body, other] =
                    [ours, theirs].map(|parts| parts.without(noise).filter_map(is_body));
                if lines.len() == before && body.ne(other) {
                    bytes("body", &a.body, &b.body, &mut lines);
                }
                let [head, other] = [ours, theirs].map(|parts| {
                    selecting_fields(parts, noise, choosing)
                        .cloned()
                        .collect::<Vec<_>>()
                });
                fields(&head, &other, &mut lines);
            }
            (Content::Dns(a), Content::Dns(b)) => {
                compare("name", &a.name, &b.name, &mut lines);
                compare("type", &a.kind, &b.kind, &mut lines);
            }
            (Content::Wire(protocol, a), Content::Wire(_, b)) => {
                let (ours, mut theirs) = (of(ours, ""), of(theirs, ""));
                if is_same && protocol.is_in_turns() {
                    // The place of a span depends on the length of texts before it.
                    for (one, other) in ours.iter().zip(&mut theirs) {
                        other.name.clone_from(&one.name);
                    }
                    common += fields(&ours, &theirs, &mut lines);
                } else {
                    compare_wires(*protocol, a, b, &mut lines);
                    common += fields(&ours, &theirs, &mut Vec::new());
                }
            }
            _ => {}
        }
        // Differences in secrets count only if nothing else differs.
        if !lines.iter().all(|line| is_of_secrets(line)) {
            lines.retain(|line| !is_of_secrets(line));
        }
        Self {
            lines,
            common,
            values,
        }
    }
}

fn selecting_fields<'a>(
    parts: &'a Parts,
    noise: &'a NoiseFields,
    choosing: &BTreeSet<String>,
) -> impl Iterator<Item = &'a Part> {
    parts.head(noise).filter(|field| chooses(field, choosing))
}

/// Returns the names of the differences between two calls that differ only in values and headers.
/// `None` if they may not be declared as noise.
fn declarable(
    ours: &Parts,
    theirs: &Parts,
    noise: &NoiseFields,
    choosing: &BTreeSet<String>,
) -> Option<Vec<String>> {
    let values: Vec<_> = ours
        .values(noise)
        .zip(theirs.values(noise))
        .filter(|(one, other)| (one.role, &one.bytes) != (other.role, &other.bytes))
        .collect();
    // Nothing would distinguish other calls from it.
    if ours.is_of_pieces() && values.len() == ours.values(noise).count() {
        return None;
    }
    // The arguments include names.
    let is_made = |part: &Part| part.text.contains(|letter: char| letter.is_ascii_digit());
    if ours.is_narrow
        && !values
            .iter()
            .all(|(one, other)| is_made(one) && is_made(other))
    {
        return None;
    }
    // Secrets are not recorded, so they cannot be declared as noise.
    let is_secret = |part: &Part| !places(part.text.as_bytes()).is_empty();
    let values = values
        .into_iter()
        .filter(|(one, other)| !is_secret(one) && !is_secret(other))
        .map(|(one, _)| one);
    let [recorded, asked] =
        [ours, theirs].map(|parts| selecting_fields(parts, noise, choosing).collect::<Vec<_>>());
    let differs = |fields: &[&Part], part: &&Part| !fields.contains(part);
    let fields = recorded
        .iter()
        .filter(|part| differs(&asked, part))
        .chain(asked.iter().filter(|part| differs(&recorded, part)));
    let mut names: Vec<String> = Vec::new();
    for part in values.chain(fields.copied()) {
        if !names.contains(&part.name) && names.len() <= MAX_DIFFERENCES {
            names.push(part.name.clone());
        }
    }
    Some(names)
}

/// Returns true if the two sides of a difference differ only in secrets.
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
    let sides = line
        .split_once(": recorded `")
        .and_then(|(_, rest)| rest.split_once("`, asked `"));
    sides.is_some_and(|(recorded, asked)| {
        without(recorded).is_some_and(|one| Some(one) == without(asked))
    })
}

/// Returns true if only one side of a difference has a placeholder of a token.
fn is_of_stand_in(line: &str) -> bool {
    let (recorded, asked) = line.split_once(", asked ").unwrap_or((line, ""));
    places(recorded.as_bytes()).is_empty() != places(asked.as_bytes()).is_empty()
}

/// Returns excerpts of two different texts; long ones start shortly before the first difference.
fn excerpts(recorded: &str, asked: &str) -> [String; 2] {
    let same = recorded
        .chars()
        .zip(asked.chars())
        .take_while(|(a, b)| a == b)
        .count();
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
        let [recorded, asked] = excerpts(recorded, asked);
        let value = |text: &str| {
            if text.is_empty() {
                "nothing".to_owned()
            } else {
                format!("`{text}`")
            }
        };
        lines.push(format!(
            "{name}: recorded {}, asked {}",
            value(&recorded),
            value(&asked)
        ));
    }
}

/// Adds the differences of values by name; values of one name are compared in order. Returns the
/// number of equal names, plus the number of equal values.
fn fields(recorded: &[Part], asked: &[Part], lines: &mut Vec<String>) -> i64 {
    let mut theirs: BTreeMap<&str, VecDeque<&Part>> = BTreeMap::new();
    for part in asked {
        theirs.entry(&part.name).or_default().push_back(part);
    }
    let mut common = 0;
    for part in recorded {
        let other = theirs
            .get_mut(part.name.as_str())
            .and_then(VecDeque::pop_front);
        common += other.map_or(0, |other| 1 + i64::from(part == other));
        // Further differences are only counted.
        if Some(part) == other || lines.len() > 2 * MAX_DIFFERENCES {
            continue;
        }
        let [one, other] = match other {
            Some(other) if part.role == other.role => {
                excerpts(&part.text, &other.text).map(|text| format_value(part.role, &text))
            }
            _ => [Some(part), other].map(|part| {
                part.map_or_else(String::new, |part| {
                    format_value(part.role, &short(&part.text))
                })
            }),
        };
        let other = if other.is_empty() {
            "not asked".to_owned()
        } else {
            format!("asked {other}")
        };
        lines.push(format!("{}: recorded {one}, {other}", part.name));
    }
    let mut left = |part: &&Part| {
        theirs
            .get_mut(part.name.as_str())
            .is_some_and(|left| left.pop_back().is_some())
    };
    let more: Vec<&Part> = asked
        .iter()
        .rev()
        .filter(&mut left)
        .take(2 * MAX_DIFFERENCES)
        .collect();
    let line = |part: &Part| {
        format!(
            "{}: asked {}, not recorded",
            part.name,
            format_value(part.role, &short(&part.text))
        )
    };
    lines.extend(more.into_iter().rev().map(line));
    common
}

/// Formats a value; values other than text have no backticks.
fn format_value(role: Role, text: &str) -> String {
    if role == Role::Word {
        text.to_owned()
    } else {
        format!("`{text}`")
    }
}

fn hex(bytes: &[u8]) -> String {
    let digits: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.join(" ")
}

fn bytes(name: &str, a: &[u8], b: &[u8], lines: &mut Vec<String>) {
    if a == b {
        return;
    }
    let at = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let is_text = [a, b].iter().all(|bytes| str::from_utf8(bytes).is_ok());
    let part = |bytes: &[u8]| {
        let (before, most) = if is_text {
            (MAX_DIFFERENCE_CHARS / 4, MAX_DIFFERENCE_CHARS)
        } else {
            (0, MAX_DIFFERENCE_BYTES)
        };
        let rest = bytes.get(at.saturating_sub(before)..).unwrap_or_default();
        let part = &rest[..rest.len().min(most)];
        let more = if part.len() < rest.len() { " ..." } else { "" };
        match part {
            [] => "nothing".to_owned(),
            _ if is_text => format!("`{}`", short(&String::from_utf8_lossy(part))),
            _ => format!("hex `{}{more}`", hex(part)),
        }
    };
    lines.push(format!(
        "{name}: recorded {} bytes, asked {}; from byte {at} on recorded {}, asked {}",
        a.len(),
        b.len(),
        part(a),
        part(b)
    ));
}

/// Describes the differences between two connection states, one per line.
fn state_differences(recorded: &EffectDigests, asked: &EffectDigests) -> Vec<String> {
    let shapes: BTreeSet<&String> = recorded.keys().chain(asked.keys()).collect();
    let told = |shape: &String| {
        let said = match (recorded.get(shape), asked.get(shape)) {
            (recorded, asked) if recorded == asked => return None,
            (None, _) => "made after it, recorded without it",
            (_, None) => "recorded after it, made without it",
            _ => "recorded after it with other values",
        };
        Some(format!("`{}`: {said}", short(shape)))
    };
    shapes.into_iter().filter_map(told).collect()
}

fn questions(protocol: Protocol, wire: &Wire) -> Vec<Message> {
    let mut wire = wire.clone();
    if protocol == Protocol::Postgres {
        postgres::unify(&mut wire.messages);
    }
    wire.messages
        .into_iter()
        .filter(|message| message.from == Side::Client)
        .collect()
}

fn compare_wires(protocol: Protocol, a: &Wire, b: &Wire, lines: &mut Vec<String>) {
    for ((name, recorded), (_, asked)) in a.meta.all_texts().iter().zip(&b.meta.all_texts()) {
        compare(name, recorded, asked, lines);
    }
    let (a, b) = (questions(protocol, a), questions(protocol, b));
    for (index, (one, other)) in a
        .iter()
        .zip(&b)
        .enumerate()
        .filter(|(_, (one, other))| one.bytes != other.bytes)
    {
        let number = index + 1;
        let (recorded, asked) = (
            words::text(protocol, &one.bytes),
            words::text(protocol, &other.bytes),
        );
        let is_binary = matches!(protocol, Protocol::Generic | Protocol::Framed(_))
            && [one, other]
                .iter()
                .any(|message| str::from_utf8(&message.bytes).is_err());
        if recorded == asked || is_binary {
            // The length field at the start says nothing.
            let head = if protocol == Protocol::Postgres { 5 } else { 0 };
            let [a, b] = [one, other].map(|message| message.bytes.get(head..).unwrap_or_default());
            let [a, b] = if a == b {
                [&one.bytes[..], &other.bytes[..]]
            } else {
                [a, b]
            };
            bytes(&format!("message {number}"), a, b, lines);
        } else {
            compare(&format!("message {number}"), &recorded, &asked, lines);
        }
    }
    if a.len() != b.len() {
        lines.push(format!("recorded {} messages, asked {}", a.len(), b.len()));
    }
}
