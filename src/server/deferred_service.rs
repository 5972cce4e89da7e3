//! Requests about the server itself. Their answers touch no files and do not depend on the sandbox.

#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};

use replay_base::PROGRAM_NAME;
use replay_base::budget::Account;
use replay_base::text::escape::show;
use replay_base::text::nearest::shortened;
use replay_mcp::protocol::{
    Body, Code, Outcome, Request, Response, Revision, RpcError, notification,
};
use replay_mcp::sessions::{
    AdmittedRequest, ClientInfo, Level, Outbox, Service, Weight, stateless_revisions,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::client_roots::ClientRoots;
use super::client_selection::ClientSelection;
use super::listing::{Lists, cacheable, server_info};
use crate::tools::Registry;

/// The tools, and their descriptions.
pub struct Front {
    pub(super) registry: Registry,
    lists: Lists,
    instructions: String,
    pub(super) clients: ClientSelection,
    pub(super) roots: ClientRoots,
}

impl Front {
    /// Creates a front. `instructions` are those of initialize and server/discover. `is_alone` is
    /// true if the server has one client.
    pub fn new(
        registry: Registry,
        instructions: String,
        clients: ClientSelection,
        is_alone: bool,
    ) -> Arc<Self> {
        Arc::new(Self {
            registry,
            lists: Lists::default(),
            instructions,
            clients,
            roots: ClientRoots::new(is_alone),
        })
    }

    /// Answers a request about the server itself; `None` for any other.
    pub(super) fn answer(&self, exchange: &AdmittedRequest<'_>) -> Option<Outcome> {
        let AdmittedRequest {
            session,
            ticket,
            request,
            ..
        } = *exchange;
        let revision = ticket.revision;
        let handshake = !revision.is_stateless();
        Some(match &*request.method {
            "tools/list" => self.list_page(exchange),
            "ping" if handshake => Ok(Body::Raw("{}".into())),
            "initialize" if handshake => {
                let negotiated = session.negotiate_with(request.params);
                self.clients.log(exchange.client());
                self.roots.declared(request.params);
                Ok(Body::Raw(self.initialized(negotiated).to_string().into()))
            }
            "server/discover" if handshake => Err(RpcError::new(
                Code::InvalidParams,
                "server/discover needs `_meta` with `io.modelcontextprotocol/protocolVersion`",
            )),
            "server/discover" => {
                self.clients.log(exchange.client());
                Ok(Body::Raw(self.discovered().to_string().into()))
            }
            "ping" | "initialize" => Err(no_method(request, revision)),
            _ => return None,
        })
    }

    /// Result of `initialize` for the negotiated revision.
    fn initialized(&self, revision: Revision) -> Value {
        let mut capabilities = json!({"tools": {}, "logging": {}});
        self.add_logs(&mut capabilities);
        json!({
            "protocolVersion": revision.as_str(),
            "capabilities": capabilities,
            "serverInfo": server_info(revision),
            "instructions": self.instructions,
        })
    }

    /// Result of `server/discover`.
    fn discovered(&self) -> Value {
        let stateless: Vec<&str> = stateless_revisions().collect();
        let mut capabilities = json!({"tools": {}});
        self.add_logs(&mut capabilities);
        let mut result = json!({
            "supportedVersions": stateless,
            "capabilities": capabilities,
            "instructions": self.instructions,
        });
        cacheable(&mut result);
        result
    }

    fn add_logs(&self, capabilities: &mut Value) {
        if self.has_logs() {
            capabilities["resources"] = json!({});
        }
    }

    /// Returns true if a tool can produce logs.
    pub(super) fn has_logs(&self) -> bool {
        ["execute_command", "run_tests", "type_check"]
            .iter()
            .any(|name| self.registry.find(name).is_ok())
    }

    fn list_page(&self, exchange: &AdmittedRequest<'_>) -> Outcome {
        #[derive(Default, Deserialize)]
        struct Params {
            #[serde(default)]
            cursor: Option<Value>,
        }
        let params: Params = exchange
            .request
            .params
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default();
        if let Some(cursor) = params.cursor {
            let message =
                format!("`cursor` is {cursor}; the list has one page, so no cursor is valid");
            return Err(RpcError::new(Code::InvalidParams, message));
        }
        let client = exchange.client();
        Ok(Body::Raw(self.list_for(exchange.ticket.revision, client)))
    }

    /// Returns the tool list of this revision for a client that nobody knows: a `ListToolsResult`.
    pub fn list(&self, revision: Revision) -> Arc<str> {
        self.list_for(revision, None)
    }

    fn list_for(&self, revision: Revision, client: Option<&ClientInfo>) -> Arc<str> {
        let id = self.clients.known(client).map_or("", |known| &known.id);
        let client = (id, self.clients.replies(client));
        self.lists.tools(&self.registry, revision, client)
    }
}

/// Error for an unknown method.
pub(super) fn no_method(request: &Request<'_>, revision: Revision) -> RpcError {
    RpcError::new(
        Code::MethodNotFound,
        format!(
            "no method `{}` on revision {revision}",
            shortened(&request.method)
        ),
    )
}

/// Sends the client a log message about a request, if its log level includes it.
pub(super) fn log_outcome(exchange: &AdmittedRequest<'_>, outcome: &Outcome) {
    let AdmittedRequest {
        ticket,
        request,
        outbox,
        ..
    } = exchange;
    let (level, text) = match outcome {
        Ok(_) => (Level::Debug, "answered".to_owned()),
        Err(error) if error.code == Code::Internal => (Level::Error, error.message.clone()),
        Err(error) => (Level::Warning, error.message.clone()),
    };
    // A message may quote arguments, which are arbitrary text.
    tracing::debug!(level = level.name(), "{}", show(text.as_bytes()));
    if ticket.level.is_some_and(|least| level >= least) && !ticket.cancel.is_cancelled() {
        let data = format!("{} {}: {text}", request.method, ticket.id);
        let params = json!({"level": level.name(), "logger": PROGRAM_NAME, "data": data});
        outbox.send(&notification("notifications/message", &params));
    }
}

/// A service that is still starting. Until then its front answers what it can, and other requests
/// are refused.
pub(crate) struct StartingService {
    front: Arc<Front>,
    account: Account,
    service: OnceLock<Arc<dyn Service>>,
}

impl StartingService {
    /// Creates a service whose requests and replies are charged to this account.
    pub(crate) fn new(front: Arc<Front>, account: Account) -> Arc<Self> {
        Arc::new(Self {
            front,
            account,
            service: OnceLock::new(),
        })
    }

    /// Sets the service once it has started. Later calls have no effect.
    pub(crate) fn arrived(&self, service: Arc<dyn Service>) {
        let _ = self.service.set(service);
    }
}

impl Service for StartingService {
    fn inner(&self) -> Option<&dyn Service> {
        self.service.get().map(AsRef::as_ref)
    }

    fn weight(&self, request: &Request<'_>) -> Weight {
        self.inner()
            .map_or(Weight::Quick, |inner| inner.weight(request))
    }

    fn account(&self) -> Account {
        self.account.clone()
    }

    fn serve(&self, exchange: &AdmittedRequest<'_>) -> Option<Outcome> {
        match self.inner() {
            Some(service) => service.serve(exchange),
            None => Some(self.front.answer(exchange).unwrap_or_else(|| {
                Err(RpcError::new(
                    Code::Internal,
                    "the walls around commands are still being built; try again",
                ))
            })),
        }
    }

    fn connected(&self, outbox: Arc<dyn Outbox>) {
        match self.inner() {
            Some(service) => service.connected(outbox),
            None => self.front.roots.connected(outbox),
        }
    }

    fn notified(&self, request: &Request<'_>) {
        match self.inner() {
            Some(service) => service.notified(request),
            None => self.front.roots.notified(request),
        }
    }

    fn answered(&self, response: &Response<'_>) {
        match self.inner() {
            Some(service) => service.answered(response),
            None => self.front.roots.answered(response),
        }
    }

    fn served(&self, exchange: &AdmittedRequest<'_>, outcome: &Outcome) {
        match self.inner() {
            Some(service) => service.served(exchange, outcome),
            None => log_outcome(exchange, outcome),
        }
    }
}
