//! Proxies of real servers: lines, faults, checks and recordings.

use std::fmt::Write as _;
use std::fs::File;
use std::process::Command;

use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{BINARY, ask, call, request, run, text};
use crate::harness::{DEADLINE, Server, ends_within};
use crate::tree::Tree;

const REAL: &str = r#"
mock_server:
  tools:
    - { name: a, response: { content: [{ type: text, text: "a ${args.x}" }] } }
    - { name: b }
    - { name: never, fault: hang }
"#;

/// Command of a real server whose journal is `real.jsonl`.
fn real(tree: &Tree) -> String {
    tree.file("m.yaml", REAL);
    format!("{BINARY} mock --tools-from m.yaml --journal real.jsonl --log-level error")
}

/// Returns the lines of a journal or cassette, without durations.
fn lines(tree: &Tree, file: &str) -> Vec<Value> {
    let text = tree.read(file);
    let without_time = |line| {
        let mut value: Value = serde_json::from_str(line).unwrap();
        value.as_object_mut().unwrap().shift_remove("ms");
        value
    };
    text.lines().map(without_time).collect()
}

fn numbers(tree: &Tree, file: &str) -> Vec<Value> {
    let calls = lines(tree, file);
    calls
        .iter()
        .map(|line| line["params"]["arguments"]["x"].clone())
        .collect()
}

#[test]
fn proxied_lines_are_passed_unchanged() {
    let tree = Tree::new();
    let mut sent = String::from(
        "no json\n\n  {\"a\":  1}\n[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}]\n",
    );
    let long = "x".repeat(3 << 20);
    writeln!(
        sent,
        "{{\"jsonrpc\": \"2.0\", \"id\": 1.50, \"result\": \"{long}\"}}"
    )
    .unwrap();
    writeln!(
        sent,
        "{{\"id\": 7, \"jsonrpc\": \"2.0\", \"method\": \"tools/call\", \"params\": 1e999}}"
    )
    .unwrap();
    sent.push_str("{\"half");
    tree.file("sent", &sent);
    // `cat` sends everything back.
    let proxy = Command::new(BINARY)
        .args(["mock", "proxy", "--target", "cat"])
        .stdin(File::open(tree.path("sent")).unwrap())
        .output()
        .unwrap();
    assert!(proxy.status.success());
    assert_eq!(proxy.stdout.len(), sent.len());
    assert!(proxy.stdout == sent.as_bytes());
}

#[test]
fn proxy_applies_fault_to_one_tool() {
    let tree = Tree::new();
    let target = real(&tree);
    tree.file("expect.yaml", "expect: [{ tool: a, times: 2 }]");
    let args = [
        "mock",
        "proxy",
        "--target",
        &target,
        "--fault",
        "a=wrong-id",
        "--fault-times",
        "1",
        "--fault",
        "gone=hang",
        "--expect",
        "expect.yaml",
        "--report",
        "report.txt",
        "--journal",
        "j.jsonl",
        "-o",
        "c.jsonl",
    ];
    let asked = [
        call(1, "a", json!({"x": 1})),
        call(2, "a", json!({"x": 2})),
        call(3, "b", json!({})),
    ];
    let ended = ask(&tree, &args, &asked);
    let wrong = json!({"jsonrpc": "2.0", "id": "an id that no request had", "result": text("a 1")});
    let good = [
        json!({"jsonrpc": "2.0", "id": 2, "result": text("a 2")}),
        json!({"jsonrpc": "2.0", "id": 3, "result": text("mock b")}),
    ];
    let all = [&[wrong.clone()][..], &good].concat();
    assert_eq!(
        (ended.messages(), ended.status),
        (all, Some(0)),
        "{}",
        ended.stderr
    );
    assert_eq!(
        tree.read("report.txt"),
        "good: a: got 2 times\nall expectations are met\n"
    );
    assert!(
        ended
            .stderr
            .contains("--fault gone=hang was applied to no call"),
        "{}",
        ended.stderr
    );
    // The journal has what the client got, the cassette what the server answered.
    assert_eq!(
        lines(&tree, "j.jsonl")[0],
        json!({"number": 1, "method": "tools/call", "params": {"name": "a", "arguments": {"x": 1}}, "id": 1,
            "line": wrong.to_string()})
    );
    let answers: Vec<Value> = lines(&tree, "c.jsonl")
        .iter()
        .map(|line| line["result"].clone())
        .collect();
    assert_eq!(
        answers,
        [Value::Null, text("a 1"), text("a 2"), text("mock b")]
    );

    tree.file("expect.yaml", "expect: [{ tool: b, times: 0 }]");
    assert_eq!(ask(&tree, &args, &asked).status, Some(1));
}

