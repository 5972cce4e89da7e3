//! Tests and processes that calls belong to. Parallel test workers ask the same questions at the
//! same time. Each prefers what its own test got in the recording, then what its own process got.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use replay_sandbox::intercept::Caller;

/// Most scopes of tests in one run; later ones are ignored.
const MAX_SCOPES: usize = 100_000;

/// Test and process of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Worker {
    /// Name of the test; `None` outside all tests.
    pub test: Option<Arc<str>>,
    /// Place of the process ([`Caller::place`]); `None` for the first one of the command.
    pub process: Option<Arc<str>>,
}

impl Worker {
    /// Number of ranks.
    pub(super) const RANKS: u8 = 6;

    /// Returns the worker with another name of its test.
    pub(super) fn named(self, name: impl Fn(&str) -> String) -> Self {
        let test = self.test.map(|test| name(&test).into());
        Self { test, ..self }
    }

    /// Ranks a recording for a call of this worker; the lowest is preferred.
    pub(super) fn rank(&self, recorded: &Self) -> u8 {
        let of_test = match &recorded.test {
            None => 1,
            test if *test == self.test => 0,
            Some(_) => 2,
        };
        2 * of_test + u8::from(recorded.process != self.process)
    }

    /// Returns true if the recordings of a rank are of this test or of this process. They keep their
    /// order, whatever other workers wrote in between.
    pub(super) fn is_own(&self, rank: u8) -> bool {
        rank < 2 || rank == 2 && self.process.is_some()
    }

    /// Returns true if another worker made the recorded call. `known` are the recorded processes.
    pub(super) fn is_other(&self, recorded: &Self, known: &HashSet<Arc<str>>) -> bool {
        if let (Some(test), Some(other)) = (&self.test, &recorded.test) {
            return test != other;
        }
        let is_paired = self.process.as_ref().is_some_and(|it| known.contains(it));
        is_paired && self.process != recorded.process
    }
}

/// Callers of a run's connections, and the tests that they announced.
#[derive(Debug, Default)]
pub struct Workers(Mutex<WorkerState>);

#[derive(Debug, Default)]
struct WorkerState {
    /// Callers by number of their connection.
    connections: HashMap<u64, Arc<Caller>>,
    callers: HashSet<Arc<Caller>>,
    /// Scopes by process, in order. Process 0 stands for all.
    scopes: HashMap<u32, Vec<TestScope>>,
    scope_count: usize,
}

/// Time of one test in one process.
#[derive(Debug)]
struct TestScope {
    test: Arc<str>,
    begun: SystemTime,
    ended: Option<SystemTime>,
}

impl Workers {
    fn state(&self) -> MutexGuard<'_, WorkerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers the caller of a connection.
    pub(crate) fn connected(&self, connection: u64, caller: Caller) {
        let mut state = self.state();
        let caller = state
            .callers
            .get(&caller)
            .cloned()
            .unwrap_or_else(|| Arc::new(caller));
        state.callers.insert(Arc::clone(&caller));
        state.connections.insert(connection, caller);
    }

    /// Begins a test in a process.
    pub(crate) fn begin(&self, test: &str, pid: u32) {
        let mut state = self.state();
        if state.scope_count == MAX_SCOPES {
            return;
        }
        state.scope_count += 1;
        state.scopes.entry(pid).or_default().push(TestScope {
            test: test.into(),
            begun: SystemTime::now(),
            ended: None,
        });
    }

    /// Ends a test in a process.
    pub(crate) fn end(&self, test: &str, pid: u32) {
        let mut state = self.state();
        let scopes = state.scopes.get_mut(&pid).into_iter().flatten();
        if let Some(scope) = scopes
            .rev()
            .find(|scope| &*scope.test == test && scope.ended.is_none())
        {
            scope.ended = Some(SystemTime::now());
        }
    }

    /// Returns the worker that used this connection at this time.
    pub fn at(&self, connection: u64, time: SystemTime) -> Worker {
        let state = self.state();
        let caller = state.connections.get(&connection);
        let pids = caller.map_or(&[][..], |caller| &caller.pids);
        let mut scoped = pids.iter().chain(&[0]);
        let place = caller.map(|caller| caller.place.as_str());
        Worker {
            test: scoped
                .find_map(|pid| state.test(*pid, time))
                .or_else(|| state.only_test(time).filter(|_| pids.is_empty())),
            process: place.filter(|place| !place.is_empty()).map(Into::into),
        }
    }
}

impl WorkerState {
    fn test(&self, pid: u32, time: SystemTime) -> Option<Arc<str>> {
        let mut scopes = self.scopes.get(&pid)?.iter().rev();
        let is_open =
            |scope: &&TestScope| scope.begun <= time && scope.ended.is_none_or(|end| end > time);
        scopes.find(is_open).map(|scope| Arc::clone(&scope.test))
    }

    /// Returns the test at this time, if only one runs: the process of the call is unknown.
    fn only_test(&self, time: SystemTime) -> Option<Arc<str>> {
        let mut tests = self.scopes.keys().filter_map(|pid| self.test(*pid, time));
        tests.next().filter(|_| tests.next().is_none())
    }
}
