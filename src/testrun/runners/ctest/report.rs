//! Results of `CTest`: states from its output, which grows with each test, and the tests' own output
//! from the `JUnit` XML, which it writes at its end.

use crate::prelude::*;

/// Begin of the line before the first test.
pub(super) const BEGIN: &str = "Test project ";
/// Variable of `CTestCustom.cmake` with the names of tests that do not run.
const IGNORED: &str = "CTEST_CUSTOM_TESTS_IGNORE ";
const NO_TESTS: &str = "No tests were found!!!";
/// Most lines of a failed assertion that are told.
const MAX_ASSERTION_LINES: usize = 20;

/// A test that has ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EndedTest<'a> {
    name: &'a str,
    /// Words on its end, such as `Passed` or `***Timeout`.
    words: &'a str,
    seconds: &'a str,
}

/// Parses ` 5/14 Test  #5: name .....***Not Run   0.00 sec`. Returns the numbers of ended tests and
/// of all, and the test.
pub(super) fn ended_test(line: &str) -> Option<((u64, u64), EndedTest<'_>)> {
    let (numbers, rest) = line.trim_start().split_once(" Test ")?;
    let (done, total) = numbers.split_once('/')?;
    let (_, rest) = rest.trim_start().strip_prefix('#')?.split_once(": ")?;
    let (name, end) = rest.split_once(" ..")?;
    let end = end.trim_start_matches('.').trim_end();
    let (words, seconds) = end.strip_suffix(" sec")?.rsplit_once(' ')?;
    let test = EndedTest {
        name,
        words: words.trim().trim_end_matches(':'),
        seconds,
    };
    Some(((done.trim().parse().ok()?, total.parse().ok()?), test))
}

impl EndedTest<'_> {
    fn state(&self) -> State {
        match self.words.trim_start_matches("***") {
            "Passed" => State::Passed,
            "Skipped" | "Not Run (Disabled)" => State::Skipped,
            "Not Run" => State::Errored,
            "Timeout" => State::TimedOut,
            words if words.contains("Exception") => State::Crashed,
            _ => State::Failed,
        }
    }
}

pub(super) fn parse(sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
    let mut collector = ResultCollector::new(sources.root);
    let mut outputs: HashMap<String, String> = HashMap::new();
    junit::cases(sources.report, bound, |case| {
        outputs.insert(case.name, case.out.text());
    });
    collector.find_version(&String::from_utf8_lossy(sources.stdout), "ctest version ");
    let mut running = Vec::new();
    for line in lines::lines(sources.stdout, bound) {
        let line = String::from_utf8_lossy(line);
        if let Some(names) = line.strip_prefix(IGNORED) {
            let names = names
                .split_whitespace()
                .map(|name| name.trim_matches('"').to_owned());
            let names: Vec<String> = names.filter(|name| !name.starts_with('$')).collect();
            collector.add_left_out("tests that the project ignores", &names);
        }
        let results = &mut collector.results;
        results.begun |= line.starts_with(BEGIN);
        results.ended |= line.starts_with("Total Test time") || line == NO_TESTS;
        if !results.begun {
            add_build_error(&mut collector, &line);
        } else if let Some((_, test)) = ended_test(&line) {
            running.retain(|name| name != test.name);
            add(&mut collector, &test, outputs.get(test.name));
        } else if let Some(started) = line.trim_start().strip_prefix("Start ")
            && let Some((_, name)) = started.split_once(": ")
        {
            running.push(name.to_owned());
        }
    }
    let stderr = String::from_utf8_lossy(sources.stderr);
    if !collector.results.begun {
        stderr
            .lines()
            .for_each(|line| add_build_error(&mut collector, line));
        add_configure_errors(&mut collector, &stderr);
    }
    collector.results.ended |= stderr.contains(NO_TESTS);
    for name in &running {
        collector.add_unfinished(name);
        collector.add_not_run(1);
    }
    collector.results
}

