//! Queue of a session: cells run one after the other, in the order of their arrival.

use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use replay_base::cancel::CancelToken;
use replay_sandbox::exec::{Bell, ExecError, readable};

use super::error::PythonError;

/// Queue of one session.
#[derive(Debug, Default)]
pub(super) struct TurnQueue(Mutex<QueueState>);

#[derive(Debug, Default)]
struct QueueState {
    is_taken: bool,
    /// Waiting calls. A call that is taken out of the queue has the turn.
    waiting: VecDeque<Arc<Bell>>,
}

/// Guard of the turn. Drop passes the turn to the next waiter.
#[derive(Debug)]
pub(super) struct TurnGuard<'a>(&'a TurnQueue);

impl TurnQueue {
    /// Waits for the turn. Returns `None` if `until` comes first.
    pub(super) fn enter(
        &self,
        until: Instant,
        cancel: &CancelToken,
    ) -> Result<Option<TurnGuard<'_>>, PythonError> {
        let bell = {
            let mut line = self.lock();
            if !line.is_taken {
                line.is_taken = true;
                return Ok(Some(TurnGuard(self)));
            }
            let bell = Arc::new(Bell::new().map_err(ExecError::Follow)?);
            line.waiting.push_back(Arc::clone(&bell));
            bell
        };
        let waited = Self::wait(&bell, until, cancel);
        let mut line = self.lock();
        let before = line.waiting.len();
        line.waiting.retain(|waiting| !Arc::ptr_eq(waiting, &bell));
        let held = (line.waiting.len() == before).then(|| TurnGuard(self));
        // Drop of the guard takes the lock.
        drop(line);
        waited.map(|()| held)
    }

    /// Waits until the bell rings or `until` has come.
    fn wait(bell: &Bell, until: Instant, cancel: &CancelToken) -> Result<(), PythonError> {
        let wake = cancel
            .wake_fd()
            .map_err(|errno| ExecError::Follow(errno.into()))?;
        loop {
            let [rung, _] = readable([Some(bell.as_fd()), Some(wake)], Some(until))?;
            if cancel.is_cancelled() {
                return Err(PythonError::Cancelled);
            }
            if rung || Instant::now() >= until {
                return Ok(());
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        // A panic leaves the queue consistent at any point.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for TurnGuard<'_> {
    fn drop(&mut self) {
        let mut line = self.0.lock();
        match line.waiting.pop_front() {
            Some(bell) => bell.ring(),
            None => line.is_taken = false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(20)
    }

    #[test]
    fn turn_passes_in_order_of_arrival() {
        let turn = TurnQueue::default();
        let cancel = CancelToken::new();
        let order = Mutex::new(Vec::new());
        let first = turn.enter(soon(), &cancel).unwrap().unwrap();
        std::thread::scope(|scope| {
            for number in 0..3 {
                let (turn, cancel, order) = (&turn, &cancel, &order);
                scope.spawn(move || {
                    let held = turn.enter(soon(), cancel).unwrap().unwrap();
                    order.lock().unwrap().push(number);
                    drop(held);
                });
                while turn.lock().waiting.len() <= number {
                    std::thread::yield_now();
                }
            }
            drop(first);
        });
        assert_eq!(*order.lock().unwrap(), [0, 1, 2]);
        assert!(!turn.lock().is_taken);
    }

    #[test]
    fn queue_drops_timed_out_or_cancelled_waiter() {
        let turn = TurnQueue::default();
        let cancel = CancelToken::new();
        let held = turn.enter(soon(), &cancel).unwrap();
        assert!(held.is_some());
        assert!(turn.enter(Instant::now(), &cancel).unwrap().is_none());
        cancel.cancel();
        assert!(matches!(
            turn.enter(soon(), &cancel),
            Err(PythonError::Cancelled)
        ));
        drop(held);
        let line = turn.lock();
        assert!(!line.is_taken && line.waiting.is_empty());
    }
}
