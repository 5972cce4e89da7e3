//! Context of a running tool: policy, locks, cancellation and progress.

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use replay_base::budget::Room;
use replay_base::cancel::CancelToken;
use replay_base::text::escape::{show, show_path};
use replay_clients::{ReplyProfile, ReplyStyle};
use replay_files::fs::CallWriter;
use replay_files::journal::Changes;
use replay_sandbox::exec::Stage;

use super::services::Services;
use super::text_limit::TextLimit;

/// Everything that a call needs, borrowed while it runs.
#[derive(Clone, Copy)]
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
    /// Form of the client's replies.
    pub replies: &'a ReplyProfile,
    /// Usual time until a call goes on in the background.
    pub wait: Duration,
    /// Longest time that a reply may take; `None` for a client that asked for progress, and so sees
    /// that the call goes on.
    pub patience: Option<Duration>,
    /// Set when the reply tells the undo number of the call, or that there is nothing to tell.
    pub tells_undo: &'a AtomicBool,
    /// `maxTokens` of the call.
    pub max_tokens: Option<u64>,
}

/// Runs the given work once, and returns when it is done.
pub(crate) type Aside<'a> = dyn Fn(&mut dyn FnMut()) + Send + Sync + 'a;

impl<'a> Context<'a> {
    /// Memory account and cancel token of the call.
    pub fn room(&self) -> Room<'a> {
        Room {
            account: Some(&self.services.account),
            cancel: self.cancel,
        }
    }

    /// Returns true if replies are for a model.
    pub fn is_lean(&self) -> bool {
        self.replies.style == ReplyStyle::Lean
    }

    /// Returns an absolute path as replies show it: in lean style relative to where relative paths
    /// begin, if it is below.
    pub(super) fn shown<'p>(&self, path: &'p [u8]) -> Cow<'p, str> {
        let base = self
            .is_lean()
            .then(|| self.services.policy.base())
            .flatten();
        let below = base.and_then(|base| {
            let rest = path.strip_prefix(base.as_os_str().as_bytes())?;
            match rest.strip_prefix(b"/") {
                _ if rest.is_empty() => Some(&b"."[..]),
                // The root directory ends with the slash.
                None => base.as_os_str().as_bytes().ends_with(b"/").then_some(rest),
                below => below,
            }
        });
        show(below.unwrap_or(path))
    }

    /// Tells what was done to a path.
    pub(super) fn did(&self, verb: &str, path: &Path) -> String {
        if self.is_lean() {
            format!("{verb} {}", self.shown(path.as_os_str().as_bytes()))
        } else {
            format!("Successfully {verb} {}", show_path(path))
        }
    }

    /// Returns true if a search skips ignored files; `ignored` is what the call says.
    pub(super) fn skips_ignored(&self, ignored: Option<bool>) -> bool {
        !ignored.unwrap_or(!self.is_lean())
    }

    /// Maximum text of the reply.
    pub(super) fn limit(&self) -> TextLimit {
        TextLimit::new(self.replies, self.max_tokens, self.services.reply_tokens)
    }

    /// The same for a call that measures its reply itself, as by `limit` or `depth`. That is
    /// enough in exact style.
    pub(super) fn limit_of_measured(&self) -> TextLimit {
        if self.is_lean() || self.max_tokens.is_some() {
            self.limit()
        } else {
            TextLimit::of_client(self.replies)
        }
    }

    /// The same for the output of a command.
    pub(super) fn output_limit(&self) -> TextLimit {
        if self.services.reply_tokens.is_some() {
            self.limit()
        } else {
            self.limit_of_measured()
        }
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

/// Minimum time from a report to the reply. Clients on the TypeScript SDK take a reply at once and
/// a report a tick later. Of two in one read the report would be about an unknown call.
const BEFORE_REPLY: Duration = Duration::from_millis(5);

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
    pub fn stage(&self, elapsed: Duration, most: Duration, stage: Stage<'_>) {
        let message = match stage {
            Stage::Waiting => "waiting for a free slot".to_owned(),
            Stage::Running { .. } => format!(
                "running for {:.1} s, {} bytes of output",
                elapsed.as_secs_f64(),
                stage.bytes()
            ),
        };
        self.report(
            elapsed.as_millis() as u64,
            Some(most.as_millis() as u64),
            &message,
        );
    }

    /// Like [`Progress::report`], without the minimum interval: for output as it comes.
    pub fn report_now(&self, done: u64, total: Option<u64>, message: &str) {
        self.send(done, total, message, Duration::ZERO);
    }

    /// Waits until the last report is so old that a client takes it before the reply.
    pub fn settle(&self) {
        let last = self.last.lock().ok().and_then(|last| last.sent_at);
        let rest = last.and_then(|at| BEFORE_REPLY.checked_sub(at.elapsed()));
        rest.into_iter().for_each(std::thread::sleep);
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
