//! Test runs in the sandbox: runs the runner and reads its results.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use replay_base::limits::{
    MAX_RUN_FAULTS, MAX_TEST_READ_SECS, MAX_TESTS_BUILD_SECS, TESTS_LINGER_SECS,
};
use replay_base::text::escape::show_path;
use replay_files::policy::{Checked, PolicyError, Read};
use replay_sandbox::exec::{Captured, Denied, ExecError, Log, Outcome, Stage, place_of};

use super::by_language::cargo;
use super::choice::{RunnerChoice, choose};
use super::command::{REPORT, REPORT_VARIABLE, ReportPlace, RunInputs, custom_line, line, words};
use super::completeness::missed;
use super::completeness_input::{Evidence, ProjectFacts};
use super::context::RunContext;
use super::error::TestrunError;
use super::hints::hint;
use super::interruption::{self, Interruption};
use super::model::{RunError, RunnerName, Scope, TestReport, TestStatus, ToolInfo};
use super::outcome::{ProcessEnding, RunOutcome};
use super::progress::RunProgress;
use super::project::program::{MissingProgram, ToolProgram};
use super::report_file::ReportWatch;
use super::reports::results::{Sources, TestResults};
use super::request::RunRequest;
use super::runner::Runner;
use super::runners::AnyCommand;
use super::scope::scope;
use super::selection::TestSelection;
use super::subprojects::projects_with_tool;
use super::tool::is_absent;
use super::{ignored_files, previous_failures, runners, verdict};

/// Part of a growing report that is read at a time, in bytes.
const TESTS_PROGRESS_BYTES: usize = 4 * 1024 * 1024;

