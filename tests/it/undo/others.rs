//! Work of others that a running command destroys: it is saved, reported and restored.

use std::fs;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::commands::TIERS;
use crate::harness::Server;
use crate::schema::NEWEST_HANDSHAKE;
use crate::tree::Tree;

/// Starts a server, and a background command that has changed `g` and runs `line` once `go` exists.
fn start_waiting(tree: &Tree, tier: &str, more: &[&str], line: &str) -> Server {
    let allowed = format!("{}:rw", tree.text("work"));
    let flags = ["--allow", &allowed, "--sandbox", tier]
        .iter()
        .chain(more)
        .copied()
        .collect::<Vec<_>>();
    let mut server = Server::open(tree, NEWEST_HANDSHAKE, &flags);
    let line =
        format!("echo changed >g; touch began; until [ -e go ]; do sleep 0.01; done; {line}");
    server
        .call(
            "execute_command",
            json!({"command": line, "background": true}),
        )
        .texts();
    let began = "until [ -e began ]; do sleep 0.01; done";
    server
        .call("execute_command", json!({"command": began}))
        .texts();
    server
}

/// Lets the command continue, and returns the text of its end.
fn end(server: &mut Server, tree: &Tree) -> Value {
    tree.file("work/go", "");
    let reply = server.call("follow_command", json!({"commandId": "c1", "waitSecs": 60}));
    reply.result()["structuredContent"].clone()
}

#[test]
fn undo_of_older_command_restores_work_of_others() {
    for tier in TIERS {
        let tree = Tree::new();
        tree.file("work/f", "old").file("work/g", "old");
        let line = "rm new mine; echo other >f";
        let mut server = start_waiting(&tree, tier, &[], line);
        for (path, content) in [("new", "by a call"), ("f", "replaced")] {
            let path = tree.text(&format!("work/{path}"));
            server
                .call("write_file", json!({"path": path, "content": content}))
                .texts();
        }
        tree.file("work/mine", "by a person");
        let told = end(&mut server, &tree)["changed"].clone();
        assert_eq!(
            told,
            json!({"call": 1, "edited": 2, "created": 1, "deleted": 2}),
            "{tier}"
        );
        let undone = server.call("undo_changes", json!({"calls": [1]})).text();
        let now = ["f", "g", "mine", "new"]
            .map(|path| fs::read_to_string(tree.path("work").join(path)).ok());
        let back =
            ["replaced", "old", "by a person", "by a call"].map(|text| Some(text.to_owned()));
        assert_eq!(now, back, "{tier}: {undone}");
    }
}

#[test]
fn later_replaced_autorun_file_is_reported_and_frozen() {
    const PACKAGE: &str = "{\"name\":\"a\",\"scripts\":{\"test\":\"true\"}}";
    for tier in TIERS {
        for frozen in [false, true] {
            let tree = Tree::new();
            tree.file("work/package.json", PACKAGE)
                .file("work/g", "old");
            let evil = r#"printf '{"name":"b","scripts":{"test":"true","postinstall":"evil"}}' >package.json"#;
            let more: &[&str] = if frozen { &["--freeze-autorun"] } else { &[] };
            let mut server = start_waiting(&tree, tier, more, evil);
            let edit = json!({"path": tree.text("work/package.json"), "edits": [{"oldText": "\"a\"", "newText": "\"b\""}]});
            server.call("edit_file", edit).texts();
            let told = end(&mut server, &tree).to_string();
            assert!(told.contains("postinstall"), "{tier}: {told}");
            let now = fs::read_to_string(tree.path("work/package.json")).unwrap();
            assert_eq!(now.contains("evil"), !frozen, "{tier}: {told}");
            assert!(now.contains("\"b\""), "{tier}: {now}");
        }
    }
}
