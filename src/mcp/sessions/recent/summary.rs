//! Descriptions of one call. Few are ever requested, so short ones are rendered only on request.

use std::borrow::Cow;
use std::sync::Arc;

use replay_base::limits::RECENT_SUBJECT_BYTES;
use replay_base::text::escape::show_path;
use replay_files::policy::{AccessKind, TouchedPath};
use serde_json::{Map, Value, json};

use super::excerpt::{arguments, reason, reply_text, started, subject, undo};
use crate::protocol::{Outcome, outside};
use crate::sessions::ledger::{Begun, Ending, Entry};

/// Parameters of a call up to this length are remembered as they were read, and written only when
/// somebody asks, in bytes.
const RECENT_UNWRITTEN_BYTES: u64 = 512;
/// Paths of a call that a list shows; all are shown of the call alone.
const RECENT_LISTED_PATHS: usize = 8;

/// Upper bound of a JSON value's memory, as a multiple of its text.
const VALUE_FACTOR: usize = 32;

/// Description of one call: members of a JSON object, without its braces.
#[derive(Clone, Debug)]
pub enum CallDescription {
    Written {
        /// Shown in a list.
        summary: String,
        /// Shown only for the single call, in addition; may be empty.
        detail: String,
    },
    /// A running call, not rendered yet.
    Begun(Arc<Begun>),
    /// An ended call, not rendered yet: its entry, the text of its reply, and members added to the
    /// summary. These are the background command it started, the reason of its failure, and its
    /// changes.
    Ended(Arc<Entry>, Option<String>, Map<String, Value>),
}

impl CallDescription {
    /// Describes a call that begins.
    pub fn begun(call: &Arc<Begun>) -> Self {
        let told = Self::Begun(Arc::clone(call));
        if is_short(call) { told } else { told.render() }
    }

    /// Describes a call that has ended.
    pub fn ended(entry: &Arc<Entry>, reply: Option<&Outcome>) -> Self {
        let mut added = Map::new();
        if let Some(reply) = reply {
            let (name, text) = if entry.outcome == Ending::Ok {
                ("background", started(reply))
            } else {
                ("reason", reason(reply))
            };
            added.extend(text.map(|text| (name.to_owned(), text.into())));
            added.extend(undo(reply).map(|undo| ("undo".to_owned(), undo)));
            added.extend(outside(reply).map(|outside| ("outside".to_owned(), outside.clone())));
        }
        let told = Self::Ended(Arc::clone(entry), reply.map(reply_text), added);
        if is_short(&entry.call) && entry.paths.len() <= RECENT_LISTED_PATHS {
            told
        } else {
            told.render()
        }
    }

    fn render(self) -> Self {
        Self::Written {
            summary: self.summary().into_owned(),
            detail: self.detail().into_owned(),
        }
    }

    /// Members shown in a list.
    pub fn summary(&self) -> Cow<'_, str> {
        match self {
            Self::Written { summary, .. } => summary.into(),
            Self::Begun(call) => members(&head(call, "running")).into(),
            Self::Ended(entry, _, added) => {
                let mut summary = end(entry);
                for (name, value) in added {
                    summary[name] = value.clone();
                }
                members(&summary).into()
            }
        }
    }

    /// Members shown only for the single call, in addition.
    pub fn detail(&self) -> Cow<'_, str> {
        match self {
            Self::Written { detail, .. } => detail.into(),
            Self::Begun(call) => members(&argument_members(call)).into(),
            Self::Ended(entry, text, _) => {
                let mut detail = argument_members(&entry.call);
                if entry.paths.len() > RECENT_LISTED_PATHS {
                    detail["allPaths"] = paths(entry).1.into();
                }
                detail["text"] = text.as_deref().into();
                members(&detail).into()
            }
        }
    }

    /// Upper bound of its memory, in bytes.
    pub fn bytes(&self) -> usize {
        let of = |call: &Begun| VALUE_FACTOR * call.request_bytes as usize + call.tool.len();
        match self {
            Self::Written { summary, detail } => summary.len() + detail.len(),
            Self::Begun(call) => of(call),
            Self::Ended(entry, text, added) => {
                let path = |touched: &TouchedPath| {
                    size_of::<TouchedPath>()
                        + touched.path.as_os_str().len()
                        + touched
                            .real
                            .as_ref()
                            .map_or(0, |real| real.as_os_str().len())
                };
                let paths: usize = entry.paths.iter().map(path).sum();
                let value = |value: &Value| {
                    value
                        .as_str()
                        .map_or_else(|| VALUE_FACTOR * value.to_string().len(), str::len)
                };
                let added: usize = added.values().map(value).sum();
                of(&entry.call)
                    + size_of::<Entry>()
                    + paths
                    + text.as_ref().map_or(0, String::len)
                    + added
            }
        }
    }
}

fn is_short(call: &Begun) -> bool {
    call.request_bytes <= RECENT_UNWRITTEN_BYTES
}

/// Returns the paths for a list, refused ones first, and all paths.
fn paths(entry: &Entry) -> (Vec<Value>, Vec<Value>) {
    let told = |touched: &TouchedPath, most: usize| {
        let path = show_path(&touched.path);
        json!({"path": &path[..path.floor_char_boundary(most)], "access": touched.access.as_str()})
    };
    let (refused, others): (Vec<_>, Vec<_>) = entry
        .paths
        .iter()
        .partition(|touched| touched.access == AccessKind::Denied);
    let listed = refused.into_iter().chain(others).take(RECENT_LISTED_PATHS);
    let listed = listed
        .map(|touched| told(touched, RECENT_SUBJECT_BYTES))
        .collect();
    (
        listed,
        entry
            .paths
            .iter()
            .map(|touched| told(touched, usize::MAX))
            .collect(),
    )
}

/// Members known before the call runs.
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

/// Members known after its end.
fn end(entry: &Entry) -> Value {
    let mut summary = head(&entry.call, "done");
    let (listed, all) = paths(entry);
    summary["outcome"] = entry.outcome.as_str().into();
    summary["code"] = entry.code.into();
    summary["replyBytes"] = entry.reply_bytes.into();
    summary["durationMs"] = (entry.duration.as_micros() as f64 / 1000.0).into();
    summary["pathsMore"] = (entry.paths_more + (all.len() - listed.len()) as u64).into();
    summary["paths"] = listed.into();
    summary
}

/// Members shown only for the single call.
fn argument_members(call: &Begun) -> Value {
    json!({"arguments": arguments(call.excerpts.as_ref().unwrap_or(&call.arguments))})
}

/// Renders an object without its braces.
fn members(value: &Value) -> String {
    let text = value.to_string();
    text.get(1..text.len() - 1).unwrap_or_default().to_owned()
}
