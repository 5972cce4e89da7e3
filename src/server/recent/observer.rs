//! Enters calls as the ledger tells them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::excerpt::{arguments, reply_text, subject};
use super::{Recent, Told};
use crate::limits::{RECENT_LISTED_PATHS, RECENT_SUBJECT_BYTES};
use crate::policy::{Touch, TouchedPath};
use crate::protocol::{Outcome, RpcError};
use crate::server::ledger::{Begun, Entry, Observer};
use crate::text::escape::show_path;

impl Observer for Recent {
    fn wants_excerpts(&self) -> bool {
        true
    }

    fn is_prompt(&self) -> bool {
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
        let (listed, all) = paths(entry);
        summary["outcome"] = entry.outcome.as_str().into();
        summary["code"] = entry.code.into();
        summary["replyBytes"] = entry.reply_bytes.into();
        summary["durationMs"] = (entry.duration.as_micros() as f64 / 1000.0).into();
        summary["pathsMore"] = (entry.paths_more + (all.len() - listed.len()) as u64).into();
        summary["paths"] = listed.into();
        let mut detail = what(call);
        if entry.paths.len() > RECENT_LISTED_PATHS {
            detail["allPaths"] = all.into();
        }
        detail["text"] = reply.map(reply_text).into();
        self.end(&call.client, call.id, Told { summary: members(&summary), detail: members(&detail) });
        Ok(())
    }
}

/// The paths of a call for a list, what was refused first, and all of them.
fn paths(entry: &Entry) -> (Vec<Value>, Vec<Value>) {
    let told = |touched: &TouchedPath, most: usize| {
        let path = show_path(&touched.path);
        json!({"path": &path[..path.floor_char_boundary(most)], "access": touched.touch.as_str()})
    };
    let (refused, others): (Vec<_>, Vec<_>) = entry.paths.iter().partition(|touched| touched.touch == Touch::Denied);
    let listed = refused.into_iter().chain(others).take(RECENT_LISTED_PATHS);
    let listed = listed.map(|touched| told(touched, RECENT_SUBJECT_BYTES)).collect();
    (listed, entry.paths.iter().map(|touched| told(touched, usize::MAX)).collect())
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
