//! Cancellation token of a call. Everything that may take long holds a clone.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use rustix::event::{EventfdFlags, eventfd};

/// Token shared by the session, which cancels, and by the work, which checks it often.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    cancelled: AtomicBool,
    /// `true` once the work has begun.
    begun: AtomicBool,
    /// Set by every check of the token since the last [`CancelToken::is_stuck`].
    looked: AtomicBool,
    /// Created only for work that waits in `poll`; readable once the token is cancelled.
    wake: OnceLock<OwnedFd>,
}

impl CancelToken {
    /// Creates a token that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns true if the work should stop. Cheap enough for inner loops.
    pub fn is_cancelled(&self) -> bool {
        // Stored only if that changes the value: many threads check it, and a cache line that is
        // only read stays cheap.
        if !self.0.looked.load(Ordering::Relaxed) {
            self.0.looked.store(true, Ordering::Relaxed);
        }
        self.0.cancelled.load(Ordering::SeqCst)
    }

    /// Returns true if both are the same token.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Marks the work as begun; before that it is queued and never stuck.
    pub fn begin(&self) {
        self.0.looked.store(true, Ordering::Relaxed);
        self.0.begun.store(true, Ordering::Relaxed);
    }

    /// Returns true if the work neither checked the token since the previous call nor waits for it.
    /// Such work hangs in a system call, as on a filesystem that does not answer.
    pub fn is_stuck(&self) -> bool {
        self.0.begun.load(Ordering::Relaxed)
            && !self.0.looked.swap(false, Ordering::Relaxed)
            && self.0.wake.get().is_none()
    }

    /// Cancels the work; a second call changes nothing.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::SeqCst);
        if let Some(fd) = self.0.wake.get() {
            signal(fd);
        }
    }

    /// Returns a descriptor for `poll` that becomes readable when the token is cancelled.
    pub fn wake_fd(&self) -> rustix::io::Result<BorrowedFd<'_>> {
        if self.0.wake.get().is_none() {
            let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
            // Losing the race is fine: the winner's descriptor is used.
            let _ = self.0.wake.set(fd);
            // `cancel` stores the flag and then reads the descriptor; here the order is reversed.
            // So at least one of the two sees the other.
            if self.is_cancelled()
                && let Some(fd) = self.0.wake.get()
            {
                signal(fd);
            }
        }
        self.0
            .wake
            .get()
            .map(AsFd::as_fd)
            .ok_or(rustix::io::Errno::BADF)
    }
}

/// End of some work: at a deadline, or on cancellation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bound<'a> {
    /// `None` for no deadline.
    pub deadline: Option<Instant>,
    /// The token of the call that needs the work.
    pub cancel: Option<&'a CancelToken>,
}

impl Bound<'_> {
    /// Returns true if the work has to stop.
    pub fn is_over(self) -> bool {
        self.cancel.is_some_and(CancelToken::is_cancelled)
            || self
                .deadline
                .is_some_and(|deadline| Instant::now() >= deadline)
    }
}

fn signal(fd: &OwnedFd) {
    // A full counter or an interrupted write leaves the descriptor readable, which suffices.
    let _ = rustix::io::write(fd, &1u64.to_ne_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    fn readable(token: &CancelToken) -> bool {
        let fd = token.wake_fd().unwrap();
        let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec::default())).unwrap() == 1
    }

    #[test]
    fn work_without_checks_is_stuck() {
        let token = CancelToken::new();
        assert!(!token.is_stuck());
        token.begin();
        assert_eq!([token.is_stuck(), token.is_stuck()], [false, true]);
        assert!(!token.is_cancelled());
        assert_eq!([token.is_stuck(), token.is_stuck()], [false, true]);
        token.wake_fd().unwrap();
        assert!(!token.is_stuck());
    }

    #[test]
    fn cancel_before_or_after_poll_wakes_waiter() {
        let before = CancelToken::new();
        assert!(!readable(&before));
        before.cancel();
        assert!(readable(&before));

        let after = CancelToken::new();
        after.cancel();
        assert!(readable(&after) && after.clone().is_cancelled());
    }
}
