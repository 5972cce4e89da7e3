//! Runs the tests of a project behind the walls, and reads what became of them.

use std::time::{Duration, Instant};

use super::choose::{self, Chosen, Missing, Program, choose};
use super::error::TestrunError;
use super::ground::Ground;
use super::kept::Log;
use super::model::{RunnerInfo, Scope, Summary, TestReport, TestRunner, TestStatus, TestsKind, Truncated};
use super::plan::{FailedTest, Plan, REPORT, Wanted, Which, line, plan, quoted};
use super::progress::Seen;
use super::reports::{self, Parsed, Sources};
use super::verdict;
use super::which::{cargo_parts, which};
use crate::exec::{Denied, Exit, Outcome, Stage};
use crate::fs;
use crate::limits::{MAX_TESTS_REPORT_BYTES, MAX_LAST_WORDS_BYTES, MAX_LAST_WORDS_LINES, TESTS_PROGRESS_BYTES};
use crate::policy::{Checked, Kind, PolicyError, Read};
use std::sync::Arc;

/// What a call asks for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request<'a> {
    /// The directory; the usual one if it is left out.
    pub cwd: Option<&'a str>,
    /// The runner, if it is named.
    pub runner: Option<TestRunner>,
    /// Files, directories and globs; empty for all.
    pub files: &'a [String],
    /// What names must match.
    pub filter: Option<&'a str>,
    /// Only what has changed affects.
    pub changed: bool,
    /// Only what failed in the run before.
    pub rerun_failed: bool,
    /// A command that writes JUnit XML.
    pub command: Option<&'a str>,
    /// Where it writes that, from the directory on.
    pub report: Option<&'a str>,
    /// Whether every test is listed.
    pub all: bool,
    /// When the run is ended.
    pub timeout: Duration,
}

/// What came of a run.
#[derive(Debug)]
pub struct Ran {
    /// What became of the tests.
    pub report: TestReport,
    /// What was chosen and why, and what else there is to say.
    pub notes: Vec<String>,
    /// The end of the output, where the report says too little.
    pub last_words: Option<String>,
    /// What the walls refused.
    pub denied: Vec<Denied>,
    /// The whole output.
    pub log: Option<Arc<Log>>,
}

/// Runs tests. `on_progress` is told the time since the beginning and how far the run is.
pub fn run(
    ground: &Ground<'_>,
    request: &Request<'_>,
    on_progress: &mut dyn FnMut(Duration, &str),
) -> Result<Ran, TestrunError> {
    let disk = ground.disk();
    let cwd = match request.cwd {
        Some(cwd) => disk.directory(cwd.as_ref())?,
        None => disk.directory(&ground.usual_dir())?,
    };
    check_junit(request)?;
    let mut chosen = choose(ground, cwd.shown(), request.runner, request.files)?;
    let project = disk.directory(&chosen.dir)?;
    let exactly = request.runner.is_some();
    let program = choose::program(ground, &mut chosen, &project, exactly)?;
    let (argv, version) = match program {
        Program::Found(argv, version) => (argv, version),
        Program::Missing(missing) => return Ok(missing_tool(&chosen, &project, &missing, request)),
    };
    let which = match which(ground, &mut chosen, request, &cwd, &project)? {
        Ok(which) => which,
        Err(why) => return Ok(nothing(&chosen, &project, why, request)),
    };
    let (lent, place) = ground.lend()?;
    let by_cargo = matches!(chosen.runner, TestRunner::CargoTest | TestRunner::Nextest);
    let cargo = if by_cargo { cargo_parts(ground, &which, request.changed)? } else { Vec::new() };
    let wanted = Wanted {
        runner: chosen.runner,
        program: argv,
        project: project.shown(),
        place: &place,
        which: &which,
        cargo: &cargo,
        filter: request.filter,
        special: is_special(ground, &chosen, &project),
    };
    let plan = plan(&wanted);
    for (file, text) in &plan.files {
        lent.put(file, text.as_bytes()).map_err(TestrunError::Place)?;
    }
    let shell_line = request.command.map_or_else(|| line(&plan), str::to_owned);
    let before = Instant::now();
    let mut seen = Seen::new(chosen.runner);
    let outcome = ground.shell(&project, &shell_line, request.timeout, &mut |elapsed, stage| {
        if let Ok(bytes) = lent.read(REPORT, seen.offset(), TESTS_PROGRESS_BYTES) {
            seen.read(&bytes);
        }
        on_progress(elapsed, &progress(&seen, elapsed, stage));
    })?;
    let took = before.elapsed();
    let report = report_of(ground, request, &plan, &lent, &project)?;
    let root = project.shown().to_string_lossy().into_owned();
    let sources = Sources { report: &report, stdout: &outcome.stdout.bytes, stderr: &outcome.stderr.bytes, root: &root };
    let parsed = reports::tests(chosen.runner, sources);
    let command = request.command.map_or_else(|| plan.argv.clone(), |command| vec![command.to_owned()]);
    let shown = request.command.map_or_else(|| words(&plan), str::to_owned);
    let log = ground.kept.keep("run_tests", &shown, &outcome.stdout, &outcome.stderr);
    let facts = Facts { request, chosen: &chosen, project: &project, which: &which, outcome: &outcome, took, root: &root };
    Ok(told(ground, &facts, parsed, command, version, log))
}

