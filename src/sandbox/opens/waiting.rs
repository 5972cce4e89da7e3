//! Calls that wait for somebody else: opens of FIFOs and of leased files, and connections. Each has
//! a thread.

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

use replay_sys::seccomp::{Notification, answer_with, respond, still_valid};
use replay_sys::wakeups;
use rustix::io::Errno;

use crate::caller::Caller;
use crate::descriptors::at_most;

/// Opens of one command that wait for somebody else; each has a thread.
const MAX_WAITING_OPENS: usize = 256;
/// Stack of a thread for an open that waits, in bytes.
const WAITING_OPEN_STACK_BYTES: usize = 64 * 1024;

/// Errno inside the kernel (`linux/errno.h`): it restarts the call after a signal handler with
/// `SA_RESTART`.
const RESTART: i32 = 512;

/// Waiting calls of one command.
#[derive(Debug, Default)]
pub(crate) struct Waiting(Vec<Waiter>);

/// Result of a call that has waited.
#[derive(Debug)]
pub(crate) enum Completed {
    Value(i64),
    /// A descriptor for the caller, and whether it is closed when a program is executed.
    Descriptor(OwnedFd, bool),
}

#[derive(Debug)]
struct Waiter {
    id: u64,
    caller: Caller,
    is_given_up: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Waiting {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Does the work of a call on a thread, again after each signal, and answers when that is done.
    pub(crate) fn begin(
        &mut self,
        listener: &Arc<OwnedFd>,
        asked: &Notification,
        mut work: impl FnMut() -> Result<Completed, Errno> + Send + 'static,
    ) -> Result<(), Errno> {
        self.0.retain(|waiter| !waiter.thread.is_finished());
        // Each has up to three descriptors.
        if self.0.len() >= at_most(MAX_WAITING_OPENS, 16) {
            return Err(Errno::NFILE);
        }
        wakeups::prepare().map_err(|_| Errno::NOMEM)?;
        let is_given_up = Arc::new(AtomicBool::new(false));
        let (listener, id, given_up) = (Arc::clone(listener), asked.id, Arc::clone(&is_given_up));
        let wait = move || {
            wakeups::allow();
            let done = loop {
                match work() {
                    Err(Errno::INTR) if !given_up.load(Ordering::Relaxed) => {}
                    done => break done,
                }
            };
            // A descriptor that nobody waits for any more is closed.
            let answered = match done {
                Ok(Completed::Value(value)) => respond(&listener, id, Ok(value)),
                Ok(Completed::Descriptor(given, close)) => {
                    answer_with(&listener, id, given.as_fd(), close).map(drop)
                }
                Err(errno) => Err(errno.into()),
            };
            if let Err(error) = answered {
                let _ = respond(
                    &listener,
                    id,
                    Err(error.raw_os_error().unwrap_or(libc::EMFILE)),
                );
            }
        };
        let thread = Builder::new()
            .stack_size(WAITING_OPEN_STACK_BYTES)
            .spawn(wait)
            .map_err(|_| Errno::AGAIN)?;
        self.0.push(Waiter {
            id,
            caller: Caller::new(asked.pid),
            is_given_up,
            thread,
        });
        Ok(())
    }

    /// Gives up what nobody waits for any more, and lets signals through that their callers handle.
    pub(crate) fn look(&mut self, listener: &OwnedFd) {
        self.0.retain(|waiter| !waiter.thread.is_finished());
        for waiter in &self.0 {
            if let Some(errno) = waiter.caller.interruption() {
                let _ = respond(listener, waiter.id, Err(errno));
            }
            if !still_valid(listener, waiter.id) {
                waiter.is_given_up.store(true, Ordering::Relaxed);
                // It may not wait yet; then the next look wakes it.
                wakeups::wake(&waiter.thread);
            }
        }
    }
}

impl Caller {
    /// Returns the error of the call, if a signal interrupts it: a pending one that the caller
    /// handles. The kernel itself interrupts a received call only at the end of its process.
    fn interruption(&self) -> Option<i32> {
        let signals = |key| {
            self.status(key)
                .ok()
                .and_then(|set| u64::from_str_radix(&set, 16).ok())
                .unwrap_or(0)
        };
        let pending =
            (signals("SigPnd") | signals("ShdPnd")) & !signals("SigBlk") & signals("SigCgt");
        if pending == 0 {
            return None;
        }
        // Of several threads another one may take it, and then nobody would restart the call.
        Some(if self.status("Threads").ok()? == "1" {
            RESTART
        } else {
            libc::EINTR
        })
    }
}
