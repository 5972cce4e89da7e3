//! The client of a mock or a cassette: what it has declared, and what it is asked.

use std::sync::Mutex;

use serde_json::Value;

use super::client_requests::Asks;
use super::sync::lock;
use crate::cancel::CancelToken;
use crate::protocol::Response;
use crate::server::AdmittedRequest;

#[derive(Debug, Default)]
pub struct ClientState {
    /// The capabilities that it opened its session with; `None` before it does.
    opened: Mutex<Option<Value>>,
    asks: Asks,
    /// Cancelled when it sends nothing more.
    pub over: CancelToken,
}

impl ClientState {
    /// A session was opened by a request with these parameters.
    pub fn open(&self, params: &Value) {
        *lock(&self.opened) = Some(params["capabilities"].clone());
    }

    /// Whether it has opened a session, and hears of changes unasked.
    pub fn is_open(&self) -> bool {
        lock(&self.opened).is_some()
    }

    /// What it can be asked: as its request says, or as it said when it opened the session.
    pub fn capabilities(&self, params: &Value) -> Value {
        let own = params["_meta"].get("io.modelcontextprotocol/clientCapabilities");
        own.cloned()
            .unwrap_or_else(|| lock(&self.opened).clone().unwrap_or_default())
    }

    /// Sends it a request and waits for the answer, as [`Asks::ask`] does, until the call ends or
    /// the client.
    pub fn ask(
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

    /// It has answered a request.
    pub fn answered(&self, response: &Response<'_>) {
        self.asks.answered(response);
    }
}