#[test]
fn faults_of_proxy_equal_those_of_mock() {
    let tree = Tree::new();
    let target = real(&tree);
    for fault in [
        "none",
        "hang",
        "wedged",
        "silent",
        "slow:50",
        "recover-after:1",
        "badjson",
        "truncated",
        "duplicate",
        "stdout-noise",
        "exit",
    ] {
        let fault = format!("a={fault}");
        let asked = [call(1, "a", json!({"x": 1})), call(2, "a", json!({"x": 2}))];
        let sorted = |source: [&str; 4]| {
            let args = [&source[..], &["--fault", &fault]].concat();
            let ended = run(&tree, &args, &asked);
            let mut lines = ended.lines;
            lines.sort();
            (lines, ended.status)
        };
        let mock = sorted(["mock", "--tools-from", "m.yaml", "--log-level=warn"]);
        assert_eq!(
            sorted(["mock", "proxy", "--target", &target]),
            mock,
            "{fault}"
        );
    }
}

#[test]
fn cancelled_call_of_held_tool_never_reaches_server() {
    let tree = Tree::new();
    let target = real(&tree);
    let line = [
        BINARY,
        "mock",
        "proxy",
        "--target",
        &target,
        "--fault",
        "a=hang",
        "--fault",
        "b=reply-after-cancel:1",
        "--journal",
        "j.jsonl",
    ];
    let mut proxy = Server::start_program(&tree, &line, &[]).unchecked();
    for (id, name) in [(1, "a"), (2, "b"), (3, "never")] {
        proxy.send_raw(&call(id, name, json!({"x": id})).to_string());
        proxy.notify("notifications/cancelled", json!({"requestId": id}));
    }
    assert_eq!(
        proxy.recv(),
        json!({"jsonrpc": "2.0", "id": 2, "result": text("mock b")})
    );
    // The id can be used again.
    proxy.send_raw(&request(1, "ping", json!({})).to_string());
    assert_eq!(
        proxy.recv(),
        json!({"jsonrpc": "2.0", "id": 1, "result": {}})
    );
    proxy.close_stdin();
    assert!(proxy.wait_exit().success());
    let mut reached: Vec<Value> = lines(&tree, "real.jsonl")
        .iter()
        .map(|line| line["id"].clone())
        .collect();
    reached.sort_by_key(Value::to_string);
    // The third call and its cancellation, the second call, and the ping.
    assert_eq!(reached, [json!(1), json!(2), json!(3), Value::Null]);
    let silent = lines(&tree, "j.jsonl")
        .iter()
        .filter(|line| line["silent"] == true)
        .count();
    assert_eq!(silent, 2);
}

#[test]
fn death_of_server_ends_proxy_with_its_status() {
    let tree = Tree::new();
    let last = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {}});
    let target = format!("read line; read line; echo '{last}'; exit 7");
    let line = [
        BINARY,
        "mock",
        "proxy",
        "--target",
        &target,
        "--fault",
        "a=hang",
        "--journal",
        "j.jsonl",
    ];
    let mut proxy = Server::start_program(&tree, &line, &[]).unchecked();
    for (id, name) in [(1, "a"), (2, "b"), (3, "b")] {
        proxy.send_raw(&call(id, name, json!({"x": id})).to_string());
    }
    // The client keeps its side open.
    assert_eq!(proxy.recv_to_end(), [last]);
    assert_eq!(proxy.wait_exit().code(), Some(7));
    let stderr = proxy.stderr();
    assert!(
        stderr.contains("the server ended (exit status: 7); unanswered requests: 2"),
        "{stderr}"
    );
    assert_eq!(numbers(&tree, "j.jsonl").len(), 3);
}

#[test]
fn signal_ends_server_behind_proxy() {
    let tree = Tree::new();
    let target = "echo $$ > pid; exec cat";
    let line = [
        BINARY, "mock", "proxy", "--target", target, "--fault", "a=wedged",
    ];
    for signal in [Signal::INT, Signal::TERM] {
        let mut proxy = Server::start_program(&tree, &line, &[]).unchecked();
        proxy.send_raw(&call(1, "a", json!({})).to_string());
        proxy.send_raw(&request(2, "ping", json!({})).to_string());
        assert_eq!(proxy.recv()["id"], 2);
        kill_process(proxy.pid(), signal).unwrap();
        assert_eq!(proxy.wait_exit().code(), Some(1));
        let server = tree.read("pid").trim().parse().ok().and_then(Pid::from_raw);
        assert!(ends_within(server.unwrap(), DEADLINE));
    }
}

