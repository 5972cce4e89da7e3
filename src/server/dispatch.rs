//! The server of tools as a service: which method does what.

use serde_json::json;

use super::call;
use super::level::Level;
use super::service::{AdmittedRequest, Service};
use super::tool_server::Server;
use crate::budget::Account;
use crate::protocol::{Code, Outcome, Request, RpcError, notification};
use crate::text::escape::show;
use crate::text::nearest::shortened;
use crate::tools::{Toolset, Weight, expect_python_use};

impl Service for Server {
    fn weight(&self, request: &Request<'_>) -> Weight {
        call::weight(&self.front.registry, request)
    }

    fn is_prompt(&self) -> bool {
        self.services.policy.is_local()
    }

    fn account(&self) -> Account {
        self.services.account.clone()
    }

    fn serve(&self, exchange: &AdmittedRequest<'_>) -> Option<Outcome> {
        Some(self.dispatch(exchange))
    }

    /// Tells the client what became of a request, if it asked for that much.
    fn served(&self, exchange: &AdmittedRequest<'_>, outcome: &Outcome) {
        let AdmittedRequest { ticket, request, outbox, .. } = exchange;
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
    fn dispatch(&self, exchange: &AdmittedRequest<'_>) -> Outcome {
        let AdmittedRequest { session, ticket, request, outbox } = *exchange;
        let revision = ticket.revision;
        if ["initialize", "server/discover", "tools/list"].contains(&&*request.method) {
            self.met();
        }
        if let Some(outcome) = self.front.answer(exchange) {
            return outcome;
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
            "resources/list" if self.front.has_logs() => Ok(self.list_logs(revision)),
            "resources/read" if self.front.has_logs() => self.read_log(revision, request.params),
            "logging/setLevel" if !revision.is_stateless() => session.set_level(request.params),
            method => Err(RpcError::new(
                Code::MethodNotFound,
                format!("no method `{}` on revision {revision}", shortened(method)),
            )),
        }
    }

    /// A client has come, and sees these tools.
    pub fn met(&self) {
        if self.front.registry.iter().any(|tool| tool.toolset() == Toolset::Python) {
            expect_python_use(&self.services);
        }
    }
}
