//! Locks without poisoning, and waits that an event ends.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use replay_base::cancel::CancelToken;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Locks, ignoring poison. Each change of the data is one assignment, so a panic leaves it whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until one of the events is cancelled, at most for this time.
pub(crate) fn wait(time: Duration, events: &[&CancelToken]) {
    let until = Instant::now() + time;
    while !events.iter().any(|event| event.is_cancelled()) {
        let left = until.saturating_duration_since(Instant::now());
        let fds: Result<Vec<_>, _> = events.iter().map(|event| event.wake_fd()).collect();
        let (Ok(fds), Ok(timeout)) = (fds, Timespec::try_from(left)) else {
            return;
        };
        if left.is_zero() {
            return;
        }
        let mut fds: Vec<PollFd<'_>> = fds
            .into_iter()
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .collect();
        // An interrupting signal does not end the wait.
        let _ = poll(&mut fds, Some(&timeout));
    }
}
