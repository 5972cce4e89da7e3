//! Verdict on a run or a check, from all evidence: no single source is reliable. A runner may exit
//! with 0 after running no test, or exit with 1 without reporting a failure. It may also die
//! half-way through a report without a failure.

use replay_base::limits::{MAX_RUN_FAULTS, MAX_TOLD_LINES};

use super::model::{
    Case, CheckStatus, CheckerName, Diagnostic, DiagnosticSummary, Diagnostics, DiagnosticsKind,
    RunError, RunnerName, Scope, Severity, State, TestError, TestReport, TestStatus, TestsKind,
    ToolInfo,
};
use super::outcome::ProcessEnding;
use super::reports::results::{CheckResults, TestResults};
use super::reports::stack::frames_to_show;
use super::runner::Runner;

/// Failed tests that a reply shows, if it was asked for all.
const MAX_SHOWN_FAILURES: usize = 50;
/// Tests that a reply lists by name, if it was asked for all.
const MAX_LISTED_TESTS: usize = 2000;
/// Diagnostics that a reply shows.
const MAX_SHOWN_DIAGNOSTICS: usize = 100;
/// Failed tests that a reply shows, unless it was asked for all.
const MAX_TOLD_FAILURES: usize = 20;

/// Exit code of a failed build (cargo(1)).
const CARGO_FAILED: i32 = 101;

/// Returns the verdict on a test run; `missed` is the number of named targets that did not run.
pub fn of_tests(
    runner: &dyn Runner,
    results: &TestResults,
    missed: usize,
    ending: ProcessEnding,
) -> TestStatus {
    let summary = &results.summary;
    let failed = summary.failed + summary.errored > 0;
    let faults = !results.file_errors.is_empty() || !results.run_errors.is_empty();
    if ending.missing {
        return TestStatus::MissingTool;
    }
    if ending.timed_out {
        return TestStatus::TimedOut;
    }
    if results.build_failed && summary.ran() == 0 {
        return TestStatus::BuildError;
    }
    if results.begun && !results.ended || ending.signal.is_some() {
        return TestStatus::Crashed;
    }
    // A bundled reporter writes its first event before any test: a success without one ran no
    // tests.
    if runner.has_reporter() && !results.begun && ending.exit_code == Some(0) {
        return TestStatus::Crashed;
    }
    // A failing runner reports it by its exit code.
    let is_cut_short = results.is_cut_short && ending.exit_code == Some(0);
    let is_open = !results.unfinished.is_empty() || !results.silent.is_empty() || is_cut_short;
    if !failed && !faults && (is_open || summary.ran() > 0 && summary.not_run > 0) {
        // The run was stopped in the middle with a success code, as `pytest.exit` can.
        return TestStatus::Crashed;
    }
    if results.has_no_report && !faults {
        return match ending.exit_code {
            Some(0) => TestStatus::Passed,
            _ => TestStatus::Failed,
        };
    }
    if summary.ran() > 0 {
        // A reported failure counts despite exit code 0, and so does a mere failing exit code.
        let passed = !failed
            && !faults
            && !results.build_failed
            && ending.exit_code == Some(0)
            && results.passed != Some(false);
        return match (passed, missed) {
            (false, _) => TestStatus::Failed,
            (true, 0) => TestStatus::Passed,
            (true, _) => TestStatus::Incomplete,
        };
    }
    let is_told = runner.is_custom_command() && results.passed == Some(false);
    if !results.file_errors.is_empty() || failed || is_told {
        return TestStatus::Failed;
    }
    // The process died while a file ran, so there is no report of its tests.
    if !results.run_errors.is_empty() && !results.unfinished.is_empty() && summary.not_run > 0 {
        return TestStatus::Crashed;
    }
    // An error before any test and outside all files is one of the environment: a plugin, a missing
    // dependency.
    if !results.run_errors.is_empty() {
        return TestStatus::ConfigError;
    }
    if runner.ended_without_tests(results, ending.exit_code) {
        TestStatus::NoTests
    } else {
        TestStatus::ConfigError
    }
}

