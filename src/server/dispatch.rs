//! The server of tools as a service: which method does what.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::call;
use super::instructions::instructions;
use super::level::Level;
use super::listing::{cacheable, server_info};
use super::service::{Exchange, Service};
use super::session_state::stateless_revisions;
use super::tool_server::Server;
use crate::budget::Account;
use crate::protocol::{Body, Code, Outcome, Request, Revision, RpcError, notification};
use crate::text::escape::show;
use crate::text::nearest::shortened;
use crate::tools::{Toolset, Weight, expect_python_use};

impl Service for Server {
    fn weight(&self, request: &Request<'_>) -> Weight {
        call::weight(&self.registry, request)
    }

    fn is_prompt(&self) -> bool {
        self.services.policy.is_local()
    }

    fn account(&self) -> Account {
        self.services.account.clone()
    }

    fn serve(&self, exchange: &Exchange<'_>) -> Option<Outcome> {
        Some(self.dispatch(exchange))
    }

    /// Tells the client what became of a request, if it asked for that much.
    fn served(&self, exchange: &Exchange<'_>, outcome: &Outcome) {
        let Exchange { ticket, request, outbox, .. } = exchange;
        let (level, text) = match outcome {
            Ok(_) => (Level::Debug, "answered".to_owned()),
            Err(error) if error.code == Code::Internal => (Level::Error, error.message.clone()),
            Err(error) => (Level::Warning, error.message.clone()),
        };
        // A message may name arguments, which hold what they like.
        tracing::debug!(level = level.name(), "{}", show(text.as_bytes()));
        if ticket.level.is_some_and(|least| level >= least) && !ticket.cancel.is_cancelled() {
            let data = format!("{} {}: {text}", request.method, ticket.id);
            let params = json!({"level": level.name(), "logger": env!("CARGO_PKG_NAME"), "data": data});
            outbox.send(&notification("notifications/message", &params));
        }
    }
}

impl Server {
    fn dispatch(&self, exchange: &Exchange<'_>) -> Outcome {
        let Exchange { session, ticket, request, outbox } = *exchange;
        let revision = ticket.revision;
        let handshake = !revision.is_stateless();
        if ["initialize", "server/discover", "tools/list"].contains(&&*request.method)
            && self.registry.iter().any(|tool| tool.toolset() == Toolset::Python)
        {
            expect_python_use(&self.services);
        }
        match &*request.method {
            "tools/call" => {
                let call = call::Call {
                    server: self,
                    revision,
                    cancel: &ticket.cancel,
                    asked: ticket.admitted,
                    progress_token: ticket.progress_token.as_ref(),
                };
                call.run(request, outbox)
            }
            "tools/list" => self.list_page(revision, request.params),
            "resources/list" if self.has_logs() => Ok(self.list_logs(revision)),
            "resources/read" if self.has_logs() => self.read_log(revision, request.params),
            "ping" if handshake => Ok(Body::Raw("{}".into())),
            "initialize" if handshake => {
                Ok(Body::Raw(self.initialized(session.negotiate_with(request.params)).to_string().into()))
            }
            "logging/setLevel" if handshake => session.set_level(request.params),
            "server/discover" if handshake => Err(RpcError::new(
                Code::InvalidParams,
                "server/discover needs `_meta` with `io.modelcontextprotocol/protocolVersion`",
            )),
            "server/discover" => Ok(Body::Raw(self.discovered().to_string().into())),
            method => Err(RpcError::new(
                Code::MethodNotFound,
                format!("no method `{}` on revision {revision}", shortened(method)),
            )),
        }
    }

    /// What `initialize` answers once a revision is agreed on.
    pub fn initialized(&self, revision: Revision) -> Value {
        let mut capabilities = json!({"tools": {}, "logging": {}});
        self.add_logs(&mut capabilities);
        json!({
            "protocolVersion": revision.as_str(),
            "capabilities": capabilities,
            "serverInfo": server_info(revision),
            "instructions": instructions(&self.services, &self.registry),
        })
    }

    /// What `server/discover` answers.
    pub fn discovered(&self) -> Value {
        let stateless: Vec<&str> = stateless_revisions().collect();
        let mut capabilities = json!({"tools": {}});
        self.add_logs(&mut capabilities);
        let mut result = json!({
            "supportedVersions": stateless,
            "capabilities": capabilities,
            "instructions": instructions(&self.services, &self.registry),
        });
        cacheable(&mut result);
        result
    }

    fn add_logs(&self, capabilities: &mut Value) {
        if self.has_logs() {
            capabilities["resources"] = json!({});
        }
    }

    fn list_page(&self, revision: Revision, params: Option<&RawValue>) -> Outcome {
        #[derive(Default, Deserialize)]
        struct Params {
            #[serde(default)]
            cursor: Option<Value>,
        }
        let params: Params = params.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        if let Some(cursor) = params.cursor {
            let message = format!("`cursor` is {cursor}; the list has one page, so no cursor is valid");
            return Err(RpcError::new(Code::InvalidParams, message));
        }
        Ok(Body::Raw(self.list(revision)))
    }
}
