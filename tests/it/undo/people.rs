//! `replay changes`: list and undo changes of calls as the operator.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{Stage, start, without_links};
use crate::tree::Tree;

/// Runs `replay changes` and returns the exit status and the output, with times replaced by AT.
pub(super) fn changes(tree: &Tree, dir: &str, args: &[&str]) -> (i32, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_replay"));
    program
        .arg("changes")
        .args(args)
        .current_dir(tree.path(dir))
        .env("XDG_STATE_HOME", tree.state());
    let Output {
        status,
        stdout,
        stderr,
    } = program.output().unwrap();
    let text = String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap();
    let at = |line: &str| {
        let parts = line.split("  ").map(|part| {
            if part.len() == 20 && part.ends_with('Z') {
                "AT"
            } else {
                part
            }
        });
        parts.collect::<Vec<_>>().join("  ")
    };
    let told = text
        .lines()
        .filter(|line| !line.starts_with("[kept in "))
        .map(at);
    (status.code().unwrap(), told.collect::<Vec<_>>().join("\n"))
}

fn changes_output(tree: &Tree, args: &[&str]) -> String {
    let (status, text) = changes(tree, "work", args);
    assert_eq!(status, 0, "{text}");
    text
}

pub(super) fn stores(tree: &Tree) -> Vec<PathBuf> {
    let found = fs::read_dir(tree.state().join("replay/undo")).unwrap();
    found.map(|store| store.unwrap().path()).collect()
}

pub(super) fn say(store: &Path, roots: &Value) {
    fs::write(store.join("roots"), roots.to_string()).unwrap();
}

#[test]
fn operator_undoes_calls_of_running_server() {
    let mut stage = Stage::new(|tree| tree.file("work/a.txt", "one\ntwo\n").file("work/d/b", "1"));
    assert_eq!(
        changes_output(&stage.tree, &[]),
        "no call has changed anything"
    );
    let before = stage.snapshot();
    stage.call_text(
        "edit_file",
        json!({"path": "a.txt", "edits": [{"oldText": "two", "newText": "three"}]}),
    );
    stage.call_text("move_file", json!({"source": "d/b", "destination": "d/c"}));
    stage.call_text("write_file", json!({"path": "d/new", "content": "n\n"}));
    let tree = &stage.tree;
    let listed = "3  AT  write_file: created d/new\n2  AT  move_file: moved d/b to d/c\n1  AT  edit_file: edited a.txt";
    assert_eq!(changes_output(tree, &[]), listed);
    assert_eq!(changes_output(tree, &["list"]), listed);
    let [store] = &stores(tree)[..] else {
        panic!("no store")
    };
    let last = Command::new(env!("CARGO_BIN_EXE_replay"))
        .arg("changes")
        .current_dir(tree.path("work"))
        .env("XDG_STATE_HOME", tree.state())
        .output()
        .unwrap();
    assert!(
        last.stdout
            .ends_with(format!("\n[kept in {}]\n", store.display()).as_bytes()),
        "{last:?}"
    );
    let newest = "3  AT  write_file: created d/new\n[2 older: replay changes list --last 3]";
    assert_eq!(changes_output(tree, &["list", "--last", "1"]), newest);
    // Paths are relative to the requested directory.
    let (_, text) = changes(tree, "work/d", &["show", "2"]);
    assert_eq!(text, "2  AT  move_file: moved b to c\nmoved b to c");
    let (_, text) = changes(tree, "", &["diff", "1", "--dir", "work/d"]);
    let path = tree.text("work/a.txt");
    assert_eq!(
        text,
        format!("edited {path}\n--- {path}\n+++ {path}\n@@ -1,2 +1,2 @@\n one\n-two\n+three")
    );
    assert_eq!(
        changes_output(tree, &["diff", "3"]),
        "created d/new\n--- d/new\n+++ d/new\n@@ -0,0 +1 @@\n+n"
    );
    assert_eq!(
        changes_output(tree, &["undo", "1", "--dry-run"]),
        "would revert a.txt\n[dry run: nothing was undone]"
    );
    assert_eq!(
        changes_output(tree, &["undo", "1", "3", "--path", "a.txt"]),
        "reverted a.txt\n[undone; `replay changes undo 4` takes that back]"
    );
    assert_eq!(tree.read("work/d/new"), "n\n");
    assert_eq!(
        changes_output(tree, &["undo", "4"]),
        "reverted a.txt\n[undone; `replay changes undo 5` takes that back]"
    );
    assert_eq!(
        changes_output(tree, &["undo", "--since", "1"]),
        "reverted a.txt\nmoved d/c back to d/b\nremoved d/new\n[undone; `replay changes undo 6` \
         takes that back]"
    );
    assert_eq!(without_links(stage.snapshot()), without_links(before));
    // The server notices the undo and continues.
    stage.call_text("write_file", json!({"path": "a.txt", "content": "4"}));
    let calls = stage.calls();
    let undone =
        "replay changes undo: undid calls 3, 2, 1 (edited a.txt, moved d/c to d/b, deleted d/new)";
    assert_eq!(
        calls[..2],
        [
            (7, "write_file: edited a.txt".to_owned()),
            (6, undone.to_owned())
        ]
    );
}

