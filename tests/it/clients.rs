//! Replies in the form that each client passes on to its model.

use std::fs;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::harness::Server;
use crate::schema::NEWEST_HANDSHAKE;
use crate::tree::Tree;

/// Starts a server for a client of this name.
fn start(tree: &Tree, client: &str, flags: &[&str]) -> Server {
    let root = tree.path("work");
    let allow = format!("{}:rw", root.display());
    let args = [&["--allow", &allow][..], flags].concat();
    Server::start(tree, &args).opened_by(NEWEST_HANDSHAKE, client)
}

/// A result without what differs between runs.
fn result(server: &mut Server, tool: &str, arguments: Value) -> Value {
    server.call(tool, arguments).result().clone()
}

#[test]
fn known_client_gets_text_alone() {
    let tree = Tree::new();
    tree.file("work/a", "one\n");
    let mut server = start(&tree, "claude-code", &[]);
    let tools = server.request("tools/list", json!({})).result()["tools"].clone();
    let schemas = tools.as_array().unwrap().iter();
    let schemas = schemas.filter(|tool| tool.get("outputSchema").is_some());
    assert_eq!(schemas.count(), 0);
    let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
    assert_eq!(
        result(
            &mut server,
            "grep_files",
            json!({"regex": "one", "directory": "."})
        ),
        text("a\n1: one\n")
    );
}

#[test]
fn failures_are_results_for_known_client() {
    let tree = Tree::new();
    tree.dir("work");
    let missing = |server: &mut Server| server.call("read_file", json!({"path": "missing"}));
    let mut known = start(&tree, "claude-code", &[]);
    assert_eq!(missing(&mut known).result()["isError"], true);
    let mut unknown = start(&tree, "it", &[]);
    assert_eq!(missing(&mut unknown).code(), -32002);
    let mut told = start(&tree, "claude-code", &["--errors", "codes"]);
    assert_eq!(missing(&mut told).code(), -32002);
    let mut none = start(&tree, "claude-code", &["--client", "none"]);
    assert_eq!(missing(&mut none).code(), -32002);
    let mut named = start(&tree, "it", &["--client", "claude"]);
    assert_eq!(missing(&mut named).result()["isError"], true);
    let mut plain = start(&tree, "it", &["--client", "pydantic-ai"]);
    let reply = missing(&mut plain);
    let text = reply.text();
    assert!(
        text.starts_with("error: ") && text.contains("does not exist"),
        "{text}"
    );
    assert_eq!(reply.result().get("isError"), None);
}

#[test]
fn exit_status_is_error_by_profile() {
    let tree = Tree::new();
    tree.dir("work");
    for (client, is_error, text) in [
        ("it", json!(true), "(no output)\n[exit code: 3]"),
        ("gemini-cli-mcp-client-x", Value::Null, "[exit 3]\n"),
    ] {
        let mut server = start(&tree, client, &[]);
        let exited = result(&mut server, "execute_command", json!({"command": "exit 3"}));
        assert_eq!(exited["isError"], is_error, "{client}");
        assert_eq!(exited["content"][0]["text"], text);
    }
}

#[test]
fn text_blocks_are_joined_by_profile() {
    let tree = Tree::new();
    tree.dir("work");
    let mut server = start(&tree, "codex-mcp-client", &[]);
    let command = json!({"command": "echo out; echo err >&2"});
    assert_eq!(
        result(&mut server, "execute_command", command)["content"],
        json!([{"type": "text", "text": "out\n[stderr]\nerr\n"}])
    );
}

#[test]
fn operator_file_changes_profile() {
    let tree = Tree::new();
    tree.dir("work");
    let file = tree.path("clients.toml");
    fs::write(&file, "[gemini.replies]\nexit_is_error = true\n").unwrap();
    let flags = ["--clients", file.to_str().unwrap()];
    let mut server = start(&tree, "gemini-cli-mcp-client", &flags);
    let exited = result(&mut server, "execute_command", json!({"command": "exit 3"}));
    assert_eq!(exited["isError"], true);
}

#[test]
fn operator_file_cannot_protect_paths() {
    let tree = Tree::new();
    tree.dir("work");
    let file = tree.path("clients.toml");
    fs::write(&file, "[codex]\nprotects = ['x']\n").unwrap();
    let mut server = Server::start(&tree, &["--clients", file.to_str().unwrap()]);
    assert_eq!(server.wait_exit().code(), Some(2));
    let expected = format!(
        "replay: --clients {}: [codex] has `protects`, which only the embedded table can have; give \
         the paths with --protect\n",
        file.display()
    );
    assert_eq!(server.stderr(), expected);
}

#[test]
fn list_cut_for_client_proposes_no_larger_maximum() {
    let tree = Tree::new();
    for index in 0..200 {
        tree.file(format!("work/{index:060}.txt"), "");
    }
    let directory = tree.text("work");
    for client in ["Cline", "it"] {
        let mut server = start(&tree, client, &[]);
        let arguments = json!({"directory": directory, "globs": ["*.txt"], "max": 150});
        let found = result(&mut server, "glob_search", arguments);
        let text = found["content"][0]["text"].as_str().unwrap();
        let is_known = client == "Cline";
        let note = if is_known {
            text.lines().next_back()
        } else {
            text.lines().next()
        };
        let end = if is_known {
            ": narrow the search]"
        } else {
            "raise max or narrow globs]"
        };
        assert!(note.unwrap().ends_with(end), "{client}: {text}");
    }
}
