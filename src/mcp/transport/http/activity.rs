//! Activity of a connection: its open requests, and its unread replies.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::admission::Seat;

/// One connection, which lives as long as this is held.
#[derive(Debug)]
pub(super) struct Activity {
    began: Instant,
    /// Requests without a complete reply.
    open: AtomicUsize,
    /// Replies with bytes that were not taken.
    owed: AtomicUsize,
    /// Time of the last activity, in milliseconds after `began`.
    moved_ms: AtomicU64,
    /// `true` once there was a request.
    asked: AtomicBool,
    /// Bytes to discard before the close, after a reply to an incomplete request.
    linger_bytes: AtomicU64,
    pub seat: Seat,
}

/// State of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Active.
    Good,
    /// It has had no request for a long time.
    Idle,
    /// Its client reads nothing.
    Stalled,
}

impl Activity {
    /// Creates the state of a new connection.
    pub(super) fn new(seat: Seat) -> Arc<Self> {
        Arc::new(Self {
            began: Instant::now(),
            open: AtomicUsize::new(0),
            owed: AtomicUsize::new(0),
            moved_ms: AtomicU64::new(0),
            asked: AtomicBool::new(false),
            linger_bytes: AtomicU64::new(0),
            seat,
        })
    }

    /// Registers a request.
    pub(super) fn open(self: &Arc<Self>) -> Open {
        self.open.fetch_add(1, Relaxed);
        self.asked.store(true, Relaxed);
        self.touch();
        Open {
            activity: Arc::clone(self),
            owes: false,
        }
    }

    /// Returns true if there was a request.
    pub(super) fn was_asked(&self) -> bool {
        self.asked.load(Relaxed)
    }

    pub(super) fn touch(&self) {
        self.moved_ms
            .store(self.began.elapsed().as_millis() as u64, Relaxed);
    }

    /// Sets the number of bytes to discard before the close.
    pub(super) fn linger(&self, bytes: u64) {
        self.linger_bytes.store(bytes, Relaxed);
    }

    /// Number of bytes to discard before the close.
    pub(super) fn lingers(&self) -> u64 {
        self.linger_bytes.load(Relaxed)
    }

    pub(super) fn state(&self, idle: Duration, stall: Duration) -> State {
        let moved = Duration::from_millis(self.moved_ms.load(Relaxed));
        let quiet = self.began.elapsed().saturating_sub(moved);
        if self.owed.load(Relaxed) > 0 && quiet >= stall {
            State::Stalled
        } else if self.open.load(Relaxed) == 0 && quiet >= idle {
            State::Idle
        } else {
            State::Good
        }
    }
}

/// A request, from its head to the last byte of its reply.
#[derive(Debug)]
pub(super) struct Open {
    pub activity: Arc<Activity>,
    owes: bool,
}

impl Open {
    /// Records that the connection could take bytes of the reply now, or that there are none.
    pub(super) fn set_owing(&mut self, owes: bool) {
        self.activity.touch();
        if owes != self.owes {
            self.owes = owes;
            if owes {
                self.activity.owed.fetch_add(1, Relaxed);
            } else {
                self.activity.owed.fetch_sub(1, Relaxed);
            }
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.set_owing(false);
        self.activity.open.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::http::admission::Places;

    #[test]
    fn connection_state_follows_requests_and_writes() {
        let peer = std::net::IpAddr::from([127, 0, 0, 1]).into();
        let activity = Activity::new(Places::new(1).try_take(peer, Instant::now()).unwrap().0);
        let (now, never) = (Duration::ZERO, Duration::MAX);
        assert_eq!(activity.state(now, now), State::Idle);
        assert_eq!(activity.state(never, now), State::Good);
        assert!(!activity.was_asked());
        let mut open = activity.open();
        assert!(activity.was_asked());
        assert_eq!(activity.state(now, now), State::Good);
        open.set_owing(true);
        open.set_owing(true);
        assert_eq!(
            [activity.state(now, now), activity.state(now, never)],
            [State::Stalled, State::Good]
        );
        open.set_owing(false);
        assert_eq!(activity.state(now, now), State::Good);
        open.set_owing(true);
        drop(open);
        assert_eq!(activity.state(now, now), State::Idle);
    }
}
