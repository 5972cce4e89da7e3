//! Body of a reply: one text, or an event stream (WHATWG HTML, 9.2).

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep, sleep};

use super::activity::Open;
use super::feed::{FeedReceiver, Item};
use super::in_flight::{Hangup, Pending};
use super::message::EncodedReply;
use super::tenant::Tenant;
use crate::sessions::{Follower, News};

/// Chunk of a reply that is handed to a connection at once, in bytes.
const HTTP_CHUNK_BYTES: usize = 64 * 1024;
/// Silence in a stream of events after which a comment is sent, in milliseconds, so that nothing on
/// the way hangs up.
const EVENTS_ALIVE_MS: u64 = 15_000;

/// Bytes of a reply, with the resources held until the last byte is taken.
pub(super) struct ReplyBody {
    /// Bytes to send next.
    ready: Bytes,
    /// Holds the memory share of `ready`.
    answer: EncodedReply,
    events: Option<Events>,
    open: Option<Open>,
    /// Unread body of the request: dropping it resets the request.
    unread: Option<Box<Incoming>>,
    /// Dropped when the whole reply was sent, which signals the receiver.
    leaving: Option<oneshot::Sender<()>>,
}

struct Events {
    source: Source,
    /// The reply, after which the stream ends.
    pending: Option<Pending>,
    /// The finished reply, sent after the messages before it.
    last: Option<EncodedReply>,
    ended: bool,
    alive: Pin<Box<Sleep>>,
    /// Cancels the work if the client disconnects.
    hangup: Option<Hangup>,
}

/// Source of the events.
enum Source {
    /// Messages of the protocol.
    Feed(FeedReceiver),
    /// Calls, for an observer.
    Followed(Follower),
}

impl Source {
    /// Polls for the next event; `None` at the end.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<(Bytes, EncodedReply)>> {
        match self {
            Self::Feed(fed) => fed.poll_next(cx).map(|item| match item {
                Some(Item::Message(bytes)) => Some((event(&bytes), EncodedReply::default())),
                Some(Item::Answer(answer)) => Some((event(&answer.bytes), answer)),
                Some(Item::End) | None => None,
            }),
            Self::Followed(follower) => follower
                .poll_next(cx)
                .map(|news| Some((news_event(&news?), EncodedReply::default()))),
        }
    }
}

impl ReplyBody {
    /// Returns a body of these bytes.
    pub(super) fn whole(mut answer: EncodedReply) -> Self {
        let ready = Bytes::from(std::mem::take(&mut answer.bytes));
        Self {
            ready,
            answer,
            events: None,
            open: None,
            unread: None,
            leaving: None,
        }
    }

    /// Attaches the unread request body, so that the request is not reset before the reply was
    /// sent.
    #[must_use]
    pub(super) fn holding(mut self, unread: Incoming) -> Self {
        self.unread = Some(Box::new(unread));
        self
    }

    /// Returns true if the reply holds an unread request body.
    pub(super) fn is_early(&self) -> bool {
        self.unread.is_some()
    }

    /// Takes the unread request body, and returns a receiver that ends when the reply was sent.
    pub(super) fn part(&mut self) -> Option<(Incoming, oneshot::Receiver<()>)> {
        let unread = self.unread.take()?;
        let (leaving, left) = oneshot::channel();
        self.leaving = Some(leaving);
        Some((*unread, left))
    }

    pub(super) fn text(text: impl Into<Vec<u8>>) -> Self {
        Self::whole(EncodedReply {
            bytes: text.into(),
            ..EncodedReply::default()
        })
    }

    /// Returns a body of bytes that all replies share.
    pub(super) fn shared(ready: Bytes) -> Self {
        Self {
            ready,
            answer: EncodedReply::default(),
            events: None,
            open: None,
            unread: None,
            leaving: None,
        }
    }

    /// Charges the bytes to the tenant until they are taken; `None` if unread replies take all its
    /// memory.
    pub(super) fn accounted(mut self, tenant: &Tenant) -> Option<Self> {
        self.answer.room = Some(Arc::new(tenant.try_give_out(self.ready.len())?));
        Some(self)
    }

    /// Returns a stream of a single event.
    pub(super) fn single(mut answer: EncodedReply) -> Self {
        let ready = event(&std::mem::take(&mut answer.bytes));
        Self {
            ready,
            answer,
            events: None,
            open: None,
            unread: None,
            leaving: None,
        }
    }

    /// Returns a stream of `first`, the fed messages, and the `pending` reply if there is one.
    pub(super) fn events(
        first: Option<Item>,
        fed: FeedReceiver,
        pending: Option<Pending>,
        hangup: Option<Hangup>,
    ) -> Self {
        // A comment, so that the head is sent at once.
        let ready = first.map_or_else(
            || Bytes::from_static(b":\n\n"),
            |first| event(first.bytes()),
        );
        Self::later(ready, Source::Feed(fed), pending, hangup)
    }

    /// Returns a stream of recent calls, until the server ends.
    pub(super) fn followed(follower: Follower) -> Self {
        Self::later(
            Bytes::from_static(b":\n\n"),
            Source::Followed(follower),
            None,
            None,
        )
    }

    fn later(
        ready: Bytes,
        source: Source,
        pending: Option<Pending>,
        hangup: Option<Hangup>,
    ) -> Self {
        let alive = Box::pin(sleep(Duration::from_millis(EVENTS_ALIVE_MS)));
        let events = Events {
            source,
            pending,
            last: None,
            ended: false,
            alive,
            hangup,
        };
        Self {
            ready,
            answer: EncodedReply::default(),
            events: Some(events),
            open: None,
            unread: None,
            leaving: None,
        }
    }

    /// Attaches the request that it answers.
    #[must_use]
    pub(super) fn on(mut self, open: Open) -> Self {
        self.open = Some(open);
        self.set_owing(true);
        self
    }

