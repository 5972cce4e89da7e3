//! Bun 1.3 and newer: its `JUnit` XML, which it writes at the end, and its text on stderr. Only the
//! text has errors outside of tests, and the messages before Bun 1.4.

use crate::prelude::*;

/// Bun 1.3 and newer.
pub(crate) struct Bun;

impl ProjectTool for Bun {
    fn about(&self) -> ToolDescription {
        ToolDescription::on_path(Language::JavaScript, "bun", "Bun 1.3 and newer", "bun")
    }

    fn sign(&self, level: &ProjectLevel<'_>) -> Sign {
        let is_called = |script: &str| script.contains("bun test");
        let mut types = ["@types/bun", "bun-types"].into_iter();
        node::script_sign(level, "bun test", &is_called)
            .or_else(|| types.find_map(|name| node::dependency_sign(level, name)))
            .or_else(|| level.section("bunfig.toml", "[test"))
    }
}

impl Runner for Bun {
    fn tests_of(&self, stem: &str) -> Option<String> {
        Some(javascript::tests_by_ending(stem))
    }

    fn plan(&self, wanted: &RunInputs<'_>) -> Result<RunPlan, TestrunError> {
        let mut plan = javascript::program(wanted, Some("test"));
        plan.environment.push(("NO_COLOR", "1".to_owned()));
        plan.add(["--no-coverage", "--reporter=junit"]);
        plan.add([format!("--reporter-outfile={}/{REPORT}", wanted.place)]);
        javascript::select(&mut plan, wanted, "--test-name-pattern");
        // Otherwise they would be parts of paths.
        let exact = |path: String| {
            let is_exact = path.starts_with(['/', '.']);
            if is_exact { path } else { format!("./{path}") }
        };
        let paths = paths(wanted, PathStyle::Exact).into_iter();
        plan.add(paths.map(exact));
        Ok(plan)
    }

    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
        let text = read_text(sources.stderr, bound);
        let mut collector = junit::parse_with(sources, bound, |case| adapt(case, &text));
        collector.find_version(&String::from_utf8_lossy(sources.stdout), "bun test v");
        for (file, block) in &text.errors {
            let (message, frames) = stack::split_trace(block);
            let mut message = message.to_owned();
            let place = stack::place_to_fix(None, &frames, file, &mut message);
            let (line, column) = place.unzip();
            collector.add_file(file);
            collector.file_error(file, Phase::Collect, &message, line, column.flatten());
        }
        if !collector.results.begun {
            collector.results.begun = !text.file.is_empty();
            collector.results.ended = text.has_ended;
            for test in &text.tests {
                let id = collector.name(&join_id([test.file.as_str(), &test.name]));
                let mut case = Case::new(id, collector.name(&test.name), test.state);
                if !test.error.is_empty() {
                    let (message, frames) = stack::split_trace(&test.error);
                    let mut error = collector.error(None, message);
                    error.stack = collector.stack(frames);
                    case.errors.push(error);
                }
                collector.add(case);
                collector.add_file(&test.file);
            }
            if !text.has_ended && !text.file.is_empty() {
                collector.add_file(&text.file);
                collector.add_unfinished(&text.file);
            }
        }
        collector.results
    }

    /// If a filter matches no test, Bun exits with 1.
    fn ended_without_tests(&self, results: &TestResults, exit_code: Option<i32>) -> bool {
        let words = ["matched 0 tests", "had no matches"];
        exit_code == Some(0) || words.iter().any(|words| results.remarks.contains(words))
    }
}

/// Text on stderr.
#[derive(Default)]
struct BunText {
    /// The last file that began.
    file: String,
    tests: Vec<BunTest>,
    /// Files with errors outside of tests, and the errors.
    errors: Vec<(String, String)>,
    /// `true` if the text has the sum of all tests.
    has_ended: bool,
}

struct BunTest {
    file: String,
    /// Names of the suites and of the test, with ` > ` between them.
    name: String,
    state: State,
    error: String,
}

/// Reads the text: a line with the name of a file, and a line for each test after its error.
fn read_text(bytes: &[u8], bound: Bound<'_>) -> BunText {
    const STATES: [(&str, State); 4] = [
        ("(pass) ", State::Passed),
        ("(fail) ", State::Failed),
        ("(skip) ", State::Skipped),
        ("(todo) ", State::Todo),
    ];
    let mut text = BunText::default();
    let (mut block, mut is_outside) = (String::new(), false);
    for line in lines::lines(bytes, bound) {
        let line = String::from_utf8_lossy(line);
        let of_test = STATES
            .iter()
            .find_map(|(mark, state)| Some((line.strip_prefix(mark)?, *state)));
        let file = line.strip_suffix(':').filter(|file| {
            Language::of(file) == Some(Language::JavaScript) && !file.contains(": ")
        });
        if let Some((rest, state)) = of_test {
            let name = rest.rsplit_once(" [").map_or(rest, |(name, _)| name);
            text.tests.push(BunTest {
                file: text.file.clone(),
                name: name.to_owned(),
                state,
                error: error_in(&std::mem::take(&mut block)),
            });
        } else if let Some(file) = file {
            file.clone_into(&mut text.file);
            block.clear();
        } else if line == "# Unhandled error between tests" {
            is_outside = true;
        } else if is_outside && line.starts_with("-----") {
            if !block.is_empty() {
                let error = error_in(&std::mem::take(&mut block));
                text.errors.push((text.file.clone(), error));
                is_outside = false;
            }
        } else {
            text.has_ended = line.starts_with("Ran ") && line.contains(" across ");
            block.push_str(&line);
            block.push('\n');
        }
    }
    text
}

/// Returns the error in a block of text, without the source code before it.
fn error_in(block: &str) -> String {
    let is_mark = |line: &str| line.trim_start() == "^";
    let lines = || block.lines();
    let code = lines().position(is_mark).map(|at| at + 1);
    let first = code.or_else(|| lines().position(|line| line.starts_with("error: ")));
    let text: Vec<&str> = lines().skip(first.unwrap_or_default()).collect();
    let text = text.join("\n");
    text.strip_prefix("error: ").unwrap_or(&text).to_owned()
}

/// Completes a case: its suites without the file, and the message that it lacks.
fn adapt(case: &mut JunitCase, text: &BunText) {
    case.is_in_file = true;
    case.around.remove(0);
    if let Some(skip) = &mut case.skipped {
        skip.kind = skip.message.to_lowercase();
    }
    let name = join_id(case.around.iter().chain([&case.name]).map(String::as_str));
    let is_own = |test: &&BunTest| test.file == case.file && test.name == name;
    for fault in &mut case.faults {
        if fault.text.is_empty() && fault.message.is_empty() {
            let test = text.tests.iter().find(is_own);
            fault.text = test.map(|test| test.error.clone()).unwrap_or_default();
        }
        if fault.text.is_empty() && fault.message.is_empty() {
            fault.message = std::mem::take(&mut fault.kind);
        }
        if fault.kind == "AssertionError" {
            fault.kind.clear();
        }
    }
}
