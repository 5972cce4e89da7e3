//! Runs the tests of a project behind the walls, and reads what became of them.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::choose::{self, Chosen, Missing, Program, choose};
use super::detect::Tree as _;
use super::error::TestrunError;
use super::failed;
use super::files;
use super::ground::Ground;
use super::kept::Log;
use super::missed::{Asked, missed};
use super::model::{RunError, RunnerInfo, Scope, TestReport, TestRunner, TestStatus};
use super::plan::{CargoPart, CargoTargets, Plan, REPORT, Wanted, Which, line, plan, quoted};
use super::project;
use super::reports::{self, Parsed, Progress, Sources};
use super::verdict::{self, Ending};
use super::which::{cargo_part, cargo_parts, which};
use crate::cancel::Bound;
use crate::exec::{Denied, ExecError, Exit, Outcome, Stage, place_of};
use crate::fs::{self, OpenFile, Version};
use crate::limits::{MAX_TEST_READ_SECS, MAX_TEST_REPORT_BYTES, TESTS_PROGRESS_BYTES};
use crate::policy::{Checked, Kind, PolicyError, Read};
use crate::sandbox::Lent;
use crate::text::escape::show_path;

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
    check_junit(ground, request, &cwd)?;
    let known = again_where(ground, request);
    // What is run again is run by what ran it.
    let exactly = request.runner.is_some() || known.is_some();
    let mut chosen = match known {
        Some(known) => known,
        None => choose(ground, cwd.shown(), request.cwd.is_some(), request.runner, request.files)?,
    };
    let project = disk.directory(&chosen.dir)?;
    let program = choose::program(ground, &mut chosen, &project, exactly)?;
    let (argv, version) = match program {
        Program::Found(argv, version) => (argv, version),
        Program::Missing(missing) => return Ok(missing_tool(&chosen, &project, &missing, request)),
    };
    let by_cargo = matches!(chosen.runner, TestRunner::CargoTest | TestRunner::Nextest);
    if let Some(filter) = request.filter.filter(|filter| by_cargo && filter.starts_with('-')) {
        return Err(TestrunError::arguments(format!(
            "`filter` is `{filter}`, which the test programs of cargo take for an option; it must be a part of a test's path"
        )));
    }
    let which = match which(ground, &mut chosen, request, &cwd, &project)? {
        Ok(which) => which,
        Err(why) => return Ok(nothing(&chosen, &project, &why, request)),
    };
    let (lent, place) = ground.lend()?;
    let cargo = if by_cargo { cargo_parts(ground, &which, request.changed)? } else { Vec::new() };
    let wanted = Wanted {
        runner: chosen.runner,
        program: argv,
        project: project.shown(),
        place: &place,
        tmp: &ground.tmp.to_string_lossy(),
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
    let stale = request.report.and_then(|report| version_of(ground, &project, report));
    let (mut seen, mut offset) = (Progress::new(chosen.runner), 0);
    let outcome = ground.shell(&project, &shell_line, request.timeout, &mut |elapsed, stage| {
        if let Ok(bytes) = lent.read(REPORT, offset, TESTS_PROGRESS_BYTES) {
            offset += bytes.len() as u64;
            seen.feed(&bytes);
        }
        on_progress(elapsed, &progress(&seen, elapsed, stage));
    })?;
    let took = before.elapsed();
    let (report, fault) = report_of(ground, request, &plan, &lent, &project, stale);
    let root = project.shown().to_string_lossy().into_owned();
    let sources = Sources {
        report: &report,
        stdout: &outcome.stdout.bytes,
        stderr: &outcome.stderr.bytes,
        root: &root,
        go_package: &go_package(ground, chosen.runner, &project),
        own_harness: &own_harness(ground, chosen.runner, &project, &cargo),
    };
    let deadline = Instant::now() + Duration::from_secs(MAX_TEST_READ_SECS);
    let bound = Bound { deadline: Some(deadline), cancel: Some(ground.cancel) };
    let mut parsed = reports::tests(chosen.runner, sources, bound);
    let late = bound.is_over().then(|| format!("the report was read for {MAX_TEST_READ_SECS} s, and not to its end"));
    if ground.cancel.is_cancelled() {
        return Err(ExecError::Cancelled.into());
    }
    // Where the report is on stdout, what is not there may have failed.
    let by_stdout = matches!(chosen.runner, TestRunner::CargoTest | TestRunner::Go) && outcome.stdout.truncated;
    let cut = by_stdout.then(|| format!("of stdout only the first {} bytes were read", outcome.stdout.bytes.len()));
    for message in [fault, late, cut].into_iter().flatten() {
        parsed.run_errors.push(RunError { class: None, message, stack: Vec::new() });
    }
    let command = request.command.map_or_else(|| plan.argv.clone(), |command| vec![command.to_owned()]);
    let shown = request.command.map_or_else(|| words(&plan), str::to_owned);
    let log = ground.kept.keep("run_tests", &shown, &outcome.stdout, &outcome.stderr);
    let runner = RunnerInfo { name: chosen.runner, version, command, cwd: root };
    Ok(told(ground, request, chosen, &which, parsed, runner, &outcome, took, log))
}

