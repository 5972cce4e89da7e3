//! `replay call` and `replay tools`: the same core as the server's, for one question on the command line.

use std::fmt::Write as _;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value, json};

use crate::protocol::{Body, Content, Incoming, Outcome, Revision, parse, render};
use crate::server::{Admission, Outbox, Server, Session};

/// What to print, and whether the tool failed.
#[derive(Debug)]
pub struct Answer {
    /// For stdout.
    pub output: Vec<u8>,
    /// The exit status says so.
    pub failed: bool,
}

/// Progress and logs have no reader here.
struct Nowhere;

impl Outbox for Nowhere {
    fn send(&self, _message: &[u8]) {}
}

/// Runs one tool. Fails when the arguments cannot be read; a tool's own failure is an answer.
pub fn call(server: &Arc<Server>, tool: &str, arguments: &[String], json: bool) -> Result<Answer> {
    let arguments = self::arguments(arguments)?;
    if tool == "execute_command" && [json!(true), json!("true")].contains(&arguments["background"]) {
        bail!("a background command would end with this program; `replay --mcp-server` keeps them");
    }
    let params = json!({"name": tool, "arguments": arguments});
    let line = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let Incoming::Request(request) = parse(line.as_bytes()) else { bail!("the call cannot be written as a request") };
    let session = Session::new(server.clone());
    let (outcome, revision) = match session.admit(&request) {
        Admission::Admitted(ticket) => {
            let outcome = session.serve(&ticket, &request, &Nowhere).context("the call was cancelled")?;
            (outcome, ticket.revision)
        }
        Admission::Refused(refused) => (Err(refused.error), refused.revision),
        Admission::Nothing => bail!("the call was not answered"),
    };
    let failed = match &outcome {
        Ok(Body::Tool(reply)) => reply.is_error,
        Ok(Body::Raw(_) | Body::Line(_)) => false,
        Err(_) => true,
    };
    let output = if json { whole(&outcome, revision)? } else { text(&outcome) };
    Ok(Answer { output, failed })
}

/// `key=value` pairs, or one JSON object.
fn arguments(typed: &[String]) -> Result<Value> {
    if let [only] = typed
        && only.trim_start().starts_with('{')
    {
        return serde_json::from_str(only).context("the arguments are not JSON");
    }
    let mut members = Map::new();
    for pair in typed {
        let (key, value) = pair
            .split_once('=')
            .with_context(|| format!("`{pair}` is neither key=value nor the only argument as a JSON object"))?;
        members.insert(key.to_owned(), value.into());
    }
    Ok(Value::Object(members))
}

fn text(outcome: &Outcome) -> Vec<u8> {
    let mut text = String::new();
    match outcome {
        Ok(Body::Tool(reply)) => {
            for block in &reply.content {
                // Writing to a String cannot fail.
                let _ = match block {
                    Content::Text(block) => write!(text, "{block}"),
                    Content::Image { data, mime } | Content::Audio { data, mime, .. } => {
                        write!(text, "[{mime}, {} bytes as base64; --json prints it]", data.len())
                    }
                    // There is nobody to read it from when this process has ended.
                    Content::Link { .. } => continue,
                    Content::Blob { mime, blob, uri } => {
                        write!(text, "[{uri}: {mime}, {} bytes as base64; --json prints it]", blob.len())
                    }
                };
                if !text.ends_with('\n') {
                    text.push('\n');
                }
            }
        }
        Ok(Body::Raw(result)) => {
            let _ = writeln!(text, "{result}");
        }
        Ok(Body::Line(line)) => text.push_str(&String::from_utf8_lossy(line)),
        Err(error) => {
            let _ = writeln!(text, "error {}: {}", error.code.number(), error.message);
        }
    }
    text.into_bytes()
}

/// The result (or the error) as a client of the newest handshake revision gets it.
fn whole(outcome: &Outcome, revision: Revision) -> Result<Vec<u8>> {
    let mut message = Vec::new();
    render(&mut message, None, outcome, revision);
    let mut message: Value = serde_json::from_slice(&message)?;
    let part = message["result"].take();
    let part = if part.is_null() { json!({"error": message["error"].take()}) } else { part };
    let mut output = serde_json::to_vec_pretty(&part)?;
    output.push(b'\n');
    Ok(output)
}

/// The tools: a line each, or the whole result of tools/list.
pub fn tools(server: &Arc<Server>, json: bool) -> String {
    let list = server.list(Revision::NEWEST_HANDSHAKE);
    let list: Value = serde_json::from_str(&list).unwrap_or_default();
    if json {
        return format!("{list:#}\n");
    }
    let mut text = String::new();
    for tool in list["tools"].as_array().into_iter().flatten() {
        let parameters: Vec<String> = tool["inputSchema"]["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| {
                let required =
                    tool["inputSchema"]["required"].as_array().is_some_and(|names| names.contains(&json!(name)));
                if required { name.clone() } else { format!("[{name}]") }
            })
            .collect();
        let title = tool["title"].as_str().unwrap_or_default();
        let name = tool["name"].as_str().unwrap_or_default();
        let _ = writeln!(text, "{name:<24}  {title}: {}", parameters.join(" "));
    }
    text
}
