//! Requests about the server itself. Their answers touch no files and do not depend on the sandbox.

#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};

use replay_base::PROGRAM_NAME;
use replay_base::budget::Account;
use replay_base::text::escape::show;
use replay_base::text::nearest::shortened;
use replay_mcp::protocol::{Body, Code, Outcome, Request, Revision, RpcError, notification};
use replay_mcp::sessions::{AdmittedRequest, Level, Service, Weight, stateless_revisions};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::listing::{Lists, cacheable, server_info};
use crate::tools::Registry;

/// The tools, and their descriptions.
pub struct Front {
    pub(super) registry: Registry,
    lists: Lists,
    instructions: String,
}

impl Front {
    /// Creates a front. `instructions` are those of initialize and server/discover.
    pub fn new(registry: Registry, instructions: String) -> Arc<Self> {
        Arc::new(Self {
            registry,
            lists: Lists::default(),
            instructions,
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
            "tools/list" => self.list_page(revision, request.params),
            "ping" if handshake => Ok(Body::Raw("{}".into())),
            "initialize" if handshake => Ok(Body::Raw(
                self.initialized(session.negotiate_with(request.params))
                    .to_string()
                    .into(),
            )),
            "server/discover" if handshake => Err(RpcError::new(
                Code::InvalidParams,
                "server/discover needs `_meta` with `io.modelcontextprotocol/protocolVersion`",
            )),
            "server/discover" => Ok(Body::Raw(self.discovered().to_string().into())),
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

    fn list_page(&self, revision: Revision, params: Option<&RawValue>) -> Outcome {
        #[derive(Default, Deserialize)]
        struct Params {
            #[serde(default)]
            cursor: Option<Value>,
        }
        let params: Params = params
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default();
        if let Some(cursor) = params.cursor {
            let message =
                format!("`cursor` is {cursor}; the list has one page, so no cursor is valid");
            return Err(RpcError::new(Code::InvalidParams, message));
        }
        Ok(Body::Raw(self.list(revision)))
    }

    /// The tool list of this revision: a `ListToolsResult`.
    pub fn list(&self, revision: Revision) -> Arc<str> {
        self.lists.tools(&self.registry, revision)
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

    fn served(&self, exchange: &AdmittedRequest<'_>, outcome: &Outcome) {
        match self.inner() {
            Some(service) => service.served(exchange, outcome),
            None => log_outcome(exchange, outcome),
        }
    }
}
