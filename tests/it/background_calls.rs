//! Calls that go on after a first reply, and their results.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::audit;
use crate::calls::{REPLAY, run};
use crate::harness::{Reply, Server};
use crate::schema::NEWEST_HANDSHAKE;
use crate::tree::Tree;

/// Waits for a file, then reports one passed test.
const GATED_TESTS: &str = "until [ -e go ]; do sleep 0.01; done; \
    echo '<testsuite name=\"s\"><testcase name=\"a\" classname=\"c\"/></testsuite>' > r.xml";

/// Starts a server without walls whose calls are handed over after one second.
fn open(tree: &Tree, tools: &str) -> Server {
    let allow = format!("{}:rw", tree.root().display());
    let args = ["--allow", &allow, "--sandbox", "off", "--tools", tools];
    let limit = ["--command-timeout-secs", "1"];
    Server::open(tree, NEWEST_HANDSHAKE, &[&args[..], &limit].concat())
}

fn gated() -> Value {
    json!({"command": GATED_TESTS, "report": "r.xml"})
}

fn structured(reply: &Reply) -> &Value {
    &reply.result()["structuredContent"]
}

fn follow(server: &mut Server, arguments: Value) -> Reply {
    server.call_with_progress("follow_command", arguments)
}

#[test]
fn long_test_run_goes_on_in_background() {
    let tree = Tree::new();
    let mut server = open(&tree, "files,tests");
    let handed = server.call("run_tests", gated());
    assert_eq!(
        without_progress(&handed.text()),
        "[run_tests still runs after 1 s, and goes on in the background as commandId \"t1\"; \
         follow_command, or the same call again, waits for its result]"
    );
    assert_eq!(structured(&handed)["commandId"], "t1");
    let early = server.call("follow_command", json!({"commandId": "t1", "waitSecs": 0}));
    assert_eq!(structured(&early)["running"], true);
    tree.file("go", "");
    let waits = json!({"commandId": "t1", "waitSecs": 60});
    let ended = follow(&mut server, waits.clone());
    assert_eq!(structured(&ended)["running"], false);
    let text = ended.text();
    assert!(
        text.starts_with("PASSED: 1 passed, 0 failed (command, "),
        "{text}"
    );
    assert_eq!(structured(&ended)["output"], *text);
    // The result stays.
    assert_eq!(follow(&mut server, waits).text(), text);
}

/// Removes the progress, which depends on the speed of the machine.
fn without_progress(note: &str) -> String {
    let (before, rest) = note.split_once(" (running for ").unwrap();
    let (_, after) = rest.split_once(" bytes of output)").unwrap();
    [before, after].concat()
}

#[test]
fn equal_call_joins_running_test_run() {
    let tree = Tree::new();
    let mut server = open(&tree, "files,tests");
    let counted = format!("echo run >> runs; {GATED_TESTS}");
    let arguments = json!({"command": counted, "report": "r.xml"});
    for _ in 0..2 {
        let handed = server.call("run_tests", arguments.clone());
        assert_eq!(structured(&handed)["commandId"], "t1");
    }
    let params =
        json!({"name": "run_tests", "arguments": arguments, "_meta": {"progressToken": "p"}});
    let id = server.send("tools/call", params);
    assert_eq!(server.recv()["method"], "notifications/progress");
    tree.file("go", "");
    let joined = server.reply_to(&id);
    assert_eq!(structured(&joined)["status"], "passed");
    let note = structured(&joined)["notes"][0].to_string();
    assert!(
        note.contains("this is the result of the call that began "),
        "{note}"
    );
    assert_eq!(
        joined.texts().last(),
        Some(&format!("[{}]", note.trim_matches('"')))
    );
    assert_eq!(tree.read("runs"), "run\n");
}

#[test]
fn call_with_progress_is_waited_for() {
    let tree = Tree::new();
    let mut server = open(&tree, "files,tests");
    let params =
        json!({"name": "run_tests", "arguments": gated(), "_meta": {"progressToken": "p"}});
    let id = server.send("tools/call", params);
    let total = loop {
        let message = server.recv();
        assert_eq!(message["method"], "notifications/progress");
        if message["params"]["progress"].as_u64() > Some(1500) {
            break message["params"]["total"].clone();
        }
    };
    assert_eq!(total, 300_000);
    tree.file("go", "");
    let reply = server.reply_to(&id);
    assert_eq!(structured(&reply)["status"], "passed");
}

#[test]
fn background_call_is_ended_on_request() {
    let tree = Tree::new();
    let mut server = open(&tree, "files,tests");
    server.call("run_tests", gated()).result();
    let input = follow(&mut server, json!({"commandId": "t1", "stdin": "x"}));
    assert_eq!(
        input.failure().unwrap().message,
        "`t1` is a call of run_tests, which has no stdin and no output before its end; leave \
         `stdin`, `closeStdin` and `until` out"
    );
    let ended = follow(&mut server, json!({"commandId": "t1", "end": true}));
    assert_eq!(ended.failure().unwrap().message, "the call was cancelled");
    let unknown = follow(&mut server, json!({"commandId": "t2"}));
    let message = unknown.failure().unwrap().message;
    assert!(
        message
            .starts_with("no background command has the `commandId` `t2`; there are t1 (ended, ")
            && message.ends_with(" s ago: run_tests)"),
        "{message}"
    );
    let long = follow(&mut server, json!({"commandId": "t".repeat(100_000)}));
    let message = long.failure().unwrap().message;
    assert!(message.len() < 400, "{} bytes", message.len());
}

