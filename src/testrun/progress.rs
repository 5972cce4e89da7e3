//! How far a run is, from the events that the bundled reporters write while it runs.

use serde::Deserialize;

use super::model::TestRunner;

/// What the events so far say.
#[derive(Debug)]
pub struct Seen {
    /// The event of a test that counts as done.
    done_event: &'static str,
    offset: u64,
    /// The beginning of a line whose end is still to be written.
    rest: Vec<u8>,
    done: u64,
    failed: u64,
    total: u64,
}

#[derive(Deserialize)]
struct Event<'a> {
    ev: &'a str,
    #[serde(default)]
    tests: Option<u64>,
    #[serde(default)]
    state: Option<&'a str>,
    #[serde(default)]
    outcome: Option<&'a str>,
    #[serde(default)]
    when: Option<&'a str>,
}

/// A line that is longer is no event that counts.
const LONGEST: usize = 1 << 20;

impl Seen {
    /// Nothing yet. Only Vitest and pytest say anything while they run.
    pub fn new(runner: TestRunner) -> Self {
        let done_event = match runner {
            TestRunner::Vitest => "test",
            TestRunner::Pytest => "phase",
            _ => "",
        };
        Self { done_event, offset: 0, rest: Vec::new(), done: 0, failed: 0, total: 0 }
    }

    /// Where to read on.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Takes what was written from there on.
    pub fn read(&mut self, bytes: &[u8]) {
        self.offset += bytes.len() as u64;
        if self.done_event.is_empty() {
            return;
        }
        self.rest.extend_from_slice(bytes);
        let whole = memchr::memrchr(b'\n', &self.rest).map_or(0, |end| end + 1);
        let lines: Vec<u8> = self.rest.drain(..whole).collect();
        lines.split(|byte| *byte == b'\n').for_each(|line| self.line(line));
        if self.rest.len() > LONGEST {
            self.rest.clear();
        }
    }

    fn line(&mut self, line: &[u8]) {
        let Ok(event) = serde_json::from_slice::<Event<'_>>(line) else { return };
        if event.ev == "collected" {
            self.total = self.total.saturating_add(event.tests.unwrap_or(0));
        } else if event.ev == self.done_event {
            let bad = [event.state, event.outcome].iter().flatten().any(|word| matches!(*word, "failed" | "fail" | "error"));
            self.failed += u64::from(bad);
            self.done += u64::from(event.when.is_none_or(|when| when == "call"));
        }
    }

    /// Such as `3 of 12 tests, 1 failed`; `None` while nothing is known.
    pub fn words(&self) -> Option<String> {
        if self.done == 0 && self.total == 0 {
            return None;
        }
        let failed = if self.failed > 0 { format!(", {} failed", self.failed) } else { String::new() };
        Some(format!("{} of {} tests{failed}", self.done, self.total.max(self.done)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_counted_however_they_are_cut() {
        let text = concat!(
            "{\"ev\":\"init\",\"version\":\"4\"}\n{\"ev\":\"collected\",\"file\":\"a\",\"tests\":3}\n",
            "{\"ev\":\"start\",\"id\":\"1\"}\n{\"ev\":\"test\",\"id\":\"1\",\"state\":\"passed\"}\nno json\n",
            "{\"ev\":\"test\",\"id\":\"2\",\"state\":\"failed\"}\n{\"ev\":\"test\",\"id\":\"3\",\"sta"
        );
        for chunk in [1, 7, text.len()] {
            let mut seen = Seen::new(TestRunner::Vitest);
            text.as_bytes().chunks(chunk).for_each(|chunk| seen.read(chunk));
            assert_eq!((seen.words().as_deref(), seen.offset()), (Some("2 of 3 tests, 1 failed"), text.len() as u64));
        }
        let mut seen = Seen::new(TestRunner::Pytest);
        seen.read(b"{\"ev\":\"collected\",\"tests\":2}\n{\"ev\":\"phase\",\"when\":\"setup\",\"outcome\":\"failed\"}\n");
        seen.read(b"{\"ev\":\"phase\",\"when\":\"call\",\"outcome\":\"passed\"}\n");
        assert_eq!(seen.words().as_deref(), Some("1 of 2 tests, 1 failed"));
        assert_eq!(Seen::new(TestRunner::Go).words(), None);
    }
}
