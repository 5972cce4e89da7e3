//! tools/list: rendered once for each revision and client, since it never changes within a process.

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use replay_base::PROGRAM_NAME;
use replay_clients::{ReplyParts, ReplyProfile, ReplyStyle};
use replay_mcp::protocol::{Revision, SERVER_INFO_KEY};
use serde_json::{Map, Value, json};

use crate::tools::{Descriptor, Registry};

/// Cache lifetime of the list for stateless revisions, in milliseconds. The list lives as long as
/// the process. An hour limits how long it is stale after a restart with other tools.
const TTL_MS: u64 = 3_600_000;

/// Cache of the rendered lists.
#[derive(Default)]
pub(super) struct Lists(Mutex<HashMap<(Revision, String), Arc<str>>>);

impl Lists {
    /// The `ListToolsResult` for a revision, and for a client with its name in the table, as JSON
    /// text.
    pub(super) fn tools(
        &self,
        registry: &Registry,
        revision: Revision,
        (id, replies): (&str, &ReplyProfile),
    ) -> Arc<str> {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let list = made.entry((revision, id.to_owned())).or_insert_with(|| {
            let mut list = String::from("{\"tools\":[");
            let is_for_model = replies.style == ReplyStyle::Lean && !registry.has_all();
            let listed = registry
                .iter()
                .filter(|tool| !(is_for_model && tool.is_rare()));
            for (index, tool) in listed.enumerate() {
                list.push_str(if index > 0 { "," } else { "" });
                add_entry(&mut list, &tool.descriptor(), revision, replies);
            }
            let mut more = json!({});
            if revision.is_stateless() {
                cacheable(&mut more);
            }
            list.push_str(if revision.is_stateless() { "]," } else { "]" });
            list.push_str(&more.to_string()[1..]);
            list.into()
        });
        Arc::clone(list)
    }
}

/// Adds the members that 2026-07-28 requires of a cacheable result. The result depends on the
/// operator's settings, so a shared cache must not serve it to others.
pub(super) fn cacheable(result: &mut Value) {
    if let Some(members) = result.as_object_mut() {
        members.insert("ttlMs".to_owned(), TTL_MS.into());
        members.insert("cacheScope".to_owned(), "private".into());
        complete(members);
    }
}

/// Adds the members that 2026-07-28 requires of every result.
pub(super) fn complete(members: &mut Map<String, Value>) {
    members.insert("resultType".to_owned(), "complete".into());
    members.insert(
        "_meta".to_owned(),
        json!({ SERVER_INFO_KEY: server_info(Revision::V2026_07_28) }),
    );
}

/// The `Implementation` object that names this server.
pub(super) fn server_info(revision: Revision) -> Value {
    let mut info = json!({"name": PROGRAM_NAME, "version": env!("CARGO_PKG_VERSION")});
    if revision.has_structured() {
        info["title"] = "replay: files and a shell".into();
    }
    info
}

/// Writes the `Tool` object of a tool; its schemas are JSON text already.
fn add_entry(list: &mut String, tool: &Descriptor, revision: Revision, replies: &ReplyProfile) {
    let mut member = |name: &str, value: &dyn fmt::Display| {
        let open = if name == "name" { '{' } else { ',' };
        // A write to a `String` cannot fail.
        let _ = write!(list, "{open}\"{name}\":{value}");
    };
    let text = |text: &str| Value::from(text);
    member("name", &text(&tool.name));
    if revision.has_structured() {
        member("title", &text(&tool.title));
    }
    member("description", &text(&tool.description));
    member("inputSchema", &tool.input_schema);
    let has_structured = revision.has_structured() && replies.structured != ReplyParts::Text;
    if let Some(schema) = tool.output_schema.filter(|_| has_structured) {
        member("outputSchema", &schema);
    }
    if revision.has_annotations() {
        let mut annotations = tool.annotations.clone();
        if !revision.has_structured() {
            // Before 2025-06-18 the title was an annotation.
            annotations["title"] = text(&tool.title);
        }
        member("annotations", &annotations);
    }
    let metas = replies.meta.iter().filter(|meta| meta.is_for(&tool.name));
    let meta: Map<String, Value> = metas.flat_map(|meta| meta.members.clone()).collect();
    if !meta.is_empty() {
        member("_meta", &Value::from(meta));
    }
    list.push('}');
}
