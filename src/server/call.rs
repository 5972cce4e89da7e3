//! tools/call: finds the tool, runs it with its context, and renders failures for the client.

use std::time::Instant;

use replay_base::cancel::CancelToken;
use replay_files::journal::{Changes, Ended};
use replay_mcp::protocol::{
    Body, Code, Content, Id, Outcome, Request, Revision, RpcError, ToolReply, Unsent, notification,
};
use replay_mcp::sessions::{ErrorStyle, Outbox, Weight};
use serde_json::{Value, json};

use super::tool_server::Server;
use crate::error::Error;
use crate::tools::{Callable, ChangeCounts, Context, Progress, Registry, Services, outside_lines};

/// A tool call in progress.
pub(super) struct Call<'a> {
    pub server: &'a Server,
    pub revision: Revision,
    pub cancel: &'a CancelToken,
    /// Time at which the request was read.
    pub asked: Instant,
    /// Set if the client wants progress.
    pub progress_token: Option<&'a Id>,
}

/// Returns the weight of a request: only calls of heavy tools may not block the reading thread.
pub(super) fn weight(registry: &Registry, request: &Request<'_>) -> Weight {
    if request.method != "tools/call" {
        // Logs may be long.
        return if request.method.starts_with("resources/") {
            Weight::Light
        } else {
            Weight::Quick
        };
    }
    let name = request
        .called
        .as_ref()
        .and_then(|called| called.name.as_ref());
    name.and_then(|name| registry.get(name).map(Callable::weight))
        .unwrap_or(Weight::Light)
}

impl Call<'_> {
    /// Runs the requested tool.
    pub(super) fn run(&self, request: &Request<'_>, outbox: &dyn Outbox) -> Outcome {
        let invalid = |message: &str| Err(RpcError::new(Code::InvalidParams, message));
        let Some(called) = &request.called else {
            return invalid(
                "tools/call needs `params` with a `name`, and `arguments` if the tool takes any",
            );
        };
        let Some(name) = &called.name else {
            return invalid("`name` is missing or not a string; tools/list has the names");
        };
        let arguments = called.arguments;
        if arguments.is_some_and(|raw| !raw.get().starts_with('{')) {
            return invalid("`arguments` must be an object");
        }
        let tool = match self.server.front.registry.find(name) {
            Ok(tool) => tool,
            // 2026-07-28 discourages this code.
            Err(error) if self.revision.is_stateless() => {
                return Err(RpcError {
                    code: Code::InvalidParams,
                    ..error
                });
            }
            Err(error) => return Err(error),
        };
        let sink = |done: u64, total: Option<u64>, message: &str| {
            self.report(outbox, done, total, message);
        };
        let progress = Progress::new(
            (self.progress_token.is_some() || outbox.wants_progress()).then_some(&sink),
        );
        let aside = |work: &mut dyn FnMut()| outbox.at_length(work);
        let (services, cancel, asked) = (&self.server.services, self.cancel, self.asked);
        let changes = Changes::new(services.journal.as_deref().ok(), name);
        let can_undo = self.server.front.registry.can_undo();
        let context = Context {
            services,
            changes: &changes,
            can_undo,
            cancel,
            asked,
            progress: &progress,
            aside: &aside,
        };
        let _busy = self.server.services.memory.busy();
        if let Ok(journal) = &services.journal
            && journal.is_between_states()
        {
            // The error, if any, is reported when the server starts.
            aside(&mut || _ = journal.mend());
        }
        let done = tool.call(&context, arguments, self.revision.has_structured());
        let ended = changes.end();
        match done {
            Ok(mut reply) => {
                reply.undo = ended
                    .number
                    .map(|number| ChangeCounts::of(&ended.changes).with_number(number));
                reply.outside = outside(&ended).map(Box::new);
                reply
                    .content
                    .extend(notes(services, &ended).map(Content::Text));
                Ok(Body::Tool(reply))
            }
            Err(error) => self.failed(&error, &ended),
        }
    }

    fn report(&self, outbox: &dyn Outbox, done: u64, total: Option<u64>, message: &str) {
        outbox.progressed(done, total, message);
        let Some(token) = self.progress_token else {
            return;
        };
        if self.cancel.is_cancelled() {
            return;
        }
        let token: serde_json::Value = serde_json::from_str(token.as_json()).unwrap_or_default();
        let mut params = json!({"progressToken": token, "progress": done});
        if let Some(total) = total {
            params["total"] = total.into();
        }
        if self.revision.has_annotations() {
            params["message"] = message.into();
        }
        outbox.send(&notification("notifications/progress", &params));
    }

    /// Renders a tool's failure. Handshake revisions get an error with its code, or a result if the
    /// operator chose so. Revision 2026-07-28 gets a result, since it forbids or discourages these
    /// codes.
    fn failed(&self, error: &Error, ended: &Ended) -> Outcome {
        let mut message = match error.hint() {
            Some(hint) => format!("{error}\nhint: {hint}"),
            None => error.to_string(),
        };
        let who = if self.server.front.registry.can_undo() {
            "undo_changes with"
        } else {
            "the operator can undo"
        };
        let undo = ended
            .number
            .map(|number| format!("[what it changed can be undone: {who} call {number}]"));
        for note in undo.into_iter().chain(notes(&self.server.services, ended)) {
            message.push('\n');
            message.push_str(&note);
        }
        if self.revision.is_stateless() || self.server.errors == ErrorStyle::Results {
            let content = vec![Content::Text(message)];
            let code = Some(error.code());
            let outside = outside(ended).map(Box::new);
            return Ok(Body::Tool(ToolReply {
                content,
                is_error: true,
                code,
                outside,
                ..ToolReply::default()
            }));
        }
        let unsent = outside(ended).map(|outside| {
            Box::new(Unsent {
                outside: Some(outside),
                ..Unsent::default()
            })
        });
        Err(RpcError {
            unsent,
            ..RpcError::new(error.code(), message)
        })
    }
}

/// Notes about changes without undo data, and about files that programs outside the sandbox run.
fn notes(services: &Services, ended: &Ended) -> impl Iterator<Item = String> {
    let lost = ended
        .lost
        .as_ref()
        .map(|reason| format!("not kept for undo: {reason}"));
    let outside = outside_lines(services, &ended.settled);
    lost.into_iter()
        .chain(outside)
        .map(|note| format!("[{note}]"))
}

fn outside(ended: &Ended) -> Option<Value> {
    let settled = Some(&ended.settled).filter(|settled| !settled.is_nothing());
    settled.and_then(|settled| serde_json::to_value(settled).ok())
}
