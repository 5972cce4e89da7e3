//! trx, the report of `dotnet test --logger trx` and of Visual Studio
//! (<https://learn.microsoft.com/dotnet/core/testing/unit-testing-with-dotnet-test>).

use std::collections::HashMap;

use replay_base::cancel::Bound;

use super::collector::{ResultCollector, join_id, millis};
use super::xml::{self, XmlPart, XmlTag};
use crate::model::{Case, Frame, State};

/// A result, which may have rows of a data-driven test.
#[derive(Default)]
struct TrxResult {
    id: String,
    name: String,
    outcome: String,
    duration: String,
    message: String,
    stack_trace: String,
    stdout: String,
    stderr: String,
    has_rows: bool,
}

/// Reader of a document.
#[derive(Default)]
struct TrxReader {
    results: Vec<TrxResult>,
    /// Results that have not ended, outermost first.
    open: Vec<TrxResult>,
    /// Classes by the ids of tests.
    classes: HashMap<String, String>,
    /// Id of the last test.
    test: String,
    /// Text since the last tag.
    text: String,
    /// `true` inside the description of an error.
    is_in_error: bool,
    /// Outcome of the run.
    outcome: Option<String>,
    /// Outcome and text of each message on the run.
    infos: Vec<(String, String)>,
}

impl TrxReader {
    fn start(&mut self, tag: &XmlTag<'_>) {
        match tag.name() {
            "UnitTestResult" => {
                self.open
                    .last_mut()
                    .into_iter()
                    .for_each(|result| result.has_rows = true);
                self.open.push(TrxResult {
                    id: tag.attribute("testId"),
                    name: tag.attribute("testName"),
                    outcome: tag.attribute("outcome"),
                    duration: tag.attribute("duration"),
                    ..TrxResult::default()
                });
            }
            "ErrorInfo" => self.is_in_error = true,
            "UnitTest" => self.test = tag.attribute("id"),
            "TestMethod" => {
                self.classes
                    .insert(self.test.clone(), tag.attribute("className"));
            }
            "ResultSummary" => self.outcome = Some(tag.attribute("outcome")),
            "RunInfo" => self.infos.push((tag.attribute("outcome"), String::new())),
            _ => {}
        }
        self.text.clear();
    }

    fn end(&mut self, name: &str) {
        let text = std::mem::take(&mut self.text);
        match (name, self.open.last_mut()) {
            ("UnitTestResult", Some(_)) => {
                self.results
                    .extend(self.open.pop().filter(|result| !result.has_rows));
            }
            ("ErrorInfo", _) => self.is_in_error = false,
            ("Message", Some(result)) if self.is_in_error => result.message = text,
            ("StackTrace", Some(result)) => result.stack_trace = text,
            ("StdOut", Some(result)) => result.stdout = text,
            ("StdErr", Some(result)) => result.stderr = text,
            ("Text", _) => self
                .infos
                .last_mut()
                .into_iter()
                .for_each(|info| info.1.clone_from(&text)),
            _ => {}
        }
    }
}

/// Returns true for a document with the root element of trx.
pub(crate) fn is_trx(document: &[u8]) -> bool {
    let head = &document[..document.len().min(1024)];
    memchr::memmem::find(head, b"<TestRun").is_some()
}

/// Reads a document. Returns true if it has begun, and true if it is complete.
pub(crate) fn collect(
    document: &[u8],
    bound: Bound<'_>,
    collector: &mut ResultCollector<'_>,
) -> (bool, bool) {
    let mut reader = TrxReader::default();
    let open = xml::read(document, bound, |part| match part {
        XmlPart::Start(tag) => reader.start(tag),
        XmlPart::End(name) => reader.end(name),
        XmlPart::Text(text) => reader.text.push_str(text),
    });
    for result in &reader.results {
        let class = reader.classes.get(&result.id).map_or("", String::as_str);
        add(collector, result, class);
    }
    for (outcome, text) in &reader.infos {
        if outcome != "Warning" && !text.is_empty() {
            collector.run_error(Some(outcome), text, Vec::new());
        }
    }
    // The outcome is `Completed`, or `Failed` for any failure.
    if reader
        .outcome
        .as_deref()
        .is_some_and(|outcome| parse_outcome(outcome).is_failure())
    {
        collector.results.passed = Some(false);
    }
    (true, open == Some(0) && reader.outcome.is_some())
}

fn add(collector: &mut ResultCollector<'_>, result: &TrxResult, class: &str) {
    // Some writers add the assembly: `Shop.Tests, Shop`.
    let class = class.split(',').next().unwrap_or(class);
    // xUnit.net puts the class into the name as well.
    let rest = result.name.strip_prefix(class);
    let name = rest
        .and_then(|rest| rest.strip_prefix('.'))
        .unwrap_or(&result.name);
    let state = parse_outcome(&result.outcome);
    let id = collector.name(&join_id([class, name]));
    let mut case = Case::new(id, collector.name(name), state);
    if !class.is_empty() {
        case.suite = collector.suite(&[class]);
    }
    case.duration_ms = seconds(&result.duration).and_then(millis);
    if state.is_failure() {
        let mut error = collector.error(None, result.message.trim());
        error.stack = collector.stack(result.stack_trace.lines().filter_map(frame).collect());
        if let Some(place) = error.stack.first().filter(|frame| frame.line.is_some()) {
            (case.file, case.line) = (Some(place.file.clone()), place.line);
        }
        case.errors.push(error);
        case.stdout = collector.output(&result.stdout);
        case.stderr = collector.output(&result.stderr);
    }
    collector.add(case);
}

/// Parses a value of the schema's `TestOutcome`.
fn parse_outcome(outcome: &str) -> State {
    match outcome {
        "Passed" | "Completed" | "Warning" | "PassedButRunAborted" => State::Passed,
        "NotExecuted" | "NotRunnable" | "Inconclusive" | "Pending" | "Disconnected" => {
            State::Skipped
        }
        "Timeout" => State::TimedOut,
        "Aborted" => State::Crashed,
        "Error" => State::Errored,
        _ => State::Failed,
    }
}

/// Parses `00:00:01.2345678`.
fn seconds(duration: &str) -> Option<f64> {
    let parts = duration.split(':').map(|part| part.parse::<f64>().ok());
    parts.reduce(|sum, part| Some(sum? * 60.0 + part?))?
}

/// Parses `at Shop.Tests.Adds() in /src/Tests.cs:line 12`.
fn frame(line: &str) -> Option<Frame> {
    let (function, place) = line.trim().strip_prefix("at ")?.split_once(" in ")?;
    let (file, line) = place.rsplit_once(":line ")?;
    Some(Frame {
        function: Some(function.to_owned()),
        ..Frame::at(file, line.parse().ok())
    })
}
