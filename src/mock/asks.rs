//! Requests that go the other way: sent to the client, and waited for.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::cancel::CancelToken;
use crate::protocol::{Id, Response};
use crate::server::Outbox;

/// The requests that the client has not answered yet.
#[derive(Debug, Default)]
pub struct Asks {
    next: AtomicU64,
    open: Mutex<HashMap<Id, Arc<Waiting>>>,
}

/// One of them.
#[derive(Debug, Default)]
pub struct Waiting {
    /// Cancelled once the answer is there.
    pub done: CancelToken,
    answer: Mutex<Option<Value>>,
}

impl Waiting {
    /// The client's result, or an object with its `error`.
    pub fn answer(&self) -> Value {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default()
    }
}

impl Asks {
    /// Sends a request. What is returned is forgotten with [`Asks::forget`].
    pub fn send(&self, outbox: &dyn Outbox, method: &str, params: &Value) -> (Id, Arc<Waiting>) {
        let text = format!("mock-{}", self.next.fetch_add(1, Relaxed) + 1);
        let id = Id::text(&text);
        let waiting = Arc::new(Waiting::default());
        self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), Arc::clone(&waiting));
        let message = json!({"jsonrpc": "2.0", "id": text, "method": method, "params": params});
        outbox.send(message.to_string().as_bytes());
        (id, waiting)
    }

    /// Hands an answer to whoever waits for it; one to nobody is ignored.
    pub fn answered(&self, response: &Response<'_>) {
        let Some(id) = &response.id else { return };
        let waiting = self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        let Some(waiting) = waiting else { return };
        let read = |raw: &serde_json::value::RawValue| serde_json::from_str::<Value>(raw.get()).unwrap_or_default();
        let answer = match (response.result, response.error) {
            (Some(result), _) => read(result),
            (None, error) => json!({"error": error.map(read)}),
        };
        *waiting.answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
        waiting.done.cancel();
    }

    /// Waits no longer for an answer.
    pub fn forget(&self, id: &Id) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }
}
