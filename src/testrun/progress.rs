//! Progress of a run, from a growing report and growing output.

use std::time::Duration;

use replay_base::limits::MAX_TEST_LINE_BYTES;
use replay_sandbox::exec::Stage;

use super::runner::Runner;
use super::test_count::TestCount;

/// Counter of built units and finished tests.
#[derive(Debug)]
pub struct RunProgress {
    runner: &'static dyn Runner,
    report: GrowingLines,
    stdout: GrowingLines,
    stderr: GrowingLines,
    counted: TestCount,
}

/// A stream of which each line is read once. Lines end with a line feed or a carriage return.
#[derive(Debug, Default)]
struct GrowingLines {
    /// Bytes read so far.
    offset: usize,
    /// Last line, still without its end.
    rest: Vec<u8>,
}

impl GrowingLines {
    fn feed(&mut self, mut bytes: &[u8], on_line: &mut dyn FnMut(&[u8])) {
        self.offset += bytes.len();
        while let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) {
            if self.rest.is_empty() {
                on_line(&bytes[..end]);
            } else {
                self.rest.extend_from_slice(&bytes[..end]);
                on_line(&std::mem::take(&mut self.rest));
            }
            bytes = &bytes[end + 1..];
        }
        if self.rest.len() + bytes.len() <= MAX_TEST_LINE_BYTES {
            self.rest.extend_from_slice(bytes);
        }
    }
}

impl RunProgress {
    pub fn new(runner: &'static dyn Runner) -> Self {
        Self {
            runner,
            report: GrowingLines::default(),
            stdout: GrowingLines::default(),
            stderr: GrowingLines::default(),
            counted: TestCount::default(),
        }
    }

    /// Length of the report as far as it was read, in bytes.
    pub fn report_bytes(&self) -> u64 {
        self.report.offset as u64
    }

    /// Counts the tests in newly written bytes of the report.
    pub fn feed(&mut self, bytes: &[u8]) {
        let (runner, counted) = (self.runner, &mut self.counted);
        self.report
            .feed(bytes, &mut |line| runner.count(line, counted));
    }

    /// Counts what the output of a compiled runner says: builds, and tests where it is the report.
    pub fn feed_output(&mut self, stage: Stage<'_>) {
        let Stage::Running { stdout, stderr } = stage else {
            return;
        };
        if !self.runner.is_compiled() {
            return;
        }
        let (runner, counted) = (self.runner, &mut self.counted);
        for (seen, output) in [(&mut self.stdout, stdout), (&mut self.stderr, stderr)] {
            let new = output.bytes.get(seen.offset..).unwrap_or_default();
            seen.feed(new, &mut |line| runner.count(line, counted));
        }
    }

    /// Returns what was counted so far.
    pub fn counted(&self) -> &TestCount {
        &self.counted
    }

    /// Returns true while a compiled runner has not begun a test.
    pub fn is_building(&self) -> bool {
        self.runner.is_compiled() && !self.counted.has_begun
    }

    /// Returns true if all tests have ended, as far as the runner reports it.
    pub fn has_ended(&self) -> bool {
        self.counted.has_ended
    }

