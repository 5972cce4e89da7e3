//! Groups of files that must stay consistent: git repositories, `SQLite` databases and database
//! directories.

use std::fs;
use std::path::Path;
use std::process::Command;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::commands::{TIERS, run, start};
use super::known_failures::{git, repository};
use super::{Stage, refusal, snapshot, without_links};
use crate::harness::Server;
use crate::tree::Tree;

const AGENT: &str = "git -c user.name=b -c user.email=b";
/// Shell commands that make a branch with a commit, and switch back.
const BRANCH: &str = "git checkout -q -b feat; echo n >n; git add n; \
                      git -c user.name=b -c user.email=b commit -qm n; git checkout -q -";

fn undo(server: &mut Server, options: Value) -> String {
    server.call("undo_changes", options).text()
}

/// Checks that an undo is refused and changes no file.
#[track_caller]
fn assert_undo_refused(tree: &Tree, server: &mut Server, options: Value) -> String {
    let before = without_links(snapshot(&tree.path("work")));
    let why = refusal(&server.call("undo_changes", options));
    assert_eq!(without_links(snapshot(&tree.path("work"))), before);
    why
}

fn make_tree() -> Tree {
    let tree = Tree::new();
    tree.file("work/code", "one\n");
    repository(&tree, "work");
    tree
}

#[test]
fn undo_of_branch_is_refused_after_person_branched() {
    for tier in TIERS {
        let tree = make_tree();
        let root = tree.path("work");
        let mut server = start(&tree, tier);
        run(&mut server, BRANCH).unwrap();
        git(&root, "branch keep feat");
        let why = assert_undo_refused(&tree, &mut server, json!({"calls": [1]}));
        assert!(
            why.contains(".git: this git repository is undone as a whole or not at all: "),
            "{why}"
        );
        assert!(
            why.contains("refs/heads/keep was changed by somebody else since"),
            "{why}"
        );
        for part in ["!.git/index", "!.git/refs/heads/feat"] {
            let why =
                assert_undo_refused(&tree, &mut server, json!({"calls": [1], "paths": [part]}));
            assert!(
                why.contains(&format!("{} is left out", part.rsplit('/').next().unwrap())),
                "{why}"
            );
        }
        assert_undo_refused(
            &tree,
            &mut server,
            json!({"calls": [1], "paths": [".git/refs/heads/feat"]}),
        );
        assert_eq!(git(&root, "log --format=%s keep"), "n\nfirst\n");
        git(&root, "fsck --strict");
    }
}

#[test]
fn undo_of_branch_is_refused_after_later_tag() {
    let tree = make_tree();
    let mut server = start(&tree, TIERS[0]);
    run(&mut server, BRANCH).unwrap();
    run(&mut server, "git tag v1 feat").unwrap();
    let why = assert_undo_refused(&tree, &mut server, json!({"calls": [1]}));
    assert!(why.contains("(call 2) changed refs/tags/v1 later"), "{why}");
    undo(&mut server, json!({"calls": [2, 1]}));
    assert_eq!(
        git(&tree.path("work"), "for-each-ref --format=%(refname)"),
        "refs/heads/main\n"
    );
}

#[test]
fn undo_of_branch_is_refused_after_outside_merge() {
    let tree = make_tree();
    let root = tree.path("work");
    git(&root, "worktree add -q -b other ../other");
    let mut server = start(&tree, TIERS[0]);
    run(&mut server, BRANCH).unwrap();
    git(&tree.path("other"), "merge -q --ff-only feat");
    assert_undo_refused(&tree, &mut server, json!({"calls": [1]}));
    git(&tree.path("other"), "fsck --strict");
}

#[test]
fn objects_stay_when_repository_is_left_out() {
    let tree = make_tree();
    let root = tree.path("work");
    let mut server = start(&tree, TIERS[0]);
    run(&mut server, "echo n >n; git add n").unwrap();
    git(&root, "commit -qm mine");
    run(
        &mut server,
        &format!("echo two >>code; {AGENT} commit -qam two"),
    )
    .unwrap();
    git(&root, "commit -q --allow-empty -m again");
    assert_undo_refused(&tree, &mut server, json!({"since": 1}));
    let told = undo(&mut server, json!({"since": 1, "paths": ["!.git"]}));
    assert!(
        told.contains("removed n") && told.contains("reverted code"),
        "{told}"
    );
    git(&root, "fsck --strict");
    assert_eq!(git(&root, "log --format=%s"), "again\ntwo\nmine\nfirst\n");
    git(&root, "checkout -q .");
    assert_eq!(
        (tree.read("work/n"), tree.read("work/code")),
        ("n\n".to_owned(), "one\ntwo\n".to_owned())
    );
}