#[test]
fn operator_undo_keeps_later_changes_unless_forced() {
    let mut stage = Stage::new(|tree| tree.file("work/a", "1").file("work/b", "1"));
    let edits = json!([{"oldText": "1", "newText": "2"}]);
    stage
        .server
        .call("edit_files", json!({"paths": ["a", "b"], "edits": edits}))
        .texts();
    let tree = &stage.tree;
    tree.file("work/a", "mine");
    let refused = "nothing was undone, because these files are not as the calls left them:\n\
        a: changed after the call\n--except leaves these paths out, undoing later calls first may \
        help, and --force overwrites the later changes";
    assert_eq!(
        changes(tree, "work", &["undo", "1"]),
        (1, refused.to_owned())
    );
    assert_eq!(
        changes(tree, "work", &["undo", "1", "--dry-run"]),
        (1, refused.to_owned())
    );
    assert_eq!(
        ["a", "b"].map(|file| tree.read(&format!("work/{file}"))),
        ["mine", "2"]
    );
    assert_eq!(
        changes_output(tree, &["undo", "1", "--force"]),
        "reverted a\nreverted b\n[forced: a: changed after the call]\n[undone; `replay changes undo \
         2` takes that back]"
    );
    assert_eq!(
        ["a", "b"].map(|file| tree.read(&format!("work/{file}"))),
        ["1", "1"]
    );
    changes_output(tree, &["undo", "2"]);
    assert_eq!(
        ["a", "b"].map(|file| tree.read(&format!("work/{file}"))),
        ["mine", "2"]
    );
    let (status, text) = changes(tree, "work", &["undo", "1", "--path", "/etc"]);
    assert_eq!(
        (status, &*text),
        (
            2,
            "replay: --path `/etc` is not in a directory whose changes this store keeps"
        )
    );
    let (status, text) = changes(tree, "work", &["undo", "9"]);
    assert_eq!(
        (status, &*text),
        (
            2,
            "replay: call 9 is not in the journal, which has calls 1 to 3; list them first"
        )
    );
    let nothing =
        "nothing is left to undo in these calls; `replay changes` lists what each call changed";
    assert_eq!(
        changes(tree, "work", &["undo", "1", "--path", "none"]),
        (1, nothing.to_owned())
    );
}

#[test]
fn undo_note_repeats_directory_and_store() {
    let mut stage = Stage::new(|tree| tree.file("work/a", "1").link("work", "my work"));
    stage.call_text("write_file", json!({"path": "a", "content": "2"}));
    let tree = &stage.tree;
    let [store] = &stores(tree)[..] else {
        panic!("no store")
    };
    let name = store.file_name().unwrap().to_str().unwrap();
    let undo = |call| {
        let args = ["undo", call, "--dir", "my work", "--store", name];
        changes(tree, "", &args)
    };
    let note = |next| {
        format!(
            "reverted a\n[undone; `replay changes undo {next} --dir 'my work' --store {name}` \
             takes that back]"
        )
    };
    assert_eq!(undo("1"), (0, note(2)));
    assert_eq!(undo("2"), (0, note(3)));
}

#[test]
fn second_undo_names_first() {
    let mut stage = Stage::new(|tree| tree.file("work/a", "1"));
    stage.call_text("write_file", json!({"path": "a", "content": "2"}));
    changes_output(&stage.tree, &["undo", "1"]);
    let told = "call 1 was already undone by call 2; `replay changes undo 2` brings it back";
    assert_eq!(
        changes(&stage.tree, "work", &["undo", "1"]),
        (1, told.to_owned())
    );
}

