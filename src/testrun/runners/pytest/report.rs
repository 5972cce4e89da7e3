//! Parser for pytest's events, which the bundled plugin (`replay_pytest.py`) documents.

use replay_base::limits::{MAX_KEPT_TESTS, MAX_TEST_ERRORS, MAX_TEST_FRAMES};

use crate::prelude::*;

#[derive(Default, Deserialize)]
#[serde(default)]
struct PytestEvent {
    ev: String,
    version: Option<String>,
    tests: u64,
    id: String,
    files: Vec<String>,
    file: Option<String>,
    line: Option<u32>,
    when: String,
    outcome: String,
    seconds: f64,
    xfail: bool,
    subtest: Option<String>,
    message: String,
    failure: Option<PytestFailure>,
    related: Vec<PytestFailure>,
    stack: Vec<PytestPlace>,
    held: Vec<PytestFailure>,
    #[serde(rename = "type")]
    class: Option<String>,
    compare: Option<[String; 2]>,
    out: Option<String>,
    err: Option<String>,
    exit: Option<i32>,
    asked: bool,
    options: Vec<String>,
    dropped: u64,
    ignored: Vec<String>,
    count: u64,
}

/// Tests that the project's own configuration omits.
#[derive(Default)]
struct PytestLeftOut {
    options: Vec<String>,
    /// `true` if the call has a filter of its own, which deselects tests as well.
    is_asked: bool,
    /// Number of tests removed from the list without a report.
    dropped: u64,
    /// Files and directories that were not collected, and their number.
    ignored: Vec<String>,
    count: u64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PytestFailure {
    message: String,
    file: Option<String>,
    line: Option<u32>,
    stack: Vec<PytestPlace>,
}

#[derive(Deserialize)]
struct PytestPlace {
    file: String,
    line: Option<u32>,
}

/// A test between its start and the end of its tear-down.
struct PytestTest {
    order: usize,
    case: Case,
    seconds: f64,
    reruns: u64,
    rerun: bool,
    /// `true` if the test itself was called, or skipped itself.
    is_called: bool,
}

pub fn parse(sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
    let mut reader = PytestReader {
        collector: ResultCollector::new(sources.root),
        running: HashMap::new(),
        begun: 0,
        collected: 0,
        left_out: PytestLeftOut::default(),
        emptied: HashSet::new(),
        modules: HashSet::new(),
    };
    let mut broken = HashSet::new();
    for event in lines::events::<PytestEvent>(sources.report, bound) {
        match event.ev.as_str() {
            "init" => {
                reader.collector.results.begun = true;
                reader.collector.results.version =
                    event.version.map(|version| reader.collector.name(&version));
            }
            // Every worker of xdist collects the same.
            "collected" => reader.collected = reader.collected.max(event.tests),
            "deselected" => {
                reader.collector.results.deselected =
                    reader.collector.results.deselected.max(event.tests);
                let room = MAX_KEPT_TESTS.saturating_sub(reader.emptied.len());
                reader.emptied.extend(event.files.into_iter().take(room));
            }
            "left_out" => {
                let left_out = &mut reader.left_out;
                left_out.dropped = left_out.dropped.max(event.dropped);
                if event.count > left_out.count {
                    (left_out.ignored, left_out.count) = (event.ignored, event.count);
                }
            }
            "takes" => reader.collector.set_patterns(&event.options),
            "options" => {
                (reader.left_out.is_asked, reader.left_out.options) = (event.asked, event.options);
            }
            // Every worker of xdist reports it.
            "collect_error" if broken.len() < MAX_KEPT_TESTS && broken.insert(event.id.clone()) => {
                reader.collect_error(&event);
            }
            "start" => reader.start(event),
            "phase" => reader.phase(event),
            "leak" => reader.add_leak(&event),
            "module_skipped" => reader.add_skipped_module(&event),
            "unreached" => event
                .files
                .iter()
                .for_each(|file| reader.collector.add_unreached(file)),
            "internal" => {
                reader.collector.run_error(
                    Some("error outside the tests"),
                    &event.message,
                    frames(&event.stack),
                );
            }
            "end" => {
                event.held.iter().for_each(|held| {
                    reader
                        .collector
                        .add_held(&held.message, frames(&held.stack));
                });
                reader.collector.results.ended = true;
                reader.collector.results.passed = event.exit.map(|exit| exit == 0);
            }
            _ => {}
        }
    }
    let stderr = String::from_utf8_lossy(sources.stderr);
    // After the end of the tests `held` has more details.
    let ended_at = python_text::ended_at(&stderr).filter(|_| !reader.collector.results.ended);
    for frames in ended_at
        .filter(|frames| frames.iter().any(|frame| !stack::is_library(&frame.file)))
        .collect::<Vec<_>>()
    {
        reader
            .collector
            .run_error(Some("asked to end"), "what ran then", frames);
    }
    if let Some((why, frames)) = python_text::fatal_error(&stderr) {
        reader
            .collector
            .run_error(Some("Fatal Python error"), why, frames);
    }
    reader.finish()
}

struct PytestReader<'a> {
    collector: ResultCollector<'a>,
    running: HashMap<String, PytestTest>,
    begun: usize,
    collected: u64,
    left_out: PytestLeftOut,
    /// Test files with deselected tests.
    emptied: HashSet<String>,
    /// Files that skipped themselves.
    modules: HashSet<String>,
}

