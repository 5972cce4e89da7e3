//! Secret files (`--token-file`, `--tls-key`) below an allowed directory. They are hidden from
//! every tool and program, or the server refuses to start.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::client::{Server, command};
use super::reload::reload;
use super::tenants::token;
use super::{call, request};
use crate::tree::Tree;

/// Creates a tree with the token file in the directory of alice.
fn tree() -> (Tree, String) {
    let tree = Tree::new();
    tree.file("alice/a.txt", "of alice\n")
        .dir("alice/keys")
        .dir("common");
    let alice = token(
        &tree,
        &["alice", "--own", &format!("{}:rw", tree.text("alice"))],
    );
    fs::rename(
        tree.path("tokens.jsonl"),
        tree.path("alice/keys/tokens.jsonl"),
    )
    .unwrap();
    (tree, alice)
}

fn flags(tree: &Tree) -> [String; 4] {
    [
        "--token-file",
        &tree.text("alice/keys/tokens.jsonl"),
        "--allow",
        &tree.text("common"),
    ]
    .map(str::to_owned)
}

fn start(tree: &Tree, more: &[&str]) -> Server {
    let flags = flags(tree);
    Server::start(
        tree,
        &flags
            .iter()
            .map(String::as_str)
            .chain(more.iter().copied())
            .collect::<Vec<_>>(),
    )
}

/// Returns the error message of a server that refuses to start.
fn startup_error(tree: &Tree, flags: &[&str]) -> String {
    let output = command(tree, flags).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8(output.stderr).unwrap()
}

/// Checks that every tool with a path argument refuses this path, and that commands cannot access
/// it.
fn is_out_of_reach(ask: &dyn Fn(&str, Value) -> Value, path: &str, words: &str) {
    let edit = json!([{"oldText": "a", "newText": "b"}]);
    for (tool, arguments) in [
        ("read_file", json!({"path": path})),
        ("write_file", json!({"path": path, "content": "mine"})),
        ("edit_file", json!({"path": path, "edits": edit})),
        ("delete_file", json!({"path": path})),
        (
            "move_file",
            json!({"source": path, "destination": format!("{path}.old")}),
        ),
        ("search_files", json!({"path": path, "pattern": "."})),
    ] {
        let reply = ask(tool, arguments);
        assert_eq!(reply["error"]["code"], -32001, "{tool}: {reply}");
    }
    let shell = format!(
        "cat {path}; echo mine >> {path}; rm -f {path}; mv {path} {path}.old; ln {path} {path}.name; mv a.txt {path}; \
         test ! -s {path} && ls -l {path} | cut -c1-10"
    );
    let reply = ask("execute_command", json!({"command": shell}));
    assert_eq!(
        reply["result"]["structuredContent"]["stdout"], "-r--r--r--\n",
        "{reply}"
    );
    assert!(!reply.to_string().contains(words), "{reply}");
}

#[test]
fn token_file_is_inaccessible_to_agents() {
    let (tree, alice) = tree();
    let path = tree.text("alice/keys/tokens.jsonl");
    let server = start(&tree, &["--sandbox", "namespaces", "--rate-limit", "0"]);
    let ask = |tool: &str, arguments: Value| {
        server
            .post_with(&call(1, tool, &arguments), &[("Authorization", &alice)])
            .json()
    };
    let before = fs::read_to_string(&path).unwrap();
    is_out_of_reach(&ask, &path, "sha256");
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
    // An in-place rewrite is reloaded, and the file stays inaccessible.
    fs::write(&path, "").unwrap();
    fs::write(&path, before.clone() + "# checked\n").unwrap();
    reload(&server, "the tokens were read again");
    is_out_of_reach(&ask, &path, "sha256");
}

