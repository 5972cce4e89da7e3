//! Known failures of undo in other programs, none of which may occur here: deleted commits, changes
//! outside the directory, incomplete restores.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use pretty_assertions::assert_eq;
use rustix::process::{Signal, kill_process};
use serde_json::json;

use super::commands::{TIERS, run, start};
use super::{calls, refusal, snapshot, without_links};
use crate::harness::{DEADLINE, Server};
use crate::schema::NEWEST_HANDSHAKE;
use crate::tree::Tree;

/// Runs git as a person would, and returns its output.
pub(super) fn git(dir: &Path, line: &str) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=a", "-c", "user.email=a", "-C"])
        .arg(dir)
        .args(line.split(' '));
    let output = git
        .env("HOME", dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "git {line}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

pub(super) fn repository(tree: &Tree, dir: &str) {
    git(&tree.path(dir), "init -q -b main");
    git(&tree.path(dir), "add .");
    git(&tree.path(dir), "commit -q -m first");
}

#[test]
fn undo_keeps_work_committed_since() {
    let tree = Tree::new();
    tree.file("work/code", "one\n");
    repository(&tree, "work");
    let root = tree.path("work");
    let mut server = start(&tree, TIERS[0]);
    run(&mut server, "echo two >>code; echo new >new").unwrap();
    // A person commits the work, and continues.
    tree.file("work/code", "one\ntwo\nmine\n");
    git(&root, "add .");
    git(&root, "commit -q -m second");
    let before = without_links(snapshot(&root));
    refusal(&server.call("undo_changes", json!({"calls": [1]})));
    assert_eq!(without_links(snapshot(&root)), before);
    // Undo removes a commit of the agent only until someone else builds on it.
    run(
        &mut server,
        "echo three >>code; git -c user.name=b -c user.email=b commit -qam third",
    )
    .unwrap();
    server.call("undo_changes", json!({"calls": [2]})).texts();
    assert_eq!(without_links(snapshot(&root)), before);
    let call = run(
        &mut server,
        "echo four >>code; git -c user.name=b -c user.email=b commit -qam fourth",
    )
    .unwrap();
    git(&root, "commit -q --allow-empty -m mine");
    let after = without_links(snapshot(&root));
    refusal(&server.call("undo_changes", json!({"calls": [call["call"]]})));
    assert_eq!(without_links(snapshot(&root)), after);
    assert_eq!(
        git(&root, "log --format=%s"),
        "mine\nfourth\nsecond\nfirst\n"
    );
    git(&root, "fsck --strict");
}

#[test]
fn undo_in_subdirectory_leaves_rest_of_repository() {
    let tree = Tree::new();
    tree.file("repo/README", "r")
        .file("repo/part/a", "a")
        .file("repo/.gitignore", "*.env\n")
        .file("repo/part/k.env", "KEY=1");
    repository(&tree, "repo");
    let before = snapshot(&tree.path("repo"));
    let allowed = format!("{}:rw", tree.text("repo/part"));
    let mut server = Server::open(
        &tree,
        NEWEST_HANDSHAKE,
        &["--allow", &allowed, "--tools", "files,command"],
    );
    // Files that git ignores are restored like all others.
    assert_eq!(
        run(&mut server, "echo x >>a; rm k.env; mkdir b").unwrap()["call"],
        1
    );
    server.call("undo_changes", json!({"calls": [1]})).texts();
    assert_eq!(
        without_links(snapshot(&tree.path("repo"))),
        without_links(before)
    );
    assert_eq!(git(&tree.path("repo"), "status --porcelain"), "");
}

#[test]
fn killed_undo_of_2000_files_is_rolled_back() {
    const FILES: usize = 2_000;
    let tree = Tree::new();
    tree.file("work/stays/a", "a");
    for file in 0..FILES {
        tree.file(format!("work/t/{}/{file}", file % 50), file.to_string());
    }
    let before = snapshot(&tree.path("work"));
    let mut server = start(&tree, TIERS[0]);
    assert_eq!(
        run(&mut server, "rm -r t").unwrap(),
        json!({"call": 1, "deleted": FILES + 51})
    );
    let deleted = snapshot(&tree.path("work"));
    server.send(
        "tools/call",
        json!({"name": "undo_changes", "arguments": {"calls": [1]}}),
    );
    let until = Instant::now() + DEADLINE;
    while !tree.has("work/t/1") {
        assert!(Instant::now() < until, "nothing comes back");
    }
    kill_process(server.pid(), Signal::KILL).unwrap();
    server.wait_exit();
    let was_whole = without_links(snapshot(&tree.path("work"))) == without_links(before.clone());
    let mut server = start(&tree, TIERS[0]);
    let first = server.call("list_directory", json!({"path": "."})).texts();
    assert_eq!(
        first.iter().any(|text| text.contains("[DIR] t")),
        was_whole,
        "the first call sees a state between: {first:?}"
    );
    let told: Vec<u64> = calls(&mut server)
        .into_iter()
        .map(|(call, _)| call)
        .collect();
    if !was_whole {
        assert_eq!(
            without_links(snapshot(&tree.path("work"))),
            without_links(deleted),
            "{told:?}"
        );
        server.call("undo_changes", json!({"calls": [1]})).texts();
    }
    // Untouched files keep their times, and all others have them restored.
    assert_eq!(
        without_links(snapshot(&tree.path("work"))),
        without_links(before)
    );
}

#[test]
fn open_database_is_undone() {
    let tree = Tree::new();
    tree.dir("work");
    let mut server = start(&tree, TIERS[0]);
    let sqlite =
        |line: &str| format!("python3 -c \"import sqlite3; d = sqlite3.connect('q.db'); {line}\"");
    let rows = "print(d.execute('select count(*) from t').fetchone()[0], d.execute('pragma integrity_check').fetchone()[0])";
    for mode in ["delete", "wal"] {
        let make = format!(
            "d.execute('pragma journal_mode={mode}'); d.execute('create table t(a)'); \
             d.executemany('insert into t values(?)', [(i,) for i in range(1000)]); d.commit()"
        );
        run(&mut server, &sqlite(&make)).unwrap();
        let held = "import sqlite3; d = sqlite3.connect('q.db'); print(d.execute('select count(*) from t').fetchone()[0])";
        server
            .call("run_python_code", json!({"code": held}))
            .texts();
        let call = run(
            &mut server,
            &sqlite("d.execute('delete from t where a < 900'); d.commit()"),
        )
        .unwrap();
        server
            .call("undo_changes", json!({"calls": [call["call"]]}))
            .texts();
        let seen = server.call("run_python_code", json!({"code": rows}));
        assert_eq!(
            seen.result()["structuredContent"]["stdout"],
            "1000 ok\n",
            "{mode}"
        );
        server
            .call("run_python_code", json!({"code": "d.close()"}))
            .texts();
        let seen = server
            .call("execute_command", json!({"command": sqlite(rows)}))
            .text();
        assert!(seen.starts_with("1000 ok\n"), "{mode}: {seen}");
        fs::remove_file(tree.path("work/q.db")).unwrap();
    }
}
