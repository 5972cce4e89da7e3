//! The runs before: logs, and the tests that failed last. In memory, bounded, gone with the server.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::interruption::Interruption;
use super::model::RunnerName;
use super::selection::FailedTest;
use crate::exec::Captured;
use crate::limits::{MAX_REMEMBERED_RUNS, MAX_TEST_LOG_BYTES, MAX_TEST_LOGS, MAX_TEST_LOGS_BYTES};

/// The output of one run.
#[derive(Debug, PartialEq, Eq)]
pub struct RunLog {
    pub uri: String,
    /// What it is called.
    pub name: String,
    /// The command, and what it wrote.
    pub text: String,
}

/// Logs and failures of one server's runs.
#[derive(Debug, Default)]
pub struct History(Mutex<HistoryState>);

#[derive(Debug, Default)]
struct HistoryState {
    last_id: u64,
    /// The oldest first.
    logs: VecDeque<Arc<RunLog>>,
    /// The oldest first.
    runs: VecDeque<RunRemainder>,
}

/// What the runs of a project left.
#[derive(Debug)]
struct RunRemainder {
    project: PathBuf,
    runner: RunnerName,
    /// What failed and has not passed since.
    failed: Arc<[FailedTest]>,
    /// What a run did not come to, and none since.
    cut: Option<Interruption>,
}

impl History {
    fn lock(&self) -> MutexGuard<'_, HistoryState> {
        // What is under the lock is whole at any point.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps nothing any more of what was kept. No log is named as one before it.
    pub fn clear(&self) {
        let mut inner = self.lock();
        inner.logs.clear();
        inner.runs.clear();
    }

    /// Keeps what a command of a tool wrote; older logs give way.
    pub fn keep(&self, tool: &str, command: &str, stdout: &Captured, stderr: &Captured) -> Arc<RunLog> {
        // Writing to a String cannot fail.
        let mut text = format!("$ {command}\n");
        for (name, stream) in [("stdout", stdout), ("stderr", stderr)] {
            let _ = writeln!(text, "[{name}: {} bytes]", stream.total_bytes);
            text.push_str(&ends(&stream.text(), MAX_TEST_LOG_BYTES / 2));
            if !text.ends_with('\n') {
                text.push('\n');
            }
            if stream.truncated {
                let _ = writeln!(text, "[only its first {} bytes were kept]", stream.bytes.len());
            }
        }
        let mut inner = self.lock();
        inner.last_id += 1;
        let name = format!("{tool}-{}.log", inner.last_id);
        let log = Arc::new(RunLog { uri: format!("replay://logs/{name}"), name, text });
        inner.logs.push_back(Arc::clone(&log));
        let mut bytes: usize = inner.logs.iter().map(|log| log.text.len()).sum();
        while (inner.logs.len() > MAX_TEST_LOGS || bytes > MAX_TEST_LOGS_BYTES)
            && let Some(oldest) = inner.logs.pop_front()
        {
            bytes -= oldest.text.len();
        }
        log
    }

    /// The logs, the oldest first.
    pub fn logs(&self) -> Vec<Arc<RunLog>> {
        self.lock().logs.iter().cloned().collect()
    }

    /// The log with this URI.
    pub fn log(&self, uri: &str) -> Option<Arc<RunLog>> {
        self.lock().logs.iter().find(|log| log.uri == uri).cloned()
    }

    /// Remembers what failed in a project and has not passed since (nothing, if all has), and what no run has come to.
    pub fn remember(&self, project: &Path, runner: RunnerName, failed: Vec<FailedTest>, cut: Option<Interruption>) {
        let mut inner = self.lock();
        inner.runs.retain(|known| (known.project.as_path(), known.runner) != (project, runner));
        inner.runs.push_back(RunRemainder { project: project.to_path_buf(), runner, failed: failed.into(), cut });
        while inner.runs.len() > MAX_REMEMBERED_RUNS {
            inner.runs.pop_front();
        }
    }

    /// Where something failed that has not passed since, or was not come to, and by which runner: the last of the runs by `runner`, or by any.
    pub fn last_failed(&self, runner: Option<RunnerName>) -> Option<(PathBuf, RunnerName)> {
        let inner = self.lock();
        let is_left = |left: &&RunRemainder| {
            runner.is_none_or(|runner| runner == left.runner) && (!left.failed.is_empty() || left.cut.is_some())
        };
        inner.runs.iter().rev().find(is_left).map(|left| (left.project.clone(), left.runner))
    }

