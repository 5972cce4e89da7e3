//! Renders an outcome as one line for a revision. Only this module knows the wire format of
//! replies.

use std::io::Write as _;

use replay_base::PROGRAM_NAME;
use replay_clients::ReplyParts;
use serde_json::{Value, json};

use super::json::{escape_into, escaped_length};
use super::message::Id;
use super::meta::SERVER_INFO_KEY;
use super::reply::{Body, Content, Outcome, RpcError, ToolReply};
use super::revision::Revision;

/// Appends the reply to request `id` (`None`: `null`) as one JSON-RPC message, without a newline.
pub fn render(out: &mut Vec<u8>, id: Option<&Id>, outcome: &Outcome, revision: Revision) {
    if let Ok(Body::Line(line)) = outcome {
        out.extend_from_slice(line);
        return;
    }
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.map_or("null", Id::as_json).as_bytes());
    match outcome {
        Ok(Body::Raw(result)) => {
            out.extend_from_slice(b",\"result\":");
            out.extend_from_slice(result.as_bytes());
        }
        Ok(Body::Tool(reply)) => {
            out.extend_from_slice(b",\"result\":");
            tool_result(out, reply, revision);
        }
        Ok(Body::Line(_)) => {}
        Err(error) => {
            out.extend_from_slice(b",\"error\":");
            rpc_error(out, error);
        }
    }
    out.push(b'}');
}

/// Length of the rendered outcome in bytes, without names, ids and brackets. An estimate of memory.
pub fn rendered_length(outcome: &Outcome) -> usize {
    match outcome {
        Err(error) => escaped_length(&error.message),
        Ok(Body::Raw(text)) => text.len(),
        Ok(Body::Line(line)) => line.len(),
        Ok(Body::Tool(reply)) => reply_length(reply),
    }
}

/// Length of a rendered tool reply in bytes, in the same way.
pub fn reply_length(reply: &ToolReply) -> usize {
    let of = |content: &Content| match content {
        Content::Text(text) | Content::Note(text) => escaped_length(text),
        Content::Image { data, .. } | Content::Audio { data, .. } => data.len(),
        Content::Blob { blob, .. } => blob.len(),
        Content::Link { uri, .. } => escaped_length(uri),
    };
    reply.content.iter().map(of).sum::<usize>() + reply.structured.as_ref().map_or(0, String::len)
}

/// Renders a notification as a JSON-RPC message, without a newline.
pub fn notification(method: &str, params: &Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    json_into(
        &mut out,
        &json!({"jsonrpc": "2.0", "method": method, "params": params}),
    );
    out
}

fn rpc_error(out: &mut Vec<u8>, error: &RpcError) {
    let _ = write!(out, "{{\"code\":{},\"message\":", error.code.number());
    escape_into(out, &error.message);
    if let Some(data) = &error.data {
        out.extend_from_slice(b",\"data\":");
        json_into(out, data);
    }
    out.push(b'}');
}

fn tool_result(out: &mut Vec<u8>, reply: &ToolReply, revision: Revision) {
    let form = reply.form;
    let is_structured = form.parts != ReplyParts::Text && revision.has_structured();
    let structured = is_structured
        .then(|| reply.structured_with_notes())
        .flatten();
    out.extend_from_slice(b"{\"content\":[");
    if form.parts != ReplyParts::Structured || structured.is_none() {
        blocks(out, reply, revision);
    }
    out.push(b']');
    if let Some(structured) = structured {
        out.extend_from_slice(b",\"structuredContent\":");
        out.extend_from_slice(structured.as_bytes());
    }
    if reply.is_error && form.has_error {
        out.extend_from_slice(b",\"isError\":true");
    }
    if revision.is_stateless() {
        out.extend_from_slice(b",\"resultType\":\"complete\"");
    }
    if revision.is_stateless() || !reply.meta.is_empty() {
        meta(out, &reply.meta, revision);
    }
    out.push(b'}');
}

fn blocks(out: &mut Vec<u8>, reply: &ToolReply, revision: Revision) {
    let form = reply.form;
    let mut is_first = true;
    let mut block = |out: &mut Vec<u8>, block: &Content| {
        if !std::mem::take(&mut is_first) {
            out.push(b',');
        }
        content(out, block, revision);
    };
    let is_text = |block: &&Content| block.as_text().is_some();
    if form.has_one_block && reply.content.iter().any(|block| is_text(&block)) {
        block(out, &Content::Text(joined(&reply.content)));
    }
    let shown = reply
        .content
        .iter()
        .filter(|block| {
            revision.has_links() && form.has_links || !matches!(block, Content::Link { .. })
        })
        .filter(|block| !form.has_one_block || !is_text(block));
    for other in shown {
        block(out, other);
    }
}

/// Joins the texts of a reply; each ends with a line feed.
fn joined(content: &[Content]) -> String {
    let mut all = String::new();
    for text in content.iter().filter_map(Content::as_text) {
        all.push_str(text);
        if !text.ends_with('\n') {
            all.push('\n');
        }
    }
    all
}

