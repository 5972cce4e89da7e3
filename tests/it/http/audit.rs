//! Audit log (`--audit`) over HTTP: one log, with the name of the token in each line.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::tenants::pair_on;
use super::{call, request};
use crate::tree::Tree;

#[test]
fn audit_line_names_token() {
    let tree = Tree::new();
    tree.dir("logs");
    let log = tree.text("logs/audit.jsonl");
    let pair = pair_on(tree, &["--tools", "files", "--audit", &log]);
    let read = |token: &str, path: &str, more: &[(&str, &str)]| {
        pair.ask(
            token,
            &call(1, "read_file", &json!({"path": pair.tree.text(path)})),
            more,
        )
    };
    let opened = pair.ask(
        &pair.alice,
        &request(1, "initialize", &json!({"protocolVersion": "2025-11-25"})),
        &[],
    );
    let session = opened.header("mcp-session-id").unwrap();
    read(&pair.alice, "alice/a.txt", &[("mcp-session-id", session)]);
    read(&pair.bob, "alice/a.txt", &[]);
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(!text.contains(session));
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0]["serves"], pair.server.address.to_string());
    let grants: Vec<_> = lines[0]["grants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|grant| grant["client"].clone())
        .collect();
    assert_eq!(grants, ["alice", "bob"]);
    let of = |line: &Value| ["client", "call", "outcome"].map(|name| line[name].clone());
    assert_eq!(of(&lines[1]), [json!("alice"), json!(1), json!("ok")]);
    assert_eq!(of(&lines[2]), [json!("bob"), json!(2), json!("denied")]);
    assert_eq!(lines[1]["session"].as_str().map(str::len), Some(16));
    assert_eq!(lines[2]["session"], Value::Null);
    let health = |token: &str| {
        let page = pair
            .server
            .ask("GET", "/health/detailed", &[("Authorization", token)], b"")
            .text();
        serde_json::from_str::<Value>(&page).unwrap()["audit"].clone()
    };
    assert_eq!(
        health(&pair.alice),
        json!({"bytes": text.len(), "lines": 3, "head": lines[2]["hash"]})
    );
    assert_eq!(health(&pair.bob), Value::Null);
    // The health check fails when the log is moved or deleted.
    let whole = || {
        let reply = pair.server.ask("GET", "/health", &[], b"");
        (reply.status, reply.text())
    };
    assert_eq!(whole(), (200, "{\"status\":\"ok\"}".to_owned()));
    std::fs::rename(&log, pair.tree.path("logs/moved")).unwrap();
    assert_eq!(whole(), (503, "{\"status\":\"failing\"}".to_owned()));
    std::fs::rename(pair.tree.path("logs/moved"), &log).unwrap();
    assert_eq!(whole(), (200, "{\"status\":\"ok\"}".to_owned()));
    std::fs::remove_file(&log).unwrap();
    assert_eq!(whole(), (503, "{\"status\":\"failing\"}".to_owned()));
    assert_eq!(
        read(&pair.alice, "alice/a.txt", &[]).json()["error"]["code"],
        -32603
    );
}

#[test]
fn end_of_background_command_is_logged() {
    let tree = Tree::new();
    tree.dir("logs");
    let log = tree.text("logs/audit.jsonl");
    let pair = pair_on(tree, &["--sandbox", "namespaces", "--audit", &log]);
    let ask = |tool: &str, arguments: Value| {
        pair.ask(&pair.alice, &call(1, tool, &arguments), &[])
            .json()
    };
    ask(
        "execute_command",
        json!({"command": "read line; echo done; exit 3", "background": true}),
    );
    let followed = ask(
        "follow_command",
        json!({"commandId": "c1", "stdin": "go\n", "waitSecs": 10}),
    );
    assert_eq!(
        followed["result"]["structuredContent"]["output"], "done\n",
        "{followed}"
    );
    // The thread that follows the command writes the line after its end.
    let until = std::time::Instant::now() + crate::harness::DEADLINE;
    let lines = loop {
        let text = std::fs::read_to_string(&log).unwrap();
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        if lines.iter().any(|line| line["event"] == "background") {
            break lines;
        }
        assert!(std::time::Instant::now() < until, "{text}");
        std::thread::yield_now();
    };
    let started = lines.iter().find(|line| line["event"] == "call").unwrap();
    assert_eq!(started["detail"], "in the background as c1");
    let ended = lines
        .iter()
        .find(|line| line["event"] == "background")
        .unwrap();
    let said = ["client", "id", "detail", "asked", "output_bytes"].map(|name| ended[name].clone());
    assert_eq!(
        said,
        [
            json!("alice"),
            json!("c1"),
            json!("exit code 3"),
            json!(false),
            json!(5)
        ]
    );
    assert!(
        ended["duration_us"]
            .as_u64()
            .is_some_and(|duration| duration > 0),
        "{ended}"
    );
}

#[test]
fn tool_missing_from_token_is_denied() {
    let tree = Tree::new();
    tree.dir("logs");
    let log = tree.text("logs/audit.jsonl");
    let pair = pair_on(tree, &["--sandbox", "namespaces", "--audit", &log]);
    let ask = |tool: &str| {
        pair.ask(&pair.bob, &call(1, tool, &json!({"command": "true"})), &[])
            .json()["error"]["code"]
            .clone()
    };
    assert_eq!(
        ["execute_command", "no_such_tool"].map(ask),
        [json!(-32602), json!(-32602)]
    );
    let text = std::fs::read_to_string(&log).unwrap();
    let lines = text
        .lines()
        .skip(1)
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let lines = lines.filter(|line| line["event"] == "call");
    let lines: Vec<_> = lines
        .map(|line| (line["outcome"].clone(), line["code"].clone()))
        .collect();
    assert_eq!(
        lines,
        [
            (json!("denied"), json!(-32602)),
            (json!("invalid"), json!(-32602))
        ]
    );
    let page = pair
        .server
        .ask("GET", "/metrics", &[("Authorization", &pair.alice)], b"")
        .text();
    assert!(
        page.contains("tenant=\"bob\"") && page.contains("outcome=\"denied\"} 1\n"),
        "{page}"
    );
    let health = |path: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_replay"));
        let output = command
            .args(["health", &format!("http://{}{path}", pair.server.address)])
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (status, said) = health("/metrics");
    assert!(
        status == Some(1) && said.contains("answers with 401: this path needs a token"),
        "{said}"
    );
    std::fs::remove_file(&log).unwrap();
    let (status, said) = health("");
    assert!(
        status == Some(1) && said.ends_with("answers with 503: failing\n"),
        "{said}"
    );
}