    fn set_owing(&mut self, owes: bool) {
        if let Some(open) = &mut self.open {
            open.set_owing(owes);
        }
    }
}

/// Formats a message as an event. It must hold no newline, which would end its line.
fn event(message: &[u8]) -> Bytes {
    [b"event: message\ndata: ", message, b"\n\n"]
        .concat()
        .into()
}

/// Formats news of a call as an event. `id` is the position to resume from.
fn news_event(news: &News) -> Bytes {
    match news {
        News::Call { position, call } => {
            format!("id: {position}\nevent: call\ndata: {call}\n\n").into()
        }
        News::Gap { position } => format!("id: {position}\nevent: gap\ndata: {{}}\n\n").into(),
    }
}

impl Events {
    /// Polls for the next bytes, with their memory share.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Option<(Bytes, EncodedReply)>> {
        if self.ended {
            return Poll::Ready(None);
        }
        // Polled first: messages sent before the reply are queued once the reply is ready.
        if let Some(pending) = &mut self.pending
            && let Poll::Ready(answer) = Pin::new(pending).poll(cx)
        {
            self.pending = None;
            self.last = Some(answer.unwrap_or_default());
        }
        match self.source.poll_next(cx) {
            Poll::Ready(Some(next)) => return Poll::Ready(Some(next)),
            Poll::Ready(None) if self.pending.is_none() && self.last.is_none() => {
                self.ended = true;
                return Poll::Ready(None);
            }
            Poll::Ready(None) | Poll::Pending => {}
        }
        if let Some(last) = self.last.take() {
            self.ended = true;
            if let Some(hangup) = self.hangup.take() {
                hangup.disarm();
            }
            // A cancelled request has no reply.
            let bytes = if last.bytes.is_empty() {
                Bytes::new()
            } else {
                event(&last.bytes)
            };
            return Poll::Ready(Some((bytes, last)));
        }
        if self.alive.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Some((
                Bytes::from_static(b":\n\n"),
                EncodedReply::default(),
            )));
        }
        Poll::Pending
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        while this.ready.is_empty() {
            let Some(events) = &mut this.events else {
                this.set_owing(false);
                return Poll::Ready(None);
            };
            match events.poll_ready(cx) {
                Poll::Ready(Some((bytes, answer))) => {
                    let again = Instant::now() + Duration::from_millis(EVENTS_ALIVE_MS);
                    events.alive.as_mut().reset(again);
                    (this.ready, this.answer) = (
                        bytes,
                        EncodedReply {
                            bytes: Vec::new(),
                            ..answer
                        },
                    );
                }
                Poll::Ready(None) => {
                    this.set_owing(false);
                    return Poll::Ready(None);
                }
                Poll::Pending => {
                    this.set_owing(false);
                    return Poll::Pending;
                }
            }
        }
        let chunk = this.ready.split_to(this.ready.len().min(HTTP_CHUNK_BYTES));
        this.set_owing(true);
        Poll::Ready(Some(Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.ready.is_empty() && self.events.as_ref().is_none_or(|events| events.ended)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.events {
            Some(_) => SizeHint::default(),
            None => SizeHint::with_exact(self.ready.len() as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::Outbox as _;
    use crate::transport::http::feed::feed;

    fn drain(body: &mut ReplyBody) -> (String, bool) {
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let mut text = String::new();
        loop {
            match Pin::new(&mut *body).poll_frame(&mut cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    let data = frame.into_data().unwrap();
                    assert!(data.len() <= HTTP_CHUNK_BYTES);
                    text.push_str(std::str::from_utf8(&data).unwrap());
                }
                Poll::Ready(None) => return (text, true),
                Poll::Pending => return (text, false),
            }
        }
    }

    fn answer(text: &str) -> EncodedReply {
        EncodedReply {
            bytes: text.as_bytes().to_vec(),
            ..EncodedReply::default()
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn reply_is_last_event_of_stream() {
        let (feed, fed) = feed();
        let (reply, waiting) = tokio::sync::oneshot::channel();
        let pending = Pending::Task(tokio::spawn(async { waiting.await.ok() }));
        let mut body =
            ReplyBody::events(Some(Item::Message(b"1".to_vec())), fed, Some(pending), None);
        assert_eq!(
            drain(&mut body),
            ("event: message\ndata: 1\n\n".to_owned(), false)
        );
        feed.send(b"2");
        reply.send(answer("3")).unwrap();
        tokio::task::yield_now().await;
        assert!(!body.is_end_stream());
        let rest = "event: message\ndata: 2\n\nevent: message\ndata: 3\n\n";
        assert_eq!(drain(&mut body), (rest.to_owned(), true));
        assert!(body.is_end_stream());
    }

    #[tokio::test(flavor = "current_thread")]
    async fn silent_stream_gets_keepalive_comments() {
        let (feed, fed) = feed();
        let mut body = ReplyBody::events(None, fed, None, None);
        assert_eq!(drain(&mut body), (":\n\n".to_owned(), false));
        let alive = &mut body.events.as_mut().unwrap().alive;
        alive.as_mut().reset(Instant::now());
        alive.as_mut().await;
        assert_eq!(drain(&mut body), (":\n\n".to_owned(), false));
        drop(feed);
        assert_eq!(drain(&mut body), (String::new(), true));
    }

    #[test]
    fn whole_body_is_sent_in_chunks() {
        let long = "x".repeat(HTTP_CHUNK_BYTES * 2 + 1);
        let mut body = ReplyBody::whole(answer(&long));
        assert_eq!(body.size_hint().exact(), Some(long.len() as u64));
        assert_eq!(drain(&mut body), (long, true));
        assert!(ReplyBody::text("").is_end_stream());
    }
}
