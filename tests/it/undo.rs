//! Undo of changes by the file tools: restored state, conflicts, and the store.

mod commands;
mod conflicts;
mod crashes;
mod dry_runs;
mod evasions;
mod hiding;
mod known_failures;
mod messages;
mod moved;
mod origins;
mod others;
mod people;
mod places;
mod stores;
mod units;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::harness::{Reply, Server};
use crate::schema::NEWEST_HANDSHAKE;
use crate::tree::Tree;

/// Server with the file tools for the directory `work`.
struct Stage {
    tree: Tree,
    server: Server,
}

impl Stage {
    fn new(prepare: impl FnOnce(&Tree) -> &Tree) -> Self {
        let tree = Tree::new();
        tree.dir("work");
        prepare(&tree);
        let server = start(&tree, &[]);
        Self { tree, server }
    }

    fn call_text(&mut self, tool: &str, arguments: Value) -> String {
        self.server.call(tool, arguments).text()
    }

    /// Undoes a call, as call number `own`. Returns the undone calls.
    fn undo(&mut self, call: u64, own: u64) -> Value {
        let reply = self.server.call("undo_changes", json!({"calls": [call]}));
        let output = reply.result()["structuredContent"].clone();
        assert_eq!(output["call"], own, "{output}");
        output["undone"].clone()
    }

    fn calls(&mut self) -> Vec<(u64, String)> {
        calls(&mut self.server)
    }

    fn snapshot(&self) -> TreeState {
        snapshot(&self.tree.path("work"))
    }
}

fn start(tree: &Tree, more: &[&str]) -> Server {
    let allowed = format!("{}:rw", tree.text("work"));
    Server::open(
        tree,
        NEWEST_HANDSHAKE,
        &[&["--allow", &allowed, "--tools", "files"], more].concat(),
    )
}

/// Returns the numbers of all calls, newest first, with the summary of each.
fn calls(server: &mut Server) -> Vec<(u64, String)> {
    let reply = server.call("list_changes", json!({}));
    let calls = reply.result()["structuredContent"]["calls"]
        .as_array()
        .unwrap()
        .clone();
    let one = |call: &Value| {
        let told = format!(
            "{}: {}",
            call["tool"].as_str().unwrap(),
            call["changed"].as_str().unwrap()
        );
        (call["call"].as_u64().unwrap(), told)
    };
    calls.iter().map(one).collect()
}

type TreeState = BTreeMap<PathBuf, EntryState>;

/// State of an entry that undo restores: mode, owner, modification time, link count, and content or
/// target.
type EntryState = (u32, (u32, u32), (i64, i64), u64, Vec<u8>);

fn snapshot(root: &Path) -> TreeState {
    let mut found = BTreeMap::new();
    // Undo does not remove git objects.
    for entry in walkdir::WalkDir::new(root)
        .into_iter()
        .filter_entry(|entry| entry.file_name() != "objects")
    {
        let entry = entry.unwrap();
        let metadata = fs::symlink_metadata(entry.path()).unwrap();
        let content = if metadata.is_symlink() {
            fs::read_link(entry.path())
                .unwrap()
                .into_os_string()
                .into_encoded_bytes()
        } else if metadata.is_file() {
            fs::read(entry.path()).unwrap()
        } else {
            Vec::new()
        };
        let time = (metadata.mtime(), metadata.mtime_nsec());
        let seen = (
            metadata.mode(),
            (metadata.uid(), metadata.gid()),
            time,
            metadata.nlink(),
            content,
        );
        found.insert(entry.path().strip_prefix(root).unwrap().to_owned(), seen);
    }
    found
}

/// Removes the hard links that the store holds.
fn without_links(mut picture: TreeState) -> TreeState {
    picture
        .values_mut()
        .filter(|seen| seen.0 & 0o170_000 == 0o100_000)
        .for_each(|seen| seen.3 = 1);
    picture
}

#[track_caller]
fn refusal(reply: &Reply) -> String {
    reply
        .failure()
        .unwrap_or_else(|| panic!("no refusal: {reply:?}"))
        .message
}