#[test]
fn undo_and_redo_of_commit_leave_its_objects() {
    let tree = make_tree();
    let root = tree.path("work");
    let mut server = start(&tree, TIERS[0]);
    run(&mut server, BRANCH).unwrap();
    let commit = git(&root, "rev-parse feat");
    let reply = server.call("undo_changes", json!({"calls": [1]}));
    assert_eq!(
        reply.result()["structuredContent"]["objectsStay"],
        json!([".git"])
    );
    assert!(
        reply
            .text()
            .contains("[new objects stay in .git; git gc removes those that nothing needs]")
    );
    assert_eq!(
        git(&root, "branch --format=%(refname)"),
        "refs/heads/main\n"
    );
    git(&root, &format!("cat-file -e {}", commit.trim()));
    undo(&mut server, json!({"calls": [2]}));
    assert_eq!(git(&root, "rev-parse feat"), commit);
    undo(&mut server, json!({"calls": [3]}));
    assert_eq!(
        git(&root, "branch --format=%(refname)"),
        "refs/heads/main\n"
    );
    git(&root, "fsck --strict");
}

#[test]
fn undo_of_gc_restores_deleted_objects() {
    let tree = make_tree();
    let root = tree.path("work");
    let dead = git(&root, "commit-tree -m dead HEAD^{tree}");
    let mut server = start(&tree, TIERS[0]);
    run(&mut server, "git gc -q --prune=now").unwrap();
    undo(&mut server, json!({"calls": [1]}));
    git(&root, &format!("cat-file -e {}", dead.trim()));
    git(&root, "fsck --strict");
}

#[test]
fn repositories_are_recognised_by_content() {
    let tree = Tree::new();
    tree.file("from/code", "one\n").dir("work/super");
    repository(&tree, "from");
    let (root, from) = (tree.path("work"), tree.text("from"));
    git(&root, &format!("clone -q --bare {from} store"));
    git(
        &root,
        &format!("clone -q --separate-git-dir=apart {from} clone"),
    );
    git(&root.join("super"), "init -q -b main");
    git(
        &root.join("super"),
        &format!("-c protocol.file.allow=always submodule add -q {from} sub"),
    );
    git(&root.join("super"), "commit -qm sub");
    for (dir, unit) in [
        ("store", "store"),
        ("clone", "apart"),
        ("super/sub", "super/.git/modules/sub"),
    ] {
        let mut server = start(&tree, TIERS[0]);
        let line = format!(
            "cd {dir} && git update-ref refs/heads/feat $({AGENT} commit-tree -m n HEAD^{{tree}})"
        );
        let call = run(&mut server, &line).unwrap()["call"].clone();
        git(&root.join(dir), "branch keep feat");
        let why = assert_undo_refused(&tree, &mut server, json!({"calls": [call]}));
        assert!(
            why.contains(&format!(
                "{unit}: this git repository is undone as a whole or not at all"
            )),
            "{why}"
        );
        git(&root.join(dir), "fsck --strict");
    }
}

/// Runs statements in a database. The connection is not closed, as if the program was killed.
fn sqlite(dir: &Path, statements: &str) {
    let program = format!(
        "import sqlite3, os; db = sqlite3.connect('a.db'); db.executescript('''{statements}'''); db.commit(); os._exit(0)"
    );
    assert!(
        Command::new("python3")
            .args(["-c", &program])
            .current_dir(dir)
            .status()
            .unwrap()
            .success()
    );
}

