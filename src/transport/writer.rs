//! The one writer: a lock, one `write` a message.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::wake::Wake;
use crate::server::{ExclusiveWork, Outbox};

/// Where all messages leave. A reader that has gone away is remembered, and what follows is dropped.
pub struct Writer {
    sink: Mutex<Box<dyn Write + Send>>,
    broken: AtomicBool,
    bell: OnceLock<Wake>,
}

impl Writer {
    /// Writes to `sink`, which should not buffer.
    pub fn new(sink: impl Write + Send + 'static) -> Self {
        Self { sink: Mutex::new(Box::new(sink)), broken: AtomicBool::new(false), bell: OnceLock::new() }
    }

    /// Rings `bell` when the other side goes away. The first bell is the one that counts.
    pub(super) fn ring_when_broken(&self, bell: Wake) {
        let _ = self.bell.set(bell);
    }

    /// Whether the other side has gone away.
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
