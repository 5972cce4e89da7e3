//! Parser for Vitest's events, which the bundled reporter (`reporter.mjs`) documents.

use replay_base::limits::{MAX_KEPT_TESTS, MAX_TEST_FRAMES};

use crate::prelude::*;

#[derive(Default, Deserialize)]
#[serde(default)]
struct VitestEvent {
    ev: String,
    version: Option<String>,
    file: String,
    path: Option<String>,
    project: Option<String>,
    tests: u64,
    suite: Vec<String>,
    name: String,
    state: String,
    mode: Option<String>,
    never: bool,
    ms: Option<f64>,
    retries: u64,
    line: Option<u32>,
    column: Option<u32>,
    errors: Vec<VitestFailure>,
    logs: Vec<VitestLog>,
    reason: Option<String>,
    open: Vec<String>,
    options: Vec<String>,
    closes: bool,
    snapshots: u64,
    planned: Vec<VitestPlanned>,
}

#[derive(Deserialize)]
struct VitestPlanned {
    #[serde(default)]
    file: String,
    project: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct VitestFailure {
    #[serde(rename = "type")]
    kind: Option<String>,
    name: Option<String>,
    message: String,
    expected: Option<String>,
    actual: Option<String>,
    diff: Option<String>,
    cause: Option<String>,
    related: Vec<VitestFailure>,
    stacks: Vec<VitestPlace>,
    stack: Option<String>,
    loc: Option<VitestPlace>,
    suite: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct VitestPlace {
    file: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
    method: Option<String>,
}

#[derive(Deserialize)]
struct VitestLog {
    stream: String,
    text: String,
}

/// A file that has begun.
#[derive(Default)]
struct VitestFile {
    order: usize,
    collected: u64,
    seen: u64,
    /// Ids of running tests, with their order.
    running: HashMap<String, usize>,
}

pub fn parse(sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
    let mut collector = ResultCollector::new(sources.root);
    let mut files: HashMap<String, VitestFile> = HashMap::new();
    let (mut begun, mut closes) = (0, false);
    // Files without an event so far.
    let mut planned: BTreeSet<String> = BTreeSet::new();
    for event in lines::events::<VitestEvent>(sources.report, bound) {
        if matches!(
            event.ev.as_str(),
            "file_start" | "collected" | "test" | "file_end"
        ) {
            collector.add_file(event.path.as_deref().unwrap_or(&event.file));
            planned.remove(&file_key(&event));
        }
        match event.ev.as_str() {
            "init" => {
                collector.results.begun = true;
                closes = event.closes;
                collector.results.version = event.version.map(|version| collector.name(&version));
            }
            "planned" => {
                let files = event.planned.iter().take(MAX_KEPT_TESTS);
                planned.extend(
                    files.map(|planned| of_project(planned.project.as_deref(), &planned.file)),
                );
            }
            "file_start" | "collected" => {
                let order = files.len();
                if order < MAX_KEPT_TESTS {
                    let open = files.entry(file_key(&event)).or_insert_with(|| VitestFile {
                        order,
                        ..VitestFile::default()
                    });
                    open.collected = open.collected.max(event.tests);
                }
            }
            "start" => {
                let id = id(&event);
                if let Some(open) = files
                    .get_mut(&file_key(&event))
                    .filter(|open| open.running.len() < MAX_KEPT_TESTS)
                {
                    begun += 1;
                    open.running.insert(id, begun);
                }
            }
            "test" => {
                if let Some(open) = files.get_mut(&file_key(&event)) {
                    open.seen += 1;
                    open.running.remove(&id(&event));
                }
                add(&mut collector, &event);
            }
            "file_end" => {
                // If tests were found, the file was loaded.
                let loaded = files
                    .remove(&file_key(&event))
                    .is_some_and(|open| open.collected > 0);
                file_errors(
                    &mut collector,
                    &event,
                    if loaded { Phase::Hook } else { Phase::Collect },
                );
            }
            "end" => {
                collector.results.ended = true;
                collector.results.snapshots = event.snapshots;
                collector.results.passed = Some(event.reason.as_deref() == Some("passed"));
                // Files that `bail` keeps from starting did not cause the end.
                let is_stopped = event.reason.as_deref() == Some("interrupted");
                for file in &event.open {
                    if is_stopped {
                        collector.add_unreached(file);
                    } else {
                        collector.add_unfinished(file);
                    }
                }
                for failure in event.errors {
                    run_error(&mut collector, &failure);
                }
            }
            "failed" => event
                .errors
                .iter()
                .for_each(|failure| run_error(&mut collector, failure)),
            "left_out" => collector.add_left_out("the project's configuration", &event.options),
            "takes" => collector.set_patterns(&event.options),
            "closed" => {
                closes = false;
                for failure in event.errors {
                    run_error(
                        &mut collector,
                        &VitestFailure {
                            kind: Some("error after the tests".to_owned()),
                            ..failure
                        },
                    );
                }
            }
            _ => {}
        }
    }
    if closes && collector.results.ended {
        let message = "the runner exited after the tests, before it was finished: look for an \
            exit in the teardown of a global setup";
        collector.run_error(Some("end too early"), message, Vec::new());
    }
    let mut files: Vec<_> = files.into_iter().collect();
    files.sort_by_key(|(_, open)| open.order);
    for (file, open) in files {
        collector.add_not_run(open.collected.saturating_sub(open.seen));
        if collector.results.ended {
            continue;
        }
        if open.running.is_empty() {
            collector.add_unfinished(&file);
        }
        let mut running: Vec<_> = open.running.into_iter().collect();
        running.sort_by_key(|(_, order)| *order);
        for (id, _) in &running {
            collector.add_unfinished(id);
        }
    }
    // If a global set-up fails, the run ends before the first file begins.
    let is_stopped = collector.results.files.is_empty() && collector.results.passed == Some(false);
    if !collector.results.ended || is_stopped {
        for file in &planned {
            collector.add_unreached(file);
        }
    }
    collector.results
}

/// Returns the key of a file, different for each project.
fn file_key(event: &VitestEvent) -> String {
    of_project(event.project.as_deref(), &event.file)
}

fn of_project(project: Option<&str>, file: &str) -> String {
    match project {
        Some(project) => format!("|{project}| {file}"),
        None => file.to_owned(),
    }
}

fn id(event: &VitestEvent) -> String {
    let file = file_key(event);
    let suites = event.suite.iter().map(String::as_str);
    join_id(
        [file.as_str()]
            .into_iter()
            .chain(suites)
            .chain([event.name.as_str()]),
    )
}

fn add(collector: &mut ResultCollector<'_>, event: &VitestEvent) {
    let id = id(event);
    let timed_out = event
        .errors
        .iter()
        .any(|error| error.message.starts_with("Test timed out in "));
    let state = match event.state.as_str() {
        "passed" => State::Passed,
        "failed" if timed_out => State::TimedOut,
        "failed" => State::Failed,
        _ if event.mode.as_deref() == Some("todo") => State::Todo,
        _ if event.never && event.mode.as_deref() != Some("skip") => State::NotRun,
        "skipped" => State::Skipped,
        _ => State::NotRun,
    };
    let log = |stream: &str| -> String {
        event
            .logs
            .iter()
            .filter(|log| log.stream == stream)
            .map(|log| log.text.as_str())
            .collect()
    };
    let (stdout, stderr) = (log("stdout"), log("stderr"));
    let mut case = Case::new(collector.name(&id), collector.name(&event.name), state);
    case.file = Some(collector.path(&event.file));
    (case.line, case.column) = (event.line, event.column);
    case.suite = collector.suite(&event.suite);
    case.duration_ms = event.ms.and_then(milliseconds);
    case.retries = event.retries;
    case.stdout = collector.output(&stdout);
    case.stderr = collector.output(&stderr);
    for failure in &event.errors {
        case.errors.push(error(collector, failure));
        case.errors.extend(
            failure
                .related
                .iter()
                .map(|related| error(collector, related)),
        );
    }
    collector.add(case);
}

fn frames(failure: &VitestFailure) -> Vec<Frame> {
    if failure.stacks.is_empty() {
        return failure
            .stack
            .as_deref()
            .map(|text| stack::parse_v8(text).1)
            .unwrap_or_default();
    }
    let frame = |place: &VitestPlace| {
        let file = place.file.clone()?;
        Some(Frame {
            file,
            line: place.line,
            column: place.column,
            function: place.method.clone(),
        })
    };
    failure
        .stacks
        .iter()
        .take(MAX_TEST_FRAMES * 4)
        .filter_map(frame)
        .collect()
}

/// Returns the message with its cause.
fn message(failure: &VitestFailure) -> String {
    match failure.cause.as_deref().filter(|cause| !cause.is_empty()) {
        Some(cause) => format!("{}\ncaused by: {cause}", failure.message),
        None => failure.message.clone(),
    }
}

fn error(collector: &mut ResultCollector<'_>, failure: &VitestFailure) -> TestError {
    // A related error is reported separately.
    let text = if failure.related.is_empty() {
        message(failure)
    } else {
        failure.message.clone()
    };
    let mut error = collector.error(failure.name.as_deref(), &text);
    // Errors without values have both fields too, as the text `undefined`.
    if failure.diff.is_some() {
        error.expected = failure.expected.as_deref().map(|text| collector.text(text));
        error.actual = failure.actual.as_deref().map(|text| collector.text(text));
        error.diff = failure.diff.as_deref().map(|text| collector.text(text));
    }
    error.stack = collector.stack(frames(failure));
    error
}

fn file_errors(collector: &mut ResultCollector<'_>, event: &VitestEvent, phase: Phase) {
    for failure in &event.errors {
        let place = failure
            .loc
            .as_ref()
            .and_then(|loc| Some((loc.line?, loc.column)));
        let own = || {
            frames(failure)
                .into_iter()
                .find(|frame| frame.file.ends_with(&event.file))
        };
        let found = place
            .or_else(|| stack::place_in(&failure.message, &event.file))
            .or_else(|| own().and_then(|frame| Some((frame.line?, frame.column))));
        let mut text = match &failure.suite {
            Some(suite) => format!("{}: {}", suite.join(" > "), message(failure)),
            None => message(failure),
        };
        let (line, column) =
            stack::place_to_fix(found, &frames(failure), &event.file, &mut text).unzip();
        collector.file_error(&event.file, phase, &text, line, column.flatten());
    }
}

fn run_error(collector: &mut ResultCollector<'_>, failure: &VitestFailure) {
    let text = match failure.name.as_deref() {
        Some(name) if name != "Error" => format!("{name}: {}", message(failure)),
        _ => message(failure),
    };
    collector.run_error(failure.kind.as_deref(), &text, frames(failure));
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn vitest_bail_leaves_later_files_unreached() {
        let of = |reason: &str| {
            let end = serde_json::json!({"ev": "end", "reason": reason, "open": ["b.test.ts"], "errors": []});
            let report = format!("{{\"ev\":\"init\"}}\n{end}\n");
            let results = parse(
                &Sources {
                    report: report.as_bytes(),
                    ..Sources::default()
                },
                Bound::default(),
            );
            (results.unreached, results.unfinished, results.passed)
        };
        let file = || vec!["b.test.ts".to_owned()];
        assert_eq!(of("interrupted"), (file(), vec![], Some(false)));
        assert_eq!(of("failed"), (vec![], file(), Some(false)));
    }

    #[test]
    fn vitest_global_setup_failure_is_reported() {
        let events = [
            serde_json::json!({"ev": "init"}),
            serde_json::json!({"ev": "planned", "planned": [{"file": "a.test.ts"}]}),
            serde_json::json!({"ev": "end", "reason": "failed", "open": [], "errors": []}),
            serde_json::json!({"ev": "failed", "errors": [{"type": "Unhandled Error", "name": "Error", "message": "no database",
                "stack": "Error: no database\n    at setup (/p/gs.ts:2:9)"}]}),
        ];
        let of = |count: usize| {
            let report: Vec<String> = events[..count]
                .iter()
                .map(serde_json::Value::to_string)
                .collect();
            let report = report.join("\n");
            let results = parse(
                &Sources {
                    report: report.as_bytes(),
                    root: "/p",
                    ..Sources::default()
                },
                Bound::default(),
            );
            let found_none = super::super::Vitest.ended_without_tests(&results, Some(1));
            let told = results
                .run_errors
                .iter()
                .map(|error| (error.message.clone(), error.stack[0].file.clone()))
                .collect();
            (results.unreached, found_none, told)
        };
        let unreached = || vec!["a.test.ts".to_owned()];
        assert_eq!(
            of(4),
            (
                unreached(),
                false,
                vec![("no database".to_owned(), "gs.ts".to_owned())]
            )
        );
        assert_eq!(of(3), (unreached(), false, vec![]));
    }

    #[test]
    fn vitest_planned_file_without_start_is_unreached() {
        let file = |name: &str| serde_json::json!({"file": name});
        let events = [
            serde_json::json!({"ev": "init"}),
            serde_json::json!({"ev": "planned", "planned": [file("bad.test.ts"), file("cart.test.ts"), file("ok.test.ts"),
                {"file": "cart.test.ts", "project": "web"}]}),
            serde_json::json!({"ev": "file_start", "file": "ok.test.ts"}),
            serde_json::json!({"ev": "file_end", "file": "ok.test.ts", "state": "passed"}),
            serde_json::json!({"ev": "file_start", "file": "bad.test.ts"}),
        ];
        let of = |events: &[serde_json::Value]| {
            let report: String = events
                .iter()
                .flat_map(|event| [event.to_string(), "\n".to_owned()])
                .collect();
            let results = parse(
                &Sources {
                    report: report.as_bytes(),
                    ..Sources::default()
                },
                Bound::default(),
            );
            (results.unreached, results.unfinished)
        };
        let text = |name: &str| name.to_owned();
        assert_eq!(
            of(&events),
            (
                vec![text("cart.test.ts"), text("|web| cart.test.ts")],
                vec![text("bad.test.ts")]
            )
        );
        // The end event accounts for files that never began.
        let end = serde_json::json!({"ev": "end", "reason": "passed", "open": [], "errors": []});
        assert_eq!(of(&[&events[..4], &[end]].concat()), (vec![], vec![]));
    }
}
