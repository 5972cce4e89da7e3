//! Golden tests: recorded output of runners and checkers, parsed, judged and formatted. Samples are
//! in `testdata/testrun`, one name with the endings `report`, `stdout`, `stderr` and `exit`.
#![expect(clippy::disallowed_methods, reason = "tests read their data")]

mod command_reports;

use std::fmt::Write as _;

use replay_base::cancel::Bound;

use super::checkers::{
    CargoCheck, DenoCheck, Eslint, GoVet, Mypy, Pyrefly, Pyright, Ruff, Tsc, Ty,
};
use super::model::{CheckStatus, Scope, State, TestReport, TestStatus, ToolInfo};
use super::outcome::ProcessEnding;
use super::reports::class_sources::ClassSources;
use super::runners::{
    AnyCommand, Bun, CargoTest, Ctest, Deno, Django, Dotnet, Go, Gradle, Jest, Maven, Mocha,
    Nextest, Node, Phpunit, Playwright, Pytest, Rspec, Unittest, Vitest,
};
use super::{Checker, Runner, Sources, text, verdict};

struct Sample {
    report: Vec<u8>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    own_harness: Vec<String>,
    classes: ClassSources,
    ending: ProcessEnding,
}

/// Sources of the samples of Gradle and Maven.
const CLASSES: [&str; 4] = [
    "src/test/java/p/BadTest.java",
    "app/src/main/java/org/x/Calc.java",
    "app/src/test/java/org/x/CalcTest.java",
    "lib/src/test/java/org/y/LibTest.java",
];

impl Sample {
    fn of(tool: &str, name: &str) -> Self {
        let read = |kind: &str| {
            let root = env!("CARGO_MANIFEST_DIR");
            std::fs::read(format!(
                "{root}/../../testdata/testrun/{tool}/{name}.{kind}"
            ))
            .unwrap_or_default()
        };
        let exit = String::from_utf8(read("exit")).unwrap();
        let exit_code = exit.trim().parse().ok();
        let timed_out = exit.trim() == "timed out";
        assert!(
            timed_out || exit_code.is_some(),
            "{tool}/{name} is not there"
        );
        let ending = ProcessEnding {
            exit_code,
            timed_out,
            duration_ms: 1230,
            ..ProcessEnding::default()
        };
        let own_harness = vec!["own".to_owned()];
        Self {
            report: read("report"),
            stdout: read("stdout"),
            stderr: read("stderr"),
            own_harness,
            classes: CLASSES.into_iter().map(str::to_owned).collect(),
            ending,
        }
    }

    fn sources(&self) -> Sources<'_> {
        Sources {
            report: &self.report,
            more_reports: &[],
            stdout: &self.stdout,
            stderr: &self.stderr,
            root: "/project",
            go_package: "example.com/demo",
            own_harness: &self.own_harness,
            classes: Some(&self.classes),
        }
    }

    fn run(&self, runner: &'static dyn Runner) -> TestReport {
        let results = runner.read(self.sources(), Bound::default());
        let info = ToolInfo::new(runner.id(), "/project".to_owned());
        verdict::test_report(
            runner,
            info,
            Scope::default(),
            results,
            Vec::new(),
            self.ending,
            true,
        )
    }
}

/// Returns the sample directory of a runner: `cargo` and `go` are names of checkers, too.
fn sample_dir(runner: &dyn Runner) -> &'static str {
    if runner.name() == "cargo" {
        "cargo_test"
    } else {
        runner.name()
    }
}

/// Returns the sample directory of a checker.
fn checker_sample_dir(checker: &dyn Checker) -> &'static str {
    match checker.name() {
        "cargo" => "cargo_check",
        "go" => "go_vet",
        "deno" => "deno_check",
        name => name,
    }
}

