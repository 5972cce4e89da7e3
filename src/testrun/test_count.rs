//! Numbers of tests, and the progress of a build, while a run goes on.

use super::reports::events::{Collected, Event};

/// Numbers of finished and known tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestCount {
    /// Number of finished tests.
    pub done: u64,
    /// Number of known tests; may grow while files load.
    pub total: u64,
    /// Progress of the build in the words of a runner that compiles, such as `14 of 197 crates`;
    /// empty if it does not report it.
    pub building: String,
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
            Event::TestStart(_) => self.has_begun = true,
            Event::Test(_) => {
                self.has_begun = true;
                self.done += 1;
            }
            Event::End(_) => self.has_ended = true,
            _ => {}
        }
    }
}
