//! Requests from the server to the client, and their answers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use replay_base::cancel::CancelToken;
use replay_base::limits::MAX_MOCK_HANG_MS;
use replay_mcp::protocol::{Id, Response};
use replay_mcp::sessions::Outbox;
use serde_json::{Value, json};

use super::sync::{lock, wait};

/// Requests that the client has not answered yet.
#[derive(Debug, Default)]
pub(crate) struct ClientRequests {
    next: AtomicU64,
    open: Mutex<HashMap<Id, Arc<PendingRequest>>>,
}

#[derive(Debug, Default)]
struct PendingRequest {
    /// Cancelled when the answer arrives.
    done: CancelToken,
    answer: Mutex<Option<Value>>,
}

impl ClientRequests {
    /// Sends a request and waits for the answer: the client's result, or an object with its
    /// `error`.
    /// Returns `None` if one of `ends` is cancelled first, or after `MAX_MOCK_HANG_MS`.
    pub(crate) fn ask(
        &self,
        outbox: &dyn Outbox,
        method: &str,
        params: Option<&Value>,
        ends: &[&CancelToken],
    ) -> Option<Value> {
        let text = format!("mock-{}", self.next.fetch_add(1, Relaxed) + 1);
        let id = Id::text(&text);
        let waiting = Arc::new(PendingRequest::default());
        lock(&self.open).insert(id.clone(), Arc::clone(&waiting));
        let mut message = json!({"jsonrpc": "2.0", "id": text, "method": method});
        if let Some(params) = params {
            message["params"] = params.clone();
        }
        outbox.send(message.to_string().as_bytes());
        wait(
            Duration::from_millis(MAX_MOCK_HANG_MS),
            &[&[&waiting.done], ends].concat(),
        );
        lock(&self.open).remove(&id);
        lock(&waiting.answer).take()
    }

    /// Passes an answer to the waiting request; an answer to an unknown id is ignored.
    pub(crate) fn answered(&self, response: &Response<'_>) {
        let Some(id) = &response.id else { return };
        let waiting = lock(&self.open).remove(id);
        let Some(waiting) = waiting else { return };
        *lock(&waiting.answer) = Some(answer_of(response));
        waiting.done.cancel();
    }
}

/// Returns a client's answer: its result, or an object with its `error`.
pub(crate) fn answer_of(response: &Response<'_>) -> Value {
    let read = |raw: &serde_json::value::RawValue| {
        serde_json::from_str::<Value>(raw.get()).unwrap_or_default()
    };
    match (response.result, response.error) {
        (Some(result), _) => read(result),
        (None, error) => json!({"error": error.map(read)}),
    }
}
