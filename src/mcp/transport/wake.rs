//! Wakes a thread that waits in `poll`, from any other thread.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{EventfdFlags, eventfd};

/// An event descriptor (eventfd(2)); clones share it.
#[derive(Clone, Debug)]
pub(super) struct Wake(Arc<OwnedFd>);

impl Wake {
    /// Creates an event that is not signalled. Fails if no descriptor is available.
    pub(super) fn new() -> std::io::Result<Self> {
        Ok(Self(Arc::new(eventfd(
            0,
            EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK,
        )?)))
    }

    /// Makes the descriptor readable.
    pub(super) fn ring(&self) {
        // A full counter is readable anyway.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// Makes it unreadable until the next ring.
    pub(super) fn reset(&self) {
        let mut count = [0; 8];
        let _ = rustix::io::read(&self.0, &mut count);
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
