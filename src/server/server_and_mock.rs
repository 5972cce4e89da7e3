//! Service that joins the tools of the real server and of a mock in one session.

use std::sync::Arc;

use replay_mcp::protocol::{Body, Outcome, Request, Response};
use replay_mcp::sessions::{AdmittedRequest, Outbox, Service, Weight};
use replay_mock::{Mock, called_tool};
use serde_json::{Value, json};

use crate::server::Server;

/// A server and a mock beside it.
pub(crate) struct ServerAndMock {
    server: Arc<Server>,
    mock: Arc<Mock>,
}

impl ServerAndMock {
    /// Joins the two. Fails if both have a tool of the same name, and names it.
    pub(crate) fn new(server: Arc<Server>, mock: Arc<Mock>) -> Result<Self, String> {
        mock.reserve(server.names().map(str::to_owned))?;
        Ok(Self { server, mock })
    }

    /// Returns true if the mock alone answers a request. Methods of both merge their answers.
    fn is_mocked(&self, request: &Request<'_>) -> bool {
        let catalog = self.mock.catalog();
        match &*request.method {
            "tools/call" => called_tool(request).is_some_and(|name| catalog.tool(&name).is_some()),
            "tools/list" | "initialize" | "server/discover" | "ping" | "logging/setLevel" => {
                catalog.methods.contains_key(&*request.method)
            }
            _ => true,
        }
    }
}

impl Service for ServerAndMock {
    fn weight(&self, request: &Request<'_>) -> Weight {
        if self.is_mocked(request) {
            self.mock.weight(request)
        } else {
            self.server.weight(request)
        }
    }

    fn serve(&self, exchange: &AdmittedRequest<'_>) -> Option<Outcome> {
        if self.is_mocked(exchange.request) {
            return self.mock.serve(exchange);
        }
        let outcome = self.server.serve(exchange)?;
        let changing = self.mock.reloads();
        let both: &dyn Fn(&mut Value, Value) = match &*exchange.request.method {
            "tools/list" => &|ours: &mut Value, theirs: Value| {
                if let (Some(ours), Value::Array(theirs)) =
                    (ours["tools"].as_array_mut(), theirs["tools"].clone())
                {
                    ours.extend(theirs);
                }
            },
            "initialize" | "server/discover" => &|ours: &mut Value, theirs: Value| {
                for (key, value) in theirs["capabilities"].as_object().into_iter().flatten() {
                    if key != "tools" || value != &json!({}) {
                        ours["capabilities"][key] = value.clone();
                    }
                }
                if changing {
                    // Also if the manifest has no tools yet.
                    ours["capabilities"]["tools"]["listChanged"] = true.into();
                }
            },
            _ => return Some(outcome),
        };
        let (Ok(Body::Raw(ours)), Some(Ok(Body::Raw(theirs)))) =
            (&outcome, self.mock.serve(exchange))
        else {
            return Some(outcome);
        };
        let (Ok(mut ours), Ok(theirs)) =
            (serde_json::from_str(ours), serde_json::from_str(&theirs))
        else {
            return Some(outcome);
        };
        both(&mut ours, theirs);
        Some(Ok(Body::Raw(ours.to_string().into())))
    }

    fn served(&self, exchange: &AdmittedRequest<'_>, outcome: &Outcome) {
        if !self.is_mocked(exchange.request) {
            self.server.served(exchange, outcome);
        }
    }

    fn notified(&self, request: &Request<'_>) {
        self.server.notified(request);
        self.mock.notified(request);
    }

    fn answered(&self, response: &Response<'_>) {
        self.server.answered(response);
        self.mock.answered(response);
    }

    fn connected(&self, outbox: Arc<dyn Outbox>) {
        self.server.connected(Arc::clone(&outbox));
        self.mock.connected(outbox);
    }

    fn ended(&self) {
        self.mock.ended();
    }
}
