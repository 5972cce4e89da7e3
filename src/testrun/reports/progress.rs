//! How far a run is, from a report that grows.

use serde::Deserialize;

use crate::limits::MAX_TEST_LINE_BYTES;
use crate::testrun::model::TestRunner;

/// Counts tests that have ended. Fed with the report file, or with stdout where that is the report.
#[derive(Debug)]
pub struct Progress {
    runner: TestRunner,
    /// The line that has no end yet.
    rest: Vec<u8>,
    done: u64,
    total: u64,
}

#[derive(Deserialize)]
struct Event {
    #[serde(default)]
    ev: String,
    #[serde(default)]
    tests: u64,
    #[serde(default)]
    when: String,
    #[serde(default, rename = "Action")]
    action: String,
    #[serde(default, rename = "Test")]
    test: String,
}

impl Progress {
    /// Nothing was seen yet.
    pub fn new(runner: TestRunner) -> Self {
        Self { runner, rest: Vec::new(), done: 0, total: 0 }
    }

    /// What has been written since.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            if self.rest.is_empty() {
                self.line(&bytes[..end]);
            } else {
                self.rest.extend_from_slice(&bytes[..end]);
                let line = std::mem::take(&mut self.rest);
                self.line(&line);
            }
            bytes = &bytes[end + 1..];
        }
        if self.rest.len() + bytes.len() <= MAX_TEST_LINE_BYTES {
            self.rest.extend_from_slice(bytes);
        }
    }

    /// Tests that have ended.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Tests that are known, if the runner says it; it may grow while files are loaded.
    pub fn total(&self) -> Option<u64> {
        (self.total > 0).then_some(self.total.max(self.done))
    }

    fn line(&mut self, line: &[u8]) {
        match self.runner {
            TestRunner::CargoTest => self.text(line),
            TestRunner::Vitest | TestRunner::Jest | TestRunner::Pytest | TestRunner::Go => {
                let Ok(event) = serde_json::from_slice::<Event>(line) else { return };
                match (self.runner, event.ev.as_str()) {
                    (TestRunner::Vitest, "collected") => self.total += event.tests,
                    // Every worker of xdist tells the same number.
                    (TestRunner::Pytest, "collected") => self.total = self.total.max(event.tests),
                    (TestRunner::Vitest, "test") | (TestRunner::Jest, "case") => self.done += 1,
                    (TestRunner::Pytest, "phase") if event.when == "teardown" => self.done += 1,
                    (TestRunner::Go, _) if !event.test.is_empty() => {
                        self.done += u64::from(matches!(event.action.as_str(), "pass" | "fail" | "skip"));
                    }
                    _ => {}
                }
            }
            // Their reports are written at the end.
            TestRunner::Junit | TestRunner::Nextest => {}
        }
    }

    fn text(&mut self, line: &[u8]) {
        let Ok(line) = std::str::from_utf8(line) else { return };
        if let Some(rest) = line.strip_prefix("running ") {
            let count = rest.strip_suffix(" tests").or_else(|| rest.strip_suffix(" test"));
            self.total += count.and_then(|count| count.parse::<u64>().ok()).unwrap_or_default();
        } else if line.starts_with("test ") && !line.starts_with("test result: ") && line.contains(" ... ") {
            self.done += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_growing_report_is_counted() {
        let mut progress = Progress::new(TestRunner::Vitest);
        assert_eq!((progress.done(), progress.total()), (0, None));
        progress.feed(b"{\"ev\":\"collected\",\"tests\":3}\n{\"ev\":\"te");
        assert_eq!((progress.done(), progress.total()), (0, Some(3)));
        progress.feed(b"st\"}\nnoise\n");
        assert_eq!((progress.done(), progress.total()), (1, Some(3)));

        let mut progress = Progress::new(TestRunner::CargoTest);
        progress.feed(b"\nrunning 2 tests\ntest a ... ok\ntest b ... FAILED\ntest result: FAILED. 1 passed; ...\n");
        assert_eq!((progress.done(), progress.total()), (2, Some(2)));
    }
}
