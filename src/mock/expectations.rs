//! Expectations about a client's calls, and the report on them.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Mutex;

use replay_mcp::schema::Validator;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;

use super::http_event::HttpEvent;
use super::observer::{SeenMessage, SessionObserver};
use super::problems::{FileProblem, LoadError, ProblemList, SourceText, nearest};
use super::schema;
use super::sync::lock;

/// Most messages that are remembered for a comparison with what is expected.
const MAX_MOCK_SEEN: usize = 1_000_000;

/// A file of expectations.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expectations {
    /// Messages that the client must send.
    pub expect: Vec<Expectation>,
    /// Require the first messages of the expectations in this order.
    #[serde(default)]
    pub in_order: bool,
    /// Fail on calls of tools that match no expectation.
    #[serde(default)]
    pub no_others: bool,
}

/// Expected messages. Without a count at least one is required.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// Name of the called tool.
    #[serde(default)]
    pub tool: Option<String>,
    /// Method, or several alternatives; tools/call if there is a `tool`.
    #[serde(default)]
    pub method: Option<Methods>,
    /// Pattern for the arguments of the tool or the parameters of the method, as `match` in a
    /// manifest.
    #[serde(default, rename = "match")]
    pub matches: Option<Value>,
    /// Exact number of messages.
    #[serde(default)]
    pub times: Option<u64>,
    /// Minimum number of messages.
    #[serde(default)]
    pub at_least: Option<u64>,
    /// Maximum number of messages.
    #[serde(default)]
    pub at_most: Option<u64>,
}

/// One method, or several.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Methods {
    One(String),
    Any(Vec<String>),
}

impl Methods {
    fn names(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Any(names) => names,
        }
    }
}

impl JsonSchema for Methods {
    fn schema_name() -> Cow<'static, str> {
        "Methods".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "array"], "items": {"type": "string"}, "minItems": 1})
    }
}

/// Compares a client's messages with the expectations.
pub struct ExpectationVerifier {
    expected: Vec<(Expectation, Option<Validator>)>,
    in_order: bool,
    no_others: bool,
    seen: Mutex<Vec<SeenCall>>,
}

#[derive(Clone, Debug)]
struct SeenCall {
    number: u64,
    method: String,
    tool: Option<String>,
    arguments: Value,
}

impl ExpectationVerifier {
    /// Compiles a file of expectations. Fails if a `match` is invalid, or an expectation is
    /// incomplete.
    pub fn new(from: &Expectations, source: &SourceText) -> Result<Self, LoadError> {
        let mut faults = ProblemList::new(source);
        let mut expected = Vec::new();
        for (index, expectation) in from.expect.iter().enumerate() {
            let pointer = format!("/expect/{index}");
            if expectation.tool.is_none() && expectation.method.is_none() {
                faults.add(
                    &pointer,
                    "an expectation must have either a `tool` or a `method`",
                );
            }
            let methods = expectation.method.iter().flat_map(Methods::names);
            for method in methods {
                if method.starts_with("http/") && !HttpEvent::METHODS.contains(&&**method) {
                    let valid = HttpEvent::METHODS.join(", ");
                    let message = format!("`{method}` is no event of HTTP; valid: {valid}");
                    faults.add(&format!("{pointer}/method"), message);
                } else if expectation.tool.is_some() && method != "tools/call" {
                    let message = format!("`tool` goes with tools/call, not with {method}");
                    faults.add(&format!("{pointer}/tool"), message);
                }
            }
            if expectation.times.is_some()
                && (expectation.at_least.is_some() || expectation.at_most.is_some())
            {
                faults.add(
                    &pointer,
                    "an expectation must have either `times`, or `at_least` and `at_most`",
                );
            }
            if let (Some(least), Some(most)) = (expectation.at_least, expectation.at_most)
                && least > most
            {
                let message =
                    format!("`at_most` is {most}, less than `at_least`, which is {least}");
                faults.add(&pointer, message);
            }
            let matches = expectation.matches.as_ref().and_then(|pattern| {
                let compiled = Validator::new(&schema::match_schema(pattern));
                compiled
                    .map_err(|reason| {
                        faults.add(&pointer, format!("`match` is invalid: {reason}"));
                    })
                    .ok()
            });
            expected.push((expectation.clone(), matches));
        }
        if !faults.problems.is_empty() {
            return Err(source.error(faults.problems));
        }
        Ok(Self {
            expected,
            in_order: from.in_order,
            no_others: from.no_others,
            seen: Mutex::default(),
        })
    }

    /// Returns a warning for each expected tool that the server does not have.
    pub fn unknown_tools(&self, source: &SourceText, served: &[&str]) -> Vec<FileProblem> {
        let tools = self.expected.iter().enumerate();
        let tools = tools
            .filter_map(|(index, (expectation, _))| Some((index, expectation.tool.as_deref()?)));
        let unknown = tools
            .filter(|(_, tool)| !served.contains(tool))
            .map(|(index, tool)| {
                let near = nearest(tool, served.iter().copied());
                source.problem(
                    &format!("/expect/{index}/tool"),
                    format!("the manifest has no tool `{tool}`{near}"),
                )
            });
        unknown.collect()
    }

