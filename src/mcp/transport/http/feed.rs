//! Queue of messages to one client, from the sending threads to the connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::message::EncodedReply;
use crate::sessions::{ExclusiveWork, Outbox};

/// Largest size of unread events in a stream, in bytes. Later events are dropped, except for
/// replies.
const MAX_EVENTS_WAITING_BYTES: usize = 1024 * 1024;

/// Sending end. Messages above the limit of unread bytes are dropped: they only report progress.
/// Replies are never dropped; their memory is limited elsewhere.
#[derive(Clone, Debug)]
pub struct Feed {
    sender: UnboundedSender<Item>,
    waiting: Arc<AtomicUsize>,
}

/// Receiving end.
#[derive(Debug)]
pub(super) struct FeedReceiver {
    receiver: UnboundedReceiver<Item>,
    waiting: Arc<AtomicUsize>,
}

#[derive(Debug)]
pub(super) enum Item {
    /// A notification, or a request of the server.
    Message(Vec<u8>),
    Answer(EncodedReply),
    /// The end of the stream.
    End,
}

impl Item {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Message(bytes) => bytes,
            Self::Answer(answer) => &answer.bytes,
            Self::End => &[],
        }
    }
}

pub(super) fn feed() -> (Feed, FeedReceiver) {
    let (sender, receiver) = unbounded_channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    (
        Feed {
            sender,
            waiting: Arc::clone(&waiting),
        },
        FeedReceiver { receiver, waiting },
    )
}

impl Feed {
    /// Queues a reply.
    pub fn answer(&self, answer: EncodedReply) {
        // The client has disconnected if the other end is gone.
        let _ = self.sender.send(Item::Answer(answer));
    }

    /// Ends the stream, even if other senders exist.
    pub fn end(&self) {
        let _ = self.sender.send(Item::End);
    }

    /// Returns true if both lead to the same client.
    pub fn is_same(&self, other: &Self) -> bool {
        self.sender.same_channel(&other.sender)
    }
}

impl Outbox for Feed {
    fn send(&self, message: &[u8]) {
        let before = self.waiting.fetch_add(message.len(), Relaxed);
        if before + message.len() > MAX_EVENTS_WAITING_BYTES
            || self.sender.send(Item::Message(message.to_vec())).is_err()
        {
            self.waiting.fetch_sub(message.len(), Relaxed);
        }
    }

    /// A message in pieces is still one event.
    fn exclusively(&self, work: &mut ExclusiveWork<'_>) {
        let mut whole = Vec::new();
        work(&mut |bytes| whole.extend_from_slice(bytes));
        for line in whole
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            self.send(line);
        }
    }
}

impl FeedReceiver {
    /// Polls for the next item; `None` after the end.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Item>> {
        let next = self.receiver.poll_recv(cx);
        if let Poll::Ready(Some(Item::End)) = &next {
            self.receiver.close();
            return Poll::Ready(None);
        }
        if let Poll::Ready(Some(Item::Message(bytes))) = &next {
            self.waiting.fetch_sub(bytes.len(), Relaxed);
        }
        next
    }

    /// Returns the next item if it has arrived.
    pub(super) fn try_next(&mut self) -> Option<Item> {
        let item = self
            .receiver
            .try_recv()
            .ok()
            .filter(|item| !matches!(item, Item::End))?;
        if let Item::Message(bytes) = &item {
            self.waiting.fetch_sub(bytes.len(), Relaxed);
        }
        Some(item)
    }

    /// Waits for the next item.
    pub(super) async fn next(&mut self) -> Option<Item> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }
}

/// Outbox of a client that can receive only the reply.
#[derive(Debug)]
pub(super) struct NullOutbox;

impl Outbox for NullOutbox {
    fn send(&self, _message: &[u8]) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_feed_drops_messages_but_not_replies() {
        let (feed, mut fed) = feed();
        let half = vec![b'x'; MAX_EVENTS_WAITING_BYTES / 2];
        for _ in 0..5 {
            feed.send(&half);
        }
        feed.answer(EncodedReply {
            bytes: vec![b'y'; MAX_EVENTS_WAITING_BYTES * 2],
            ..EncodedReply::default()
        });
        drop(feed);
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let mut lengths = Vec::new();
        while let Poll::Ready(Some(item)) = fed.poll_next(&mut cx) {
            lengths.push(item.bytes().len());
        }
        assert_eq!(
            lengths,
            [half.len(), half.len(), MAX_EVENTS_WAITING_BYTES * 2]
        );
        assert_eq!(fed.waiting.load(Relaxed), 0);
    }

    #[test]
    fn message_in_pieces_is_one_event() {
        let (feed, mut fed) = feed();
        feed.exclusively(&mut |send| {
            send(b"{\"a\":");
            send(b"1}\n");
        });
        let mut cx = Context::from_waker(std::task::Waker::noop());
        assert!(
            matches!(fed.poll_next(&mut cx), Poll::Ready(Some(Item::Message(bytes))) if bytes == b"{\"a\":1}")
        );
    }
}
