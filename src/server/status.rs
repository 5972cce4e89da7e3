//! Status of a server, for the status page: directories, sandbox and background commands.

use std::time::Instant;

use replay_base::limits::RECENT_SUBJECT_BYTES;
use replay_mcp::protocol::Body;
use replay_mcp::sessions::Ending;
use replay_sandbox::exec::{Background, BackgroundCommands, Ending as End, Exit, State};
use serde_json::{Value, json};

use super::tool_server::Server;
use crate::tools::{LongCall, listening_now};

impl Server {
    /// Returns the roots of its tools, the sandbox tier (`null` if no tool runs commands), and
    /// recent background commands, and listening ports. The form is `{roots: [{path, access}], walls,
    /// background: [{id, command, at, durationMs, bytes, outcome, end}], ports: [{port, address,
    /// program, commandId, published}]}`. `outcome` and `end` of a running command are `null`.
    /// `published` is the link of a published port.
    pub fn place(&self) -> Value {
        let roots = self.services.policy.roots().iter().map(|root| {
            let access = if root.writable() { "rw" } else { "ro" };
            json!({"path": root.path().display().to_string(), "access": access})
        });
        let background = self
            .services
            .commands
            .background
            .as_ref()
            .map_or_else(Vec::new, BackgroundCommands::list);
        let runs_commands = self
            .front
            .registry
            .iter()
            .any(|tool| tool.toolset().runs_commands());
        let calls = self.services.background_calls.list();
        let calls = calls.iter().map(|call| describe_call(call));
        json!({
            "roots": roots.collect::<Vec<_>>(),
            "walls": runs_commands.then(|| self.services.commands.standing.word()),
            "background": background.iter().map(|command| describe(command)).chain(calls).collect::<Vec<_>>(),
            "ports": listening_now(&self.services.commands),
        })
    }
}

fn describe_call(call: &LongCall) -> Value {
    let outcome = call.await_result(Instant::now());
    let (ending, end) = match &outcome {
        None => (None, None),
        Some(Ok(Body::Tool(reply))) if !reply.is_error => (Some(Ending::Ok), Some("done")),
        Some(Err(_)) if call.was_ended() => (Some(Ending::Cancelled), Some("ended")),
        Some(_) => (Some(Ending::Failed), Some("failed")),
    };
    json!({
        "id": call.id(),
        "command": call.tool(),
        "at": humantime::format_rfc3339_millis(call.at()).to_string(),
        "durationMs": call.ran().as_micros() as f64 / 1000.0,
        "bytes": 0,
        "outcome": ending.map(Ending::as_str),
        "end": end,
    })
}

fn describe(command: &Background) -> Value {
    let (line, state) = (command.line(), command.state());
    let outcome = match &state {
        State::Running => None,
        // The client requested the end, so it is not a failure.
        State::Ended(End { asked: true, .. }) => Some(Ending::Cancelled),
        State::Ended(End {
            exit: Exit::Code(0),
            timed_out: false,
            ..
        }) => Some(Ending::Ok),
        State::Ended(_) | State::Lost(_) => Some(Ending::Failed),
    };
    json!({
        "id": command.id(),
        "command": &line[..line.floor_char_boundary(RECENT_SUBJECT_BYTES)],
        "at": humantime::format_rfc3339_millis(command.at()).to_string(),
        "durationMs": command.ran().as_micros() as f64 / 1000.0,
        "bytes": command.written(),
        "outcome": outcome.map(Ending::as_str),
        "end": state.end(),
    })
}
