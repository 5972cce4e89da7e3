//! Golden tests: recorded output of runners and checkers, parsed, judged and formatted. Samples are
//! in `testdata/testrun`, one name with the endings `report`, `stdout`, `stderr` and `exit`.
#![expect(clippy::disallowed_methods, reason = "tests read their data")]

mod command_reports;
mod compiled;
mod javascript;
mod junit;
mod scripts;

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