#[test]
fn killed_proxy_leaves_cassette_of_answers() {
    let tree = Tree::new();
    let target = real(&tree);
    let line = [
        BINARY, "mock", "proxy", "--target", &target, "-o", "c.jsonl",
    ];
    let mut proxy = Server::start_program(&tree, &line, &[]).unchecked();
    for id in 1..=50 {
        proxy.send_raw(&call(id, "a", json!({"x": id})).to_string());
    }
    let answered: Vec<Value> = (0..20).map(|_| proxy.recv()["id"].take()).collect();
    kill_process(proxy.pid(), Signal::KILL).unwrap();
    proxy.wait_exit();
    for id in answered {
        let x = id.as_i64().unwrap();
        let played = ask(
            &tree,
            &["mock", "--cassette", "c.jsonl"],
            &[call(x, "a", json!({"x": x}))],
        );
        assert_eq!(played.messages()[0]["result"], text(&format!("a {x}")));
    }
}

#[test]
fn flags_of_other_kind_of_target_are_refused() {
    let url = "https://example.com/mcp";
    let cases: [(&[&str], &str); 5] = [
        (
            &["record", "--target", url, "-o", "c.jsonl"],
            "and `https://example.com/mcp` is a URL; only `replay mock proxy` takes a URL",
        ),
        (
            &["proxy", "--target", url, "--fault", "badjson"],
            "--fault: `badjson` is no fault of HTTP; valid: unauthorized, rate-limited:SECONDS, ",
        ),
        (
            &["proxy", "--target", "true", "--fault", "cut"],
            "--fault cut is a fault of HTTP; it needs --http, or a --target that is a URL",
        ),
        (
            &["--preset", "evil", "--fault", "a=cut"],
            "--fault cut is a fault of HTTP; it needs --http, or a --target that is a URL",
        ),
        (
            &["proxy", "--target", "true", "--http", "127.0.0.1:0"],
            "--http, --faults-from and --cacert go with a --target that is a URL",
        ),
    ];
    for (args, reason) in cases {
        let tree = Tree::new();
        let refused = run(&tree, &[&["mock"], args].concat(), &[]);
        assert_eq!(
            (refused.status, refused.stderr.contains(reason)),
            (Some(2), true),
            "{}",
            refused.stderr
        );
    }
}

#[test]
fn recording_without_answers_leaves_cassette() {
    let tree = Tree::new();
    tree.file("c.jsonl", "kept");
    for target in ["http://127.0.0.1:1/mcp", "exit 3"] {
        let ended = run(
            &tree,
            &["mock", "record", "--target", target, "-o", "c.jsonl"],
            &[],
        );
        assert_ne!(ended.status, Some(0), "{target}");
        assert_eq!(tree.read("c.jsonl"), "kept", "{target}");
    }
}

#[test]
fn flag_of_cassette_needs_one() {
    let tree = Tree::new();
    for flags in [
        ["--match", "order"],
        ["--on-miss", "record"],
        ["--target", "true"],
    ] {
        let refused = run(
            &tree,
            &[&["mock", "--preset", "evil"], &flags[..]].concat(),
            &[],
        );
        let reason = format!("replay: {} goes with --cassette FILE\n", flags[0]);
        assert_eq!((refused.status, refused.stderr), (Some(2), reason));
    }
}

#[test]
fn expectation_of_unknown_event_is_refused() {
    let tree = Tree::new();
    for (expectation, reason) in [
        (
            "{ method: http/elswhere, times: 0 }",
            "`http/elswhere` is no event of HTTP; valid: http/discovery, ",
        ),
        (
            "{ method: http/token, tool: a }",
            "`tool` goes with tools/call, not with http/token",
        ),
    ] {
        tree.file("e.yaml", format!("expect:\n- {expectation}\n"));
        let refused = run(
            &tree,
            &["mock", "--preset", "evil", "--expect", "e.yaml"],
            &[],
        );
        assert_eq!(
            (refused.status, refused.stderr.contains(reason)),
            (Some(2), true),
            "{}",
            refused.stderr
        );
    }
}

#[test]
fn last_answer_of_killed_server_arrives() {
    let tree = Tree::new();
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let target = format!("read line; echo '{answer}'; kill -9 $$");
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    for _ in 0..20 {
        let ended = run(
            &tree,
            &["mock", "proxy", "--target", &target],
            std::slice::from_ref(&ping),
        );
        assert_eq!(ended.lines, [answer], "{}", ended.stderr);
    }
}
