//! Service wrapper that makes a span for each request, by the OpenTelemetry semantic conventions
//! for MCP (1.41, gen-ai/mcp.md).

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::service::{AdmittedRequest, Service};
use super::session_state::ClientInfo;
use crate::protocol::{Body, Code, Outcome};
use crate::telemetry::{Begun, Failure, Tracer};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// Over stdin and stdout.
    Stdio,
    /// Over HTTP, with the name of the client's token, if there are tokens.
    Http(Option<String>),
}

/// A service whose requests have spans.
pub struct Traced {
    inner: Arc<dyn Service>,
    tracer: Arc<Tracer>,
    way: Way,
}

impl Traced {
    /// Wraps `inner` with spans if there is a tracer; otherwise returns it unchanged.
    pub fn over(
        inner: Arc<dyn Service>,
        tracer: Option<&Arc<Tracer>>,
        way: Way,
    ) -> Arc<dyn Service> {
        match tracer {
            Some(tracer) => Arc::new(Self {
                inner,
                tracer: Arc::clone(tracer),
                way,
            }),
            None => inner,
        }
    }

    fn begin(&self, exchange: &AdmittedRequest<'_>) -> Option<Begun> {
        let AdmittedRequest {
            session,
            ticket,
            request,
            ..
        } = exchange;
        let mut span = self.tracer.begin(ticket.trace.as_ref())?;
        let method = &*request.method;
        let named = NameParams::of(request.params);
        span.rename(match (method, &named.name) {
            ("tools/call" | "prompts/get", Some(name)) => format!("{method} {name}"),
            _ => method.to_owned(),
        });
        span.set("mcp.method.name", method.to_owned());
        span.set("mcp.protocol.version", ticket.revision.as_str());
        span.set("jsonrpc.request.id", ticket.id.to_string());
        match (method, named.name, named.uri) {
            ("tools/call", Some(name), _) => {
                span.set("gen_ai.operation.name", "execute_tool");
                span.set("gen_ai.tool.name", name);
            }
            ("prompts/get", Some(name), _) => span.set("gen_ai.prompt.name", name),
            ("resources/read", _, Some(uri)) => span.set("mcp.resource.uri", uri),
            _ => {}
        }
        if let Some(name) = session.name() {
            // The public name, not the secret session id.
            span.set("mcp.session.id", name.to_string());
        }
        // The conventions define no attribute for it.
        if let Some(ClientInfo { name, version }) = ticket.client.as_deref().or(session.client()) {
            span.set("mcp.client.name", name.clone());
            span.set("mcp.client.version", version.clone());
        }
        match &self.way {
            Way::Stdio => span.set("network.transport", "pipe"),
            Way::Http(token) => {
                span.set("network.transport", "tcp");
                span.set("network.protocol.name", "http");
                if let Some(token) = token {
                    span.set("enduser.id", token.clone());
                }
            }
        }
        // The status if no later call sets another.
        fail(&mut span, Code::Internal, "panicked");
        Some(span)
    }
}

/// The `name` and `uri` of a request's parameters, for methods that have them.
#[derive(Default, Deserialize)]
struct NameParams {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    uri: Option<String>,
}

impl NameParams {
    fn of(params: Option<&RawValue>) -> Self {
        params
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default()
    }
}

fn fail(span: &mut Begun, code: Code, message: &str) {
    let kind = Cow::Owned(code.number().to_string());
    span.went(Some(Failure {
        kind,
        message: message.to_owned(),
    }));
}

/// Sets the status of the span. A tool's failure message may quote a file, so it is left out.
fn end(mut span: Begun, exchange: &AdmittedRequest<'_>, outcome: Option<&Outcome>) {
    let failure = |kind: &'static str| {
        Some(Failure {
            kind: kind.into(),
            message: String::new(),
        })
    };
    if exchange.ticket.cancel.is_cancelled() {
        span.went(failure("cancelled"));
        return;
    }
    match outcome {
        Some(Err(error)) => {
            if error.code == Code::MethodNotFound {
                // Span names must be few; the attribute has the requested name.
                span.rename("unknown method".to_owned());
            }
            span.set("rpc.response.status_code", error.code.number().to_string());
            fail(&mut span, error.code, &error.message);
        }
        Some(Ok(Body::Tool(reply))) if reply.is_error => span.went(failure("tool_error")),
        Some(Ok(_)) | None => span.went(None),
    }
}

impl Service for Traced {
    fn inner(&self) -> Option<&dyn Service> {
        Some(&*self.inner)
    }

    fn serve(&self, exchange: &AdmittedRequest<'_>) -> Option<Outcome> {
        let Some(span) = self.begin(exchange) else {
            return self.inner.serve(exchange);
        };
        let outcome = self.inner.serve(exchange);
        end(span, exchange, outcome.as_ref());
        outcome
    }
}