/// Returns the verdict on a type check; `errors` counts those in the requested targets.
pub fn of_check(
    checked: &CheckResults,
    errors: u64,
    hidden: u64,
    ending: ProcessEnding,
) -> CheckStatus {
    if ending.missing {
        return CheckStatus::MissingTool;
    }
    if ending.timed_out {
        return CheckStatus::TimedOut;
    }
    let is_error = |found: &&Diagnostic| found.severity == Severity::Error;
    let mut found = checked.diagnostics.iter().filter(is_error).peekable();
    let is_any = found.peek().is_some();
    // Errors in sources have a place. Those in configuration files and on the command line do not
    // count as such.
    let config = [".json", ".toml", ".ini", ".cfg"];
    let is_source = |file: &str| !config.iter().any(|end| file.ends_with(end));
    let of_sources = found.any(|found| found.file.as_deref().is_some_and(is_source));
    let is_whole = checked.not_checked.is_empty() && checked.silenced.is_empty();
    let clean = if is_whole {
        CheckStatus::Clean
    } else {
        CheckStatus::Incomplete
    };
    match (errors, hidden) {
        _ if checked.broke || is_any && !of_sources => CheckStatus::ConfigError,
        (0, 0) if checked.files_checked == Some(0) => CheckStatus::ConfigError,
        (0, 0) if ending.exit_code == Some(0) => clean,
        (0, 0) if checked.diagnostics.is_empty() => CheckStatus::ConfigError,
        // All targets were checked, and errors elsewhere do not concern the caller.
        (0, _) if matches!(ending.exit_code, Some(0..=2)) => clean,
        // A compiler that stops at its first broken file has not checked the others.
        (0, _) if ending.exit_code == Some(CARGO_FAILED) && !checked.is_apart => {
            CheckStatus::Errors
        }
        (0, _) if checked.is_apart => clean,
        (0, _) => CheckStatus::ConfigError,
        _ => CheckStatus::Errors,
    }
}

/// Builds the report of a test run. `missed` are the named targets that did not run; `listed`
/// requests the name of every test.
pub fn test_report(
    runner: &dyn Runner,
    info: ToolInfo<RunnerName>,
    scope: Scope,
    mut results: TestResults,
    mut missed: Vec<String>,
    ending: ProcessEnding,
    listed: bool,
) -> TestReport {
    results.unreached.retain(|file| !missed.contains(file));
    missed.append(&mut results.unreached);
    let status = of_tests(runner, &results, missed.len(), ending);
    let not_run = match status {
        // No test ran at all.
        TestStatus::NoTests
        | TestStatus::BuildError
        | TestStatus::ConfigError
        | TestStatus::MissingTool => Vec::new(),
        _ => missed,
    };
    let is_ended = |case: &&mut Case| ending.timed_out && was_asked_to_end(case);
    for case in results.failures.iter_mut().filter(is_ended) {
        case.state = State::TimedOut;
        let tests = results.tests.iter_mut().filter(|test| test.id == case.id);
        tests.for_each(|test| test.state = State::TimedOut);
    }
    let mut report = TestReport {
        kind: TestsKind::Tests,
        status,
        runner: ToolInfo {
            version: info.version.or(results.version),
            ..info
        },
        scope,
        has_no_report: results.has_no_report
            && matches!(status, TestStatus::Passed | TestStatus::Failed),
        exit_code: ending.exit_code,
        signal: ending.signal,
        duration_ms: ending.duration_ms,
        summary: results.summary,
        failures: results.failures,
        file_errors: results.file_errors,
        run_errors: results.run_errors,
        slowest: results.slowest,
        unfinished: results.unfinished,
        not_run,
        left_out: results.left_out,
        tests: listed.then_some(results.tests),
        truncated: results.truncated,
        log_uri: None,
        hint: None,
    };
    let most = if listed {
        MAX_SHOWN_FAILURES
    } else {
        MAX_TOLD_FAILURES
    };
    report.truncated.failures += truncate_list(&mut report.failures, most);
    // If a test stops or moves the clock, runners measure wrong times.
    let is_possible = |time: &u64| *time <= ending.duration_ms.saturating_mul(2);
    report.slowest.retain(|slow| is_possible(&slow.duration_ms));
    for case in &mut report.failures {
        case.duration_ms = case.duration_ms.filter(is_possible);
    }
    for test in report.tests.iter_mut().flatten() {
        test.duration_ms = test.duration_ms.filter(is_possible);
    }
    for slow in &mut report.slowest {
        // Some runners round up.
        slow.duration_ms = slow.duration_ms.min(ending.duration_ms);
    }
    match &mut report.tests {
        Some(tests) => report.truncated.others += truncate_list(tests, MAX_LISTED_TESTS),
        // Do not count unrequested names as omitted.
        None => report.truncated.others = 0,
    }
    report.truncated.others += truncate_list(&mut report.not_run, MAX_RUN_FAULTS);
    let is_silent = !results.silent.is_empty();
    report.unfinished.extend(results.silent);
    report.hint = hint(&report, results.deselected, is_silent, ending);
    if ending.lingered {
        report.run_errors.append(&mut results.held);
    }
    if status == TestStatus::Crashed && results.is_cut_short && ending.exit_code == Some(0) {
        report.hint.get_or_insert_with(|| {
            "every test passed, but the process exited with success before the runner was \
             finished: look for an exit in a global teardown"
                .to_owned()
        });
    }
    let explained = !has_no_fault(&report);
    let needs_words = match status {
        TestStatus::Passed
        | TestStatus::Incomplete
        | TestStatus::MissingTool
        | TestStatus::NoTests => false,
        TestStatus::TimedOut => report.unfinished.is_empty() && report.summary.ran() == 0,
        _ => true,
    };
    if needs_words && !explained && !results.remarks.trim().is_empty() {
        // The last output of a killed process need not be the reason.
        let class = (status == TestStatus::Crashed)
            .then(|| format!("the runner ended with {}; its last output", ending.words()));
        report.run_errors.push(RunError {
            class,
            ..RunError::new(results.remarks)
        });
    }
    report
}