/// Compares snapshots: the text of each sample, and the whole report of the first one. Also
/// compares status and counts. The counts are passed, failed, errored, skipped, todo or expected to
/// fail, flaky, not run.
fn check_samples(runner: &'static dyn Runner, expected: &[(&str, (TestStatus, [u64; 7]))]) {
    let mut told = String::new();
    for (index, (name, expected)) in expected.iter().enumerate() {
        let report = Sample::of(sample_dir(runner), name).run(runner);
        let _ = writeln!(told, "=== {name}\n{}\n", text::tests(&report));
        if index == 0 {
            insta::assert_json_snapshot!(format!("{}_whole", sample_dir(runner)), report);
        }
        let of = report.summary;
        assert_eq!(
            of.total,
            of.passed
                + of.failed
                + of.errored
                + of.skipped
                + of.todo
                + of.expected_failures
                + of.not_run,
            "{name}"
        );
        let waiting = of.todo + of.expected_failures;
        let counts = [
            of.passed, of.failed, of.errored, of.skipped, waiting, of.flaky, of.not_run,
        ];
        assert_eq!((report.status, counts), *expected, "{name}");
    }
    insta::assert_snapshot!(format!("{}_text", sample_dir(runner)), told);
}

use TestStatus::{BuildError, ConfigError, Crashed, Failed, NoTests, Passed, TimedOut};

#[test]
fn vitest_samples_match_snapshots() {
    let mixed = (Failed, [4, 6, 0, 1, 1, 1, 3]);
    let skipped = (NoTests, [0, 0, 0, 2, 0, 0, 0]);
    let none = [0; 7];
    let expected = [
        ("mixed_5", mixed),
        ("mixed_4", mixed),
        ("mixed_3", mixed),
        ("pass_5", (Passed, [2, 0, 0, 0, 0, 0, 0])),
        ("unhandled_3", (Failed, [3, 0, 0, 0, 0, 0, 0])),
        ("unhandled_5", (Failed, [3, 0, 0, 0, 0, 0, 0])),
        ("nomatch_5", (NoTests, none)),
        ("tnomatch_3", skipped),
        ("tnomatch_5", skipped),
        ("exit_5", (Failed, [2, 1, 0, 0, 0, 0, 0])),
        ("jsdom_3", (ConfigError, none)),
        ("jsdom_5", (ConfigError, none)),
        ("hang_3", (TimedOut, [2, 0, 0, 0, 0, 0, 2])),
        ("hang_5", (TimedOut, [2, 0, 0, 0, 0, 0, 2])),
        ("config_5", (ConfigError, none)),
        // The tear-down of a global set-up throws or exits, and Vitest exits with 0.
        ("throws_4", (Failed, [1, 0, 0, 0, 0, 0, 0])),
        ("quits_5", (Failed, [1, 0, 0, 0, 0, 0, 0])),
    ];
    check_samples(&Vitest, &expected);
}

#[test]
fn pytest_samples_match_snapshots() {
    let xdist = (Failed, [3, 5, 2, 1, 1, 0, 0]);
    let expected = [
        // pytest's own counts are 7 failed, 4 passed and 1 xpassed. One of the failures is a
        // subtest. One of the passed tests had a failed subtest, another one a failed tear-down.
        // There are 2 errors beside those of the two files.
        ("mixed_9", (Failed, [3, 7, 2, 1, 1, 0, 0])),
        ("mixed_6", (Failed, [3, 7, 2, 1, 1, 0, 0])),
        ("xdist_9", xdist),
        ("xdist_6", xdist),
        ("xcrash_9", (Failed, [2, 1, 0, 0, 0, 0, 0])),
        ("xcrash_6", (Failed, [2, 1, 0, 0, 0, 0, 0])),
        ("flaky_9", (Passed, [1, 0, 0, 0, 0, 1, 0])),
        ("exit_9", (Crashed, [1, 0, 0, 0, 0, 0, 2])),
        ("hang_9", (TimedOut, [1, 0, 0, 0, 0, 0, 1])),
        ("none_9", (NoTests, [0; 7])),
        ("nofile_9", (ConfigError, [0; 7])),
        ("badarg_9", (ConfigError, [0; 7])),
        // A test with a failed subtest is one failure.
        ("subtests_9", (Failed, [2, 2, 0, 1, 1, 0, 0])),
        ("deselected_9", (Passed, [1, 0, 0, 0, 0, 0, 0])),
        ("exit0_9", (Crashed, [0; 7])),
        ("narrowed_9", (Passed, [1, 0, 0, 0, 0, 0, 0])),
        ("narrowed_x_9", (Passed, [1, 0, 0, 0, 0, 0, 0])),
        // Only its set-up was planned.
        ("setup_plan_9", (NoTests, [0, 0, 0, 0, 0, 0, 1])),
    ];
    let narrowed = ["narrowed_9", "narrowed_x_9"].map(|name| {
        let report = Sample::of("pytest", name).run(&Pytest);
        report.left_out.join("\n")
    });
    let told = "options of the project: -m not slow, --ignore=sub, --ignore-glob=tests2/*\n1 test \
        was deselected\n1 test was collected, then removed by conftest.py or a plugin\nnot \
        searched: sub/, test_b.py, tests2/test_d.py";
    assert_eq!(narrowed, [told; 2]);
    let deselected = Sample::of("pytest", "deselected_9");
    let results = (&Pytest as &dyn Runner).read(deselected.sources(), Bound::default());
    assert_eq!(
        results.files.iter().collect::<Vec<_>>(),
        ["t/test_ok.py", "t/test_sub.py"]
    );
    check_samples(&Pytest, &expected);
}

