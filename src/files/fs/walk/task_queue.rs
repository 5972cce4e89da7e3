//! Work queue shared by several threads, with ordered results.
//!
//! All known work stands in one line, in order: sources of further tasks, running tasks, and
//! results that wait for earlier ones. Tasks are always cut from the first source, so that the
//! beginning is done first. Results leave at the front. No keys are compared: the position in the
//! line is the order.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A source of tasks, in order.
pub(super) trait Source {
    type Task;
    /// Returns the next task.
    fn cut(&mut self) -> Self::Task;
    /// Returns true if no task is left.
    fn is_empty(&self) -> bool;
    /// Closes its open directory; returns true if it had one.
    fn close(&mut self) -> bool;
}

pub(super) struct TaskQueue<S, O, F> {
    state: Mutex<State<S, O, F>>,
    changed: Condvar,
    stopped: AtomicBool,
    /// Maximum weight of results that wait for earlier ones.
    most_waiting: usize,
}

struct State<S, O, F> {
    line: VecDeque<QueueSlot<S, O>>,
    /// Number of running tasks.
    running: usize,
    /// Number of threads that wait for work.
    idle: usize,
    tickets: u64,
    /// Weight of the results in the line.
    waiting: usize,
    settle: F,
}

enum QueueSlot<S, O> {
    Source(S),
    Running(u64),
    Done(Vec<(O, usize)>),
}

/// Outcome of a task.
pub(super) struct TaskOutcome<S, O> {
    /// Result and its weight; `None` for an empty result.
    pub(super) result: Option<(O, usize)>,
    /// Source of further work, after the result.
    pub(super) more: Option<S>,
    /// `true` if the last source with an open directory shall close it.
    pub(super) close_one: bool,
}

/// A task to do.
pub(super) struct AssignedTask<'a, S: Source, O, F> {
    pub(super) task: S::Task,
    pub(super) turn: TaskTurn<'a, S, O, F>,
}

/// A running task, for whose result the others wait. Dropping it unfinished, in a panic, stops the
/// others.
pub(super) struct TaskTurn<'a, S, O, F> {
    line: &'a TaskQueue<S, O, F>,
    ticket: u64,
    over: bool,
}