/// Runs tests. Calls `on_progress` with the elapsed time and the progress of the run.
pub fn run(
    context: &RunContext<'_>,
    request: &RunRequest<'_>,
    on_progress: &mut dyn FnMut(Duration, &str),
) -> Result<RunOutcome<TestReport>, TestrunError> {
    let disk = context.disk();
    let cwd = context.directory(request.cwd)?;
    check_given(context, request, &cwd)?;
    let asked = match request.command {
        Some(_) => Some(&AnyCommand as &'static dyn Runner),
        None => request.runner,
    };
    let known = rerun_project(context, request);
    let mut choice = match known {
        // Failed tests run again with the runner that ran them.
        Some(known) => known,
        None => choose(
            context,
            cwd.display_path(),
            request.cwd.is_some(),
            asked,
            request.files,
        )?,
    };
    let project = disk.directory(&choice.dir)?;
    let runner = choice.runner;
    let (program, version) = match runner.program(context, &project) {
        ToolProgram::Found(argv, version) => (argv, version),
        ToolProgram::Missing(missing) => {
            return Ok(missing_tool(context, &choice, &project, &missing, request));
        }
    };
    if let Some(why) = request
        .filter
        .and_then(|filter| runner.refuse_filter(filter))
    {
        return Err(TestrunError::arguments(why));
    }
    let selection = match scope(context, &mut choice, request, &cwd, &project)? {
        Ok(selection) => selection,
        Err(why) => return Ok(nothing(&choice, &project, &why, request)),
    };
    let (script, notes, left_out) = runner.script(context, project.display_path());
    choice.notes.extend(notes);
    choice.left_out.extend(left_out);
    let (lent, place) = context.lend()?;
    let wanted = RunInputs {
        program: &program,
        project: project.display_path(),
        tree: &disk,
        place: &place,
        tmp: &context.tmp.to_string_lossy(),
        selection: &selection,
        by_package: request.changed,
        filter: request.filter,
        script: &script,
    };
    let mut plan = runner.plan(&wanted)?;
    if let Some(report) = request.report {
        plan.report = ReportPlace::Project(vec![report.to_owned()]);
    }
    for (file, text) in &plan.files {
        lent.put(file, text.as_bytes())
            .map_err(TestrunError::Place)?;
    }
    let shell_line = match request.command {
        Some(command) => custom_line(command, &place),
        None => line(&plan),
    };
    let watch = ReportWatch::new(context, &project, &plan.report)?;
    let before = Instant::now();
    let mut seen = RunProgress::new(runner);
    let (over, mut ends) = (Cell::new(false), RunEnds::new(request.timeout));
    let build = Duration::from_secs(MAX_TESTS_BUILD_SECS);
    let most = request.timeout
        + if runner.is_compiled() {
            build
        } else {
            Duration::ZERO
        };
    let mut outcome = context.shell_until(
        &project,
        &shell_line,
        most,
        Some(&over),
        &mut |elapsed, stage| {
            if let Ok(bytes) = lent.read(REPORT, seen.report_bytes(), TESTS_PROGRESS_BYTES) {
                seen.feed(&bytes);
            }
            seen.feed_output(stage);
            if matches!(stage, Stage::Running { .. }) {
                over.set(ends.is_over(elapsed, &seen, stage.bytes()));
            }
            on_progress(elapsed, &seen.describe(elapsed, stage));
        },
    )?;
    let took = before.elapsed();
    if runner.is_compiled() && !outcome.stderr.truncated {
        outcome.stderr = Captured::whole(cargo::without_progress(&outcome.stderr.bytes));
    }
    let mut reports = watch.read(&lent)?;
    if request.command.is_some() && reports.documents.is_empty() && reports.fault.is_none() {
        let is_there = |names: Vec<String>| names.iter().any(|name| name == REPORT);
        reports.fault = lent.names().is_ok_and(is_there).then(|| {
            format!("`${REPORT_VARIABLE}` is empty or not a regular file; write one file there")
        });
    }
    let (report, more_reports) = reports.documents.split_first().unzip();
    let report = report.map_or(&[][..], Vec::as_slice);
    let root = project.display_path().to_string_lossy().into_owned();
    let facts = runner.facts(context, &project, &wanted);
    let sources = Sources {
        report,
        more_reports: more_reports.unwrap_or_default(),
        stdout: &outcome.stdout.bytes,
        stderr: &outcome.stderr.bytes,
        root: &root,
        go_package: &facts.go_package,
        own_harness: &facts.own_harness,
        classes: facts.classes.as_ref(),
    };
    let bound = context.read_bound();
    let mut results = runner.read(sources, bound);
    let late = bound
        .is_over()
        .then(|| format!("the report was read for only {MAX_TEST_READ_SECS} s, not to its end"));
    if context.cancel.is_cancelled() {
        return Err(ExecError::Cancelled.into());
    }
    // If the report is on stdout, truncated output may hide failures.
    let is_cut = report.is_empty() && outcome.stdout.truncated;
    let cut = is_cut.then(|| {
        format!(
            "only the first {} bytes of stdout were read; write less there, or a report to a file",
            outcome.stdout.bytes.len()
        )
    });
    for message in [reports.fault, late, cut].into_iter().flatten() {
        results.run_errors.push(RunError::new(message));
    }
    let (shown, command) = match request.command {
        Some(command) => (command.to_owned(), vec![command.to_owned()]),
        None => (words(&plan.argv), plan.argv),
    };
    let log = context
        .logs
        .keep_run("run_tests", &shown, &outcome.stdout, &outcome.stderr);
    let info = ToolInfo {
        name: runner.id(),
        version,
        command,
        cwd: root,
    };
    let ended = EndedRun {
        selection: &selection,
        facts: &facts,
        info,
        outcome: &outcome,
        took,
        lingered: ends.lingers,
        was_building: seen.is_building(),
        log,
    };
    Ok(build_outcome(context, request, choice, results, ended))
}

/// A finished run.
struct EndedRun<'a> {
    selection: &'a TestSelection,
    facts: &'a ProjectFacts,
    info: ToolInfo<RunnerName>,
    outcome: &'a Outcome,
    took: Duration,
    /// `true` if the server ended it after its tests had ended.
    lingered: bool,
    /// `true` if no test had begun at its end.
    was_building: bool,
    log: Arc<Log>,
}

/// Reasons to end a run: tests that take longer than the timeout, or a silent process after them.
struct RunEnds {
    timeout: Duration,
    /// Elapsed time at which the tests began.
    begun: Option<Duration>,
    /// Elapsed time and bytes at the last sign of life.
    last_word: (Duration, u64),
    /// `true` if the process goes on after its tests have ended.
    lingers: bool,
}

impl RunEnds {
    fn new(timeout: Duration) -> Self {
        Self {
            timeout,
            begun: None,
            last_word: (Duration::ZERO, 0),
            lingers: false,
        }
    }

    /// Returns true if the run has to end. `bytes` is the length of its output so far.
    fn is_over(&mut self, elapsed: Duration, seen: &RunProgress, bytes: u64) -> bool {
        let bytes = bytes + seen.report_bytes();
        if self.last_word.1 != bytes || !seen.has_ended() {
            self.last_word = (elapsed, bytes);
        }
        let silent = elapsed.saturating_sub(self.last_word.0);
        self.lingers = silent >= Duration::from_secs(TESTS_LINGER_SECS);
        if seen.is_building() {
            return self.lingers;
        }
        let begun = *self.begun.get_or_insert(elapsed);
        self.lingers || elapsed.saturating_sub(begun) >= self.timeout
    }
}

