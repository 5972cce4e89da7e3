//! Calls that go on after a first reply, because their client may not wait for longer. Their
//! results are kept for `follow_command`.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use replay_base::cancel::CancelToken;
use replay_files::policy::{AccessRecord, TouchedPaths};
use replay_mcp::protocol::{Code, Outcome, RpcError};
use serde_json::Value;

/// Ended calls whose results are kept.
const KEPT_CALLS: usize = 8;
/// Calls that go on at the same time. A further one is waited for until one of them has ended.
const MAX_BACKGROUND_CALLS: usize = 64;
const PANICKED: &str =
    "the server failed in this call because of a bug; other calls are not affected";

/// Calls that were handed over to the background, running and ended.
#[derive(Debug, Default)]
pub struct BackgroundCalls {
    table: Mutex<Table>,
    listener: Arc<Listener>,
}

/// Callback for the end of a call in the background: the call, its result, and the paths that it
/// touched after its first reply.
#[derive(Default)]
struct Listener(OnceLock<Box<OnEnd>>);

type OnEnd = dyn Fn(&LongCall, &Outcome, TouchedPaths) + Send + Sync;

impl fmt::Debug for Listener {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Listener").finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Table {
    last_number: u64,
    all: VecDeque<Arc<LongCall>>,
}

