//! `cargo test`: the text of libtest on stdout, with Cargo's own lines on stderr. The JSON of
//! libtest needs a nightly toolchain; its text is what everybody reads
//! (`library/test/src/formatters/pretty.rs`).

use crate::limits::MAX_KEPT_TESTS;
use crate::testrun::prelude::*;

/// The tests of one program: from `running 3 tests` to `test result:`.
#[derive(Default)]
struct TestBlock {
    announced: u64,
    tests: Vec<(String, State)>,
    /// Beyond those that are kept.
    more: u64,
    /// The test whose line has no end yet.
    begun: Option<String>,
    /// The tests that failed, with what they wrote.
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

    /// Whether its tests are of documentation: `src/lib.rs - add (line 5)`.
    fn is_doc(&self) -> bool {
        self.tests
            .first()
            .is_some_and(|(name, _)| name.contains(" - ") && name.contains("(line "))
    }
}

pub fn parse(sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
    let mut collector = ResultCollector::new(sources.root);
    let stderr = String::from_utf8_lossy(sources.stderr);
    collector.results.build_failed = rust_text::compile_errors(&mut collector, &stderr);
    let blocks = blocks(sources.stdout, bound);
    let programs = programs(&stderr);
    collector.results.begun = !blocks.is_empty();
    // Every program that Cargo started has told how it ended, and so has Cargo.
    collector.results.ended = !blocks.is_empty() && blocks.iter().all(|block| block.ended);
    let told = ToldPrograms::of(&programs, &blocks, sources.own_harness);
    let mut at = 0;
    for block in blocks {
        let program = next_program(&told.programs, &mut at, &block);
        add(&mut collector, block, program);
    }
    for (program, is_own) in &told.silent {
        if *is_own {
            collector.own_harness(program);
        } else {
            collector.silent(program);
        }
    }
    died(&mut collector, &stderr, &programs, &told);
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
            // What the test wrote without capture stands between.
            if let Some(name) = block.begun.take() {
                block.end(name, state);
            }
        }
    }
    blocks
}

/// `3 tests`, which is all of the line.
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
    // How the test has to end is no part of its name.
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

/// A program that Cargo started: what it says of it, and whether it is documentation.
fn programs(stderr: &str) -> Vec<(String, bool)> {
    let name = |line: &str| {
        let line = line.trim_start();
        // With `term.verbose` whole commands are told so, those of the compiler too.
        if let Some(rest) = line
            .strip_prefix("Running ")
            .filter(|rest| !rest.starts_with('`'))
        {
            let (source, binary) = rest.split_once(" (").unwrap_or((rest, ""));
            let source = source.strip_prefix("unittests ").unwrap_or(source);
            // The binary is the crate's name and a hash.
            let binary = binary
                .trim_end_matches(')')
                .rsplit('/')
                .next()
                .unwrap_or_default();
            let binary = binary.rsplit_once('-').map_or(binary, |(name, _)| name);
            return Some((
                if binary.is_empty() {
                    source.to_owned()
                } else {
                    format!("{binary} ({source})")
                },
                false,
            ));
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

/// Which programs have told of their tests.
struct ToldPrograms {
    /// Those of the blocks, in order; none if that is not known.
    programs: Vec<(String, bool)>,
    /// Those that have told nothing, and whether they have a harness of their own.
    silent: Vec<(String, bool)>,
}

impl ToldPrograms {
    /// Each program of libtest tells at least one block, if only `running 0 tests`; one with
    /// another harness may.
    fn of(programs: &[(String, bool)], blocks: &[TestBlock], own_harness: &[String]) -> Self {
        let own = |name: &str| {
            let (binary, source) = name.split_once(" (").unwrap_or((name, ""));
            own_harness.iter().any(|known| {
                known.replace('-', "_") == binary || known == source.trim_end_matches(')')
            })
        };
        let docs = programs.iter().filter(|(_, is_doc)| *is_doc).count();
        let of_docs = blocks.iter().filter(|block| block.is_doc()).count();
        // Documentation without examples tells of no tests, and cannot be told from a program
        // without any.
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

/// Cargo tells programs on one stream, and they tell their tests on the other, both in order; the
/// tests of a crate's documentation may be several programs.
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
                // The place is in a file that the compiler made for it.
                error.stack.clear();
            } else {
                // Both streams of a test are captured into one.
                case.stdout = collector.output(out);
            }
            case.errors.push(error);
        }
        collector.add(case);
    }
    if block.ended {
        return;
    }
    collector.not_run(block.announced.saturating_sub(seen));
    match (block.begun, program) {
        (Some(name), program) => {
            let id = program.map_or_else(|| name.clone(), |program| format!("{program} > {name}"));
            collector.unfinished(&id);
        }
        (None, Some(program)) => collector.unfinished(program),
        (None, None) => {}
    }
}

/// `src/lib.rs - add (line 5)`.
fn doc_place(name: &str) -> Option<(&str, u32)> {
    let (file, rest) = name.split_once(" - ")?;
    let line = rest[rest.rfind("(line ")? + "(line ".len()..]
        .split(')')
        .next()?;
    Some((file, line.parse().ok()?))
}

/// A program that died: `process didn't exit successfully: ... (signal: 6, SIGABRT: ...)`.
fn died(
    collector: &mut ResultCollector<'_>,
    stderr: &str,
    programs: &[(String, bool)],
    told: &ToldPrograms,
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
        let binary = path
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .rsplit_once('-')
            .map_or(path, |(name, _)| name);
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
            collector.file_error(
                program,
                Phase::Hook,
                &format!("failed without telling of a test: {how}"),
                None,
                None,
            );
        }
    }
}