    /// Describes the progress after some time.
    pub fn describe(&self, elapsed: Duration, stage: Stage<'_>) -> String {
        let TestCount {
            done,
            total,
            ref building,
            ..
        } = self.counted;
        let seconds = elapsed.as_secs_f64();
        match stage {
            Stage::Waiting => "waiting for a free slot".to_owned(),
            Stage::Running { .. } if self.is_building() && !building.is_empty() => {
                format!("building, {building}, {seconds:.1} s")
            }
            Stage::Running { .. } if self.is_building() => format!("building, {seconds:.1} s"),
            Stage::Running { .. } if total > 0 => {
                format!("{done} of {} tests, {seconds:.1} s", total.max(done))
            }
            Stage::Running { .. } => format!(
                "running for {seconds:.1} s, {} bytes of output",
                stage.bytes()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use replay_sandbox::exec::Captured;

    use super::*;
    use crate::runners::{CargoTest, Go, Nextest, Vitest};

    /// Returns the descriptions after each part of the output.
    fn described(runner: &'static dyn Runner, parts: &[(&str, &str)]) -> Vec<String> {
        let mut progress = RunProgress::new(runner);
        let [mut out, mut err] = [(); 2].map(|()| Captured::default());
        let describe = |(stdout, stderr): &(&str, &str)| {
            for (captured, new) in [(&mut out, stdout), (&mut err, stderr)] {
                *captured = Captured::whole([&captured.bytes, new.as_bytes()].concat());
            }
            let stage = Stage::Running {
                stdout: &out,
                stderr: &err,
            };
            progress.feed_output(stage);
            progress.describe(Duration::from_secs(1), stage)
        };
        parts.iter().map(describe).collect()
    }

    #[test]
    fn progress_counts_tests_in_growing_report() {
        let mut progress = RunProgress::new(&Vitest);
        let words = |progress: &RunProgress| {
            let nothing = Captured::default();
            let stage = Stage::Running {
                stdout: &nothing,
                stderr: &nothing,
            };
            progress.describe(Duration::ZERO, stage)
        };
        progress.feed(b"{\"event\":\"collected\",\"file\":\"a.ts\",\"tests\":3}\n{\"event\":\"te");
        assert_eq!(words(&progress), "0 of 3 tests, 0.0 s");
        progress.feed(b"st\",\"file\":\"a.ts\",\"name\":\"x\",\"state\":\"passed\"}\nnoise\n");
        assert_eq!(words(&progress), "1 of 3 tests, 0.0 s");
        assert_eq!(progress.report_bytes(), 111);
    }

    #[test]
    fn cargo_counts_crates_before_tests() {
        let parts = [
            ("", "   Compiling syn v2\n    Building [=> ] 14/19"),
            ("", "7: syn, quote\r\x1b[K   Compiling quote v1\n"),
            ("", "    Building [=> ] 19"),
            (
                "",
                "7/197: a\r\x1b[K    Finished `test` profile [unoptimized] target(s) in 1s\n",
            ),
            ("\nrunning 2 tests\ntest a ... ok\n", ""),
            (
                "test b ... FAILED\ntest result: FAILED. 1 passed; ...\n",
                "",
            ),
        ];
        let expected = [
            "building, 1.0 s",
            "building, 14 of 197 crates, 1.0 s",
            "building, 14 of 197 crates, 1.0 s",
            "running for 1.0 s, 174 bytes of output",
            "1 of 2 tests, 1.0 s",
            "2 of 2 tests, 1.0 s",
        ];
        assert_eq!(described(&CargoTest, &parts), expected);
    }

    #[test]
    fn nextest_counts_tests_on_stderr() {
        let parts = [
            (
                "",
                "    Finished `test` profile [unoptimized] target(s) in 1s\n",
            ),
            (
                "",
                "    Starting 2 tests across 1 binary\n        PASS [   0.002s] a tests::x\n",
            ),
            ("", "        FAIL [   0.002s] a tests::y\n"),
        ];
        let expected = [
            "running for 1.0 s, 58 bytes of output",
            "1 of 2 tests, 1.0 s",
            "2 of 2 tests, 1.0 s",
        ];
        assert_eq!(described(&Nextest, &parts), expected);
    }

    #[test]
    fn go_builds_until_first_package_starts() {
        let parts = [
            ("{\"Action\":\"build-output\",\"Output\":\"# x\"}\n", ""),
            ("{\"Action\":\"start\",\"Package\":\"x\"}\n", ""),
        ];
        let expected = ["building, 1.0 s", "running for 1.0 s, 74 bytes of output"];
        assert_eq!(described(&Go, &parts), expected);
    }
}