/// Where tests are run again that failed, if nobody says where: in the project of the last run that left some, which need not
/// be the usual one.
fn again_where(ground: &Ground<'_>, request: &Request<'_>) -> Option<Chosen> {
    if !request.rerun_failed || request.cwd.is_some() || !request.files.is_empty() {
        return None;
    }
    let (dir, runner) = ground.kept.last_failed(request.runner)?;
    ground.disk().directory_above(&dir)?;
    let notes = vec![format!("{} in `{}`, where tests failed last", runner.name(), show_path(&dir))];
    Some(Chosen { runner, dir, notes })
}

/// What the runner left to be read, and what is wrong with it. A report that is as it was before the run (`stale`) is none.
fn report_of(
    ground: &Ground<'_>,
    request: &Request<'_>,
    plan: &Plan,
    lent: &Lent,
    project: &Checked<Read>,
    stale: Option<Version>,
) -> (Vec<u8>, Option<String>) {
    let nothing = |why: String| (Vec::new(), Some(why));
    let Some(path) = request.report else {
        let most = if plan.reports { MAX_TEST_REPORT_BYTES } else { 0 };
        return match lent.read(REPORT, 0, most) {
            Ok(bytes) if most > 0 && bytes.len() == most => {
                (bytes, Some(format!("of the runner's report only the first {most} bytes were read")))
            }
            Ok(bytes) => (bytes, None),
            Err(error) => nothing(format!("the runner's report cannot be read: {error}")),
        };
    };
    if stale.is_some() && version_of(ground, project, path) == stale {
        return nothing(format!("`{path}` is as it was before the run"));
    }
    let shown = project.shown().join(path);
    match ground.policy.read(&shown) {
        Ok(file) if file.kind() == Kind::File => match fs::read_all(&file, MAX_TEST_REPORT_BYTES as u64) {
            Ok(bytes) => (bytes, None),
            Err(error) => nothing(error.to_string()),
        },
        Ok(_) => nothing(format!("`{path}` is no regular file")),
        Err(PolicyError::NotFound { .. }) => nothing(format!("the command wrote no `{path}`")),
        Err(error) => nothing(error.to_string()),
    }
}

/// Which version of a report there is.
fn version_of(ground: &Ground<'_>, project: &Checked<Read>, report: &str) -> Option<Version> {
    let file = ground.policy.read(project.shown().join(report)).ok()?;
    OpenFile::of(&file).ok().map(|file| file.version())
}

/// The import path of the package in a Go module's directory.
fn go_package(ground: &Ground<'_>, runner: TestRunner, project: &Checked<Read>) -> String {
    if runner != TestRunner::Go {
        return String::new();
    }
    let text = ground.disk().text(&project.shown().join("go.mod")).unwrap_or_default();
    let module = text.lines().find_map(|line| line.trim().strip_prefix("module "));
    module.unwrap_or_default().trim().trim_matches('"').to_owned()
}