#[test]
fn undo_of_each_tool_and_undo_of_undo() {
    let mut stage = Stage::new(|tree| {
        tree.file("work/a.txt", "one\n")
            .file("work/b.txt", "one\n")
            .file("work/tree/d/x", "x")
            .link("x", "work/tree/d/l");
        tree.hard_link("work/a.txt", "work/also.txt")
            .dir("work/tree/empty");
        fs::set_permissions(tree.path("work/tree/d"), fs::Permissions::from_mode(0o750)).unwrap();
        tree
    });
    let edits = json!([{"oldText": "one", "newText": "two"}]);
    let steps = [
        (
            "write_file",
            json!({"path": "a.txt", "content": "new"}),
            "write_file: edited a.txt",
        ),
        (
            "write_file",
            json!({"path": "n/e/w.txt", "content": "new"}),
            "write_file: created n",
        ),
        (
            "edit_file",
            json!({"path": "b.txt", "edits": edits}),
            "edit_file: edited b.txt",
        ),
        (
            "edit_files",
            json!({"paths": ["*.txt"], "edits": edits, "atomic": false}),
            "edit_files: 2 edited",
        ),
        (
            "edit_files",
            json!({"paths": ["a.txt", "b.txt"], "edits": edits, "atomic": true}),
            "edit_files: edited a.txt, edited b.txt",
        ),
        (
            "delete_file",
            json!({"path": "tree"}),
            "delete_file: 5 deleted",
        ),
        (
            "delete_file",
            json!({"path": "a.txt"}),
            "delete_file: deleted a.txt",
        ),
        (
            "move_file",
            json!({"source": "tree", "destination": "m/t"}),
            "move_file: created m, moved tree to m/t",
        ),
        (
            "move_file",
            json!({"source": "b.txt", "destination": "c.txt"}),
            "move_file: moved b.txt to c.txt",
        ),
        (
            "create_directory",
            json!({"path": "p/q"}),
            "create_directory: created p",
        ),
    ];
    let before = stage.snapshot();
    let mut number = 0;
    for (tool, arguments, told) in steps {
        let words = format!("{tool} {arguments}");
        // An edit of `*.txt` lists both names of the hard link.
        let told = if words.contains("*.txt") {
            "edit_files: edited also.txt, edited a.txt, edited b.txt"
        } else {
            told
        };
        stage.server.call(tool, arguments).texts();
        let changed = stage.snapshot();
        let calls = stage.calls();
        assert_eq!(calls[0].0, number + 1, "{words}");
        let mut parts: Vec<&str> = told.split_once(": ").unwrap().1.split(", ").collect();
        let mut found: Vec<&str> = calls[0].1.split_once(": ").unwrap().1.split(", ").collect();
        parts.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, parts, "{words}");
        stage.undo(number + 1, number + 2);
        assert_eq!(stage.snapshot(), before, "{words}: undone");
        stage.undo(number + 2, number + 3);
        assert_eq!(stage.snapshot(), changed, "{words}: the undo is undone");
        stage.undo(number + 3, number + 4);
        assert_eq!(stage.snapshot(), before, "{words}: undone again");
        number += 4;
    }
}

#[test]
fn changes_are_listed_by_pages() {
    let mut stage = Stage::new(|tree| tree.file("work/a.txt", "one\ntwo\n"));
    stage.call_text(
        "edit_file",
        json!({"path": "a.txt", "edits": [{"oldText": "two", "newText": "three"}]}),
    );
    stage.call_text("write_file", json!({"path": "b.bin", "content": "a\u{0}b"}));
    stage.call_text(
        "move_file",
        json!({"source": "a.txt", "destination": "c.txt"}),
    );
    let call = |server: &mut Server, arguments: Value| {
        let reply = server.call("list_changes", arguments);
        let at = |line: &str| {
            line.split("  ")
                .map(|part| if part.ends_with('Z') { "AT" } else { part })
                .collect::<Vec<_>>()
                .join("  ")
        };
        reply.text().lines().map(at).collect::<Vec<_>>().join("\n")
    };
    let server = &mut stage.server;
    assert_eq!(
        call(server, json!({"limit": 2})),
        "3  AT  move_file: moved a.txt to c.txt\n2  AT  write_file: created b.bin\n[older calls: before: 2]"
    );
    assert_eq!(
        call(server, json!({"before": 2})),
        "1  AT  edit_file: edited a.txt"
    );
    assert_eq!(
        call(server, json!({"call": 1})),
        "1  AT  edit_file: edited a.txt\nedited a.txt\n--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three"
    );
    assert_eq!(
        call(server, json!({"call": 2})),
        "2  AT  write_file: created b.bin\ncreated b.bin\n[binary: 0 bytes before, 3 after]"
    );
    assert_eq!(
        call(server, json!({"call": 3})),
        "3  AT  move_file: moved a.txt to c.txt\nmoved a.txt to c.txt"
    );
    assert_eq!(
        refusal(&server.call("list_changes", json!({"call": 9}))),
        "call 9 is not in the journal, which has calls 1 to 3; list them first"
    );
}