/// What is known of a run that is over.
struct Facts<'a> {
    request: &'a Request<'a>,
    chosen: &'a Chosen,
    project: &'a Checked<Read>,
    which: &'a Which,
    outcome: &'a Outcome,
    took: Duration,
    root: &'a str,
}

/// What the runner left to be read.
fn report_of(
    ground: &Ground<'_>,
    request: &Request<'_>,
    plan: &Plan,
    lent: &crate::sandbox::Lent,
    project: &Checked<Read>,
) -> Result<Vec<u8>, TestrunError> {
    if let Some(path) = request.report {
        let path = project.shown().join(path);
        return match ground.policy.read(&path) {
            Ok(file) if file.kind() == Kind::File => Ok(fs::read_all(&file, MAX_TESTS_REPORT_BYTES as u64)?),
            Ok(_) | Err(PolicyError::NotFound { .. }) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        };
    }
    if plan.reports { lent.read(REPORT, 0, MAX_TESTS_REPORT_BYTES).map_err(TestrunError::Place) } else { Ok(Vec::new()) }
}

fn told(
    ground: &Ground<'_>,
    facts: &Facts<'_>,
    parsed: Parsed,
    command: Vec<String>,
    version: Option<String>,
    log: Arc<Log>,
) -> Ran {
    let Facts { request, chosen, project, which, outcome, .. } = *facts;
    let (exit_code, signal) = match outcome.exit {
        Exit::Code(code) => (Some(code), None),
        Exit::Signal(signal) => (None, Some(signal)),
    };
    let status = if is_absent(chosen.runner, &parsed, outcome) {
        TestStatus::MissingTool
    } else {
        verdict::of_tests(&verdict::Known { exit_code, signal, timed_out: outcome.timed_out, parsed: &parsed })
    };
    let mut notes = chosen.notes.clone();
    notes.extend(beside(which, &parsed, facts.root));
    let failed = failed_tests(chosen.runner, &parsed);
    // What a run did not come to is still as it was.
    if !matches!(status, TestStatus::MissingTool | TestStatus::ConfigError) {
        ground.kept.remember(project.shown(), chosen.runner, failed);
    }
    let says_little = parsed.failures.is_empty() && parsed.file_errors.is_empty() && parsed.run_errors.is_empty();
    let wants_words = !matches!(status, TestStatus::Passed | TestStatus::MissingTool);
    let last_words = (says_little && wants_words).then(|| last_words(outcome)).flatten();
    let hint = hint(status, chosen.runner, facts);
    let report = TestReport {
        kind: TestsKind::default(),
        status,
        runner: RunnerInfo {
            name: chosen.runner,
            version: parsed.version.or(version),
            command,
            cwd: facts.root.to_owned(),
        },
        scope: scope(which, request, facts.root),
        exit_code,
        signal,
        duration_ms: facts.took.as_millis() as u64,
        summary: parsed.summary,
        failures: parsed.failures,
        file_errors: parsed.file_errors,
        run_errors: parsed.run_errors,
        slowest: parsed.slowest,
        unfinished: parsed.unfinished,
        tests: request.all.then_some(parsed.tests),
        truncated: parsed.truncated,
        log_uri: Some(log.uri.clone()),
        hint,
    };
    Ran { report, notes, last_words, denied: outcome.denied.clone(), log: Some(log) }
}

