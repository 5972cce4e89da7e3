//! Requests to an interpreter: cells one after the other, and replies beside them.

use std::time::{Duration, Instant};

use replay_base::cancel::CancelToken;
use replay_base::limits::{
    KILL_WAIT_MS, MAX_PYTHON_ASKED_BYTES, MAX_PYTHON_CODE_BYTES, PYTHON_PING_MS, PYTHON_STATUS_MS,
};
use replay_sandbox::exec::{self, Denied, ExecError, Exit, ProgramStatus};
use serde::Deserialize;

use super::Driver;
use crate::error::PythonError;
use crate::kernel::{Bounds, Cell, Kernel, News, PingReply, Question};
use crate::output::Capture;
use crate::protocol::{Completion, Inspection, Ready, Request, Variable};
use crate::pump::{ConnectionState, RunningCell};

/// Timeout for an answer of an interpreter while a cell runs, in milliseconds.
const PYTHON_ANSWER_MS: u64 = 15_000;
/// Time between two reports of a running cell, in milliseconds.
const PYTHON_PROGRESS_MS: u64 = 250;

/// State of ending a cell early.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StopStage {
    Running,
    /// The interrupt is sent as soon as the cell has begun.
    Wanted,
    Interrupted,
    /// The interrupt was sent twice. The first one is noticed late if it arrives between the
    /// interpreter's check for signals and a blocking call. The second one ends that call.
    Repeated,
    Killed,
}

impl Kernel for Driver {
    fn ready(&self) -> &Ready {
        &self.ready
    }

