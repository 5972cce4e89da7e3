//! Faults of one call: its waits, and the corruption of its answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use replay_base::cancel::CancelToken;
use replay_base::limits::{MAX_MOCK_HANG_MS, MOCK_END_GRACE_MS};
use replay_mcp::protocol::{Body, Code, Id, Outcome, Revision, RpcError, render};
use replay_mcp::sessions::Outbox;

use super::fault::MockFault;
use super::sync::wait;

/// Pause between the bytes of an answer that comes slowly, in milliseconds.
const SLOWLORIS_PAUSE_MS: u64 = 100;

/// A call that may have a fault.
#[derive(Clone, Copy)]
pub(crate) struct FaultedCall<'a> {
    pub id: &'a Id,
    pub revision: Revision,
    /// Destination of what is sent before the answer, or in its place.
    pub outbox: &'a dyn Outbox,
    /// Cancelled when the client no longer wants the answer.
    pub cancel: &'a CancelToken,
    /// Cancelled when the client sends no more messages.
    pub over: &'a CancelToken,
}

/// Reason for the end of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitOutcome {
    Time,
    Cancelled,
    Ended,
}

impl FaultedCall<'_> {
    /// Answers the call with this fault. `prelude` sends the messages before the answer, spread
    /// over a time. `answer` gets the answer; `None` sends none. Returns `None` if the answer was
    /// sent here, or there is none.
    pub(crate) fn run(
        &self,
        fault: MockFault,
        delay: Duration,
        prelude: impl FnOnce(Duration) -> WaitOutcome,
        answer: impl FnOnce() -> Option<Outcome>,
    ) -> Option<Outcome> {
        let mut delay = delay;
        match fault {
            MockFault::Hang => return self.hang(Some(self.cancel)),
            MockFault::Wedged => return self.hang(None),
            MockFault::Slow(time) => delay += time,
            MockFault::Silent => return None,
            MockFault::Exit => {
                // Like a crash: without exit handlers or a last message.
                let _ = rustix::process::kill_process(
                    rustix::process::getpid(),
                    rustix::process::Signal::KILL,
                );
                return None;
            }
            _ => {}
        }
        if let MockFault::ReplyAfterCancel(time) = fault {
            self.wait_for(Duration::from_millis(MAX_MOCK_HANG_MS), Some(self.cancel));
            self.wait_for(time, None);
        } else if prelude(delay) != WaitOutcome::Time {
            return None;
        }
        let outcome = answer()?;
        if matches!(fault, MockFault::ReplyAfterCancel(_)) {
            self.outbox.send(&self.rendered(self.id, &outcome));
            return None;
        }
        self.spoil(fault, outcome)
    }

    /// Returns the answer as a line without its newline.
    fn rendered(&self, id: &Id, outcome: &Outcome) -> Vec<u8> {
        let mut line = Vec::new();
        render(&mut line, Some(id), outcome, self.revision);
        line
    }

    /// Holds the call until it is cancelled, or for `MAX_MOCK_HANG_MS`.
    fn hang(&self, cancel: Option<&CancelToken>) -> Option<Outcome> {
        match self.wait_for(Duration::from_millis(MAX_MOCK_HANG_MS), cancel) {
            WaitOutcome::Time => {
                let message =
                    format!("the call was held for {MAX_MOCK_HANG_MS} milliseconds on purpose");
                Some(Err(RpcError::new(Code::Internal, message)))
            }
            WaitOutcome::Cancelled | WaitOutcome::Ended => None,
        }
    }

    /// Waits for this time, or until the call is cancelled or the client is gone.
    pub(crate) fn wait(&self, time: Duration) -> WaitOutcome {
        self.wait_for(time, Some(self.cancel))
    }

    fn wait_for(&self, time: Duration, cancel: Option<&CancelToken>) -> WaitOutcome {
        if time.is_zero() {
            return if cancel.is_some_and(CancelToken::is_cancelled) {
                WaitOutcome::Cancelled
            } else {
                WaitOutcome::Time
            };
        }
        let until = Instant::now() + time;
        let mut events = vec![self.over];
        events.extend(cancel);
        wait(time, &events);
        if cancel.is_some_and(CancelToken::is_cancelled) {
            return WaitOutcome::Cancelled;
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return WaitOutcome::Time;
        }
        // The client has closed its side and may still read: a short rest of the wait goes on.
        if left > Duration::from_millis(MOCK_END_GRACE_MS) {
            return WaitOutcome::Ended;
        }
        let cancel: Vec<&CancelToken> = cancel.into_iter().collect();
        wait(left, &cancel);
        if cancel.iter().any(|cancel| cancel.is_cancelled()) {
            WaitOutcome::Cancelled
        } else {
            WaitOutcome::Time
        }
    }

    /// Corrupts the answer; `None` if it was sent here.
    fn spoil(&self, fault: MockFault, outcome: Outcome) -> Option<Outcome> {
        let written = |id: &Id| self.rendered(id, &outcome);
        let line = |bytes: Vec<u8>| Some(Ok(Body::Line(Arc::from(bytes))));
        let id = self.id;
        match fault {
            MockFault::BadJson => {
                let mut bytes = written(id);
                bytes.truncate(bytes.len() - 1);
                bytes.extend_from_slice(b",oops: [1,}");
                line(bytes)
            }
            MockFault::Truncated => {
                let mut bytes = written(id);
                bytes.truncate(bytes.len() / 2);
                line(bytes)
            }
            MockFault::WrongId => line(written(&Id::text("an id that no request had"))),
            MockFault::Duplicate => {
                let once = written(id);
                line([&once[..], b"\n", &once[..]].concat())
            }
            MockFault::StdoutNoise => {
                line([b"DEBUG handling a request\n", &written(id)[..]].concat())
            }
            MockFault::SlowLoris => {
                let mut bytes = written(id);
                bytes.push(b'\n');
                let step = Duration::from_millis(SLOWLORIS_PAUSE_MS);
                self.outbox.exclusively(&mut |send| {
                    for byte in &bytes {
                        send(std::slice::from_ref(byte));
                        if self.wait(step) != WaitOutcome::Time {
                            break;
                        }
                    }
                });
                None
            }
            _ => Some(outcome),
        }
    }
}