fn has_no_fault(report: &TestReport) -> bool {
    report.failures.is_empty() && report.file_errors.is_empty() && report.run_errors.is_empty()
}

/// Returns true if the test was only ended at the timeout: the server then asks all processes of a
/// run to end.
fn was_asked_to_end(case: &Case) -> bool {
    let is_told = |error: &TestError| error.message.contains("(SIGTERM)");
    case.state == State::Crashed && case.errors.iter().any(is_told)
}

/// Shortens the failures to the details in their text; adds the number of omitted bytes to
/// `truncated`.
pub fn shortened(mut report: TestReport) -> TestReport {
    let mut left_out = 0;
    let mut cut = |text: &mut String| {
        let lines = text.split_inclusive('\n').take(MAX_TOLD_LINES);
        let end = lines.map(str::len).sum::<usize>();
        left_out += (text.len() - end) as u64;
        text.truncate(end);
    };
    for case in &mut report.failures {
        let outputs = [&mut case.stdout, &mut case.stderr];
        outputs.into_iter().flatten().for_each(&mut cut);
        for error in &mut case.errors {
            cut(&mut error.message);
            let values = [&mut error.expected, &mut error.actual, &mut error.diff];
            values.into_iter().flatten().for_each(&mut cut);
            error.stack.truncate(frames_to_show(&error.stack));
        }
    }
    for error in &mut report.file_errors {
        cut(&mut error.message);
    }
    for error in &mut report.run_errors {
        cut(&mut error.message);
        error.stack.truncate(frames_to_show(&error.stack));
    }
    report.truncated.bytes += left_out;
    report
}

