//! Undo after the server was killed, and with two servers on one tree.

use std::fs;
use std::time::Instant;

use pretty_assertions::assert_eq;
use rustix::process::{Signal, kill_process};
use serde_json::json;

use super::people::{changes, say, stores};
use super::{Stage, calls, refusal, snapshot, start, without_links};
use crate::harness::DEADLINE;
use crate::tree::Tree;

/// Number of files, large enough that the kill comes before the end.
const FILES: usize = 4000;

#[test]
fn deletion_by_killed_server_is_undone() {
    let mut stage = Stage::new(|tree| {
        for file in 0..FILES {
            tree.file(format!("work/t/d{}/{file}", file % 10), file.to_string());
        }
        tree
    });
    let before = stage.snapshot();
    stage.server.send(
        "tools/call",
        json!({"name": "delete_file", "arguments": {"path": "t"}}),
    );
    let until = Instant::now() + DEADLINE;
    while fs::read_dir(stage.tree.path("work/t/d0")).is_ok_and(|dir| dir.count() > FILES / 20) {
        assert!(Instant::now() < until, "too little is deleted");
    }
    kill_process(stage.server.pid(), Signal::KILL).unwrap();
    stage.server.wait_exit();
    assert!(stage.tree.has("work/t"), "the kill came too late");
    let mut server = start(&stage.tree, &[]);
    let told = calls(&mut server);
    assert!(
        told.len() == 1 && told[0].1.starts_with("delete_file: ") && told[0].1.ends_with("deleted"),
        "{told:?}"
    );
    server.call("undo_changes", json!({"calls": [1]})).texts();
    // A saved link that was not recorded when the kill came is removed with the entry.
    assert_eq!(without_links(stage.snapshot()), without_links(before));
}

#[test]
fn killed_atomic_edit_is_rolled_back() {
    const EDITED: usize = 300;
    let mut stage = Stage::new(|tree| {
        for file in 0..EDITED {
            tree.file(format!("work/{file}"), "one");
        }
        tree
    });
    let arguments =
        json!({"paths": ["*"], "edits": [{"oldText": "one", "newText": "two"}], "atomic": true});
    stage.server.send(
        "tools/call",
        json!({"name": "edit_files", "arguments": arguments}),
    );
    let until = Instant::now() + DEADLINE;
    let edited = |tree: &Tree| {
        (0..EDITED)
            .filter(|file| tree.read(&format!("work/{file}")) == "two")
            .count()
    };
    while edited(&stage.tree) == 0 {
        assert!(Instant::now() < until, "nothing is edited");
    }
    kill_process(stage.server.pid(), Signal::KILL).unwrap();
    stage.server.wait_exit();
    let is_interrupted = edited(&stage.tree) < EDITED;
    let mut server = start(&stage.tree, &[]);
    let told: Vec<String> = calls(&mut server)
        .into_iter()
        .map(|(_, told)| told)
        .collect();
    if is_interrupted {
        assert_eq!(edited(&stage.tree), 0, "{told:?}");
        assert!(
            told[0].starts_with("edit_files: undid call 1 ("),
            "{told:?}"
        );
    } else {
        assert!([0, EDITED].contains(&edited(&stage.tree)), "{told:?}");
    }
}

#[test]
fn entry_outlives_its_server() {
    let mut stage = Stage::new(|tree| tree.file("work/a", "1"));
    let before = stage.snapshot();
    stage.call_text("write_file", json!({"path": "a", "content": "2"}));
    kill_process(stage.server.pid(), Signal::KILL).unwrap();
    stage.server.wait_exit();
    let mut server = start(&stage.tree, &[]);
    server
        .call("write_file", json!({"path": "b", "content": "1"}))
        .texts();
    assert_eq!(
        calls(&mut server),
        [
            (2, "write_file: created b".to_owned()),
            (1, "write_file: edited a".to_owned())
        ]
    );
    server.call("undo_changes", json!({"since": 1})).texts();
    assert_eq!(stage.snapshot(), before);
}

