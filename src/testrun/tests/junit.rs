//! Faults and states in JUnit XML.

use super::*;

#[test]
fn junit_suite_with_uncounted_failures_fails() {
    let status = |xml: &str| {
        let sources = Sources {
            report: xml.as_bytes(),
            ..Sources::default()
        };
        let results = (&AnyCommand as &dyn Runner).read(sources, Bound::default());
        let told: Vec<_> = results
            .run_errors
            .iter()
            .map(|error| error.message.clone())
            .collect();
        (
            verdict::of_tests(
                &AnyCommand,
                &results,
                0,
                ProcessEnding {
                    exit_code: Some(0),
                    ..ProcessEnding::default()
                },
            ),
            told,
        )
    };
    let counts =
        |name: &str, counted: &str| vec![format!("the suite `{name}` announces {counted}")];
    let one = "<testcase name='a'/>";
    let wrong = format!("<testsuite name='s' tests='3' failures='1' errors='1'>{one}</testsuite>");
    assert_eq!(
        status(&wrong),
        (
            Failed,
            counts(
                "s",
                "3 tests and 2 failures, but contains 1 tests and 0 failures"
            )
        )
    );
    let outer = format!(
        "<testsuites name='w' failures='1'><testsuite name='s'>{one}</testsuite></testsuites>"
    );
    assert_eq!(
        status(&outer),
        (
            Failed,
            counts(
                "w",
                "0 tests and 1 failures, but contains 1 tests and 0 failures"
            )
        )
    );
    let summary = "<testsuites><testsuite name='s' tests='2'/></testsuites>";
    assert_eq!(
        status(summary),
        (
            Failed,
            counts(
                "s",
                "2 tests and 0 failures, but contains 0 tests and 0 failures"
            )
        )
    );
    // pytest's subtests have no case of their own; omitted tests need none.
    let left_out = format!(
        "<testsuites><testsuite tests='2' skipped='1' failures='0'>{one}</testsuite></testsuites>"
    );
    assert_eq!(status(&left_out), (Passed, vec![]));
    let subtests = format!("<testsuite name='pytest' tests='2'>{one}</testsuite>");
    assert_eq!(status(&subtests), (Passed, vec![]));
    let short = format!("<testsuite name='s' tests='2'>{one}</testsuite>");
    assert_eq!(
        status(&short),
        (
            Failed,
            counts(
                "s",
                "2 tests and 0 failures, but contains 1 tests and 0 failures"
            )
        )
    );
    let set_up = format!(
        "<testsuite name='s' tests='1' errors='1'>{one}<error message='no db'>x</error></testsuite>"
    );
    assert_eq!(
        status(&set_up),
        (
            Failed,
            vec!["the suite `s` has `<error>` outside of its tests: no db".to_owned()]
        )
    );
    let bare = format!("<testsuites>{one}<failure/></testsuites>");
    assert_eq!(
        status(&bare),
        (
            Failed,
            vec!["the suite `` has `<failure>` outside of its tests".to_owned()]
        )
    );
    let half = format!("<testsuites><testsuite>{one}</testsuite>");
    let why = "the report ends in the middle: TAP without a plan, or XML without its last tags";
    assert_eq!(status(&half), (Crashed, vec![why.to_owned()]));
}

#[test]
fn junit_status_attribute_decides_case_state() {
    let states = |attributes: &[&str]| {
        let cases = attributes
            .iter()
            .map(|said| format!("<testcase name='a' {said}/>"))
            .collect::<Vec<_>>()
            .concat();
        let xml = format!("<testsuite>{cases}</testsuite>");
        let sources = Sources {
            report: xml.as_bytes(),
            ..Sources::default()
        };
        let results = (&AnyCommand as &dyn Runner).read(sources, Bound::default());
        results
            .tests
            .iter()
            .map(|test| test.state)
            .collect::<Vec<_>>()
    };
    // GoogleTest: a disabled test, and a test that skipped itself.
    let google = [
        "status='run' result='completed'",
        "status='notrun' result='suppressed'",
        "status='run' result='skipped'",
    ];
    assert_eq!(
        states(&google),
        [State::Passed, State::Skipped, State::Skipped]
    );
    let others = [
        "status='failed'",
        "result='Failure'",
        "status='error' result='completed'",
        "status='Not Run'",
        "status='0'",
    ];
    assert_eq!(
        states(&others),
        [
            State::Failed,
            State::Failed,
            State::Errored,
            State::Skipped,
            State::Passed
        ]
    );
    let both = "<testsuite><testcase name='a' status='notrun'><failure/></testcase>\
        <testcase name='b' status='failed'><skipped/></testcase></testsuite>";
    let results = (&AnyCommand as &dyn Runner).read(
        Sources {
            report: both.as_bytes(),
            ..Sources::default()
        },
        Bound::default(),
    );
    assert_eq!(
        (
            results.summary.failed,
            results.summary.total,
            results.failures[1].errors.len()
        ),
        (2, 2, 1)
    );
}