/// Returns the next step, if the report alone implies one.
fn hint(
    report: &TestReport,
    deselected: u64,
    is_silent: bool,
    ending: ProcessEnding,
) -> Option<String> {
    let text = match report.status {
        TestStatus::NoTests
            if deselected > 0 && (!report.left_out.is_empty() || report.scope.filter.is_none()) =>
        {
            "the project's configuration may exclude the requested tests; name a file or a test"
                .to_owned()
        }
        TestStatus::NoTests if deselected == 1 => {
            "the filter excluded the only test: correct or remove the filter".to_owned()
        }
        TestStatus::NoTests if deselected > 0 => {
            format!("the filter excluded all {deselected} tests: correct or remove the filter")
        }
        TestStatus::NoTests if report.summary.total > 0 && report.scope.filter.is_some() => {
            "every test was skipped: correct or remove the filter".to_owned()
        }
        TestStatus::NoTests if report.summary.total > 0 => {
            "no test passed or failed: each was skipped, is a to-do, or is expected to fail"
                .to_owned()
        }
        TestStatus::NoTests => {
            let asked = match (report.scope.filter.is_some(), report.scope.files.is_empty()) {
                (true, true) => "the filter",
                (true, false) => "the files and the filter",
                (false, false) => "the named files",
                (false, true) => {
                    "the directories and file names that the runner searches for tests"
                }
            };
            format!("no test was found: check {asked}")
        }
        TestStatus::TimedOut if !report.unfinished.is_empty() => {
            "look for an endless loop or wait in the unfinished tests, or give a longer `timeout`"
                .to_owned()
        }
        TestStatus::TimedOut => "give a longer `timeout`, or fewer files".to_owned(),
        TestStatus::Incomplete => {
            "all tests that ran passed, but some of the named files did not run: check whether \
             they contain tests, and the exclude patterns of the runner"
                .to_owned()
        }
        TestStatus::Crashed if is_silent => {
            "an unfinished file exited with success and reported no test: look for an exit before \
             the end of its tests"
                .to_owned()
        }
        TestStatus::Crashed if report.summary.total == 0 && report.exit_code == Some(0) => {
            "the runner exited with success before any test: look for an exit in its \
             configuration or setup"
                .to_owned()
        }
        TestStatus::Crashed if !report.unfinished.is_empty() => {
            format!(
                "the process crashed during the unfinished tests (the runner ended with {}); \
                the earlier results are valid",
                ending.words()
            )
        }
        TestStatus::Failed if !report.has_no_report && has_no_fault(report) => {
            "every test passed, but the runner failed: read its output (a coverage threshold, an \
             open handle)"
                .to_owned()
        }
        _ => return None,
    };
    Some(text)
}

/// Builds the report of a type check; `in_scope` returns true for requested files.
pub fn diagnostics(
    tool: ToolInfo<CheckerName>,
    scope: Scope,
    mut checked: CheckResults,
    ending: ProcessEnding,
    in_scope: impl Fn(&str) -> bool,
) -> Diagnostics {
    let mut summary = DiagnosticSummary::default();
    let [beyond_errors, beyond_warnings] = checked.beyond;
    let mut hidden_errors = 0;
    for diagnostic in &checked.diagnostics {
        let is_shown = diagnostic.file.as_deref().is_none_or(&in_scope);
        match (is_shown, diagnostic.severity) {
            (_, Severity::Note) => {}
            (true, Severity::Error) => summary.errors += 1,
            (true, Severity::Warning) => summary.warnings += 1,
            (false, severity) => {
                summary.hidden_outside_scope += 1;
                hidden_errors += u64::from(severity == Severity::Error);
            }
        }
    }
    summary.errors += beyond_errors;
    summary.warnings += beyond_warnings;
    let status = of_check(&checked, summary.errors, hidden_errors, ending);
    let mut shown = std::mem::take(&mut checked.diagnostics);
    shown.retain(|diagnostic| diagnostic.file.as_deref().is_none_or(&in_scope));
    shown.sort_by_key(|diagnostic| diagnostic.severity as u8);
    let truncated =
        truncate_list(&mut shown, MAX_SHOWN_DIAGNOSTICS) + beyond_errors + beyond_warnings;
    let mut not_checked = std::mem::take(&mut checked.not_checked);
    let is_missed = !not_checked.is_empty();
    checked.silenced.retain(|file| !not_checked.contains(file));
    not_checked.append(&mut checked.silenced);
    let truncated = truncated + truncate_list(&mut not_checked, MAX_RUN_FAULTS);
    let hint = match status {
        CheckStatus::Errors if summary.errors == 0 => Some(
            "the checker stopped at errors in other files and may not have checked the named \
             ones: run it without `files`",
        ),
        CheckStatus::Errors if checked.is_apart => Some(
            "all errors are in tests, examples or benches, which `cargo check` includes only with \
             `--all-targets`, as here",
        ),
        CheckStatus::Incomplete if !is_missed => Some(
            "errors of the unchecked files are suppressed: remove the suppression to check them",
        ),
        CheckStatus::Incomplete => Some(
            "the checker does not include or import the unchecked files: look at its \
             configuration (`include`, `files`), or declare the module",
        ),
        _ => None,
    };
    if matches!(status, CheckStatus::ConfigError)
        && shown.is_empty()
        && !checked.remarks.trim().is_empty()
    {
        shown.push(Diagnostic::new(Severity::Error, checked.remarks));
    }
    Diagnostics {
        kind: DiagnosticsKind::Diagnostics,
        status,
        tool: ToolInfo {
            version: tool.version.or(checked.version),
            ..tool
        },
        scope,
        exit_code: ending.exit_code,
        duration_ms: ending.duration_ms,
        files_checked: checked.files_checked,
        not_checked,
        summary,
        diagnostics: shown,
        truncated,
        log_uri: None,
        hint: hint.map(str::to_owned),
    }
}

