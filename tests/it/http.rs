//! The server over HTTP, with a hand-written client over TCP, so that no library hides protocol
//! errors.

mod activity;
mod audit;
pub mod client;
mod differential;
mod early;
mod floods;
mod leaving;
mod nested;
mod operating;
mod owned;
mod pages;
mod ports;
mod provisioning;
mod reload;
mod revisions;
mod safety;
mod secrets;
mod slow;
mod successor;
pub mod tenants;
mod undo;
mod websocket;

use serde_json::{Value, json};

use crate::harness::stateless_meta;
use crate::tree::Tree;
use client::Server;

/// Creates a tree with one file in a writable directory, and a server on it without tokens.
/// Commands run without a sandbox.
fn stage(flags: &[&str]) -> (Tree, Server) {
    let tree = Tree::new();
    tree.file("work/hello.txt", "hello\n").dir("outside");
    let allow = format!("{}:rw", tree.text("work"));
    let server = Server::start(
        &tree,
        &[&["--allow", &allow, "--sandbox", "off"], flags].concat(),
    );
    (tree, server)
}

/// Returns a request of a handshake revision.
fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// Returns a tool call.
pub fn call(id: u64, tool: &str, arguments: &Value) -> Value {
    request(
        id,
        "tools/call",
        &json!({"name": tool, "arguments": arguments}),
    )
}

/// Converts a message to revision 2026-07-28, and returns its HTTP headers.
pub fn stateless(message: &Value) -> (Value, Vec<(String, String)>) {
    let mut message = message.clone();
    message["params"]["_meta"] = stateless_meta();
    let header = |name: &str, value: &Value| {
        (
            name.to_owned(),
            value.as_str().unwrap_or_default().to_owned(),
        )
    };
    let mut headers = vec![
        header("MCP-Protocol-Version", &json!("2026-07-28")),
        header("Mcp-Method", &message["method"]),
    ];
    if message["method"] == "tools/call" {
        headers.push(header("Mcp-Name", &message["params"]["name"]));
    }
    (message, headers)
}
