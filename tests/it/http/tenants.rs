//! Isolation between the tokens of one server.

use std::process::Command;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::client::{Server, command};
use super::{call, request};
use crate::tree::Tree;

/// Creates a token, and adds its line to the token file.
pub fn token(tree: &Tree, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_replay"))
        .args(["token", "new"])
        .args(arguments)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (token, line) = text.split_once('\n').unwrap();
    assert!(
        token.starts_with("rpl_") && token.len() == 47 && !line.contains(&token[4..]),
        "{text}"
    );
    let path = tree.path("tokens.jsonl");
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    std::fs::write(path, before + line).unwrap();
    format!("Bearer {token}")
}

/// A server with two tokens: alice is an operator and writes below `alice`, bob reads below `bob`.
pub struct Pair {
    /// Files of both tenants, and the token file.
    pub tree: Tree,
    pub server: Server,
    /// `Authorization` header of alice.
    pub alice: String,
    /// `Authorization` header of bob.
    pub bob: String,
}

/// Starts the server with more flags.
pub fn pair(flags: &[&str]) -> Pair {
    pair_on(Tree::new(), &[&["--sandbox", "off"], flags].concat())
}

/// Starts the server on an existing tree.
pub fn pair_on(tree: Tree, flags: &[&str]) -> Pair {
    tree.file("alice/a.txt", "of alice\n")
        .file("bob/b.txt", "of bob\n")
        .file("common/c.txt", "common\n");
    let own = format!("{}:rw", tree.text("alice"));
    let alice = token(&tree, &["alice", "--own", &own, "--operator"]);
    let bob = token(
        &tree,
        &["bob", "--own", &tree.text("bob"), "--own-tools", "files"],
    );
    let file = tree.text("tokens.jsonl");
    let common = tree.text("common");
    let usual = ["--token-file", &file, "--allow", &common];
    let server = Server::start(&tree, &[&usual, flags].concat());
    Pair {
        tree,
        server,
        alice,
        bob,
    }
}

impl Pair {
    /// Sends a message with this token.
    pub fn ask(
        &self,
        token: &str,
        message: &Value,
        more: &[(&str, &str)],
    ) -> super::client::Response {
        self.server
            .post_with(message, &[&[("Authorization", token)], more].concat())
    }
}

#[test]
fn token_gets_its_own_directories_and_tools() {
    let pair = pair(&[]);
    let read = |token: &str, path: &str| {
        let reply = pair
            .ask(
                token,
                &call(1, "read_file", &json!({"path": pair.tree.text(path)})),
                &[],
            )
            .json();
        reply["result"]["content"][0]["text"]
            .as_str()
            .map(str::to_owned)
            .ok_or(reply["error"]["code"].clone())
    };
    let outside = || Err(json!(-32001));
    for (path, alice, bob) in [
        ("alice/a.txt", Ok("of alice\n".to_owned()), outside()),
        ("bob/b.txt", outside(), Ok("of bob\n".to_owned())),
        ("common/c.txt", outside(), outside()),
        ("tokens.jsonl", outside(), outside()),
    ] {
        assert_eq!(read(&pair.alice, path), alice, "{path}");
        assert_eq!(read(&pair.bob, path), bob, "{path}");
    }
    let path = pair.tree.text("bob/b.txt");
    let asked = call(1, "read_file", &json!({"path": path}));
    assert_eq!(
        pair.ask(&pair.alice, &asked, &[]).json()["error"]["message"],
        format!(
            "`{path}` is outside the allowed directories\nhint: allowed directories: {} \
             (read-write); the operator can give this token more (--own DIR)",
            pair.tree.text("alice")
        )
    );
    let names = |token: &str| -> Vec<String> {
        let list = pair
            .ask(token, &request(1, "tools/list", &json!({})), &[])
            .json();
        let tools = list["result"]["tools"].as_array().unwrap();
        tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let runs = |names: &[String]| {
        ["execute_command", "write_file"].map(|name| names.iter().any(|known| known == name))
    };
    assert_eq!(
        (runs(&names(&pair.alice)), runs(&names(&pair.bob))),
        ([true, true], [false, false])
    );
}

#[test]
fn shared_weaker_sandbox_is_warned_about() {
    let started = |names: &[&str], tier: &str| {
        let tree = Tree::new();
        for name in names {
            tree.dir(name);
            token(
                &tree,
                &[
                    name,
                    "--own",
                    &format!("{}:rw", tree.text(name)),
                    "--own-tools",
                    "files,command",
                ],
            );
        }
        let file = tree.text("tokens.jsonl");
        let server = Server::start(&tree, &["--token-file", &file, "--sandbox", tier]);
        let log = server.log();
        let warned = log
            .lines()
            .find(|line| line.contains("WARN") && line.contains("without namespaces"));
        (
            log.contains("commands are refused"),
            warned.map(str::to_owned),
        )
    };
    let (is_refused, warned) = started(&["alice", "bob"], "landlock");
    if is_refused {
        return;
    }
    let warned = warned.expect("a warning");
    let said = "commands of 2 tokens run without namespaces: they can see the arguments of each other's programs in /proc, \
                and names of each other's files (docs/http.md)";
    assert!(warned.ends_with(said), "{warned}");
    assert_eq!(started(&["alice"], "landlock").1, None);
    assert_eq!(started(&["alice", "bob"], "namespaces").1, None);
}

#[test]
fn token_gets_its_own_cache() {
    let tree = Tree::new();
    let tokens = ["alice", "bob"].map(|name| {
        tree.dir(name);
        token(
            &tree,
            &[
                name,
                "--own",
                &format!("{}:rw", tree.text(name)),
                "--own-tools",
                "files,command",
            ],
        )
    });
    let (file, common) = (tree.text("tokens.jsonl"), tree.text("common"));
    let output = command(&tree, &["--token-file", &file, "--cache", &common])
        .output()
        .unwrap();
    let refused = format!(
        "the token `bob`: --cache `{common}`: by its CACHEDIR.TAG it is not the cache of the \
         token `bob`; give each token its own directory (`cache` in its line), or delete this one"
    );
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.trim_end().ends_with(&refused), "{said}");
    let lines = tree.read("tokens.jsonl");
    let lines = lines.lines().zip(["a", "b"]).map(|(line, name)| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        line["cache"] = json!(tree.text(name));
        format!("{line}\n")
    });
    tree.file("tokens.jsonl", lines.collect::<String>());
    let server = Server::start(&tree, &["--token-file", &file]);
    if server.log().contains("commands are refused") {
        return;
    }
    let ran = tokens.map(|token| {
        let line = "cat ~/.cache/who; echo mine > ~/.cache/who; ls $XDG_CACHE_HOME/who";
        let message = call(1, "execute_command", &json!({"command": line}));
        let reply = server
            .post_with(&message, &[("Authorization", &token)])
            .json();
        reply["result"]["structuredContent"]["stdout"]
            .as_str()
            .unwrap()
            .to_owned()
    });
    assert_eq!(
        ran,
        ["a", "b"].map(|name| format!("{}/caches/who\n", tree.text(name)))
    );
}

