//! Context of a running tool: policy, locks, cancellation and progress.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use replay_base::budget::Room;
use replay_base::cancel::CancelToken;
use replay_base::limits::BYTES_PER_TOKEN;
use replay_files::fs::CallWriter;
use replay_files::journal::Changes;
use replay_sandbox::exec::Stage;

use super::services::Services;

/// Everything that a call needs, borrowed while it runs.
pub struct Context<'a> {
    /// State that all calls share.
    pub services: &'a Services,
    /// Journal of the call's changes.
    pub changes: &'a Changes<'a>,
    /// `true` if the undo tool is served.
    pub can_undo: bool,
    /// Cancelled when the client no longer wants the reply.
    pub cancel: &'a CancelToken,
    /// Time at which the request was read, before any wait.
    pub asked: Instant,
    /// Progress reports of the call.
    pub progress: &'a Progress<'a>,
    /// Runs work that takes longer than [`replay_mcp::sessions::Weight`] allows.
    pub aside: &'a Aside<'a>,
}

/// Runs the given work once, and returns when it is done.
pub(super) type Aside<'a> = dyn Fn(&mut dyn FnMut()) + Send + Sync + 'a;

impl<'a> Context<'a> {
    /// Memory account and cancel token of the call.
    pub fn room(&self) -> Room<'a> {
        Room {
            account: Some(&self.services.account),
            cancel: self.cancel,
        }
    }

    /// Maximum text of the reply in bytes, for this `maxTokens` argument.
    pub fn most_bytes(&self, max_tokens: Option<u64>) -> usize {
        max_tokens.map_or(self.services.reply_bytes, bytes)
    }

    /// The same for the output of a command.
    pub fn most_output_bytes(&self, max_tokens: Option<u64>) -> usize {
        max_tokens.map_or(self.services.shown_output_bytes, bytes)
    }

    /// Returns a writer that journals the call's changes.
    pub fn writer(&self) -> CallWriter<'a> {
        self.services.writer.telling(self.changes)
    }

    /// Runs slow work of a usually quick tool, so that it does not block other calls.
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

/// Receiver of reports: amount done, total if known, message.
pub(super) type ProgressSink<'a> = dyn Fn(u64, Option<u64>, &str) + Send + Sync + 'a;

/// Progress of one call. Reports may come from many threads; the sent amounts always rise.
pub struct Progress<'a> {
    sink: Option<&'a ProgressSink<'a>>,
    last: Mutex<LastReport>,
}

#[derive(Default)]
struct LastReport {
    done: Option<u64>,
    sent_at: Option<Instant>,
}

/// Minimum interval between reports, which would flood the client otherwise.
const INTERVAL: Duration = Duration::from_millis(100);

impl<'a> Progress<'a> {
    /// Sends reports to `sink`; `None` if the client wants no progress.
    pub fn new(sink: Option<&'a ProgressSink<'a>>) -> Self {
        Self {
            sink,
            last: Mutex::default(),
        }
    }

    /// Returns true if reports are sent, so that a costly message can be skipped.
    pub fn is_wanted(&self) -> bool {
        self.sink.is_some()
    }

    /// Reports progress. Dropped unless `done` has risen and some time has passed since the last
    /// report.
    pub fn report(&self, done: u64, total: Option<u64>, message: &str) {
        self.send(done, total, message, INTERVAL);
    }

    /// Reports the running time of a command, and its timeout.
    pub fn stage(&self, elapsed: Duration, most: Duration, stage: Stage) {
        let message = match stage {
            Stage::Waiting => "waiting for a free slot".to_owned(),
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

    /// Like [`Progress::report`], without the minimum interval: for a last report before the reply.
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
        *last = LastReport {
            done: Some(done),
            sent_at: Some(Instant::now()),
        };
        // Sent under the lock, so that two threads cannot send in the wrong order.
        sink(done, total, message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sent_progress_always_rises() {
        let sent = Mutex::new(Vec::new());
        let sink = |done: u64, _: Option<u64>, message: &str| {
            sent.lock().unwrap().push((done, message.to_owned()));
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
