//! Samples of the runners for Python, Ruby and PHP.

use super::*;

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