/// Whether the program was not there: the shell found none (127, sh(1)), or Python has no such module.
fn is_absent(runner: TestRunner, parsed: &Parsed, outcome: &Outcome) -> bool {
    let said = outcome.stderr.text();
    !parsed.begun
        && match outcome.exit {
            Exit::Code(127) => runner != TestRunner::Junit,
            Exit::Code(1) => runner == TestRunner::Pytest && said.trim_end().ends_with("No module named pytest"),
            _ => false,
        }
}

fn hint(status: TestStatus, runner: TestRunner, facts: &Facts<'_>) -> Option<String> {
    Some(match status {
        TestStatus::MissingTool => match runner {
            TestRunner::Pytest => "install it where this Python looks: `python3 -m venv .venv && .venv/bin/pip install pytest`, \
                 or as the project says"
                .to_owned(),
            TestRunner::Go => "commands find no `go`; the operator can show it to them with --system".to_owned(),
            TestRunner::CargoTest | TestRunner::Nextest => {
                "commands find no `cargo`; the operator can show it to them with --system".to_owned()
            }
            _ => "commands find no `node`; the operator can show it to them with --system".to_owned(),
        },
        TestStatus::TimedOut => {
            format!("ended after {} s; give a longer `timeout`, or fewer `testFiles`", facts.request.timeout.as_secs())
        }
        TestStatus::NoTests if facts.request.filter.is_some() => {
            "`filter` matches the name of no test; it is in the runner's own syntax".to_owned()
        }
        TestStatus::NoTests if matches!(facts.which, Which::Targets(_)) => {
            "the runner takes none of `testFiles` for a file of tests".to_owned()
        }
        TestStatus::BuildError | TestStatus::ConfigError | TestStatus::Crashed => return None,
        TestStatus::Failed if runner != TestRunner::Junit => {
            "after a change, `rerunFailed: true` runs only what failed".to_owned()
        }
        _ => return None,
    })
}

fn scope(which: &Which, request: &Request<'_>, root: &str) -> Scope {
    let mut files = match which {
        Which::Targets(targets) => targets.iter().map(|target| target.below(root.as_ref())).collect(),
        Which::Failed(failed) => failed.iter().map(|test| test.file.clone()).collect(),
        Which::All | Which::Changed => Vec::new(),
    };
    files.dedup();
    Scope { files, filter: request.filter.map(str::to_owned), project: None }
}

/// Vitest takes files for parts of paths, so that others may have run too.
fn beside(which: &Which, parsed: &Parsed, root: &str) -> Option<String> {
    const NAMED: usize = 5;
    let Which::Targets(targets) = which else { return None };
    if targets.iter().any(|target| target.is_dir || !target.part.is_empty()) {
        return None;
    }
    let wanted: Vec<String> = targets.iter().map(|target| target.below(root.as_ref())).collect();
    let file = |id: &str| id.split(" > ").next().unwrap_or(id).split("::").next().unwrap_or(id).to_owned();
    let is_file = |file: &str| file.ends_with("js") || file.ends_with("ts") || file.ends_with("sx");
    let mut others: Vec<String> = parsed.tests.iter().map(|test| file(&test.id)).collect();
    others.retain(|file| is_file(file) && !wanted.contains(file));
    others.sort();
    others.dedup();
    let more = if others.len() > NAMED { format!(" and {} more", others.len() - NAMED) } else { String::new() };
    others.truncate(NAMED);
    (!others.is_empty()).then(|| format!("ran too, since the runner matches parts of paths: {}{more}", others.join(", ")))
}

/// What failed, as the runner can be asked for it again.
fn failed_tests(runner: TestRunner, parsed: &Parsed) -> Vec<FailedTest> {
    let of_case = parsed.failures.iter().map(|case| {
        let file = case.file.clone().unwrap_or_else(|| case.id.split(" > ").next().unwrap_or_default().to_owned());
        if runner == TestRunner::Pytest {
            let mut parts = case.id.split("::");
            let of_id = parts.next().unwrap_or_default().to_owned();
            return FailedTest { file: case.file.clone().unwrap_or(of_id), names: parts.map(str::to_owned).collect() };
        }
        let package = case.id.split(" > ").next().unwrap_or_default().to_owned();
        let file = if runner == TestRunner::Go { package } else { file };
        FailedTest { file, names: case.suite.iter().chain([&case.name]).cloned().collect() }
    });
    let of_files = parsed.file_errors.iter().map(|error| FailedTest { file: error.file.clone(), names: Vec::new() });
    let unfinished = parsed.unfinished.iter().filter(|_| matches!(runner, TestRunner::Vitest | TestRunner::Pytest));
    let of_unfinished = unfinished.map(|id| {
        let file = id.split(" > ").next().unwrap_or(id).split("::").next().unwrap_or(id);
        FailedTest { file: file.to_owned(), names: Vec::new() }
    });
    of_case.chain(of_files).chain(of_unfinished).collect()
}

