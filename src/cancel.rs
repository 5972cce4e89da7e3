//! A token that says that a call is no longer wanted. Cloned into everything that may take long.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use rustix::event::{EventfdFlags, eventfd};

/// Shared by the session, which cancels, and by the work, which looks at it often.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    cancelled: AtomicBool,
    /// The work has begun.
    begun: AtomicBool,
    /// Set by every look at the token since [`CancelToken::is_stuck`] was asked.
    looked: AtomicBool,
    /// Made only for work that waits in `poll`; readable once the token is cancelled.
    wake: OnceLock<OwnedFd>,
}

impl CancelToken {
    /// A token that nobody has cancelled yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the work should stop. Cheap enough for inner loops.
    pub fn is_cancelled(&self) -> bool {
        // Stored only if that changes something: many threads look, and a line of the cache is
        // cheap as long as it is only read.
        if !self.0.looked.load(Ordering::Relaxed) {
            self.0.looked.store(true, Ordering::Relaxed);
        }
        self.0.cancelled.load(Ordering::SeqCst)
    }

    /// Whether both are the same token.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The work begins; before that it waits for its turn and is never stuck.
    pub fn begin(&self) {
        self.0.looked.store(true, Ordering::Relaxed);
        self.0.begun.store(true, Ordering::Relaxed);
    }

    /// Whether the work has not looked at the token since this was asked before, and does not wait
    /// for it either: it hangs in one call of the kernel, as on a filesystem that does not answer.
    pub fn is_stuck(&self) -> bool {
        self.0.begun.load(Ordering::Relaxed)
            && !self.0.looked.swap(false, Ordering::Relaxed)
            && self.0.wake.get().is_none()
    }

    /// Asks the work to stop; a second call changes nothing.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::SeqCst);
        if let Some(fd) = self.0.wake.get() {
            signal(fd);
        }
    }

    /// A descriptor that becomes readable when the token is cancelled, for `poll`.
    pub fn wake_fd(&self) -> rustix::io::Result<BorrowedFd<'_>> {
        if self.0.wake.get().is_none() {
            let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
            // Losing the race is fine: the winner's descriptor is the one that is used.
            let _ = self.0.wake.set(fd);
            // `cancel` stores first and looks for the descriptor second; here it is the other way
            // round, so one of the two always sees the other.
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

/// When work has to be over: at some time, or as soon as nobody wants it any more.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bound<'a> {
    /// The time; `None` for any.
    pub deadline: Option<Instant>,
    /// The call that the work is for.
    pub cancel: Option<&'a CancelToken>,
}

impl Bound<'_> {
    /// Whether it is over.
    pub fn is_over(self) -> bool {
        self.cancel.is_some_and(CancelToken::is_cancelled)
            || self
                .deadline
                .is_some_and(|deadline| Instant::now() >= deadline)
    }
}

fn signal(fd: &OwnedFd) {
    // Full counters and interrupted writes leave the descriptor readable, which is all that is
    // wanted.
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
    fn work_that_neither_looks_nor_waits_is_stuck() {
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
    fn cancelling_wakes_a_waiter_whichever_comes_first() {
        let before = CancelToken::new();
        assert!(!readable(&before));
        before.cancel();
        assert!(readable(&before));

        let after = CancelToken::new();
        after.cancel();
        assert!(readable(&after) && after.clone().is_cancelled());
    }
}
