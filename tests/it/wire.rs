//! The protocol as a client sees it. The harness checks each line against the schema, so old
//! revisions get no later fields.
//!
//! A panic inside a tool cannot be provoked from outside. The server's unit tests check that it
//! costs only one request.

mod background;
mod bounded;
mod folded;
mod gone;
mod revisions;
mod running;
mod stdio;
mod words;

use serde_json::Value;

use crate::harness::Server;
use crate::tree::Tree;

/// Makes a tree with one file in a writable directory. Returns it with the flag that allows the
/// directory.
fn stage() -> (Tree, String) {
    let tree = Tree::new();
    tree.file("work/hello.txt", "hello\n").dir("outside");
    let allow = format!("{}:rw", tree.text("work"));
    (tree, allow)
}

/// Starts a server on such a tree and opens it with this revision. Commands run without a sandbox.
fn open_server(revision: &str) -> (Tree, Server) {
    let (tree, allow) = stage();
    let server = Server::open(&tree, revision, &["--allow", &allow, "--sandbox", "off"]);
    (tree, server)
}

/// Starts a server on such a tree, without any message.
fn start_server() -> (Tree, Server) {
    let (tree, allow) = stage();
    let server = Server::start(&tree, &["--allow", &allow, "--sandbox", "off"]);
    (tree, server)
}

/// Returns the code of an error without a request id.
#[track_caller]
fn error_code(message: &Value) -> i64 {
    assert!(
        message["id"].is_null(),
        "an id where null is due: {message}"
    );
    message["error"]["code"]
        .as_i64()
        .unwrap_or_else(|| panic!("no error: {message}"))
}
