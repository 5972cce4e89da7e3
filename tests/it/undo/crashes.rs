//! Servers that are killed, and servers that share a tree.

use std::fs;
use std::time::Instant;

use pretty_assertions::assert_eq;
use rustix::process::{Signal, kill_process};
use serde_json::json;

use super::{Stage, calls, picture, start, unlinked};
use crate::harness::DEADLINE;
use crate::tree::Tree;

/// Enough that a kill comes before the end.
const FILES: usize = 4000;

#[test]
fn what_a_killed_server_has_deleted_comes_back() {
    let mut stage = Stage::new(|tree| {
        for file in 0..FILES {
            tree.file(format!("work/t/d{}/{file}", file % 10), file.to_string());
        }
        tree
    });
    let before = stage.picture();
    stage.server.send("tools/call", json!({"name": "delete_file", "arguments": {"path": "t"}}));
    let until = Instant::now() + DEADLINE;
    while fs::read_dir(stage.tree.path("work/t/d0")).is_ok_and(|dir| dir.count() > FILES / 20) {
        assert!(Instant::now() < until, "too little is deleted");
    }
    kill_process(stage.server.pid(), Signal::KILL).unwrap();
    stage.server.wait_exit();
    assert!(stage.tree.has("work/t"), "the kill came too late");
    let mut server = start(&stage.tree, &[]);
    let told = calls(&mut server);
    assert!(told.len() == 1 && told[0].1.starts_with("delete_file: ") && told[0].1.ends_with("deleted"), "{told:?}");
    server.call("undo_changes", json!({"calls": [1]})).texts();
    // A link that was kept when the kill came, and not noted, goes with the entry.
    assert_eq!(unlinked(stage.picture()), unlinked(before));
}

#[test]
fn an_atomic_edit_that_a_kill_interrupts_is_taken_back() {
    const EDITED: usize = 300;
    let mut stage = Stage::new(|tree| {
        for file in 0..EDITED {
            tree.file(format!("work/{file}"), "one");
        }
        tree
    });
    let arguments = json!({"paths": ["*"], "edits": [{"oldText": "one", "newText": "two"}], "atomic": true});
    stage.server.send("tools/call", json!({"name": "edit_files", "arguments": arguments}));
    let until = Instant::now() + DEADLINE;
    let edited = |tree: &Tree| (0..EDITED).filter(|file| tree.read(&format!("work/{file}")) == "two").count();
    while edited(&stage.tree) == 0 {
        assert!(Instant::now() < until, "nothing is edited");
    }
    kill_process(stage.server.pid(), Signal::KILL).unwrap();
    stage.server.wait_exit();
    let is_interrupted = edited(&stage.tree) < EDITED;
    let mut server = start(&stage.tree, &[]);
    let told: Vec<String> = calls(&mut server).into_iter().map(|(_, told)| told).collect();
    if is_interrupted {
        assert_eq!(edited(&stage.tree), 0, "{told:?}");
        assert!(told[0].starts_with("edit_files: undid 1: "), "{told:?}");
    } else {
        assert!([0, EDITED].contains(&edited(&stage.tree)), "{told:?}");
    }
}

#[test]
fn an_entry_outlives_its_server() {
    let mut stage = Stage::new(|tree| tree.file("work/a", "1"));
    let before = stage.picture();
    stage.done("write_file", json!({"path": "a", "content": "2"}));
    kill_process(stage.server.pid(), Signal::KILL).unwrap();
    stage.server.wait_exit();
    let mut server = start(&stage.tree, &[]);
    server.call("write_file", json!({"path": "b", "content": "1"})).texts();
    assert_eq!(calls(&mut server), [(2, "write_file: created b".to_owned()), (1, "write_file: edited a".to_owned())]);
    server.call("undo_changes", json!({"since": 1})).texts();
    assert_eq!(stage.picture(), before);
}

#[test]
fn two_servers_on_one_tree_share_what_is_kept() {
    let tree = Tree::new();
    tree.file("work/a", "1");
    let before = picture(&tree.path("work"));
    let (mut one, mut other) = (start(&tree, &[]), start(&tree, &[]));
    one.call("write_file", json!({"path": "a", "content": "2"})).texts();
    other.call("write_file", json!({"path": "b", "content": "1"})).texts();
    one.call("delete_file", json!({"path": "b"})).texts();
    let told = ["delete_file: deleted b", "write_file: created b", "write_file: edited a"];
    let told: Vec<(u64, String)> = (1..=3).rev().zip(told.map(str::to_owned)).collect();
    assert_eq!(calls(&mut one), told);
    assert_eq!(calls(&mut other), told);
    other.call("undo_changes", json!({"since": 1})).texts();
    assert_eq!(picture(&tree.path("work")), before);
}
