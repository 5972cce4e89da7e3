//! Time limit of a blocking system call of the main thread (setitimer(2)).
//!
//! The supervisor shares the open file descriptions of a command's sockets. Another thread of the
//! command can change `O_NONBLOCK`, timeouts and `SO_LINGER` of them at any time. So a timer signal
//! interrupts the call (signal(7), "Interruption of system calls").
#![expect(unsafe_code, reason = "sets a handler and a timer")]

use std::ptr;
use std::sync::OnceLock;

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

const TIMER: Signal = Signal::SIGALRM;
/// Longest time of a call. It repeats, because the first signal may precede the call.
const MOST_MICROS: libc::suseconds_t = 10_000;

extern "C" fn nothing(_: libc::c_int) {}

/// Does something whose system calls fail with `EINTR` if they block for long.
///
/// Only the main thread may call it, because the process has one timer.
pub fn limited<T>(act: impl FnOnce() -> T) -> T {
    begin();
    let done = act();
    end();
    done
}

/// Interrupts system calls that block, until [`end`].
pub fn begin() {
    if is_prepared() {
        set_timer(MOST_MICROS);
        let _ = set().thread_unblock();
    }
}

/// Ends the time limit of [`begin`].
pub fn end() {
    set_timer(0);
    let _ = set().thread_block();
}

/// Sets the handler. Outside of a limited call the signal is blocked, for new threads too.
fn is_prepared() -> bool {
    static IS_PREPARED: OnceLock<bool> = OnceLock::new();
    *IS_PREPARED.get_or_init(|| {
        let action = SigAction::new(
            SigHandler::Handler(nothing),
            SaFlags::empty(),
            SigSet::empty(),
        );
        // SAFETY: the handler does nothing, so it is safe in a signal context.
        set().thread_block().is_ok() && unsafe { sigaction(TIMER, &action) }.is_ok()
    })
}

fn set_timer(micros: libc::suseconds_t) {
    let interval = libc::timeval {
        tv_sec: 0,
        tv_usec: micros,
    };
    let timer = libc::itimerval {
        it_interval: interval,
        it_value: interval,
    };
    // SAFETY: the kernel reads the structure during the call, and writes no old value.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, ptr::null_mut()) };
}

fn set() -> SigSet {
    let mut set = SigSet::empty();
    set.add(TIMER);
    set
}
