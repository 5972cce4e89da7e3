//! Properties of reports of test runners and type checkers: any bytes are read, since a test can
//! write to them.

use replay_base::cancel::Bound;
use replay_testrun::model::{Scope, TestReport, TestStatus, ToolInfo};
use replay_testrun::verdict;
use replay_testrun::{
    CHECKERS, Checker, ProcessEnding, RUNNERS, RunProgress, Runner, Sources, text,
};

use super::Source;

/// Maximum bytes of a report as JSON and as text.
const MAX_REPLY_BYTES: usize = 4 * 1024 * 1024;

/// Reads a report. The first byte chooses the program and the second its end; the rest is written
/// to any stream.
pub fn a_report_is_read(bytes: &[u8]) {
    let mut source = Source(bytes);
    let which = usize::from(source.byte()) % (RUNNERS.len() + CHECKERS.len());
    let end = source.byte();
    let exit_code = [Some(0), Some(1), Some(101), None][usize::from(end % 4)];
    let ending = ProcessEnding {
        exit_code,
        timed_out: end & 4 != 0,
        ..ProcessEnding::default()
    };
    let written = source.0;
    let sources = Sources {
        report: if end & 8 == 0 { written } else { b"" },
        stdout: if end & 16 == 0 { written } else { b"" },
        stderr: if end & 32 == 0 { written } else { b"" },
        root: ["", "/p"][usize::from(end & 64 != 0)],
        go_package: "p",
        own_harness: &["own".to_owned()],
        ..Sources::default()
    };
    match RUNNERS.get(which) {
        Some(runner) => run(*runner, sources, ending),
        None => check(CHECKERS[which - RUNNERS.len()], sources, ending),
    }
}

fn run(runner: &'static dyn Runner, sources: Sources<'_>, ending: ProcessEnding) {
    let parsed = runner.read(sources, Bound::default());
    let of = parsed.summary;
    assert_eq!(
        of.total,
        of.passed
            + of.failed
            + of.errored
            + of.skipped
            + of.todo
            + of.expected_failures
            + of.not_run
    );
    assert!(of.flaky <= of.passed);
    let info = ToolInfo {
        name: runner.id(),
        version: None,
        command: Vec::new(),
        cwd: "/p".to_owned(),
    };
    let report: TestReport = verdict::test_report(
        runner,
        info,
        Scope::default(),
        parsed,
        Vec::new(),
        ending,
        false,
    );
    if report.status == TestStatus::Passed {
        assert!(
            (of.ran() > 0 || report.has_no_report)
                && of.failed + of.errored == 0
                && ending.exit_code == Some(0)
                && !ending.timed_out
        );
        assert!(
            report.unfinished.is_empty()
                && report.file_errors.is_empty()
                && report.run_errors.is_empty()
        );
    }
    assert!(serde_json::to_string(&report).unwrap().len() < MAX_REPLY_BYTES);
    let told = text::tests(&report);
    assert!(told.len() < MAX_REPLY_BYTES);
    assert!(
        !told.contains(|next: char| next.is_control() && next != '\n' && next != '\t'),
        "{told:?}"
    );

    // The count does not depend on how the text is split.
    let mut whole = RunProgress::new(runner);
    whole.feed(sources.report);
    let mut parts = RunProgress::new(runner);
    sources.report.chunks(7).for_each(|part| parts.feed(part));
    assert_eq!(whole.counted(), parts.counted());
}

fn check(checker: &'static dyn Checker, sources: Sources<'_>, ending: ProcessEnding) {
    let checked = checker.read(sources, Bound::default());
    let info = ToolInfo {
        name: checker.id(),
        version: None,
        command: Vec::new(),
        cwd: "/p".to_owned(),
    };
    let report = verdict::diagnostics(info, Scope::default(), checked, ending, |file| {
        file.len() % 2 == 0
    });
    for diagnostic in &report.diagnostics {
        assert!(
            diagnostic
                .file
                .as_deref()
                .is_none_or(|file| file.len() % 2 == 0)
        );
    }
    assert!(serde_json::to_string(&report).unwrap().len() < MAX_REPLY_BYTES);
    let told = text::diagnostics(&report);
    assert!(told.len() < MAX_REPLY_BYTES);
    assert!(
        !told.contains(|next: char| next.is_control() && next != '\n' && next != '\t'),
        "{told:?}"
    );
}
