//! Parser for `cargo test`: libtest's text on stdout, and Cargo's own lines on stderr. The JSON of
//! libtest needs a nightly toolchain, so this parses its text
//! (`library/test/src/formatters/pretty.rs`).

use replay_base::limits::MAX_KEPT_TESTS;

use crate::prelude::*;

/// Tests of one program: from `running 3 tests` to `test result:`.
#[derive(Default)]
struct TestBlock {
    announced: u64,
    tests: Vec<(String, State)>,
    /// Number of tests beyond the limit.
    more: u64,
    /// The test whose line is still incomplete.
    begun: Option<String>,
    /// Output of the failed tests by name.
    sections: HashMap<String, KeptOutput>,
    ended: bool,
}

impl TestBlock {
    fn end(&mut self, name: String, state: State) {
        if state.is_failure() {
            self.sections.insert(name.clone(), KeptOutput::default());
        }
        self.tests.push((name, state));
    }

    /// Returns true if its tests are documentation examples: `src/lib.rs - add (line 5)`.
    fn is_doc(&self) -> bool {
        self.tests
            .first()
            .is_some_and(|(name, _)| name.contains(" - ") && name.contains("(line "))
    }
}

pub(super) fn parse(sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
    let mut collector = ResultCollector::new(sources.root);
    let stderr = String::from_utf8_lossy(sources.stderr);
    collector.results.build_failed = rust_text::compile_errors(&mut collector, &stderr);
    let blocks = blocks(sources.stdout, bound);
    let programs = programs(&stderr);
    collector.results.begun = !blocks.is_empty();
    // All programs that Cargo started have reported their end, and so has Cargo.
    collector.results.ended = !blocks.is_empty() && blocks.iter().all(|block| block.ended);
    let told = ProgramReports::of(&programs, &blocks, sources.own_harness);
    let mut at = 0;
    for block in blocks {
        let program = next_program(&told.programs, &mut at, &block);
        add(&mut collector, block, program);
    }
    for (program, is_own) in &told.silent {
        if *is_own {
            collector.add_own_harness(program);
        } else {
            collector.add_silent(program);
        }
    }
    add_crash(&mut collector, &stderr, &programs, &told);
    collector.results
}

fn blocks(stdout: &[u8], bound: Bound<'_>) -> Vec<TestBlock> {
    let mut blocks: Vec<TestBlock> = Vec::new();
    let mut section: Option<String> = None;
    for line in lines::lines_with_empty(stdout, bound) {
        let line = String::from_utf8_lossy(line);
        if let Some(announced) = line.strip_prefix("running ").and_then(announced) {
            if blocks.len() < MAX_KEPT_TESTS {
                blocks.push(TestBlock {
                    announced,
                    ..TestBlock::default()
                });
            }
            section = None;
            continue;
        }
        let Some(block) = blocks.last_mut() else {
            continue;
        };
        let name = line
            .strip_prefix("---- ")
            .and_then(|rest| rest.strip_suffix(" stdout ----"));
        if let Some(name) = name.filter(|name| block.sections.contains_key(*name)) {
            section = Some(name.to_owned());
        } else if line.starts_with("test result: ") {
            (block.ended, section) = (true, None);
        } else if line == "failures:" {
            // The list of names after the sections.
            section = None;
        } else if let Some(name) = &section {
            if let Some(output) = block.sections.get_mut(name) {
                output.push(&line);
                output.push("\n");
            }
        } else if let Some(rest) = line.strip_prefix("test ") {
            test_line(block, rest);
        } else if let Some(state) = block.begun.as_ref().and(state(&line)) {
            // Uncaptured output of the test stands in between.
            if let Some(name) = block.begun.take() {
                block.end(name, state);
            }
        }
    }
    blocks
}

/// Parses `3 tests`, which must be the whole rest of the line.
fn announced(rest: &str) -> Option<u64> {
    rest.strip_suffix(" tests")
        .or_else(|| rest.strip_suffix(" test"))?
        .parse()
        .ok()
}

