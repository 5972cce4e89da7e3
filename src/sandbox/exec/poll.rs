//! Waiting: one `poll` over all descriptors of interest, and a bell to wake another thread.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use nix::sys::signal::Signal;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;

use super::ExecError;

/// Waits until one of `fds` is readable or closed, or `until` has passed. Returns the readable
/// ones; none if a signal interrupted the wait. Fails if the kernel cannot wait (poll(2)).
pub fn readable<const N: usize>(
    fds: [Option<BorrowedFd<'_>>; N],
    until: Option<Instant>,
) -> Result<[bool; N], ExecError> {
    let mut asked: Vec<PollFd<'_>> = fds
        .iter()
        .flatten()
        .map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN))
        .collect();
    if !wait(&mut asked, until)? {
        return Ok([false; N]);
    }
    let mut answers = asked.iter().map(|fd| !fd.revents().is_empty());
    Ok(fds.map(|fd| fd.is_some() && answers.next() == Some(true)))
}

/// Waits until `fd` is writable or closed, `wake` is readable, or `until` has passed.
pub(super) fn writable(
    fd: BorrowedFd<'_>,
    wake: BorrowedFd<'_>,
    until: Instant,
) -> Result<(), ExecError> {
    let mut asked = [
        PollFd::from_borrowed_fd(fd, PollFlags::OUT),
        PollFd::from_borrowed_fd(wake, PollFlags::IN),
    ];
    wait(&mut asked, Some(until)).map(drop)
}

/// Returns true if a descriptor has an event.
fn wait(asked: &mut [PollFd<'_>], until: Option<Instant>) -> Result<bool, ExecError> {
    let timeout = until.map(|until| {
        let left = until.saturating_duration_since(Instant::now());
        Timespec::try_from(left).unwrap_or(Timespec {
            tv_sec: i64::MAX,
            tv_nsec: 0,
        })
    });
    match poll(asked, timeout.as_ref()) {
        Ok(count) => Ok(count > 0),
        Err(Errno::INTR) => Ok(false),
        Err(errno) => Err(ExecError::follow(errno)),
    }
}

/// Returns the received signal (signalfd(2): the first word of a record).
pub fn received(signals: BorrowedFd<'_>) -> Option<Signal> {
    /// Bytes of `struct signalfd_siginfo`.
    const RECORD_BYTES: usize = 128;
    let mut record = [0; RECORD_BYTES];
    let length = rustix::io::read(signals, &mut record).ok()?;
    let number = record[..length]
        .first_chunk()
        .map(|word| i32::from_ne_bytes(*word))?;
    Signal::try_from(number).ok()
}

/// Wakes a thread that waits in [`readable`].
#[derive(Debug)]
pub struct Bell(OwnedFd);

impl Bell {
    /// Creates a silent bell. Fails if no more descriptors can be opened (eventfd(2)).
    pub fn new() -> io::Result<Self> {
        Ok(Self(eventfd(
            0,
            EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK,
        )?))
    }

    /// Makes the bell readable until [`Self::hush`].
    pub fn ring(&self) {
        // A full counter also leaves it readable.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Resets the bell.
    pub fn hush(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
