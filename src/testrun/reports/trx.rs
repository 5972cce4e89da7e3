//! trx, the report of `dotnet test --logger trx` and of Visual Studio
//! (<https://learn.microsoft.com/dotnet/core/testing/unit-testing-with-dotnet-test>).

use std::collections::HashMap;

use quick_xml::Reader;
use quick_xml::de::from_str;
use quick_xml::events::Event;
use serde::Deserialize;

use super::collector::{ResultCollector, join_id, millis};
use crate::model::{Case, Frame, State};

/// Most nested elements: rows in rows of data-driven tests are read by recursion.
const MAX_DEPTH: usize = 64;

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct TestRun {
    results: ResultList,
    test_definitions: DefinitionList,
    result_summary: Option<ResultSummary>,
}

#[derive(Default, Deserialize)]
struct ResultList {
    #[serde(rename = "$value", default)]
    list: Vec<ResultElement>,
}

#[derive(Deserialize)]
enum ResultElement {
    UnitTestResult(Box<UnitTestResult>),
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct UnitTestResult {
    #[serde(rename = "@testId", default)]
    id: String,
    #[serde(rename = "@testName", default)]
    name: String,
    #[serde(rename = "@outcome", default)]
    outcome: String,
    #[serde(rename = "@duration", default)]
    duration: String,
    #[serde(rename = "Output")]
    output: Option<Output>,
    /// Rows of a data-driven test.
    #[serde(rename = "InnerResults")]
    inner: Option<ResultList>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Output {
    std_out: String,
    std_err: String,
    error_info: ErrorInfo,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct ErrorInfo {
    message: String,
    stack_trace: String,
}

#[derive(Default, Deserialize)]
struct DefinitionList {
    #[serde(rename = "$value", default)]
    list: Vec<DefinitionElement>,
}

#[derive(Deserialize)]
enum DefinitionElement {
    UnitTest(UnitTest),
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct UnitTest {
    #[serde(rename = "@id", default)]
    id: String,
    #[serde(rename = "TestMethod")]
    method: Option<TestMethod>,
}

#[derive(Deserialize)]
struct TestMethod {
    #[serde(rename = "@className", default)]
    class: String,
}

#[derive(Deserialize)]
struct ResultSummary {
    #[serde(rename = "@outcome", default)]
    outcome: String,
    #[serde(rename = "RunInfos", default)]
    infos: RunInfos,
}

#[derive(Default, Deserialize)]
struct RunInfos {
    #[serde(rename = "RunInfo", default)]
    list: Vec<RunInfo>,
}

#[derive(Deserialize)]
struct RunInfo {
    #[serde(rename = "@outcome", default)]
    outcome: String,
    #[serde(rename = "Text", default)]
    text: String,
}

/// Returns true for a document with the root element of trx.
pub(crate) fn is_trx(document: &[u8]) -> bool {
    let head = &document[..document.len().min(1024)];
    memchr::memmem::find(head, b"<TestRun").is_some()
}

/// Reads a document. Returns true if it has begun, and true if it is complete.
pub(crate) fn collect(document: &[u8], collector: &mut ResultCollector<'_>) -> (bool, bool) {
    let text = String::from_utf8_lossy(document);
    let text = text.trim_start_matches('\u{feff}');
    let Some(run) = (depth(text) <= MAX_DEPTH)
        .then(|| from_str::<TestRun>(text).ok())
        .flatten()
    else {
        return (true, false);
    };
    let classes: HashMap<String, String> = run
        .test_definitions
        .list
        .into_iter()
        .filter_map(|definition| match definition {
            DefinitionElement::UnitTest(test) => Some((test.id, test.method?.class)),
            DefinitionElement::Other => None,
        })
        .collect();
    add_results(collector, run.results, &classes);
    let summary = run.result_summary;
    let infos = summary.iter().flat_map(|summary| &summary.infos.list);
    for info in infos.filter(|info| info.outcome != "Warning" && !info.text.is_empty()) {
        collector.run_error(Some(&info.outcome), &info.text, Vec::new());
    }
    // The outcome is `Completed`, or `Failed` for any failure.
    let is_failed = |summary: &ResultSummary| parse_outcome(&summary.outcome).is_failure();
    if summary.as_ref().is_some_and(is_failed) {
        collector.results.passed = Some(false);
    }
    (true, summary.is_some())
}

/// Returns the depth of the deepest element.
fn depth(text: &str) -> usize {
    let mut reader = Reader::from_str(text);
    let (mut depth, mut deepest) = (0_usize, 0);
    loop {
        match reader.read_event() {
            Ok(Event::Start(_)) => depth += 1,
            Ok(Event::End(_)) => depth = depth.saturating_sub(1),
            Ok(Event::Eof) | Err(_) => return deepest,
            Ok(_) => {}
        }
        deepest = deepest.max(depth);
    }
}

fn add_results(
    collector: &mut ResultCollector<'_>,
    results: ResultList,
    classes: &HashMap<String, String>,
) {
    for element in results.list {
        let ResultElement::UnitTestResult(mut result) = element else {
            continue;
        };
        match result.inner.take().filter(|inner| !inner.list.is_empty()) {
            Some(rows) => add_results(collector, rows, classes),
            None => add(collector, &result, classes),
        }
    }
}

fn add(
    collector: &mut ResultCollector<'_>,
    result: &UnitTestResult,
    classes: &HashMap<String, String>,
) {
    let class = classes.get(&result.id).map_or("", String::as_str);
    // Some writers add the assembly: `Shop.Tests, Shop`.
    let class = class.split(',').next().unwrap_or(class);
    // xUnit.net puts the class into the name as well.
    let name = result
        .name
        .strip_prefix(class)
        .and_then(|rest| rest.strip_prefix('.'))
        .unwrap_or(&result.name);
    let state = parse_outcome(&result.outcome);
    let id = collector.name(&join_id([class, name]));
    let mut case = Case::new(id, collector.name(name), state);
    if !class.is_empty() {
        case.suite = collector.suite(&[class]);
    }
    case.duration_ms = seconds(&result.duration).and_then(millis);
    if let Some(output) = result.output.as_ref().filter(|_| state.is_failure()) {
        let info = &output.error_info;
        let mut error = collector.error(None, info.message.trim());
        error.stack = collector.stack(info.stack_trace.lines().filter_map(frame).collect());
        let place = error.stack.first().filter(|frame| frame.line.is_some());
        (case.file, case.line) = (
            place.map(|frame| frame.file.clone()),
            place.and_then(|frame| frame.line),
        );
        case.errors.push(error);
        case.stdout = collector.output(&output.std_out);
        case.stderr = collector.output(&output.std_err);
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
