//! Answers that pass, while an exchange sees their messages.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::HeaderMap;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use replay_mock::Exchange;

use crate::events::{is_stream, messages};

/// The longest end of an event.
const END: &[u8] = b"\n\r\n";
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
        // An end may have begun before.
        let from = self.kept.len().saturating_sub(END.len() - 1);
        self.kept.extend_from_slice(data);
        if self.kept.len() > MAX_SEEN_BYTES {
            tracing::warn!("a message of more than {MAX_SEEN_BYTES} bytes is not recorded");
            self.exchange = None;
            self.kept = Vec::new();
        } else if self.is_stream {
            let whole = end_of_events(&self.kept, from);
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

/// Returns the end of the last empty line after `from`, where whole events end; 0 without one.
fn end_of_events(bytes: &[u8], from: usize) -> usize {
    let end_after = |pattern: &[u8]| {
        let mut places = bytes[from..].windows(pattern.len());
        let at = places.rposition(|it| it == pattern);
        at.map_or(0, |at| from + at + pattern.len())
    };
    end_after(b"\n\n").max(end_after(END))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_of_events_is_behind_last_empty_line() {
        let ends = [
            (&b"data: 1\n"[..], 0, 0),
            (b"data: 1\n\nda", 0, 9),
            (b"data: 1\n\ndata: 2\r\n\r\nx", 0, 20),
            (b"data: 1\n\nda", 8, 0),
            (b"a\n\r\n", 2, 0),
        ];
        for (bytes, from, end) in ends {
            assert_eq!(end_of_events(bytes, from), end, "{bytes:?} from {from}");
        }
    }
}