    fn execute(
        &self,
        code: &str,
        bounds: &Bounds,
        cancel: &CancelToken,
        on_news: &mut dyn FnMut(News<'_>),
    ) -> Result<Cell, PythonError> {
        if code.len() > MAX_PYTHON_CODE_BYTES {
            return Err(PythonError::TooLong {
                bytes: code.len(),
                asked: false,
            });
        }
        let id = self.line.next_id();
        let line = Request::Exec { id, code }
            .line()
            .map_err(|error| self.unanswered(error.to_string()))?;
        let mut cell = Cell::default();
        let work = self.line.resident.work();
        let account = Duration::from_millis(PYTHON_STATUS_MS);
        // End the journal entry of the time between cells before this cell starts.
        let between = self
            .line
            .resident
            .end_entry(&exec::title(TOOL_NAME, code), account)?;
        // Changes between two cells may be the work of other processes.
        let earlier = self.line.resident.take_denied();
        let is_own = |denied: &Denied| {
            !matches!(
                denied,
                Denied::Network | Denied::NetworkOfSome | Denied::Protected(_)
            )
        };
        cell.denied = earlier.into_iter().filter(is_own).collect();
        let begun = Instant::now();
        {
            let _no_interrupt = self.line.block_interrupts()?;
            let mut shared = self.line.lock();
            if shared.ended.is_some() {
                (cell.ended, cell.late) = (shared.ended, shared.late.take());
                return Ok(cell);
            }
            self.line.drain_late(&mut shared);
            shared.cell = Some(RunningCell::new(id, bounds.output_cap_bytes));
            self.line.send(&mut shared, &line);
        }
        let progress = Duration::from_millis(PYTHON_PROGRESS_MS);
        let (mut step, mut due, mut next_news) = (
            StopStage::Running,
            begun.checked_add(bounds.timeout),
            begun + progress,
        );
        // Deadline of the interrupted cell.
        let mut last = None;
        loop {
            // After an interrupt the cancellation is handled; do not report it again.
            let cancelled = (step == StopStage::Running).then_some(cancel);
            let until = due.map_or(next_news, |due| due.min(next_news));
            let wants_begin = step == StopStage::Wanted;
            let found = self.wait(Some(until), cancelled, |shared| {
                let is_over = shared.ended.is_some()
                    || shared.cell.as_ref().is_none_or(|cell| cell.done.is_some());
                let has_begun = shared.cell.as_mut().is_some_and(|cell| {
                    cell.wants_begin |= wants_begin;
                    cell.has_begun
                });
                (is_over || wants_begin && has_begun).then_some(is_over)
            });
            // A cell that cannot be followed must not run on unwatched.
            let found = found.inspect_err(|_| self.line.resident.kill())?;
            if found == Some(true) {
                break;
            }
            let now = Instant::now();
            if step == StopStage::Running && cancel.is_cancelled() {
                cell.cancelled = true;
                (step, due) = (StopStage::Wanted, now.checked_add(bounds.grace));
                last = due;
            } else if due.is_some_and(|due| now >= due) {
                match step {
                    StopStage::Running => {
                        cell.timed_out = true;
                        (step, due) = (StopStage::Wanted, now.checked_add(bounds.grace));
                        last = due;
                    }
                    StopStage::Interrupted => {
                        let _ = self.line.interrupt(id);
                        (step, due) = (StopStage::Repeated, last);
                    }
                    StopStage::Wanted | StopStage::Repeated => {
                        self.line.resident.kill();
                        cell.killed = true;
                        (step, due) = (
                            StopStage::Killed,
                            Some(now + Duration::from_millis(KILL_WAIT_MS)),
                        );
                    }
                    StopStage::Killed => return Err(ExecError::Stuck.into()),
                }
            }
            if step == StopStage::Wanted
                && self
                    .line
                    .lock()
                    .cell
                    .as_ref()
                    .is_some_and(|cell| cell.has_begun)
            {
                // Fails if the interpreter has ended, which the next wait reports.
                let _ = self.line.interrupt(id);
                let half = last.map(|last: Instant| now + last.saturating_duration_since(now) / 2);
                (step, due) = (StopStage::Interrupted, half);
            }
            if now >= next_news {
                next_news = now + progress;
                let (bytes, recent) =
                    self.line
                        .lock()
                        .cell
                        .as_mut()
                        .map_or((0, Vec::new()), |cell| {
                            (
                                cell.streams.iter().map(Capture::total).sum(),
                                std::mem::take(&mut cell.recent),
                            )
                        });
                on_news(News {
                    elapsed: now - begun,
                    bytes,
                    text: &String::from_utf8_lossy(&recent),
                });
            }
        }
        cell.changed = self.line.resident.end_entry(BETWEEN_CELLS, account)?;
        if let Some(settled) = between
            .map(|between| between.settled)
            .filter(|settled| !settled.is_nothing())
        {
            // Not reported to a caller yet.
            let changed = cell.changed.get_or_insert_default();
            changed.settled = std::mem::take(&mut changed.settled).after(settled);
        }
        let mut denied = self.line.resident.take_denied();
        if !work.is_alone() {
            // The kernel does not tell which of them looked for a network.
            denied.iter_mut().for_each(Denied::blame_others_too);
        }
        denied.extend(self.line.resident.blocked());
        for denied in denied {
            if !cell.denied.contains(&denied) {
                cell.denied.push(denied);
            }
        }
        let mut shared = self.line.lock();
        cell.ended = shared.ended;
        cell.late = shared.late.take();
        let Some(mut ran) = shared.cell.take() else {
            return Ok(cell);
        };
        drop(shared);
        let [stdout, stderr] = &mut ran.streams;
        (cell.stdout, cell.stderr) = (stdout.finish(), stderr.finish());
        (cell.shown, cell.unshown, cell.has_begun) = (ran.shown, ran.unshown, ran.has_begun);
        cell.elapsed = begun.elapsed();
        if let Some(done) = ran.done {
            (cell.number, cell.error) = (done.number, done.error);
            // The cell ended before its interpreter did. A kill of the interpreter is a fact,
            // whatever a cell sends.
            cell.ended = None;
        }
        Ok(cell)
    }

    fn interrupt(&self, asked: Instant) -> Result<bool, PythonError> {
        let ran = |shared: &ConnectionState| {
            shared
                .cell
                .as_ref()
                .filter(|cell| cell.sent <= asked)
                .map(|cell| cell.id)
        };
        let Some(id) = ran(&self.line.lock()) else {
            return Ok(false);
        };
        // Before the cell has begun an interrupt would have no effect.
        let until = Instant::now() + Duration::from_millis(PYTHON_PING_MS);
        let runs = self.wait(Some(until), None, |shared| {
            let has_ended = shared.ended.is_some();
            let Some(cell) = shared.cell_of(id) else {
                return Some(false);
            };
            cell.wants_begin = true;
            cell.has_begun
                .then_some(true)
                .or(has_ended.then_some(false))
        })?;
        Ok(runs == Some(true) && self.line.interrupt(id)?)
    }

    fn complete(
        &self,
        question: Question<'_>,
        cancel: &CancelToken,
    ) -> Result<Completion, PythonError> {
        let Question { code, cursor } = checked(question)?;
        self.ask(
            |id| Request::Complete { id, code, cursor }.line(),
            REPLY_TIMEOUT,
            cancel,
        )
    }

    fn inspect(
        &self,
        question: Question<'_>,
        level: u8,
        cancel: &CancelToken,
    ) -> Result<Inspection, PythonError> {
        let Question { code, cursor } = checked(question)?;
        self.ask(
            |id| {
                Request::Inspect {
                    id,
                    code,
                    cursor,
                    detail: level,
                }
                .line()
            },
            REPLY_TIMEOUT,
            cancel,
        )
    }

    fn variables(&self, cancel: &CancelToken) -> Result<Vec<Variable>, PythonError> {
        #[derive(Deserialize)]
        struct Variables {
            variables: Vec<Variable>,
        }
        self.ask::<Variables>(|id| Request::Variables { id }.line(), REPLY_TIMEOUT, cancel)
            .map(|all| all.variables)
    }

    fn add_packages(&self, directory: &str, cancel: &CancelToken) -> Result<(), PythonError> {
        #[derive(Deserialize)]
        struct EmptyReply {}
        self.ask::<EmptyReply>(
            |id| Request::Packages { id, directory }.line(),
            REPLY_TIMEOUT,
            cancel,
        )
        .map(drop)
    }

    fn ping(
        &self,
        timeout: Duration,
        cancel: &CancelToken,
    ) -> Result<Option<PingReply>, PythonError> {
        #[derive(Deserialize)]
        struct PingAnswer {
            test: i64,
        }
        let begun = Instant::now();
        match self.ask::<PingAnswer>(|id| Request::Ping { id }.line(), timeout, cancel) {
            Ok(PingAnswer { test }) => Ok(Some(PingReply {
                elapsed: begun.elapsed(),
                value: test,
            })),
            Err(PythonError::Silent { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn status(&self) -> Result<ProgramStatus, PythonError> {
        let mut status = self
            .line
            .resident
            .status(Duration::from_millis(PYTHON_STATUS_MS))?;
        if let Some((waited, used)) = self.before {
            // Time before the adoption is not part of the session.
            status.uptime = status.uptime.saturating_sub(waited);
            status.cpu = status.cpu.saturating_sub(used);
        }
        Ok(status)
    }

    fn busy_for(&self) -> Option<Duration> {
        let shared = self.line.lock();
        shared
            .cell
            .as_ref()
            .filter(|cell| cell.done.is_none())
            .map(|cell| cell.sent.elapsed())
    }

    fn ended(&self) -> Option<Exit> {
        // The socket knows of data that the pump has not read yet.
        self.line
            .lock()
            .ended
            .or_else(|| self.line.resident.ended())
    }

    fn take_late(&self) -> String {
        self.line.lock().late.take()
    }

    fn has_expired(&self) -> bool {
        self.line.lock().has_expired
    }

    fn kill(&self) {
        self.line.resident.kill();
        let until = Instant::now() + Duration::from_millis(KILL_WAIT_MS);
        // Without a bell there is no waiting; the interpreter is told to end in any case.
        let _ = self.wait(Some(until), None, |shared| shared.ended.map(drop));
    }
}

/// Tool names in journal entries.
const TOOL_NAME: &str = "run_python_code";
pub(super) const BETWEEN_CELLS: &str = "a Python session between its cells";

const REPLY_TIMEOUT: Duration = Duration::from_millis(PYTHON_ANSWER_MS);

fn checked(question: Question<'_>) -> Result<Question<'_>, PythonError> {
    let bytes = question.code.len();
    if bytes > MAX_PYTHON_ASKED_BYTES {
        Err(PythonError::TooLong { bytes, asked: true })
    } else {
        Ok(question)
    }
}
