//! Common mistakes in manifests and expectations, and errors of the mock itself.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{ask, bare, call, open, request, run, text};
use crate::tree::Tree;

/// Adds the parameters of a 2026-07-28 request.
fn stateless(mut params: Value) -> Value {
    params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    params
}

fn opening(id: i64) -> Value {
    request(
        id,
        "initialize",
        json!({"protocolVersion": "2025-06-18", "capabilities": {}}),
    )
}

#[test]
fn expectation_accepts_either_opening_method() {
    let tree = Tree::new();
    tree.file("m.yaml", "mock_server: { tools: [{ name: a }] }");
    tree.file(
        "e.yaml",
        "expect:\n  - { method: [initialize, server/discover], times: 1 }\n",
    );
    let args = [
        "mock",
        "--tools-from",
        "m.yaml",
        "--expect",
        "e.yaml",
        "--report",
        "report",
        "--log-level",
        "off",
    ];
    for first in [
        opening(1),
        request(1, "server/discover", stateless(json!({}))),
    ] {
        let ended = ask(&tree, &args, &[first]);
        let report = "good: initialize or server/discover: got once\nall expectations are met\n";
        assert_eq!(
            (ended.status, &*ended.stderr, &*tree.read("report")),
            (Some(0), report, report)
        );
    }
}

#[test]
fn invalid_expectations_are_reported() {
    let tree = Tree::new();
    tree.file("m.yaml", "mock_server: { tools: [{ name: get_weather }] }");
    let args = ["mock", "--tools-from", "m.yaml", "--expect", "e.yaml"];
    for (expect, reason) in [
        ("", "e.yaml: the expectations are empty"),
        ("# nothing\n", "e.yaml: the expectations are empty"),
        (
            "expect:\n  - { tool: a, at_least: 3, at_most: 2 }",
            "e.yaml:2:5: `at_most` is 2, less than `at_least`, which is 3",
        ),
        (
            "expect:\n  - { method: [] }",
            "e.yaml:2:15: `expect[0].method` is []; it must have at least 1 item",
        ),
        (
            "expect:\n  - { method: 5 }",
            "e.yaml:2:15: `expect[0].method` is 5; it must be of type string or array",
        ),
    ] {
        tree.file("e.yaml", expect);
        let ended = ask(&tree, &args, &[]);
        assert_eq!(
            (ended.status, ended.stderr.contains(reason)),
            (Some(2), true),
            "{expect}: {}",
            ended.stderr
        );
    }
    tree.file("e.yaml", "expect:\n  - { tool: get_wether, at_most: 1 }");
    let ended = ask(&tree, &args, &[]);
    let told =
        "e.yaml:2:13: the manifest has no tool `get_wether`; the nearest one is `get_weather`";
    assert_eq!(
        (ended.status, ended.stderr.contains(told)),
        (Some(0), true),
        "{}",
        ended.stderr
    );
}

#[test]
fn sequence_item_overrides_tool_settings() {
    let tree = Tree::new();
    let manifest = r#"
mock_server:
  tools:
    - name: a
      delay_ms: 1
      sequence:
        - { fault: silent }
        - { delay_ms: 2, result: { fault: exit, content: [] } }
        - { content: [], structuredContent: { n: 1 } }
        - { error: { code: 7, message: "${args.x}" }, delay_ms: 0 }
        - { fault: exit }
"#;
    tree.file("m.yaml", manifest);
    let args = ["mock", "--tools-from", "m.yaml", "--log-level", "error"];
    let asked: Vec<Value> = (1..=4)
        .map(|id| call(id, "a", json!({"x": "boom"})))
        .collect();
    let mut replies = run(&tree, &args, &asked).messages();
    replies.sort_by_key(|reply| reply["id"].as_i64());
    let mut outcomes = replies
        .iter()
        .map(|reply| reply.get("result").unwrap_or(&reply["error"]));
    assert_eq!(
        outcomes.next(),
        Some(&json!({"fault": "exit", "content": []}))
    );
    assert_eq!(
        outcomes.next(),
        Some(&json!({"content": [], "structuredContent": {"n": 1}}))
    );
    assert_eq!(
        outcomes.next(),
        Some(&json!({"code": 7, "message": "boom"}))
    );
    assert_eq!(outcomes.next(), None);
    let asked: Vec<Value> = (1..=5).map(|id| call(id, "a", json!({}))).collect();
    assert_eq!(run(&tree, &args, &asked).status, None);
    for (item, reason) in [
        (
            "{ eror: { message: x } }",
            "m.yaml:4:20: `mock_server.tools[0].sequence[0]` has no key `eror`; the nearest one is `error`; valid: ",
        ),
        (
            "{ contnt: [] }",
            "m.yaml:4:20: `mock_server.tools[0].sequence[0]` has no key `contnt`; the nearest one is `content`; valid: ",
        ),
        (
            "{ fault: slowly }",
            "m.yaml:4:27: `mock_server.tools[0].sequence[0].fault`: `slowly` is not a fault; \
             valid: none, ",
        ),
        (
            "{ content: [], delay_ms: 5 }",
            "m.yaml:4:43: `delay_ms` is beside `content`; ",
        ),
        (
            "{ sequence: [{ content: [] }] }",
            "m.yaml:4:30: a `sequence` cannot contain another `sequence`",
        ),
    ] {
        let text = format!("mock_server:\n  tools:\n    - name: a\n      sequence: [{item}]");
        tree.file("m.yaml", text);
        let checked = run(&tree, &["mock", "check", "m.yaml"], &[]);
        let found = checked
            .lines
            .iter()
            .any(|line| line.starts_with(&format!("error: {reason}")));
        assert_eq!(
            (found, checked.status),
            (true, Some(1)),
            "{item}: {:?}",
            checked.lines
        );
    }
}