#[test]
fn replaced_token_file_is_not_loaded() {
    let (tree, alice) = tree();
    let path = tree.text("alice/keys/tokens.jsonl");
    let server = start(&tree, &["--sandbox", "namespaces", "--rate-limit", "0"]);
    let ask = |tool: &str, arguments: Value| {
        server
            .post_with(&call(1, tool, &arguments), &[("Authorization", &alice)])
            .json()
    };
    let new = token(
        &tree,
        &["alice", "--own", &format!("{}:rw", tree.text("alice"))],
    );
    fs::rename(tree.path("tokens.jsonl"), &path).unwrap();
    assert_eq!(
        ask("read_file", json!({"path": path}))["error"]["code"],
        -32001
    );
    let found = ask(
        "search_files",
        json!({"path": tree.text("alice"), "pattern": "sha256"}),
    )
    .to_string();
    assert!(
        !found.contains("tokens.jsonl") && !found.contains("error"),
        "{found}"
    );
    // The rename removed the bind mount over the file; each command restores it before its start.
    is_out_of_reach(&ask, &path, "sha256");
    let replaced = fs::read_to_string(&path).unwrap();
    // A running command may have changed the file, so it is not loaded.
    reload(&server, "the tokens were not reloaded");
    let log = server.log();
    assert!(log.contains("was replaced after the start"), "{log}");
    assert_eq!(fs::read_to_string(&path).unwrap(), replaced);
    let ping = request(1, "ping", &json!({}));
    let status = |token: &str| server.post_with(&ping, &[("Authorization", token)]).status;
    assert_eq!([&alice, &new].map(|token| status(token)), [200, 401]);
    // If the file cannot be covered, the server keeps running, but commands are refused.
    fs::remove_file(&path).unwrap();
    fs::write(tree.path("alice/keys/new"), "secret").unwrap();
    std::os::unix::fs::symlink("new", &path).unwrap();
    let reply = ask("execute_command", json!({"command": format!("cat {path}")}));
    assert!(!reply.to_string().contains("secret"), "{reply}");
    assert!(
        reply["error"]["message"]
            .as_str()
            .unwrap()
            .contains("which is neither a file nor a directory any more"),
        "{reply}"
    );
    fs::remove_file(&path).unwrap();
    let reply = ask("execute_command", json!({"command": "echo runs"}));
    assert_eq!(
        reply["result"]["structuredContent"]["stdout"], "runs\n",
        "{reply}"
    );
}

#[test]
fn tls_key_is_inaccessible_to_agents() {
    let tree = Tree::new();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    tree.file("cert.pem", made.cert.pem())
        .file("work/key.pem", made.signing_key.serialize_pem())
        .file("work/a.txt", "");
    let (cert, key) = (tree.text("cert.pem"), tree.text("work/key.pem"));
    let work = format!("{}:rw", tree.text("work"));
    let flags = [
        "--stdio",
        "--allow",
        &work,
        "--tls-cert",
        &cert,
        "--tls-key",
        &key,
        "--sandbox",
        "namespaces",
    ];
    fs::set_permissions(&key, PermissionsExt::from_mode(0o644)).unwrap();
    let open = startup_error(&tree, &flags);
    let expected = format!(
        "replay: other users can read the key `{key}` (mode 0644); run chmod 640 or 600 on it\n"
    );
    assert_eq!(open, expected);
    fs::set_permissions(&key, PermissionsExt::from_mode(0o640)).unwrap();
    let mut command = command(&tree, &flags);
    command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped());
    let mut server = Server::spawn(command);
    let input = std::cell::RefCell::new(server.child().stdin.take().unwrap());
    let output = std::cell::RefCell::new(std::io::BufReader::new(
        server.child().stdout.take().unwrap(),
    ));
    let send = |message: &Value| {
        use std::io::{BufRead as _, Write as _};
        writeln!(input.borrow_mut(), "{message}").unwrap();
        let mut line = String::new();
        output.borrow_mut().read_line(&mut line).unwrap();
        serde_json::from_str::<Value>(&line).unwrap()
    };
    let opening = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}});
    send(&request(0, "initialize", &opening));
    is_out_of_reach(
        &|tool, arguments| send(&call(1, tool, &arguments)),
        &key,
        "PRIVATE KEY",
    );
    assert_eq!(
        fs::read_to_string(&key).unwrap(),
        made.signing_key.serialize_pem()
    );
}

#[test]
fn server_refuses_start_when_secret_is_exposed() {
    let (tree, _) = tree();
    let flags = flags(&tree);
    let with = |more: &[&'static str]| -> Vec<String> {
        flags
            .iter()
            .map(String::as_str)
            .chain(more.iter().copied())
            .map(str::to_owned)
            .collect()
    };
    for (tier, why) in [
        ("landlock", "--sandbox landlock selects another tier"),
        ("off", "commands run without walls"),
    ] {
        let all = with(&["--sandbox", tier]);
        let said = startup_error(&tree, &all.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(
            said.contains(why) && said.contains("such as below ~/.local/state"),
            "{said}"
        );
    }
    fs::set_permissions(tree.path("alice/keys"), PermissionsExt::from_mode(0o777)).unwrap();
    let all = with(&["--sandbox", "namespaces"]);
    let said = startup_error(&tree, &all.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(
        said.contains("other users can replace it, since they can write to"),
        "{said}"
    );
}