#[test]
fn server_with_background_call_ends_with_its_client() {
    let tree = Tree::new();
    let mut server = open(&tree, "files,tests");
    let line = "echo $$ > pid; until [ -e go ]; do sleep 0.01; done";
    let handed = server.call("run_tests", json!({"command": line, "report": "r.xml"}));
    assert_eq!(structured(&handed)["commandId"], "t1");
    server.close_stdin();
    assert!(server.wait_exit().success());
    let pid: i32 = tree.read("pid").trim().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    assert!(crate::harness::ends_within(
        pid,
        std::time::Duration::from_secs(20)
    ));
}

#[test]
fn audit_log_has_end_of_background_call() {
    let tree = Tree::new();
    tree.dir("work").dir("logs");
    let allow = format!("{}:rw", tree.text("work"));
    let log = tree.text("logs/audit.jsonl");
    let args = ["--allow", &allow, "--audit", &log];
    let more = ["--tools", "files,tests", "--command-timeout-secs", "1"];
    let mut server = Server::open(&tree, NEWEST_HANDSHAKE, &[&args[..], &more].concat());
    server.call("run_tests", gated()).result();
    tree.file("work/go", "");
    follow(&mut server, json!({"commandId": "t1", "waitSecs": 60})).result();
    server.close_stdin();
    assert!(server.wait_exit().success());
    let lines = audit::lines(&tree);
    let ends: Vec<&Value> = lines
        .iter()
        .filter(|line| line["event"] == "background")
        .collect();
    let [end] = ends[..] else { panic!("{lines:?}") };
    assert_eq!(
        [
            &end["id"],
            &end["tool"],
            &end["detail"],
            &end["undo"]["created"]
        ],
        [
            &json!("t1"),
            &json!("run_tests"),
            &json!("passed"),
            &json!(1)
        ]
    );
}

#[test]
fn single_call_of_command_line_is_waited_for() {
    let tree = Tree::new();
    let call = |tool: &str, arguments: Value| {
        let (allow, arguments) = (format!("{}:rw", tree.text(".")), arguments.to_string());
        let flags = [
            "--sandbox",
            "off",
            "--command-timeout-secs",
            "1",
            "--allow",
            &allow,
        ];
        let line = [&[REPLAY, "call"], &flags[..], &[tool, &arguments]].concat();
        let ended = run(&tree, &line, |_| {});
        (ended.status, ended.out)
    };
    let ran = call("execute_command", json!({"command": "sleep 1.5; exit 3"}));
    assert_eq!(ran, (1, "(no output)\n[exit code: 3]\n".to_owned()));
    let (status, text) = call(
        "run_tests",
        json!({"report": "r.xml",
        "command": "sleep 1.5; echo '<testsuite><testcase name=\"a\" classname=\"c\"/></testsuite>' > r.xml"}),
    );
    assert_eq!(
        (status, text.starts_with("PASSED: 1 passed")),
        (0, true),
        "{text}"
    );
}

#[test]
fn call_exits_with_1_unless_tests_pass() {
    let tree = Tree::new();
    let allow = format!("{}:rw", tree.text("."));
    let status = |tool: &str, arguments: Value| {
        let arguments = arguments.to_string();
        let flags = ["--sandbox", "off", "--json", "--allow", &allow];
        let line = [&[REPLAY, "call"], &flags[..], &[tool, &arguments]].concat();
        let ended = run(&tree, &line, |_| {});
        let result: Value = serde_json::from_str(&ended.out).unwrap();
        let of = |name: &str| result["structuredContent"][name].clone();
        (ended.status, of("status"), result["isError"] == true)
    };
    let tests = |command: &str| status("run_tests", json!({"command": command}));
    assert_eq!(tests("true"), (0, json!("passed"), false));
    assert_eq!(tests("false"), (1, json!("failed"), false));
    assert_eq!(tests("echo 1..0"), (1, json!("no_tests"), false));
    tree.file("pyproject.toml", "[tool.ruff]\n");
    let found = json!([{"code": "F401", "message": "unused", "filename": "a.py",
        "location": {"row": 1, "column": 1}, "end_location": {"row": 1, "column": 2}}]);
    let python = |found: &Value| {
        let exit = i32::from(found[0].is_object());
        let text = format!("#!/bin/sh\necho '{found}'\nexit {exit}\n");
        tree.program(".venv/bin/python", text);
        status("type_check", json!({"checker": "ruff"}))
    };
    assert_eq!(python(&found), (1, json!("errors"), false));
    assert_eq!(python(&json!([])), (0, json!("clean"), false));
}
