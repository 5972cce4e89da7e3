//! Undo with several tokens: each token can undo only its own changes, also in a shared directory.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::call;
use super::client::Server;
use super::tenants::token;
use crate::tree::Tree;

#[test]
fn changes_are_invisible_to_other_tokens() {
    let tree = Tree::new();
    tree.file("both/a", "1");
    let own = format!("{}:rw", tree.text("both"));
    let [alice, bob] =
        ["alice", "bob"].map(|name| token(&tree, &[name, "--own", &own, "--own-tools", "files"]));
    let server = Server::start(
        &tree,
        &[
            "--token-file",
            &tree.text("tokens.jsonl"),
            "--allow",
            &tree.text("both"),
        ],
    );
    let ask = |token: &str, tool: &str, arguments: Value| {
        server
            .post_with(&call(1, tool, &arguments), &[("Authorization", token)])
            .json()
    };
    let text = |reply: Value| {
        reply["result"]["content"][0]["text"]
            .as_str()
            .map_or_else(|| reply.to_string(), str::to_owned)
    };
    let path = tree.text("both/a");
    ask(&alice, "write_file", json!({"path": path, "content": "2"}));
    assert_eq!(
        text(ask(&bob, "list_changes", json!({}))),
        "[no call has changed anything]"
    );
    assert_eq!(
        ask(&bob, "undo_changes", json!({"calls": [1]}))["error"]["message"],
        "call 1 is not in the journal, which has none; list them first"
    );
    ask(&bob, "write_file", json!({"path": path, "content": "3"}));
    let refused =
        ask(&alice, "undo_changes", json!({"calls": [1]}))["error"]["message"].to_string();
    assert!(
        refused.contains("a: another file or directory has its name now"),
        "{refused}"
    );
    assert_eq!(
        text(ask(&bob, "undo_changes", json!({"calls": [1]}))),
        "reverted a\n[undone; this is call 2, which can be undone too]"
    );
    assert_eq!(tree.read("both/a"), "2");
}
