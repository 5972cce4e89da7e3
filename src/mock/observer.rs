//! Observers of another service's messages: journal, expectations, cassette recorder.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use replay_base::limits::MAX_RECORDED_MESSAGES;
use replay_mcp::protocol::{Body, Id, Outcome, Request, Response, Revision, render};
use replay_mcp::sessions::{AdmittedRequest, ExclusiveWork, Outbox, Service, Weight};
use serde_json::{Value, json};

use super::client_requests::answer_of;
use super::in_flight::InFlight;
use super::sync::lock;

/// One message of a client and its outcome.
#[derive(Clone, Debug)]
pub struct SeenMessage {
    /// Position in the order of arrival, from 1.
    pub number: u64,
    /// `None` for a notification.
    pub id: Option<Id>,
    pub method: String,
    /// The parameters, or an empty object.
    pub params: Value,
    pub revision: Option<Revision>,
    /// An object with `result` or `error`, or with the `line` that was sent; `None` if there was no
    /// answer.
    pub reply: Option<Value>,
    /// Messages sent to the client before the answer, if an observer wants them: notifications, and
    /// requests with the client's `answer`.
    pub before: Vec<Value>,
    pub time: Duration,
}

impl SeenMessage {
    /// Returns a message that has just come. No parameters (`null`) are an empty object.
    fn new(number: u64, method: &str, params: Value) -> Self {
        Self {
            number,
            id: None,
            method: method.to_owned(),
            params: if params.is_null() { json!({}) } else { params },
            revision: None,
            reply: None,
            before: Vec::new(),
            time: Duration::ZERO,
        }
    }
}

/// An observer of a session's messages.
pub trait SessionObserver: Send + Sync {
    /// Returns true if `before` must be filled in.
    fn wants_messages(&self) -> bool {
        false
    }
    /// Called when a message arrives.
    fn came(&self, _seen: &SeenMessage) {}
    /// Called when a message is answered, or will get no answer.
    fn answered(&self, _seen: &SeenMessage) {}
}

/// Observers, and the number of messages that they have seen.
#[derive(Default)]
pub struct Observers {
    all: Vec<Arc<dyn SessionObserver>>,
    count: AtomicU64,
}

impl Observers {
    pub fn new(all: Vec<Arc<dyn SessionObserver>>) -> Self {
        Self {
            all,
            ..Self::default()
        }
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the number of the next message.
    fn next(&self) -> u64 {
        self.count.fetch_add(1, Relaxed) + 1
    }

    /// Tells the observers of a message of the client. `number` is its number if that is known.
    pub(crate) fn came(
        &self,
        request: &Request<'_>,
        number: Option<u64>,
        revision: Option<Revision>,
    ) -> SeenMessage {
        let params = request
            .params
            .and_then(|raw| serde_json::from_str(raw.get()).ok());
        let number = number.unwrap_or_else(|| self.next());
        let seen = SeenMessage {
            id: request.id.clone(),
            revision,
            ..SeenMessage::new(number, &request.method, params.unwrap_or_default())
        };
        self.all.iter().for_each(|observer| observer.came(&seen));
        seen
    }

    pub(crate) fn answered(&self, seen: &SeenMessage) {
        self.all.iter().for_each(|observer| observer.answered(seen));
    }

    /// Tells the observers of an event outside a session, as a method.
    pub fn note(&self, method: &str, params: Value) {
        let seen = SeenMessage::new(self.next(), method, params);
        self.all.iter().for_each(|observer| observer.came(&seen));
        self.answered(&seen);
    }
}

/// A service with observers.
pub struct Observed {
    inner: Arc<dyn Service>,
    observers: Arc<Observers>,
    /// Numbers of the requests in flight. Threads may process requests in another order than they
    /// arrive.
    numbers: InFlight<u64>,
    /// Requests whose answers are known but not sent yet.
    leaving: InFlight<SeenMessage>,
    /// Answers of the client, by the ids of the requests to it.
    asked: Mutex<HashMap<Id, Value>>,
    wants_messages: bool,
}

impl Observed {
    /// Wraps `inner` with observers.
    pub fn new(inner: Arc<dyn Service>, observers: Arc<Observers>) -> Self {
        let wants_messages = observers
            .all
            .iter()
            .any(|observer| observer.wants_messages());
        Self {
            inner,
            observers,
            numbers: InFlight::default(),
            leaving: InFlight::default(),
            asked: Mutex::default(),
            wants_messages,
        }
    }

    fn came(&self, request: &Request<'_>, revision: Option<Revision>) -> SeenMessage {
        self.observers
            .came(request, self.numbers.take(request), revision)
    }