#[test]
fn two_servers_on_one_tree_share_store() {
    let tree = Tree::new();
    tree.file("work/a", "1");
    let before = snapshot(&tree.path("work"));
    let (mut one, mut other) = (start(&tree, &[]), start(&tree, &[]));
    one.call("write_file", json!({"path": "a", "content": "2"}))
        .texts();
    other
        .call("write_file", json!({"path": "b", "content": "1"}))
        .texts();
    one.call("delete_file", json!({"path": "b"})).texts();
    let told = [
        "delete_file: deleted b",
        "write_file: created b",
        "write_file: edited a",
    ];
    let told: Vec<(u64, String)> = (1..=3).rev().zip(told.map(str::to_owned)).collect();
    assert_eq!(calls(&mut one), told);
    assert_eq!(calls(&mut other), told);
    other.call("undo_changes", json!({"since": 1})).texts();
    assert_eq!(snapshot(&tree.path("work")), before);
}

#[test]
fn damaged_store_is_set_aside_at_start() {
    let mut stage = Stage::new(|tree| tree.file("work/a", "1"));
    stage.call_text("write_file", json!({"path": "a", "content": "2"}));
    stage.call_text("write_file", json!({"path": "b", "content": "2"}));
    let [store] = &stores(&stage.tree)[..] else {
        panic!("no store")
    };
    let log = store.join("log/2");
    fs::write(&log, fs::read_to_string(&log).unwrap() + "garbage\n").unwrap();
    let mut server = start(&stage.tree, &[]);
    let refused = refusal(&server.call("list_changes", json!({})));
    let aside = fs::read_dir(store)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let aside: Vec<_> = aside
        .filter(|path| path.to_string_lossy().contains("/damaged-"))
        .collect();
    let [aside] = &aside[..] else {
        panic!("{aside:?}")
    };
    let why = "expected value at line 1 column 1; this log is damaged, and nothing was undone; a server that starts sets the store aside";
    assert!(
        refused.contains(&format!(
            "{why}; it is in `{}` now, and the next start begins anew",
            aside.display()
        )),
        "{refused}"
    );
    drop(server);
    let mut server = start(&stage.tree, &[]);
    assert_eq!(calls(&mut server), []);
    // Call numbers continue.
    server
        .call("write_file", json!({"path": "c", "content": "3"}))
        .texts();
    assert_eq!(
        calls(&mut server),
        [(3, "write_file: created c".to_owned())]
    );
    server.call("undo_changes", json!({"calls": [3]})).texts();
    assert!(!stage.tree.has("work/c"));
    let store = ["--store", aside.to_str().unwrap()];
    let (status, text) = changes(&stage.tree, "work", &store);
    assert!(status == 2 && text.contains(why), "{text}");
    fs::remove_file(aside.join("log/2")).unwrap();
    let undone = changes(&stage.tree, "work", &[&["undo", "1"][..], &store].concat());
    let reply = format!(
        "reverted a\n[others changed since, in the same directories: b; that stays]\n\
         [undone; `replay changes undo 2 --store {}` takes that back]",
        aside.display()
    );
    assert_eq!(undone, (0, reply));
}

#[test]
fn store_of_later_version_is_left_unchanged() {
    let mut stage = Stage::new(|tree| tree.file("work/a", "1"));
    stage.call_text("write_file", json!({"path": "a", "content": "2"}));
    let [store] = &stores(&stage.tree)[..] else {
        panic!("no store")
    };
    let said = |tree: &Tree| refusal(&start(tree, &[]).call("list_changes", json!({})));
    let later = "of version 2, and this program reads version 1; use the program that wrote it";
    let log = store.join("log/1");
    let text = fs::read_to_string(&log).unwrap();
    fs::write(
        &log,
        text.replacen("\"version\":1", "\"version\":2,\"more\":3", 1),
    )
    .unwrap();
    assert!(said(&stage.tree).contains(later));
    assert!(log.exists());
    say(
        store,
        &json!({"version": 2, "tenant": "", "roots": [], "more": 3}),
    );
    assert!(said(&stage.tree).contains(later));
    assert!(log.exists());
}
