//! Journals, expectations and cassettes.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{BINARY, WEATHER, ask, call, request, text};
use crate::harness::Server;
use crate::tree::Tree;

fn opening(id: i64) -> Value {
    request(
        id,
        "initialize",
        json!({"protocolVersion": "2025-06-18", "capabilities": {}}),
    )
}

#[test]
fn incomplete_journal_sets_status() {
    let tree = Tree::new();
    tree.file("m.yaml", WEATHER);
    let args = [
        "mock",
        "--tools-from",
        "m.yaml",
        "--journal",
        "/dev/full",
        "--log-level",
        "off",
    ];
    let asked = ask(&tree, &args, &[opening(1)]);
    assert_eq!((asked.messages().len(), asked.status), (1, Some(1)));
}

#[test]
fn failed_expectation_sets_status_and_report() {
    let tree = Tree::new();
    tree.file("m.yaml", WEATHER);
    tree.file(
        "expect.yaml",
        "in_order: true\nno_others: true\nexpect:\n  - { method: initialize, times: 1 }\n  - { tool: get_weather, match: { city: Denver }, times: 2 }\n  - { tool: bare, at_most: 1 }\n",
    );
    let args = [
        "mock",
        "--tools-from",
        "m.yaml",
        "--expect",
        "expect.yaml",
        "--journal",
        "j.jsonl",
        "--log-level",
        "off",
    ];
    let denver = |id| call(id, "get_weather", json!({"city": "Denver"}));
    let good = ask(&tree, &args, &[opening(1), denver(2), denver(3)]);
    assert_eq!(good.status, Some(0), "{}", good.stderr);
    assert_eq!(
        good.stderr,
        "good: initialize: got once\ngood: get_weather with {\"city\":\"Denver\"}: got 2 \
         times\ngood: bare: got 0 times\nall expectations are met\n"
    );
    let journal: Vec<Value> = tree
        .read("j.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(journal.len(), 3);
    let mut second = journal[1].clone();
    assert!(second["ms"].is_number());
    second.as_object_mut().unwrap().shift_remove("ms");
    assert_eq!(
        second,
        json!({"number": 2, "method": "tools/call", "params": {"name": "get_weather", "arguments": {"city": "Denver"}},
            "id": 2, "revision": "2025-06-18", "result": text("It is 72 F and sunny in Denver.")})
    );
    let bad = ask(
        &tree,
        &args,
        &[
            denver(1),
            opening(2),
            call(3, "get_weather", json!({"city": "Rome"})),
            call(4, "bare", json!({})),
            call(5, "bare", json!({})),
        ],
    );
    assert_eq!(bad.status, Some(1));
    assert_eq!(
        bad.stderr,
        "good: initialize: got once\nmissing: get_weather with {\"city\":\"Denver\"}: expected 2 \
         times, got once\n  message 3 does not match: `arguments.city` is \"Rome\"; it must be \
         \"Denver\"\ntoo many: bare: expected 0 to once, got 2 times (messages 4, 5)\nnot \
         expected: get_weather with {\"city\":\"Rome\"} (message 3)\nexpectations are not met\n"
    );
    tree.file("expect.yaml", "expect:\n  - { tol: x }");
    let wrong = ask(&tree, &args, &[]);
    assert_eq!(
        (
            wrong.status,
            wrong
                .stderr
                .contains("expect.yaml:2:7: `expect[0]` has no key `tol`")
        ),
        (Some(2), true),
        "{}",
        wrong.stderr
    );
}

#[test]
fn recording_and_distilled_manifest_replay_alike() {
    let tree = Tree::new();
    tree.file("m.yaml", WEATHER);
    let asked = [
        opening(1),
        request(2, "tools/list", json!({})),
        call(
            3,
            "get_weather",
            json!({"city": "s3cr3t-value and ada@example.com"}),
        ),
        call(4, "get_weather", json!({})),
        request(5, "resources/list", json!({})),
        request(
            6,
            "resources/read",
            json!({"uri": "file:///workspace/README.md"}),
        ),
        request(7, "prompts/list", json!({})),
        request(8, "prompts/get", json!({"name": "bug_triage"})),
    ];
    let target = format!("{BINARY} mock --tools-from m.yaml --log-level error");
    let mails = "mail=[a-z]+@[a-z]+\\.com";
    let recorded = ask(
        &tree,
        &[
            "mock", "record", "--target", &target, "-o", "c.jsonl", "--redact", mails,
        ],
        &asked,
    );
    assert_eq!(
        (recorded.status, recorded.lines.len()),
        (Some(0), 8),
        "{}",
        recorded.stderr
    );
    assert_eq!(
        recorded.messages()[2]["result"],
        text("It is 72 F and sunny in s3cr3t-value and ada@example.com.")
    );
    let cassette = tree.read("c.jsonl");
    assert_eq!(
        cassette.matches("[TEST_TOKEN] and [mail]").count(),
        2,
        "{cassette}"
    );
    assert!(
        !cassette.contains("s3cr3t") && !cassette.contains("example.com"),
        "{cassette}"
    );

    let played = ask(
        &tree,
        &["mock", "--cassette", "c.jsonl", "--redact", mails],
        &asked,
    );
    let hidden = |mut messages: Vec<Value>| {
        messages[2]["result"] = text("It is 72 F and sunny in [TEST_TOKEN] and [mail].");
        messages
    };
    assert_eq!(
        (played.messages(), played.status),
        (hidden(recorded.messages()), Some(0))
    );
    let missed = ask(
        &tree,
        &["mock", "--cassette", "c.jsonl"],
        &[call(1, "bare", json!({}))],
    );
    let message = "the cassette has no exchange for tools/call with {\"name\":\"bare\",\"arguments\":{}}; \
        the most similar one differs at `/name`: asked \"bare\", recorded \"get_weather\"; add it with \
        --on-miss record --target CMD, or take the answers in their order with --match order";
    assert_eq!(
        missed.messages()[0]["error"],
        json!({"code": -32603, "message": message})
    );

    let distilled = ask(&tree, &["mock", "distill", "c.jsonl"], &[]);
    tree.file("d.yaml", distilled.lines.join("\n"));
    let checked = ask(&tree, &["mock", "check", "d.yaml"], &[]);
    assert_eq!(checked.lines, ["d.yaml: good"]);
    let again = ask(&tree, &["mock", "--tools-from", "d.yaml"], &asked[1..]);
    // The error message equals that of a manifest.
    let expected = &recorded.messages()[1..];
    assert_eq!(again.messages()[0], expected[0]);
    assert_eq!(again.messages()[2..], expected[2..]);

    let on = [
        "mock",
        "--cassette",
        "c.jsonl",
        "--on-miss",
        "record",
        "--target",
        &target,
    ];
    let passed = ask(&tree, &on, &[call(1, "bare", json!({}))]);
    assert_eq!(passed.messages()[0]["result"], text("mock bare"));
    let known = ask(
        &tree,
        &["mock", "--cassette", "c.jsonl"],
        &[call(1, "bare", json!({}))],
    );
    assert_eq!(known.messages()[0]["result"], text("mock bare"));
}

#[test]
fn answers_to_equal_requests_replay_in_order() {
    let tree = Tree::new();
    tree.file(
        "m.yaml",
        "mock_server: {tools: [{name: a, sequence: [{content: [], n: 1}, {content: [], n: 2}]}]}",
    );
    let target = format!("{BINARY} mock --tools-from m.yaml");
    let asked: Vec<Value> = (1..=2)
        .map(|id| call(id, "a", json!({"b": 1, "a": 2})))
        .collect();
    ask(
        &tree,
        &["mock", "record", "--target", &target, "-o", "c.jsonl"],
        &asked,
    );
    let turned: Vec<Value> = (1..=3)
        .map(|id| {
            request(
                id,
                "tools/call",
                json!({"arguments": {"a": 2, "b": 1}, "_meta": {"x": id}, "name": "a"}),
            )
        })
        .collect();
    let played = ask(&tree, &["mock", "--cassette", "c.jsonl"], &turned).messages();
    assert_eq!(
        played
            .iter()
            .map(|reply| reply["result"]["n"].clone())
            .collect::<Vec<_>>(),
        [1, 2, 2]
    );
}

#[test]
fn server_session_is_recorded_and_replayed() {
    let tree = Tree::new();
    tree.file("d/a", "hi\n");
    let asked = [
        opening(1),
        call(2, "read_file", json!({"path": "a"})),
        call(3, "read_file", json!({"path": "none"})),
    ];
    let args = [
        "--mcp-server",
        "--allow",
        "d",
        "--tools",
        "files",
        "--record",
        "c.jsonl",
    ];
    let recorded = ask(&tree, &args, &asked);
    assert_eq!(
        recorded.messages()[1]["result"]["content"][0]["text"],
        "hi\n"
    );
    let played = ask(&tree, &["mock", "--cassette", "c.jsonl"], &asked);
    assert_eq!(played.messages(), recorded.messages());
    tree.file("bad.jsonl", "{\"cassette\":1}\n{}\n");
    let bad = ask(&tree, &["mock", "--cassette", "bad.jsonl"], &[]);
    assert_eq!(
        (bad.status, bad.stderr.contains("bad.jsonl:2:1: ")),
        (Some(2), true),
        "{}",
        bad.stderr
    );
}

const TALKATIVE: &str = r#"
mock_server:
  tools:
    - name: ask
      progress: [{ progress: 1 }]
      notifications: [{ method: notifications/message, params: { level: info, data: asking } }]
      elicitation: { message: "Who?", requestedSchema: { type: object, properties: {} } }
      roots_list: true
      response: { content: [{ type: text, text: "hello ${elicitation.content.name}" }] }
"#;

/// Opens a session, calls `ask` and answers the server's requests. Returns the messages of the
/// server in order.
fn talk(tree: &Tree, line: &[&str], name: &str) -> Vec<Value> {
    let mut server = Server::start_program(tree, line, &[]).unchecked();
    let capabilities = json!({"elicitation": {}, "roots": {}});
    let opening = json!({"protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": {"name": "it", "version": "0"}});
    server.send_raw(&request(1, "initialize", opening).to_string());
    assert_eq!(server.recv()["id"], 1);
    let params = json!({"name": "ask", "arguments": {}, "_meta": {"progressToken": name}});
    server.send_raw(&request(2, "tools/call", params).to_string());
    let mut heard = Vec::new();
    loop {
        let mut message = server.recv();
        let answer = match message["method"].as_str() {
            Some("elicitation/create") => json!({"action": "accept", "content": {"name": name}}),
            Some("roots/list") => json!({"roots": []}),
            Some(_) => {
                heard.push(message);
                continue;
            }
            None => {
                heard.push(message);
                server.close_stdin();
                assert!(server.wait_exit().success());
                return heard;
            }
        };
        let id = message["id"].take();
        heard.push(message);
        server.send_raw(&json!({"jsonrpc": "2.0", "id": id, "result": answer}).to_string());
    }
}

#[test]
fn server_requests_before_answer_are_replayed() {
    let tree = Tree::new();
    tree.file("m.yaml", TALKATIVE);
    let target = format!("{BINARY} mock --tools-from m.yaml --log-level error");
    let recorded = talk(
        &tree,
        &[
            BINARY, "mock", "record", "--target", &target, "-o", "c.jsonl",
        ],
        "Ada",
    );
    let methods: Vec<Value> = recorded
        .iter()
        .map(|message| message["method"].clone())
        .collect();
    let before = [
        "notifications/progress",
        "notifications/message",
        "elicitation/create",
        "roots/list",
    ];
    assert_eq!(
        methods,
        [&before.map(Value::from)[..], &[Value::Null]].concat()
    );
    assert_eq!(recorded[4]["result"], text("hello Ada"));
    let cassette = tree.read("c.jsonl");
    assert!(
        cassette.contains("\"answer\":{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}"),
        "{cassette}"
    );

    // The answer is the recorded one, whatever the client answers now; the progress token is that
    // of the client.
    let mut expected = recorded;
    expected[0]["params"]["progressToken"] = "Bob".into();
    assert_eq!(
        talk(&tree, &[BINARY, "mock", "--cassette", "c.jsonl"], "Bob"),
        expected
    );
    // A client without the capability gets no requests.
    let quiet = [opening(1), call(2, "ask", json!({}))];
    let heard = ask(&tree, &["mock", "--cassette", "c.jsonl"], &quiet).messages();
    assert_eq!(
        heard
            .iter()
            .map(|message| message["id"].clone())
            .collect::<Vec<_>>(),
        [json!(1), Value::Null, json!(2)]
    );

    // The recorder of the server itself gives the same result.
    let args = [
        BINARY,
        "--mcp-server",
        "--tools",
        "files",
        "--mock",
        "m.yaml",
        "--record",
        "own.jsonl",
    ];
    expected[0]["params"]["progressToken"] = "Ada".into();
    assert_eq!(talk(&tree, &args, "Ada"), expected);
    let own = |file: &str| {
        let last = tree
            .read(file)
            .lines()
            .last()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        last.unwrap()["before"].clone()
    };
    assert_eq!(own("own.jsonl"), own("c.jsonl"));
}

#[test]
fn notifications_are_recorded_before_answer() {
    let tree = Tree::new();
    tree.file("d/a", "hi\n");
    let level = request(2, "logging/setLevel", json!({"level": "debug"}));
    let asked = [
        opening(1),
        level,
        call(3, "read_file", json!({"path": "none"})),
    ];
    let args = [
        "--mcp-server",
        "--allow",
        "d",
        "--tools",
        "files",
        "--record",
        "c.jsonl",
    ];
    let mut recorded = Server::start(&tree, &args[1..]);
    for message in &asked {
        recorded.send_raw(&message.to_string());
    }
    recorded.close_stdin();
    let heard = recorded.recv_to_end();
    let told: Vec<&Value> = heard
        .iter()
        .filter(|message| message["params"]["level"] == "warning")
        .collect();
    let cassette = tree.read("c.jsonl");
    let last: Value = serde_json::from_str(cassette.lines().last().unwrap()).unwrap();
    let kept = last["before"].as_array().unwrap();
    assert_eq!(
        (kept.len(), &kept[0]["params"]),
        (1, &told[0]["params"]),
        "{cassette}"
    );
}

#[test]
fn truncated_recording_is_replayed_and_extended() {
    let tree = Tree::new();
    tree.file("m.yaml", "mock_server: {tools: [{name: a}, {name: b}]}");
    let target = format!("{BINARY} mock --tools-from m.yaml");
    let asked = [call(1, "a", json!({})), call(2, "b", json!({}))];
    ask(
        &tree,
        &["mock", "record", "--target", &target, "-o", "c.jsonl"],
        &asked,
    );
    let whole = tree.read("c.jsonl");
    tree.file("c.jsonl", &whole[..whole.len() - 9]);
    let played = ask(&tree, &["mock", "--cassette", "c.jsonl"], &asked);
    assert_eq!(played.messages()[0]["result"], text("mock a"));
    assert_eq!(played.messages()[1]["error"]["code"], -32603);
    assert!(
        played
            .stderr
            .contains("c.jsonl:3: the last exchange is incomplete"),
        "{}",
        played.stderr
    );
    let on = [
        "mock",
        "--cassette",
        "c.jsonl",
        "--on-miss",
        "record",
        "--target",
        &target,
    ];
    assert_eq!(
        ask(&tree, &on, &asked[1..]).messages()[0]["result"],
        text("mock b")
    );
    let again = ask(&tree, &["mock", "--cassette", "c.jsonl"], &asked);
    assert_eq!(again.messages()[1]["result"], text("mock b"));
    assert!(!again.stderr.contains("is incomplete"), "{}", again.stderr);
    for (foreign, reason) in [
        ("{\"cassette\":2}\n", "c.jsonl:1:1: "),
        (
            "interactions:\n- a\n",
            "c.jsonl:1:1: the line is not a recorded exchange",
        ),
        (
            "",
            "c.jsonl:1:1: the cassette has no exchange; record one with --target and --cassette",
        ),
        (
            "{\"cassette\":1}\n{\"method\":\"a\",\"result\":{}}\n{\"method\":5}\n",
            "c.jsonl:3:1: ",
        ),
    ] {
        tree.file("c.jsonl", foreign);
        let refused = ask(&tree, &["mock", "--cassette", "c.jsonl"], &[]);
        assert_eq!(
            (refused.status, refused.stderr.contains(reason)),
            (Some(2), true),
            "{}",
            refused.stderr
        );
    }
}

#[test]
fn distilled_manifest_round_trips_odd_text() {
    let tree = Tree::new();
    let odd = "${args.x} $${ \u{7f}\u{85}\u{a0}\u{2028}\u{feff}\u{fffe}\u{e0043} \t\r\n\0 'x' \"y\": # & * - ";
    let long = "k".repeat(2000);
    let arguments =
        json!({"s": odd, odd: 1, long.as_str(): {"~": null, "": [1.5, -0.0, 1e300, u64::MAX]}});
    let result = json!({"content": [{"type": "text", "text": odd}], long.as_str(): odd, "yes": "no", "1": "0x1f"});
    let exchanges = [
        json!({"method": "tools/call", "params": {"name": odd, "arguments": arguments}, "result": result}),
        json!({"method": "resources/list", "params": {}, "result": {"resources": [{"uri": odd, "name": odd}]}}),
        json!({"method": "resources/read", "params": {"uri": odd}, "result": {"contents": [{"uri": odd, "text": odd}]}}),
    ];
    tree.file(
        "c.jsonl",
        exchanges.map(|exchange| exchange.to_string()).join("\n"),
    );
    tree.file(
        "d.yaml",
        ask(&tree, &["mock", "distill", "c.jsonl"], &[])
            .lines
            .join("\n"),
    );
    let asked = [
        call(1, odd, arguments),
        request(2, "resources/read", json!({"uri": odd})),
    ];
    let ended = ask(&tree, &["mock", "--tools-from", "d.yaml"], &asked);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    assert_eq!(ended.messages()[0]["result"], result);
    assert_eq!(ended.messages()[1]["result"]["contents"][0]["text"], odd);
}