/// Returns the project for a rerun of failed tests without a directory. This is the project of the
/// last run with failures, which need not be the default one.
fn rerun_project(context: &RunContext<'_>, request: &RunRequest<'_>) -> Option<RunnerChoice> {
    if !request.rerun_failed || request.cwd.is_some() || !request.files.is_empty() {
        return None;
    }
    let (dir, runner) = context
        .history
        .last_failed(request.runner.map(<dyn Runner>::id))?;
    context.disk().directory_above(&dir)?;
    let runner = runners::runner_by_name(runner)?;
    let notes = vec![format!(
        "{} in `{}`, where tests failed last",
        runner.name(),
        show_path(&dir)
    )];
    Some(RunnerChoice::new(runner, dir, notes))
}

fn build_outcome(
    context: &RunContext<'_>,
    request: &RunRequest<'_>,
    choice: RunnerChoice,
    mut results: TestResults,
    ended: EndedRun<'_>,
) -> RunOutcome<TestReport> {
    let EndedRun {
        selection,
        info,
        outcome,
        log,
        ..
    } = ended;
    let runner = choice.runner;
    let missing =
        !results.begun && !runner.is_custom_command() && is_absent(runner.name(), outcome);
    let ending = ProcessEnding {
        lingered: ended.lingered && outcome.timed_out,
        ..ProcessEnding::of(outcome, ended.took, missing)
    };
    let cwd = info.cwd.clone();
    let root: &Path = cwd.as_ref();
    let mut notes = choice.notes;
    results.left_out.extend(choice.left_out);
    notes.extend(runner.note(selection, &results, root));
    let snapshots = Some(results.snapshots).filter(|count| *count > 0);
    notes.extend(snapshots.map(|count| {
        format!(
            "new snapshots: {count}; they contain the present output of the code, right or wrong"
        )
    }));
    let seed = results.seed;
    notes.extend(seed.map(|seed| format!("the tests ran in random order, with seed {seed}")));
    let has_own_harness = !results.own_harness.is_empty();
    let is_filtered = request.filter.is_some();
    let is_all = *selection == TestSelection::All && !is_filtered;
    let known = context.history.failed(root, runner.id());
    let known = known.unwrap_or_default();
    let failed = previous_failures::remaining(runner, &known, &results, is_all);
    let evidence = Evidence {
        is_filtered,
        project: root,
        facts: ended.facts,
        true_path: &|path| {
            let found = context.policy.look(path).ok()?;
            Some(place_of(&found).ok()?.path.as_path().to_path_buf())
        },
        tree: &context.disk(),
        by_package: request.changed,
        results: &results,
    };
    let is_again = matches!(selection, TestSelection::Failed(_));
    let mut missed = missed(runner, selection, &evidence);
    if !is_filtered && !is_again {
        let behind = runner.unreported(&evidence);
        results.summary.not_run += behind.len() as u64;
        results.summary.total += behind.len() as u64;
        missed.extend(behind);
    }
    let cut = context.history.cut(root, runner.id());
    let cut_before = cut
        .as_ref()
        .filter(|_| is_again)
        .map(Interruption::describe);
    missed.extend(cut_before.clone());
    let status = verdict::of_tests(runner, &results, missed.len(), ending);
    let cut = match status {
        // No test had its turn.
        TestStatus::BuildError => cut,
        _ => interruption::after(
            cut,
            interruption::kind(runner.is_shared(), &results, status),
            (selection.clone(), request.filter.map(str::to_owned)),
            runner.filters_by_substring(),
        ),
    };
    let run = ignored_files::FinishedRun {
        runner,
        selection,
        is_filtered,
        status,
        missed: &missed,
        root,
    };
    let ignored = ignored_files::note(context, &run, &results);
    results.left_out.extend(ignored);
    let scope = scope_of(selection, request, root);
    // Tests that no longer exist are told also if no other test ran.
    let mut gone = if is_again { missed.clone() } else { Vec::new() };
    gone.truncate(MAX_RUN_FAULTS);
    let mut report =
        verdict::test_report(runner, info, scope, results, missed, ending, request.all);
    if matches!(report.status, TestStatus::NoTests | TestStatus::ConfigError) {
        report.not_run = gone;
    }
    // Unreached tests are still unreached.
    if !matches!(
        report.status,
        TestStatus::MissingTool | TestStatus::ConfigError | TestStatus::NoTests
    ) {
        context.history.remember(root, runner.id(), failed, cut);
    }
    report.log_uri = Some(log.uri.clone());
    let lacks_network =
        status == TestStatus::BuildError && outcome.denied.contains(&Denied::Network);
    let of_run = hint(
        context,
        &report,
        request,
        selection,
        runner,
        ending.lingered,
        ended.was_building,
    );
    let download = runner.download(context).filter(|_| lacks_network).map(|command| {
        format!(
            "if a module is missing, the operator must run `{command}` outside the walls; commands \
             then see the downloaded modules"
        )
    });
    let is_half = cut_before.is_some() && report.status == TestStatus::Incomplete;
    let unreached = is_half.then(|| {
        "the failed tests pass now; run without `rerunFailed` for the tests that never ran"
            .to_owned()
    });
    report.hint = unreached
        .or(download)
        .or_else(|| runner.hint(context, &report, has_own_harness))
        .or(of_run)
        .or(report.hint);
    RunOutcome {
        report,
        notes,
        denied: outcome.denied.clone(),
        log: Some(log),
    }
}

