//! tools/call: finds the tool, runs it with its context, and renders failures for the client.

use std::fmt::Write as _;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use replay_base::cancel::CancelToken;
use replay_clients::{FailureForm, ReplyProfile};
use replay_files::journal::{Changes, Ended};
use replay_mcp::protocol::{
    Body, Code, Content, Id, Outcome, ReplyForm, Request, Revision, RpcError, ToolReply, Unsent,
    notification,
};
use replay_mcp::sessions::{Outbox, Weight, subject};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::client_selection::form;
use super::tool_server::Server;
use crate::error::Error;
use crate::tools::{
    Aside, Attended, Callable, ChangeCounts, Context, HandOver, Hints, LongCall, Progress,
    Registry, Services, forget_earlier, outside_lines,
};

/// Time until a call is handed over once more, if too many are in the background.
const RETRY_HAND_OVER: Duration = Duration::from_secs(1);
/// Time between two reports of a call that waits for another one.
const JOINED_PAUSE: Duration = Duration::from_secs(1);
/// Longest arguments that are parsed for the title of a call, or to find an equal call, in bytes.
const MAX_TITLED_BYTES: usize = 64 * 1024;
/// Longest time between two reports of progress. Many clients give a call up after a minute
/// without one.
const PROGRESS_AT_LEAST: Duration = Duration::from_secs(10);

