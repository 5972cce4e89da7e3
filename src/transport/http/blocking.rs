//! Whether the calls of a tenant that should be over at once are: some paths and files only seem to
//! be quick, and the threads that serve such calls carry the bytes of everybody.
//!
//! On a machine that has much to do a thread may be held up that does nothing wrong: it does not
//! run, or it waits for one that does not run and holds a lock. A call that took long therefore
//! only makes its tenant suspect: from then on it is asked after each call that takes long what the
//! thread has done meanwhile.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;

use crate::limits::{QUICK_MS, QUICK_PAUSES, QUICK_WAIT_MS};

/// When a tenant may be served by such a thread again.
#[derive(Debug, Default)]
pub struct Pace {
    state: Mutex<State>,
    /// How many of its calls turned out to be long, and go on where others do not wait for them.
    aside: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    paused: Option<Instant>,
    suspect: Option<Instant>,
}

/// A call that is served by such a thread.
#[derive(Debug)]
pub struct Held {
    since: Instant,
    /// Of a tenant that is suspect.
    before: Option<Spent>,
}

/// What a thread has done since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// How long it has worked.
    work: Duration,
    /// How often it has waited for a disk.
    reads: i64,
    /// How often it has waited for anything.
    waits: i64,
}

impl Spent {
    /// What this thread has done (getrusage(2)); nothing, if the kernel does not say.
    pub fn now() -> Self {
        getrusage(UsageWho::RUSAGE_THREAD).map_or_else(
            |_| Self::default(),
            |usage| Self {
                work: Duration::from_micros(
                    (usage.user_time() + usage.system_time())
                        .num_microseconds()
                        .unsigned_abs(),
                ),
                reads: usage.block_reads(),
                waits: usage.voluntary_context_switches(),
            },
        )
    }

    /// Whether a call that took this time since then took it by what it asked for.
    fn is_to_blame(self, before: Self, time: Duration) -> bool {
        self.work.saturating_sub(before.work) > Duration::from_millis(QUICK_MS)
            || self.reads != before.reads
            || self.waits != before.waits && time > Duration::from_millis(QUICK_WAIT_MS)
    }
}

impl Pace {
    /// Whether a call may be served by such a thread now; `spent` tells what this one has done.
    pub fn begin(&self, now: Instant, spent: impl FnOnce() -> Spent) -> Option<Held> {
        // Each such call takes a thread with it, and the next one would be begun before this one
        // can be judged.
        if self.aside.load(Relaxed) > 0 {
            return None;
        }
        let is_suspect = {
            let state = self.lock();
            if state.paused.is_some_and(|until| now < until) {
                return None;
            }
            state.suspect.is_some_and(|until| now < until)
        };
        Some(Held {
            since: now,
            before: is_suspect.then(spent),
        })
    }

    /// Does work of a call that turned out to be long. Until it is done, no other call of this
    /// tenant is served by such a thread.
    pub fn aside(&self, work: impl FnOnce()) {
        struct Counted<'a>(&'a AtomicUsize);
        impl Drop for Counted<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Relaxed);
            }
        }
        self.aside.fetch_add(1, Relaxed);
        let _counted = Counted(&self.aside);
        work();
    }

    /// It is over, and others did not wait for it for so long of that time (`aside`): if it was
    /// long for the others, a hundredth of the time is what its tenant may have.
    pub fn end(&self, held: &Held, aside: Duration, now: Instant, spent: impl FnOnce() -> Spent) {
        let most = Duration::from_millis(QUICK_MS);
        let time = now
            .saturating_duration_since(held.since)
            .saturating_sub(aside);
        if time <= most {
            return;
        }
        let pause = time * QUICK_PAUSES;
        let Some(before) = held.before else {
            let mut state = self.lock();
            state.suspect = state.suspect.max(Some(now + pause));
            return;
        };
        // What was done aside was done by the same thread.
        if aside.is_zero() && !spent().is_to_blame(before, time) {
            return;
        }
        let mut state = self.lock();
        state.paused = state.paused.max(Some(now + pause));
        state.suspect = state.suspect.max(Some(now + 2 * pause));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: Spent = Spent {
        work: Duration::ZERO,
        reads: 0,
        waits: 0,
    };

    /// Serves a call of so many milliseconds that begins at `from`, in which the thread has done
    /// this; whether it is served.
    fn serve(pace: &Pace, begin: Instant, from: u64, length: u64, done: Spent) -> bool {
        let at = |ms| begin + Duration::from_millis(ms);
        let Some(held) = pace.begin(at(from), || IDLE) else {
            return false;
        };
        pace.end(&held, Duration::ZERO, at(from + length), || done);
        true
    }

    #[test]
    fn who_holds_a_thread_for_long_again_is_served_elsewhere_a_hundred_times_as_long() {
        let reads = Spent { reads: 1, ..IDLE };
        let works = Spent {
            work: Duration::from_millis(11),
            ..IDLE
        };
        for done in [reads, works] {
            let (pace, begin) = (Pace::default(), Instant::now());
            let mut served = Vec::new();
            for (from, length) in [
                (0, 10),
                (10, 20),
                (40, 50),
                (90, 1),
                (5089, 1),
                (5090, 50),
                (5140, 1),
                (20_000, 50),
            ] {
                served.push(serve(&pace, begin, from, length, done));
            }
            assert_eq!(
                served,
                [true, true, true, false, false, true, false, true],
                "{done:?}"
            );
        }
    }

    #[test]
    fn a_thread_that_is_merely_held_up_is_no_fault_of_the_call() {
        let (pace, begin) = (Pace::default(), Instant::now());
        let works = Spent {
            work: Duration::from_millis(1),
            ..IDLE
        };
        assert_eq!(
            [0, 100, 200, 300].map(|from| serve(&pace, begin, from, 50, works)),
            [true; 4]
        );
        let waits = Spent { waits: 1, ..IDLE };
        let served = [(400, 50), (500, 51), (600, 1), (5650, 1), (5651, 1)];
        let served = served.map(|(from, length)| serve(&pace, begin, from, length, waits));
        assert_eq!(served, [true, true, false, false, true]);
        // What is done aside counts for nobody.
        let pace = Pace::default();
        let held = pace.begin(begin, || IDLE).unwrap();
        pace.end(
            &held,
            Duration::from_millis(45),
            begin + Duration::from_millis(50),
            || works,
        );
        assert!(
            pace.begin(begin + Duration::from_millis(50), || IDLE)
                .is_some()
        );
        // But while it lasts the next call is not begun here.
        pace.aside(|| assert!(pace.begin(begin, || IDLE).is_none()));
        assert!(pace.begin(begin, || IDLE).is_some());
    }

    #[test]
    fn a_thread_knows_what_it_has_done() {
        let before = Spent::now();
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || sender.send(()));
        receiver.recv().unwrap();
        other.join().unwrap().unwrap();
        let end = Instant::now() + Duration::from_mins(1);
        while Spent::now().work <= before.work {
            assert!(Instant::now() < end);
        }
    }
}
