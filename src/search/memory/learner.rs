//! Learner: a thread that makes signatures of searched files, at the lowest priority and only while
//! no call runs.

use std::collections::VecDeque;
use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use replay_base::cancel::CancelToken;
use replay_base::limits::MAX_WALK_DEPTH;
use replay_files::fs::{Entries, OpenDir, Order, Visitor, WalkEntry, WalkOptions, walk};
use replay_files::policy::{Checked, FileKind, Read};
use rustix::process::setpriority_process;

use super::Inner;
use super::query::Query;
use super::recall::Recall;
use super::signature::Signer;
use super::store::Notes;

/// Largest file that gets a signature, in bytes.
const MAX_SIGNED_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// Trees whose files wait for signatures.
const MAX_LEARNED_TREES: usize = 8;
/// Least time between two writes of the search cache, in seconds.
const SEARCH_CACHE_PAUSE_SECS: u64 = 120;
/// Idle time without calls before signatures are made, in milliseconds.
const LEARNING_PAUSE_MS: u64 = 20;

/// The lowest priority (`setpriority(2)`).
const LOWEST: i32 = 19;

/// The thread and its work. It starts with the first work.
#[derive(Default)]
pub(super) struct Learner {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Shared {
    work: Mutex<VecDeque<Checked<Read>>>,
    changed: Condvar,
    /// `true` if new records are in no cache file yet.
    has_news: AtomicBool,
    calls: AtomicUsize,
    /// `true` if a call ended since this was last cleared.
    stirred: AtomicBool,
    stop: CancelToken,
}

/// Buffers that the thread reuses for each file.
#[derive(Default)]
struct LearnerBuffers {
    signer: Signer,
    content: Vec<u8>,
}

/// A call that runs.
#[derive(Debug)]
pub struct Busy<'a>(&'a AtomicUsize, &'a AtomicBool);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.1.store(true, Ordering::Relaxed);
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Learner {
    pub(super) fn busy(&self) -> Busy<'_> {
        self.shared.calls.fetch_add(1, Ordering::Relaxed);
        Busy(&self.shared.calls, &self.shared.stirred)
    }

    /// Queues a tree that was searched. Does nothing if the queue is full or no thread can be
    /// started: signatures only save time.
    pub(super) fn add(&self, inner: &Arc<Inner>, start: Checked<Read>) {
        // Records of the search itself.
        self.shared.has_news.store(true, Ordering::Relaxed);
        {
            let mut work = self.shared.lock();
            if work.len() >= MAX_LEARNED_TREES {
                return;
            }
            work.push_back(start);
        }
        self.shared.changed.notify_all();
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            let (shared, inner) = (Arc::clone(&self.shared), Arc::clone(inner));
            *thread = Builder::new()
                .name("signatures".into())
                .spawn(move || shared.run(&inner))
                .ok();
        }
    }

    /// Ends the thread. Returns true if there are records that are in no file.
    pub(super) fn end(&self) -> bool {
        self.shared.stop.cancel();
        // Under the lock, so that the thread is not between looking and waiting.
        drop(self.shared.lock());
        self.shared.changed.notify_all();
        if let Some(thread) = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
        {
            // A panic there has cost signatures, nothing else.
            let _ = thread.join();
        }
        self.shared.has_news.swap(false, Ordering::Relaxed)
    }
}

impl Drop for Learner {
    fn drop(&mut self) {
        self.end();
    }
}

impl std::fmt::Debug for Learner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Learner").finish_non_exhaustive()
    }
}

/// `true` if there is no more room, or no more time.
#[derive(Default)]
struct LimitReached(bool);

/// The visitor of a walk.
struct Visit<'a> {
    shared: &'a Shared,
    recall: Recall,
}

