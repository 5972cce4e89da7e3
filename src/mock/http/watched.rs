//! Answers that pass, while an exchange sees their messages.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::HeaderMap;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use replay_mock::Exchange;

use crate::events::{is_stream, messages};

/// Largest JSON answer or event that an exchange sees, in bytes.
const MAX_SEEN_BYTES: usize = 64 << 20;

/// The body of an answer, and the exchange that sees its messages before the client has them whole.
pub(crate) struct Watched {
    body: Incoming,
    exchange: Option<Exchange>,
    is_stream: bool,
    /// Bytes that are no whole message yet.
    kept: Vec<u8>,
}

impl Watched {
    pub(crate) fn new(body: Incoming, headers: &HeaderMap, exchange: Option<Exchange>) -> Self {
        Self {
            is_stream: is_stream(headers),
            body,
            exchange,
            kept: Vec::new(),
        }
    }

    fn see(&mut self, data: &[u8]) {
        let is_over = self.body.is_end_stream();
        let Some(exchange) = &mut self.exchange else {
            return;
        };
        self.kept.extend_from_slice(data);
        if self.kept.len() > MAX_SEEN_BYTES {
            tracing::warn!("a message of more than {MAX_SEEN_BYTES} bytes is not recorded");
            self.exchange = None;
        } else if self.is_stream {
            let whole = end_of_events(&self.kept);
            let events: Vec<u8> = self.kept.drain(..whole).collect();
            for message in messages(&String::from_utf8_lossy(&events)) {
                exchange.receive(message.as_bytes());
            }
        } else if is_over || data.is_empty() {
            exchange.receive(&self.kept);
        }
    }
}

impl Body for Watched {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        match &frame {
            None => self.see(&[]),
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    self.see(data);
                }
            }
            Some(Err(_)) => {}
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Returns the end of the last empty line, where whole events end.
fn end_of_events(bytes: &[u8]) -> usize {
    let end_after = |pattern: &[u8]| {
        let at = bytes.windows(pattern.len()).rposition(|it| it == pattern);
        at.map_or(0, |at| at + pattern.len())
    };
    end_after(b"\n\n").max(end_after(b"\n\r\n"))
}
