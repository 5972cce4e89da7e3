//! Writer of messages: a lock, and one `write` per message.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::wake::Wake;
use crate::sessions::{ExclusiveWork, Outbox};

/// Output of all messages. After a write error, further messages are dropped.
pub struct Writer {
    sink: Mutex<Box<dyn Write + Send>>,
    broken: AtomicBool,
    bell: OnceLock<Wake>,
    /// Descriptor that reports a closed reader before anything is written.
    watched: Option<OwnedFd>,
}

impl Writer {
    /// Creates a writer to `sink`, which should not buffer.
    pub fn new(sink: impl Write + Send + 'static) -> Self {
        Self {
            sink: Mutex::new(Box::new(sink)),
            broken: AtomicBool::new(false),
            bell: OnceLock::new(),
            watched: None,
        }
    }

    /// Creates a writer to a descriptor, which notices a closed reader without a write. Fails if no
    /// further descriptor is available.
    pub fn to_descriptor(sink: impl Write + AsFd + Send + 'static) -> io::Result<Self> {
        let watched = Some(sink.as_fd().try_clone_to_owned()?);
        Ok(Self {
            watched,
            ..Self::new(sink)
        })
    }

    /// Descriptor that polls as an error or a hang-up (poll(2)) once the reader is gone.
    pub(super) fn watched(&self) -> Option<BorrowedFd<'_>> {
        self.watched.as_ref().map(AsFd::as_fd)
    }

    /// Rings `bell` when the reader is gone. Later calls have no effect.
    pub(super) fn ring_when_broken(&self, bell: Wake) {
        let _ = self.bell.set(bell);
    }

    /// Returns true if the reader is gone.
    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }

    /// Writes a message that ends in its newline.
    pub fn write_line(&self, line: &[u8]) {
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        self.put(&mut **sink, line);
    }

    fn put(&self, sink: &mut dyn Write, bytes: &[u8]) {
        if self.is_broken() {
            return;
        }
        if let Err(error) = sink.write_all(bytes) {
            tracing::warn!("the client no longer reads: {error}");
            self.broken.store(true, Ordering::Relaxed);
            if let Some(bell) = self.bell.get() {
                bell.ring();
            }
        }
    }
}

impl Outbox for Writer {
    fn exclusively(&self, work: &mut ExclusiveWork<'_>) {
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut |bytes| self.put(&mut **sink, bytes));
    }

    fn send(&self, message: &[u8]) {
        let mut line = Vec::with_capacity(message.len() + 1);
        line.extend_from_slice(message);
        line.push(b'\n');
        self.write_line(&line);
    }
}