impl PytestReader<'_> {
    fn start(&mut self, event: PytestEvent) {
        if self.running.contains_key(&event.id) || self.running.len() >= MAX_KEPT_TESTS {
            return;
        }
        let (file, suite, name) = split_id(&event.id);
        self.collector.add_file(file);
        let mut case = Case::new(
            self.collector.name(&event.id),
            self.collector.name(name),
            State::Passed,
        );
        case.file = Some(self.collector.path(event.file.as_deref().unwrap_or(file)));
        case.line = event.line;
        case.suite = self.collector.suite(&suite);
        self.begun += 1;
        let running = PytestTest {
            order: self.begun,
            case,
            seconds: 0.0,
            reruns: 0,
            rerun: false,
            is_called: false,
        };
        self.running.insert(event.id, running);
    }

    fn phase(&mut self, event: PytestEvent) {
        let Some(mut running) = self.running.remove(&event.id) else {
            return;
        };
        running.seconds += event.seconds.max(0.0);
        running.is_called |= event.when != "teardown";
        let case = &mut running.case;
        match (event.outcome.as_str(), event.when.as_str()) {
            ("rerun", _) => running.rerun = true,
            // A worker of xdist died; no more events of the test will come.
            ("failed", "???") => {
                case.state = State::Crashed;
                case.errors.extend(
                    event
                        .failure
                        .as_ref()
                        .map(|failure| self.collector.error(None, &failure.message)),
                );
                return self.end(running);
            }
            ("failed", when) => {
                let state = if when == "call" {
                    State::Failed
                } else {
                    State::Errored
                };
                case.state = worse_state(case.state, state);
                if case.errors.len() < MAX_TEST_ERRORS {
                    case.errors.extend(error(&mut self.collector, &event));
                    case.errors.extend(event.related.iter().map(|related| {
                        let mut error = self.collector.error(None, &related.message);
                        error.stack = self.collector.stack(frames(&related.stack));
                        error
                    }));
                }
                case.stdout = event
                    .out
                    .as_deref()
                    .and_then(|text| self.collector.output(text))
                    .or(case.stdout.take());
                case.stderr = event
                    .err
                    .as_deref()
                    .and_then(|text| self.collector.output(text))
                    .or(case.stderr.take());
            }
            ("skipped", _) if event.subtest.is_none() && !case.state.is_failure() => {
                case.state = if event.xfail {
                    State::ExpectedFailure
                } else {
                    State::Skipped
                };
            }
            _ => {}
        }
        if event.when == "teardown" {
            if running.rerun {
                let reruns = running.reruns + 1;
                running.case.state = State::Passed;
                running.case.errors.clear();
                running = PytestTest {
                    reruns,
                    rerun: false,
                    ..running
                };
            } else {
                return self.end(running);
            }
        }
        self.running.insert(event.id, running);
    }

    fn end(&mut self, mut running: PytestTest) {
        if running.case.state == State::Passed && !running.is_called {
            // `--setup-plan` reports set-up and tear-down alone.
            running.case.state = State::NotRun;
        }
        running.case.duration_ms = millis(running.seconds);
        running.case.retries = running.reruns;
        self.collector.add(running.case);
    }

    fn collect_error(&mut self, event: &PytestEvent) {
        let file = event.id.split("::").next().unwrap_or_default();
        self.collector.add_file(file);
        let absolute = format!("{}/{file}", self.collector.root());
        let place = stack::place_in(&event.message, &absolute)
            .or_else(|| stack::place_in(&event.message, file))
            .or_else(|| Some((event.line?, None)));
        // The cause may be in an imported file.
        let frame = |line: &str| {
            let (file, line) = line.split_once(": in ")?.0.rsplit_once(':')?;
            Some(Frame {
                file: file.to_owned(),
                line: line.parse().ok(),
                column: None,
                function: None,
            })
        };
        let mut message = last_error(&event.message);
        let traced = event
            .message
            .lines()
            .take_while(|line| !line.starts_with("E "));
        let mut frames: Vec<Frame> = traced.filter_map(frame).collect();
        // A file with a syntax error has no frame: its place is in the error.
        frames.extend(message.lines().next().and_then(python_text::frame));
        frames.reverse();
        let (line, column) = stack::place_to_fix(place, &frames, file, &mut message).unzip();
        self.collector
            .file_error(file, Phase::Collect, &message, line, column.flatten());
    }

    /// Adds an exception of a thread or a finalizer, which pytest reports as a warning.
    fn add_leak(&mut self, event: &PytestEvent) {
        let class = event.class.as_deref().unwrap_or_default();
        let class = class
            .strip_prefix("Pytest")
            .and_then(|name| name.strip_suffix("Warning"))
            .unwrap_or(class);
        let (error, frames) = python_text::traceback(&event.message).unzip();
        let words = [
            Some(event.id.as_str()).filter(|id| !id.is_empty()),
            event.message.lines().next(),
            error,
        ];
        let message = words.into_iter().flatten().collect::<Vec<_>>().join(": ");
        self.collector
            .run_error(Some(class), &message, frames.unwrap_or_default());
    }

    /// Adds a file that skipped itself before its tests were known: one skipped test, as pytest
    /// counts it.
    fn add_skipped_module(&mut self, event: &PytestEvent) {
        let Some(file) = event.file.as_deref() else {
            return;
        };
        let first = self.modules.len() < MAX_KEPT_TESTS && self.modules.insert(file.to_owned());
        if first {
            self.collector.add_skipped(1);
            let reason = event.message.trim().trim_start_matches("Skipped: ");
            self.collector
                .add_left_out(&format!("all of {file} by itself"), &[reason.to_owned()]);
        }
    }

    fn report_left_out(&mut self) {
        let PytestLeftOut {
            options,
            is_asked,
            dropped,
            ignored,
            count,
        } = std::mem::take(&mut self.left_out);
        let told = self
            .emptied
            .iter()
            .chain(&self.modules)
            .chain(&ignored)
            .map(|path| self.collector.path(path));
        let told = told.collect();
        self.collector.results.told = told;
        // A caller with a filter expects deselected tests. Tests that the project deselects did not
        // run.
        if is_asked {
            for file in std::mem::take(&mut self.emptied) {
                self.collector.add_file(&file);
            }
        }
        self.collector
            .add_left_out("options of the project", &options);
        let deselected = self.collector.results.deselected;
        let left_out = &mut self.collector.results.left_out;
        if deselected > 0 && !is_asked {
            left_out.push(format!("{} deselected", tests_were(deselected)));
        }
        if dropped > 0 {
            left_out.push(format!(
                "{} collected, then removed by conftest.py or a plugin",
                tests_were(dropped)
            ));
        }
        let more = count.saturating_sub(ignored.len() as u64);
        let lead = if more > 0 {
            format!("not searched, with {more} more")
        } else {
            "not searched".to_owned()
        };
        self.collector.add_left_out(&lead, &ignored);
    }

    fn finish(mut self) -> TestResults {
        let done = self.collector.results.summary.total - self.modules.len() as u64;
        self.collector.add_not_run(
            self.collected
                .saturating_sub(done)
                .max(self.running.len() as u64),
        );
        self.report_left_out();
        let mut running: Vec<_> = self.running.into_values().collect();
        running.sort_by_key(|running| running.order);
        for running in running {
            self.collector.add_unfinished(&running.case.id);
        }
        self.collector.results
    }
}