#[test]
fn unittest_samples_match_snapshots() {
    let mixed = (Failed, [2, 8, 1, 3, 1, 0, 2]);
    let expected = [
        ("mixed_3.13", mixed),
        ("mixed_3.8", mixed),
        ("exit_3.13", (Crashed, [0, 0, 0, 0, 0, 0, 2])),
        ("none_3.13", (NoTests, [0; 7])),
        ("hang_3.13", (TimedOut, [1, 0, 0, 0, 0, 0, 1])),
    ];
    check_samples(&Unittest, &expected);
}

#[test]
fn django_samples_match_snapshots() {
    let expected = [
        ("mixed_5", (Failed, [1, 1, 0, 0, 0, 0, 0])),
        ("mixed_4", (Failed, [1, 1, 0, 0, 0, 0, 0])),
        ("checks_5", (ConfigError, [0; 7])),
        ("settings_5", (ConfigError, [0; 7])),
    ];
    check_samples(&Django, &expected);
}

#[test]
fn jest_samples_match_snapshots() {
    // Jest's own counts: 5 failed, 1 pending, 1 todo, 5 passed.
    let expected = [
        ("mixed", (Failed, [5, 5, 0, 1, 1, 1, 0])),
        ("no_match", (NoTests, [0; 7])),
        ("no_name", (NoTests, [0, 0, 0, 1, 0, 0, 0])),
        ("exit", (Crashed, [1, 0, 0, 0, 0, 0, 1])),
        ("setup", (Crashed, [0; 7])),
        ("global", (Crashed, [0; 7])),
        ("teardown", (Failed, [1, 0, 0, 0, 0, 0, 0])),
        // The next file was running, and ended after the end event.
        ("bail", (Failed, [1, 1, 0, 0, 0, 0, 0])),
        ("after", (Failed, [1, 0, 0, 0, 0, 0, 0])),
        ("hang", (TimedOut, [1, 0, 0, 0, 0, 0, 1])),
        ("ignored", (Passed, [1, 0, 0, 0, 0, 0, 0])),
    ];
    check_samples(&Jest, &expected);
}

#[test]
fn node_samples_match_snapshots() {
    let expected = [
        ("mixed_20", (Failed, [9, 4, 1, 1, 2, 0, 1])),
        ("mixed_26", (Failed, [9, 4, 1, 1, 2, 0, 1])),
        // Node itself counts a file that exits before its tests as passed, as it does a script.
        ("exit_22", (Failed, [1, 0, 0, 0, 0, 0, 0])),
        ("hang_20", (TimedOut, [0; 7])),
        ("no_match_22", (NoTests, [0; 7])),
    ];
    check_samples(&Node, &expected);
}

#[test]
fn mocha_samples_match_snapshots() {
    // Mocha's own counts: 6 passing, 3 pending, 7 failing.
    let expected = [
        ("mixed_8", (Failed, [6, 4, 1, 3, 0, 1, 2])),
        ("mixed_12", (Failed, [6, 4, 1, 3, 0, 1, 2])),
        ("parallel_12", (Failed, [2, 2, 0, 0, 0, 0, 0])),
        ("exit_10", (Crashed, [1, 0, 0, 0, 0, 0, 2])),
        ("syntax_12", (Failed, [0; 7])),
        ("missing_10", (Failed, [0; 7])),
        ("rejects_12", (Failed, [3, 0, 0, 0, 0, 0, 0])),
        ("no_match_8", (NoTests, [0; 7])),
    ];
    check_samples(&Mocha, &expected);
}