/// Adds an error of a compiler or a linker.
fn add_build_error(collector: &mut ResultCollector<'_>, line: &str) {
    if let Some((file, number, rest)) = place(line)
        && let Some((_, message)) = rest.split_once("error: ")
    {
        let column = rest.trim_start_matches(':').split(':').next();
        let column = column.and_then(|column| column.parse().ok());
        collector.results.build_failed = true;
        collector.file_error(file, Phase::Compile, message, Some(number), column);
    } else if line.contains("undefined reference to") {
        collector.run_error(Some("linker"), line, Vec::new());
    } else {
        // Make and Ninja end so.
        let is_end = line.contains("make: ***") || line.starts_with("ninja: build stopped");
        collector.results.build_failed |= is_end;
    }
}

/// Adds errors of `CMake`: `CMake Error at CMakeLists.txt:3 (find_package):`, and indented lines.
fn add_configure_errors(collector: &mut ResultCollector<'_>, stderr: &str) {
    for error in stderr.split("CMake Error").skip(1) {
        let (head, text) = error.split_once('\n').unwrap_or((error, ""));
        let place = head.strip_prefix(" at ").and_then(|rest| {
            let (file, rest) = rest.split_once(':')?;
            let number = rest.split([' ', ':']).next()?;
            Some(Frame::at(file, Some(number.parse().ok()?)))
        });
        let lines = text.lines();
        let text: Vec<&str> = lines
            .take_while(|line| line.is_empty() || line.starts_with(' '))
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        let message = if text.is_empty() {
            head.trim()
        } else {
            &text.join("\n")
        };
        collector.run_error(Some("cmake"), message, place.into_iter().collect());
    }
}

fn add(collector: &mut ResultCollector<'_>, test: &EndedTest<'_>, output: Option<&String>) {
    let name = collector.name(test.name);
    let mut case = Case::new(name.clone(), name, test.state());
    case.duration_ms = test.seconds.parse().ok().and_then(millis);
    if case.state.is_failure() {
        let output = output.map(String::as_str).unwrap_or_default();
        let words = test.words.replace("***", " ");
        match assertion(output) {
            Some((frame, message)) => {
                let mut error = collector.error(None, &message);
                error.stack = collector.stack(vec![frame]);
                case.file = error.stack.first().map(|frame| frame.file.clone());
                case.errors.push(error);
                if case.state != State::Failed {
                    case.errors.push(collector.error(None, words.trim()));
                }
            }
            None => case.errors.push(collector.error(None, words.trim())),
        }
        case.stdout = collector.output(output);
    }
    collector.add(case);
}

/// Finds the first failed assertion in the output of a test, with its place. `GoogleTest`, Catch2,
/// doctest, Boost.Test, Unity and `assert` write `file:line` or `file(line)` before it.
fn assertion(output: &str) -> Option<(Frame, String)> {
    let mut lines = output.lines();
    let (frame, first) = lines.by_ref().find_map(|line| {
        let (file, number, rest) = place(line)?;
        let words = rest.to_ascii_lowercase();
        let is_failure = ["fail", "error", "assert"]
            .iter()
            .any(|word| words.contains(word));
        let frame = Frame::at(file, Some(number));
        is_failure.then(|| (frame, rest.trim_start_matches(':').trim()))
    })?;
    // Marks of GoogleTest and rulers of the others end it.
    let is_end = |line: &&str| {
        !line.starts_with("[  ") && !line.starts_with("===") && !line.starts_with("---")
    };
    let more = lines.take_while(is_end).take(MAX_ASSERTION_LINES);
    let text: Vec<&str> = [first].into_iter().chain(more).collect();
    Some((frame, text.join("\n").trim_end().to_owned()))
}

/// Finds `file:line` or `file(line)` of a source in a line. Returns them and the rest.
fn place(line: &str) -> Option<(&str, u32, &str)> {
    let is_end = |next: char| !next.is_ascii_digit();
    line.match_indices([':', '(']).find_map(|(at, _)| {
        let before = &line[..at];
        let file = &before[before.rfind([' ', '[']).map_or(0, |space| space + 1)..];
        let after = &line[at + 1..];
        let end = after.find(is_end).unwrap_or(after.len());
        let number = after[..end].parse().ok()?;
        (Language::of(file) == Some(Language::Cpp))
            .then(|| (file, number, after[end..].trim_start_matches(')')))
    })
}