    /// What failed in a project and has not passed since; `None` if nothing was run there.
    pub fn failed(&self, project: &Path, runner: RunnerName) -> Option<Arc<[FailedTest]>> {
        self.left(project, runner, |known| Arc::clone(&known.failed))
    }

    /// What no run of a project has come to, if one was cut short.
    pub fn cut(&self, project: &Path, runner: RunnerName) -> Option<Interruption> {
        self.left(project, runner, |known| known.cut.clone()).flatten()
    }

    fn left<T>(&self, project: &Path, runner: RunnerName, what: impl Fn(&RunRemainder) -> T) -> Option<T> {
        let inner = self.lock();
        inner.runs.iter().find(|known| (known.project.as_path(), known.runner) == (project, runner)).map(what)
    }
}

/// A text, or its beginning and its end with a word about what is left out between them.
fn ends(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(most / 4);
    let tail = text.ceil_char_boundary(text.len() - (most - most / 4));
    format!("{}\n[{} bytes left out]\n{}", &text[..head], tail - head, &text[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;

    const GO: RunnerName = RunnerName("go");
    const JEST: RunnerName = RunnerName("jest");
    const PYTEST: RunnerName = RunnerName("pytest");

    fn captured(text: &str) -> Captured {
        Captured { bytes: text.into(), end: vec![], total_bytes: text.len() as u64, truncated: false }
    }

    #[test]
    fn the_oldest_logs_give_way() {
        let kept = History::default();
        for run in 0..MAX_TEST_LOGS + 2 {
            kept.keep("run_tests", "x", &captured(&run.to_string()), &captured(""));
        }
        let logs = kept.logs();
        assert_eq!((logs.len(), logs[0].uri.as_str()), (MAX_TEST_LOGS, "replay://logs/run_tests-3.log"));
        assert_eq!(logs[0].text, "$ x\n[stdout: 1 bytes]\n2\n[stderr: 0 bytes]\n");
        assert!(kept.log("replay://logs/run_tests-2.log").is_none());
        assert_eq!(kept.log(&logs[1].uri).as_ref(), Some(&logs[1]));
        let large = "x".repeat(MAX_TEST_LOG_BYTES);
        for _ in 0..MAX_TEST_LOGS {
            kept.keep("run_tests", "x", &captured(&large), &captured(&large));
        }
        assert!(kept.logs().iter().map(|log| log.text.len()).sum::<usize>() <= MAX_TEST_LOGS_BYTES);
    }

    #[test]
    fn a_long_log_keeps_its_ends() {
        assert_eq!(ends("äbcdefgh", 8), "ä\n[1 bytes left out]\ncdefgh");
        assert_eq!(ends("abcdefgh", 8), "abcdefgh");
    }

    #[test]
    fn only_the_last_failures_of_a_project_are_remembered() {
        let kept = History::default();
        let test = |name: &str| FailedTest { id: name.to_owned(), file: "f".to_owned(), names: vec![name.to_owned()] };
        kept.remember(Path::new("/a"), GO, vec![test("x")], None);
        kept.remember(Path::new("/a"), JEST, vec![test("y")], None);
        kept.remember(Path::new("/a"), GO, vec![], None);
        assert_eq!(kept.failed(Path::new("/a"), GO).as_deref(), Some(&[][..]));
        assert_eq!(kept.failed(Path::new("/a"), JEST).as_deref(), Some(&[test("y")][..]));
        assert_eq!(kept.failed(Path::new("/b"), JEST), None);
        kept.remember(Path::new("/c"), PYTEST, vec![test("z")], None);
        kept.remember(Path::new("/d"), PYTEST, vec![], None);
        assert_eq!(kept.last_failed(None), Some((PathBuf::from("/c"), PYTEST)));
        assert_eq!(kept.last_failed(Some(JEST)), Some((PathBuf::from("/a"), JEST)));
        assert_eq!(kept.last_failed(Some(GO)), None);
        let cut = Interruption { how: "timed out", asked: None };
        kept.remember(Path::new("/a"), GO, vec![], Some(cut.clone()));
        assert_eq!(kept.last_failed(None), Some((PathBuf::from("/a"), GO)));
        assert_eq!(kept.cut(Path::new("/a"), GO), Some(cut));
        assert_eq!(kept.cut(Path::new("/d"), PYTEST), None);
    }
}
