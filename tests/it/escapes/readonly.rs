//! 5. Read-only directories.

use std::collections::BTreeSet;

use serde_json::json;

use super::{Stage, writers};
use crate::tree::Tree;

const CHANGING: [&str; 6] = [
    "write_file",
    "create_directory",
    "delete_file",
    "edit_file",
    "edit_files",
    "move_file",
];

fn more_docs(tree: &Tree) {
    tree.file("docs/secret", "T text\n")
        .file("docs/sub/f", "x")
        .link("secret", "docs/link")
        .dir("docs/empty");
}

#[test]
fn e72_writing_tools_are_denied() {
    let mut stage = Stage::new(more_docs);
    let before = stage.tree.fingerprint("docs");
    let inside = stage.tree.text("work");
    for name in [
        "docs/secret",
        "docs/new/secret",
        "docs/sub/../secret",
        "docs/link",
    ] {
        let path = stage.tree.text(name);
        for (tool, arguments) in writers(&path, &inside) {
            let code = stage.fails(tool, arguments).code;
            // A missing file may be reported as missing, because the directory is readable.
            assert!(
                code == Some(-32001) || code == Some(-32002) && name.contains("new"),
                "{tool} {name}: {code:?}"
            );
        }
    }
    for name in ["docs/sub", "docs/empty", "docs"] {
        let path = stage.tree.text(name);
        stage.fails("delete_file", json!({"path": path}));
        stage.fails("create_directory", json!({"path": format!("{path}/new")}));
    }
    let path = stage.tree.text("docs/secret");
    let edits = json!([{"oldText": "T text", "newText": "changed text"}]);
    let diff = stage.works(
        "edit_file",
        json!({"path": path, "edits": edits, "dryRun": true}),
    );
    assert!(
        diff.contains("-T text") && diff.contains("+changed text"),
        "{diff}"
    );
    let diff = stage.works(
        "edit_files",
        json!({"paths": [path], "edits": edits, "dryRun": true}),
    );
    assert!(diff.contains("+changed text"), "{diff}");
    assert_eq!(before, stage.tree.fingerprint("docs"));
    stage.end();
}

#[test]
fn e73_move_across_read_only_boundary_is_denied() {
    let mut stage = Stage::new(more_docs);
    let before = stage.tree.fingerprint("docs");
    for (from, to) in [
        ("docs/secret", "work/f"),
        ("work/ok.txt", "docs/f"),
        ("docs/secret", "docs/f"),
        ("docs/sub", "work/sub"),
    ] {
        let (source, destination) = (stage.tree.text(from), stage.tree.text(to));
        let failure = stage.fails(
            "move_file",
            json!({"source": source, "destination": destination}),
        );
        assert_eq!(
            failure.code,
            Some(-32001),
            "{from} to {to}: {}",
            failure.message
        );
    }
    assert_eq!(stage.tree.read("work/ok.txt"), "fine\n");
    assert_eq!(before, stage.tree.fingerprint("docs"));
    stage.end();
}

#[test]
fn e75_read_keeps_files_unchanged() {
    let mut stage = Stage::new(more_docs);
    let before = stage.tree.fingerprint("docs");
    let dir = stage.tree.text("docs");
    let path = stage.tree.text("docs/secret");
    for (tool, arguments) in [super::readers(&path), super::walkers(&dir)].concat() {
        stage.works(tool, arguments);
    }
    assert_eq!(before, stage.tree.fingerprint("docs"));
    stage.end();
}

#[test]
fn e76_dry_run_leaves_no_trace() {
    let mut stage = Stage::new(more_docs);
    let before = [
        stage.tree.fingerprint("docs"),
        stage.tree.fingerprint("work"),
    ];
    for name in ["docs/secret", "work/ok.txt"] {
        let path = stage.tree.text(name);
        for from in ["T", "fine", "no such text"] {
            let edits = json!([{"oldText": from, "newText": "x"}]);
            stage.call(
                "edit_file",
                json!({"path": path, "edits": edits, "dryRun": true}),
            );
            stage.call(
                "edit_files",
                json!({"paths": [path], "edits": edits, "dryRun": true}),
            );
        }
    }
    assert_eq!(
        before,
        [
            stage.tree.fingerprint("docs"),
            stage.tree.fingerprint("work")
        ]
    );
    stage.end();
}

#[test]
fn e77_access_follows_name_of_hard_link() {
    // One file with two names, one under each kind of directory: a hard link stands in for a bind
    // mount.
    let mut stage = Stage::new(|tree| {
        tree.hard_link("docs/read.txt", "work/twin");
    });
    let before = stage.tree.read("docs/read.txt");
    let path = stage.tree.text("docs/read.txt");
    stage.denied("write_file", json!({"path": path, "content": "x"}));
    let path = stage.tree.text("work/twin");
    stage.works("write_file", json!({"path": path, "content": "x"}));
    assert_eq!(
        (
            stage.tree.read("docs/read.txt"),
            stage.tree.read("work/twin")
        ),
        (before, "x".to_owned())
    );
    stage.end();
}

#[test]
fn e78_read_only_server_offers_no_writing_tools() {
    let tree = Stage::layout(more_docs);
    let docs = tree.text("docs");
    let mut stage = Stage::on(tree, &["--allow", &docs]);
    let list = stage.server.request("tools/list", json!({}));
    let names: BTreeSet<&str> = list.result()["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert!(
        names.contains("read_file") && names.contains("grep_files"),
        "{names:?}"
    );
    let offered: Vec<&&str> = CHANGING
        .iter()
        .filter(|name| names.contains(**name))
        .collect();
    assert!(offered.is_empty(), "{offered:?}");
    let before = stage.tree.fingerprint("docs");
    let path = stage.tree.text("docs/secret");
    for (tool, arguments) in writers(&path, &docs) {
        assert_eq!(stage.server.call(tool, arguments).code(), -32001, "{tool}");
    }
    assert_eq!(before, stage.tree.fingerprint("docs"));
    stage.end();
}
