//! Roots of a client: where relative paths and commands begin.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::harness::Server;
use crate::schema::NEWEST_HANDSHAKE;
use crate::tree::Tree;

/// Starts a server for two directories, whose client answers with these roots.
fn open(tree: &Tree, roots: &[&str]) -> Server {
    tree.file("a/x", "first\n").file("b/in/x", "root\n");
    let allow = ["a", "b"].map(|dir| format!("{}:rw", tree.text(dir)));
    let args = [
        "--allow",
        &allow[0],
        "--allow",
        &allow[1],
        "--sandbox",
        "off",
    ];
    let mut server = Server::start(
        tree,
        &[&args[..], &["--tools", "files,command,python"]].concat(),
    )
    .opened_with(
        NEWEST_HANDSHAKE,
        "it",
        &json!({"roots": {"listChanged": true}}),
    );
    let asked = server.recv();
    assert_eq!(asked["method"], "roots/list");
    let roots: Vec<Value> = roots.iter().map(|uri| json!({"uri": uri})).collect();
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": roots}});
    server.send_raw(&answer.to_string());
    server.settle();
    server
}

#[test]
fn relative_paths_and_commands_begin_at_root() {
    let tree = Tree::new();
    let uri = format!("file://{}", tree.text("b/%69n"));
    let (clean, climbing) = (uri.replace("/b/", "/./b//"), uri.replace("/b/", "/b/../a/"));
    let roots = ["file:///outside", "https://x/", &climbing, &clean];
    let mut server = open(&tree, &roots);
    let read = server.call("read_file", json!({"path": "x"}));
    assert_eq!(read.text(), "root\n");
    let ran = server.call("execute_command", json!({"command": "cat x"}));
    assert_eq!(ran.text(), "root\n[exit code: 0]");
    for scope in [json!({"directory": "."}), json!({"globs": ["*"]})] {
        let mut arguments = json!({"regex": "."});
        arguments
            .as_object_mut()
            .unwrap()
            .extend(scope.as_object().unwrap().clone());
        let found = server.call("grep_files", arguments);
        assert!(
            found.whole().contains("b/in/x") && !found.whole().contains("first"),
            "{}",
            found.0
        );
    }
    let python = json!({"code": "import os; print(os.getcwd())"});
    let ran = server.call("run_python_code", python);
    assert_eq!(
        ran.result()["structuredContent"]["stdout"],
        tree.text("b/in") + "\n"
    );
    let listed = server.call("list_allowed_directories", json!({}));
    let note = format!(
        "[relative paths begin at {}, a root of your client]",
        tree.text("b/in")
    );
    assert_eq!(listed.texts().last().unwrap(), &note);
    // A root widens nothing.
    let outside = server.call("read_file", json!({"path": "../../../etc/hostname"}));
    assert_eq!(outside.code(), -32001);
}

#[test]
fn outside_roots_are_ignored() {
    let tree = Tree::new();
    let mut server = open(&tree, &["file:///", "file:///etc"]);
    let read = server.call("read_file", json!({"path": "x"}));
    assert_eq!(read.text(), "first\n");
}

#[test]
fn unasked_roots_are_ignored() {
    let tree = Tree::new();
    tree.file("a/x", "first\n").file("a/in/x", "root\n");
    let allow = format!("{}:rw", tree.text("a"));
    let mut server = Server::open(&tree, NEWEST_HANDSHAKE, &["--allow", &allow]);
    let roots = json!([{"uri": format!("file://{}", tree.text("a/in"))}]);
    let answer = json!({"jsonrpc": "2.0", "id": "replay-roots", "result": {"roots": roots}});
    server.send_raw(&answer.to_string());
    server.settle();
    assert_eq!(
        server.call("read_file", json!({"path": "x"})).text(),
        "first\n"
    );
}
