//! Enters calls as the ledger tells them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::excerpt::{arguments, reply_text, subject};
use super::{Recent, Told};
use crate::protocol::{Outcome, RpcError};
use crate::server::ledger::{Begun, Entry, Observer};
use crate::text::escape::show_path;

impl Observer for Recent {
    fn wants_excerpts(&self) -> bool {
        true
    }

    fn begun(&self, call: &Arc<Begun>) -> Result<(), RpcError> {
        let told = Told { summary: members(&head(call, "running")), detail: members(&what(call)) };
        self.begin(&call.client, call.id, told);
        Ok(())
    }

    fn progressed(&self, call: &Begun, done: u64, total: Option<u64>, message: &str) {
        let progress = json!({"done": done, "total": total, "message": message});
        self.progress(&call.client, call.id, &progress.to_string());
    }

    fn ended(&self, entry: &Entry, reply: Option<&Outcome>) -> Result<(), RpcError> {
        let call = &entry.call;
        let mut summary = head(call, "done");
        let paths = entry
            .paths
            .iter()
            .map(|touched| json!({"path": show_path(&touched.path), "access": touched.touch.as_str()}));
        summary["outcome"] = entry.outcome.as_str().into();
        summary["code"] = entry.code.into();
        summary["replyBytes"] = entry.reply_bytes.into();
        summary["durationMs"] = (entry.duration.as_micros() as f64 / 1000.0).into();
        summary["paths"] = paths.collect();
        summary["pathsMore"] = entry.paths_more.into();
        let mut detail = what(call);
        detail["text"] = reply.map(reply_text).into();
        self.end(&call.client, call.id, Told { summary: members(&summary), detail: members(&detail) });
        Ok(())
    }
}

/// What is known of a call before its work.
fn head(call: &Begun, state: &str) -> Value {
    json!({
        "at": humantime::format_rfc3339_millis(call.at).to_string(),
        "client": &*call.client,
        "session": call.session.as_deref(),
        "tool": call.tool,
        "subject": subject(call.excerpts.as_ref().unwrap_or(&call.arguments)),
        "state": state,
        "revision": call.revision.as_str(),
        "trace": call.trace_id,
        "requestBytes": call.request_bytes,
    })
}

/// What is shown of the call alone.
fn what(call: &Begun) -> Value {
    json!({"arguments": arguments(call.excerpts.as_ref().unwrap_or(&call.arguments))})
}

/// An object without its braces.
fn members(value: &Value) -> String {
    let text = value.to_string();
    text.get(1..text.len() - 1).unwrap_or_default().to_owned()
}
