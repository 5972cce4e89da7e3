//! Members of the log lines about a call, as JSON without braces.

use std::path::Path;
use std::time::SystemTime;

use replay_base::limits::{MAX_AUDIT_REASON_BYTES, MAX_KEPT_NAME_BYTES};
use replay_base::text::escape::{harmless, hex, show_path};
use replay_files::journal::AutorunChanges;
use replay_files::policy::{TouchedPath, TouchedPaths};
use replay_mcp::protocol::{Body, Content, Outcome, outside};
use replay_mcp::sessions::{Begun, Entry};
use replay_sandbox::exec::{Background, Blocked, State};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::tools::LongCall;

/// Longest path that is kept as it is, in bytes as it is shown; of a longer one its hash and length
/// are.
const MAX_AUDIT_PATH_BYTES: usize = 1024;

/// Common first members of both lines of a call.
#[derive(Serialize)]
struct CallOpening<'a> {
    at: String,
    event: &'static str,
    call: u64,
    client: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
}

impl<'a> CallOpening<'a> {
    fn of(call: &'a Begun, event: &'static str) -> Self {
        Self {
            at: time(call.at),
            event,
            call: call.id,
            client: &call.client,
            session: call.session.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct CallLine<'a> {
    #[serde(flatten)]
    opening: CallOpening<'a>,
    revision: &'static str,
    tool: &'a str,
    arguments: &'a Value,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    undo: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outside: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<i64>,
    duration_us: u64,
    request_bytes: u64,
    reply_bytes: u64,
    paths: Vec<Value>,
    #[serde(skip_serializing_if = "is_zero")]
    paths_more: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<&'a str>,
}

#[derive(Serialize)]
struct BeginLine<'a> {
    #[serde(flatten)]
    opening: CallOpening<'a>,
    tool: &'a str,
    arguments: &'a Value,
}

/// Line about a finished background command.
#[derive(Serialize)]
pub(super) struct BackgroundEnd<'a> {
    at: String,
    event: &'static str,
    client: &'a str,
    /// Command ID, as in the tool calls.
    id: &'a str,
    detail: String,
    /// `true` if a caller requested the end.
    asked: bool,
    duration_us: u64,
    output_bytes: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    blocked: Vec<Blocked>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked_more: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outside: Option<AutorunChanges>,
}

impl<'a> BackgroundEnd<'a> {
    /// Builds the line for this finished command.
    pub(super) fn of(client: &'a str, command: &'a Background) -> Self {
        let state = command.state();
        let ending = if let State::Ended(ending) = &state {
            Some(ending)
        } else {
            None
        };
        let denied = ending.map_or(&[][..], |ending| &ending.denied);
        let settled = ending.and_then(|ending| Some(&ending.changed.as_ref()?.settled));
        let outside = settled.filter(|settled| !settled.is_nothing()).cloned();
        Self {
            at: time(SystemTime::now()),
            event: "background",
            client,
            id: command.id(),
            detail: state.end().unwrap_or_else(|| "runs".to_owned()),
            asked: ending.is_some_and(|ending| ending.asked),
            duration_us: u64::try_from(command.ran().as_micros()).unwrap_or(u64::MAX),
            output_bytes: command.written(),
            blocked: Blocked::among(denied),
            blocked_more: Blocked::more(denied),
            outside,
        }
    }
}

/// Line about a call that ended in the background.
#[derive(Serialize)]
pub(super) struct BackgroundCallEnd<'a> {
    at: String,
    event: &'static str,
    client: &'a str,
    /// Number for `follow_command`, in `detail` of the call.
    id: String,
    tool: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    undo: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outside: Option<&'a Value>,
    duration_us: u64,
    /// Paths that it touched after its first reply.
    paths: Vec<Value>,
    #[serde(skip_serializing_if = "is_zero")]
    paths_more: u64,
}

