//! Messages of undo: wrong arguments, interrupted calls, a full disk, calls too large to list.

use std::fs;

use pretty_assertions::assert_eq;
use serde_json::json;

use super::commands::{TIERS, run, start as start_with_commands};
use super::evasions::{can_mount, with_mounts};
use super::people::{changes, stores};
use super::{Stage, refusal};
use crate::harness::Server;
use crate::schema::NEWEST_HANDSHAKE;
use crate::tree::Tree;

#[test]
fn number_beyond_integers_names_parameter_and_range() {
    let mut stage = Stage::new(|tree| tree.file("work/a", "1"));
    stage.call_text("write_file", json!({"path": "a", "content": "2"}));
    for (given, shown) in [(json!(1e30), "1e+30"), (json!(-1e30), "-1e+30")] {
        let refused = refusal(&stage.server.call("undo_changes", json!({"calls": [given]})));
        let text = format!(
            "`calls[0]` of undo_changes is the number {shown}; it must be a whole number from 0 to 18446744073709551615"
        );
        assert_eq!(refused, text);
    }
}

#[test]
fn interrupted_undo_is_listed_as_interrupted() {
    let mut stage = Stage::new(|tree| tree.file("work/a", "1"));
    stage.call_text("write_file", json!({"path": "a", "content": "2"}));
    let tree = &stage.tree;
    assert_eq!(changes(tree, "work", &["undo", "1"]).0, 0);
    let [store] = &stores(tree)[..] else {
        panic!("no store")
    };
    // The process of the undo ended before the last line.
    let log = store.join("log/2");
    let text = fs::read_to_string(&log).unwrap();
    let (whole, end) = text.trim_end().rsplit_once('\n').unwrap();
    assert!(end.starts_with("{\"End\""), "{end}");
    fs::write(&log, format!("{whole}\n")).unwrap();
    let (_, listed) = changes(tree, "work", &["list", "--last", "1"]);
    let line = "2  AT  replay changes undo: interrupted; the next start of the server, or `replay changes undo`, rolls it back";
    assert_eq!(listed.lines().next(), Some(line));
    let refused = refusal(&stage.server.call("undo_changes", json!({"calls": [2]})));
    assert!(
        refused.contains("call 2 was interrupted; restart the server"),
        "{refused}"
    );
    let (_, repaired) = changes(&stage.tree, "work", &["undo", "1"]);
    assert!(repaired.starts_with("reverted a\n"), "{repaired}");
    assert_eq!(stage.tree.read("work/a"), "1");
}

#[test]
fn undo_on_full_disk_tells_state_and_next_step() {
    if !can_mount() {
        return;
    }
    let tree = Tree::new();
    tree.file("work/large", vec![b'x'; 3 << 20])
        .file("work/small", "small")
        .dir("state");
    let script = "mkdir -p in; mount -t tmpfs -o size=4m none in; mkdir in/w; cp -a work/. in/w; \
                  export XDG_STATE_HOME=$PWD/state; mount --bind in/w work";
    let mut server = with_mounts(&tree, script, &[]);
    let mut call = |line: &str| {
        server
            .call("execute_command", json!({"command": line}))
            .text()
    };
    let deleted = call("rm large small");
    assert!(deleted.contains("undo with call 1"), "{deleted}");
    call("head -c 3000000 /dev/zero >filler");
    let refused = refusal(&server.call("undo_changes", json!({"calls": [1]})));
    let path = tree.path("work/large");
    let text = format!(
        "{}: putting it back: No space left on device (os error 28); the undo was rolled back, and the files are as they were before \
         it; the disk is full: free space on it, then undo again",
        path.display()
    );
    assert!(refused.contains(&text), "{refused}");
    let listed = server
        .call("execute_command", json!({"command": "ls; rm filler"}))
        .text();
    assert!(listed.starts_with("filler\n"), "{listed}");
    server.call("undo_changes", json!({"calls": [1]})).texts();
}

#[test]
fn path_in_directory_of_the_call_is_undone_alone() {
    let mut stage = Stage::new(|tree| tree);
    let mut server = start_with_commands(&stage.tree, TIERS[0]);
    run(
        &mut server,
        "mkdir -p made/sub; echo x >made/sub/x; echo y >made/sub/y",
    )
    .unwrap();
    let undone = server.call(
        "undo_changes",
        json!({"calls": [1], "paths": ["made/sub/x"]}),
    );
    assert_eq!(
        undone.text(),
        "removed made/sub/x\n[undone; this is call 2, which can be undone too]"
    );
    assert!(!stage.tree.has("work/made/sub/x") && stage.tree.has("work/made/sub/y"));
    let refused = refusal(&server.call(
        "undo_changes",
        json!({"calls": [1], "paths": ["!made/sub/y"]}),
    ));
    let text = format!(
        "{}: it lies in `{}`, which the call made and which goes whole; leave that directory out, or name what is to be removed in it",
        stage.tree.text("work/made/sub/y"),
        stage.tree.text("work/made")
    );
    assert_eq!(refused, text);
    stage.undo(1, 3);
    assert!(!stage.tree.has("work/made"));
}

#[test]
fn call_too_large_for_memory_is_listed_with_counts() {
    const FILES: usize = 9000;
    let tree = Tree::new();
    for file in 0..FILES {
        tree.file(format!("work/t/{file}"), "");
    }
    let allowed = format!("{}:rw", tree.text("work"));
    let flags = [
        "--allow",
        &allowed,
        "--tools",
        "files,command",
        "--memory-mib",
        "16",
    ];
    let mut server = Server::open(&tree, NEWEST_HANDSHAKE, &flags);
    assert_eq!(
        run(&mut server, "chmod 700 t/*").unwrap(),
        json!({"call": 1, "touched": FILES})
    );
    let listed = server.call("list_changes", json!({})).text();
    let counted = format!(": {FILES} touched");
    assert!(listed.ends_with(&counted), "{listed}");
    let shown = server.call("list_changes", json!({"call": 1})).text();
    let (first, cut) = shown.split_once('\n').unwrap();
    assert!(first.ends_with(&counted), "{shown}");
    assert!(
        cut.starts_with("[cut off: its files and the diff need more memory than is free: "),
        "{cut}"
    );
}