#[test]
fn playwright_samples_match_snapshots() {
    // Playwright's own counts: 3 failed, 1 flaky, 2 skipped, 2 passed.
    let expected = [
        ("mixed_1.65", (Failed, [2, 3, 0, 2, 1, 1, 0])),
        ("mixed_1.40", (Failed, [2, 3, 0, 2, 1, 1, 0])),
        ("load_1.65", (Failed, [0; 7])),
        ("hook_1.65", (Failed, [2, 2, 0, 0, 0, 0, 1])),
        ("server_1.65", (ConfigError, [0; 7])),
        ("none_1.65", (NoTests, [0; 7])),
    ];
    check_samples(&Playwright, &expected);
}

#[test]
fn rspec_samples_match_snapshots() {
    // RSpec's own counts: 13 examples, 7 failures, 3 pending.
    let mixed = (Failed, [3, 7, 0, 1, 2, 0, 0]);
    let expected = [
        ("mixed_3.12", mixed),
        ("mixed_3.13", mixed),
        ("load", (Failed, [0; 7])),
        ("exit", (Crashed, [1, 0, 0, 0, 0, 0, 1])),
        ("suite", (ConfigError, [0; 7])),
        ("hang", (TimedOut, [0, 0, 0, 0, 0, 0, 1])),
    ];
    check_samples(&Rspec, &expected);
}

#[test]
fn phpunit_samples_match_snapshots() {
    // A warning of PHP is an error for PHPUnit 9 alone.
    let expected = [
        ("mixed_9", (Failed, [5, 3, 2, 2, 0, 0, 0])),
        ("mixed_11", (Failed, [6, 3, 1, 2, 0, 0, 0])),
        ("exit_9", (Crashed, [1, 1, 0, 0, 0, 0, 1])),
        ("exit_11", (Crashed, [1, 1, 0, 0, 0, 0, 1])),
        ("syntax_9", (Failed, [0; 7])),
        ("syntax_11", (Failed, [0; 7])),
        ("hook_9", (Failed, [1, 0, 1, 0, 0, 0, 0])),
        ("hook_11", (Failed, [1, 0, 0, 0, 0, 0, 1])),
        ("empty_9", (Passed, [1, 0, 0, 1, 0, 0, 0])),
        ("empty_11", (Failed, [1, 0, 0, 0, 0, 0, 0])),
    ];
    check_samples(&Phpunit, &expected);
}

#[test]
fn bun_samples_match_snapshots() {
    // Bun's own counts: 6 pass, 1 skip, 1 todo, 5 fail with a file that did not load.
    let mixed = (Failed, [6, 4, 0, 1, 1, 0, 0]);
    let exit = (Crashed, [0, 1, 0, 0, 0, 0, 0]);
    let expected = [
        ("mixed_1.4", mixed),
        ("mixed_1.3", mixed),
        ("exit_1.4", exit),
        ("exit_1.3", exit),
        ("empty_1.4", (NoTests, [0; 7])),
        ("empty_1.3", (NoTests, [0; 7])),
    ];
    check_samples(&Bun, &expected);
}

#[test]
fn deno_samples_match_snapshots() {
    let expected = [
        ("mixed_2.9", (Failed, [3, 5, 2, 2, 0, 0, 0])),
        // Only this version finds the leaking timer.
        ("mixed_2.1", (Failed, [2, 6, 2, 2, 0, 0, 0])),
        ("types_2.9", (BuildError, [0; 7])),
        ("types_2.1", (BuildError, [0; 7])),
        ("exit_2.9", (Failed, [1, 0, 0, 0, 0, 0, 0])),
        ("exit_2.1", (Crashed, [0; 7])),
        ("hang_2.9", (TimedOut, [0; 7])),
        ("hang_2.1", (TimedOut, [0; 7])),
    ];
    check_samples(&Deno, &expected);
}

#[test]
fn gradle_samples_match_snapshots() {
    let expected = [
        ("mixed", (Failed, [2, 2, 0, 1, 0, 0, 0])),
        ("exit", (Crashed, [0, 0, 0, 0, 0, 0, 1])),
        ("compile", (BuildError, [0; 7])),
        ("dependency", (ConfigError, [0; 7])),
    ];
    check_samples(&Gradle, &expected);
}

#[test]
fn maven_samples_match_snapshots() {
    let expected = [
        ("mixed", (Failed, [1, 1, 1, 1, 0, 0, 0])),
        ("exit", (Crashed, [0, 0, 0, 0, 0, 0, 1])),
        ("compile", (BuildError, [0; 7])),
        ("dependency", (ConfigError, [0; 7])),
    ];
    check_samples(&Maven, &expected);
}