impl<'a> BackgroundCallEnd<'a> {
    /// Builds the line for this ended call.
    pub(super) fn of(
        client: &'a str,
        call: &'a LongCall,
        outcome: &'a Outcome,
        record: &TouchedPaths,
    ) -> Self {
        Self {
            at: time(SystemTime::now()),
            event: "background",
            client,
            id: call.id(),
            tool: call.tool(),
            detail: detail(outcome),
            undo: undo(outcome),
            outside: outside(outcome),
            duration_us: u64::try_from(call.ran().as_micros()).unwrap_or(u64::MAX),
            paths: record.paths.iter().map(touched).collect(),
            paths_more: record.more,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Members of the line at the beginning of a call. The line at its end has the same `call` number.
pub(super) fn begin(call: &Begun) -> serde_json::Result<String> {
    members(&BeginLine {
        opening: CallOpening::of(call, "begin"),
        tool: &call.tool,
        arguments: &call.arguments,
    })
}

/// Describes the result of a call in a few words: test status, exit code, background command ID, or
/// the error that the caller got.
pub(super) fn detail(reply: &Outcome) -> Option<String> {
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct ResultFields {
        status: Option<Value>,
        exit_code: Option<i64>,
        command_id: Option<String>,
        timed_out: Option<bool>,
        edited: Option<u64>,
        failed: Option<u64>,
    }
    let reply = match reply {
        Ok(Body::Tool(reply)) => reply,
        Ok(_) => return None,
        Err(error) => return reason(&error.message),
    };
    let ended: ResultFields = reply
        .structured
        .as_deref()
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    let status = ended.status.as_ref().and_then(Value::as_str);
    match (status, ended.timed_out, ended.exit_code) {
        (Some(status), ..) => {
            Some(status[..status.floor_char_boundary(MAX_KEPT_NAME_BYTES)].to_owned())
        }
        (None, Some(true), _) => Some("timed out".to_owned()),
        (None, _, Some(code)) => Some(format!("exit code {code}")),
        (None, _, None) if ended.command_id.is_some() => ended
            .command_id
            .map(|id| format!("in the background as {id}")),
        (None, _, None) if ended.failed.is_some_and(|failed| failed > 0) => Some(format!(
            "{} edited, {} failed",
            ended.edited.unwrap_or(0),
            ended.failed.unwrap_or(0)
        )),
        // The text repeats the structured content, if there is any.
        (None, _, None) if reply.is_error && reply.structured.is_none() => {
            match reply.content.first() {
                Some(Content::Text(text)) => reason(text),
                _ => None,
            }
        }
        (None, _, None) => None,
    }
}

/// Undo number of the call, and the amount of its changes.
fn undo(reply: &Outcome) -> Option<&Value> {
    match reply {
        Ok(Body::Tool(reply)) => reply.undo.as_deref(),
        _ => None,
    }
}

/// Beginning of the first line of an error message.
fn reason(message: &str) -> Option<String> {
    let line = message.lines().next()?;
    Some(line[..line.floor_char_boundary(MAX_AUDIT_REASON_BYTES)].to_owned())
}

/// Members of the line at the end of a call. No call can make this fail.
pub(super) fn call(
    entry: &Entry,
    detail: Option<String>,
    reply: Option<&Outcome>,
) -> serde_json::Result<String> {
    let call = &entry.call;
    members(&CallLine {
        opening: CallOpening::of(call, "call"),
        revision: call.revision.as_str(),
        tool: &call.tool,
        arguments: &call.arguments,
        outcome: entry.outcome.as_str(),
        detail,
        undo: reply.and_then(undo),
        outside: reply.and_then(outside),
        code: entry.code,
        duration_us: u64::try_from(entry.duration.as_micros()).unwrap_or(u64::MAX),
        request_bytes: call.request_bytes,
        reply_bytes: entry.reply_bytes,
        paths: entry.paths.iter().map(touched).collect(),
        paths_more: entry.paths_more,
        trace_id: call.trace_id.as_deref(),
    })
}

/// Serializes an object as JSON without its braces.
pub(super) fn members(object: &impl Serialize) -> serde_json::Result<String> {
    let mut text = harmless(&serde_json::to_string(object)?).into_owned();
    text.pop();
    text.remove(0);
    Ok(text)
}

/// Formats a time as RFC 3339 in UTC, with microseconds.
pub(super) fn time(at: SystemTime) -> String {
    humantime::format_rfc3339_micros(at).to_string()
}

/// Formats a path as the tools show it. A very long path becomes its hash and length.
pub(super) fn path(path: &Path) -> Value {
    let shown = show_path(path);
    if shown.len() <= MAX_AUDIT_PATH_BYTES {
        return shown.into();
    }
    json!({"sha256": hex(&Sha256::digest(path.as_os_str().as_encoded_bytes())), "bytes": path.as_os_str().len()})
}

fn touched(touched: &TouchedPath) -> Value {
    let mut value = json!({"path": path(&touched.path), "access": touched.access.as_str()});
    if let Some(real) = &touched.real {
        value["real"] = path(real);
    }
    value
}