impl Visitor for Visit<'_> {
    type Local = LearnerBuffers;
    type Out = LimitReached;
    type Notes = Notes;

    fn local(&self) -> LearnerBuffers {
        LearnerBuffers::default()
    }

    fn entries(&self, dir: &mut OpenDir<'_>) -> io::Result<Arc<Entries<Notes>>> {
        self.recall.entries(dir)
    }

    fn visit(
        &self,
        own: &mut LearnerBuffers,
        full: &mut LimitReached,
        found: &WalkEntry<'_>,
        notes: &Notes,
    ) {
        if full.0 || found.kind() != FileKind::File || !notes.wants_signature(found.place()) {
            return;
        }
        if !self.shared.wait_until_quiet() {
            full.0 = true;
            return;
        }
        let Ok(file) = found.open() else { return };
        let Some(version) = self.recall.settled(&file, notes) else {
            return;
        };
        if version.size > MAX_SIGNED_FILE_BYTES
            || !file
                .read_start(&mut own.content, MAX_SIGNED_FILE_BYTES)
                .unwrap_or(false)
        {
            return;
        }
        full.0 = !self.recall.sign(
            notes,
            found.place(),
            &version,
            own.signer.sign(&own.content),
        );
    }

    fn unreadable(&self, _: &mut LimitReached, _: &[u8]) {}

    fn weight(full: &LimitReached) -> usize {
        usize::from(full.0)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Checked<Read>>> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, inner: &Arc<Inner>) {
        // `None` is the calling thread (setpriority(2), "C library/kernel differences"). Refused,
        // it learns all the same.
        let _ = setpriority_process(None, LOWEST);
        let mut written = None;
        while let Some(start) = self.next(inner, &mut written) {
            self.learn(inner, &start);
        }
    }

    /// Writes the file for later sessions.
    fn save(&self, inner: &Inner) {
        self.has_news.store(false, Ordering::Relaxed);
        let pause = || {
            self.wait_until_quiet();
        };
        if let Err(error) = inner.save(pause) {
            tracing::debug!("what searches remember is not kept for later sessions: {error}");
        }
    }

    /// Makes the signatures of one tree.
    fn learn(&self, inner: &Arc<Inner>, start: &Checked<Read>) {
        let options = WalkOptions {
            threads: Some(1),
            order: Order::Names,
            max_depth: MAX_WALK_DEPTH,
            skip_ignored: false,
            above: &[],
            account: None,
            cancel: &self.stop,
        };
        let visit = Visit {
            shared: self,
            recall: Recall::new(inner, None, true, || Query::Any),
        };
        // A tree that is gone needs none.
        let _ = walk(start, &options, &visit, |_: LimitReached| {
            ControlFlow::Break(())
        });
    }

    /// Waits while calls run, and a little longer. Returns false at the end.
    fn wait_until_quiet(&self) -> bool {
        loop {
            if self.stop.is_cancelled() {
                return false;
            }
            if !self.stirred.swap(false, Ordering::Relaxed)
                && self.calls.load(Ordering::Relaxed) == 0
            {
                return true;
            }
            let pause = Duration::from_millis(LEARNING_PAUSE_MS);
            drop(
                self.changed
                    .wait_timeout(self.lock(), pause)
                    .unwrap_or_else(PoisonError::into_inner),
            );
        }
    }

    /// Returns the next tree. While waiting, writes the file if that is due.
    fn next(&self, inner: &Inner, written: &mut Option<Instant>) -> Option<Checked<Read>> {
        let pause = Duration::from_secs(SEARCH_CACHE_PAUSE_SECS);
        let mut work = self.lock();
        loop {
            if self.stop.is_cancelled() {
                return None;
            }
            if let Some(start) = work.pop_front() {
                return Some(start);
            }
            work = if !self.has_news.load(Ordering::Relaxed) {
                self.changed
                    .wait(work)
                    .unwrap_or_else(PoisonError::into_inner)
            } else if let Some(wait) =
                written.and_then(|written| pause.checked_sub(written.elapsed()))
            {
                self.changed
                    .wait_timeout(work, wait)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0
            } else {
                drop(work);
                self.save(inner);
                *written = Some(Instant::now());
                self.lock()
            };
        }
    }
}

#[cfg(test)]
pub(super) fn learn_now(inner: &Arc<Inner>, start: &Checked<Read>) {
    Shared::default().learn(inner, start);
}