#[test]
fn ctest_samples_match_snapshots() {
    let expected = [
        ("mixed", (Failed, [3, 6, 2, 3, 0, 0, 0])),
        ("none", (NoTests, [0; 7])),
        ("compile", (BuildError, [0; 7])),
    ];
    check_samples(&Ctest, &expected);
}

/// These samples follow the schema and the documentation.
#[test]
fn dotnet_samples_match_snapshots() {
    let expected = [
        ("mixed", (Failed, [2, 2, 0, 1, 0, 0, 0])),
        ("old", (Passed, [1, 0, 0, 0, 0, 0, 0])),
        ("aborted", (Crashed, [1, 0, 0, 0, 0, 0, 0])),
        ("compile", (BuildError, [0; 7])),
        ("none", (NoTests, [0; 7])),
    ];
    check_samples(&Dotnet, &expected);
}

#[test]
fn truncated_maven_output_never_passes() {
    let mut sample = Sample::of("maven", "mixed");
    sample.report = b"<testsuite name=\"p.BadTest\" tests=\"1\"><testcase name=\"x\" \
        classname=\"p.BadTest\"/></testsuite>"
        .to_vec();
    let whole = "[INFO] Running p.BadTest\n[INFO] Tests run: 1, Failures: 0, Errors: 0, \
        Skipped: 0, Time elapsed: 0.1 s - in p.BadTest\n[INFO] BUILD SUCCESS\n";
    sample.ending.exit_code = Some(0);
    let mut status = |length: usize| {
        sample.stdout = whole.as_bytes()[..length].to_vec();
        sample.run(&Maven).status
    };
    assert_eq!(status(whole.len()), Passed);
    let end = whole.len() - "SUCCESS\n".len();
    assert_eq!(
        (0..end).filter(|length| status(*length) == Passed).count(),
        0
    );
}

#[test]
fn command_samples_match_snapshots() {
    let expected = [
        ("pytest", (Failed, [3, 7, 3, 1, 1, 0, 0])),
        ("vitest", (Failed, [4, 9, 0, 5, 0, 0, 0])),
        ("jest", (Failed, [6, 5, 0, 1, 0, 0, 0])),
        ("tap_node", (Failed, [2, 1, 0, 1, 1, 0, 0])),
        ("tap_perl", (Failed, [2, 2, 0, 1, 1, 0, 0])),
        ("trx", (Failed, [2, 2, 0, 1, 0, 0, 0])),
    ];
    check_samples(&AnyCommand, &expected);
}

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

#[test]
fn nextest_samples_match_snapshots() {
    let expected = [
        ("mixed", (Failed, [4, 7, 0, 1, 0, 0, 0])),
        ("abort", (Failed, [3, 2, 0, 0, 0, 0, 0])),
        ("build", (BuildError, [0; 7])),
        ("killed", (TimedOut, [3, 1, 0, 0, 0, 0, 1])),
        ("none", (NoTests, [0, 0, 0, 5, 0, 0, 0])),
    ];
    check_samples(&Nextest, &expected);
}

#[test]
fn cargo_test_samples_match_snapshots() {
    let expected = [
        ("mixed", (Failed, [7, 8, 0, 2, 0, 0, 0])),
        ("abort", (Crashed, [1, 0, 0, 0, 0, 0, 2])),
        ("abort1", (Crashed, [1, 0, 0, 0, 0, 0, 2])),
        ("hang", (TimedOut, [1, 0, 0, 0, 0, 0, 1])),
        ("build", (BuildError, [0; 7])),
        ("notarget", (ConfigError, [0; 7])),
        ("nomatch", (NoTests, [0; 7])),
        ("exit", (Crashed, [1, 0, 0, 0, 0, 0, 2])),
        ("own", (Passed, [2, 0, 0, 0, 0, 0, 0])),
        ("own_fails", (Failed, [2, 0, 0, 0, 0, 0, 0])),
    ];
    check_samples(&CargoTest, &expected);
    let own = |own_harness| {
        let results = Sample {
            own_harness,
            ..Sample::of("cargo_test", "own")
        };
        let results = (&CargoTest as &dyn Runner).read(results.sources(), Bound::default());
        (results.own_harness, results.silent)
    };
    assert_eq!(
        own(vec!["tests/own.rs".to_owned()]),
        (vec!["own (tests/own.rs)".to_owned()], vec![])
    );
    // The report does not name the program.
    let (known, silent) = own(vec![]);
    assert_eq!(
        (
            known.len(),
            silent.len(),
            silent[0].starts_with("1 of the programs ")
        ),
        (0, 1, true)
    );
}

