//! A reply that is on its way, and what becomes of its call if the client does not wait for it.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::task::JoinHandle;

use super::message::Answer;

/// A reply; `None` is silence. That nobody waits for it any more does not stop its work: that is a
/// [`Hangup`]'s.
#[derive(Debug)]
pub enum Pending {
    Known(Option<Answer>),
    /// A task is at work on it.
    Task(JoinHandle<Option<Answer>>),
}

impl Future for Pending {
    type Output = Option<Answer>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Answer>> {
        match self.get_mut() {
            Self::Known(answer) => Poll::Ready(answer.take()),
            // A panic of the task's is silence: that of a call was answered inside it.
            Self::Task(task) => Pin::new(task).poll(cx).map(|answer| answer.ok().flatten()),
        }
    }
}

/// Does something if it is dropped before it is disarmed: when a client goes away in the middle.
pub struct Hangup(Option<Box<dyn FnOnce() + Send>>);

impl Hangup {
    pub fn new(work: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(work)))
    }

    /// Will do nothing any more.
    pub fn disarm(mut self) {
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
    use super::*;
    use crate::cancel::CancelToken;

    #[test]
    fn only_an_armed_hangup_does_its_work() {
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
