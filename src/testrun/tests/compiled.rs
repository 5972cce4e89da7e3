//! Samples of the runners that compile.

use super::*;

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
