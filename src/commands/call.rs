//! `replay call`: runs one tool from the command line, in the server's core.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, bail};
use replay_mcp::protocol::{Body, Content, Incoming, Outcome, Revision, ToolReply, parse, render};
use replay_mcp::sessions::{Admission, Outbox, Session};
use serde_json::{Map, Value, json};

use super::process::{logging, print_content, quoted, status, tell};
use crate::cli::CallArgs;
use crate::compose::{alone, wall_in};
use crate::config::Config;
use crate::server::Server;
use crate::tools::TOOLS;

/// Outbox that discards progress and log messages.
struct DiscardOutbox;

impl Outbox for DiscardOutbox {
    fn send(&self, _message: &[u8]) {}
}

/// Runs one tool and prints its result. The exit status is 1 if the tool failed, or if its tests or
/// its check did.
pub(super) fn run(asked: &CallArgs) -> Result<ExitCode> {
    let config = Config::for_tool(&asked.options, &asked.tool)?;
    logging(config.log_level);
    let server = alone(&config)?;
    wall_in(&[server.services()], &[]);
    let answer = answer(&server, asked);
    server.services().commands.end_all();
    let (outcome, revision) = answer?;
    match &outcome {
        _ if asked.json => print_content(whole(&outcome, revision)?)?,
        Ok(Body::Tool(reply)) => print_content(text(reply))?,
        Ok(Body::Raw(result)) => print_content(format!("{result}\n"))?,
        Ok(Body::Line(line)) => print_content(line)?,
        Err(error) => {
            // The error code is for programs (--json).
            tell(format!("error: {}", error.message));
            ExitCode::FAILURE
        }
    };
    Ok(status(match outcome {
        Ok(Body::Tool(reply)) => !reply.is_error && !reply.has_failed,
        Ok(Body::Raw(_) | Body::Line(_)) => true,
        Err(_) => false,
    }))
}

/// Calls the tool. Fails if the arguments cannot be parsed; an error of the tool itself is a
/// result.
fn answer(
    server: &Arc<Server>,
    CallArgs {
        tool, arguments, ..
    }: &CallArgs,
) -> Result<(Outcome, Revision)> {
    let mut arguments = self::arguments(tool, arguments)?;
    if tool == "execute_command" && [json!(true), json!("true")].contains(&arguments["background"])
    {
        bail!(
            "`replay call` cannot start a background command, which would end with it; use \
            `replay --mcp-server`"
        );
    }
    if tool == "execute_command" && arguments["timeout"].is_null() && arguments.is_object() {
        // Without it a long command would move to the background, and end with this program.
        arguments["timeout"] = server.services().commands.max_timeout.as_secs().into();
    }
    // A client that asks for progress gets the result itself, however long the call takes.
    let meta = json!({"progressToken": 1});
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    let line =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let Incoming::Request(request) = parse(line.as_bytes()) else {
        bail!("the call cannot be encoded as a request")
    };
    let session = Session::new(server.clone());
    match session.admit(&request) {
        Admission::Admitted(ticket) => {
            let outcome = session
                .serve(&ticket, &request, &DiscardOutbox)
                .context("the call was cancelled")?;
            Ok((outcome, ticket.revision))
        }
        Admission::Refused(refused) => Ok((Err(refused.error), refused.revision)),
        Admission::Nothing => bail!("the call was not answered"),
    }
}

/// Parses `key=value` pairs, or one JSON object.
fn arguments(tool: &str, typed: &[String]) -> Result<Value> {
    if let [only] = typed
        && only.trim_start().starts_with('{')
    {
        return serde_json::from_str(only).map_err(|error| {
            let example = required(tool)
                .next()
                .map_or_else(|| json!({}), |name| json!({ name: "VALUE" }));
            anyhow!("the arguments are not valid JSON: {error}; give an object such as '{example}'")
        });
    }
    let mut members = Map::new();
    let mut bare = None;
    for word in typed {
        match word.split_once('=') {
            Some((key, value)) => drop(members.insert(key.to_owned(), value.into())),
            None => bare = bare.or(Some(word)),
        }
    }
    if let Some(word) = bare {
        let name = required(tool).find(|name| !members.contains_key(name));
        let meant = name
            .map(|name| format!("; write {name}={}", quoted(word)))
            .unwrap_or_default();
        bail!("`{word}` is neither key=value nor the only argument as a JSON object{meant}");
    }
    Ok(Value::Object(members))
}

/// Required parameters of the tool, in the order of its schema; the first one if none is required.
fn required(tool: &str) -> impl Iterator<Item = String> {
    let known = TOOLS
        .iter()
        .map(|make| make())
        .find(|known| known.name() == tool);
    let schema =
        known.and_then(|known| serde_json::from_str::<Value>(known.descriptor().input_schema).ok());
    let schema = schema.unwrap_or_default();
    let names = schema["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name.clone())
        .collect::<Vec<_>>();
    let is_required = |name: &&String| {
        let required = schema["required"].as_array();
        required.is_some_and(|required| required.iter().any(|one| one == name.as_str()))
    };
    let mut required: Vec<String> = names.iter().filter(is_required).cloned().collect();
    if required.is_empty() {
        required.extend(names.into_iter().next());
    }
    required.into_iter()
}

fn text(reply: &ToolReply) -> String {
    let mut text = String::new();
    for block in &reply.content {
        // Writing to a String cannot fail.
        let _ = match block {
            Content::Text(block) | Content::Note(block) => write!(text, "{block}"),
            Content::Image { data, mime } | Content::Audio { data, mime, .. } => {
                write!(
                    text,
                    "[{mime}, {} bytes as base64; --json prints it]",
                    data.len()
                )
            }
            // The resource is gone when this process ends.
            Content::Link { .. } => continue,
            Content::Blob { mime, blob, uri } => {
                write!(
                    text,
                    "[{uri}: {mime}, {} bytes as base64; --json prints it]",
                    blob.len()
                )
            }
        };
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    text
}

/// Renders the result or the error as a client of the newest handshake revision gets it.
fn whole(outcome: &Outcome, revision: Revision) -> Result<Vec<u8>> {
    let mut message = Vec::new();
    render(&mut message, None, outcome, revision);
    let mut message: Value = serde_json::from_slice(&message)?;
    let part = message["result"].take();
    let part = if part.is_null() {
        json!({"error": message["error"].take()})
    } else {
        part
    };
    let mut output = serde_json::to_vec_pretty(&part)?;
    output.push(b'\n');
    Ok(output)
}