fn meta(out: &mut Vec<u8>, members: &[(&'static str, Value)], revision: Revision) {
    out.extend_from_slice(b",\"_meta\":{");
    let mut first = true;
    let mut member = |out: &mut Vec<u8>, key: &str, value: &Value| {
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        escape_into(out, key);
        out.push(b':');
        json_into(out, value);
    };
    for (key, value) in members {
        member(out, key, value);
    }
    if revision.is_stateless() {
        member(
            out,
            SERVER_INFO_KEY,
            &json!({"name": PROGRAM_NAME, "version": env!("CARGO_PKG_VERSION")}),
        );
    }
    out.push(b'}');
}

fn content(out: &mut Vec<u8>, block: &Content, revision: Revision) {
    match block {
        Content::Text(text) | Content::Note(text) => {
            out.extend_from_slice(b"{\"type\":\"text\",\"text\":");
            escape_into(out, text);
            out.push(b'}');
        }
        Content::Image { data, mime } => media(out, "image", data, mime),
        Content::Link {
            uri,
            name,
            mime,
            size,
        } => {
            let link = json!({"type": "resource_link", "uri": uri, "name": name, "mimeType": mime, "size": size});
            json_into(out, &link);
        }
        Content::Audio { data, mime, .. } if revision.has_annotations() => {
            media(out, "audio", data, mime);
        }
        Content::Audio {
            data: blob,
            mime,
            uri,
        }
        | Content::Blob { uri, mime, blob } => {
            out.extend_from_slice(b"{\"type\":\"resource\",\"resource\":{\"uri\":");
            escape_into(out, uri);
            out.extend_from_slice(b",\"mimeType\":");
            escape_into(out, mime);
            out.extend_from_slice(b",\"blob\":\"");
            out.extend_from_slice(blob.as_bytes());
            out.extend_from_slice(b"\"}}");
        }
    }
}

/// Base64 needs no JSON escapes, so megabytes of it are copied unchanged.
fn media(out: &mut Vec<u8>, kind: &str, data: &str, mime: &str) {
    let _ = write!(
        out,
        "{{\"type\":\"{kind}\",\"data\":\"{data}\",\"mimeType\":"
    );
    escape_into(out, mime);
    out.push(b'}');
}

fn json_into(out: &mut Vec<u8>, value: &Value) {
    // Values with string keys always serialize, and a write to a `Vec` never fails.
    let _ = serde_json::to_writer(&mut *out, value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Code;
    use pretty_assertions::assert_eq;

    fn rendered(outcome: &Outcome, revision: Revision) -> Value {
        let mut out = Vec::new();
        render(&mut out, None, outcome, revision);
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn rendered_length_matches_output() {
        for text in ["plain", "\u{1}\u{2}\n\t", "a\"b\\c é \u{7f}"] {
            let content = vec![Content::text(text.repeat(1000))];
            let outcome = Ok(Body::Tool(ToolReply {
                content,
                ..ToolReply::default()
            }));
            let length = rendered_length(&outcome);
            let mut out = Vec::new();
            render(&mut out, None, &outcome, Revision::V2024_11_05);
            assert!(
                (length..length + 200).contains(&out.len()),
                "{length} {}",
                out.len()
            );
        }
    }

    #[test]
    fn older_revision_omits_newer_fields() {
        let reply = Ok(Body::Tool(ToolReply {
            content: vec![
                Content::text("a\"b"),
                Content::Link {
                    uri: "x:1".into(),
                    name: "one".into(),
                    mime: "text/plain".into(),
                    size: 3,
                },
                Content::Audio {
                    data: "AA==".into(),
                    mime: "audio/wav".into(),
                    uri: "file:///a".into(),
                },
            ],
            structured: Some("{\"n\":1}".into()),
            meta: vec![("size", json!(3))],
            ..ToolReply::default()
        }));
        let old = json!({"jsonrpc": "2.0", "id": null, "result": {
            "content": [
                {"type": "text", "text": "a\"b"},
                {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "audio/wav", "blob": "AA=="}}],
            "_meta": {"size": 3}}});
        assert_eq!(rendered(&reply, Revision::V2024_11_05), old);
        let newest = json!({"jsonrpc": "2.0", "id": null, "result": {
            "content": [
                {"type": "text", "text": "a\"b"},
                {"type": "resource_link", "uri": "x:1", "name": "one", "mimeType": "text/plain", "size": 3},
                {"type": "audio", "data": "AA==", "mimeType": "audio/wav"}],
            "structuredContent": {"n": 1}, "resultType": "complete",
            "_meta": {"size": 3, SERVER_INFO_KEY: {"name": "replay", "version": env!("CARGO_PKG_VERSION")}}}});
        assert_eq!(rendered(&reply, Revision::V2026_07_28), newest);
    }

    #[test]
    fn error_has_code_message_and_data() {
        let error = RpcError {
            data: Some(json!({"a": 1})),
            ..RpcError::new(Code::NotAllowed, "no\nhint: yes")
        };
        let expected = json!({"jsonrpc": "2.0", "id": null,
            "error": {"code": -32001, "message": "no\nhint: yes", "data": {"a": 1}}});
        assert_eq!(rendered(&Err(error), Revision::V2025_06_18), expected);
    }
}