/// Cuts a list; returns the number of items cut.
fn truncate_list<T>(list: &mut Vec<T>, max: usize) -> u64 {
    let more = list.len().saturating_sub(max);
    list.truncate(max);
    more as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Summary;
    use crate::runners::{AnyCommand, CargoTest, Go, Jest, Nextest, Pytest, Vitest};

    fn results(summary: Summary) -> TestResults {
        TestResults {
            begun: true,
            ended: true,
            summary,
            ..TestResults::default()
        }
    }

    fn exit(code: i32) -> ProcessEnding {
        ProcessEnding {
            exit_code: Some(code),
            ..ProcessEnding::default()
        }
    }

    fn passed(passed: u64) -> Summary {
        Summary {
            total: passed,
            passed,
            ..Summary::default()
        }
    }

    #[test]
    fn test_ended_at_timeout_is_no_crash() {
        let ended = |signal: &str| {
            let error = TestError {
                message: format!("process aborted with signal ({signal})"),
                ..TestError::default()
            };
            Case {
                errors: vec![error],
                ..Case::new(signal, signal, State::Crashed)
            }
        };
        let states = |timed_out| {
            let results = TestResults {
                failures: vec![ended("SIGTERM"), ended("SIGSEGV")],
                ..results(passed(1))
            };
            let runner: &dyn Runner = &Nextest;
            let info = ToolInfo::new(runner.id(), "/p".to_owned());
            let scope = Scope {
                files: Vec::new(),
                filter: None,
                project: None,
            };
            let ending = ProcessEnding {
                timed_out,
                ..exit(100)
            };
            let report = test_report(runner, info, scope, results, Vec::new(), ending, false);
            report
                .failures
                .iter()
                .map(|case| case.state)
                .collect::<Vec<_>>()
        };
        assert_eq!(states(true), [State::TimedOut, State::Crashed]);
        assert_eq!(states(false), [State::Crashed; 2]);
    }

    #[test]
    fn worker_death_is_crash_only_with_planned_tests() {
        let of = |not_run| {
            let summary = Summary {
                total: not_run,
                not_run,
                ..Summary::default()
            };
            let run_errors = vec![RunError {
                class: None,
                message: "x".to_owned(),
                stack: Vec::new(),
            }];
            let results = TestResults {
                run_errors,
                unfinished: vec!["a.test.ts".to_owned()],
                ..results(summary)
            };
            of_tests(&Vitest, &results, 0, exit(1))
        };
        assert_eq!(
            [of(2), of(0)],
            [TestStatus::Crashed, TestStatus::ConfigError]
        );
    }

    #[test]
    fn impossible_test_times_are_omitted() {
        let slow = |id: &str, duration_ms| crate::model::Slow {
            id: id.to_owned(),
            duration_ms,
        };
        let results = TestResults {
            slowest: vec![slow("a", 99_000), slow("b", 1_100)],
            ..results(passed(2))
        };
        let info = ToolInfo::new((&Pytest as &dyn Runner).id(), "/p".to_owned());
        let ending = ProcessEnding {
            duration_ms: 1_000,
            ..exit(0)
        };
        let report = test_report(
            &Pytest,
            info,
            Scope::default(),
            results,
            Vec::new(),
            ending,
            false,
        );
        assert_eq!(report.slowest, [slow("b", 1_000)]);
    }

    #[test]
    fn verdict_requires_tests_and_runner_success() {
        let of = |results: &TestResults, code| of_tests(&Vitest, results, 0, exit(code));
        assert_eq!(of(&results(passed(1)), 0), TestStatus::Passed);
        // Coverage thresholds.
        assert_eq!(of(&results(passed(1)), 1), TestStatus::Failed);
        let skipped = Summary {
            total: 2,
            skipped: 2,
            ..Summary::default()
        };
        assert_eq!(of(&results(skipped), 0), TestStatus::NoTests);
        assert_eq!(of(&results(Summary::default()), 1), TestStatus::NoTests);
        let failed = Summary {
            total: 1,
            failed: 1,
            ..Summary::default()
        };
        assert_eq!(of(&results(failed), 0), TestStatus::Failed);
        // Stopped in the middle, with 0.
        let stopped = Summary {
            total: 3,
            passed: 1,
            not_run: 2,
            ..Summary::default()
        };
        assert_eq!(of(&results(stopped), 0), TestStatus::Crashed);
        let open = TestResults {
            unfinished: vec!["a > b".to_owned()],
            ..results(passed(1))
        };
        assert_eq!(of(&open, 0), TestStatus::Crashed);
        // An unhandled rejection, even if the runner exits with 0.
        let leaked = TestResults {
            run_errors: vec![RunError::default()],
            ..results(passed(1))
        };
        assert_eq!([of(&leaked, 0), of(&leaked, 1)], [TestStatus::Failed; 2]);
        let nothing_ran = TestResults {
            run_errors: vec![RunError::default()],
            ..results(Summary::default())
        };
        assert_eq!(of(&nothing_ran, 1), TestStatus::ConfigError);
        assert_eq!(of(&TestResults::default(), 1), TestStatus::ConfigError);
    }

    #[test]
    fn incomplete_run_verdict_follows_process_end() {
        let half = TestResults {
            ended: false,
            ..results(passed(3))
        };
        let of = |ending| of_tests(&Pytest, &half, 0, ending);
        assert_eq!(of(exit(0)), TestStatus::Crashed);
        assert_eq!(
            of(ProcessEnding {
                timed_out: true,
                signal: Some(9),
                ..ProcessEnding::default()
            }),
            TestStatus::TimedOut
        );
        assert_eq!(
            of(ProcessEnding {
                missing: true,
                ..ProcessEnding::default()
            }),
            TestStatus::MissingTool
        );
        // After the tests, before the runner's own end.
        let cut = TestResults {
            is_cut_short: true,
            ..results(passed(3))
        };
        let of = |code| of_tests(&Jest, &cut, 0, exit(code));
        assert_eq!([of(0), of(1)], [TestStatus::Crashed, TestStatus::Failed]);
        let broken = TestResults {
            build_failed: true,
            ..TestResults::default()
        };
        assert_eq!(
            of_tests(&CargoTest, &broken, 0, exit(101)),
            TestStatus::BuildError
        );
        let partly = TestResults {
            build_failed: true,
            ..results(passed(1))
        };
        assert_eq!(of_tests(&Go, &partly, 0, exit(1)), TestStatus::Failed);
    }

    #[test]
    fn lingering_process_is_reported_with_reason() {
        let held = RunError {
            message: "the thread `x`".to_owned(),
            ..RunError::default()
        };
        let ending = ProcessEnding {
            timed_out: true,
            lingered: true,
            signal: Some(15),
            ..ProcessEnding::default()
        };
        let of = |ending: ProcessEnding| {
            let info = ToolInfo::new(RunnerName("pytest"), String::new());
            let results = TestResults {
                held: vec![held.clone()],
                ..results(passed(1))
            };
            let report = test_report(
                &Pytest,
                info,
                Scope::default(),
                results,
                Vec::new(),
                ending,
                false,
            );
            (report.status, report.run_errors)
        };
        assert_eq!(of(ending), (TestStatus::TimedOut, vec![held.clone()]));
        assert_eq!(of(exit(0)), (TestStatus::Passed, vec![]));
        assert_eq!(
            [ending.words(), exit(3).words()],
            ["SIGTERM (signal 15)", "exit code 3"]
        );
    }

    #[test]
    fn exit_code_for_no_tests_depends_on_runner() {
        let of = |runner: &dyn Runner, code| {
            of_tests(runner, &results(Summary::default()), 0, exit(code))
        };
        assert_eq!(of(&Pytest, 5), TestStatus::NoTests);
        assert_eq!(of(&Pytest, 4), TestStatus::ConfigError);
        assert_eq!(
            of_tests(&Nextest, &TestResults::default(), 0, exit(4)),
            TestStatus::NoTests
        );
        assert_eq!(of(&CargoTest, 0), TestStatus::NoTests);
        assert_eq!(
            of_tests(&AnyCommand, &TestResults::default(), 0, exit(0)),
            TestStatus::ConfigError
        );
    }

    #[test]
    fn missed_target_makes_run_incomplete() {
        let of = |results: &TestResults, code| of_tests(&Vitest, results, 1, exit(code));
        assert_eq!(of(&results(passed(1)), 0), TestStatus::Incomplete);
        assert_eq!(of(&results(passed(1)), 1), TestStatus::Failed);
        assert_eq!(of(&results(Summary::default()), 0), TestStatus::NoTests);
    }

    #[test]
    fn success_exit_before_any_test_is_crash() {
        let of = |runner: &dyn Runner| of_tests(runner, &TestResults::default(), 0, exit(0));
        assert_eq!(
            [of(&Vitest), of(&Jest), of(&Pytest)],
            [TestStatus::Crashed; 3]
        );
        assert_eq!(
            [of(&CargoTest), of(&Nextest), of(&Go)],
            [TestStatus::NoTests; 3]
        );
        assert_eq!(of(&AnyCommand), TestStatus::ConfigError);
        let silent = TestResults {
            silent: vec!["a".to_owned()],
            ..results(passed(1))
        };
        assert_eq!(of_tests(&Go, &silent, 0, exit(0)), TestStatus::Crashed);
        // Counts in the report beyond its cases.
        let counted = TestResults {
            passed: Some(false),
            run_errors: vec![RunError::default()],
            ..results(Summary::default())
        };
        assert_eq!(
            of_tests(&AnyCommand, &counted, 0, exit(0)),
            TestStatus::Failed
        );
    }

    #[test]
    fn check_is_clean_without_errors_in_scope() {
        let at = |file: Option<&str>| Diagnostic {
            file: file.map(str::to_owned),
            ..Diagnostic::new(Severity::Error, "x")
        };
        let status = |diagnostics: Vec<Diagnostic>, code| {
            let checked = CheckResults {
                diagnostics,
                ..CheckResults::default()
            };
            let tool = ToolInfo::new(CheckerName("tsc"), String::new());
            let told = diagnostics_of(tool, checked, exit(code));
            (
                told.status,
                told.summary.errors,
                told.summary.hidden_outside_scope,
            )
        };
        assert_eq!(status(vec![], 0), (CheckStatus::Clean, 0, 0));
        assert_eq!(status(vec![], 1), (CheckStatus::ConfigError, 0, 0));
        assert_eq!(
            status(vec![at(Some("a.ts")), at(Some("b.ts"))], 2),
            (CheckStatus::Errors, 1, 1)
        );
        assert_eq!(
            status(vec![at(Some("b.ts"))], 2),
            (CheckStatus::Clean, 0, 1)
        );
        // cargo, which has not checked the rest after a broken file; a checker that died.
        assert_eq!(
            status(vec![at(Some("b.ts"))], 101),
            (CheckStatus::Errors, 0, 1)
        );
        assert_eq!(
            status(vec![at(Some("b.ts"))], 134),
            (CheckStatus::ConfigError, 0, 1)
        );
        let unseen = CheckResults {
            not_checked: vec!["c.ts".to_owned()],
            ..CheckResults::default()
        };
        assert_eq!(of_check(&unseen, 0, 0, exit(0)), CheckStatus::Incomplete);
        let silenced = CheckResults {
            silenced: vec!["c.ts".to_owned()],
            ..CheckResults::default()
        };
        assert_eq!(of_check(&silenced, 0, 0, exit(0)), CheckStatus::Incomplete);
        let broken = CheckResults {
            diagnostics: vec![at(Some("a.ts"))],
            ..unseen
        };
        assert_eq!(of_check(&broken, 1, 0, exit(1)), CheckStatus::Errors);
        let none = CheckResults {
            files_checked: Some(0),
            ..CheckResults::default()
        };
        assert_eq!(of_check(&none, 0, 0, exit(0)), CheckStatus::ConfigError);
        assert_eq!(status(vec![at(None)], 1), (CheckStatus::ConfigError, 1, 0));
        assert_eq!(
            status(vec![at(Some("tsconfig.json"))], 1),
            (CheckStatus::ConfigError, 0, 1)
        );
    }

    fn diagnostics_of(
        tool: ToolInfo<CheckerName>,
        checked: CheckResults,
        ending: ProcessEnding,
    ) -> Diagnostics {
        diagnostics(tool, Scope::default(), checked, ending, |file| {
            file == "a.ts"
        })
    }
}
