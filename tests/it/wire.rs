//! The protocol as a client sees it. Each test says what is required; the schemas are held by the
//! harness on every line anyway, and with them that an old revision gets nothing that came later.
//!
//! A panic inside a tool cannot be caused from outside: the server's own tests hold that it costs
//! one request.

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

/// A tree with one file in a writable directory, and the flag that allows it.
fn stage() -> (Tree, String) {
    let tree = Tree::new();
    tree.file("work/hello.txt", "hello\n").dir("outside");
    let allow = format!("{}:rw", tree.text("work"));
    (tree, allow)
}

/// A server on such a tree, opened as this revision does; commands run without a wall.
fn opened(revision: &str) -> (Tree, Server) {
    let (tree, allow) = stage();
    let server = Server::open(&tree, revision, &["--allow", &allow, "--sandbox", "off"]);
    (tree, server)
}

/// A server on such a tree to which nothing was said yet.
fn unopened() -> (Tree, Server) {
    let (tree, allow) = stage();
    let server = Server::start(&tree, &["--allow", &allow, "--sandbox", "off"]);
    (tree, server)
}

/// The code of an error that answers no request in particular.
#[track_caller]
fn refused(message: &Value) -> i64 {
    assert!(
        message["id"].is_null(),
        "an id where null is due: {message}"
    );
    message["error"]["code"]
        .as_i64()
        .unwrap_or_else(|| panic!("no error: {message}"))
}
