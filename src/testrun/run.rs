//! Runs the tests of a project behind the walls, and reads what became of them.

mod found;
mod lacks;
mod said;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::below;
use super::choose::{self, Chosen, Missing, Program, choose};
use super::cut;
use super::detect::Tree as _;
use super::error::TestrunError;
use super::failed;
use super::ground::Ground;
use super::kept::Log;
use super::missed::{Asked, missed};
use super::model::{RunError, Scope, TestReport, TestRunner, TestStatus, ToolInfo};
use super::plan::{REPORT, Wanted, Which, line, plan};
use super::reports::{self, Parsed, Progress, Sources};
use super::untaken;
use super::verdict::{self, Ending};
use super::which::{cargo_part, cargo_parts, which};
use crate::cancel::Bound;
use crate::exec::{Denied, ExecError, Exit, Outcome, place_of};
use crate::limits::{MAX_TEST_READ_SECS, TESTS_PROGRESS_BYTES};
use crate::policy::{Checked, PolicyError, Read};
use crate::text::escape::show_path;
use found::{go_package, is_workspace, own_harness, report_of, script_of, version_of};
use said::{beside, hint, progress, scope, words};

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
        Program::Missing(missing) => return Ok(missing_tool(ground, &chosen, &project, &missing, request)),
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
    let script = script_of(ground, &mut chosen, &project);
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
        is_workspace: is_workspace(ground, &chosen, &project),
        script: &script,
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
    let runner = ToolInfo { name: chosen.runner, version, command, cwd: root };
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
    Some(Chosen { runner, dir, notes, left_out: Vec::new() })
}

#[expect(clippy::too_many_arguments, reason = "all that is known of a run")]
fn told(
    ground: &Ground<'_>,
    request: &Request<'_>,
    chosen: Chosen,
    which: &Which,
    mut parsed: Parsed,
    runner: ToolInfo<TestRunner>,
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
    parsed.left_out.extend(chosen.left_out);
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
    let mut missed = missed_of(ground, request, which, chosen.runner, &parsed, root.as_ref());
    let cut = ground.kept.cut(root.as_ref(), chosen.runner);
    let cut_before = cut.as_ref().filter(|_| matches!(which, Which::Failed(_))).map(cut::Cut::told);
    missed.extend(cut_before.clone());
    let status = verdict::of_tests(chosen.runner, &parsed, missed.len(), ending);
    let cut = match status {
        // Nothing had its turn.
        TestStatus::BuildError => cut,
        _ => cut::after(cut, cut::how(chosen.runner, &parsed, status), which, request.filter),
    };
    let is_filtered = request.filter.is_some();
    let run = untaken::Run { runner: chosen.runner, which, is_filtered, status, missed: &missed, root: root.as_ref() };
    let untaken = untaken::told(ground, &run, &parsed);
    parsed.left_out.extend(untaken);
    let mut report = verdict::test_report(runner, scope(which, request, &root), parsed, missed, ending, request.all);
    // What a run did not come to is still as it was.
    if !matches!(report.status, TestStatus::MissingTool | TestStatus::ConfigError | TestStatus::NoTests) {
        ground.kept.remember(root.as_ref(), chosen.runner, failed, cut);
    }
    report.log_uri = Some(log.uri.clone());
    if let Some(hint) = hint(ground, &report, request, which, has_own_harness) {
        report.hint = Some(hint);
    }
    if let Some(hint) = lacks::hint(ground, &report) {
        report.hint = Some(hint);
    }
    if cut_before.is_some() && report.status == TestStatus::Incomplete {
        report.hint = Some(
            "what failed has passed now; run the tests without `rerunFailed`, for those that never ran".to_owned(),
        );
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
            let found = ground.policy.look(path).ok()?;
            Some(place_of(&found).ok()?.path.as_path().to_path_buf())
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

fn check_junit(ground: &Ground<'_>, request: &Request<'_>, cwd: &Checked<Read>) -> Result<(), TestrunError> {
    // Before anything runs: where it may not be read, nothing would be known afterwards.
    if let Some(report) = request.report
        && let Err(error @ PolicyError::Denied { .. }) = ground.policy.look(cwd.shown().join(report))
    {
        return Err(error.into());
    }
    match (request.runner == Some(TestRunner::Junit), request.command, request.report) {
        (true, Some(_), Some(_)) if request.filter.is_some() => {
            Err(TestrunError::arguments("`filter` means nothing to `runner: \"junit\"`; say in `command` what is run"))
        }
        (true, Some(_), Some(_)) | (false, None, None) => Ok(()),
        (true, ..) => Err(TestrunError::arguments(
            "`runner: \"junit\"` needs `command`, which runs the tests, and `report`, the file that it writes JUnit XML to",
        )),
        (false, ..) => Err(TestrunError::arguments("`command` and `report` belong to `runner: \"junit\"`")),
    }
}

fn missing_tool(
    ground: &Ground<'_>,
    chosen: &Chosen,
    project: &Checked<Read>,
    missing: &Missing,
    request: &Request<'_>,
) -> Ran {
    let elsewhere = below::who_has(ground, project.shown(), chosen.runner);
    let hint = elsewhere.unwrap_or_else(|| ground.install_hint(&missing.install, ""));
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
    let runner = ToolInfo { name: chosen.runner, version: None, command: Vec::new(), cwd };
    let scope = Scope { files: request.files.to_vec(), filter: request.filter.map(str::to_owned), project: None };
    let mut report = verdict::test_report(runner, scope, Parsed::default(), Vec::new(), ending, false);
    report.hint = hint;
    report.left_out.clone_from(&chosen.left_out);
    Ran { report, notes, denied: Vec::new(), log: None }
}
