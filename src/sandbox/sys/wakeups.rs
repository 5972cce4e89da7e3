//! Threads that wait in a system call, woken by a signal whose handler does nothing (signal(7),
//! "Interruption of system calls").
#![expect(unsafe_code, reason = "sets a handler, and signals a thread")]

use std::io;
use std::os::unix::thread::JoinHandleExt as _;
use std::thread::JoinHandle;

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

const WAKE: Signal = Signal::SIGUSR1;

extern "C" fn nothing(_: libc::c_int) {}

/// Sets the handler. From then on only threads that [`allow`] it are woken.
pub fn prepare() -> io::Result<()> {
    set().thread_block()?;
    let action = SigAction::new(
        SigHandler::Handler(nothing),
        SaFlags::empty(),
        SigSet::empty(),
    );
    // SAFETY: the handler does nothing, so there is nothing that must not be done in one.
    unsafe { sigaction(WAKE, &action) }?;
    Ok(())
}

/// Lets this thread be woken.
pub fn allow() {
    let _ = set().thread_unblock();
}

/// Wakes a thread that has not been joined, if it waits.
pub fn wake(thread: &JoinHandle<()>) {
    // SAFETY: a thread that was neither joined nor detached keeps its handle, also when it has
    // ended.
    unsafe { libc::pthread_kill(thread.as_pthread_t(), WAKE as libc::c_int) };
}

fn set() -> SigSet {
    let mut set = SigSet::empty();
    set.add(WAKE);
    set
}
