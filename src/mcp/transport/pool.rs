//! Thread pool for heavy calls: threads start on demand and end when idle. Threads and queue are
//! bounded.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use replay_base::limits::{MAX_RUNNING_REQUESTS, MAX_STUCK_REQUESTS};

use super::wake::Wake;

/// Requests that may wait for a free place before stdin is no longer read.
const MAX_QUEUED_REQUESTS: usize = 4096;

/// Idle time after which a thread ends.
const LINGER: Duration = Duration::from_secs(5);

/// Work for a thread. It must not unwind: a session turns panics into errors.
pub(super) type Job = Box<dyn FnOnce() + Send>;

/// The threads and their queue.
#[derive(Clone)]
pub(super) struct Pool(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    work: Condvar,
    room: Condvar,
    empty: Wake,
    max_threads: usize,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Job>,
    threads: usize,
    idle: usize,
    /// Number of jobs that wait or run.
    open: usize,
    /// Number of calls that run on threads of the caller.
    entered: usize,
    /// Number of stuck threads, which may be replaced by new ones.
    stuck: usize,
}

impl Pool {
    /// Creates a pool of at most `max_threads` threads, without starting any. It rings `empty`
    /// whenever its last job has ended.
    pub(super) fn new(max_threads: usize, empty: Wake) -> Self {
        let (state, work, room) = (Mutex::default(), Condvar::new(), Condvar::new());
        Self(Arc::new(Shared {
            state,
            work,
            room,
            empty,
            max_threads,
        }))
    }

    /// Runs the job on some thread. Blocks while the queue is full.
    pub(super) fn run(&self, job: Job) {
        let mut state = self.lock();
        while state.queue.len() >= MAX_QUEUED_REQUESTS {
            state = self
                .0
                .room
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.queue.push_back(job);
        state.open += 1;
        if state.idle >= state.queue.len() || state.threads >= self.0.max_threads + state.stuck {
            self.0.work.notify_one();
            return;
        }
        state.threads += 1;
        drop(state);
        self.spawn();
    }

    /// Starts a thread, which is counted already.
    fn spawn(&self) {
        let pool = self.clone();
        if let Err(error) = thread::Builder::new()
            .name("worker".to_owned())
            .spawn(move || pool.work())
        {
            tracing::error!("no thread can be started: {error}");
            self.lock().threads -= 1;
            // Without any thread the job would wait forever.
            if self.lock().threads == 0 {
                self.work_once();
            }
        }
    }

    /// Registers a call on a thread of the caller. Returns false above the limit.
    pub(super) fn enter(&self) -> bool {
        let mut state = self.lock();
        let room = state.entered < MAX_RUNNING_REQUESTS + state.stuck;
        if room {
            state.entered += 1;
        }
        room
    }

    /// Reverts one [`Pool::enter`].
    pub(super) fn leave(&self) {
        self.lock().entered -= 1;
        self.0.empty.ring();
    }

    /// Number of calls that wait or run.
    pub(super) fn open(&self) -> usize {
        let state = self.lock();
        state.open + state.entered
    }

    /// Allows more threads in place of `stuck` ones, up to a limit.
    pub(super) fn replace(&self, stuck: usize) {
        let stuck = stuck.min(MAX_STUCK_REQUESTS);
        let waiting = {
            let mut state = self.lock();
            let grown = stuck > state.stuck;
            state.stuck = stuck;
            let wanted = grown && state.idle == 0 && !state.queue.is_empty();
            state.threads += usize::from(wanted);
            wanted
        };
        if waiting {
            self.spawn();
        }
    }

    fn work(&self) {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.queue.pop_front() {
                drop(state);
                self.0.room.notify_all();
                job();
                state = self.lock();
                state.open -= 1;
                if state.open == 0 {
                    self.0.empty.ring();
                }
                continue;
            }
            state.idle += 1;
            let (woken, timeout) = self
                .0
                .work
                .wait_timeout(state, LINGER)
                .unwrap_or_else(PoisonError::into_inner);
            state = woken;
            state.idle -= 1;
            if timeout.timed_out() && state.queue.is_empty() {
                state.threads -= 1;
                return;
            }
        }
    }

    fn work_once(&self) {
        let job = self.lock().queue.pop_front();
        if let Some(job) = job {
            job();
            self.lock().open -= 1;
            self.0.empty.ring();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
