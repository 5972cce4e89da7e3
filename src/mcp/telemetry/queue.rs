//! Bounded queue of spans for the export thread. A full queue drops spans, so no caller waits.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use replay_base::limits::SPANS_PER_EXPORT;

use super::span::Span;

/// Delay of a span before export, so that others can join it, in milliseconds.
const EXPORT_DELAY_MS: u64 = 5000;

#[derive(Debug)]
pub struct Queue {
    most: usize,
    inner: Mutex<Inner>,
    /// Told when the first span comes, when enough for an export are there, and at the end.
    filled: Condvar,
    /// Told when nothing is left after the end.
    emptied: Condvar,
    exported: AtomicU64,
    dropped: AtomicU64,
}

#[derive(Debug, Default)]
struct Inner {
    waiting: VecDeque<Span>,
    /// Deadline of the queue's end.
    end: Option<Instant>,
    is_over: bool,
}

impl Queue {
    /// Returns an empty queue for `most` spans.
    pub fn new(most: usize) -> Self {
        Self {
            most,
            inner: Mutex::default(),
            filled: Condvar::new(),
            emptied: Condvar::new(),
            exported: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
        }
    }

    /// Adds a span, or drops it.
    pub fn push(&self, span: Span) {
        let mut inner = self.lock();
        if inner.waiting.len() >= self.most || inner.is_over {
            drop(inner);
            self.count_lost(1);
            return;
        }
        inner.waiting.push_back(span);
        let length = inner.waiting.len();
        drop(inner);
        // Nobody is woken for those in between.
        if length == 1 || length == SPANS_PER_EXPORT {
            self.filled.notify_one();
        }
    }

    /// Waits for a full batch, the batch delay, or the end. `None` if the queue has ended and is
    /// empty.
    pub fn take(&self) -> Option<Vec<Span>> {
        let mut inner = self.lock();
        while inner.waiting.is_empty() && inner.end.is_none() {
            inner = self
                .filled
                .wait(inner)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let delay = Duration::from_millis(EXPORT_DELAY_MS);
        let is_short =
            |inner: &mut Inner| inner.waiting.len() < SPANS_PER_EXPORT && inner.end.is_none();
        let waited = self.filled.wait_timeout_while(inner, delay, is_short);
        let (mut inner, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let count = inner.waiting.len().min(SPANS_PER_EXPORT);
        (count > 0).then(|| inner.waiting.drain(..count).collect())
    }

    /// Waits for `length` or the end. Returns true at the end.
    pub fn pause(&self, length: Duration) -> bool {
        let waited = self
            .filled
            .wait_timeout_while(self.lock(), length, |inner| inner.end.is_none());
        waited
            .unwrap_or_else(PoisonError::into_inner)
            .0
            .end
            .is_some()
    }

    /// Returns the deadline of an export with this timeout.
    pub fn deadline(&self, timeout: Duration) -> Instant {
        let deadline = Instant::now() + timeout;
        self.lock().end.map_or(deadline, |end| end.min(deadline))
    }

    /// Counts exported spans.
    pub fn arrived(&self, count: usize) {
        self.exported.fetch_add(count as u64, Relaxed);
    }

    /// Counts dropped spans.
    pub fn count_lost(&self, count: usize) {
        self.dropped.fetch_add(count as u64, Relaxed);
    }

    /// Returns the numbers of exported and of dropped spans.
    pub fn counts(&self) -> (u64, u64) {
        (self.exported.load(Relaxed), self.dropped.load(Relaxed))
    }

    /// Marks the end of the export thread.
    pub fn finish(&self) {
        self.lock().is_over = true;
        self.emptied.notify_all();
    }

    /// Ends the queue and waits for the export of its spans, at most for `limit`. An export that
    /// began before keeps its own timeout, but is not waited for beyond the limit.
    pub fn end(&self, limit: Duration) {
        let mut inner = self.lock();
        inner.end.get_or_insert(Instant::now() + limit);
        self.filled.notify_one();
        let waited = self
            .emptied
            .wait_timeout_while(inner, limit, |inner| !inner.is_over);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
