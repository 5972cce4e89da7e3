//! State of the client of a mock or a cassette: its capabilities, and requests to it.

use std::sync::Mutex;

use replay_base::cancel::CancelToken;
use replay_mcp::protocol::Response;
use replay_mcp::sessions::AdmittedRequest;
use serde_json::Value;

use super::client_requests::ClientRequests;
use super::sync::lock;

#[derive(Debug, Default)]
pub(crate) struct ClientState {
    /// Capabilities from `initialize`; `None` before that.
    opened: Mutex<Option<Value>>,
    asks: ClientRequests,
    /// Cancelled when the client closes its side.
    pub over: CancelToken,
}

impl ClientState {
    /// Records the capabilities of a session that the client opens with these parameters.
    pub(crate) fn open(&self, params: &Value) {
        *lock(&self.opened) = Some(params["capabilities"].clone());
    }

    /// Returns true if the client has opened a session, and so gets notifications unasked.
    pub(crate) fn is_open(&self) -> bool {
        lock(&self.opened).is_some()
    }

    /// Returns the client's capabilities: from the request's `_meta`, or from `initialize`.
    pub(crate) fn capabilities(&self, params: &Value) -> Value {
        let own = params["_meta"].get("io.modelcontextprotocol/clientCapabilities");
        own.cloned()
            .unwrap_or_else(|| lock(&self.opened).clone().unwrap_or_default())
    }

    /// Sends the client a request and waits for the answer, as [`ClientRequests::ask`] does. The
    /// wait ends with the call or the session.
    pub(crate) fn ask(
        &self,
        exchange: &AdmittedRequest<'_>,
        method: &str,
        params: Option<&Value>,
    ) -> Option<Value> {
        self.asks.ask(
            exchange.outbox,
            method,
            params,
            &[&exchange.ticket.cancel, &self.over],
        )
    }

    /// Passes on the client's answer to a request.
    pub(crate) fn answered(&self, response: &Response<'_>) {
        self.asks.answered(response);
    }
}