/// A call on a thread of its own.
#[derive(Debug)]
pub struct LongCall {
    tool: String,
    arguments: Value,
    at: SystemTime,
    begun: Instant,
    cancel: CancelToken,
    state: Mutex<CallState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct CallState {
    /// Set once the call is handed over.
    id: Option<String>,
    reports: VecDeque<Report>,
    /// Message of the last report.
    progress: Option<String>,
    result: Option<CallResult>,
    listener: Option<Arc<Listener>>,
    /// Time from the begin to the end.
    took: Option<Duration>,
}

/// A result, or what the call panicked with.
type CallResult = Result<Outcome, Box<dyn Any + Send>>;

/// A report of progress: amount done, total if known, message.
pub(super) type Report = (u64, Option<u64>, String);

/// State of a call after a wait.
#[derive(Debug)]
pub enum Attended {
    Over(CallResult),
    Report(Report),
    /// The time is up.
    Running,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each change is one assignment.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LongCall {
    /// Runs a call on its own thread. `work` gets the receiver of progress reports. Returns `None`
    /// if no thread can be started.
    pub fn start(
        tool: &str,
        arguments: Value,
        cancel: CancelToken,
        work: impl FnOnce(&LongCall) -> Outcome + Send + 'static,
    ) -> Option<Arc<Self>> {
        let call = Arc::new(Self {
            tool: tool.to_owned(),
            arguments,
            at: SystemTime::now(),
            begun: Instant::now(),
            cancel,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let (own, touched) = (Arc::clone(&call), AccessRecord::current());
        let run = move || {
            let _entered = touched.as_ref().map(AccessRecord::enter);
            let result = catch_unwind(AssertUnwindSafe(|| work(&own)));
            if result.is_err() {
                tracing::error!(tool = own.tool, "panicked");
            }
            let mut state = lock(&own.state);
            state.took = Some(own.begun.elapsed());
            state.result = Some(result);
            let listener = state.listener.take();
            drop(state);
            own.changed.notify_all();
            if let Some(listener) = listener.as_ref().and_then(|listener| listener.0.get())
                && let Some(outcome) = own.await_result(Instant::now())
            {
                let record = touched.as_ref().map(AccessRecord::take);
                listener(&own, &outcome, record.unwrap_or_default());
            }
        };
        let name = format!("call {tool}");
        thread::Builder::new().name(name).spawn(run).ok()?;
        Some(call)
    }

    /// Takes a report of the call's progress. `is_wanted` is true if its client asked for reports.
    pub fn report(&self, report: Report, is_wanted: bool) {
        let mut state = lock(&self.state);
        state.progress = Some(report.2.clone());
        if is_wanted && state.id.is_none() {
            state.reports.push_back(report);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Waits for the next report or the end of the call, at most until `until`. The result can be
    /// taken once.
    pub fn attend(&self, until: Option<Instant>) -> Attended {
        let mut state = lock(&self.state);
        loop {
            if let Some(report) = state.reports.pop_front() {
                return Attended::Report(report);
            }
            if let Some(result) = state.result.take() {
                return Attended::Over(result);
            }
            let rest = until.map(|until| until.saturating_duration_since(Instant::now()));
            if rest.is_some_and(|rest| rest.is_zero()) {
                return Attended::Running;
            }
            let waited = rest.unwrap_or(Duration::from_hours(1));
            let woken = self.changed.wait_timeout(state, waited);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Name of its tool.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Time of its begin.
    pub fn at(&self) -> SystemTime {
        self.at
    }

    /// Time since its begin.
    pub fn age(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Time until its end, or until now.
    pub fn ran(&self) -> Duration {
        lock(&self.state).took.unwrap_or_else(|| self.age())
    }

    /// Its number for `follow_command`; empty before it is handed over.
    pub fn id(&self) -> String {
        lock(&self.state).id.clone().unwrap_or_default()
    }

    /// Message of its last report.
    pub fn progress(&self) -> Option<String> {
        lock(&self.state).progress.clone()
    }

    /// Ends the call early.
    pub fn end(&self) {
        self.cancel.cancel();
    }

    /// Returns true if somebody ended the call early.
    pub fn was_ended(&self) -> bool {
        self.cancel.is_cancelled()
    }

    pub fn is_running(&self) -> bool {
        lock(&self.state).result.is_none()
    }

    /// Waits for the end of the call, at most until `until`, and returns a copy of its result.
    pub fn await_result(&self, until: Instant) -> Option<Outcome> {
        let mut state = lock(&self.state);
        loop {
            let rest = until.saturating_duration_since(Instant::now());
            match &state.result {
                Some(Ok(outcome)) => return Some(outcome.clone()),
                Some(Err(_)) => return Some(Err(RpcError::new(Code::Internal, PANICKED))),
                None if rest.is_zero() => return None,
                None => {}
            }
            let woken = self.changed.wait_timeout(state, rest);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl BackgroundCalls {
    /// Sets the callback for ended calls. Only the first one counts.
    pub fn on_end(
        &self,
        listener: impl Fn(&LongCall, &Outcome, TouchedPaths) + Send + Sync + 'static,
    ) {
        // The server sets it once, at its start.
        let _ = self.listener.0.set(Box::new(listener));
    }

    /// Lets a call go on without its client. Returns its new id; `None` if it has ended meanwhile,
    /// or if too many go on already.
    pub fn hand_over(&self, call: &Arc<LongCall>) -> Option<String> {
        let mut table = lock(&self.table);
        let running = |call: &&Arc<LongCall>| call.is_running();
        if table.all.iter().filter(running).count() >= MAX_BACKGROUND_CALLS {
            return None;
        }
        let mut state = lock(&call.state);
        if state.result.is_some() {
            return None;
        }
        table.last_number += 1;
        let id = format!("t{}", table.last_number);
        state.id = Some(id.clone());
        state.reports.clear();
        state.listener = Some(Arc::clone(&self.listener));
        drop(state);
        table.all.push_back(Arc::clone(call));
        while table.all.iter().filter(|call| !call.is_running()).count() > KEPT_CALLS {
            let oldest = table.all.iter().position(|call| !call.is_running());
            oldest.and_then(|oldest| table.all.remove(oldest));
        }
        Some(id)
    }

    /// Returns the call with this id.
    pub fn find(&self, id: &str) -> Option<Arc<LongCall>> {
        self.list().into_iter().find(|call| call.id() == id)
    }

    /// Returns the running call of a tool with these arguments.
    pub fn find_running(&self, tool: &str, arguments: &Value) -> Option<Arc<LongCall>> {
        self.list().into_iter().find(|call| {
            call.tool == tool
                && call.arguments == *arguments
                && call.is_running()
                && !call.was_ended()
        })
    }

    /// Returns the running calls and the last ended ones, oldest first.
    pub fn list(&self) -> Vec<Arc<LongCall>> {
        lock(&self.table).all.iter().cloned().collect()
    }

    /// Cancels all calls and forgets the results.
    pub fn end_all(&self) {
        let mut table = lock(&self.table);
        table.all.iter().for_each(|call| call.end());
        table.all.retain(|call| call.is_running());
    }

    /// Returns true if no call runs.
    pub fn is_over(&self) -> bool {
        !lock(&self.table).all.iter().any(|call| call.is_running())
    }
}