#[test]
fn call_without_matching_arm_is_reported() {
    let tree = Tree::new();
    let manifest = "mock_server: { tools: [{ name: a, responses: [{ match: { x: 1 }, result: { content: [] } }] }, { name: b }] }";
    tree.file("m.yaml", manifest);
    let asked = [
        call(1, "a", json!({"x": 1})),
        call(2, "a", json!({"x": 2})),
        call(3, "b", json!({})),
    ];
    let replies = ask(&tree, &["mock", "--tools-from", "m.yaml"], &asked).messages();
    assert_eq!(replies[0]["result"], json!({"content": []}));
    let message = "no answer of `a` matches {\"x\":2}; add one with `default: true`";
    assert_eq!(
        replies[1]["error"],
        json!({"code": -32602, "message": message})
    );
    assert_eq!(replies[2]["result"], text("mock b"));
}

#[test]
fn mock_refusals_follow_error_mode_of_server() {
    let manifest = "mock_server: { tools: [{ name: a, input_schema: { type: object, required: [x] }, responses: [{ match: { x: 1 } }] }] }";
    let tree = Tree::new();
    for (revision, args, as_results) in [
        ("2025-06-18", &[][..], false),
        ("2025-06-18", &["--errors", "results"], true),
        ("2026-07-28", &[], true),
    ] {
        let mut mock = open(&tree, revision, manifest, args);
        for (arguments, message) in [
            (json!({}), "`arguments` lacks `x`"),
            (
                json!({"x": 2}),
                "no answer of `a` matches {\"x\":2}; add one with `default: true`",
            ),
        ] {
            let failure = mock.call("a", arguments).failure().unwrap();
            let code = (!as_results).then_some(-32602);
            assert_eq!(
                (failure.code, &*failure.message),
                (code, message),
                "{revision} {args:?}"
            );
        }
    }
}

#[test]
fn late_answer_is_journaled() {
    let tree = Tree::new();
    let manifest = "mock_server: { tools: [{ name: late, fault: 'reply-after-cancel:1' }, { name: drip, fault: slowloris }] }";
    let mut mock = open(&tree, "2025-06-18", manifest, &["--journal", "j.jsonl"]).unchecked();
    mock.send_as(&json!("l"), "tools/call", json!({"name": "late"}));
    mock.notify("notifications/cancelled", json!({"requestId": "l"}));
    assert_eq!(mock.recv()["result"], text("mock late"));
    mock.send_as(&json!("d"), "tools/call", json!({"name": "drip"}));
    assert_eq!(mock.recv()["result"], text("mock drip"));
    // Calls that are pending at the end of the input are answered.
    mock.send_as(&json!("e"), "tools/call", json!({"name": "late"}));
    mock.close_stdin();
    assert_eq!(mock.recv_to_end().len(), 1);
    assert!(mock.wait_exit().success());
    let journal = tree.read("j.jsonl");
    let mut entries: Vec<Value> = journal
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    // Entries are written at the end of a call, but numbered by arrival.
    entries.sort_by_key(|entry| entry["number"].as_u64());
    let told: Vec<Value> = entries
        .into_iter()
        .filter(|entry| entry["method"] == "tools/call")
        .map(|entry| json!([entry["id"], entry["result"], entry["silent"]]))
        .collect();
    let expected = [("l", "late"), ("d", "drip"), ("e", "late")];
    assert_eq!(
        told,
        expected.map(|(id, name)| json!([id, text(&format!("mock {name}")), null]))
    );
}

