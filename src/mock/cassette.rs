//! Recorded exchanges, one JSON line each, looked up by method and parameters.

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex};

use replay_mcp::protocol::fault;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::difference::Difference;
use super::observer::{SeenMessage, SessionObserver};
use super::problems::{FileProblem, LoadError};
use super::redact::Redactor;
use super::schema::shorten;
use super::sequence::arguments;
use super::sink::Sink;
use super::sync::lock;
use super::yaml::TextPlace;

/// First line of a cassette.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct CassetteHeader {
    /// Version of the format.
    cassette: u64,
    /// Names and patterns of the redactions. Lookups redact the request in the same way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    redact: Vec<(String, String)>,
    /// Comparison of requests, if the command line names none.
    #[serde(default, rename = "match", skip_serializing_if = "Option::is_none")]
    matching: Option<CassetteMatch>,
}

/// Comparison of a request with the recorded ones.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum CassetteMatch {
    /// Method and parameters without `_meta`. Equal requests get their answers in turn, and then
    /// the last one.
    #[default]
    Hash,
    /// Method and parameters; of a call only its tool and arguments. Equal requests get the first
    /// answer.
    Params,
    /// Method. Its answers come in turn; after the last one, a request that was recorded gets its
    /// answer again.
    Order,
}

#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
pub struct CassetteEntry {
    pub method: String,
    /// The parameters without `_meta`.
    #[serde(default)]
    pub params: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
    /// Messages from the server between the request and its answer: notifications, and requests
    /// with the client's `answer`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<Value>,
    /// Duration in milliseconds.
    #[serde(default)]
    pub ms: f64,
}

impl CassetteEntry {
    /// Returns true if the client must answer a request first.
    pub fn asks(&self) -> bool {
        self.before
            .iter()
            .any(|message| message.get("answer").is_some())
    }
}

/// All recorded exchanges, in order for each key.
#[derive(Debug, Default)]
pub struct Cassette {
    entries: Vec<Arc<CassetteEntry>>,
    by_key: HashMap<String, (Vec<usize>, usize)>,
    matching: CassetteMatch,
    /// Names and patterns of the redactions during the recording.
    pub redacted: Vec<(String, String)>,
}

impl Cassette {
    /// Parses a cassette. `matching` overrides that of its header. An incomplete last line is
    /// skipped with a warning. Fails, with the line, if the file is not a cassette.
    pub fn read(
        file: &str,
        bytes: &[u8],
        matching: Option<CassetteMatch>,
    ) -> Result<Self, LoadError> {
        let problem = |line: usize, message: String| LoadError {
            file: file.to_owned(),
            problems: vec![FileProblem {
                place: Some(TextPlace {
                    line: line as u64 + 1,
                    column: 1,
                }),
                path: String::new(),
                message,
            }],
        };
        let mut cassette = Self {
            matching: matching.unwrap_or_default(),
            ..Self::default()
        };
        for (number, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let whole = line.ends_with(b"\n");
            let line = line.trim_ascii();
            if line.is_empty() {
                continue;
            }
            if number == 0
                && let Ok(Value::Object(members)) = serde_json::from_slice(line)
                && members.contains_key("cassette")
            {
                let header: CassetteHeader =
                    serde_json::from_value(members.into()).map_err(|error| {
                        problem(number, format!("the header is invalid: {}", fault(&error)))
                    })?;
                if header.cassette != 1 {
                    let message = format!(
                        "the cassette has format {}; this program reads format 1",
                        header.cassette
                    );
                    return Err(problem(number, message));
                }
                cassette.redacted = header.redact;
                cassette.matching = matching.or(header.matching).unwrap_or_default();
                continue;
            }
            if number == 0 && line.starts_with(b"mock_server:") {
                return Err(problem(
                    number,
                    "the file is a manifest; serve it with --tools-from".to_owned(),
                ));
            }
            let read = serde_json::from_slice::<CassetteEntry>(line);
            if read.is_err() && number > 0 && !whole {
                tracing::warn!(
                    "{file}:{}: the last exchange is incomplete and is left out",
                    number + 1
                );
                break;
            }
            let entry = read.map_err(|error| {
                problem(
                    number,
                    format!("the line is not a recorded exchange: {}", fault(&error)),
                )
            })?;
            if entry.result.is_some() == entry.error.is_some() {
                return Err(problem(
                    number,
                    "an exchange must have either a `result` or an `error`".to_owned(),
                ));
            }
            cassette.add(entry);
        }
        if cassette.entries.is_empty() {
            return Err(problem(
                0,
                "the cassette has no exchange; record one with --target and \
                --cassette"
                    .to_owned(),
            ));
        }
        Ok(cassette)
    }

