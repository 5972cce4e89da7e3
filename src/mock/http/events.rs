//! Event streams (WHATWG HTML, 9.2) that are cut, repeated and resumed.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Frame;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE};
use hyper::{HeaderMap, Response};
use replay_mock::HttpFaultKind;
use serde_json::json;
use tokio::time::{Sleep, sleep};

use crate::reply::{Reply, events, mark};

/// Streams that can be resumed at the same time.
const MAX_RESUMABLE: usize = 1024;
/// Delay before a client resumes a stream, in milliseconds.
const RETRY_MS: u64 = 50;
/// Pause between the last bytes of a cut answer and its end.
const BREAK: Duration = Duration::from_millis(20);

/// Messages of cut streams, by the id of the last event.
#[derive(Debug, Default)]
pub(crate) struct CutStreams {
    waiting: Mutex<HashMap<String, Vec<String>>>,
    count: AtomicU64,
}

impl CutStreams {
    /// Applies a fault to a complete answer of the server.
    pub(crate) fn with_fault(&self, kind: HttpFaultKind, answer: Response<Bytes>) -> Reply {
        let (head, body) = answer.into_parts();
        let messages = messages_of(&head.headers, &body);
        match kind {
            HttpFaultKind::CutResumable => {
                let id = self.next_id();
                let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                if waiting.len() < MAX_RESUMABLE {
                    waiting.insert(id.clone(), messages);
                }
                events(format!("id: {id}\nretry: {RETRY_MS}\ndata: \n\n"))
            }
            HttpFaultKind::DuplicateEvent => {
                let (mut text, last) = self.text(&messages);
                text.push_str(&last);
                events(text)
            }
            // Half of the answer, and no end of it.
            _ => {
                let broken = Broken {
                    bytes: Some(body.slice(..body.len() / 2)),
                    pause: Box::pin(sleep(BREAK)),
                };
                let mut reply = Response::from_parts(head, broken.boxed_unsync());
                reply.headers_mut().remove(CONTENT_LENGTH);
                mark(&mut reply);
                reply
            }
        }
    }

    /// Returns the rest of the stream that ended with this event, once.
    pub(crate) fn resume(&self, last: &str) -> Option<Reply> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let messages = waiting.remove(last)?;
        drop(waiting);
        Some(events(self.text(&messages).0))
    }

    /// Returns the messages as events, and the last event.
    fn text(&self, messages: &[String]) -> (String, String) {
        let each = messages.iter().map(|message| {
            let mut event = format!("id: {}\n", self.next_id());
            for line in message.lines() {
                // Writing to a String cannot fail.
                let _ = writeln!(event, "data: {line}");
            }
            event + "\n"
        });
        let each: Vec<String> = each.collect();
        (each.concat(), each.last().cloned().unwrap_or_default())
    }

    fn next_id(&self) -> String {
        format!("event-{}", self.count.fetch_add(1, Relaxed) + 1)
    }
}

/// Returns true for the headers of an event stream.
pub(crate) fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// Returns the messages of a complete answer.
pub(crate) fn messages_of(headers: &HeaderMap, body: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(body);
    if is_stream(headers) {
        messages(&text)
    } else {
        vec![text.into_owned()]
    }
}

/// Returns the data of each event that has some.
pub(crate) fn messages(stream: &str) -> Vec<String> {
    let stream = stream.replace("\r\n", "\n");
    let events = stream.split("\n\n").map(|event| {
        let data = event.lines().filter_map(|line| line.strip_prefix("data:"));
        let data: Vec<&str> = data.map(|line| line.trim_start_matches(' ')).collect();
        data.join("\n")
    });
    events.filter(|data| !data.is_empty()).collect()
}

/// A body that breaks after its bytes. A pause lets them be sent first.
struct Broken {
    bytes: Option<Bytes>,
    pause: Pin<Box<Sleep>>,
}

impl hyper::body::Body for Broken {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if let Some(bytes) = self.bytes.take() {
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        let paused = self.pause.as_mut().poll(context);
        paused.map(|()| Some(Err(io::ErrorKind::ConnectionAborted.into())))
    }
}

/// Returns an event stream or a JSON text with the answer to `initialize` of another revision.
pub(crate) fn with_revision(answer: Response<Bytes>, revision: &str) -> Response<Bytes> {
    let (mut head, body) = answer.into_parts();
    let text = String::from_utf8_lossy(&body);
    let found = messages(&text).into_iter().next();
    let message = found.clone().unwrap_or_else(|| text.clone().into_owned());
    let Ok(mut message) = serde_json::from_str::<serde_json::Value>(&message) else {
        return Response::from_parts(head, body);
    };
    let Some(result) = message
        .get_mut("result")
        .and_then(serde_json::Value::as_object_mut)
    else {
        return Response::from_parts(head, body);
    };
    result.insert("protocolVersion".to_owned(), json!(revision));
    head.headers.remove(CONTENT_LENGTH);
    let text = if found.is_some() {
        format!("data: {message}\n\n")
    } else {
        message.to_string()
    };
    Response::from_parts(head, text.into())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn messages_are_read_from_events_with_data() {
        let stream = ": comment\n\nid: 1\ndata: {\"a\":\ndata: 1}\n\nevent: x\n\ndata: 2\n\n";
        assert_eq!(messages(stream), ["{\"a\":\n1}", "2"]);
        assert_eq!(messages(&stream.replace('\n', "\r\n")), messages(stream));
    }

    #[test]
    fn odd_answers_keep_their_revision() {
        for text in ["[1]", "5", "\"x\"", r#"{"result":5}"#, "{}", "no"] {
            let answer = Response::new(Bytes::from(text));
            assert_eq!(with_revision(answer, "2099-01-01").body(), text);
        }
    }

    #[test]
    fn only_some_streams_are_kept_for_resumption() {
        let streams = CutStreams::default();
        let cut = || {
            let answer = Response::new(Bytes::from_static(b"{}"));
            streams.with_fault(HttpFaultKind::CutResumable, answer);
        };
        (0..=MAX_RESUMABLE).for_each(|_| cut());
        let is_kept = |id: usize| streams.resume(&format!("event-{id}")).is_some();
        assert_eq!(
            [1, MAX_RESUMABLE, MAX_RESUMABLE + 1].map(is_kept),
            [true, true, false]
        );
        assert!(!is_kept(1));
    }
}