/// A Cargo workspace's targets with a harness of their own: for `cargo test`, which tells what it runs, names and sources of
/// all of them; for nextest the names of those that it would run.
fn own_harness(ground: &Ground<'_>, runner: TestRunner, project: &Checked<Read>, parts: &[CargoPart]) -> Vec<String> {
    let is_workspace = |text: &str| text.lines().any(|line| line.trim() == "[workspace]");
    let manifests = match runner {
        TestRunner::CargoTest => files::matching(ground.call(), project, "**/Cargo.toml").unwrap_or_default(),
        TestRunner::Nextest => {
            let root = project.shown().join("Cargo.toml");
            let all = ground.disk().text(&root).is_some_and(|text| is_workspace(&text));
            let found = files::matching(ground.call(), project, "**/Cargo.toml");
            if all { found.unwrap_or_default() } else { vec![root] }
        }
        _ => return Vec::new(),
    };
    let texts = manifests.iter().filter_map(|manifest| ground.disk().text(manifest));
    if runner == TestRunner::CargoTest {
        let tables = ["[lib]", "[[bin]]", "[[test]]", "[[bench]]", "[[example]]"];
        return texts.flat_map(|text| project::own_harness(&text, &tables)).flatten().collect();
    }
    let is_meant = |name: &String| {
        let of_part = |part: &CargoPart| match &part.what {
            CargoTargets::Test(test) => test == name,
            CargoTargets::All | CargoTargets::Module(_) => true,
        };
        parts.is_empty() || parts.iter().any(of_part)
    };
    let name = |names: Vec<String>| {
        let first = names.first()?;
        let stem = first.strip_suffix(".rs").and_then(|path| path.rsplit('/').next());
        Some(stem.unwrap_or(first).to_owned())
    };
    let targets = texts.flat_map(|text| project::own_harness(&text, &["[[test]]", "[[bin]]"]));
    targets.filter_map(name).filter(is_meant).collect()
}

#[expect(clippy::too_many_arguments, reason = "all that is known of a run")]
fn told(
    ground: &Ground<'_>,
    request: &Request<'_>,
    chosen: Chosen,
    which: &Which,
    parsed: Parsed,
    runner: RunnerInfo,
    outcome: &Outcome,
    took: Duration,
    log: Arc<Log>,
) -> Ran {
    let (exit_code, signal) = match outcome.exit {
        Exit::Code(code) => (Some(code), None),
        Exit::Signal(signal) => (None, Some(signal)),
    };
    let ending = Ending {
        exit_code,
        signal,
        timed_out: outcome.timed_out,
        missing: is_absent(chosen.runner, &parsed, outcome),
        duration_ms: took.as_millis() as u64,
    };
    let root = runner.cwd.clone();
    let mut notes = chosen.notes;
    if chosen.runner == TestRunner::Vitest {
        notes.extend(beside(which, &parsed, &root));
    }
    let has_own_harness = !parsed.own_harness.is_empty();
    if has_own_harness {
        let what = match chosen.runner {
            TestRunner::Nextest => "NOT run by cargo-nextest (`runner: \"cargo\"` does)",
            _ => "NOT counted",
        };
        notes.push(format!(
            "{what}, since they have a harness of their own (`harness = false`) and tell of no tests: {}",
            parsed.own_harness.join(", ")
        ));
    }
    let known = ground.kept.failed(root.as_ref(), chosen.runner).unwrap_or_default();
    let is_all = *which == Which::All && request.filter.is_none();
    let failed = failed::left(chosen.runner, &known, &parsed, is_all);
    let missed = missed_of(ground, request, which, chosen.runner, &parsed, root.as_ref());
    let mut report = verdict::test_report(runner, scope(which, request, &root), parsed, missed, ending, request.all);
    // What a run did not come to is still as it was.
    if !matches!(report.status, TestStatus::MissingTool | TestStatus::ConfigError | TestStatus::NoTests) {
        ground.kept.remember(root.as_ref(), chosen.runner, failed);
    }
    report.log_uri = Some(log.uri.clone());
    if let Some(hint) = hint(&report, request, which, has_own_harness) {
        report.hint = Some(hint);
    }
    Ran { report, notes, denied: outcome.denied.clone(), log: Some(log) }
}

