//! A stack of work that several threads share, and that knows when all of it is done.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

pub(super) struct Queue<W> {
    state: Mutex<State<W>>,
    changed: Condvar,
}

struct State<W> {
    waiting: Vec<W>,
    /// Work that was taken and may still bring more.
    running: usize,
    stopped: bool,
}

/// Work, and the turn that must be given back.
pub(super) struct Taken<'a, W> {
    pub(super) work: W,
    pub(super) turn: Turn<'a, W>,
}

/// While it lives, the others wait for more work. Dropped without being given back, by a panic, it stops them.
pub(super) struct Turn<'a, W> {
    queue: &'a Queue<W>,
    over: bool,
}

impl<W> Queue<W> {
    pub(super) fn new() -> Self {
        let state = State { waiting: Vec::new(), running: 0, stopped: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    pub(super) fn push(&self, work: Vec<W>) {
        self.lock().waiting.extend(work);
        self.changed.notify_all();
    }

    /// The newest work; waits while others may bring more. `None` when everything is done or stopped.
    pub(super) fn take(&self) -> Option<Taken<'_, W>> {
        let mut state = self.lock();
        loop {
            if state.stopped {
                return None;
            }
            if let Some(work) = state.waiting.pop() {
                state.running += 1;
                return Some(Taken { work, turn: Turn { queue: self, over: false } });
            }
            if state.running == 0 {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends a turn and adds what it brought. Returns how much waits.
    pub(super) fn done(&self, mut turn: Turn<'_, W>, more: Vec<W>) -> usize {
        turn.over = true;
        let mut state = self.lock();
        state.running -= 1;
        let brought = more.len();
        state.waiting.extend(more);
        let waiting = state.waiting.len();
        let finished = waiting == 0 && state.running == 0;
        drop(state);
        if brought > 1 || finished {
            self.changed.notify_all();
        } else if brought == 1 {
            self.changed.notify_one();
        }
        waiting
    }

    /// Nobody takes any more work.
    pub(super) fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        state.waiting.clear();
        drop(state);
        self.changed.notify_all();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    pub(super) fn has_work(&self) -> bool {
        !self.lock().waiting.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W> Drop for Turn<'_, W> {
    fn drop(&mut self) {
        if !self.over {
            self.queue.lock().running -= 1;
            self.queue.stop();
        }
    }
}