#[test]
fn call_without_change_has_no_entry() {
    let mut stage = Stage::new(|tree| tree.file("work/a.txt", "one\n"));
    stage.call_text("create_directory", json!({"path": "."}));
    refusal(&stage.server.call(
        "edit_file",
        json!({"path": "a.txt", "edits": [{"oldText": "none", "newText": "x"}]}),
    ));
    refusal(&stage.server.call(
        "move_file",
        json!({"source": "a.txt", "destination": "a.txt"}),
    ));
    assert_eq!(
        stage.call_text("list_changes", json!({})),
        "[no call has changed anything]"
    );
    stage.call_text("write_file", json!({"path": "a.txt", "content": "two"}));
    assert_eq!(stage.calls(), [(2, "write_file: edited a.txt".to_owned())]);
}

#[test]
fn undo_of_some_paths_leaves_the_others() {
    let mut stage = Stage::new(|tree| {
        tree.file("work/a", "1")
            .file("work/d/b", "1")
            .file("work/d/c", "1")
    });
    let edits = json!([{"oldText": "1", "newText": "2"}]);
    stage
        .server
        .call(
            "edit_files",
            json!({"paths": ["a", "d/b", "d/c"], "edits": edits}),
        )
        .texts();
    let changed = stage.snapshot();
    let dry = stage.call_text("undo_changes", json!({"calls": [1], "dryRun": true}));
    assert_eq!(
        dry,
        "would revert a\nwould revert d/b\nwould revert d/c\n[dry run: nothing was undone]"
    );
    assert_eq!(stage.snapshot(), changed);
    let part = stage.call_text("undo_changes", json!({"calls": [1], "paths": ["d"]}));
    assert_eq!(
        part,
        "reverted d/b\nreverted d/c\n[undone; this is call 2, which can be undone too]"
    );
    assert_eq!(
        ["a", "d/b", "d/c"].map(|file| stage.tree.read(&format!("work/{file}"))),
        ["2", "1", "1"]
    );
    assert_eq!(
        refusal(&stage.server.call(
            "undo_changes",
            json!({"calls": [1], "paths": ["/etc/passwd"]})
        )),
        "`paths`: `/etc/passwd` is in no directory that may be written to"
    );
    for arguments in [json!({"calls": []}), json!({"calls": [1], "since": 1})] {
        assert_eq!(
            refusal(&stage.server.call("undo_changes", arguments)),
            "say either `calls`, with at least one number, or `since`; without both the last call is undone"
        );
    }
}

#[test]
fn undo_since_reverts_all_later_calls() {
    let mut stage = Stage::new(|tree| tree.file("work/a", "1").file("work/t/x", "1"));
    stage.call_text("write_file", json!({"path": "first", "content": "stays"}));
    let before = stage.snapshot();
    stage.call_text("write_file", json!({"path": "a", "content": "2"}));
    stage.call_text("delete_file", json!({"path": "t"}));
    stage.undo(3, 4);
    stage.call_text("write_file", json!({"path": "a", "content": "3"}));
    stage.call_text("write_file", json!({"path": "t/new", "content": "n"}));
    let undone = stage.server.call("undo_changes", json!({"since": 2}));
    assert_eq!(
        undone.result()["structuredContent"],
        json!({"call": 7, "undone": ["reverted a", "removed t/new"],
            "notes": ["undone; this is call 7, which can be undone too"]})
    );
    assert_eq!(stage.snapshot(), before);
}

