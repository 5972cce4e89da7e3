//! What is known of a connection from outside: whether it has requests, and whether its client
//! takes what is sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::admission::Seat;

/// One connection. It counts as one as long as anybody holds this.
#[derive(Debug)]
pub struct Activity {
    began: Instant,
    /// Requests that are not answered to the last byte.
    open: AtomicUsize,
    /// Replies of which bytes are there that nobody has taken.
    owed: AtomicUsize,
    /// When something moved, in milliseconds after `began`.
    moved_ms: AtomicU64,
    /// Whether there was a request.
    asked: AtomicBool,
    /// What is read, in bytes, before the connection is closed after an answer that came before its
    /// request was whole.
    linger_bytes: AtomicU64,
    pub seat: Seat,
}

/// What to do about a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing.
    Good,
    /// It has had no request for a long time.
    Idle,
    /// Its client takes nothing.
    Stalled,
}

impl Activity {
    /// A connection that has just begun, in a place of its own.
    pub fn new(seat: Seat) -> Arc<Self> {
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

    /// A request has come.
    pub fn open(self: &Arc<Self>) -> Open {
        self.open.fetch_add(1, Relaxed);
        self.asked.store(true, Relaxed);
        self.moved();
        Open {
            activity: Arc::clone(self),
            owes: false,
        }
    }

    /// Whether there was a request on it.
    pub fn was_asked(&self) -> bool {
        self.asked.load(Relaxed)
    }

    pub fn moved(&self) {
        self.moved_ms
            .store(self.began.elapsed().as_millis() as u64, Relaxed);
    }

    /// So many bytes are read and thrown away before the connection is closed.
    pub fn linger(&self, bytes: u64) {
        self.linger_bytes.store(bytes, Relaxed);
    }

    /// How many that are.
    pub fn lingers(&self) -> u64 {
        self.linger_bytes.load(Relaxed)
    }

    pub fn state(&self, idle: Duration, stall: Duration) -> State {
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

/// A request on its connection, from its head to the last byte of its reply.
#[derive(Debug)]
pub struct Open {
    pub activity: Arc<Activity>,
    owes: bool,
}

impl Open {
    /// Says whether there are bytes that the connection could take now.
    pub fn owes(&mut self, owes: bool) {
        self.activity.moved();
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
        self.owes(false);
        self.activity.open.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::http::admission::Places;

    #[test]
    fn a_connection_is_idle_or_stalled_or_good() {
        let peer = std::net::IpAddr::from([127, 0, 0, 1]).into();
        let activity = Activity::new(Places::new(1).try_take(peer, Instant::now()).unwrap().0);
        let (now, never) = (Duration::ZERO, Duration::MAX);
        assert_eq!(activity.state(now, now), State::Idle);
        assert_eq!(activity.state(never, now), State::Good);
        assert!(!activity.was_asked());
        let mut open = activity.open();
        assert!(activity.was_asked());
        assert_eq!(activity.state(now, now), State::Good);
        open.owes(true);
        open.owes(true);
        assert_eq!(
            [activity.state(now, now), activity.state(now, never)],
            [State::Stalled, State::Good]
        );
        open.owes(false);
        assert_eq!(activity.state(now, now), State::Good);
        open.owes(true);
        drop(open);
        assert_eq!(activity.state(now, now), State::Idle);
    }
}