#[test]
fn sessions_and_limits_are_per_token() {
    let pair = pair(&["--rate-limit", "1", "--rate-burst", "4"]);
    let opened = pair.ask(
        &pair.alice,
        &request(1, "initialize", &json!({"protocolVersion": "2025-11-25"})),
        &[],
    );
    let session = ("mcp-session-id", opened.header("mcp-session-id").unwrap());
    let ping = request(2, "ping", &json!({}));
    assert_eq!(pair.ask(&pair.alice, &ping, &[session]).status, 200);
    // As with any unknown id, a request without need of a session is answered as bob's own.
    assert_eq!(pair.ask(&pair.bob, &ping, &[session]).status, 200);
    let level = request(3, "logging/setLevel", &json!({"level": "debug"}));
    assert_eq!(pair.ask(&pair.bob, &level, &[session]).status, 404);
    let bob = [
        ("Authorization", pair.bob.as_str()),
        session,
        ("Accept", "text/event-stream"),
    ];
    for method in ["GET", "DELETE"] {
        assert_eq!(
            pair.server.ask(method, "/mcp", &bob, b"").status,
            404,
            "{method}"
        );
    }
    let statuses = [0; 3].map(|_| pair.ask(&pair.alice, &ping, &[session]).status);
    assert_eq!(statuses, [200, 200, 429]);
    assert_eq!(pair.ask(&pair.bob, &ping, &[]).status, 200);
}

#[test]
fn only_operator_sees_other_tenants() {
    let pair = pair(&[]);
    let list = call(1, "list_directory", &json!({"path": "."}));
    assert_eq!(pair.ask(&pair.bob, &list, &[]).status, 200);
    let page = |token: &str, path: &str| {
        pair.server
            .ask("GET", path, &[("Authorization", token)], b"")
            .text()
    };
    let counted =
        "mcp_tool_calls_total{tenant=\"bob\",tool_name=\"list_directory\",outcome=\"ok\"} 1\n";
    for token in [&pair.alice, &pair.bob] {
        assert!(page(token, "/metrics").contains(counted));
    }
    let mine = page(&pair.bob, "/metrics") + &page(&pair.bob, "/health/detailed");
    assert!(!mine.contains("alice"), "{mine}");
    let health: Value = serde_json::from_str(&page(&pair.alice, "/health/detailed")).unwrap();
    let idle = |name: &str| {
        json!({"name": name, "sessions": 0, "callsRunning": 0, "callsWaiting": 0, "commandsRunning": 0,
            "backgroundCommandsRunning": 0, "pythonSessions": []})
    };
    assert_eq!(health["tenants"], json!([idle("alice"), idle("bob")]));
}
