//! The server card: a description for clients that look for servers (SEP-2127, and the drafts
//! before it).

use replay_mock::Manifest;
use serde_json::{Value, json};

/// Paths of the card: that of the extension, and those of its drafts.
pub(crate) const PATHS: [&str; 4] = [
    "/mcp/server-card",
    "/.well-known/mcp/server-card",
    "/.well-known/mcp/server-card.json",
    "/.well-known/mcp.json",
];

const SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json";

/// Returns the card of a manifest, for the MCP endpoint at `url`. `versions` are the revisions that
/// the server supports.
pub(crate) fn card(manifest: &Manifest, url: &str, versions: &[&str]) -> Value {
    let name = manifest.name.as_deref().unwrap_or("replay-mock");
    let mut card = json!({
        "$schema": SCHEMA,
        "name": format!("local.mock/{name}"),
        "version": manifest.version.as_deref().unwrap_or(env!("CARGO_PKG_VERSION")),
        "description": manifest.instructions.as_deref().unwrap_or("A mock of an MCP server"),
        "remotes": [{
            "type": "streamable-http",
            "url": url,
            "supportedProtocolVersions": versions,
        }],
    });
    if let Some(title) = &manifest.title {
        card["title"] = title.as_str().into();
    }
    for (key, value) in &manifest.card {
        card[key] = value.clone();
    }
    card
}