/// Returns `1 test was` or `2 tests were`.
fn tests_were(count: u64) -> String {
    if count == 1 {
        "1 test was".to_owned()
    } else {
        format!("{count} tests were")
    }
}

/// Splits a node id into file, classes and name; parameters may contain any characters.
fn split_id(id: &str) -> (&str, Vec<&str>, &str) {
    let (path, parameters) = id.split_at(id.find('[').unwrap_or(id.len()));
    let mut parts = path.split("::");
    let file = parts.next().unwrap_or_default();
    let mut suite: Vec<_> = parts.collect();
    let name = suite.pop().unwrap_or(file);
    let start = id.len() - parameters.len() - name.len();
    (file, suite, &id[start..])
}

fn error(collector: &mut ResultCollector<'_>, event: &PytestEvent) -> Option<TestError> {
    let failure = event.failure.as_ref()?;
    let message = match &event.subtest {
        Some(subtest) => format!("[{subtest}] {}", failure.message),
        None => failure.message.clone(),
    };
    // Most messages start with the class.
    let class = event.class.as_deref();
    let text = class
        .and_then(|class| message.strip_prefix(class)?.strip_prefix(": "))
        .unwrap_or(&message);
    let mut error = collector.error(class, text);
    if let Some([actual, expected]) = &event.compare {
        error.expected = Some(collector.text(expected));
        error.actual = Some(collector.text(actual));
    }
    let mut frames = frames(&failure.stack);
    if let (true, Some(file)) = (frames.is_empty(), &failure.file) {
        frames.push(Frame {
            file: file.clone(),
            line: failure.line,
            column: None,
            function: None,
        });
    }
    error.stack = collector.stack(frames);
    Some(error)
}

