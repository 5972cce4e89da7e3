//! Locks that a panic does not spoil, and waits that an event ends.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::cancel::CancelToken;

/// What a lock holds is whole after any panic: each change of it is one assignment.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until one of the events has happened, at most for this time.
pub fn wait(time: Duration, events: &[&CancelToken]) {
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
        // A signal in between is no event.
        let _ = poll(&mut fds, Some(&timeout));
    }
}
