//! Progress of a run, from a growing report.

use replay_base::limits::MAX_TEST_LINE_BYTES;

use super::runner::{Runner, TestCount};

/// Counter of finished tests. Reads the report file, or stdout if the report is there.
#[derive(Debug)]
pub struct RunProgress {
    runner: &'static dyn Runner,
    /// Last line, still without its newline.
    rest: Vec<u8>,
    counted: TestCount,
}

impl RunProgress {
    pub fn new(runner: &'static dyn Runner) -> Self {
        Self {
            runner,
            rest: Vec::new(),
            counted: TestCount::default(),
        }
    }

    /// Counts the tests in newly written bytes.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            if self.rest.is_empty() {
                self.runner.count(&bytes[..end], &mut self.counted);
            } else {
                self.rest.extend_from_slice(&bytes[..end]);
                let line = std::mem::take(&mut self.rest);
                self.runner.count(&line, &mut self.counted);
            }
            bytes = &bytes[end + 1..];
        }
        if self.rest.len() + bytes.len() <= MAX_TEST_LINE_BYTES {
            self.rest.extend_from_slice(bytes);
        }
    }

    /// Returns true if all tests have ended, as far as the runner reports it.
    pub fn has_ended(&self) -> bool {
        self.counted.has_ended
    }

    /// Returns the number of finished tests.
    pub fn finished_tests(&self) -> u64 {
        self.counted.done
    }

    /// Returns the number of known tests, if the runner reports it; it may grow while files load.
    pub fn total(&self) -> Option<u64> {
        let TestCount { done, total, .. } = self.counted;
        (total > 0).then_some(total.max(done))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runners::{CargoTest, Vitest};

    #[test]
    fn progress_counts_tests_in_growing_report() {
        let mut progress = RunProgress::new(&Vitest);
        assert_eq!((progress.finished_tests(), progress.total()), (0, None));
        progress.feed(b"{\"event\":\"collected\",\"file\":\"a.ts\",\"tests\":3}\n{\"event\":\"te");
        assert_eq!((progress.finished_tests(), progress.total()), (0, Some(3)));
        progress.feed(b"st\",\"file\":\"a.ts\",\"name\":\"x\",\"state\":\"passed\"}\nnoise\n");
        assert_eq!((progress.finished_tests(), progress.total()), (1, Some(3)));

        let mut progress = RunProgress::new(&CargoTest);
        progress.feed(b"\nrunning 2 tests\ntest a ... ok\ntest b ... FAILED\ntest result: FAILED. 1 passed; ...\n");
        assert_eq!((progress.finished_tests(), progress.total()), (2, Some(2)));
    }
}
