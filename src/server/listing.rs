//! tools/list: made once for each revision, since it never varies within a process.

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value, json};

use crate::protocol::{Revision, SERVER_INFO_KEY};
use crate::tools::{Descriptor, Registry};

/// How long a client of a stateless revision may keep the list, in milliseconds: it lives as long
/// as the process, and an hour bounds what a restart with other tools can leave stale.
const TTL_MS: u64 = 3_600_000;

/// The lists made so far.
#[derive(Default)]
pub struct Lists(Mutex<HashMap<Revision, Arc<str>>>);

impl Lists {
    /// The `ListToolsResult` for a revision, as JSON text.
    pub fn tools(&self, registry: &Registry, revision: Revision) -> Arc<str> {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let list = made.entry(revision).or_insert_with(|| {
            let mut list = String::from("{\"tools\":[");
            for (index, tool) in registry.iter().enumerate() {
                list.push_str(if index > 0 { "," } else { "" });
                add_entry(&mut list, &tool.descriptor(), revision);
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

/// Adds what 2026-07-28 requires of a result that may be cached. The answer depends on the
/// operator's choices, so a shared cache must not hand it to others.
pub fn cacheable(result: &mut Value) {
    if let Some(members) = result.as_object_mut() {
        members.insert("ttlMs".to_owned(), TTL_MS.into());
        members.insert("cacheScope".to_owned(), "private".into());
        complete(members);
    }
}

/// Adds what 2026-07-28 requires of every result.
pub fn complete(members: &mut Map<String, Value>) {
    members.insert("resultType".to_owned(), "complete".into());
    members.insert(
        "_meta".to_owned(),
        json!({ SERVER_INFO_KEY: server_info(Revision::V2026_07_28) }),
    );
}

/// The `Implementation` object that names this server.
pub fn server_info(revision: Revision) -> Value {
    let mut info = json!({"name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION")});
    if revision.has_structured() {
        info["title"] = "replay: files and a shell".into();
    }
    info
}

/// Writes the `Tool` object of one; its schemas are text already.
fn add_entry(list: &mut String, tool: &Descriptor, revision: Revision) {
    let mut member = |name: &str, value: &dyn fmt::Display| {
        let open = if name == "name" { '{' } else { ',' };
        // Writing to a String cannot fail.
        let _ = write!(list, "{open}\"{name}\":{value}");
    };
    let text = |text: &str| Value::from(text);
    member("name", &text(&tool.name));
    if revision.has_structured() {
        member("title", &text(&tool.title));
    }
    member("description", &text(&tool.description));
    member("inputSchema", &tool.input_schema);
    if let Some(schema) = tool.output_schema.filter(|_| revision.has_structured()) {
        member("outputSchema", &schema);
    }
    if revision.has_annotations() {
        let mut annotations = tool.annotations.clone();
        if !revision.has_structured() {
            // Until 2025-06-18 the title had no other place.
            annotations["title"] = text(&tool.title);
        }
        member("annotations", &annotations);
    }
    list.push('}');
}
