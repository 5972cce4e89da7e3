//! Detection of calls that block shared threads. Some paths and files only seem to be quick, and
//! these threads serve the connections of all tenants.
//!
//! On a busy machine, a thread may be delayed without fault: it is not scheduled, or waits for a
//! lock of an unscheduled thread. A slow call therefore only makes its tenant suspect. From then
//! on, the resource usage of the thread is checked after each slow call.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;

/// Time that a thread of the connections may take for a call, in milliseconds. A slower call makes
/// its tenant suspect. If this happens again through its requests, other threads serve it for a
/// while.
const QUICK_MS: u64 = 10;
/// Time for a call in which such a thread has waited, but for no disk: perhaps for another thread
/// that did not run.
const QUICK_WAIT_MS: u64 = 50;
/// Length of that while, as a multiple of the call's duration.
const QUICK_PAUSES: u32 = 100;

/// Decides when calls of a tenant may run inline on shared threads.
#[derive(Debug, Default)]
pub struct BlockingMonitor {
    state: Mutex<State>,
    /// Number of its calls that turned out slow, and run where no other work waits for them.
    aside: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    paused: Option<Instant>,
    suspect: Option<Instant>,
}

/// A call that runs inline on a shared thread.
#[derive(Debug)]
pub struct InlineCall {
    since: Instant,
    /// Usage before the call, for a suspect tenant.
    before: Option<ThreadUsage>,
}

/// Resource usage of a thread since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// CPU time.
    work: Duration,
    /// Number of waits for a disk.
    reads: i64,
    /// Number of waits of any kind.
    waits: i64,
}

impl ThreadUsage {
    /// Returns the usage of this thread (getrusage(2)); zero if the kernel does not say.
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

    /// Returns true if a call of this duration blocked by its own work, given the usage `before`
    /// it.
    fn is_to_blame(self, before: Self, time: Duration) -> bool {
        self.work.saturating_sub(before.work) > Duration::from_millis(QUICK_MS)
            || self.reads != before.reads
            || self.waits != before.waits && time > Duration::from_millis(QUICK_WAIT_MS)
    }
}

impl BlockingMonitor {
    /// Returns a call if it may run inline now. `spent` returns the usage of this thread.
    pub fn begin(&self, now: Instant, spent: impl FnOnce() -> ThreadUsage) -> Option<InlineCall> {
        // Each such call occupies a thread, and the next would begin before this one can be judged.
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
        Some(InlineCall {
            since: now,
            before: is_suspect.then(spent),
        })
    }

    /// Runs the slow part of a call. Until it is done, no other call of this tenant runs inline.
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

    /// Ends a call; during `aside` no other work waited for it. A call that blocked others pauses
    /// its tenant for a hundredfold time.
    pub fn end(
        &self,
        held: &InlineCall,
        aside: Duration,
        now: Instant,
        spent: impl FnOnce() -> ThreadUsage,
    ) {
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
        // The same thread did the work aside, so its usage says nothing.
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

    const IDLE: ThreadUsage = ThreadUsage {
        work: Duration::ZERO,
        reads: 0,
        waits: 0,
    };

    /// Serves a call of `length` milliseconds from `from` on, during which the thread used `done`.
    /// Returns true if it ran inline.
    fn serve(
        monitor: &BlockingMonitor,
        begin: Instant,
        from: u64,
        length: u64,
        done: ThreadUsage,
    ) -> bool {
        let at = |ms| begin + Duration::from_millis(ms);
        let Some(held) = monitor.begin(at(from), || IDLE) else {
            return false;
        };
        monitor.end(&held, Duration::ZERO, at(from + length), || done);
        true
    }

    #[test]
    fn blocking_call_pauses_tenant_for_hundredfold_time() {
        let reads = ThreadUsage { reads: 1, ..IDLE };
        let works = ThreadUsage {
            work: Duration::from_millis(11),
            ..IDLE
        };
        for done in [reads, works] {
            let (monitor, begin) = (BlockingMonitor::default(), Instant::now());
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
                served.push(serve(&monitor, begin, from, length, done));
            }
            assert_eq!(
                served,
                [true, true, true, false, false, true, false, true],
                "{done:?}"
            );
        }
    }

    #[test]
    fn delayed_thread_does_not_pause_tenant() {
        let (monitor, begin) = (BlockingMonitor::default(), Instant::now());
        let works = ThreadUsage {
            work: Duration::from_millis(1),
            ..IDLE
        };
        assert_eq!(
            [0, 100, 200, 300].map(|from| serve(&monitor, begin, from, 50, works)),
            [true; 4]
        );
        let waits = ThreadUsage { waits: 1, ..IDLE };
        let served = [(400, 50), (500, 51), (600, 1), (5650, 1), (5651, 1)];
        let served = served.map(|(from, length)| serve(&monitor, begin, from, length, waits));
        assert_eq!(served, [true, true, false, false, true]);
        // Time aside is not counted.
        let monitor = BlockingMonitor::default();
        let held = monitor.begin(begin, || IDLE).unwrap();
        monitor.end(
            &held,
            Duration::from_millis(45),
            begin + Duration::from_millis(50),
            || works,
        );
        assert!(
            monitor
                .begin(begin + Duration::from_millis(50), || IDLE)
                .is_some()
        );
        // But while it lasts, no further call runs inline.
        monitor.aside(|| assert!(monitor.begin(begin, || IDLE).is_none()));
        assert!(monitor.begin(begin, || IDLE).is_some());
    }

    #[test]
    fn thread_usage_counts_cpu_and_waits() {
        let before = ThreadUsage::now();
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || sender.send(()));
        receiver.recv().unwrap();
        other.join().unwrap().unwrap();
        let end = Instant::now() + Duration::from_mins(1);
        while ThreadUsage::now().work <= before.work {
            assert!(Instant::now() < end);
        }
    }
}