    /// Returns the report, one line per expectation, and true if all expectations are met.
    pub fn verdict(&self) -> (String, bool) {
        let mut seen = lock(&self.seen).clone();
        seen.sort_by_key(|call| call.number);
        let mut report = String::new();
        let mut good = true;
        let mut last = 0;
        for (expectation, matches) in &self.expected {
            let fitting: Vec<&SeenCall> = seen
                .iter()
                .filter(|call| fits(expectation, matches.as_ref(), call))
                .collect();
            let count = fitting.len() as u64;
            let (least, most) = bounds(expectation);
            let what = describe(expectation);
            let wanted = match (least, most) {
                (least, Some(most)) if least == most => times(least),
                (least, Some(most)) => format!("{least} to {}", times(most)),
                (least, None) => format!("at least {}", times(least)),
            };
            // Writing to a String cannot fail.
            if count < least {
                good = false;
                let _ = writeln!(
                    report,
                    "missing: {what}: expected {wanted}, got {}",
                    times(count)
                );
                let _ = report.write_str(&Self::nearest(expectation, matches.as_ref(), &seen));
            } else if most.is_some_and(|most| count > most) {
                good = false;
                let numbers: Vec<String> =
                    fitting.iter().map(|call| call.number.to_string()).collect();
                let _ = writeln!(
                    report,
                    "too many: {what}: expected {wanted}, got {} (messages {})",
                    times(count),
                    numbers.join(", ")
                );
            } else if let (true, Some(first)) = (self.in_order, fitting.first())
                && !fitting.iter().any(|call| call.number > last)
            {
                good = false;
                let _ = writeln!(
                    report,
                    "out of order: {what}: came as message {}, expected after message {last}",
                    first.number
                );
            } else {
                let _ = writeln!(report, "good: {what}: got {}", times(count));
            }
            if let Some(call) = fitting.iter().find(|call| call.number > last) {
                last = call.number;
            }
        }
        if self.no_others {
            let others = seen.iter().filter(|call| {
                let expected = |(expectation, matches): &(Expectation, Option<Validator>)| {
                    fits(expectation, matches.as_ref(), call)
                };
                call.tool.is_some() && !self.expected.iter().any(expected)
            });
            for call in others {
                good = false;
                let tool = call.tool.as_deref().unwrap_or_default();
                let _ = writeln!(
                    report,
                    "not expected: {tool} with {} (message {})",
                    call.arguments, call.number
                );
            }
        }
        let _ = writeln!(
            report,
            "{}",
            if good {
                "all expectations are met"
            } else {
                "expectations are not met"
            }
        );
        (report, good)
    }

    /// Explains why calls of the same tool or method do not match.
    fn nearest(
        expectation: &Expectation,
        matches: Option<&Validator>,
        seen: &[SeenCall],
    ) -> String {
        const SHOWN: usize = 3;
        let mut text = String::new();
        let Some(matches) = matches else { return text };
        let same = seen
            .iter()
            .filter(|call| fits(expectation, None, call) && !matches.is_valid(&call.arguments));
        for call in same.take(SHOWN) {
            for error in matches.faults(&call.arguments, SHOWN) {
                let reason = schema::describe(&error, "arguments");
                let _ = writeln!(text, "  message {} does not match: {reason}", call.number);
            }
        }
        text
    }
}

impl SessionObserver for ExpectationVerifier {
    fn came(&self, seen: &SeenMessage) {
        let is_call = seen.method == "tools/call";
        let call = SeenCall {
            number: seen.number,
            method: seen.method.clone(),
            tool: is_call.then(|| seen.params["name"].as_str().unwrap_or_default().to_owned()),
            arguments: match (is_call, &seen.params["arguments"]) {
                (true, Value::Null) => serde_json::json!({}),
                (true, arguments) => arguments.clone(),
                (false, _) => seen.params.clone(),
            },
        };
        let mut calls = lock(&self.seen);
        if calls.len() < MAX_MOCK_SEEN {
            calls.push(call);
        }
    }
}

fn fits(expectation: &Expectation, matches: Option<&Validator>, call: &SeenCall) -> bool {
    let methods = expectation.method.as_ref().map(Methods::names);
    methods.map_or(call.method == "tools/call", |names| {
        names.contains(&call.method)
    }) && expectation
        .tool
        .as_ref()
        .is_none_or(|tool| call.tool.as_ref() == Some(tool))
        && matches.is_none_or(|matches| matches.is_valid(&call.arguments))
}

fn bounds(expectation: &Expectation) -> (u64, Option<u64>) {
    match (expectation.times, expectation.at_least, expectation.at_most) {
        (Some(times), ..) => (times, Some(times)),
        (None, None, Some(most)) => (0, Some(most)),
        (None, least, most) => (least.unwrap_or(1), most),
    }
}

fn describe(expectation: &Expectation) -> String {
    let methods = || {
        expectation
            .method
            .as_ref()
            .map(|methods| methods.names().join(" or "))
    };
    let what = expectation
        .tool
        .clone()
        .or_else(methods)
        .unwrap_or_default();
    match &expectation.matches {
        Some(pattern) => format!("{what} with {pattern}"),
        None => what,
    }
}

fn times(count: u64) -> String {
    if count == 1 {
        "once".to_owned()
    } else {
        format!("{count} times")
    }
}
