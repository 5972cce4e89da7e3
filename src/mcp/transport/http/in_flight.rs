//! A reply in progress, and the cancellation of its call if the client disconnects.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::task::JoinHandle;

use super::message::EncodedReply;

/// A reply in progress; `None` means no reply. Dropping it does not stop the work; a [`Hangup`]
/// does.
#[derive(Debug)]
pub(super) enum Pending {
    Known(Option<EncodedReply>),
    /// A task computes the reply.
    Task(JoinHandle<Option<EncodedReply>>),
}

impl Future for Pending {
    type Output = Option<EncodedReply>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<EncodedReply>> {
        match self.get_mut() {
            Self::Known(answer) => Poll::Ready(answer.take()),
            // A panic of the task yields no reply; a panic of a call is handled inside it.
            Self::Task(task) => Pin::new(task).poll(cx).map(|answer| answer.ok().flatten()),
        }
    }
}

/// Runs its work when dropped, unless disarmed: the client has disconnected early.
pub(super) struct Hangup(Option<Box<dyn FnOnce() + Send>>);

impl Hangup {
    pub(super) fn new(work: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(work)))
    }

    /// Drops the work without running it.
    pub(super) fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for Hangup {
    fn drop(&mut self) {
        if let Some(work) = self.0.take() {
            work();
        }
    }
}

#[cfg(test)]
mod tests {
    use replay_base::cancel::CancelToken;

    use super::*;

    #[test]
    fn disarmed_hangup_runs_no_work() {
        let token = CancelToken::new();
        let hangup = || {
            let token = token.clone();
            Hangup::new(move || token.cancel())
        };
        hangup().disarm();
        assert!(!token.is_cancelled());
        drop(hangup());
        assert!(token.is_cancelled());
    }
}