fn test_line(block: &mut TestBlock, rest: &str) {
    let Some((name, said)) = rest
        .rsplit_once(" ... ")
        .or_else(|| Some((rest.strip_suffix(" ...")?, "")))
    else {
        return;
    };
    // The expected outcome is not part of the name.
    let marks = [" - should panic", " - compile fail", " - compile"];
    let name = marks
        .iter()
        .find_map(|mark| name.strip_suffix(mark))
        .unwrap_or(name);
    if block.tests.len() >= MAX_KEPT_TESTS {
        block.more += 1;
        return;
    }
    match state(said) {
        Some(state) => block.end(name.to_owned(), state),
        None => block.begun = Some(name.to_owned()),
    }
}

fn state(said: &str) -> Option<State> {
    match said.split([' ', ',']).next().unwrap_or_default() {
        "ok" => Some(State::Passed),
        "FAILED" => Some(State::Failed),
        "ignored" => Some(State::Skipped),
        _ => None,
    }
}

/// Returns the crate of a test program: its file name without a hash.
fn crate_of(path: &str) -> &str {
    let file = path.rsplit('/').next().unwrap_or_default();
    file.rsplit_once('-').map_or(file, |(name, _)| name)
}

/// Returns the programs that Cargo started: the name of each, and `true` for documentation.
fn programs(stderr: &str) -> Vec<(String, bool)> {
    let name = |line: &str| {
        let line = line.trim_start();
        // With `term.verbose` the lines hold whole commands, also those of the compiler.
        if let Some(rest) = line
            .strip_prefix("Running ")
            .filter(|rest| !rest.starts_with('`'))
        {
            let (source, binary) = rest.split_once(" (").unwrap_or((rest, ""));
            let source = source.strip_prefix("unittests ").unwrap_or(source);
            let binary = crate_of(binary.trim_end_matches(')'));
            let is_named = !binary.is_empty();
            let name = if is_named {
                format!("{binary} ({source})")
            } else {
                source.to_owned()
            };
            return Some((name, false));
        }
        line.strip_prefix("Doc-tests ")
            .map(|name| (format!("{name} (doc)"), true))
    };
    stderr
        .lines()
        .filter_map(name)
        .take(MAX_KEPT_TESTS)
        .collect()
}

/// Test programs, by presence of a report.
struct ProgramReports {
    /// Programs of the blocks, in order; empty if unknown.
    programs: Vec<(String, bool)>,
    /// Programs without a report, each with `true` if it has a harness of its own.
    silent: Vec<(String, bool)>,
}

impl ProgramReports {
    /// Matches programs and blocks. A program of libtest prints at least one block, if only
    /// `running 0 tests`. A program with another harness need not.
    fn of(programs: &[(String, bool)], blocks: &[TestBlock], own_harness: &[String]) -> Self {
        let own = |name: &str| {
            let (binary, source) = name.split_once(" (").unwrap_or((name, ""));
            own_harness.iter().any(|known| {
                known.replace('-', "_") == binary || known == source.trim_end_matches(')')
            })
        };
        let docs = programs.iter().filter(|(_, is_doc)| *is_doc).count();
        let of_docs = blocks.iter().filter(|block| block.is_doc()).count();
        // Documentation without examples prints no tests. It looks like a program without any.
        let told = blocks
            .len()
            .saturating_sub(of_docs)
            .saturating_sub(docs.saturating_sub(of_docs));
        let ran: Vec<&str> = programs
            .iter()
            .filter(|(_, is_doc)| !is_doc)
            .map(|(name, _)| name.as_str())
            .collect();
        if ran.len() <= told {
            return Self {
                programs: programs.to_vec(),
                silent: Vec::new(),
            };
        }
        let (other, libtest): (Vec<&str>, Vec<&str>) = ran.iter().partition(|name| own(name));
        let named = |names: &[&str], is_own| {
            names
                .iter()
                .map(|name| ((*name).to_owned(), is_own))
                .collect::<Vec<_>>()
        };
        if libtest.len() == told {
            let programs = programs
                .iter()
                .filter(|(name, is_doc)| *is_doc || !own(name))
                .cloned()
                .collect();
            return Self {
                programs,
                silent: named(&other, true),
            };
        }
        if told == 0 {
            let programs = programs
                .iter()
                .filter(|(_, is_doc)| *is_doc)
                .cloned()
                .collect();
            return Self {
                programs,
                silent: [named(&other, true), named(&libtest, false)].concat(),
            };
        }
        let message = format!("{} of the programs {}", ran.len() - told, ran.join(", "));
        Self {
            programs: Vec::new(),
            silent: vec![(message, false)],
        }
    }
}

