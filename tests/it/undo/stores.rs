//! Undo stores that an agent could have forged.

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pretty_assertions::assert_eq;
use rustix::process::geteuid;
use serde_json::json;

use super::people::{changes, say};
use super::start;
use crate::harness::Server;
use crate::schema::NEWEST_HANDSHAKE;
use crate::tree::{Tree, listing};

fn beside() -> String {
    format!(".replay-undo-{}", geteuid().as_raw())
}

/// Copies a store, as an agent could forge one.
fn forge_store(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry.unwrap();
        let to = to.join(entry.path().strip_prefix(from).unwrap());
        if entry.file_type().is_dir() {
            fs::DirBuilder::new()
                .mode(0o700)
                .recursive(true)
                .create(to)
                .unwrap();
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Returns the store of a server that has written a file in `work`.
fn used_store(tree: &Tree) -> PathBuf {
    tree.dir("work");
    start(tree, &[])
        .call("write_file", json!({"path": "a", "content": "1"}))
        .texts();
    let stores = fs::read_dir(tree.state().join("replay/undo")).unwrap();
    stores.map(|store| store.unwrap().path()).next().unwrap()
}

#[test]
fn store_without_note_needs_explicit_path() {
    let tree = Tree::new();
    let store = used_store(&tree);
    let copy = tree.path(beside()).join("0123456789abcdef");
    forge_store(&store, &copy);
    fs::remove_dir_all(&store).unwrap();
    let (status, text) = changes(&tree, "work", &[]);
    let why = "which no server has registered; if you trust it, give this path as --store";
    assert_eq!(
        (status, text.lines().last().unwrap()),
        (2, &*format!("left out: `{}`, {why}", copy.display()))
    );
    let path = copy.to_str().unwrap();
    assert_eq!(
        changes(&tree, "work", &["--store", path]),
        (0, "1  AT  write_file: created a".to_owned())
    );
}

#[test]
fn store_roots_with_links_are_refused() {
    let tree = Tree::new();
    let store = used_store(&tree);
    tree.dir("outside");
    symlink(tree.path("outside"), tree.path("work/link")).unwrap();
    let path = store.to_str().unwrap();
    for (root, why) in [
        (
            format!("{}/../outside", tree.text("work")),
            "it must be an absolute path without `..`",
        ),
        (
            "work".to_owned(),
            "it must be an absolute path without `..`",
        ),
        (
            tree.text("work/link"),
            "a directory of the store cannot be opened",
        ),
    ] {
        say(
            &store,
            &json!({"version": 1, "tenant": "", "roots": [root]}),
        );
        let (status, text) = changes(&tree, "work", &["--store", path]);
        assert!(status == 2 && text.contains(why), "{text}");
    }
}

#[test]
fn listing_leaves_store_unchanged() {
    let tree = Tree::new();
    let store = used_store(&tree);
    // As left by a crash during an undo.
    let log = fs::read_to_string(store.join("log/1")).unwrap();
    let begin = log
        .lines()
        .next()
        .unwrap()
        .replace("\"undoes\":[]", "\"undoes\":[1]");
    fs::write(store.join("log/2"), format!("{begin}\n")).unwrap();
    fs::remove_file(store.join("lock")).unwrap();
    let (before, work) = (listing(&store), listing(&tree.path("work")));
    for args in [&[][..], &["list"], &["show", "1"], &["diff", "1"]] {
        changes(&tree, "work", args);
        assert_eq!(
            (listing(&store), listing(&tree.path("work"))),
            (before.clone(), work.clone()),
            "{args:?}"
        );
    }
}

#[test]
fn state_directory_is_hidden_even_without_undo() {
    let tree = Tree::new();
    tree.dir("work/home");
    let allowed = format!("{}:rw", tree.text("work"));
    let line = [
        env!("CARGO_BIN_EXE_replay"),
        "--mcp-server",
        "--allow",
        &allowed,
        "--tools",
        "files",
        "--undo",
        "off",
    ];
    let state = tree.text("work/state");
    let mut server =
        Server::start_program(&tree, &line, &[("XDG_STATE_HOME", &state)]).opened(NEWEST_HANDSHAKE);
    for path in ["state/replay/undo/x/roots", "state/replay/undo/new"] {
        assert_eq!(
            server
                .call("write_file", json!({"path": path, "content": "x"}))
                .code(),
            -32001
        );
    }
    assert_eq!(
        fs::read_dir(tree.path("work/state/replay/undo"))
            .unwrap()
            .count(),
        0
    );
}

#[test]
fn default_state_directory_is_created_and_hidden() {
    let tree = Tree::new();
    tree.dir("work/home");
    let allowed = format!("{}:rw", tree.text("work"));
    let line = [
        env!("CARGO_BIN_EXE_replay"),
        "--mcp-server",
        "--allow",
        &allowed,
        "--tools",
        "files",
    ];
    let mut server = Server::start_program(&tree, &line, &[("HOME", &tree.text("work/home"))])
        .opened(NEWEST_HANDSHAKE);
    let path = "home/.local/state/replay/undo";
    assert_eq!(
        server
            .call(
                "write_file",
                json!({"path": format!("{path}/new"), "content": "x"})
            )
            .code(),
        -32001
    );
    assert_eq!(
        server
            .call("delete_file", json!({"path": "home/.local"}))
            .code(),
        -32001
    );
    assert_eq!(
        fs::read_dir(tree.path("work").join(path)).unwrap().count(),
        0
    );
}

#[test]
fn start_fails_if_agent_could_create_stores() {
    let tree = Tree::new();
    tree.file("work/file/.local", "").dir("link");
    symlink("../work/later", tree.path("link/.local")).unwrap();
    for (home, allowed, starts) in [
        ("work/file", "work:rw", false),
        ("link", "work:rw", false),
        ("link", "work:ro", true),
    ] {
        let mut program = Command::new(env!("CARGO_BIN_EXE_replay"));
        program.args([
            "--mcp-server",
            "--tools",
            "files",
            "--undo",
            "off",
            "--allow",
            allowed,
        ]);
        program
            .current_dir(tree.root())
            .env("HOME", tree.path(home))
            .env_remove("XDG_STATE_HOME");
        let done = program.stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        let why = format!(
            "{}/.local/state/replay/undo` cannot be created, and an agent could create it",
            tree.text(home)
        );
        assert_eq!(
            (done.status.success(), said.contains(&why)),
            (starts, !starts),
            "{home} {allowed}: {said}"
        );
    }
}

/// Uses another filesystem than the state directory, so that the store lies beside the tree.
#[test]
fn store_of_earlier_agent_is_not_adopted() {
    let shm = Path::new("/dev/shm");
    let tree = Tree::below(shm);
    tree.dir("work");
    if rustix::fs::stat(shm).unwrap().st_dev == rustix::fs::stat(tree.state()).unwrap().st_dev {
        eprintln!("skipped: no second filesystem");
        return;
    }
    start(&tree, &[])
        .call("write_file", json!({"path": "a", "content": "1"}))
        .texts();
    let note = || {
        let notes = fs::read_dir(tree.state().join("replay/undo")).unwrap();
        let note = notes.map(|note| note.unwrap().path()).next().unwrap();
        let said: serde_json::Value = serde_json::from_slice(&fs::read(&note).unwrap()).unwrap();
        (note, PathBuf::from(said["path"].as_str().unwrap()))
    };
    let (path, store) = note();
    assert!(store.starts_with(shm.join(beside())), "{}", store.display());
    assert_eq!(
        changes(&tree, "work", &[]),
        (0, "1  AT  write_file: created a".to_owned())
    );
    // A server with the same directories finds the store again.
    start(&tree, &[])
        .call("write_file", json!({"path": "b", "content": "1"}))
        .texts();
    assert_eq!(
        (note().1, changes(&tree, "work", &[]).1.lines().count()),
        (store.clone(), 2)
    );
    // Another directory with the same name.
    let aside = store.with_extension("aside");
    fs::rename(&store, &aside).unwrap();
    forge_store(&aside, &store);
    let (status, text) = changes(&tree, "work", &[]);
    assert!(
        status == 2 && text.contains("is not the store that a server made there"),
        "{text}"
    );
    start(&tree, &[])
        .call("write_file", json!({"path": "c", "content": "1"}))
        .texts();
    assert_eq!(
        changes(&tree, "work", &["list"]).1.lines().next(),
        Some("1  AT  write_file: created c")
    );
    assert_eq!(fs::read_dir(store.join("log")).unwrap().count(), 2);
    let (again, fresh) = note();
    assert_eq!(again, path);
    for dir in [store, aside, fresh] {
        fs::remove_dir_all(dir).unwrap();
    }
}