/// A tool call in progress.
pub(super) struct Call<'a> {
    pub server: &'a Server,
    pub revision: Revision,
    pub cancel: &'a CancelToken,
    /// Time at which the request was read.
    pub asked: Instant,
    /// Set if the client wants progress.
    pub progress_token: Option<&'a Id>,
    /// Form of the client's replies.
    pub replies: &'a ReplyProfile,
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
        if tool.hand_over() != HandOver::Never && self.server.front.registry.can_follow() {
            return self.run_at_length(tool, arguments, outbox);
        }
        let sink = |done: u64, total: Option<u64>, message: &str| {
            self.report(outbox, done, total, message);
        };
        let progress = Progress::new(self.wants_progress(outbox).then_some(&sink));
        let aside = |work: &mut dyn FnMut()| outbox.at_length(work);
        self.perform(tool, arguments, &progress, &aside)
    }

    fn wants_progress(&self, outbox: &dyn Outbox) -> bool {
        self.progress_token.is_some() || outbox.wants_progress()
    }

    /// Runs a tool on a thread of its own. If the client asked for no progress, the call goes on
    /// in the background after the time limit of commands. A call that joins a running one waits
    /// for that.
    fn run_at_length(
        &self,
        tool: &dyn Callable,
        arguments: Option<&RawValue>,
        outbox: &dyn Outbox,
    ) -> Outcome {
        let name = tool.name();
        let given: Value = match arguments {
            Some(raw) if raw.get().len() <= MAX_TITLED_BYTES => {
                serde_json::from_str(raw.get()).unwrap_or_default()
            }
            _ => Value::Null,
        };
        let is_joined = tool.hand_over() == HandOver::IsJoined;
        let background = &self.server.services.background_calls;
        let running = background
            .find_running(name, &given)
            .filter(|_| is_joined && (arguments.is_none() || !given.is_null()));
        if let Some(running) = running {
            return self.join(&running, outbox);
        }
        let Some(server) = self.server.shared() else {
            return Err(RpcError::new(Code::Internal, "the server is ending"));
        };
        let (arguments, replies) = (arguments.map(ToOwned::to_owned), self.replies.clone());
        let (revision, cancel, asked) = (self.revision, self.cancel.clone(), self.asked);
        let (patience, wants_progress) = (self.patience(), self.wants_progress(outbox));
        let tool = name.to_owned();
        let work = move |long: &LongCall| {
            let call = Call {
                server: &server,
                revision,
                cancel: &cancel,
                asked,
                progress_token: None,
                replies: &replies,
            };
            let sink = |done: u64, total: Option<u64>, message: &str| {
                long.report((done, total, message.to_owned()), wants_progress);
            };
            let progress = Progress::new(Some(&sink));
            let tool = server.front.registry.find(&tool)?;
            call.perform(tool, arguments.as_deref(), &progress, &|work| work())
        };
        let Some(long) = LongCall::start(name, given, self.cancel.clone(), work) else {
            return Err(RpcError::new(
                Code::Internal,
                "no thread could be started for the call; try again when less runs",
            ));
        };
        let mut limit = patience.map(|patience| self.asked + patience);
        let mut last = 0;
        loop {
            let beat = wants_progress.then(|| Instant::now() + PROGRESS_AT_LEAST);
            match long.attend(limit.into_iter().chain(beat).min()) {
                Attended::Over(outcome) => {
                    return outcome.unwrap_or_else(|panic| resume_unwind(panic));
                }
                Attended::Report((done, total, message)) => {
                    last = done.max(last + 1);
                    self.report(outbox, last, total, &message);
                }
                Attended::Running if limit.is_some_and(|limit| Instant::now() >= limit) => {
                    if background.hand_over(&long).is_some() {
                        return Ok(Body::Tool(self.goes_on(&long, is_joined)));
                    }
                    // It has ended meanwhile, or too many go on already.
                    limit = Some(Instant::now() + RETRY_HAND_OVER);
                }
                Attended::Running => {
                    last += 1;
                    let message = format!("running for {} s", long.age().as_secs());
                    self.report(outbox, last, None, &message);
                }
            }
        }
    }

    /// Waits for the result of a call in the background that had the same arguments.
    fn join(&self, long: &LongCall, outbox: &dyn Outbox) -> Outcome {
        let limit = self.patience().map(|patience| self.asked + patience);
        let mut done = 0;
        loop {
            let pause = Instant::now() + JOINED_PAUSE;
            if let Some(outcome) = long.await_result(limit.map_or(pause, |limit| limit.min(pause)))
            {
                let mut outcome = outcome?;
                if let Body::Tool(reply) = &mut outcome {
                    reply.content.push(Content::note(format!(
                        "this is the result of the call that began {} s ago; it may lack changes \
                         since then",
                        long.age().as_secs()
                    )));
                }
                return Ok(outcome);
            }
            if self.cancel.is_cancelled() || limit.is_some_and(|limit| Instant::now() >= limit) {
                return Ok(Body::Tool(self.goes_on(long, true)));
            }
            done += 1;
            let message = long.progress().unwrap_or_default();
            self.report(outbox, done, None, &message);
        }
    }

    /// Reply of a call that goes on in the background.
    fn goes_on(&self, long: &LongCall, is_joined: bool) -> ToolReply {
        let id = long.id();
        let progress = long.progress().map(|progress| format!(" ({progress})"));
        let joined = if is_joined {
            ", or the same call again,"
        } else {
            ""
        };
        let note = format!(
            "{} still runs after {} s{}, and goes on in the background as commandId \"{id}\"; \
             follow_command{joined} waits for its result",
            long.tool(),
            self.asked.elapsed().max(long.age()).as_secs(),
            progress.unwrap_or_default()
        );
        ToolReply {
            content: vec![Content::note(note)],
            form: form(self.replies, false),
            structured: Some(json!({"commandId": id}).to_string()),
            started: Some(id),
            ..ToolReply::default()
        }
    }

    /// Returns the longest time that a reply may take; `None` for a client that asked for progress.
    fn patience(&self) -> Option<Duration> {
        self.progress_token.is_none().then(|| self.wait())
    }

    /// Returns the usual time until a call goes on in the background: what the operator chose, else
    /// what the client waits for.
    fn wait(&self) -> Duration {
        let commands = &self.server.services.commands;
        let of_client = self.replies.wait_secs.map(Duration::from_secs);
        of_client
            .filter(|_| !commands.is_timeout_chosen)
            .unwrap_or(commands.timeout)
    }

    /// Runs a tool with its context on this thread.
    fn perform(
        &self,
        tool: &dyn Callable,
        arguments: Option<&RawValue>,
        progress: &Progress<'_>,
        aside: &Aside<'_>,
    ) -> Outcome {
        let (services, cancel, asked) = (&self.server.services, self.cancel, self.asked);
        // Tools run other programs than their calls name.
        let about = match arguments {
            _ if tool.hints() != Hints::Runs => None,
            None => Some(String::new()),
            Some(raw) if raw.get().len() > MAX_TITLED_BYTES => None,
            Some(raw) => serde_json::from_str(raw.get())
                .ok()
                .map(|arguments| subject(&arguments)),
        };
        let changes = Changes::new(services.journal.as_deref().ok(), tool.name());
        let changes = match &about {
            Some(about) => changes.about(about),
            None => changes,
        };
        let can_undo = self.server.front.registry.can_undo();
        let context = Context {
            services,
            changes: &changes,
            can_undo,
            cancel,
            asked,
            progress,
            aside,
            replies: self.replies,
            wait: self.wait(),
            patience: self.patience(),
            tells_undo: &AtomicBool::new(false),
            max_tokens: None,
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
        let forgotten = ended
            .number
            .and_then(|number| forget_earlier(&context, number, &ended.changes));
        progress.settle();
        match done {
            Ok(mut reply) => {
                reply.form = form(self.replies, reply.has_exited);
                reply.undo = ended
                    .number
                    .map(|number| ChangeCounts::of(&ended.changes).with_number(number).into());
                reply.outside = outside(&ended).map(Box::new);
                reply.once.extend(forgotten);
                reply
                    .content
                    .extend(notes(services, &ended).map(Content::note));
                let is_told = !context.is_lean() || context.tells_undo.load(Ordering::Relaxed);
                if let Some(number) = ended.number.filter(|_| !is_told) {
                    add_undo(&mut reply.content, number, can_undo);
                }
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
            .map(|number| format!("what it changed can be undone: {who} call {number}"));
        for note in undo.into_iter().chain(notes(&self.server.services, ended)) {
            // A write to a `String` cannot fail.
            let _ = write!(message, "\n[{note}]");
        }
        let failure = self.server.front.clients.failure_form(self.replies);
        if self.revision.is_stateless() || failure != FailureForm::Codes {
            let is_plain = failure == FailureForm::Text;
            if is_plain {
                message.insert_str(0, "error: ");
            }
            let content = vec![Content::Text(message)];
            let code = Some(error.code());
            let outside = outside(ended).map(Box::new);
            return Ok(Body::Tool(ToolReply {
                content,
                is_error: true,
                form: ReplyForm {
                    has_error: !is_plain,
                    ..form(self.replies, false)
                },
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

/// Adds the number of a call that changed something to the end of its reply.
fn add_undo(content: &mut Vec<Content>, number: u64, can_undo: bool) {
    let undo = if can_undo {
        format!("undo {number}")
    } else {
        format!("call {number}, which the operator can undo")
    };
    match content.last_mut() {
        Some(Content::Note(note)) if note.ends_with(']') => {
            note.truncate(note.len() - 1);
            // A write to a `String` cannot fail.
            let _ = write!(note, "; {undo}]");
        }
        Some(Content::Text(text)) => {
            let _ = write!(text, " ({undo})");
        }
        _ => content.push(Content::note(undo)),
    }
}

/// Notes about changes without undo data, and about files that programs outside the sandbox run.
fn notes(services: &Services, ended: &Ended) -> impl Iterator<Item = String> {
    let lost = ended
        .lost
        .as_ref()
        .map(|reason| format!("not kept for undo: {reason}"));
    let outside = outside_lines(services, &ended.settled);
    lost.into_iter().chain(outside)
}

fn outside(ended: &Ended) -> Option<Value> {
    let settled = Some(&ended.settled).filter(|settled| !settled.is_nothing());
    settled.and_then(|settled| serde_json::to_value(settled).ok())
}
