//! Reload of tokens and certificates on SIGHUP.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};
use std::time::Instant;

use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::activity::follow;
use super::client::Server;
use super::request;
use super::tenants::{Pair, pair, token};
use crate::harness::DEADLINE;
use crate::tree::Tree;

/// Sends SIGHUP, and waits until the log contains this message once more.
#[track_caller]
pub fn reload(server: &Server, said: &str) {
    let count = |log: &str| log.matches(said).count();
    let before = count(&server.log());
    kill_process(
        Pid::from_raw(server.pid().cast_signed()).unwrap(),
        Signal::HUP,
    )
    .unwrap();
    let until = Instant::now() + DEADLINE;
    while count(&server.log()) == before {
        assert!(Instant::now() < until, "`{said}` is not said");
        std::thread::yield_now();
    }
}

#[test]
fn reload_revokes_and_replaces_tokens() {
    let Pair {
        tree,
        server,
        alice,
        bob,
    } = pair(&["--rate-limit", "0"]);
    let ping = request(1, "ping", &json!({}));
    let status = |token: &str| server.post_with(&ping, &[("Authorization", token)]).status;
    let opened = request(1, "initialize", &json!({"protocolVersion": "2025-11-25"}));
    let opened = server.post_with(&opened, &[("Authorization", &bob)]);
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let mut listener = server.connect();
    let own = [
        ("Authorization", bob.as_str()),
        ("Mcp-Session-Id", &session),
        ("Accept", "text/event-stream"),
    ];
    listener.send("GET", "/mcp", &own, b"");
    assert_eq!(listener.head().status, 200);
    let path = tree.path("tokens.jsonl");
    let good = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, "{}\n").unwrap();
    reload(&server, "the tokens were not reloaded");
    assert_eq!([status(&alice), status(&bob)], [200, 200]);
    // Replaces one token under the same name, and adds a new name.
    std::fs::write(&path, good.lines().next().unwrap().to_owned() + "\n").unwrap();
    let other = token(
        &tree,
        &["bob", "--own", &tree.text("bob"), "--own-tools", "files"],
    );
    let carol = token(&tree, &["carol"]);
    reload(&server, "the tokens were read again");
    assert_eq!(
        [&alice, &bob, &other, &carol].map(|token| status(token)),
        [200, 401, 200, 200]
    );
    assert!(
        server.log().contains("`carol` is active"),
        "{}",
        server.log()
    );
    assert!(listener.is_hung_up());
    let level = request(3, "logging/setLevel", &json!({"level": "debug"}));
    let lost = server.post_with(
        &level,
        &[("Authorization", &other), ("Mcp-Session-Id", &session)],
    );
    assert_eq!(lost.status, 404);
    std::fs::write(&path, good.lines().next().unwrap()).unwrap();
    reload(&server, "the tokens were read again");
    assert!(
        server.log().contains("`bob` has no token any more"),
        "{}",
        server.log()
    );
    assert_eq!(
        [&alice, &bob, &other].map(|token| status(token)),
        [200, 401, 401]
    );
    let seen = server
        .ask(
            "GET",
            "/activity?limit=0",
            &[("Authorization", &alice)],
            b"",
        )
        .json();
    let seen: Vec<&Value> = seen["tenants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tenant| &tenant["name"])
        .collect();
    assert_eq!(seen, ["alice"]);
}

#[test]
fn demoted_operator_loses_view_of_other_tenants() {
    let Pair {
        tree,
        server,
        alice,
        ..
    } = pair(&["--rate-limit", "0"]);
    let you = || {
        server
            .ask("GET", "/activity", &[("Authorization", &alice)], b"")
            .json()["you"]
            .clone()
    };
    let mut looks_on = follow(&server, &alice, None);
    assert_eq!(you(), json!({"name": "alice", "operator": true}));
    let path = tree.path("tokens.jsonl");
    let before = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, before.replace(",\"operator\":true", "")).unwrap();
    reload(&server, "the tokens were read again");
    assert!(looks_on.is_hung_up());
    assert_eq!(you(), json!({"name": "alice", "operator": false}));
    assert!(
        !server.log().contains("take effect after a restart"),
        "{}",
        server.log()
    );
    // The initial operator right can be restored.
    std::fs::write(&path, before).unwrap();
    reload(&server, "the tokens were read again");
    assert_eq!(you(), json!({"name": "alice", "operator": true}));
}

