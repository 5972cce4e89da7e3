//! Jest, by `--json` (best with `--testLocationInResults`); Vitest's JSON reporter speaks the same.

use serde::Deserialize;
use serde_json::Value;

use super::collect::{Collector, joined, milliseconds};
use super::lines::document;
use super::{Parsed, Sources, stack};
use crate::cancel::Bound;
use crate::testrun::model::{Case, Phase, State, TestError};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    #[serde(default)]
    name: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    assertion_results: Vec<Assertion>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Assertion {
    #[serde(default)]
    ancestor_titles: Vec<String>,
    #[serde(default)]
    title: String,
    #[serde(default)]
    status: String,
    duration: Option<f64>,
    invocations: Option<u64>,
    location: Option<Location>,
    #[serde(default)]
    failure_messages: Vec<String>,
    #[serde(default)]
    failure_details: Vec<Value>,
}

#[derive(Deserialize)]
struct Location {
    line: Option<u32>,
    column: Option<u32>,
}

/// Reads the document; one that is cut off gives the files before the cut.
pub fn parse(sources: &Sources<'_>, bound: Bound<'_>) -> Parsed {
    let mut collector = Collector::new(sources.root);
    let mut passed = None;
    let mut begun = false;
    let ended = document::<File>(
        sources.report,
        "testResults",
        bound,
        |file| add(&mut collector, &file),
        |key, value| {
            begun |= key == "numTotalTests";
            if key == "success" {
                passed = Some(value == "true");
            }
        },
    );
    collector.parsed.begun = begun || collector.parsed.summary.total > 0;
    collector.parsed.ended = ended;
    collector.parsed.passed = passed;
    collector.parsed
}

fn add(collector: &mut Collector<'_>, file: &File) {
    if file.assertion_results.is_empty() && file.status == "failed" {
        file_error(collector, file);
    }
    let path = collector.path(&file.name);
    for test in &file.assertion_results {
        let state = match test.status.as_str() {
            "passed" => State::Passed,
            "failed" if test.failure_messages.iter().any(|text| text.contains("Exceeded timeout of ")) => {
                State::TimedOut
            }
            "failed" => State::Failed,
            "todo" => State::Todo,
            "pending" | "skipped" | "disabled" => State::Skipped,
            _ => State::NotRun,
        };
        let titles = test.ancestor_titles.iter().map(String::as_str);
        let id = joined([path.as_str()].into_iter().chain(titles).chain([test.title.as_str()]));
        let mut case = Case::new(collector.name(&id), collector.name(&test.title), state);
        case.file = Some(path.clone());
        case.line = test.location.as_ref().and_then(|location| location.line);
        case.column = test.location.as_ref().and_then(|location| location.column);
        case.suite = collector.suite(&test.ancestor_titles);
        case.duration_ms = test.duration.and_then(milliseconds);
        case.retries = test.invocations.unwrap_or(1).saturating_sub(1);
        if state.is_failure() {
            let details = test.failure_details.iter().map(Some).chain(std::iter::repeat(None));
            let told = test.failure_messages.iter().zip(details).take(crate::limits::MAX_TEST_ERRORS);
            case.errors = told.map(|(text, detail)| error(collector, text, detail)).collect();
        }
        collector.add(case);
    }
}

/// The text is a stack; values stand in `failureDetails[].matcherResult`.
fn error(collector: &mut Collector<'_>, text: &str, detail: Option<&Value>) -> TestError {
    let (text, frames) = stack::of_v8(text);
    let (class, message) = classified(text);
    let values = detail.and_then(|detail| detail.get("matcherResult"));
    let value = |key: &str| values.and_then(|values| values.get(key)).map(shown);
    let (expected, actual) = (value("expected"), value("actual"));
    // Values that are told apart from the message need not stand in it, nor does the difference.
    let (message, diff) = match (message.split_once("\n\n- Expected"), message.split_once("\n\nExpected:")) {
        (Some((message, diff)), _) => (message, Some(format!("- Expected{diff}"))),
        (None, Some((message, _))) if expected.is_some() && actual.is_some() => (message, None),
        _ => (message, None),
    };
    let mut error = collector.error(class, message);
    error.expected = expected.map(|text| collector.text(&text));
    error.actual = actual.map(|text| collector.text(&text));
    error.diff = diff.map(|text| collector.text(&text));
    error.stack = collector.stack(frames);
    error
}

/// `TypeError: message` taken apart.
fn classified(text: &str) -> (Option<&str>, &str) {
    let class = text.split_once(": ").filter(|(class, _)| {
        class.chars().all(|next| next.is_ascii_alphanumeric() || matches!(next, '_' | '.'))
            && class.starts_with(|next: char| next.is_ascii_uppercase())
    });
    class.map_or((None, text), |(class, message)| (Some(class), message))
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A file that did not run: its message is a block with a bullet, the code around the place, and a stack.
fn file_error(collector: &mut Collector<'_>, file: &File) {
    let (text, _) = super::clean::head(&file.message, crate::limits::MAX_TEST_TEXT_BYTES * 4);
    let body =
        text.trim_start().strip_prefix('●').map_or(text.as_str(), |rest| rest.split_once('\n').map_or("", |two| two.1));
    let own = |text: &str| -> String {
        let lines = text.lines().map(|line| line.strip_prefix("    ").unwrap_or(line));
        lines.take_while(|line| !line.trim_start().starts_with("at ")).collect::<Vec<_>>().join("\n").trim().to_owned()
    };
    // Files that cannot be parsed get a page of advice first.
    let message = match body.split_once("\n    Details:\n") {
        Some((head, details)) => {
            let first = head.trim().lines().next().unwrap_or_default();
            format!("{first}\n{}", own(details))
        }
        None => own(body),
    };
    let base = file.name.rsplit('/').next().unwrap_or_default();
    // Babel writes the place as `(1:27)`.
    let babel = || {
        let (_, rest) = text.split_once(base)?;
        let (place, _) = rest[rest.find('(')? + 1..].split_once(')')?;
        let (line, column) = place.split_once(':')?;
        Some((line.parse().ok()?, column.parse::<u32>().ok()?.checked_add(1)))
    };
    let (line, column) = stack::place_in(&text, base).or_else(babel).unzip();
    collector.file_error(&file.name, Phase::Collect, &message, line, column.flatten());
}
