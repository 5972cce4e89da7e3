//! History of runs: the last failures. Bounded and in memory, lost when the server ends.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::interruption::Interruption;
use super::model::RunnerName;
use super::selection::FailedTest;

/// Projects whose failed tests are remembered.
const MAX_REMEMBERED_RUNS: usize = 64;

/// Failures of one server's runs, the oldest run first.
#[derive(Debug, Default)]
pub struct History(Mutex<VecDeque<RunRemainder>>);

/// Remaining failures of a project.
#[derive(Debug)]
struct RunRemainder {
    project: PathBuf,
    runner: RunnerName,
    /// Tests that failed and have not passed since.
    failed: Arc<[FailedTest]>,
    /// Tests that an interrupted run did not reach, nor any run since.
    cut: Option<Interruption>,
}

impl RunRemainder {
    fn is_of(&self, project: &Path, runner: RunnerName) -> bool {
        (self.project.as_path(), self.runner) == (project, runner)
    }
}

impl History {
    fn lock(&self) -> MutexGuard<'_, VecDeque<RunRemainder>> {
        // A panic leaves the state consistent at any point.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Records a project's failures that have not passed since (none if all passed), and the tests
    /// that no run has reached.
    pub fn remember(
        &self,
        project: &Path,
        runner: RunnerName,
        failed: Vec<FailedTest>,
        cut: Option<Interruption>,
    ) {
        let mut runs = self.lock();
        runs.retain(|known| !known.is_of(project, runner));
        runs.push_back(RunRemainder {
            project: project.to_path_buf(),
            runner,
            failed: failed.into(),
            cut,
        });
        let more = runs.len().saturating_sub(MAX_REMEMBERED_RUNS);
        runs.drain(..more);
    }

    /// Returns the project and runner of the last run with remaining failures or unreached tests.
    /// With `runner`, only its runs count.
    pub fn last_failed(&self, runner: Option<RunnerName>) -> Option<(PathBuf, RunnerName)> {
        let runs = self.lock();
        let is_left = |left: &&RunRemainder| {
            runner.is_none_or(|runner| runner == left.runner)
                && (!left.failed.is_empty() || left.cut.is_some())
        };
        let last = runs.iter().rev().find(is_left);
        last.map(|left| (left.project.clone(), left.runner))
    }

    /// Returns a project's failures that have not passed since; `None` if there was no run.
    pub fn failed(&self, project: &Path, runner: RunnerName) -> Option<Arc<[FailedTest]>> {
        self.look_up(project, runner, |known| Arc::clone(&known.failed))
    }

    /// Returns the tests of a project that no run has reached, if one was interrupted.
    pub fn cut(&self, project: &Path, runner: RunnerName) -> Option<Interruption> {
        self.look_up(project, runner, |known| known.cut.clone())
            .flatten()
    }

    fn look_up<T>(
        &self,
        project: &Path,
        runner: RunnerName,
        what: impl Fn(&RunRemainder) -> T,
    ) -> Option<T> {
        let runs = self.lock();
        let known = runs.iter().find(|known| known.is_of(project, runner));
        known.map(what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selection::TestSelection;

    const GO: RunnerName = RunnerName("go");
    const JEST: RunnerName = RunnerName("jest");
    const PYTEST: RunnerName = RunnerName("pytest");

    #[test]
    fn history_keeps_last_failures_of_project() {
        let kept = History::default();
        let test = |name: &str| FailedTest {
            id: name.to_owned(),
            file: "f".to_owned(),
            names: vec![name.to_owned()],
        };
        kept.remember(Path::new("/a"), GO, vec![test("x")], None);
        kept.remember(Path::new("/a"), JEST, vec![test("y")], None);
        kept.remember(Path::new("/a"), GO, vec![], None);
        assert_eq!(kept.failed(Path::new("/a"), GO).as_deref(), Some(&[][..]));
        assert_eq!(
            kept.failed(Path::new("/a"), JEST).as_deref(),
            Some(&[test("y")][..])
        );
        assert_eq!(kept.failed(Path::new("/b"), JEST), None);
        kept.remember(Path::new("/c"), PYTEST, vec![test("z")], None);
        kept.remember(Path::new("/d"), PYTEST, vec![], None);
        assert_eq!(kept.last_failed(None), Some((PathBuf::from("/c"), PYTEST)));
        assert_eq!(
            kept.last_failed(Some(JEST)),
            Some((PathBuf::from("/a"), JEST))
        );
        assert_eq!(kept.last_failed(Some(GO)), None);
        let cut = Interruption {
            kind: "timed out",
            requests: vec![(TestSelection::All, None)],
        };
        kept.remember(Path::new("/a"), GO, vec![], Some(cut.clone()));
        assert_eq!(kept.last_failed(None), Some((PathBuf::from("/a"), GO)));
        assert_eq!(kept.cut(Path::new("/a"), GO), Some(cut));
        assert_eq!(kept.cut(Path::new("/d"), PYTEST), None);
    }
}