impl<S: Source, O, F: FnMut(O) -> ControlFlow<()>> TaskQueue<S, O, F> {
    /// Creates a line. `settle` receives all results in order, one at a time, and may end
    /// everything.
    pub(super) fn new(first: S, most_waiting: usize, settle: F) -> Self {
        let line = VecDeque::from([QueueSlot::Source(first)]);
        let state = State {
            line,
            running: 0,
            idle: 0,
            tickets: 0,
            waiting: 0,
            settle,
        };
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            stopped: AtomicBool::new(false),
            most_waiting,
        }
    }

    /// Takes the first available task; waits while running tasks may bring more. `None` when
    /// everything is done or stopped.
    pub(super) fn take(&self) -> Option<AssignedTask<'_, S, O, F>> {
        self.take_from(self.lock())
    }

    /// Finishes a task and takes the next one.
    pub(super) fn exchange(
        &self,
        turn: TaskTurn<'_, S, O, F>,
        done: TaskOutcome<S, O>,
    ) -> Option<AssignedTask<'_, S, O, F>> {
        self.take_from(self.give_back(turn, done))
    }

    /// Finishes a task. Returns true if there is work for others.
    pub(super) fn give(&self, turn: TaskTurn<'_, S, O, F>, done: TaskOutcome<S, O>) -> bool {
        self.give_back(turn, done).first_source().is_some()
    }

    /// Stops all threads at their next task.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        // Under the lock, so that no thread misses the notification.
        let _state = self.lock();
        self.changed.notify_all();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    fn take_from<'a>(
        &'a self,
        mut state: MutexGuard<'a, State<S, O, F>>,
    ) -> Option<AssignedTask<'a, S, O, F>> {
        loop {
            if self.is_stopped() {
                return None;
            }
            let room = state.waiting <= self.most_waiting || state.running == 0;
            if room && let Some(at) = state.first_source() {
                let Some((task, ticket)) = state.cut(at) else {
                    continue;
                };
                if state.idle > 0 && state.first_source().is_some() {
                    self.changed.notify_one();
                }
                return Some(AssignedTask {
                    task,
                    turn: TaskTurn {
                        line: self,
                        ticket,
                        over: false,
                    },
                });
            }
            if state.running == 0 {
                return None;
            }
            state.idle += 1;
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    fn give_back<'a>(
        &'a self,
        mut turn: TaskTurn<'_, S, O, F>,
        done: TaskOutcome<S, O>,
    ) -> MutexGuard<'a, State<S, O, F>> {
        turn.over = true;
        let mut state = self.lock();
        state.running -= 1;
        state.replace(turn.ticket, done);
        if !self.is_stopped() && state.settle().is_break() {
            self.stopped.store(true, Ordering::Relaxed);
        }
        if state.idle > 0 {
            self.changed.notify_all();
        }
        state
    }

    fn lock(&self) -> MutexGuard<'_, State<S, O, F>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Source, O, F: FnMut(O) -> ControlFlow<()>> State<S, O, F> {
    fn first_source(&self) -> Option<usize> {
        self.line
            .iter()
            .position(|place| matches!(place, QueueSlot::Source(_)))
    }

    /// Cuts a task from the source at `at`; the task stands before the rest of the source.
    fn cut(&mut self, at: usize) -> Option<(S::Task, u64)> {
        let Some(QueueSlot::Source(source)) = self.line.get_mut(at) else {
            return None;
        };
        if source.is_empty() {
            self.line.remove(at);
            return None;
        }
        let task = source.cut();
        let is_empty = source.is_empty();
        self.tickets += 1;
        self.running += 1;
        if is_empty {
            self.line[at] = QueueSlot::Running(self.tickets);
        } else {
            self.line.insert(at, QueueSlot::Running(self.tickets));
        }
        Some((task, self.tickets))
    }

    /// Replaces a task by its outcome. Adjacent results are joined, which keeps the line short.
    fn replace(&mut self, ticket: u64, done: TaskOutcome<S, O>) {
        let found = self
            .line
            .iter()
            .position(|place| matches!(place, QueueSlot::Running(of) if *of == ticket));
        let Some(mut at) = found else { return };
        let more = done.more.filter(|more| !more.is_empty());
        if more.is_none() || done.result.is_some() {
            self.line[at] = QueueSlot::Done(Vec::new());
            if let Some(more) = more {
                self.line.insert(at + 1, QueueSlot::Source(more));
            }
            at = match done.result {
                Some((result, weight)) => self.add_result(at, result, weight),
                None => self.join(at),
            };
        } else if let Some(more) = more {
            self.line[at] = QueueSlot::Source(more);
        }
        if let Some(QueueSlot::Done(_)) = self.line.get(at + 1) {
            self.join(at + 1);
        }
        if done.close_one {
            let _ = self.line.iter_mut().rev().any(|place| match place {
                QueueSlot::Source(source) => source.close(),
                _ => false,
            });
        }
    }

    fn add_result(&mut self, at: usize, result: O, weight: usize) -> usize {
        self.waiting += weight;
        if let Some(QueueSlot::Done(results)) = self.line.get_mut(at) {
            results.push((result, weight));
        }
        self.join(at)
    }

    /// Joins the results at `at` with adjacent ones before them; returns their new position.
    fn join(&mut self, at: usize) -> usize {
        let Some(before) = at.checked_sub(1) else {
            return at;
        };
        if !matches!(
            (&self.line[before], &self.line[at]),
            (QueueSlot::Done(_), QueueSlot::Done(_))
        ) {
            return at;
        }
        if let Some(QueueSlot::Done(more)) = self.line.remove(at)
            && let Some(QueueSlot::Done(results)) = self.line.get_mut(before)
        {
            results.extend(more);
        }
        before
    }

    /// Releases the results at the front of the line.
    fn settle(&mut self) -> ControlFlow<()> {
        while let Some(QueueSlot::Done(_)) = self.line.front() {
            let Some(QueueSlot::Done(results)) = self.line.pop_front() else {
                break;
            };
            for (result, weight) in results {
                self.waiting -= weight;
                (self.settle)(result)?;
            }
        }
        ControlFlow::Continue(())
    }
}

impl<S, O, F> Drop for TaskTurn<'_, S, O, F> {
    fn drop(&mut self) {
        if !self.over {
            self.line.stopped.store(true, Ordering::Relaxed);
            let mut state = self
                .line
                .state
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            state.running -= 1;
            drop(state);
            self.line.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests;
