//! Whether the calls of a tenant that should be over at once are: some paths and files only seem to be quick, and the
//! threads that serve such calls carry the bytes of everybody.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::limits::{QUICK_MS, QUICK_PAUSES};

/// When a tenant may be served by such a thread again.
#[derive(Debug, Default)]
pub struct Pace(Mutex<Option<Instant>>);

impl Pace {
    /// Whether it may be now.
    pub fn is_quick(&self, now: Instant) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_none_or(|until| until <= now)
    }

    /// It has held such a thread for so long, until now: a hundredth of the time is what it may have.
    pub fn held(&self, time: Duration, now: Instant) {
        if time <= Duration::from_millis(QUICK_MS) {
            return;
        }
        let until = now + time * QUICK_PAUSES;
        let mut pause = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *pause = (*pause).max(Some(until));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_holds_a_thread_for_long_is_served_elsewhere_a_hundred_times_as_long() {
        let (pace, begin) = (Pace::default(), Instant::now());
        let at = |ms| begin + Duration::from_millis(ms);
        let mut is_quick = vec![pace.is_quick(begin)];
        pace.held(Duration::from_millis(10), at(10));
        is_quick.push(pace.is_quick(at(10)));
        pace.held(Duration::from_millis(50), at(60));
        pace.held(Duration::from_millis(20), at(80));
        is_quick.extend([80, 5059, 5060].map(|ms| pace.is_quick(at(ms))));
        assert_eq!(is_quick, [true, true, false, false, true]);
    }
}