#[test]
fn cassette_serves_other_revisions() {
    let tree = Tree::new();
    let manifest = "mock_server: { name: n, title: The N, version: '7', instructions: be kind, tools: [{ name: a }], resources: [{ uri: 'a:b', text: x }] }";
    tree.file("m.yaml", manifest);
    let target = format!(
        "{} mock --tools-from m.yaml --log-level error",
        super::BINARY
    );
    let list = |params: Value| request(2, "tools/list", params);
    let old = [
        opening(1),
        list(json!({})),
        request(3, "resources/read", json!({"uri": "a:b"})),
        call(4, "a", json!({})),
    ];
    let new: Vec<Value> = old
        .iter()
        .map(|asked| {
            let method = asked["method"].as_str().unwrap();
            let method = if method == "initialize" {
                "server/discover"
            } else {
                method
            };
            request(
                asked["id"].as_i64().unwrap(),
                method,
                stateless(asked["params"].clone()),
            )
        })
        .collect();
    let info = json!({"name": "n", "title": "The N", "version": "7"});
    for (cassette, asked) in [("old.jsonl", &old[..]), ("new.jsonl", &new)] {
        let recorded = ask(
            &tree,
            &["mock", "record", "--target", &target, "-o", cassette],
            asked,
        );
        assert_eq!(
            (recorded.status, recorded.messages().len()),
            (Some(0), 4),
            "{}",
            recorded.stderr
        );
        let distilled = ask(&tree, &["mock", "distill", cassette], &[])
            .lines
            .join("\n");
        for line in [
            "  name: \"n\"",
            "  title: \"The N\"",
            "  version: \"7\"",
            "  instructions: \"be kind\"",
        ] {
            assert!(distilled.lines().any(|known| known == line), "{distilled}");
        }
        let played = ask(&tree, &["mock", "--cassette", cassette], &new).messages();
        for (reply, cached) in played.iter().zip([true, true, true, false]) {
            let result = &reply["result"];
            assert_eq!(result["resultType"], "complete", "{cassette}: {reply}");
            assert_eq!(
                result["ttlMs"].is_number() && result["cacheScope"] == "private",
                cached,
                "{cassette}: {reply}"
            );
        }
        let opened = ask(&tree, &["mock", "--cassette", cassette], &old).messages();
        let expected = json!({"protocolVersion": "2025-06-18", "capabilities": opened[0]["result"]["capabilities"],
            "serverInfo": info, "instructions": "be kind"});
        assert_eq!(opened[0]["result"], expected, "{cassette}");
        assert_eq!(bare(&opened[3]["result"]), text("mock a"), "{cassette}");
    }
}

#[test]
fn redaction_patterns_of_recording_apply_to_replay() {
    let tree = Tree::new();
    tree.file("m.yaml", "mock_server: { tools: [{ name: a }] }");
    let target = format!(
        "{} mock --tools-from m.yaml --log-level error",
        super::BINARY
    );
    let asked = [call(1, "a", json!({"to": "ada@example.com"}))];
    ask(
        &tree,
        &[
            "mock",
            "record",
            "--target",
            &target,
            "-o",
            "c.jsonl",
            "--redact",
            "mail=[a-z]+@[a-z.]+",
        ],
        &asked,
    );
    assert!(
        !tree.read("c.jsonl").contains("example"),
        "{}",
        tree.read("c.jsonl")
    );
    let played = ask(&tree, &["mock", "--cassette", "c.jsonl"], &asked).messages();
    assert_eq!(played[0]["result"], text("mock a"));
}