#[test]
fn reload_replaces_certificate() {
    let tree = Tree::new();
    let make = |cert: &str, key: &str| {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        std::fs::write(tree.path(cert), made.cert.pem()).unwrap();
        std::fs::write(tree.path(key), made.signing_key.serialize_pem()).unwrap();
        std::fs::set_permissions(tree.path(key), PermissionsExt::from_mode(0o600)).unwrap();
    };
    tree.dir("work");
    make("cert.pem", "key.pem");
    std::fs::copy(tree.path("cert.pem"), tree.path("first.pem")).unwrap();
    let (cert, key) = (tree.text("cert.pem"), tree.text("key.pem"));
    let server = Server::start(
        &tree,
        &[
            "--allow",
            "work",
            "--tools",
            "files",
            "--tls-cert",
            &cert,
            "--tls-key",
            &key,
        ],
    );
    let port = server.address.port();
    let health = |scheme: &str, more: &[&str]| -> Output {
        let url = format!("{scheme}://localhost:{port}");
        let mut command = Command::new(env!("CARGO_BIN_EXE_replay"));
        command
            .args(["health", &url])
            .args(more)
            .env_clear()
            .output()
            .unwrap()
    };
    let said = |output: Output| {
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let first = tree.text("first.pem");
    let trusted = |file: &str| said(health("https", &["--cacert", file]));
    let distrusted = format!(
        "replay: the certificate of `localhost:{port}` is not trusted: it is signed by an \
         authority that this system does not trust; `--cacert FILE` adds the authorities in a \
         file\n"
    );
    assert_eq!(said(health("https", &[])), (Some(1), distrusted));
    assert_eq!(trusted(&first), (Some(0), String::new()));
    let plain = format!(
        "replay: `localhost:{port}` answers with something that is not HTTP/1: it speaks TLS; ask it with https://\n"
    );
    assert_eq!(said(health("http", &[])), (Some(1), plain));
    std::fs::write(&cert, "nothing").unwrap();
    reload(&server, "the certificate was not reloaded");
    assert_eq!(trusted(&first), (Some(0), String::new()));
    make("cert.pem", "key.pem");
    reload(&server, "the certificate was read again");
    assert_eq!(trusted(&cert), (Some(0), String::new()));
    // Same host name, but different key.
    let wrong = format!(
        "replay: the certificate of `localhost:{port}` is not trusted: its signature is wrong\n"
    );
    assert_eq!(trusted(&first), (Some(1), wrong));
    // A key that does not match the certificate is reported once, with an explanation.
    make("other.pem", "key.pem");
    let why = "the key does not belong to the first certificate of the chain; give the matching \
        key\n";
    reload(
        &server,
        &format!("the certificate was not reloaded: `{cert}` and `{key}`: {why}"),
    );
    assert_eq!(trusted(&cert), (Some(0), String::new()));
}

/// Replaces each reloaded file by a FIFO without writers, a directory and a device.
#[test]
fn reload_refuses_special_files_and_recovers() {
    let tree = Tree::new();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    tree.dir("work")
        .file("cert.pem", made.cert.pem())
        .file("key.pem", made.signing_key.serialize_pem());
    std::fs::set_permissions(tree.path("key.pem"), PermissionsExt::from_mode(0o600)).unwrap();
    token(&tree, &["alice"]);
    let [cert, key, tokens] = ["cert.pem", "key.pem", "tokens.jsonl"].map(|name| tree.text(name));
    let flags = [
        "--token-file",
        &tokens,
        "--tls-cert",
        &cert,
        "--tls-key",
        &key,
        "--allow",
        "work",
        "--tools",
        "files",
    ];
    let server = Server::start(&tree, &flags);
    for (name, stays) in [
        ("tokens.jsonl", "the tokens were not reloaded"),
        ("cert.pem", "the certificate was not reloaded"),
        ("key.pem", "the certificate was not reloaded"),
    ] {
        let path = tree.path(name);
        let refused = format!("{stays}: `{}` is not a regular file", path.display());
        std::fs::rename(&path, tree.path("kept")).unwrap();
        tree.fifo(name);
        reload(&server, &refused);
        std::fs::remove_file(&path).unwrap();
        tree.dir(name);
        reload(&server, &refused);
        std::fs::remove_dir(&path).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        reload(&server, &refused);
        std::fs::remove_file(&path).unwrap();
        std::fs::rename(tree.path("kept"), &path).unwrap();
    }
    reload(&server, "the certificate was read again");
    assert!(
        server.log().contains("the tokens were read again"),
        "{}",
        server.log()
    );
    // The server also refuses them at start.
    drop(server);
    for name in ["tokens.jsonl", "cert.pem", "key.pem"] {
        std::fs::rename(tree.path(name), tree.path("kept")).unwrap();
        tree.fifo(name);
        let output = super::client::command(&tree, &flags).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), said),
            (
                Some(2),
                format!("replay: `{}` is not a regular file\n", tree.text(name))
            )
        );
        std::fs::rename(tree.path("kept"), tree.path(name)).unwrap();
    }
}
