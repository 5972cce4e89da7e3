//! Looks on while another service answers: a journal, a list of expectations, a recorder.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::service::lock;
use crate::protocol::{Body, Id, Outcome, Request, Response, Revision, render};
use crate::server::{Exchange, Outbox, Service};
use crate::tools::Weight;

/// One message of a client and what came of it.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The place in the order of arrival, from 1.
    pub number: u64,
    /// `None` for a notification.
    pub id: Option<Id>,
    /// The method.
    pub method: String,
    /// The parameters, an empty object if there were none.
    pub params: Value,
    /// Of the request.
    pub revision: Option<Revision>,
    /// An object with `result` or `error`, or with the `line` that was sent; `None` for silence.
    pub reply: Option<Value>,
    /// How long it took.
    pub time: Duration,
}

/// Somebody who looks on.
pub trait Observer: Send + Sync {
    /// A message has come.
    fn came(&self, _seen: &Seen) {}
    /// It was answered, or will not be.
    fn answered(&self, _seen: &Seen) {}
}

/// A service with observers.
pub struct Observed {
    inner: Arc<dyn Service>,
    observers: Vec<Arc<dyn Observer>>,
    count: AtomicU64,
    /// Numbers of the requests in flight: threads may take them up in another order than that of arrival.
    numbers: Mutex<HashMap<Id, u64>>,
}

impl Observed {
    /// Lets them look on.
    pub fn new(inner: Arc<dyn Service>, observers: Vec<Arc<dyn Observer>>) -> Self {
        Self { inner, observers, count: AtomicU64::new(0), numbers: Mutex::default() }
    }

    fn came(&self, request: &Request<'_>, revision: Option<Revision>) -> Seen {
        let params = request.params.and_then(|raw| serde_json::from_str(raw.get()).ok());
        let known = request.id.as_ref().and_then(|id| lock(&self.numbers).remove(id));
        let seen = Seen {
            number: known.unwrap_or_else(|| self.count.fetch_add(1, Relaxed) + 1),
            id: request.id.clone(),
            method: request.method.to_string(),
            params: params.unwrap_or_else(|| json!({})),
            revision,
            reply: None,
            time: Duration::ZERO,
        };
        self.observers.iter().for_each(|observer| observer.came(&seen));
        seen
    }
}

/// An outcome as an object with `result` or `error`; a line that is no message as `line`.
pub fn reply(outcome: &Outcome, revision: Revision) -> Value {
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
    fn weight(&self, request: &Request<'_>) -> Weight {
        if let Some(id) = &request.id {
            lock(&self.numbers).insert(id.clone(), self.count.fetch_add(1, Relaxed) + 1);
        }
        self.inner.weight(request)
    }

    fn serve(&self, exchange: &Exchange<'_>) -> Option<Outcome> {
        let revision = exchange.ticket.revision;
        let mut seen = self.came(exchange.request, Some(revision));
        let begun = Instant::now();
        let outcome = self.inner.serve(exchange);
        seen.time = begun.elapsed();
        seen.reply = outcome.as_ref().map(|outcome| reply(outcome, revision));
        self.observers.iter().for_each(|observer| observer.answered(&seen));
        outcome
    }

    fn served(&self, exchange: &Exchange<'_>, outcome: &Outcome) {
        self.inner.served(exchange, outcome);
    }

    fn notified(&self, request: &Request<'_>) {
        let seen = self.came(request, None);
        self.observers.iter().for_each(|observer| observer.answered(&seen));
        self.inner.notified(request);
    }

    fn answered(&self, response: &Response<'_>) {
        self.inner.answered(response);
    }

    fn connected(&self, outbox: Arc<dyn Outbox>) {
        self.inner.connected(outbox);
    }

    fn ended(&self) {
        self.inner.ended();
    }
}