/// The end of the output: stderr if there is any, else stdout.
pub(super) fn last_words(outcome: &Outcome) -> Option<String> {
    let [stderr, stdout] = [&outcome.stderr, &outcome.stdout].map(|stream| stream.text().trim().to_owned());
    let text = if stderr.is_empty() { stdout } else { stderr };
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(MAX_LAST_WORDS_LINES);
    let text = lines[from..].join("\n");
    let start = text.ceil_char_boundary(text.len().saturating_sub(MAX_LAST_WORDS_BYTES));
    let text = crate::testrun::reports::plain(&text[start..]);
    (!text.is_empty()).then_some(text)
}

fn progress(seen: &Seen, elapsed: Duration, stage: Stage) -> String {
    let seconds = elapsed.as_secs_f64();
    match (stage, seen.words()) {
        (Stage::Waiting, _) => "waiting for a free place".to_owned(),
        (Stage::Running { .. }, Some(words)) => format!("{words}, {seconds:.1} s"),
        (Stage::Running { bytes }, None) => format!("running for {seconds:.1} s, {bytes} bytes of output"),
    }
}

/// The words of a command, for people.
fn words(plan: &Plan) -> String {
    plan.argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn check_junit(request: &Request<'_>) -> Result<(), TestrunError> {
    match (request.runner == Some(TestRunner::Junit), request.command, request.report) {
        (true, Some(_), Some(_)) | (false, None, None) => Ok(()),
        (true, ..) => Err(TestrunError::arguments(
            "`runner: \"junit\"` needs `command`, which runs the tests, and `report`, the file that it writes JUnit XML to",
        )),
        (false, ..) => Err(TestrunError::arguments("`command` and `report` belong to `runner: \"junit\"`")),
    }
}

/// What of the project the plan has to know.
fn is_special(ground: &Ground<'_>, chosen: &Chosen, project: &Checked<Read>) -> bool {
    use super::detect::Tree as _;
    let disk = ground.disk();
    let text = |file: &str| disk.text(&project.shown().join(file)).unwrap_or_default();
    match chosen.runner {
        TestRunner::CargoTest | TestRunner::Nextest => {
            text("Cargo.toml").lines().any(|line| line.trim() == "[workspace]")
        }
        TestRunner::Pytest => {
            ["pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini"].iter().any(|file| text(file).contains("--cov"))
        }
        _ => false,
    }
}

fn missing_tool(chosen: &Chosen, project: &Checked<Read>, missing: &Missing, request: &Request<'_>) -> Ran {
    let hint = format!("install it with `{}` (commands may have no network: then the operator has to)", missing.install);
    empty(chosen, project, TestStatus::MissingTool, &missing.what, Some(hint), request)
}

fn nothing(chosen: &Chosen, project: &Checked<Read>, why: String, request: &Request<'_>) -> Ran {
    empty(chosen, project, TestStatus::NoTests, &why, None, request)
}

/// A run that there was none of.
fn empty(
    chosen: &Chosen,
    project: &Checked<Read>,
    status: TestStatus,
    why: &str,
    hint: Option<String>,
    request: &Request<'_>,
) -> Ran {
    let cwd = project.shown().to_string_lossy().into_owned();
    let mut notes = chosen.notes.clone();
    notes.push(why.to_owned());
    let report = TestReport {
        kind: TestsKind::default(),
        status,
        runner: RunnerInfo { name: chosen.runner, version: None, command: Vec::new(), cwd },
        scope: Scope { files: request.files.to_vec(), filter: request.filter.map(str::to_owned), project: None },
        exit_code: None,
        signal: None,
        duration_ms: 0,
        summary: Summary::default(),
        failures: Vec::new(),
        file_errors: Vec::new(),
        run_errors: Vec::new(),
        slowest: Vec::new(),
        unfinished: Vec::new(),
        tests: None,
        truncated: Truncated::default(),
        log_uri: None,
        hint,
    };
    Ran { report, notes, last_words: None, denied: Vec::new(), log: None }
}
