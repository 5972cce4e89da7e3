//! Numbers of tests and of built units while a run goes on.

use super::reports::events::{Collected, Event};

/// Numbers of finished and known tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestCount {
    /// Number of finished tests.
    pub done: u64,
    /// Number of known tests; may grow while files load.
    pub total: u64,
    /// Numbers of built and of all units, for a runner that compiles; 0 if it does not report them.
    pub units: (u64, u64),
    /// `true` once a compiled runner starts its tests.
    pub has_begun: bool,
    /// `true` if the reporter has reported the end of all tests.
    pub has_ended: bool,
}

impl TestCount {
    /// Counts the tests in an event of a bundled reporter.
    pub(crate) fn add(&mut self, event: &Event) {
        match event {
            Event::Collected(Collected {
                file: Some(_),
                tests,
            }) => self.total = self.total.saturating_add(*tests),
            // Every worker of xdist reports the same number.
            Event::Collected(Collected { file: None, tests }) => {
                self.total = self.total.max(*tests);
            }
            Event::Test(_) => self.done += 1,
            Event::End(_) => self.has_ended = true,
            _ => {}
        }
    }
}