#[test]
fn undone_call_is_marked_until_redone() {
    let mut stage = Stage::new(|tree| tree.file("work/a", "1"));
    stage.call_text("write_file", json!({"path": "a", "content": "2"}));
    let marked = |stage: &mut Stage| {
        let reply = stage.server.call("list_changes", json!({}));
        let calls = reply.result()["structuredContent"]["calls"]
            .as_array()
            .unwrap()
            .clone();
        let marked: Vec<bool> = reply
            .text()
            .lines()
            .map(|line| line.ends_with(" [undone]"))
            .collect();
        assert_eq!(
            calls
                .iter()
                .map(|call| call["undone"] == true)
                .collect::<Vec<_>>(),
            marked,
            "{calls:?}"
        );
        marked
    };
    assert_eq!(marked(&mut stage), [false]);
    stage.undo(1, 2);
    assert_eq!(marked(&mut stage), [false, true]);
    assert!(
        stage
            .call_text("list_changes", json!({"call": 1}))
            .starts_with("1  ")
    );
    stage.undo(2, 3);
    assert_eq!(marked(&mut stage), [false, true, false]);
}

#[test]
fn long_list_of_undone_calls_is_shortened() {
    let mut stage = Stage::new(|tree| tree);
    for number in 1..=12 {
        stage.call_text(
            "write_file",
            json!({"path": "a", "content": number.to_string()}),
        );
    }
    stage
        .server
        .call("undo_changes", json!({"since": 1}))
        .texts();
    assert_eq!(
        stage.calls()[0],
        (
            13,
            "undo_changes: undid calls 12, 11, 10, 9, 8, 7, 6, 5, 4, 3 and 2 more (deleted a)"
                .into()
        )
    );
}

#[test]
fn read_only_server_has_no_undo_tools() {
    let tree = Tree::new();
    tree.dir("work");
    let mut server = Server::open(
        &tree,
        NEWEST_HANDSHAKE,
        &["--allow", &tree.text("work"), "--tools", "files"],
    );
    let list = server.request("tools/list", json!({}));
    let names: Vec<&str> = list.result()["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(
        (
            names.contains(&"undo_changes"),
            names.contains(&"list_changes")
        ),
        (false, true)
    );
    assert_eq!(
        refusal(&server.call("list_changes", json!({}))),
        "list_changes is refused: nothing is kept for undo: no directory is read-write\nhint: \
         calls change nothing in read-only directories; the operator can make one writable \
         (--allow DIR:rw)"
    );
    let mut server = start(&tree, &["--undo", "off"]);
    let off = "is refused: nothing is kept for undo: it is switched off (--undo off)\nhint: the operator switches it on (--undo on), \
               or makes room for it; until then copy what you may want back";
    assert_eq!(
        refusal(&server.call("list_changes", json!({}))),
        format!("list_changes {off}")
    );
    assert_eq!(
        refusal(&server.call("undo_changes", json!({"calls": [1]}))),
        format!("undo_changes {off}")
    );
    assert!(
        server
            .stderr()
            .contains("calls cannot be undone: it is switched off (--undo off)"),
        "{}",
        server.stderr()
    );
}

#[test]
fn changes_skipped_by_undo_are_reported() {
    let tree = Tree::new();
    tree.file("work/target/a", "1").file("work/b", "1");
    let allowed = format!("{}:rw", tree.text("work"));
    let more = [
        "--allow",
        &allowed,
        "--tools",
        "files,command",
        "--undo-skip",
        "target/**",
    ];
    let mut server = Server::open(&tree, NEWEST_HANDSHAKE, &more);
    let reply = server.call("write_file", json!({"path": "target/a", "content": "2"}));
    assert_eq!(
        reply.texts()[1],
        "[not kept for undo: what matches --undo-skip]"
    );
    server
        .call("write_file", json!({"path": "b", "content": "2"}))
        .texts();
    assert_eq!(calls(&mut server), [(1, "write_file: edited b".to_owned())]);
    let told = |server: &mut Server, line: &str| {
        server
            .call("execute_command", json!({"command": line}))
            .text()
    };
    let lost = "not kept for undo: what matches --undo-skip]";
    let both = "[changed: deleted b: undo with call 2; ";
    assert_eq!(
        told(&mut server, "rm b target/a"),
        format!("(no output)\n{both}{lost}\n[exit code: 0]")
    );
    assert_eq!(
        told(&mut server, "touch target/c"),
        format!("(no output)\n[{lost}\n[exit code: 0]")
    );
}