/// Returns the requested scope as a reply has it.
fn scope_of(selection: &TestSelection, request: &RunRequest<'_>, root: &Path) -> Scope {
    let mut files = match selection {
        TestSelection::Targets(targets) => {
            targets.iter().map(|target| target.below(root)).collect()
        }
        TestSelection::Failed(failed) => failed.iter().map(|test| test.file.clone()).collect(),
        TestSelection::All | TestSelection::Changed => Vec::new(),
    };
    files.dedup();
    Scope {
        files,
        filter: request.filter.map(str::to_owned),
        project: None,
    }
}

fn check_given(
    context: &RunContext<'_>,
    request: &RunRequest<'_>,
    cwd: &Checked<Read>,
) -> Result<(), TestrunError> {
    // Check before the run: an unreadable report would make the run useless.
    if let Some(report) = request.report
        && let Err(error @ PolicyError::Denied { .. }) =
            context.policy.look(cwd.display_path().join(report))
    {
        return Err(error.into());
    }
    let is_custom = request
        .runner
        .map_or(request.command.is_some(), <dyn Runner>::is_custom_command);
    let fault = match (is_custom, request.command, request.report) {
        (_, Some(command), _) if command.trim().is_empty() => {
            "`command` is empty; give the command that runs the tests"
        }
        (true, Some(_), _) if request.filter.is_some() => {
            "`filter` does not apply to `command`; select the tests in the command"
        }
        (true, Some(_), _) | (false, None, None) => return Ok(()),
        (true, None, _) => "`runner: \"command\"` needs `command`, which runs the tests",
        (false, None, Some(_)) => "`report` needs `command`, which writes it",
        (false, Some(_), _) => "`command` excludes another `runner`; leave out one of them",
    };
    Err(TestrunError::arguments(fault))
}

fn missing_tool(
    context: &RunContext<'_>,
    choice: &RunnerChoice,
    project: &Checked<Read>,
    missing: &MissingProgram,
    request: &RunRequest<'_>,
) -> RunOutcome<TestReport> {
    let elsewhere = projects_with_tool(context, project.display_path(), choice.runner);
    let hint = elsewhere.unwrap_or_else(|| {
        // npm comes with Node; it runs other package managers, too.
        let manager = missing.install.split(' ').next().unwrap_or_default();
        let is_there = context.offline
            || manager == "npm"
            || matches!(context.is_installed(project, manager), Ok(true));
        let npx = if is_there { "" } else { "npx --yes " };
        context.install_hint(&format!("{npx}{}", missing.install), "")
    });
    let mut ran = nothing(choice, project, &missing.what, request);
    (ran.report.status, ran.report.hint) = (TestStatus::MissingTool, Some(hint));
    ran
}

/// Returns the outcome for a request without tests to run.
fn nothing(
    choice: &RunnerChoice,
    project: &Checked<Read>,
    why: &str,
    request: &RunRequest<'_>,
) -> RunOutcome<TestReport> {
    let cwd = project.display_path().to_string_lossy().into_owned();
    let mut notes = choice.notes.clone();
    notes.push(why.to_owned());
    let runner = ToolInfo::new(choice.runner.id(), cwd);
    let scope = Scope {
        files: request.files.to_vec(),
        filter: request.filter.map(str::to_owned),
        project: None,
    };
    let mut report = verdict::test_report(
        choice.runner,
        runner,
        scope,
        TestResults::default(),
        Vec::new(),
        ProcessEnding::default(),
        false,
    );
    (report.status, report.hint) = (TestStatus::NoTests, None);
    report.left_out.clone_from(&choice.left_out);
    RunOutcome {
        report,
        notes,
        denied: Vec::new(),
        log: None,
    }
}