#[test]
fn suspicious_manifest_is_a_warning() {
    let cases = [
        (
            "{ name: a, input_schema: { type: object, properties: { city: {} }, additionalProperties: false }, response: { content: [{ type: text, text: '${args.x}' }] } }",
            "`${args.x}` names no value: the input_schema has no `x`",
        ),
        (
            "{ name: a, response: { content: [{ type: text, text: 'x ${arg.x}' }] } }",
            "`${arg.x}` names no value; a placeholder begins with one of args, ",
        ),
        (
            "{ name: a, response: { content: [{ type: text, text: '${faker.phonenumber}' }] } }",
            "`${faker.phonenumber}` names no value; valid: first_name, ",
        ),
        (
            "{ name: a, response: { content: [{ type: text, text: 'x ${args.x' }] } }",
            "`${args.x` lacks its closing brace",
        ),
        (
            "{ name: a, input_schema: { type: object, properties: { city: {} } }, responses: [{ match: { citty: x } }] }",
            "`match` names `citty`, which is not in the input_schema; the nearest one is `city`",
        ),
        (
            "{ name: a, responses: [{ match: { x: { regexp: x } } }] }",
            "`regexp` is not an operator of `match`, so `match` expects an object with this \
             member; the nearest one is `regex`",
        ),
        (
            "{ name: a, responses: [{ result: { content: [] } }, { match: { x: 1 } }] }",
            "this arm is never reached",
        ),
        (
            "{ name: a, response: { content: [{ type: txt, text: x }] } }",
            "`txt` is not a type of content; valid: text, image, audio, resource, resource_link",
        ),
        (
            "{ name: a, response: { content: [{ text: x }] } }",
            "a content block has no `type`",
        ),
        ("{ name: '' }", "the name is empty"),
        ("{ name: 'a b' }", "the name `a b` has a space"),
    ];
    let tree = Tree::new();
    for (tool, expected) in cases {
        tree.file("m.yaml", format!("mock_server: {{ tools: [{tool}] }}"));
        let checked = run(&tree, &["mock", "check", "m.yaml"], &[]);
        let told = checked
            .lines
            .iter()
            .any(|line| line.starts_with("warning: m.yaml:1:") && line.contains(expected));
        assert_eq!(
            (told, checked.lines.len(), checked.status),
            (true, 1, Some(0)),
            "{tool}: {:?}",
            checked.lines
        );
    }
    for meant in [
        "mock_server: { exact: true, tools: [{ name: a, response: { content: [{ type: txt }] } }] }",
        "mock_server: { tools: [{ name: a, input_schema: { type: object, properties: { x: {} } }, skip_validation: true, responses: [{ match: { y: 1 } }] }] }",
    ] {
        tree.file("m.yaml", meant);
        assert_eq!(
            run(&tree, &["mock", "check", "m.yaml"], &[]).lines,
            ["m.yaml: good"],
            "{meant}"
        );
    }
}

#[test]
fn mock_errors_name_next_step() {
    let tree = Tree::new();
    tree.file("m.yaml", "mock_server:\n  name: a\n  name: b");
    tree.file("top.yaml", "tools: []");
    tree.file("slow.yaml", "mock_server: { fault: slow }");
    tree.file("good.yaml", "mock_server: {}");
    tree.file(
        "c.jsonl",
        "{\"cassette\":1}\n{\"method\":\"a\",\"result\":{}}\n",
    );
    for (args, expected) in [
        (
            &["check", "slow.yaml"][..],
            "`slow` needs milliseconds, as in `slow:500`",
        ),
        (
            &["--preset", "evil", "--fault", "recover-after"],
            "`recover-after` needs a number of calls, as in `recover-after:2`",
        ),
        (
            &["check", "top.yaml"],
            "top.yaml:1:1: the manifest lacks `mock_server`; indent all of it below `mock_server:`",
        ),
        (
            &["check", "m.yaml"],
            "m.yaml:3:3: the key `name` is there twice",
        ),
        (
            &["--tools-from", "c.jsonl"],
            "the file is a cassette; serve it with --cassette",
        ),
        (
            &["--cassette", "good.yaml"],
            "the file is a manifest; serve it with --tools-from",
        ),
        (
            &["init", "good.yaml"],
            "`good.yaml` exists already and was not changed; name another file",
        ),
        (&["good.yaml"], "--tools-from good.yaml"),
    ] {
        let ended = run(&tree, &[&["mock"], args].concat(), &[]);
        let told = format!("{}\n{}", ended.lines.join("\n"), ended.stderr);
        assert_eq!(
            (told.contains(expected), ended.status == Some(0)),
            (true, false),
            "{args:?}: {told}"
        );
    }
    let started = run(&tree, &["mock", "--tools-from", "good.yaml"], &[]);
    assert!(
        started.stderr.contains("good.yaml") && started.stderr.contains("INFO"),
        "{}",
        started.stderr
    );
}
