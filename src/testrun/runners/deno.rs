//! Deno 2: its `JUnit` XML, which it writes at the end, and its text.

use crate::by_language::deno;
use crate::prelude::*;

/// Deno 2.
pub(crate) struct Deno;

impl ProjectTool for Deno {
    fn about(&self) -> ToolDescription {
        ToolDescription::on_path(Language::JavaScript, "deno", "Deno 2", "deno")
    }

    fn sign(&self, level: &ProjectLevel<'_>) -> Sign {
        let script = javascript::test_script(level.tree, level.dir, "deno");
        let called = script.filter(|(_, text)| text.contains("deno test"));
        let called = called.map(|(file, _)| {
            let why = format!("the test script of {file} runs deno test");
            (SignWeight::Script, why)
        });
        called.or_else(|| deno::sign(level))
    }

    fn program(&self, context: &RunContext<'_>, project: &Checked<Read>) -> ToolProgram {
        deno::program(context, project)
    }
}

impl Runner for Deno {
    fn tests_of(&self, stem: &str) -> Option<String> {
        Some(javascript::tests_by_ending(stem))
    }

    fn plan(&self, wanted: &RunInputs<'_>) -> Result<RunPlan, TestrunError> {
        let mut plan = javascript::program(wanted, Some("test"));
        plan.add([format!("--junit-path={}/{REPORT}", wanted.place)]);
        plan.select_names(wanted, "--filter", |failed| {
            // Steps run with their test, whose name may hold ` > `, too.
            let names = failed.iter().flat_map(|test| {
                let ends = 1..=test.names.len();
                ends.map(|end| escape_regex(&test.names[..end].join(" > ")).replace('/', "\\/"))
            });
            format!("/^{}$/", any_of(names))
        });
        plan.add(paths(wanted, PathStyle::Exact));
        Ok(plan)
    }

    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
        let mut collector = junit::parse_with(sources, bound, adapt);
        let text = read_text(sources.stdout, bound);
        for (file, error) in &text.errors {
            let (message, frames) = stack::split_trace(error);
            let frame = frames.iter().find(|frame| frame.file.ends_with(file));
            let (line, column) = frame.map_or((None, None), |frame| (frame.line, frame.column));
            let message = message.lines().next().unwrap_or_default();
            collector.add_file(file);
            collector.file_error(file, Phase::Collect, message, line, column);
        }
        if !collector.results.begun {
            collector.results.begun = !text.running.is_empty();
            if text.running.is_empty() {
                for error in deno::diagnostics(sources.stderr, bound) {
                    collector.results.build_failed = true;
                    let file = error.file.unwrap_or_default();
                    collector.file_error(
                        &file,
                        Phase::Compile,
                        &error.message,
                        error.line,
                        error.column,
                    );
                }
            } else {
                collector.add_file(text.running.split(" > ").next().unwrap_or_default());
                collector.add_unfinished(&text.running);
            }
        }
        collector.results
    }

    /// If there is no test, Deno exits with 1.
    fn ended_without_tests(&self, results: &TestResults, exit_code: Option<i32>) -> bool {
        exit_code == Some(0) || results.remarks.contains("No test modules found")
    }
}

/// Text on stdout.
#[derive(Default)]
struct DenoText {
    /// The last file that began, and its test that began and has no result.
    running: String,
    /// Files with errors outside of tests, and the errors.
    errors: Vec<(String, String)>,
}

/// Reads the text: `running 2 tests from ./a_test.ts`, and `name ... ok (1ms)` for each test. After
/// them `./a_test.ts (uncaught error)` begins the text of an error.
fn read_text(bytes: &[u8], bound: Bound<'_>) -> DenoText {
    let mut text = DenoText::default();
    let mut file = String::new();
    let mut block: Option<(String, String)> = None;
    for line in lines::lines_with_empty(bytes, bound) {
        let line = String::from_utf8_lossy(line);
        let begun = line
            .strip_prefix("running ")
            .and_then(|rest| rest.split_once(" from "));
        if let Some((_, name)) = begun {
            name.trim_start_matches("./").clone_into(&mut file);
            text.running.clone_from(&file);
        } else if let Some(name) = line.strip_suffix(" (uncaught error)") {
            block = Some((name.trim_start_matches("./").to_owned(), String::new()));
        } else if let Some((name, rest)) = line
            .strip_prefix("note ")
            .and_then(|rest| rest.split_once(" called `Deno.exit("))
        {
            // Deno 2.9 goes on with the other files, and reports success.
            let name = name.trim_start_matches("./").to_owned();
            let error = format!("it called `Deno.exit({rest}");
            text.errors.push((name, error));
        } else if let Some((name, error)) = &mut block {
            match line.strip_prefix("error: ") {
                Some(message) => error.push_str(message),
                None if line.is_empty() || error.is_empty() => {
                    let error = std::mem::take(error);
                    text.errors.push((std::mem::take(name), error));
                    block = None;
                }
                None => error.extend(["\n", &line]),
            }
        } else if let Some((name, end)) = line.split_once(" ...")
            && !line.starts_with(' ')
        {
            let is_running = end.trim().is_empty();
            let name = if is_running { name } else { "" };
            text.running = join_id([file.as_str(), name]);
        }
    }
    text.errors.retain(|(_, error)| !error.is_empty());
    text
}

/// Completes a case: its file, and the test around a step. The source code is left out of messages.
fn adapt(case: &mut JunitCase) {
    case.is_in_file = true;
    case.file = case.class.trim_start_matches("./").to_owned();
    case.around = case.name.split(" > ").map(str::to_owned).collect();
    case.name = case.around.pop().unwrap_or_default();
    for fault in &mut case.faults {
        if let Some(message) = fault.message.strip_prefix("Uncaught ") {
            fault.message = message.to_owned();
        }
        let mut lines: Vec<&str> = fault.text.lines().collect();
        if let Some(mark) = lines.iter().position(|line| line.trim_start() == "^") {
            lines.drain(mark.saturating_sub(1)..=mark);
            fault.text = lines.join("\n");
        }
    }
}
