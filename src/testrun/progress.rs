//! How far a run is, from a report that grows.

use super::runner::{Runner, TestCount};
use crate::limits::MAX_TEST_LINE_BYTES;

/// Counts tests that have ended. Fed with the report file, or with stdout where that is the report.
#[derive(Debug)]
pub struct RunProgress {
    runner: &'static dyn Runner,
    /// The line that has no end yet.
    rest: Vec<u8>,
    counted: TestCount,
}

impl RunProgress {
    /// Nothing was seen yet.
    pub fn new(runner: &'static dyn Runner) -> Self {
        Self {
            runner,
            rest: Vec::new(),
            counted: TestCount::default(),
        }
    }

    /// What has been written since.
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

    /// Whether all tests have ended, as far as the runner says it.
    pub fn has_ended(&self) -> bool {
        self.counted.has_ended
    }

    /// Tests that have ended.
    pub fn done(&self) -> u64 {
        self.counted.done
    }

    /// Tests that are known, if the runner says it; it may grow while files are loaded.
    pub fn total(&self) -> Option<u64> {
        let TestCount { done, total, .. } = self.counted;
        (total > 0).then_some(total.max(done))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testrun::runners::{CargoTest, Vitest};

    #[test]
    fn a_growing_report_is_counted() {
        let mut progress = RunProgress::new(&Vitest);
        assert_eq!((progress.done(), progress.total()), (0, None));
        progress.feed(b"{\"ev\":\"collected\",\"tests\":3}\n{\"ev\":\"te");
        assert_eq!((progress.done(), progress.total()), (0, Some(3)));
        progress.feed(b"st\"}\nnoise\n");
        assert_eq!((progress.done(), progress.total()), (1, Some(3)));

        let mut progress = RunProgress::new(&CargoTest);
        progress.feed(b"\nrunning 2 tests\ntest a ... ok\ntest b ... FAILED\ntest result: FAILED. 1 passed; ...\n");
        assert_eq!((progress.done(), progress.total()), (2, Some(2)));
    }
}
