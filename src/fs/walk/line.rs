//! Work that several threads share and whose results come out in order.
//!
//! Everything that is known stands in one line, first to last: places where work is still to be cut
//! from, work that runs, and results that are finished while something before them is not. Work is
//! always cut from the first place that has any, so the beginning of the order is done first;
//! results leave at the front. No keys are compared: where a thing stands is its place in the
//! order.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A place that work is cut from, in order.
pub(super) trait Source {
    type Task;
    /// The next piece of work.
    fn cut(&mut self) -> Self::Task;
    /// Whether nothing is left.
    fn is_empty(&self) -> bool;
    /// Gives up what it holds open; whether it held anything.
    fn close(&mut self) -> bool;
}

pub(super) struct Line<S, O, F> {
    state: Mutex<State<S, O, F>>,
    changed: Condvar,
    stopped: AtomicBool,
    /// Results that may wait for what comes before them, by weight.
    most_waiting: usize,
}

struct State<S, O, F> {
    line: VecDeque<Place<S, O>>,
    /// Pieces of work that run.
    running: usize,
    /// Threads that wait for work.
    idle: usize,
    tickets: u64,
    /// Weight of the results in the line.
    waiting: usize,
    settle: F,
}

enum Place<S, O> {
    Source(S),
    Running(u64),
    Done(Vec<(O, usize)>),
}

/// What became of a piece of work.
pub(super) struct Finished<S, O> {
    /// Its result and what that weighs; `None` if there is nothing to say.
    pub(super) result: Option<(O, usize)>,
    /// Where more work comes from, behind the result.
    pub(super) more: Option<S>,
    /// Whether the last source that holds anything open shall close it.
    pub(super) close_one: bool,
}

/// A piece of work to do.
pub(super) struct Taken<'a, S: Source, O, F> {
    pub(super) task: S::Task,
    pub(super) turn: Turn<'a, S, O, F>,
}

/// While it lives, the others wait for what it brings. Dropped without being given back, by a
/// panic, it stops them.
pub(super) struct Turn<'a, S, O, F> {
    line: &'a Line<S, O, F>,
    ticket: u64,
    over: bool,
}

impl<S: Source, O, F: FnMut(O) -> ControlFlow<()>> Line<S, O, F> {
    /// `settle` is given all results in order, one at a time, and may end everything.
    pub(super) fn new(first: S, most_waiting: usize, settle: F) -> Self {
        let line = VecDeque::from([Place::Source(first)]);
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

    /// The first work that nobody does; waits while others may bring more. `None` when everything
    /// is done or stopped.
    pub(super) fn take(&self) -> Option<Taken<'_, S, O, F>> {
        self.take_from(self.lock())
    }

    /// Gives work back and takes the next.
    pub(super) fn exchange(
        &self,
        turn: Turn<'_, S, O, F>,
        done: Finished<S, O>,
    ) -> Option<Taken<'_, S, O, F>> {
        self.take_from(self.give_back(turn, done))
    }

    /// Gives work back. Whether there is work left for others.
    pub(super) fn give(&self, turn: Turn<'_, S, O, F>, done: Finished<S, O>) -> bool {
        self.give_back(turn, done).first_source().is_some()
    }

    /// Nobody takes any more work.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        // Under the lock, so that nobody is between looking and waiting.
        let _state = self.lock();
        self.changed.notify_all();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    fn take_from<'a>(
        &'a self,
        mut state: MutexGuard<'a, State<S, O, F>>,
    ) -> Option<Taken<'a, S, O, F>> {
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
                return Some(Taken {
                    task,
                    turn: Turn {
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
        mut turn: Turn<'_, S, O, F>,
        done: Finished<S, O>,
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
            .position(|place| matches!(place, Place::Source(_)))
    }

    /// Cuts work from the source at `at`; what runs stands in front of what is left.
    fn cut(&mut self, at: usize) -> Option<(S::Task, u64)> {
        let Some(Place::Source(source)) = self.line.get_mut(at) else {
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
            self.line[at] = Place::Running(self.tickets);
        } else {
            self.line.insert(at, Place::Running(self.tickets));
        }
        Some((task, self.tickets))
    }

    /// Puts what work brought where the work stood. Results side by side become one place, so that
    /// the line stays short.
    fn replace(&mut self, ticket: u64, done: Finished<S, O>) {
        let found = self
            .line
            .iter()
            .position(|place| matches!(place, Place::Running(of) if *of == ticket));
        let Some(mut at) = found else { return };
        let more = done.more.filter(|more| !more.is_empty());
        if more.is_none() || done.result.is_some() {
            self.line[at] = Place::Done(Vec::new());
            if let Some(more) = more {
                self.line.insert(at + 1, Place::Source(more));
            }
            at = match done.result {
                Some(result) => self.add_result(at, result),
                None => self.join(at),
            };
        } else if let Some(more) = more {
            self.line[at] = Place::Source(more);
        }
        if let Some(Place::Done(_)) = self.line.get(at + 1) {
            self.join(at + 1);
        }
        if done.close_one {
            let _ = self.line.iter_mut().rev().any(|place| match place {
                Place::Source(source) => source.close(),
                _ => false,
            });
        }
    }

    fn add_result(&mut self, at: usize, (result, weight): (O, usize)) -> usize {
        self.waiting += weight;
        if let Some(Place::Done(results)) = self.line.get_mut(at) {
            results.push((result, weight));
        }
        self.join(at)
    }

    /// Joins the results at `at` with results right before them; where they stand then.
    fn join(&mut self, at: usize) -> usize {
        let Some(before) = at.checked_sub(1) else {
            return at;
        };
        if !matches!(
            (&self.line[before], &self.line[at]),
            (Place::Done(_), Place::Done(_))
        ) {
            return at;
        }
        if let Some(Place::Done(more)) = self.line.remove(at)
            && let Some(Place::Done(results)) = self.line.get_mut(before)
        {
            results.extend(more);
        }
        before
    }

    /// Lets the results at the front of the line go.
    fn settle(&mut self) -> ControlFlow<()> {
        while let Some(Place::Done(_)) = self.line.front() {
            let Some(Place::Done(results)) = self.line.pop_front() else {
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

impl<S, O, F> Drop for Turn<'_, S, O, F> {
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
