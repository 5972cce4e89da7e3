//! Clock of file timestamps, and detection of clock changes.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::{Errno, read};
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};

/// Clock of the search memory.
pub(super) trait Clock: Send + Sync {
    /// Returns the time of file timestamps, in seconds since 1970.
    fn now(&self) -> i64;
    /// Returns the time of a clock that cannot be set.
    fn running(&self) -> Duration;
    /// Returns true if the clock was set, or the machine slept, since the last call.
    fn was_set(&self) -> bool;
    /// Returns the offset of [`Clock::now`] to a clock that cannot be set and runs during sleep, in
    /// nanoseconds. It is constant until the clock is set.
    fn ahead(&self) -> i64;
}

/// `CLOCK_REALTIME`, by which Linux stamps files.
#[derive(Debug)]
pub(super) struct SystemClock {
    timer: OwnedFd,
}

const AHEAD_LOOKS: u32 = 8;

/// The year 2200, in seconds since 1970: the timer is not meant to end.
const FAR: i64 = 7_258_118_400;

impl SystemClock {
    /// Starts to watch the clock.
    pub(super) fn new() -> io::Result<Self> {
        let timer = timerfd_create(
            TimerfdClockId::Realtime,
            TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
        )?;
        let at = Itimerspec {
            it_interval: Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: Timespec {
                tv_sec: FAR,
                tv_nsec: 0,
            },
        };
        timerfd_settime(
            &timer,
            TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET,
            &at,
        )?;
        Ok(Self { timer })
    }
}

impl Clock for SystemClock {
    fn now(&self) -> i64 {
        clock_gettime(ClockId::Realtime).tv_sec
    }

    fn running(&self) -> Duration {
        Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default()
    }

    /// `ECANCELED` says so, once for any number of changes (`TFD_TIMER_CANCEL_ON_SET`,
    /// `timerfd_create(2)`).
    fn was_set(&self) -> bool {
        !matches!(read(&self.timer, &mut [0; 8]), Err(Errno::AGAIN))
    }

    fn ahead(&self) -> i64 {
        let nanos = |clock| {
            let now = clock_gettime(clock);
            now.tv_sec * 1_000_000_000 + now.tv_nsec
        };
        let look = |_| {
            let before = nanos(ClockId::Boottime);
            let now = nanos(ClockId::Realtime);
            let took = nanos(ClockId::Boottime) - before;
            (took, now - before - took / 2)
        };
        // Another thread may run between two looks, so the quickest counts.
        (0..AHEAD_LOOKS)
            .map(look)
            .min()
            .map_or(0, |(_, ahead)| ahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untouched_clock_reports_no_change() {
        let clock = SystemClock::new().unwrap();
        assert_eq!((clock.was_set(), clock.was_set()), (false, false));
        assert!(clock.now() > 1_700_000_000 && clock.running() > Duration::ZERO);
        assert!((clock.ahead() - clock.ahead()).abs() < 1_000_000);
    }
}
