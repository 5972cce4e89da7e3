//! Logs as resources, which replies link to or name.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use replay_mcp::protocol::{Body, Code, Outcome, Revision, RpcError};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::listing::complete;
use super::tool_server::Server;

/// MIME type of all logs.
const MIME: &str = "text/plain";

impl Server {
    /// Result of `resources/list`, the newest log first.
    pub(super) fn list_logs(&self, revision: Revision) -> Body {
        let logs = self.services.logs.all();
        let entries: Vec<Value> = logs
            .iter()
            .rev()
            .map(|log| json!({"uri": log.uri, "name": log.name, "mimeType": MIME, "size": log.kept.len()}))
            .filter_map(|mut entry| {
                if !revision.has_links() {
                    entry.as_object_mut()?.remove("size");
                }
                Some(entry)
            })
            .collect();
        fresh(json!({ "resources": entries }), revision)
    }

    /// Result of `resources/read`.
    pub(super) fn read_log(&self, revision: Revision, params: Option<&RawValue>) -> Outcome {
        #[derive(Deserialize)]
        struct Params {
            uri: String,
        }
        let Some(Ok(params)) = params.map(|raw| serde_json::from_str::<Params>(raw.get())) else {
            let message = "`uri` is missing or not a string; resources/list has the URIs";
            return Err(RpcError::new(Code::InvalidParams, message));
        };
        let Some((log, offset)) = self.services.logs.find_from(&params.uri) else {
            // Until 2025-11-25 a missing resource has its own code (server/resources, "Error
            // Handling").
            let code = if revision.is_stateless() {
                Code::InvalidParams
            } else {
                Code::NotFound
            };
            let message = format!(
                "no log `{}` with this byte; only the latest logs are kept, and resources/list \
                 has them",
                params.uri
            );
            return Err(RpcError {
                data: Some(json!({"uri": params.uri})),
                ..RpcError::new(code, message)
            });
        };
        let all = log.kept.len();
        let read = log.kept.read(offset, self.services.resource_bytes());
        let read = read
            .map_err(|error| RpcError::new(Code::Internal, format!("`{}`: {error}", params.uri)))?;
        let mut part = &read[..];
        if offset + part.len() < all {
            part = &part[..memchr::memrchr(b'\n', part).map_or(part.len(), |at| at + 1)];
        }
        let mut contents = vec![match std::str::from_utf8(part) {
            Ok(text) => json!({"uri": params.uri, "mimeType": MIME, "text": text}),
            Err(_) => json!({"uri": params.uri, "mimeType": MIME, "blob": STANDARD.encode(part)}),
        }];
        let end = offset + part.len();
        if end < all {
            let next = format!("{}?offset={end}", log.uri);
            let note = format!("[bytes {offset} to {end} of {all}; `{next}` has what follows]");
            contents.push(json!({"uri": next, "mimeType": MIME, "text": note}));
        }
        Ok(fresh(json!({ "contents": contents }), revision))
    }
}

/// Builds a result that 2026-07-28 clients must not cache.
fn fresh(mut result: Value, revision: Revision) -> Body {
    if let Some(members) = result.as_object_mut().filter(|_| revision.is_stateless()) {
        members.insert("ttlMs".to_owned(), 0.into());
        members.insert("cacheScope".to_owned(), "private".into());
        complete(members);
    }
    Body::Raw(result.to_string().into())
}