    /// Runs `work` with an outbox that records the messages and an early reply.
    fn run_with_tap<T>(
        &self,
        exchange: &AdmittedRequest<'_>,
        seen: &mut SeenMessage,
        work: impl FnOnce(&AdmittedRequest<'_>) -> T,
    ) -> T {
        let (messages, reply) = (Mutex::default(), Mutex::default());
        let (keeps, id) = (self.wants_messages, &exchange.ticket.id);
        let tap = OutboxTap {
            outbox: exchange.outbox,
            asked: &self.asked,
            keeps,
            id,
            messages,
            reply,
        };
        let done = work(&AdmittedRequest {
            outbox: &tap,
            ..*exchange
        });
        let late = tap
            .reply
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        seen.reply = late.or_else(|| seen.reply.take());
        for mut message in tap
            .messages
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
        {
            let id = message
                .as_object_mut()
                .and_then(|members| members.shift_remove("id"));
            if let Some(id) = id.and_then(|id| serde_json::from_value::<Id>(id).ok()) {
                message["answer"] = lock(&self.asked).remove(&id).unwrap_or_default();
            }
            seen.before.push(message);
        }
        done
    }

    fn notify_answered(&self, mut seen: SeenMessage) {
        seen.before.truncate(MAX_RECORDED_MESSAGES);
        self.observers.answered(&seen);
    }
}

/// An outbox that records the messages to the client.
struct OutboxTap<'a> {
    outbox: &'a dyn Outbox,
    asked: &'a Mutex<HashMap<Id, Value>>,
    /// `true` if messages are recorded.
    keeps: bool,
    id: &'a Id,
    messages: Mutex<Vec<Value>>,
    /// An answer to the request that was sent through the outbox, not returned by the service.
    reply: Mutex<Option<Value>>,
}

impl OutboxTap<'_> {
    fn note(&self, message: &[u8]) {
        let Ok(Value::Object(mut read)) = serde_json::from_slice(message) else {
            return;
        };
        let id = read
            .get("id")
            .and_then(|id| serde_json::from_value::<Id>(id.clone()).ok());
        if !read.contains_key("method") {
            if id.as_ref() == Some(self.id) {
                let outcome = ["result", "error"]
                    .into_iter()
                    .find_map(|key| Some((key, read.shift_remove(key)?)));
                *lock(&self.reply) = outcome.map(|(key, value)| json!({ key: value }));
            }
            return;
        }
        if !self.keeps {
            return;
        }
        read.shift_remove("jsonrpc");
        if let Some(id) = id {
            // Registered before it is sent, since the client may answer quickly.
            lock(self.asked).insert(id, Value::Null);
        }
        let mut messages = lock(&self.messages);
        if messages.len() < MAX_RECORDED_MESSAGES {
            messages.push(read.into());
        }
    }
}

impl Outbox for OutboxTap<'_> {
    fn at_length(&self, work: &mut dyn FnMut()) {
        self.outbox.at_length(work);
    }

    fn send(&self, message: &[u8]) {
        self.note(message);
        self.outbox.send(message);
    }

    fn exclusively(&self, work: &mut ExclusiveWork<'_>) {
        let mut whole = Vec::new();
        self.outbox.exclusively(&mut |send| {
            work(&mut |bytes| {
                whole.extend_from_slice(bytes);
                send(bytes);
            });
        });
        self.note(&whole);
    }
}

/// Returns an outcome as an object with `result` or `error`; a raw line as `line`.
pub(crate) fn reply(outcome: &Outcome, revision: Revision) -> Value {
    let mut bytes = Vec::new();
    render(&mut bytes, None, outcome, revision);
    if let Ok(Body::Line(_)) = outcome {
        return json!({"line": String::from_utf8_lossy(&bytes)});
    }
    let mut message: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    match message.get_mut("result") {
        Some(result) => json!({"result": result.take()}),
        None => json!({"error": message["error"].take()}),
    }
}

impl Service for Observed {
    fn inner(&self) -> Option<&dyn Service> {
        Some(&*self.inner)
    }

    fn weight(&self, request: &Request<'_>) -> Weight {
        if request.id.is_some() {
            self.numbers.put(request, self.observers.next());
        }
        self.inner.weight(request)
    }

    /// Observers may wait for a disk.
    fn is_prompt(&self) -> bool {
        false
    }

    fn serve(&self, exchange: &AdmittedRequest<'_>) -> Option<Outcome> {
        let revision = exchange.ticket.revision;
        let mut seen = self.came(exchange.request, Some(revision));
        let begun = Instant::now();
        let outcome = self.run_with_tap(exchange, &mut seen, |exchange| self.inner.serve(exchange));
        seen.time = begun.elapsed();
        match &outcome {
            // Messages that follow before the answer are recorded in `served`.
            Some(outcome) => {
                seen.reply = Some(reply(outcome, revision));
                self.leaving.put(exchange.request, seen);
            }
            None => self.notify_answered(seen),
        }
        outcome
    }

    fn served(&self, exchange: &AdmittedRequest<'_>, outcome: &Outcome) {
        let Some(mut seen) = self.leaving.take(exchange.request) else {
            return self.inner.served(exchange, outcome);
        };
        self.run_with_tap(exchange, &mut seen, |exchange| {
            self.inner.served(exchange, outcome);
        });
        self.notify_answered(seen);
    }

    fn notified(&self, request: &Request<'_>) {
        let seen = self.came(request, None);
        self.observers.answered(&seen);
        self.inner.notified(request);
    }

    fn answered(&self, response: &Response<'_>) {
        if let Some(id) = &response.id
            && let Some(answer) = lock(&self.asked).get_mut(id)
        {
            *answer = answer_of(response);
        }
        self.inner.answered(response);
    }
}