fn rows(dir: &Path) -> String {
    let program = "import sqlite3; db = sqlite3.connect('a.db'); \
                   print(db.execute('pragma integrity_check').fetchone()[0], db.execute('select count(*) from t').fetchone()[0])";
    let output = Command::new("python3")
        .args(["-c", program])
        .current_dir(dir)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

const INSERTS: &str = "with n(i) as (select 1 union all select i + 1 from n where i < 500) insert into t select i from n;";

#[test]
fn sqlite_database_and_its_logs_are_undone_together() {
    let tree = Tree::new();
    tree.dir("work");
    let root = tree.path("work");
    sqlite(
        &root,
        "pragma journal_mode = wal; create table t (a); pragma wal_checkpoint(truncate)",
    );
    let mut server = start(&tree, TIERS[0]);
    let index = "import sqlite3; db = sqlite3.connect('a.db'); db.execute('create index i on t (a)'); db.close()";
    run(&mut server, &format!("python3 -c \"{index}\"")).unwrap();
    sqlite(&root, INSERTS);
    let why = assert_undo_refused(&tree, &mut server, json!({"calls": [1]}));
    assert!(
        why.contains("a.db: this SQLite database is undone as a whole or not at all: "),
        "{why}"
    );
    assert_undo_refused(&tree, &mut server, json!({"calls": [1], "paths": ["a.db"]}));
    assert_eq!(rows(&root), "ok 500\n");
}

#[test]
fn new_sqlite_database_with_later_rows_stays() {
    let tree = Tree::new();
    tree.dir("work");
    let root = tree.path("work");
    let mut server = start(&tree, TIERS[0]);
    let made = "import sqlite3; db = sqlite3.connect('a.db'); \
                db.executescript('pragma journal_mode = wal; create table t (a)'); db.close()";
    run(&mut server, &format!("python3 -c \"{made}\"; echo n >n")).unwrap();
    sqlite(&root, INSERTS);
    assert_undo_refused(&tree, &mut server, json!({"calls": [1]}));
    let why = assert_undo_refused(
        &tree,
        &mut server,
        json!({"calls": [1], "paths": ["!a.db-wal"]}),
    );
    assert!(
        why.contains("a.db-wal was changed by somebody else since"),
        "{why}"
    );
    assert_eq!(
        undo(&mut server, json!({"calls": [1], "paths": ["!a.db"]}))
            .lines()
            .next(),
        Some("removed n")
    );
    assert_eq!(rows(&root), "ok 500\n");
}

#[test]
fn database_directories_are_undone_atomically() {
    for (dir, marks) in [
        ("pg", &["PG_VERSION"][..]),
        ("level", &["CURRENT", "MANIFEST-000001"]),
        (".hg", &["requires"]),
        (".svn", &["wc.db"]),
    ] {
        let mut stage = Stage::new(|tree| {
            tree.file(format!("work/{dir}/base/1"), "1")
                .file(format!("work/{dir}/log"), "1")
        });
        for mark in marks {
            stage.tree.file(format!("work/{dir}/{mark}"), "1");
        }
        let change = json!({"path": format!("{dir}/base/1"), "content": "2"});
        stage.call_text("write_file", change.clone());
        stage.undo(1, 2);
        stage.undo(2, 3);
        stage.undo(3, 4);
        stage.call_text("write_file", change);
        stage.call_text(
            "write_file",
            json!({"path": format!("{dir}/base/2"), "content": "2"}),
        );
        let part = json!({"since": 5, "paths": [format!("!{dir}/base/2")]});
        let why = assert_undo_refused(&stage.tree, &mut stage.server, part);
        assert!(
            why.contains(&format!(
                "{dir}: this database is undone as a whole or not at all: 2 is left out"
            )),
            "{why}"
        );
        stage.tree.file(format!("work/{dir}/log"), "theirs");
        let why = assert_undo_refused(&stage.tree, &mut stage.server, json!({"since": 5}));
        assert!(
            why.contains("log was changed by somebody else since"),
            "{why}"
        );
    }
}

#[test]
fn undo_reports_changes_of_others() {
    let mut stage = Stage::new(|tree| {
        tree.file("work/d/a", "1")
            .file("work/d/b", "1")
            .file("work/d/old", "1")
    });
    stage.call_text("write_file", json!({"path": "d/a", "content": "2"}));
    stage
        .tree
        .file("work/d/b", "theirs")
        .file("work/d/c/x", "theirs");
    fs::write(stage.tree.path("work/else"), "theirs").unwrap();
    let reply = stage.server.call("undo_changes", json!({"calls": [1]}));
    assert_eq!(
        reply.result()["structuredContent"]["changedSince"],
        json!(["d/b", "d/c"])
    );
    let told = "[others changed since, in the same directories: d/b, d/c; that stays]";
    assert_eq!(reply.text().lines().last(), Some(told));
}
