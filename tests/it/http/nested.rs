//! Allowed directories inside a directory that another token may write to. The owner of that token
//! can replace them.

use std::process::Output;

use pretty_assertions::assert_eq;
use serde_json::json;

use super::call;
use super::client::{Server, command};
use super::reload::reload;
use super::tenants::token;
use crate::tree::Tree;

/// Gives mallory write access to all of `src`, which contains the directories of the others.
fn stage() -> (Tree, String, String) {
    let tree = Tree::new();
    tree.file("src/bob/b.txt", "of bob\n")
        .file("src/alice/a.txt", "of alice\n")
        .file("outside/secret", "TOPSECRET\n");
    tree.dir("common").dir("src/way");
    let own = |name: &str| format!("{}:rw", tree.text(name));
    let mallory = token(&tree, &["mallory", "--own", &own("src")]);
    let bob = token(&tree, &["bob", "--own", &own("src/bob")]);
    (tree, mallory, bob)
}

fn flags(tree: &Tree) -> Vec<String> {
    [
        "--tools",
        "files",
        "--rate-limit",
        "0",
        "--token-file",
        &tree.text("tokens.jsonl"),
        "--allow",
        &tree.text("common"),
    ]
    .map(str::to_owned)
    .to_vec()
}

fn failed_start(tree: &Tree) -> Output {
    let flags = flags(tree);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut child = command(tree, &flags).spawn().unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    if !crate::harness::ends_within(pid, crate::harness::DEADLINE / 6) {
        child.kill().unwrap();
        child.wait().unwrap();
        panic!("the server is started");
    }
    child.wait_with_output().unwrap()
}

fn replace(tree: &Tree, name: &str, target: &str) {
    std::fs::rename(tree.path(name), tree.path("src/moved")).unwrap();
    tree.link(tree.path(target), name);
}

#[test]
fn nested_symlink_is_refused_at_start() {
    for (name, target) in [
        ("src/bob", "outside"),
        ("src/bob", "src/alice"),
        ("src/way", "outside"),
    ] {
        let (tree, ..) = stage();
        if name == "src/way" {
            // A symlink in a parent directory.
            tree.dir("src/way/carol").dir("outside/carol");
            token(&tree, &["carol", "--own", &tree.text("src/way/carol")]);
        }
        replace(&tree, name, target);
        let output = failed_start(&tree);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        let goes = format!("goes through the link `{}`", tree.text(name));
        let of = format!("`{}`", tree.text("src"));
        assert!(
            said.contains(&goes) && said.contains(&of) && !said.contains("outside`"),
            "{said}"
        );
    }
}

#[test]
fn operator_symlink_to_nested_directory_is_followed() {
    let (tree, ..) = stage();
    tree.link("src/alice", "name");
    let alice = token(&tree, &["alice", "--own", &tree.text("name")]);
    let flags = flags(&tree);
    let server = Server::start(&tree, &flags.iter().map(String::as_str).collect::<Vec<_>>());
    for path in ["name/a.txt", "src/alice/a.txt"] {
        let message = call(1, "read_file", &json!({"path": tree.text(path)}));
        let reply = server
            .post_with(&message, &[("Authorization", &alice)])
            .json();
        assert_eq!(
            reply["result"]["content"][0]["text"], "of alice\n",
            "{reply}"
        );
    }
}

#[test]
fn reload_keeps_opened_nested_directory() {
    let (tree, mallory, bob) = stage();
    let flags = flags(&tree);
    let server = Server::start(&tree, &flags.iter().map(String::as_str).collect::<Vec<_>>());
    let read = |token: &str, path: &str| {
        let message = call(1, "read_file", &json!({"path": path}));
        let reply = server
            .post_with(&message, &[("Authorization", token)])
            .json();
        reply["result"]["content"][0]["text"]
            .as_str()
            .map(str::to_owned)
            .ok_or(reply["error"]["code"].clone())
    };
    assert_eq!(read(&bob, "b.txt"), Ok("of bob\n".to_owned()));
    replace(&tree, "src/bob", "src/alice");
    tree.link(tree.path("src/alice"), "src/carol");
    // Checks the directory for a new token of bob, and for a token of another name. A symlink is
    // never accepted as a directory.
    let text = std::fs::read_to_string(tree.path("tokens.jsonl")).unwrap();
    std::fs::write(
        tree.path("tokens.jsonl"),
        text.lines().next().unwrap().to_owned() + "\n",
    )
    .unwrap();
    let own = |name: &str| format!("{}:rw", tree.text(name));
    let again = token(&tree, &["bob", "--own", &own("src/bob")]);
    let dave = token(&tree, &["dave", "--own", &tree.text("src/bob")]);
    let carol = token(&tree, &["carol", "--own", &own("src/carol")]);
    reload(&server, "the tokens were read again");
    for token in [&again, &dave] {
        assert_eq!(read(token, "a.txt"), Err(json!(-32002)));
        assert_eq!(read(token, "b.txt"), Ok("of bob\n".to_owned()));
    }
    assert_eq!(read(&mallory, "moved/b.txt"), Ok("of bob\n".to_owned()));
    let log = server.log();
    let said = format!(
        "`carol` is not active: the allowed directory `{0}` goes through the link `{0}`",
        tree.text("src/carol")
    );
    assert!(log.contains(&said), "{said}: {log}");
    let ping = super::request(1, "ping", &json!({}));
    assert_eq!(
        server.post_with(&ping, &[("Authorization", &carol)]).status,
        503
    );
}