#[test]
fn go_failures_are_sorted_by_package() {
    let of = |package: &str, action: &str, test: &str| {
        let line = serde_json::json!({"Package": format!("example.com/demo/{package}"), "Action": action, "Test": test});
        format!("{line}\n")
    };
    let begun = |package: &str| {
        ["TestTwo", "TestOne"].map(|test| of(package, "run", test) + &of(package, "fail", test))
    };
    let ids = |first: &str, second: &str| {
        let stdout = [begun(first), begun(second)].concat().concat().into_bytes();
        let ending = ProcessEnding {
            exit_code: Some(1),
            ..ProcessEnding::default()
        };
        let own_harness = Vec::new();
        let sample = Sample {
            report: Vec::new(),
            stdout,
            stderr: Vec::new(),
            own_harness,
            classes: ClassSources::default(),
            ending,
        };
        let report = sample.run(&Go);
        let failures: Vec<String> = report.failures.into_iter().map(|case| case.id).collect();
        let tests: Vec<String> = report
            .tests
            .unwrap_or_default()
            .into_iter()
            .map(|test| test.id)
            .collect();
        assert_eq!(failures, tests);
        failures
    };
    let expected = ["a > TestTwo", "a > TestOne", "b > TestTwo", "b > TestOne"]
        .map(|id| format!("example.com/demo/{id}"));
    assert_eq!(
        [ids("a", "b"), ids("b", "a")],
        [expected.to_vec(), expected.to_vec()]
    );
}

#[test]
fn go_samples_match_snapshots() {
    let expected = [
        ("mixed", (Failed, [3, 5, 0, 1, 0, 0, 0])),
        ("none", (NoTests, [0; 7])),
        ("timeout", (Failed, [1, 1, 0, 0, 0, 0, 0])),
        ("hang", (TimedOut, [1, 0, 0, 0, 0, 0, 1])),
        ("old", (BuildError, [0; 7])),
        ("exit", (Crashed, [1, 0, 0, 0, 0, 0, 0])),
    ];
    check_samples(&Go, &expected);
}

#[test]
fn checker_samples_match_snapshots() {
    let samples: [(&dyn Checker, _, _, _, _); 30] = [
        (&Tsc, "errors_5", CheckStatus::Errors, 7, 0),
        (&Tsc, "errors_7", CheckStatus::Errors, 7, 0),
        (&Tsc, "files_5", CheckStatus::Errors, 7, 0),
        (&Tsc, "option_5", CheckStatus::ConfigError, 1, 0),
        (&Tsc, "missing_7", CheckStatus::ConfigError, 1, 0),
        (&CargoCheck, "errors", CheckStatus::Errors, 2, 0),
        (&CargoCheck, "warnings", CheckStatus::Clean, 0, 2),
        (&CargoCheck, "manifest", CheckStatus::ConfigError, 1, 0),
        (&Mypy, "json", CheckStatus::Errors, 7, 0),
        (&Mypy, "text", CheckStatus::Errors, 7, 0),
        (&Mypy, "short", CheckStatus::Errors, 7, 0),
        (&Mypy, "syntax", CheckStatus::Errors, 2, 0),
        (&Mypy, "no_file", CheckStatus::Errors, 1, 0),
        (&Pyright, "errors", CheckStatus::Errors, 7, 0),
        (&Pyright, "no_file", CheckStatus::ConfigError, 1, 0),
        (&Pyrefly, "errors", CheckStatus::Errors, 3, 0),
        (&Pyrefly, "config", CheckStatus::ConfigError, 1, 0),
        (&Ty, "errors", CheckStatus::Errors, 3, 0),
        (&Ty, "config", CheckStatus::ConfigError, 1, 0),
        (&Ruff, "errors", CheckStatus::Errors, 2, 0),
        (&Ruff, "config", CheckStatus::ConfigError, 1, 0),
        (&GoVet, "text", CheckStatus::Errors, 3, 0),
        (&GoVet, "json", CheckStatus::Errors, 3, 0),
        (&DenoCheck, "errors", CheckStatus::Errors, 3, 0),
        (&DenoCheck, "errors_2.1", CheckStatus::Errors, 3, 0),
        (&DenoCheck, "syntax", CheckStatus::Errors, 1, 0),
        (&Eslint, "errors", CheckStatus::Errors, 3, 1),
        (&Eslint, "errors_8", CheckStatus::Errors, 3, 1),
        (&Eslint, "ignored", CheckStatus::Clean, 0, 0),
        (&Eslint, "no_file", CheckStatus::ConfigError, 1, 0),
    ];
    let mut told = String::new();
    for (checker, name, status, errors, warnings) in samples {
        let sample = Sample::of(checker_sample_dir(checker), name);
        let checked = checker.read(sample.sources(), Bound::default());
        let info = ToolInfo::new(checker.id(), "/project".to_owned());
        let report = verdict::diagnostics(info, Scope::default(), checked, sample.ending, |_| true);
        let _ = writeln!(
            told,
            "=== {} {name}\n{}\n",
            checker_sample_dir(checker),
            text::diagnostics(&report)
        );
        let found = (
            report.status,
            report.summary.errors,
            report.summary.warnings,
        );
        assert_eq!(
            found,
            (status, errors, warnings),
            "{} {name}: {}",
            checker_sample_dir(checker),
            text::diagnostics(&report)
        );
        if ["errors_5", "errors", "json"].contains(&name) {
            insta::assert_json_snapshot!(
                format!("{}_whole", checker_sample_dir(checker)),
                report.diagnostics
            );
        }
    }
    insta::assert_snapshot!("checkers_text", told);
}

