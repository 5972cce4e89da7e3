//! Parser for `go test -json`: the events of `go doc test2json`, and compiler errors of packages
//! that cannot be built.

use replay_base::limits::{MAX_KEPT_TESTS, MAX_TEST_ERRORS, MAX_TEST_FRAMES, MAX_TEST_SUITES};

use crate::prelude::*;

/// Maximum bytes buffered of the output of all unfinished tests.
const MAX_OPEN_BYTES: usize = 32 * 1024 * 1024;
/// Ends of a test: the text of the test program, and the action of the event.
const TEST_ENDS: [(&str, &str); 3] = [
    ("--- PASS: ", "pass"),
    ("--- FAIL: ", "fail"),
    ("--- SKIP: ", "skip"),
];

/// Beginnings of lines on the result of a package.
const PACKAGE_LINES: [&str; 6] = [
    "FAIL\t",
    "FAIL\n",
    "ok  \t",
    "PASS\n",
    "?   \t",
    "exit status ",
];

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GoEvent {
    action: String,
    #[serde(default)]
    package: String,
    #[serde(default)]
    test: String,
    #[serde(default)]
    output: String,
    elapsed: Option<f64>,
    failed_build: Option<String>,
}

impl GoEvent {
    fn end(package: &str, test: &str, action: &str) -> Self {
        let [action, package, test] = [action, package, test].map(str::to_owned);
        Self {
            action,
            package,
            test,
            ..Self::default()
        }
    }
}

#[derive(Default)]
struct GoTest {
    order: usize,
    output: KeptOutput,
    /// End of the test, found after output without a newline: test2json before Go 1.20 reports it
    /// as output.
    late_end: Option<&'static str>,
    /// `true` if it has subtests: it is a suite then.
    is_suite: bool,
    /// `true` if the result of the package follows directly: the test program ended inside the
    /// test.
    is_cut: bool,
}

#[derive(Default)]
struct GoPackage {
    order: usize,
    output: KeptOutput,
    failures: u64,
    ended: bool,
    /// `true` if the test program has reported its end. An `os.Exit` before that is no end.
    done: bool,
}

struct GoReader<'a> {
    collector: ResultCollector<'a>,
    go_package: &'a str,
    /// Unfinished tests by package and name.
    open: HashMap<(String, String), GoTest>,
    packages: HashMap<String, GoPackage>,
    begun: usize,
    bytes: usize,
}

/// Parses stdout, and for older compilers stderr.
pub(super) fn parse(sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
    let mut reader = GoReader {
        collector: ResultCollector::new(sources.root),
        go_package: sources.go_package,
        open: HashMap::new(),
        packages: HashMap::new(),
        begun: 0,
        bytes: 0,
    };
    for line in lines::lines(sources.stdout, bound) {
        match serde_json::from_slice::<GoEvent>(line) {
            Ok(event) => reader.event(&event),
            Err(_) => reader.add_compiler_error(&String::from_utf8_lossy(line)),
        }
    }
    for line in lines::lines(sources.stderr, bound) {
        reader.add_compiler_error(&String::from_utf8_lossy(line));
    }
    reader.finish()
}