    /// Returns the length of a cassette without an incomplete last line.
    pub fn whole_bytes(bytes: &[u8]) -> usize {
        let last = bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |newline| newline + 1);
        if serde_json::from_slice::<CassetteEntry>(&bytes[last..]).is_ok() {
            bytes.len()
        } else {
            last
        }
    }

    /// Appends an exchange.
    pub fn add(&mut self, entry: CassetteEntry) {
        let key = key(self.matching, &entry.method, &entry.params);
        self.by_key
            .entry(key)
            .or_default()
            .0
            .push(self.entries.len());
        self.entries.push(Arc::new(entry));
    }

    /// Returns the next exchange for a request.
    pub fn next(&mut self, method: &str, params: &Value) -> Option<Arc<CassetteEntry>> {
        let (indices, used) = self.by_key.get_mut(&key(self.matching, method, params))?;
        let count = *used;
        *used += 1;
        let index = match self.matching {
            CassetteMatch::Hash => indices[count.min(indices.len() - 1)],
            CassetteMatch::Params => indices[0],
            CassetteMatch::Order if count < indices.len() => indices[count],
            CassetteMatch::Order => {
                let hash = |params| key(CassetteMatch::Hash, method, params);
                let asked = hash(params);
                let mut equal = indices.iter().rev();
                *equal.find(|index| hash(&self.entries[**index].params) == asked)?
            }
        };
        self.entries.get(index).cloned()
    }

    /// Describes why there is no exchange for a request, by the most similar one.
    pub fn explain_miss(&self, method: &str, params: &Value) -> String {
        let of_method = || self.entries.iter().filter(|entry| entry.method == method);
        let recorded = of_method().count();
        let Some((_, differences)) = of_method()
            .map(|entry| {
                let differences = Difference::all(params, &without_meta(&entry.params));
                let is_other = params["name"] != entry.params["name"];
                ((is_other, differences.len()), differences)
            })
            .min_by_key(|(distance, _)| *distance)
        else {
            let mut methods: Vec<&str> = self.entries.iter().map(|entry| &*entry.method).collect();
            methods.sort_unstable();
            methods.dedup();
            return format!(
                "the cassette has no exchange for {method}, only for {}; add it with --on-miss record \
                 --target CMD",
                methods.join(", ")
            );
        };
        if self.matching == CassetteMatch::Order {
            return format!(
                "the cassette has no exchange of {method} left: all {recorded} are used; add it \
                 with --on-miss record --target CMD"
            );
        }
        format!(
            "the cassette has no exchange for {method} with {}; the most similar one differs at {}; \
             add it with --on-miss record --target CMD, or take the answers in their order with \
             --match order",
            shorten(&params.to_string()),
            Difference::list(&differences)
        )
    }

    /// Returns all exchanges in the order of the file.
    pub fn entries(&self) -> &[Arc<CassetteEntry>] {
        &self.entries
    }
}

/// Lookup key of a request. `initialize` and `server/discover` are matched by method alone, since
/// clients describe themselves differently.
fn key(matching: CassetteMatch, method: &str, params: &Value) -> String {
    let params = match (matching, method) {
        (_, "initialize" | "server/discover") | (CassetteMatch::Order, _) => {
            return method.to_owned();
        }
        (CassetteMatch::Params, "tools/call") => {
            json!([params["name"], arguments(params, &json!({}))])
        }
        _ => without_meta(params),
    };
    format!("{method} {}", canonical(&params))
}

/// Returns the parameters without `_meta`.
pub(crate) fn without_meta(params: &Value) -> Value {
    match params {
        Value::Object(members) => {
            let mut members = members.clone();
            members.shift_remove("_meta");
            Value::Object(members)
        }
        Value::Null => json!({}),
        other => other.clone(),
    }
}

/// Returns the same value with sorted keys.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(canonical).collect(),
        Value::Object(members) => {
            let mut sorted: Vec<(&String, &Value)> = members.iter().collect();
            sorted.sort_by_key(|(key, _)| *key);
            Value::Object(
                sorted
                    .into_iter()
                    .map(|(key, value)| (key.clone(), canonical(value)))
                    .collect::<Map<_, _>>(),
            )
        }
        other => other.clone(),
    }
}

/// Writes exchanges as they arrive.
pub struct CassetteRecorder {
    sink: Sink,
    redactor: Redactor,
    /// The first line, until it is written.
    header: Mutex<Option<CassetteHeader>>,
}

impl CassetteRecorder {
    /// Creates a recorder. The header is written with the first exchange. `sink` should not buffer.
    pub fn new(sink: Box<dyn Write + Send>, redactor: Redactor) -> Self {
        let header = CassetteHeader {
            cassette: 1,
            redact: redactor.patterns(),
            matching: None,
        };
        Self {
            header: Mutex::new(Some(header)),
            ..Self::behind(sink, redactor)
        }
    }

    /// Creates a recorder that appends to an existing cassette.
    pub fn behind(sink: Box<dyn Write + Send>, redactor: Redactor) -> Self {
        Self {
            sink: Sink::new("the cassette", sink),
            redactor,
            header: Mutex::default(),
        }
    }

    /// Writes one exchange, with its secrets redacted.
    pub fn record(&self, entry: &CassetteEntry) {
        let hide = |value: &Value| self.redactor.redact(value);
        let entry = CassetteEntry {
            method: entry.method.clone(),
            params: hide(&without_meta(&entry.params)),
            result: entry.result.as_ref().map(hide),
            error: entry.error.as_ref().map(hide),
            before: entry.before.iter().map(hide).collect(),
            ms: entry.ms,
        };
        let mut header = lock(&self.header);
        if let Some(header) = header.take() {
            self.sink.write(&header);
        }
        drop(header);
        self.sink.write(&entry);
    }
}

impl SessionObserver for CassetteRecorder {
    fn wants_messages(&self) -> bool {
        true
    }

    fn answered(&self, seen: &SeenMessage) {
        let Some(reply) = &seen.reply else { return };
        let (result, error) = (reply.get("result").cloned(), reply.get("error").cloned());
        if seen.id.is_none() || result.is_some() == error.is_some() {
            return;
        }
        let ms = seen.time.as_micros() as f64 / 1000.0;
        let (method, params, before) = (
            seen.method.clone(),
            seen.params.clone(),
            seen.before.clone(),
        );
        self.record(&CassetteEntry {
            method,
            params,
            result,
            error,
            before,
            ms,
        });
    }
}