#[test]
fn report_with_many_failures_is_bounded() {
    let mut report = b"{\"event\":\"run_start\",\"version\":\"5.1.1\"}\n".to_vec();
    let noise = "x".repeat(3000);
    for number in 0..600 {
        let line = format!(
            "{{\"event\":\"test\",\"file\":\"a.ts\",\"name\":\"{number}\",\"state\":\"failed\",\"errors\":[{{\"message\":\"{noise}\",\
             \"diff\":\"{noise}\",\"expected\":\"{noise}\",\"actual\":\"{noise}\"}}]}}\n"
        );
        report.extend_from_slice(line.as_bytes());
    }
    report.extend_from_slice(b"{\"event\":\"end\",\"passed\":false}\n");
    let results = (&Vitest as &dyn Runner).read(
        Sources {
            report: &report,
            ..Sources::default()
        },
        Bound::default(),
    );
    assert_eq!(
        (
            results.summary.failed,
            results.failures.len(),
            results.truncated.failures
        ),
        (600, 500, 100)
    );
    let kept: usize = results
        .failures
        .iter()
        .flat_map(|case| &case.errors)
        .map(|error| error.message.len())
        .sum();
    assert!(kept < 512 * 1024, "{kept} bytes");
    assert_eq!(results.failures[499].errors[0].message.chars().count(), 161);
}

#[test]
fn truncated_report_keeps_earlier_results() {
    let samples: [(&dyn Runner, _); 7] = [
        (&Vitest, "mixed_5"),
        (&Pytest, "mixed_9"),
        (&Jest, "mixed"),
        (&AnyCommand, "pytest"),
        (&Nextest, "mixed"),
        (&CargoTest, "mixed"),
        (&Go, "mixed"),
    ];
    for (runner, name) in samples {
        let whole = Sample::of(sample_dir(runner), name);
        let ran = |sample: &Sample| {
            runner
                .read(sample.sources(), Bound::default())
                .summary
                .ran()
        };
        let all = ran(&whole);
        let mut before = 0;
        for part in 0..=20 {
            let cut = |bytes: &[u8]| bytes[..bytes.len() * part / 20].to_vec();
            let sample = Sample {
                report: cut(&whole.report),
                stdout: cut(&whole.stdout),
                stderr: Vec::new(),
                own_harness: Vec::new(),
                classes: ClassSources::default(),
                ..whole
            };
            let now = ran(&sample);
            assert!(
                now >= before && now <= all,
                "{runner:?} at {part}: {now} after {before}, of {all}"
            );
            before = now;
            let report = sample.run(runner);
            assert!(report.status != TestStatus::Passed, "{runner:?} at {part}");
        }
        assert_eq!(before, all, "{runner:?}");
    }
}