impl GoReader<'_> {
    fn event(&mut self, event: &GoEvent) {
        let results = &mut self.collector.results;
        match event.action.as_str() {
            "build-output" => return self.add_compiler_error(event.output.trim_end()),
            "build-fail" => {
                (results.build_failed, results.begun) = (true, true);
                return;
            }
            _ => results.begun = true,
        }
        if event.package.is_empty() {
            return;
        }
        if !self.packages.contains_key(&event.package) {
            if self.packages.len() >= MAX_KEPT_TESTS {
                return;
            }
            let package = GoPackage {
                order: self.packages.len(),
                ..GoPackage::default()
            };
            self.packages.insert(event.package.clone(), package);
        }
        if event.test.is_empty() {
            self.of_package(event);
        } else {
            self.of_test(event);
        }
    }

    fn of_package(&mut self, event: &GoEvent) {
        let Some(package) = self.packages.get_mut(&event.package) else {
            return;
        };
        match event.action.as_str() {
            "output" => {
                package.done |= event.output.ends_with("PASS\n");
                let has = |word: &&str| event.output.contains(word);
                let starts = |word: &&str| event.output.starts_with(word);
                if ["[build failed]", "[setup failed]"].iter().any(has) {
                    self.collector.results.build_failed = true;
                    package.failures += 1;
                } else if !PACKAGE_LINES.iter().any(starts) {
                    push(&mut package.output, &event.output);
                }
            }
            "fail" => {
                package.ended = true;
                let output = std::mem::take(&mut package.output).text();
                self.finish_from_output(&event.package);
                self.handle_unfinished(event, &output);
                let Some(package) = self.packages.get(&event.package) else {
                    return;
                };
                // The output has the only reason: the program died before or between its tests.
                if package.failures == 0 && event.failed_build.is_none() {
                    let (message, frames) = split_panic(&output);
                    let mut own = frames
                        .iter()
                        .filter(|frame| !stack::is_library(&frame.file));
                    let place = Frame::at(event.package.clone(), None);
                    let Frame { file, line, .. } = own.next().unwrap_or(&place);
                    self.collector
                        .file_error(file, Phase::Hook, message, *line, None);
                }
            }
            "pass" => {
                package.ended = true;
                if !package.done {
                    self.collector.add_silent(&event.package);
                }
                self.finish_from_output(&event.package);
            }
            "skip" => package.ended = true,
            _ => {}
        }
    }

    /// Handles the unfinished tests of a failed package: the process died in one of them.
    fn handle_unfinished(&mut self, event: &GoEvent, output: &str) {
        let left = self.take_open(|(package, _), _| *package == event.package);
        let left: Vec<_> = left
            .into_iter()
            .map(|(test, open)| (test, open.is_suite, open.output.text()))
            .collect();
        let is_told = left.iter().any(|(.., said)| is_panic(said));
        for (test, is_suite, mut said) in left {
            let has_panicked = is_panic(&said);
            if is_suite && !has_panicked {
                continue;
            }
            if is_told && !has_panicked {
                // The test was waiting for its turn, or ran in parallel to the failed one.
                self.collector.add_not_run(1);
                continue;
            }
            if !is_told {
                said.push_str(output);
                said.push_str("\nthe test program died\n");
            }
            self.end(&GoEvent::end(&event.package, &test, "fail"), false, &said);
        }
    }

    /// Removes unfinished tests; returns them by name, in the order of their starts.
    fn take_open(
        &mut self,
        is_it: impl Fn(&(String, String), &GoTest) -> bool,
    ) -> Vec<(String, GoTest)> {
        let taken = self.open.extract_if(|key, open| is_it(key, open));
        let mut taken: Vec<_> = taken.map(|((_, test), open)| (test, open)).collect();
        taken.sort_by_key(|(_, open)| open.order);
        let bytes: usize = taken.iter().map(|(_, open)| open.output.len()).sum();
        self.bytes = self.bytes.saturating_sub(bytes);
        taken
    }

    /// Finishes the tests whose end is in their output alone.
    fn finish_from_output(&mut self, package: &str) {
        let said = self.take_open(|(of, _), open| of == package && open.late_end.is_some());
        for (test, open) in said {
            let end = GoEvent::end(package, &test, open.late_end.unwrap_or_default());
            self.end(&end, open.is_suite, &open.output.text());
        }
    }

    fn of_test(&mut self, event: &GoEvent) {
        let key = (event.package.clone(), event.test.clone());
        match event.action.as_str() {
            "run" => {
                if self.open.len() >= MAX_KEPT_TESTS {
                    return;
                }
                // A subtest is named after its parent, a slash and its own name, which may contain
                // slashes too.
                let mut around = event.test.as_str();
                for _ in 0..MAX_TEST_SUITES {
                    let Some((parent, _)) = around.rsplit_once('/') else {
                        break;
                    };
                    if let Some(open) = self
                        .open
                        .get_mut(&(event.package.clone(), parent.to_owned()))
                    {
                        open.is_suite = true;
                        break;
                    }
                    around = parent;
                }
                self.begun += 1;
                let order = self.begun;
                self.open.insert(
                    key,
                    GoTest {
                        order,
                        ..GoTest::default()
                    },
                );
            }
            "output" => {
                let Some(open) = self.open.get_mut(&key) else {
                    return;
                };
                let words = event.output.trim_start();
                let is_frame = words.starts_with("=== ") || words.starts_with("--- ");
                // test2json before Go 1.20 attributes the package's output and end to the test.
                let of_package = event
                    .output
                    .strip_prefix("ok  \t")
                    .and_then(|rest| rest.strip_prefix(&*event.package));
                open.is_cut = !is_frame
                    && (open.is_cut || of_package.is_some_and(|rest| rest.starts_with('\t')));
                let end = |(words, action): &(&str, &'static str)| {
                    let (_, rest) = event.output.split_once(words)?;
                    rest.strip_prefix(&*event.test)?
                        .starts_with(" (")
                        .then_some(*action)
                };
                open.late_end = TEST_ENDS.iter().find_map(end).or(open.late_end);
                if !is_frame && self.bytes < MAX_OPEN_BYTES {
                    let before = open.output.len();
                    push(&mut open.output, &event.output);
                    self.bytes = (self.bytes + open.output.len()).saturating_sub(before);
                }
            }
            "pass" if self.open.get(&key).is_some_and(|open| open.is_cut) => {}
            "pass" | "fail" | "skip" => {
                if let Some(open) = self.open.remove(&key) {
                    self.bytes = self.bytes.saturating_sub(open.output.len());
                    self.end(event, open.is_suite, &open.output.text());
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, event: &GoEvent, is_suite: bool, output: &str) {
        let failed = event.action == "fail";
        let mut state = match event.action.as_str() {
            "pass" => State::Passed,
            "skip" => State::Skipped,
            _ => State::Failed,
        };
        if let (true, Some(package)) = (failed, self.packages.get_mut(&event.package)) {
            package.failures += 1;
        }
        let mut errors = Vec::new();
        let mut out = String::new();
        if failed {
            (errors, out) = self.errors(&event.package, output);
            if output.contains("panic: test timed out after ") {
                state = State::TimedOut;
            } else if is_panic(output) || output.ends_with("\nthe test program died\n") {
                state = State::Crashed;
            }
        }
        if is_suite && errors.is_empty() {
            return;
        }
        let (parents, name) = event.test.rsplit_once('/').unwrap_or(("", &event.test));
        let id = join_id([event.package.as_str(), event.test.as_str()]);
        let mut case = Case::new(self.collector.name(&id), self.collector.name(name), state);
        let parents = Some(parents).filter(|parents| !parents.is_empty());
        let suites: Vec<&str> = [event.package.as_str()]
            .into_iter()
            .chain(parents)
            .collect();
        case.suite = self.collector.suite(&suites);
        case.duration_ms = event.elapsed.and_then(millis);
        case.errors = errors;
        case.stdout = self.collector.output(&out);
        self.collector.add(case);
    }

    /// Splits a test's output into errors and other lines. `t.Error` writes `    file.go:12:
    /// message`, and indents further lines by four more spaces.
    fn errors(&mut self, package: &str, output: &str) -> (Vec<TestError>, String) {
        if is_panic(output) {
            let at = output.find("panic: ").unwrap_or_default();
            let (message, frames) = split_panic(&output[at..]);
            let message = message.strip_prefix("panic: ").unwrap_or(message);
            let message = message
                .trim_end_matches(" [recovered, repanicked]")
                .trim_end_matches(" [recovered]");
            let mut error = self.collector.error(Some("panic"), message);
            error.stack = self.collector.stack(frames);
            return (vec![error], output[..at].to_owned());
        }
        if let Some((got, want)) = output
            .strip_prefix("got:\n")
            .and_then(|rest| rest.split_once("want:\n"))
        {
            let message = "the example wrote something else";
            let mut error = self.collector.error(None, message);
            error.actual = Some(self.collector.text(got));
            error.expected = Some(self.collector.text(want));
            return (vec![error], String::new());
        }
        let mut found: Vec<(Frame, String)> = Vec::new();
        let mut rest = String::new();
        for line in output.lines() {
            if let Some((frame, message)) = message_place(line) {
                found.push((frame, message.to_owned()));
            } else if let (Some(last), Some(more)) =
                (found.last_mut(), line.strip_prefix("        "))
            {
                last.1.push('\n');
                last.1.push_str(more);
            } else {
                rest.push_str(line);
                rest.push('\n');
            }
        }
        let dir = self.dir(package);
        // `t.Log` writes the same format: the cause of the failure comes last.
        found.drain(..found.len().saturating_sub(MAX_TEST_ERRORS));
        let mut errors: Vec<_> = found
            .into_iter()
            .map(|(mut frame, message)| {
                frame.file = format!("{dir}{}", frame.file);
                let mut error = self.collector.error(None, &message);
                error.stack = self.collector.stack(vec![frame]);
                error
            })
            .collect();
        if let (true, Some(at)) = (errors.is_empty(), rest.find("the test program died")) {
            errors.push(self.collector.error(None, "the test program died"));
            rest.truncate(at);
        }
        (errors, rest)
    }

    /// Returns the directory of a package, if the package of the root is known.
    fn dir(&self, package: &str) -> String {
        let below = (!self.go_package.is_empty())
            .then(|| package.strip_prefix(self.go_package))
            .flatten();
        match below.and_then(|rest| rest.strip_prefix('/')) {
            Some(below) => format!("{below}/"),
            None if below == Some("") => String::new(),
            None => format!("{package}/"),
        }
    }

    /// Adds an error of the compiler, or of `go vet`, which runs before the tests.
    fn add_compiler_error(&mut self, line: &str) {
        if let Some((file, number, column, message)) = go_text::line(line) {
            self.collector.results.build_failed = true;
            self.collector
                .file_error(file, Phase::Compile, message, Some(number), column);
        }
    }

    fn finish(mut self) -> TestResults {
        let mut packages: Vec<_> = self.packages.into_iter().collect();
        packages.sort_by_key(|(_, package)| package.order);
        let ended = packages.iter().all(|(_, package)| package.ended);
        self.collector.results.ended = self.collector.results.begun && ended;
        let mut open: Vec<_> = self
            .open
            .into_iter()
            .filter(|(_, open)| !open.is_suite)
            .collect();
        open.sort_by_key(|(_, open)| open.order);
        for ((package, test), _) in &open {
            self.collector
                .add_unfinished(&join_id([package.as_str(), test.as_str()]));
        }
        self.collector.add_not_run(open.len() as u64);
        for (name, package) in packages {
            if !package.ended && !open.iter().any(|((of, _), _)| *of == name) {
                self.collector.add_unfinished(&name);
            }
        }
        // Packages are tested in parallel and end in any order.
        let results = &mut self.collector.results;
        results
            .failures
            .sort_by(|one, other| one.suite.first().cmp(&other.suite.first()));
        results
            .tests
            .sort_by(|one, other| package_of(&one.id).cmp(package_of(&other.id)));
        self.collector.results
    }
}

/// Returns the package in the id of a test.
fn package_of(id: &str) -> &str {
    id.split_once(" > ").map_or(id, |(package, _)| package)
}

/// Appends to an output. For a panic the beginning matters.
fn push(output: &mut KeptOutput, text: &str) {
    if text.starts_with("panic: ") || text.starts_with("fatal error: ") {
        output.keep_what_follows();
    }
    output.push(text);
}

fn is_panic(output: &str) -> bool {
    (output.starts_with("panic: ")
        || output.contains("\npanic: ")
        || output.contains("fatal error: "))
        && output.contains("\ngoroutine ")
}

/// Splits a panic into its message and frames: `\t/dir/file.go:12 +0x1d`.
fn split_panic(output: &str) -> (&str, Vec<Frame>) {
    let (message, stack) = output.split_once("\ngoroutine ").unwrap_or((output, ""));
    // Use all goroutines: a timeout panics in another goroutine than the hanging test's.
    let mut function = None;
    let mut frames = Vec::new();
    for line in stack.lines().skip(1) {
        let Some(place) = line.strip_prefix('\t') else {
            function = line.split('(').next().filter(|name| !name.is_empty());
            continue;
        };
        let place = place.split(" +0x").next().unwrap_or(place);
        let Some((file, number)) = place.rsplit_once(':') else {
            continue;
        };
        let function = function.map(|name| name.rsplit('/').next().unwrap_or(name).to_owned());
        frames.push(Frame {
            function,
            ..Frame::at(file, number.parse().ok())
        });
        if frames.len() >= MAX_TEST_FRAMES * 8 {
            break;
        }
    }
    // Go's own code surrounds the test, in any installation directory.
    let ends = ["/testing/testing.go", "/runtime/panic.go"];
    let own = frames
        .iter()
        .find_map(|frame| ends.iter().find_map(|end| frame.file.strip_suffix(end)));
    if let Some(own) = own.map(|own| format!("{own}/"))
        && frames.iter().any(|frame| !frame.file.starts_with(&own))
    {
        frames.retain(|frame| !frame.file.starts_with(&own));
    }
    (message.trim(), frames)
}

/// Parses `    file.go:12: message`.
fn message_place(line: &str) -> Option<(Frame, &str)> {
    let line = line.trim_start();
    let (place, message) = line
        .split_once(": ")
        .or_else(|| Some((line.strip_suffix(':')?, "")))?;
    let (file, number) = place.rsplit_once(':')?;
    let base = file
        .strip_suffix(".go")
        .filter(|base| !base.contains(' '))?;
    let file = format!("{base}.go");
    Some((Frame::at(file, Some(number.parse().ok()?)), message))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn go_test_with_program_exit_is_unfinished() {
        let of = |lines: &[(&str, &str, &str)]| {
            let event = |(action, test, output): &(&str, &str, &str)| {
                serde_json::json!({"Action": action, "Package": "x", "Test": test, "Output": output}).to_string()
            };
            let text = lines.iter().map(event).collect::<Vec<_>>().join("\n");
            let results = parse(
                &Sources {
                    stdout: text.as_bytes(),
                    ..Sources::default()
                },
                Bound::default(),
            );
            (results.summary.passed, results.unfinished, results.ended)
        };
        // `syscall.Exit(0)` with Go 1.19.
        let cut = [
            ("run", "TestA", ""),
            ("output", "TestA", "ok  \tx\t0.012s\n"),
            ("pass", "TestA", ""),
        ];
        assert_eq!(of(&cut), (0, vec!["x > TestA".to_owned()], false));
        // A test that only prints the same text.
        let whole = [
            ("run", "TestA", ""),
            ("output", "TestA", "ok  \tx\t0.012s\n"),
            ("output", "TestA", "--- PASS: TestA (0.00s)\n"),
            ("pass", "TestA", ""),
            ("output", "", "PASS\n"),
            ("pass", "", ""),
        ];
        assert_eq!(of(&whole), (1, vec![], true));
        // Its output has no newline, with Go 1.19.
        let joined = [
            ("run", "TestA", ""),
            ("output", "TestA", "no newline--- PASS: TestA (0.00s)\n"),
            ("output", "", "PASS\n"),
            ("pass", "", ""),
        ];
        assert_eq!(of(&joined), (1, vec![], true));
    }

    #[test]
    fn go_output_keeps_last_lines() {
        let of = |last: &str| {
            let event = |action: &str, output: &str| {
                serde_json::json!({"Action": action, "Package": "x", "Test": "TestA", "Output": output}).to_string()
            };
            let noise =
                (0..20_000).map(|line| event("output", &format!("    a_test.go:7: line {line}\n")));
            let last = last.split_inclusive('\n').map(|line| event("output", line));
            let lines: Vec<_> = [event("run", "")]
                .into_iter()
                .chain(noise)
                .chain(last)
                .chain([event("fail", "")])
                .collect();
            let text = lines.join("\n");
            let results = parse(
                &Sources {
                    stdout: text.as_bytes(),
                    ..Sources::default()
                },
                Bound::default(),
            );
            let error = results.failures[0].errors.last().unwrap();
            (
                error.message.clone(),
                error.stack[0].file.clone(),
                error.stack[0].line,
            )
        };
        let file = || "x/a_test.go".to_owned();
        assert_eq!(
            of("    a_test.go:18: got 1\n"),
            ("got 1".to_owned(), file(), Some(18))
        );
        let trace = "\nfunction(0x0)\n\t/other/b.go:1 +0x1\n".repeat(4000);
        let panic = format!(
            "panic: nil map\n\ngoroutine 7 [running]:\nx.TestA(0x1)\n\tx/a_test.go:6 +0x2e\n{trace}"
        );
        assert_eq!(of(&panic), ("nil map".to_owned(), file(), Some(6)));
    }
}