/// What was asked for and did not run.
fn missed_of(
    ground: &Ground<'_>,
    request: &Request<'_>,
    which: &Which,
    runner: TestRunner,
    parsed: &Parsed,
    root: &Path,
) -> Vec<String> {
    let Ok(project) = ground.disk().directory(root) else { return Vec::new() };
    let asked = Asked {
        runner,
        which,
        is_filtered: request.filter.is_some(),
        project: root,
        go_package: &go_package(ground, runner, &project),
        true_path: &|path| {
            let file = ground.policy.read(path).ok()?;
            Some(place_of(&file).ok()?.path.as_path().to_path_buf())
        },
        text: &|path| ground.disk().text(path),
        cargo_part: &|target| cargo_part(ground, target, request.changed).ok(),
    };
    missed(&asked, parsed)
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

/// The next step, where the report alone does not tell it.
fn hint(report: &TestReport, request: &Request<'_>, which: &Which, has_own_harness: bool) -> Option<String> {
    let seconds = request.timeout.as_secs();
    Some(match report.status {
        TestStatus::MissingTool => match report.runner.name {
            TestRunner::Pytest => {
                "install it where this Python looks: `python3 -m venv .venv && .venv/bin/pip install pytest`, \
                 or as the project says"
                    .to_owned()
            }
            runner => format!("commands find no `{}`; the operator can show it to them with --system", needed(runner)),
        },
        TestStatus::TimedOut if report.unfinished.is_empty() => {
            format!("ended after {seconds} s: give a longer `timeout`, or fewer `testFiles`")
        }
        TestStatus::TimedOut => {
            format!(
                "ended after {seconds} s: look for an endless loop in what is unfinished, or give a longer `timeout`"
            )
        }
        TestStatus::NoTests if matches!(which, Which::Targets(_)) && !report.left_out.is_empty() => {
            "the project's own configuration leaves out what was named, as `leftOut` says: change that, or name something else"
                .to_owned()
        }
        TestStatus::ConfigError if report.runner.name == TestRunner::Nextest && has_own_harness => {
            "a test program with a harness of its own (`harness = false`) may not list its tests as cargo-nextest asks it to; \
             `runner: \"cargo\"` runs it"
                .to_owned()
        }
        TestStatus::NoTests if request.filter.is_none() && matches!(which, Which::Targets(_)) => {
            "the runner takes none of `testFiles` for files of tests".to_owned()
        }
        TestStatus::ConfigError if matches!(which, Which::Failed(_)) => {
            "a test that failed may be gone, or have another name: a run of all tests renews the list".to_owned()
        }
        _ => return None,
    })
}

/// The program that a runner is run with.
fn needed(runner: TestRunner) -> &'static str {
    match runner {
        TestRunner::Vitest | TestRunner::Jest => "node",
        TestRunner::Pytest => "python3",
        TestRunner::CargoTest | TestRunner::Nextest => "cargo",
        TestRunner::Go => "go",
        TestRunner::Junit => "sh",
    }
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
    let mut others: Vec<String> = parsed.files.iter().cloned().collect();
    others.retain(|file| !wanted.contains(file));
    let more = if others.len() > NAMED { format!(" and {} more", others.len() - NAMED) } else { String::new() };
    others.truncate(NAMED);
    (!others.is_empty())
        .then(|| format!("ran too, since the runner matches parts of paths: {}{more}", others.join(", ")))
}

fn progress(seen: &Progress, elapsed: Duration, stage: Stage) -> String {
    let seconds = elapsed.as_secs_f64();
    match (stage, seen.total()) {
        (Stage::Waiting, _) => "waiting for a free place".to_owned(),
        (Stage::Running { .. }, Some(total)) => format!("{} of {total} tests, {seconds:.1} s", seen.done()),
        (Stage::Running { bytes }, None) => format!("running for {seconds:.1} s, {bytes} bytes of output"),
    }
}

/// The words of a command, for people.
fn words(plan: &Plan) -> String {
    plan.argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn check_junit(ground: &Ground<'_>, request: &Request<'_>, cwd: &Checked<Read>) -> Result<(), TestrunError> {
    // Before anything runs: where it may not be read, nothing would be known afterwards.
    if let Some(report) = request.report
        && let Err(error @ PolicyError::Denied { .. }) = ground.policy.look(cwd.shown().join(report))
    {
        return Err(error.into());
    }
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
    let hint =
        format!("install it with `{}` (commands may have no network: then the operator has to)", missing.install);
    let ending = Ending { missing: true, ..Ending::default() };
    empty(chosen, project, ending, &missing.what, Some(hint), request)
}

fn nothing(chosen: &Chosen, project: &Checked<Read>, why: &str, request: &Request<'_>) -> Ran {
    let ending = Ending { exit_code: Some(0), ..Ending::default() };
    let mut ran = empty(chosen, project, ending, why, None, request);
    ran.report.status = TestStatus::NoTests;
    ran.report.exit_code = None;
    ran
}

/// A run that there was none of.
fn empty(
    chosen: &Chosen,
    project: &Checked<Read>,
    ending: Ending,
    why: &str,
    hint: Option<String>,
    request: &Request<'_>,
) -> Ran {
    let cwd = project.shown().to_string_lossy().into_owned();
    let mut notes = chosen.notes.clone();
    notes.push(why.to_owned());
    let runner = RunnerInfo { name: chosen.runner, version: None, command: Vec::new(), cwd };
    let scope = Scope { files: request.files.to_vec(), filter: request.filter.map(str::to_owned), project: None };
    let mut report = verdict::test_report(runner, scope, Parsed::default(), Vec::new(), ending, false);
    report.hint = hint;
    Ran { report, notes, denied: Vec::new(), log: None }
}