#[test]
fn control_characters_in_titles_are_escaped() {
    let mut stage = Stage::new(|tree| tree.file("work/a", "1"));
    stage.call_text("write_file", json!({"path": "a", "content": "2"}));
    stage.call_text("write_file", json!({"path": "a", "content": "3"}));
    let [store] = &stores(&stage.tree)[..] else {
        panic!("no store")
    };
    let log = store.join("log/2");
    let text = fs::read_to_string(&log).unwrap();
    let forged = text.replace(
        r#""title":"write_file""#,
        r#""title":"execute_command: \u001b[31m""#,
    );
    assert_ne!(forged, text);
    fs::write(log, forged).unwrap();
    let first = changes_output(&stage.tree, &["list", "--last", "1"]);
    assert!(
        first.starts_with("2  AT  $'execute_command: \\033[31m': edited a\n"),
        "{first}"
    );
    let (status, refused) = changes(&stage.tree, "work", &["undo", "1"]);
    let why = "a: $'execute_command: \\033[31m (call 2) changed it later'";
    assert!(status == 1 && refused.contains(why), "{refused}");
}

#[test]
fn operator_chooses_between_several_stores() {
    let tree = Tree::new();
    tree.dir("work/d");
    let allowed = format!("{}:rw", tree.text("work/d"));
    let mut other = crate::harness::Server::open(
        &tree,
        crate::schema::NEWEST_HANDSHAKE,
        &["--allow", &allowed, "--tools", "files"],
    );
    other
        .call("write_file", json!({"path": "b", "content": "1"}))
        .texts();
    let [own] = &stores(&tree)[..] else {
        panic!("no store")
    };
    let mut server = start(&tree, &[]);
    server
        .call("write_file", json!({"path": "a", "content": "1"}))
        .texts();
    assert_eq!(changes_output(&tree, &[]), "1  AT  write_file: created a");
    let (status, text) = changes(&tree, "work/d", &[]);
    let mut lines: Vec<String> = stores(&tree)
        .iter()
        .map(|store| {
            let root = if store == own { "work/d" } else { "work" };
            format!(
                "  {}  {}",
                store.file_name().unwrap().to_str().unwrap(),
                tree.text(root)
            )
        })
        .collect();
    lines.sort();
    let several = format!(
        "replay: several stores keep changes of `{}`; choose one with --store NAME",
        tree.text("work/d")
    );
    assert_eq!(
        (status, text),
        (2, format!("{several}\n{}", lines.join("\n")))
    );
    let name = own.file_name().unwrap().to_str().unwrap();
    for store in [name, own.to_str().unwrap()] {
        assert_eq!(
            changes(&tree, "work/d", &["--store", store]),
            (0, "1  AT  write_file: created b".to_owned())
        );
    }
    let (status, text) = changes(&tree, "work", &["--store", "none"]);
    assert!(
        status == 2 && text.contains("--store `none` is neither a path nor a store of"),
        "{text}"
    );
}

#[test]
fn absent_or_unreadable_store_is_explained() {
    let mut stage = Stage::new(|tree| tree.dir("elsewhere"));
    stage.call_text("write_file", json!({"path": "a", "content": "1"}));
    let tree = &stage.tree;
    let none = |dir: &str| {
        format!(
            "replay: no changes in `{}` can be undone: no store for it is in `{}` or in a \
             directory above. A server that may write there (--allow DIR:rw) makes one, unless it \
             has --undo off",
            tree.path(dir).display(),
            tree.state().display()
        )
    };
    assert_eq!(changes(tree, "elsewhere", &[]), (2, none("elsewhere")));
    let below = format!(
        "replay: no store keeps changes of all of `{}`; agents changed files below it, which these \
         commands list:\n  replay changes --dir {}",
        tree.path("").canonicalize().unwrap().display(),
        tree.text("work")
    );
    assert_eq!(changes(tree, "", &[]), (2, below));
    let missing = "replay: --dir `nope` does not exist; give a directory in which agents changed \
        files";
    assert_eq!(
        changes(tree, "", &["undo", "--dir", "nope", "1"]),
        (2, missing.to_owned())
    );
    let [store] = &stores(tree)[..] else {
        panic!("no store")
    };
    say(store, &json!({"version": 2, "trees": []}));
    let version = format!(
        "`{}` is of version 2, and this program reads version 1; use the program that wrote it",
        store.join("roots").display()
    );
    assert_eq!(
        changes(tree, "work", &[]),
        (2, format!("{}\nleft out: {version}", none("work")))
    );
    assert_eq!(
        changes(tree, "work", &["--store", store.to_str().unwrap()]),
        (2, format!("replay: {version}"))
    );
    say(
        store,
        &json!({"version": 1, "tenant": "", "roots": [tree.path("work"), tree.path("gone")]}),
    );
    let gone = format!(
        "replay: a directory of the store cannot be opened: `{}`: ",
        tree.text("gone")
    );
    let (status, text) = changes(tree, "work", &[]);
    assert!(status == 2 && text.starts_with(&gone), "{text}");
}
