//! Of test runs and type checks.

/// Largest file of a project that is read to find out how its tests are run, in bytes.
pub const MAX_PROJECT_FILE_BYTES: u64 = 1024 * 1024;
/// Most files that one run of tests or one check of types is asked for.
pub const MAX_TEST_FILES: usize = 2000;
/// Default timeout of a test run, in seconds.
pub const DEFAULT_TESTS_TIMEOUT_SECS: u64 = 300;
/// Longest time that can be asked for, in seconds.
pub const MAX_TESTS_TIMEOUT_SECS: u64 = 86_400;
/// Output kept of a runner or checker, in bytes for each of its two streams: some say there what
/// became of the tests.
pub const TESTS_OUTPUT_BYTES: usize = 32 * 1024 * 1024;
/// Time that the process of a run may stay silent after its tests have ended, in seconds:
/// tear-downs come then.
pub const TESTS_LINGER_SECS: u64 = 20;
/// Part of a growing report that is read at a time, in bytes.
pub const TESTS_PROGRESS_BYTES: usize = 4 * 1024 * 1024;
/// Projects whose failed tests are remembered.
pub const MAX_REMEMBERED_RUNS: usize = 64;
/// Failed tests that are run again by name; of more, their files are run.
pub const MAX_RERUN_TESTS: usize = 200;
/// Largest report file of a test runner, and most of each of its streams, that is read, in bytes.
pub const MAX_TEST_REPORT_BYTES: usize = 64 * 1024 * 1024;
/// Time limit for reading the report of a runner or a checker, in seconds.
pub const MAX_TEST_READ_SECS: u64 = 20;
/// Longest line of a report that is read, in bytes; a longer one is left out.
pub const MAX_TEST_LINE_BYTES: usize = 4 * 1024 * 1024;
/// Failed tests that are kept of a run with what they say.
pub const MAX_KEPT_FAILURES: usize = 500;
/// Failed tests that a reply shows, if it was asked for all.
pub const MAX_SHOWN_FAILURES: usize = 50;
/// Tests that are kept by name, and tests that may be open at the same time.
pub const MAX_KEPT_TESTS: usize = 20_000;
/// Tests that a reply lists by name, if it was asked for all.
pub const MAX_LISTED_TESTS: usize = 2000;
/// Most errors of files, errors of the run and unfinished tests, each.
pub const MAX_RUN_FAULTS: usize = 50;
/// Options, and files, that are told to be left out of a run by the project's own configuration,
/// each.
pub const MAX_LEFT_OUT: usize = 20;
/// Files with names of tests that a run did not take up and names; the others are counted.
pub const MAX_NAMED_UNTAKEN: usize = 5;
/// Files whose own words about how they are checked are read, of those that a check of types was
/// asked for.
pub const MAX_SILENCED_FILES: usize = 200;
/// Tests told as the slowest.
pub const MAX_SLOWEST_TESTS: usize = 5;
/// Longest name or id of a test, and longest path in a report, in bytes.
pub const MAX_TEST_NAME_BYTES: usize = 512;
/// Longest message, value or difference of a failed test, in bytes.
pub const MAX_TEST_TEXT_BYTES: usize = 2048;
/// Length of the end of a failed test's output that is kept, in bytes for each stream.
pub const MAX_TEST_OUTPUT_BYTES: usize = 2048;
/// Most errors of one test.
pub const MAX_TEST_ERRORS: usize = 5;
/// Most frames of a stack.
pub const MAX_TEST_FRAMES: usize = 6;
/// Frames of libraries among them, where there are others.
pub const MAX_LIBRARY_FRAMES: usize = 1;
/// Largest size of the details of all failed tests of a run, in bytes. Beyond it only their names
/// are kept.
pub const MAX_TEST_DETAIL_BYTES: usize = 512 * 1024;
/// Suites around a test that are told.
pub const MAX_TEST_SUITES: usize = 32;
/// Diagnostics of a type check that are kept.
pub const MAX_KEPT_DIAGNOSTICS: usize = 5000;
/// Diagnostics that a reply shows.
pub const MAX_SHOWN_DIAGNOSTICS: usize = 100;
/// Places and advice that belong to one diagnostic.
pub const MAX_RELATED: usize = 8;
/// Failed tests that a reply shows, unless it was asked for all.
pub const MAX_TOLD_FAILURES: usize = 20;
/// Projects below a directory that a hint names; the others are counted.
pub const MAX_NAMED_PROJECTS: usize = 8;
/// Longest error of a test in the text of a reply, in lines.
pub const MAX_TOLD_LINES: usize = 20;