/// Returns the program of the next block. Cargo names programs on stderr, and they report on
/// stdout, both in the same order. The documentation of a crate may be several programs.
fn next_program<'a>(
    programs: &'a [(String, bool)],
    at: &mut usize,
    block: &TestBlock,
) -> Option<&'a str> {
    if block.is_doc() {
        if *at > 0
            && programs.get(*at - 1).is_some_and(|(_, is_doc)| *is_doc)
            && programs.get(*at).is_none_or(|next| !next.1)
        {
            return programs.get(*at - 1).map(|(name, _)| name.as_str());
        }
        while programs.get(*at).is_some_and(|(_, is_doc)| !is_doc) {
            *at += 1;
        }
    }
    let program = programs.get(*at).map(|(name, _)| name.as_str());
    *at += 1;
    program
}

fn add(collector: &mut ResultCollector<'_>, block: TestBlock, program: Option<&str>) {
    let is_doc = block.is_doc();
    let seen = block.tests.len() as u64 + block.more;
    let mut sections = block.sections;
    for (full, state) in block.tests {
        let id = program.map_or_else(|| full.clone(), |program| format!("{program} > {full}"));
        let (modules, name) = if is_doc {
            ("", full.as_str())
        } else {
            full.rsplit_once("::").unwrap_or(("", &full))
        };
        let mut case = Case::new(collector.name(&id), collector.name(name), state);
        let modules = modules.split("::").filter(|module| !module.is_empty());
        case.suite = collector.suite(&program.into_iter().chain(modules).collect::<Vec<_>>());
        if let Some((file, line)) = is_doc.then(|| doc_place(&full)).flatten() {
            (case.file, case.line) = (Some(collector.path(file)), Some(line));
        }
        if state.is_failure() {
            let text = sections.remove(&full).unwrap_or_default().text();
            let (mut error, out) = rust_text::failure(collector, &text);
            if is_doc {
                // The place is in a file generated by the compiler.
                error.stack.clear();
            } else {
                // libtest captures both streams of a test into one.
                case.stdout = collector.output(out);
            }
            case.errors.push(error);
        }
        collector.add(case);
    }
    if block.ended {
        return;
    }
    collector.add_not_run(block.announced.saturating_sub(seen));
    match (block.begun, program) {
        (Some(name), program) => {
            let id = program.map_or_else(|| name.clone(), |program| format!("{program} > {name}"));
            collector.add_unfinished(&id);
        }
        (None, Some(program)) => collector.add_unfinished(program),
        (None, None) => {}
    }
}

/// Parses `src/lib.rs - add (line 5)`.
fn doc_place(name: &str) -> Option<(&str, u32)> {
    let (file, rest) = name.split_once(" - ")?;
    let line = rest[rest.rfind("(line ")? + "(line ".len()..]
        .split(')')
        .next()?;
    Some((file, line.parse().ok()?))
}

/// Adds the error of a killed program: `process didn't exit successfully: ... (signal: 6, SIGABRT:
/// ...)`.
fn add_crash(
    collector: &mut ResultCollector<'_>,
    stderr: &str,
    programs: &[(String, bool)],
    told: &ProgramReports,
) {
    for line in stderr.lines() {
        let Some(rest) = line
            .trim_start()
            .strip_prefix("process didn't exit successfully: `")
        else {
            continue;
        };
        let Some((command, how)) = rest.rsplit_once("` (") else {
            continue;
        };
        let path = command.split(' ').next().unwrap_or_default();
        let binary = crate_of(path);
        let known = programs
            .iter()
            .find(|(name, _)| name.split(' ').next() == Some(binary));
        let program = known.map_or(path, |(name, _)| name.as_str());
        let how = how.trim_end_matches(')');
        let is_silent = told.silent.iter().any(|(name, _)| name == program);
        if how.starts_with("signal:") {
            let message = format!("the test program died: {how}");
            collector.file_error(program, Phase::Hook, &message, None, None);
        } else if is_silent {
            let message = format!("failed without reporting a test: {how}");
            collector.file_error(program, Phase::Hook, &message, None, None);
        }
    }
}
