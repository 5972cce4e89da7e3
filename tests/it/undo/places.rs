//! Undo and writes in directories that were moved.

use std::fs;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::commands::{TIERS, start as start_with_commands};
use super::{Stage, refusal, start};
use crate::harness::Server;
use crate::tree::Tree;

/// Makes and deletes a file in `d`.
fn made_and_deleted(server: &mut Server, file: &str) {
    server
        .call(
            "write_file",
            json!({"path": format!("d/{file}"), "content": "evil"}),
        )
        .texts();
    server
        .call("delete_file", json!({"path": format!("d/{file}")}))
        .texts();
}

const MOVED: [(&str, &str); 4] = [
    ("settings.json", ".claude"),
    ("tasks.json", ".vscode"),
    ("settings.json", ".claude"),
    ("hooks/pre-commit", ".claude"),
];

#[test]
fn undo_by_paths_spares_protected_paths() {
    for (file, dir) in MOVED {
        let mut stage = Stage::new(|tree| tree);
        made_and_deleted(&mut stage.server, file);
        if let Some((above, _)) = file.split_once('/') {
            stage.call_text("delete_file", json!({"path": format!("d/{above}")}));
        }
        stage.call_text("move_file", json!({"source": "d", "destination": dir}));
        let before = stage.snapshot();
        let all: Vec<Value> = stage
            .calls()
            .iter()
            .map(|(number, _)| json!(number))
            .collect();
        for calls in [&all[..], &all[1..], &all[all.len() - 2..all.len() - 1]] {
            // Refused, or with nothing to restore.
            stage.server.call(
                "undo_changes",
                json!({"calls": calls, "paths": [format!("d/{file}")]}),
            );
            assert_eq!(stage.snapshot(), before, "{dir}/{file}");
        }
    }
}

#[test]
fn undo_by_paths_names_protected_path() {
    let mut stage = Stage::new(|tree| tree);
    made_and_deleted(&mut stage.server, "settings.json");
    stage.call_text(
        "move_file",
        json!({"source": "d", "destination": ".claude"}),
    );
    let reply = stage.server.call(
        "undo_changes",
        json!({"calls": [3, 2], "paths": ["d/settings.json"]}),
    );
    assert_eq!(reply.code(), -32001);
    let protected = format!(
        "`{}` is protected",
        stage.tree.text("work/.claude/settings.json")
    );
    assert!(refusal(&reply).contains(&protected), "{}", refusal(&reply));
    assert_eq!(
        fs::read_dir(stage.tree.path("work/.claude"))
            .unwrap()
            .count(),
        0
    );
}

#[test]
fn undo_after_command_move_spares_protected_paths() {
    for tier in TIERS {
        let tree = Tree::new();
        tree.dir("work");
        let mut server = start_with_commands(&tree, tier);
        made_and_deleted(&mut server, "settings.json");
        server
            .call("execute_command", json!({"command": "mv d .claude"}))
            .texts();
        server.call(
            "undo_changes",
            json!({"calls": [2], "paths": ["d/settings.json"]}),
        );
        server.call(
            "undo_changes",
            json!({"calls": [3, 2], "paths": ["d/settings.json"]}),
        );
        server.call("undo_changes", json!({"calls": [2]}));
        assert!(!tree.has("work/.claude/settings.json"), "{tier}");
    }
}

/// The command ends during the write.
#[test]
fn large_write_into_moved_directory_is_refused() {
    let content = " ".repeat(6 << 20);
    for _ in 0..3 {
        let tree = Tree::new();
        tree.dir("work/d");
        let mut server = start_with_commands(&tree, "namespaces");
        let line = "until ls -A d | grep -q replay-tmp; do :; done; mv d .claude";
        server.call(
            "execute_command",
            json!({"command": line, "background": true}),
        );
        let reply = server.call(
            "write_file",
            json!({"path": "d/settings.json", "content": content}),
        );
        server.call("follow_command", json!({"commandId": "c1", "waitSecs": 10}));
        assert!(
            !tree.has("work/.claude/settings.json"),
            "{:?}",
            reply.failure()
        );
    }
}

#[test]
fn store_name_is_hidden_in_any_directory() {
    let tree = Tree::new();
    tree.file("work/.replay-undo-7/x/log", "needle")
        .file("work/d/.replay-undo-0/log", "needle")
        .file("work/a", "a");
    let mut server = start(&tree, &["--undo", "off"]);
    for (tool, arguments) in [
        ("read_file", json!({"path": "d/.replay-undo-0/log"})),
        ("list_directory", json!({"path": ".replay-undo-7"})),
        (
            "write_file",
            json!({"path": ".replay-undo-9/x", "content": "x"}),
        ),
        ("create_directory", json!({"path": "d/.replay-undo-9"})),
        (
            "move_file",
            json!({"source": "a", "destination": ".replay-undo-9"}),
        ),
        ("delete_file", json!({"path": "d/.replay-undo-0"})),
    ] {
        let reply = server.call(tool, arguments);
        assert_eq!(reply.code(), -32001, "{tool}: {}", refusal(&reply));
    }
    let found = server
        .call("grep_files", json!({"directory": ".", "regex": "needle"}))
        .text();
    assert_eq!(found, "(no matches found)\n[0 matches]");
    let mut server = start_with_commands(&tree, "namespaces");
    let reply = server.call(
        "execute_command",
        json!({"command": "cat .replay-undo-7/x/log; ls -A .replay-undo-7"}),
    );
    assert!(!reply.text().contains("needle"), "{}", reply.text());
}