fn frames(stack: &[PytestPlace]) -> Vec<Frame> {
    let frame = |place: &PytestPlace| Frame {
        file: place.file.clone(),
        line: place.line,
        column: None,
        function: None,
    };
    stack.iter().take(MAX_TEST_FRAMES * 4).map(frame).collect()
}

/// Returns the lines that pytest marks as the error in a traceback (`E   `), or the whole text.
fn last_error(message: &str) -> String {
    let marked: Vec<_> = message
        .lines()
        .filter_map(|line| line.strip_prefix("E ").or((line == "E").then_some("")))
        .collect();
    if marked.is_empty() {
        return message.to_owned();
    }
    let indent = |line: &str| line.len() - line.trim_start().len();
    let least = marked
        .iter()
        .filter(|line| !line.trim().is_empty())
        .map(|line| indent(line))
        .min()
        .unwrap_or_default();
    marked
        .iter()
        .map(|line| line.get(least..).unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pytest_leaks_and_unreached_files_are_reported() {
        let report = "{\"ev\":\"init\"}\n\
            {\"ev\":\"module_skipped\",\"file\":\"b.py\",\"message\":\"Skipped: no tool\"}\n\
            {\"ev\":\"module_skipped\",\"file\":\"b.py\",\"message\":\"Skipped: no tool\"}\n\
            {\"ev\":\"collected\",\"tests\":1}\n\
            {\"ev\":\"leak\",\"id\":\"a.py::t\",\"type\":\"PytestUnhandledThreadExceptionWarning\",\
            \"message\":\"Exception in thread T\\n\\nTraceback (most recent call last):\\n  x\\nValueError: y\\n\\nSee https://x\"}\n\
            {\"ev\":\"unreached\",\"files\":[\"c.py\"]}\n{\"ev\":\"end\",\"exit\":0}\n";
        let results = parse(
            &Sources {
                report: report.as_bytes(),
                ..Sources::default()
            },
            Bound::default(),
        );
        assert_eq!(
            (
                results.summary.skipped,
                results.summary.not_run,
                results.summary.total
            ),
            (1, 1, 2)
        );
        assert_eq!(
            (results.unreached, results.left_out),
            (
                vec!["c.py".to_owned()],
                vec!["all of b.py by itself: no tool".to_owned()]
            )
        );
        let told: Vec<_> = results
            .run_errors
            .iter()
            .map(|error| (error.class.as_deref(), error.message.as_str()))
            .collect();
        assert_eq!(
            told,
            [(
                Some("UnhandledThreadException"),
                "a.py::t: Exception in thread T: ValueError: y"
            )]
        );
    }

    #[test]
    fn pytest_error_in_imported_file_has_place() {
        let place = |file: &str, line: u32| serde_json::json!([{"file": file, "line": line}]);
        let events = [
            serde_json::json!({"ev": "init"}),
            serde_json::json!({"ev": "collect_error", "id": "b.py",
                "message": "b.py:1: in <module>\n    import h\nh.py:7: in <module>\n    x\nE   NameError: x"}),
            serde_json::json!({"ev": "collect_error", "id": "e.py",
                "message": "e.py:1: in <module>\n    import h\nE     File \"/p/h.py\", line 9\nE   SyntaxError: x"}),
            serde_json::json!({"ev": "start", "id": "a.py::t", "file": "a.py", "line": 1}),
            serde_json::json!({"ev": "phase", "id": "a.py::t", "when": "call", "outcome": "failed",
                "failure": {"message": "RuntimeError: r", "stack": place("a.py", 3)},
                "related": [{"message": "caused by ValueError: v", "stack": place("c.py", 5)}]}),
            serde_json::json!({"ev": "phase", "id": "a.py::t", "when": "teardown", "outcome": "passed"}),
            serde_json::json!({"ev": "internal", "message": "SystemExit: 3", "stack": place("d.py", 9)}),
        ];
        let report = events.map(|event| event.to_string()).join("\n");
        let stderr = b"Fatal Python error: Aborted\n\nCurrent thread 0x1 (most recent call first):\n  File \"e.py\", line 2 in f\n\
            Stack (most recent call first):\n  File \"/lib/python3/s.py\", line 1 in f\n\
            Stack (most recent call first):\n  File \"/p/g.py\", line 4 in f\n";
        let sources = Sources {
            report: report.as_bytes(),
            stderr,
            root: "/p",
            ..Sources::default()
        };
        let results = parse(&sources, Bound::default());
        let of = |message: &str, stack: &[Frame]| {
            (message.to_owned(), stack[0].file.clone(), stack[0].line)
        };
        let told: Vec<_> = results.failures[0]
            .errors
            .iter()
            .map(|error| of(&error.message, &error.stack))
            .collect();
        let at = |message: &str, file: &str, line: u32| {
            (message.to_owned(), file.to_owned(), Some(line))
        };
        assert_eq!(
            told,
            [
                at("RuntimeError: r", "a.py", 3),
                at("caused by ValueError: v", "c.py", 5)
            ]
        );
        let told: Vec<_> = results
            .run_errors
            .iter()
            .map(|error| of(&error.message, &error.stack))
            .collect();
        assert_eq!(
            told,
            [
                at("SystemExit: 3", "d.py", 9),
                at("what ran then", "g.py", 4),
                at("Aborted", "e.py", 2)
            ]
        );
        let told: Vec<_> = results
            .file_errors
            .iter()
            .map(|error| (error.message.as_str(), error.line))
            .collect();
        let syntax = "  File \"h.py\", line 9\nSyntaxError: x\nat h.py:9";
        assert_eq!(told, [("NameError: x\nat h.py:7", None), (syntax, None)]);
    }

    #[test]
    fn pytest_node_id_is_split() {
        assert_eq!(
            split_id("d/t.py::A::B::test_x[a::b-]"),
            ("d/t.py", vec!["A", "B"], "test_x[a::b-]")
        );
        assert_eq!(split_id("t.py::test_x"), ("t.py", vec![], "test_x"));
        assert_eq!(split_id("README.md"), ("README.md", vec![], "README.md"));
        assert_eq!(split_id("[::"), ("", vec![], "[::"));
    }

    #[test]
    fn pytest_error_is_read_from_marked_lines() {
        assert_eq!(
            last_error("t.py:1: in <module>\n    x\nE     File \"t.py\"\nE   Bad: y\nE"),
            "  File \"t.py\"\nBad: y\n"
        );
    }
}
