//! Reports of any command: JUnit XML, trx and TAP with faults, and runs without a report.

use pretty_assertions::assert_eq;

use super::*;

/// Returns the output of a command.
fn written(report: Vec<u8>, stdout: Vec<u8>, exit_code: i32) -> Sample {
    Sample {
        report,
        stdout,
        stderr: Vec::new(),
        own_harness: Vec::new(),
        classes: ClassSources::default(),
        ending: ProcessEnding {
            exit_code: Some(exit_code),
            duration_ms: 1230,
            ..ProcessEnding::default()
        },
    }
}

/// Returns the status of a command that wrote this report and succeeded, and its messages.
fn status_of_report(report: &str) -> (TestStatus, Vec<String>) {
    let sample = written(report.as_bytes().to_vec(), Vec::new(), 0);
    let report = sample.run(&AnyCommand);
    let messages = report.run_errors.into_iter().map(|error| error.message);
    (report.status, messages.collect())
}

#[test]
fn exit_code_decides_without_report() {
    let told = |stdout: &str, exit_code| {
        let sample = written(Vec::new(), stdout.as_bytes().to_vec(), exit_code);
        text::tests(&sample.run(&AnyCommand))
    };
    assert_eq!(
        told("all good\n", 0),
        "PASSED: no report: exit 0 (command, 1.23 s)"
    );
    assert_eq!(
        told("a.c:3: no\n", 2),
        "FAILED: no report: exit 2 (command, 1.23 s)\nRUN ERROR output\n  a.c:3: no"
    );
    assert_eq!(
        told("building\n1..1\nok 1 - a\n", 0),
        "PASSED: 1 passed, 0 failed (command, 1.23 s)\nok a"
    );
    assert_eq!(
        told("ok 1 - a\n1..2\n", 0),
        "FAILED: 1 passed, 0 failed, 1 run error (command, 1.23 s)\nRUN ERROR counts disagree\n  \
         the plan announces 2 tests, but 1 were reported\nok a"
    );
    assert_eq!(
        told("1..2\nok 1 - a\nBail out! no disk\n", 1)
            .lines()
            .next(),
        Some("CRASHED: 1 passed, 0 failed, 2 run errors (command, 1.23 s)")
    );
    assert_eq!(
        told("1..0 # skipped: no display\n", 0).lines().next(),
        Some("NO TESTS RAN: 0 passed, 0 failed (command, 1.23 s)")
    );
}

#[test]
fn deeply_nested_trx_is_rejected() {
    let open = "<InnerResults><UnitTestResult testName=\"a\" outcome=\"Passed\">".repeat(100_000);
    let report = format!("<TestRun><Results><UnitTestResult testName=\"a\">{open}");
    let why = "the report ends in the middle: TAP without a plan, or XML without its last tags";
    let expected = (TestStatus::Crashed, vec![why.to_owned()]);
    assert_eq!(status_of_report(&report), expected);
}

#[test]
fn tap_numbers_have_to_agree_with_plan() {
    let status = |report: &str| status_of_report(report).0;
    assert_eq!(status("1..2\nok 1\nok 2\n"), TestStatus::Passed);
    assert_eq!(status("1..2\nok 2\nok 1\n"), TestStatus::Passed);
    assert_eq!(status("1..2\nok\nok - b\n"), TestStatus::Passed);
    assert_eq!(status("1..2\nok 1\nok 1\n"), TestStatus::Failed);
    assert_eq!(status("1..1\nok 5\n"), TestStatus::Failed);
    let nested = "1..1\n    ok 1\n    1..2\nok 1 - a\n";
    assert_eq!(status(nested), TestStatus::Failed);
}

#[test]
fn junit_count_that_is_no_number_fails() {
    for count in ["99999999999999999999999", "-1", "one"] {
        let report = format!(
            "<testsuite name=\"s\" tests=\"1\" failures=\"{count}\"><testcase name=\"a\"/></testsuite>"
        );
        assert_eq!(status_of_report(&report).0, TestStatus::Failed, "{count}");
    }
    let empty = "<testsuite name=\"s\" tests=\"0\" failures=\"0\"/>";
    assert_eq!(status_of_report(empty).0, TestStatus::NoTests);
}

#[test]
fn xml_report_on_stdout_may_follow_other_lines() {
    let sample = written(Vec::new(), b"> x@1 test\n<testsuite name=\"s\"><testcase name=\"a\"><failure/></testcase></testsuite>\n".to_vec(), 0);
    assert_eq!(sample.run(&AnyCommand).status, TestStatus::Failed);
}

#[test]
fn xml_report_in_utf_16_is_read() {
    let report = "\u{feff}<?xml version=\"1.0\" encoding=\"utf-16\"?>\n\
        <testsuite name=\"s\"><testcase name=\"é\"/></testsuite>";
    let encoded = |bytes: fn(u16) -> [u8; 2]| report.encode_utf16().flat_map(bytes).collect();
    for report in [encoded(u16::to_le_bytes), encoded(u16::to_be_bytes)] {
        let report = written(report, Vec::new(), 0).run(&AnyCommand);
        assert_eq!(
            text::tests(&report),
            "PASSED: 1 passed, 0 failed (command, 1.23 s)\nok s > é"
        );
    }
}

#[test]
fn truncated_tap_never_passes() {
    let whole = "TAP version 14\n# Subtest: a\n    ok 1 - b\n    1..1\nok 1 - a\nok 2 - c\n1..2\n";
    let status = |length: usize| {
        let sample = written(whole.as_bytes()[..length].to_vec(), Vec::new(), 0);
        sample.run(&AnyCommand).status
    };
    assert_eq!(status(whole.len()), TestStatus::Passed);
    // Without the last digit of the plan it is no plan.
    let cut = (20..whole.len() - 2).filter(|length| status(*length) == TestStatus::Passed);
    assert_eq!(cut.count(), 0);
}
