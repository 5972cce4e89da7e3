//! The tool server as a service: dispatch of requests by method.

use std::sync::Arc;

use replay_base::budget::Account;
use replay_mcp::protocol::{Body, Content, Outcome, Request, Response};
use replay_mcp::sessions::{AdmittedRequest, Outbox, Service, Weight};

use super::call;
use super::deferred_service::{log_outcome, no_method};
use super::tool_server::Server;
use crate::tools::{Services, Toolset, expect_python_use};

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

    fn connected(&self, outbox: Arc<dyn Outbox>) {
        self.front.roots.connected(outbox);
    }

    fn notified(&self, request: &Request<'_>) {
        self.front.roots.notified(request);
    }

    fn answered(&self, response: &Response<'_>) {
        self.front.roots.answered(response);
    }

    fn served(&self, exchange: &AdmittedRequest<'_>, outcome: &Outcome) {
        log_outcome(exchange, outcome);
    }
}

impl Server {
    fn dispatch(&self, exchange: &AdmittedRequest<'_>) -> Outcome {
        let AdmittedRequest {
            session,
            ticket,
            request,
            outbox,
        } = *exchange;
        let revision = ticket.revision;
        if ["initialize", "server/discover", "tools/list"].contains(&&*request.method) {
            self.met();
        }
        if let Some(outcome) = self.front.answer(exchange) {
            return outcome;
        }
        match &*request.method {
            "tools/call" => {
                self.front.roots.apply(|roots| {
                    let Services { policy, python, .. } = &self.services;
                    policy.begin_at(roots);
                    policy.client_root().inspect(|root| python.begin_in(root));
                });
                let call = call::Call {
                    server: self,
                    revision,
                    cancel: &ticket.cancel,
                    asked: ticket.admitted,
                    progress_token: ticket.progress_token.as_ref(),
                    replies: self.front.clients.replies(exchange.client()),
                };
                let mut outcome = call.run(request, outbox);
                if let Ok(Body::Tool(reply)) = &mut outcome {
                    let once = std::mem::take(&mut reply.once).into_iter();
                    let new = once.filter(|note| session.tells_first(note));
                    reply.content.extend(new.map(Content::note));
                }
                outcome
            }
            "resources/list" if self.front.has_logs() => Ok(self.list_logs(revision)),
            "resources/read" if self.front.has_logs() => self.read_log(revision, request.params),
            "logging/setLevel" if !revision.is_stateless() => session.set_level(request.params),
            _ => Err(no_method(request, revision)),
        }
    }

    /// Starts the first Python interpreter in advance, for a client that sees the Python tools.
    pub fn met(&self) {
        if self
            .front
            .registry
            .iter()
            .any(|tool| tool.toolset() == Toolset::Python)
        {
            expect_python_use(&self.services);
        }
    }
}
