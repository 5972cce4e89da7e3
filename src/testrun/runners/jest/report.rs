//! Parser for Jest's events, which the bundled reporter (`reporter.cjs`) documents.

use replay_base::limits::MAX_KEPT_TESTS;

use crate::prelude::*;

#[derive(Default, Deserialize)]
#[serde(default)]
struct JestEvent {
    ev: String,
    file: String,
    project: Option<String>,
    suite: Vec<String>,
    name: String,
    test: Option<JestTest>,
    broken: bool,
    message: String,
    tests: Vec<JestTest>,
    files: u64,
    success: bool,
    errors: Vec<String>,
    goes_on: bool,
    snapshots: u64,
    options: Vec<String>,
    held: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct JestTest {
    suite: Vec<String>,
    name: String,
    status: String,
    ms: Option<f64>,
    retries: u64,
    line: Option<u32>,
    column: Option<u32>,
    messages: Vec<String>,
    values: Vec<Option<JestValues>>,
}

#[derive(Deserialize)]
struct JestValues {
    expected: Option<String>,
    actual: Option<String>,
}

/// A file that has begun.
struct JestFile {
    order: usize,
    file: String,
    /// Finished tests, for a file that never ends.
    ended: Vec<JestTest>,
    /// Ids of running tests, with their order.
    running: HashMap<String, usize>,
}

pub fn parse(sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
    let mut collector = ResultCollector::new(sources.root);
    let mut open: HashMap<String, JestFile> = HashMap::new();
    let (mut order, mut planned, mut ended) = (0, 0, 0);
    for event in lines::events::<JestEvent>(sources.report, bound) {
        order += 1;
        let key = file_key(&collector, &event);
        match event.ev.as_str() {
            "init" => collector.results.begun = true,
            "file_start" => {
                collector.add_file(&event.file);
                if open.len() < MAX_KEPT_TESTS {
                    let begun = JestFile {
                        order,
                        file: event.file,
                        ended: Vec::new(),
                        running: HashMap::new(),
                    };
                    open.insert(key, begun);
                }
            }
            "start" => {
                if let Some(open) = open
                    .get_mut(&key)
                    .filter(|open| open.running.len() < MAX_KEPT_TESTS)
                {
                    open.running
                        .insert(id(&key, &event.suite, &event.name), order);
                }
            }
            "case" => {
                let known = open
                    .get_mut(&key)
                    .filter(|open| open.ended.len() < MAX_KEPT_TESTS);
                if let (Some(open), Some(test)) = (known, event.test) {
                    open.running.remove(&id(&key, &test.suite, &test.name));
                    // Each attempt of a retried test is reported.
                    open.ended
                        .retain(|other| (&other.suite, &other.name) != (&test.suite, &test.name));
                    open.ended.push(test);
                }
            }
            "file" => {
                open.remove(&key);
                ended += 1;
                collector.add_file(&event.file);
                if event.broken {
                    file_error(&mut collector, &event);
                }
                for test in &event.tests {
                    add(&mut collector, &key, &event.file, test);
                }
            }
            "left_out" => collector.add_left_out("the project's configuration", &event.options),
            "takes" => collector.set_patterns(&event.options),
            "end" => {
                collector.results.ended = true;
                collector.results.passed = Some(event.success);
                collector.results.is_cut_short = event.goes_on;
                collector.results.snapshots = event.snapshots;
                planned = event.files;
                for message in &event.errors {
                    collector.run_error(None, message, Vec::new());
                }
            }
            "held" => event
                .held
                .iter()
                .for_each(|held| collector.add_held(held, Vec::new())),
            "over" => collector.results.is_cut_short = false,
            _ => {}
        }
    }
    if !collector.results.begun {
        collector.set_patterns(&configuration_message(sources));
    }
    if collector.results.ended && collector.results.passed == Some(true) && ended < planned {
        let message = format!("only {ended} of {planned} files finished");
        collector.run_error(None, &message, Vec::new());
    } else if collector.results.ended && ended + (open.len() as u64) < planned {
        // Jest does not name them: `bail`.
        let left = planned - ended - open.len() as u64;
        collector.add_unreached(&format!(
            "{left} of {planned} files, which Jest did not reach (`bail`)"
        ));
    }
    let mut open: Vec<_> = open.into_iter().collect();
    open.sort_by_key(|(_, open)| open.order);
    for (key, open) in open {
        for test in &open.ended {
            add(&mut collector, &key, &open.file, test);
        }
        if open.running.is_empty() {
            collector.add_unfinished(&key);
        }
        let mut running: Vec<_> = open.running.into_iter().collect();
        running.sort_by_key(|(_, order)| *order);
        collector.add_not_run(running.len() as u64);
        for (id, _) in &running {
            collector.add_unfinished(id);
        }
    }
    collector.results
}

/// Returns Jest's message on its configuration if it found no file, such as `testMatch: **/*.js - 0
/// matches`. Reporters are not called then (`getNoTestsFoundMessage` of jest-core).
fn configuration_message(sources: &Sources<'_>) -> Vec<String> {
    let text = String::from_utf8_lossy(sources.stdout);
    let told = text.lines().filter_map(|line| {
        let (told, _) = line.trim().rsplit_once(" - ")?;
        let (name, value) = told.split_once(':')?;
        let is_meant =
            ["testMatch", "testPathIgnorePatterns", "testRegex", "roots"].contains(&name);
        (is_meant && !value.trim().is_empty()).then(|| told.to_owned())
    });
    told.collect()
}

/// Returns the key of a file, different for each project.
fn file_key(collector: &ResultCollector<'_>, event: &JestEvent) -> String {
    let file = stack::relative(&event.file, collector.root());
    match event.project.as_deref() {
        Some(project) => format!("|{project}| {file}"),
        None => file.to_owned(),
    }
}

fn id(key: &str, suite: &[String], name: &str) -> String {
    join_id(
        [key]
            .into_iter()
            .chain(suite.iter().map(String::as_str))
            .chain([name]),
    )
}

fn add(collector: &mut ResultCollector<'_>, key: &str, file: &str, test: &JestTest) {
    let state = match test.status.as_str() {
        "passed" => State::Passed,
        "failed"
            if test
                .messages
                .iter()
                .any(|text| text.contains("Exceeded timeout of ")) =>
        {
            State::TimedOut
        }
        "failed" => State::Failed,
        "todo" => State::Todo,
        "pending" | "skipped" | "disabled" => State::Skipped,
        _ => State::NotRun,
    };
    let id = id(key, &test.suite, &test.name);
    let mut case = Case::new(collector.name(&id), collector.name(&test.name), state);
    case.file = Some(collector.path(file));
    (case.line, case.column) = (test.line, test.column);
    case.suite = collector.suite(&test.suite);
    case.duration_ms = test.ms.and_then(milliseconds);
    case.retries = test.retries;
    if state.is_failure() {
        let values = test
            .values
            .iter()
            .map(Option::as_ref)
            .chain(std::iter::repeat(None));
        let told = test
            .messages
            .iter()
            .zip(values)
            .take(replay_base::limits::MAX_TEST_ERRORS);
        case.errors = told
            .flat_map(|(text, values)| errors(collector, text, values))
            .collect();
    }
    collector.add(case);
}

/// Returns an error, its causes, and the members of an `AggregateError`, which Jest 30 writes in a
/// row.
fn errors(
    collector: &mut ResultCollector<'_>,
    text: &str,
    values: Option<&JestValues>,
) -> Vec<TestError> {
    let leads = [
        ("\n\n[cause]: ", "caused by "),
        ("\n\n[errors]: ", "in it "),
    ];
    let next = |text: &str| {
        leads
            .iter()
            .filter_map(|(mark, lead)| Some((text.find(mark)?, mark.len(), *lead)))
            .min()
    };
    let (mut rest, mut values, mut lead) = (text, values, "");
    let mut found: Vec<TestError> = Vec::new();
    loop {
        let (at, length, following) = next(rest).unwrap_or((rest.len(), 0, ""));
        let mut error = error(collector, &rest[..at], values.take());
        if !lead.is_empty() {
            error.class = Some(format!(
                "{lead}{}",
                error.class.as_deref().unwrap_or("error")
            ));
        }
        match found.last_mut() {
            // A wrapping error repeats the message without the place.
            Some(last) if last.message == error.message => last.stack = error.stack,
            _ => found.push(error),
        }
        if length == 0 {
            return found;
        }
        (rest, lead) = (&rest[at + length..], following);
    }
}

/// Parses an error. The text is a stack; values have fields of their own.
fn error(
    collector: &mut ResultCollector<'_>,
    text: &str,
    values: Option<&JestValues>,
) -> TestError {
    let (text, frames) = stack::parse_v8(text);
    let (class, message) = split_class(text);
    let (expected, actual) = values
        .map(|values| (values.expected.as_deref(), values.actual.as_deref()))
        .unwrap_or_default();
    // The message need not repeat the values and the diff, which have fields of their own.
    let (message, diff) = match (
        message.split_once("\n\n- Expected"),
        message.split_once("\n\nExpected:"),
    ) {
        (Some((message, diff)), _) => (message, Some(format!("- Expected{diff}"))),
        (None, Some((message, _))) if expected.is_some() && actual.is_some() => (message, None),
        _ => (message, None),
    };
    let mut error = collector.error(class, message);
    error.expected = expected.map(|text| collector.text(text));
    error.actual = actual.map(|text| collector.text(text));
    error.diff = diff.map(|text| collector.text(&text));
    error.stack = collector.stack(frames);
    error
}

/// Splits `TypeError: message`.
fn split_class(text: &str) -> (Option<&str>, &str) {
    let class = text.split_once(": ").filter(|(class, _)| {
        class
            .chars()
            .all(|next| next.is_ascii_alphanumeric() || matches!(next, '_' | '.'))
            && class.starts_with(|next: char| next.is_ascii_uppercase())
    });
    class.map_or((None, text), |(class, message)| (Some(class), message))
}

/// Adds a file that did not run: its message has a bullet, a code excerpt, and a stack.
fn file_error(collector: &mut ResultCollector<'_>, file: &JestEvent) {
    let (text, _) = visible_text::head(&file.message, replay_base::limits::MAX_TEST_TEXT_BYTES * 4);
    let body = text
        .trim_start()
        .strip_prefix('●')
        .map_or(text.as_str(), |rest| {
            rest.split_once('\n').map_or("", |two| two.1)
        });
    let own = |text: &str| -> String {
        let lines = text
            .lines()
            .map(|line| line.strip_prefix("    ").unwrap_or(line));
        lines
            .take_while(|line| !line.trim_start().starts_with("at "))
            .collect::<Vec<_>>()
            .join("\n")
            .trim()
            .to_owned()
    };
    // For files with syntax errors Jest writes a page of advice first.
    let message = match body.split_once("\n    Details:\n") {
        Some((head, details)) => {
            let first = head.trim().lines().next().unwrap_or_default();
            format!("{first}\n{}", own(details))
        }
        None => own(body),
    };
    let base = file.file.rsplit('/').next().unwrap_or_default();
    let mut frames = stack::parse_v8(&text).1;
    frames.splice(..0, babel_place(&text));
    let own = frames
        .iter()
        .find(|frame| frame.file.ends_with(base))
        .and_then(|own| Some((own.line?, own.column)));
    let own = own.or_else(|| stack::place_in(&text, base));
    let mut message = message;
    let (line, column) = stack::place_to_fix(own, &frames, base, &mut message).unzip();
    let phase = if file.tests.is_empty() {
        Phase::Collect
    } else {
        Phase::Hook
    };
    collector.file_error(&file.file, phase, &message, line, column.flatten());
}

/// Parses Babel's place: `SyntaxError: /p/a.js: Unexpected token (1:26)`, whose columns count from
/// 0.
fn babel_place(text: &str) -> Option<Frame> {
    let line = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix("SyntaxError: "))?;
    let (file, said) = line.split_once(": ")?;
    let (line, column) = said
        .strip_suffix(')')?
        .rsplit_once('(')?
        .1
        .split_once(':')?;
    let column = column.parse::<u32>().ok()?.checked_add(1);
    Some(Frame {
        file: file.to_owned(),
        line: line.parse().ok(),
        column,
        function: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jest_error_causes_have_places() {
        let mut collector = ResultCollector::new("/p");
        let text = "Error: cannot load\n    at x (/p/a.test.js:3:36)\n\n[cause]: TypeError: bad\n    at load (/p/a.js:1:25)\n\n\
            [errors]: one\n    at y (/p/b.js:2:3)";
        let told = errors(&mut collector, text, None).into_iter().map(|error| {
            let place = error.stack[0].clone();
            (
                error.class.unwrap_or_default(),
                error.message,
                place.file,
                place.line,
            )
        });
        let expected = [
            ("Error", "cannot load", "a.test.js", 3),
            ("caused by TypeError", "bad", "a.js", 1),
            ("in it error", "one", "b.js", 2),
        ];
        let expected = expected.map(|(class, message, file, line)| {
            (
                class.to_owned(),
                message.to_owned(),
                file.to_owned(),
                Some(line),
            )
        });
        assert_eq!(told.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn jest_file_error_names_place_in_imported_file() {
        let of = |message: &str| {
            let mut collector = ResultCollector::new("/p");
            file_error(
                &mut collector,
                &JestEvent {
                    file: "a.test.js".into(),
                    message: message.into(),
                    ..JestEvent::default()
                },
            );
            let error = collector.results.file_errors.remove(0);
            (
                error.message.lines().last().map(str::to_owned),
                error.line,
                error.column,
            )
        };
        let told = |name: &str, from: &str| {
            format!(
                "  ● Test suite failed to run\n\n    Jest encountered an unexpected token\n\n    Details:\n\n    SyntaxError: \
                 /p/{name}: Unexpected token (2:13)\n\n    > 2 | x\n\n      at p (node_modules/x/lib.js:1:1)\n{from}"
            )
        };
        let from = "      at Object.<anonymous> (a.test.js:1:18)\n";
        assert_eq!(
            of(&told("lib.js", from)),
            (Some("at lib.js:2:14".to_owned()), None, None)
        );
        assert_eq!(
            of(&told("a.test.js", "")),
            (Some("> 2 | x".to_owned()), Some(2), Some(14))
        );
    }

    #[test]
    fn jest_process_exit_before_end_is_detected() {
        let of = |more: &str| {
            let report = format!(
                "{{\"ev\":\"init\",\"files\":0}}\n{{\"ev\":\"end\",\"success\":true,\"files\":0{more}\n"
            );
            let results = parse(
                &Sources {
                    report: report.as_bytes(),
                    ..Sources::default()
                },
                Bound::default(),
            );
            (results.ended, results.is_cut_short)
        };
        assert_eq!(of(",\"goes_on\":true}"), (true, true));
        assert_eq!(of(",\"goes_on\":true}\n{\"ev\":\"over\"}"), (true, false));
        // With `forceExit` Jest itself ends the process.
        assert_eq!(of("}"), (true, false));
    }
}
