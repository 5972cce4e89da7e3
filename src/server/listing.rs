//! tools/list: made once for each revision, since it never varies within a process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value, json};

use crate::protocol::{Revision, SERVER_INFO_KEY};
use crate::tools::{Descriptor, Registry};

/// How long a client of a stateless revision may keep the list, in milliseconds: it lives as long as the process,
/// and an hour bounds what a restart with other tools can leave stale.
const TTL_MS: u64 = 3_600_000;

/// The lists made so far.
#[derive(Default)]
pub struct Lists(Mutex<HashMap<Revision, Arc<str>>>);

impl Lists {
    /// The `ListToolsResult` for a revision, as JSON text.
    pub fn tools(&self, registry: &Registry, revision: Revision) -> Arc<str> {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let list = made.entry(revision).or_insert_with(|| {
            let tools: Vec<Value> = registry.iter().map(|tool| entry(tool.descriptor(), revision)).collect();
            let mut result = json!({ "tools": tools });
            if revision.is_stateless() {
                cacheable(&mut result);
            }
            result.to_string().into()
        });
        Arc::clone(list)
    }
}

/// Adds what 2026-07-28 requires of a result that may be cached. The answer depends on the operator's choices, so
/// a shared cache must not hand it to others.
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
    members.insert("_meta".to_owned(), json!({ SERVER_INFO_KEY: server_info(Revision::V2026_07_28) }));
}

/// The `Implementation` object that names this server.
pub fn server_info(revision: Revision) -> Value {
    let mut info = json!({"name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION")});
    if revision.has_structured() {
        info["title"] = "replay: files and a shell".into();
    }
    info
}

fn entry(tool: Descriptor, revision: Revision) -> Value {
    let mut entry = Map::new();
    entry.insert("name".to_owned(), tool.name.into());
    if revision.has_structured() {
        entry.insert("title".to_owned(), tool.title.clone().into());
    }
    entry.insert("description".to_owned(), tool.description.into());
    entry.insert("inputSchema".to_owned(), tool.input_schema);
    if let Some(schema) = tool.output_schema.filter(|_| revision.has_structured()) {
        entry.insert("outputSchema".to_owned(), schema);
    }
    if revision.has_annotations() {
        let mut annotations = tool.annotations;
        if !revision.has_structured() {
            // Until 2025-06-18 the title had no other place.
            annotations["title"] = tool.title.into();
        }
        entry.insert("annotations".to_owned(), annotations);
    }
    Value::Object(entry)
}
