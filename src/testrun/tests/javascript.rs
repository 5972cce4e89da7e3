//! Samples of the runners for JavaScript.

use super::*;

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
