//! What a tool may reach while it runs: the policy, the locks, its cancel token and its progress
//! line.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::services::Services;
use crate::budget::Room;
use crate::cancel::CancelToken;
use crate::exec::Stage;
use crate::fs::CallWriter;
use crate::journal::Changes;
use crate::limits::BYTES_PER_TOKEN;

/// Everything a call has, borrowed for the time it runs.
pub struct Context<'a> {
    /// What all calls share.
    pub services: &'a Services,
    /// What the call changes.
    pub changes: &'a Changes<'a>,
    /// Whether the tool is served that undoes it.
    pub can_undo: bool,
    /// Says when the call is no longer wanted.
    pub cancel: &'a CancelToken,
    /// When the request was read, before it waited for anything.
    pub asked: Instant,
    /// Where to report how far it is.
    pub progress: &'a Progress<'a>,
    /// Where work is done that takes longer than [`super::Weight`] says.
    pub aside: &'a Aside<'a>,
}

/// Does the work that it is given once, and returns when it is done.
pub type Aside<'a> = dyn Fn(&mut dyn FnMut()) + Send + Sync + 'a;

impl<'a> Context<'a> {
    /// Where the call takes memory from.
    pub fn room(&self) -> Room<'a> {
        Room {
            account: Some(&self.services.account),
            cancel: self.cancel,
        }
    }

    /// How many bytes of text the reply may have, if the call asked for so many tokens.
    pub fn most_bytes(&self, max_tokens: Option<u64>) -> usize {
        max_tokens.map_or(self.services.reply_bytes, bytes)
    }

    /// The same of a command's output.
    pub fn most_output_bytes(&self, max_tokens: Option<u64>) -> usize {
        max_tokens.map_or(self.services.shown_output_bytes, bytes)
    }

    /// Writes files of this call.
    pub fn writer(&self) -> CallWriter<'a> {
        self.services.writer.telling(self.changes)
    }

    /// Does work that takes long for a tool that is quick as a rule, so that it is not in the way
    /// of others.
    pub fn at_length<T>(&self, work: impl Fn() -> T) -> T {
        let mut done = None;
        (self.aside)(&mut || done = Some(work()));
        done.unwrap_or_else(work)
    }
}

fn bytes(tokens: u64) -> usize {
    usize::try_from(tokens)
        .unwrap_or(usize::MAX)
        .saturating_mul(BYTES_PER_TOKEN)
}

/// Where a report goes: amount done, amount in all if known, a message.
pub type ProgressSink<'a> = dyn Fn(u64, Option<u64>, &str) + Send + Sync + 'a;

/// The progress of one call. Reports may come from many threads; what is sent always rises.
pub struct Progress<'a> {
    sink: Option<&'a ProgressSink<'a>>,
    last: Mutex<Last>,
}

#[derive(Default)]
struct Last {
    done: Option<u64>,
    sent_at: Option<Instant>,
}

/// Reports closer together than this are left out: they would only flood the client.
const INTERVAL: Duration = Duration::from_millis(100);

impl<'a> Progress<'a> {
    /// Reports go to `sink`; `None` when the client asked for no progress.
    pub fn new(sink: Option<&'a ProgressSink<'a>>) -> Self {
        Self {
            sink,
            last: Mutex::default(),
        }
    }

    /// Whether anybody listens, so that a costly message need not be made.
    pub fn is_wanted(&self) -> bool {
        self.sink.is_some()
    }

    /// Says how far the call is. Dropped unless `done` is more than what was last sent and some
    /// time has passed.
    pub fn report(&self, done: u64, total: Option<u64>, message: &str) {
        self.send(done, total, message, INTERVAL);
    }

    /// Says how long a command has run, of how long it may.
    pub fn stage(&self, elapsed: Duration, most: Duration, stage: Stage) {
        let message = match stage {
            Stage::Waiting => "waiting for a free place".to_owned(),
            Stage::Running { bytes } => format!(
                "running for {:.1} s, {bytes} bytes of output",
                elapsed.as_secs_f64()
            ),
        };
        self.report(
            elapsed.as_millis() as u64,
            Some(most.as_millis() as u64),
            &message,
        );
    }

    /// As [`Progress::report`], whatever the time: for a last report before the reply.
    pub fn report_now(&self, done: u64, total: Option<u64>, message: &str) {
        self.send(done, total, message, Duration::ZERO);
    }

    fn send(&self, done: u64, total: Option<u64>, message: &str, interval: Duration) {
        let Some(sink) = self.sink else { return };
        let Ok(mut last) = self.last.lock() else {
            return;
        };
        if last.done.is_some_and(|sent| done <= sent)
            || last.sent_at.is_some_and(|at| at.elapsed() < interval)
        {
            return;
        }
        *last = Last {
            done: Some(done),
            sent_at: Some(Instant::now()),
        };
        // Under the lock, so that two threads cannot send in the wrong order.
        sink(done, total, message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_always_rises() {
        let sent = Mutex::new(Vec::new());
        let sink = |done: u64, _: Option<u64>, message: &str| {
            sent.lock().unwrap().push((done, message.to_owned()))
        };
        let progress = Progress::new(Some(&sink));
        progress.report(1, None, "first");
        progress.report(2, None, "too soon");
        progress.report_now(3, Some(4), "last");
        progress.report_now(3, Some(4), "again");
        progress.report_now(2, Some(4), "back");
        assert_eq!(
            *sent.lock().unwrap(),
            [(1, "first".to_owned()), (3, "last".to_owned())]
        );
    }
}
