//! Declarations of a manifest, and the resulting behaviour.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{BINARY, WEATHER, ask, bare, call, open, request, text};
use crate::harness::Server;
use crate::schema::REVISIONS;
use crate::tree::Tree;

#[test]
fn manifest_declarations_hold_on_every_revision() {
    for revision in REVISIONS {
        // Same as the real server: in 2026-07-28 invalid arguments are error results.
        let code = (revision != "2026-07-28").then_some(-32602);
        let tree = Tree::new();
        let mut mock = open(&tree, revision, WEATHER, &[]);
        let mut ask = |method: &str, params: Value| mock.request(method, params);
        let weather = json!({"name": "get_weather", "description": "Get the weather for a city.", "inputSchema":
            {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}}});
        let plain = json!({"name": "bare", "inputSchema": {"type": "object"}});
        assert_eq!(
            bare(ask("tools/list", json!({})).result()),
            json!({"tools": [weather, plain]}),
            "{revision}"
        );
        let denver = ask(
            "tools/call",
            json!({"name": "get_weather", "arguments": {"city": "Denver"}}),
        );
        assert_eq!(
            bare(denver.result()),
            text("It is 72 F and sunny in Denver.")
        );
        let missing = ask(
            "tools/call",
            json!({"name": "get_weather", "arguments": {}}),
        );
        assert_eq!(
            missing.failure().unwrap().message,
            "`arguments` lacks `city`"
        );
        assert_eq!(missing.failure().unwrap().code, code);
        let wrong = ask(
            "tools/call",
            json!({"name": "get_weather", "arguments": {"city": 5}}),
        );
        assert_eq!(
            wrong.failure().unwrap().message,
            "`arguments.city` is 5; it must be of type string"
        );
        assert_eq!(wrong.failure().unwrap().code, code);
        assert_eq!(
            bare(ask("tools/call", json!({"name": "bare"})).result()),
            text("mock bare")
        );
        let listed = json!({"uri": "file:///workspace/README.md", "name": "readme", "mimeType": "text/plain"});
        assert_eq!(
            bare(ask("resources/list", json!({})).result()),
            json!({"resources": [listed]})
        );
        let uri = "file:///workspace/README.md";
        let read = json!({"contents": [{"uri": uri, "mimeType": "text/plain", "text": "# Project\nHello."}]});
        assert_eq!(
            bare(ask("resources/read", json!({"uri": uri})).result()),
            read
        );
        assert_eq!(
            ask("resources/read", json!({"uri": "file:///no"})).code(),
            -32602
        );
        let prompt = json!({"name": "bug_triage", "description": "Triage a bug report."});
        assert_eq!(
            bare(ask("prompts/list", json!({})).result()),
            json!({"prompts": [prompt]})
        );
        let content =
            json!({"type": "text", "text": "Classify the report by severity and component."});
        let messages = json!({"messages": [{"role": "user", "content": content}]});
        assert_eq!(
            bare(ask("prompts/get", json!({"name": "bug_triage"})).result()),
            messages
        );
        assert_eq!(ask("prompts/get", json!({"name": "no"})).code(), -32602);
        assert_eq!(ask("tools/call", json!({"name": "no"})).code(), -32602);
        assert_eq!(ask("tasks/list", json!({})).code(), -32601);
    }
}

#[test]
fn capabilities_match_declarations() {
    let tree = Tree::new();
    let capabilities = |manifest: &str| {
        tree.file("m.yaml", manifest);
        let opening = request(
            1,
            "initialize",
            json!({"protocolVersion": "2025-06-18", "capabilities": {}}),
        );
        let ended = ask(&tree, &["mock", "--tools-from", "m.yaml"], &[opening]);
        ended.messages()[0]["result"]["capabilities"].clone()
    };
    let changing = json!({"listChanged": true});
    assert_eq!(capabilities("mock_server: {}"), json!({}));
    assert_eq!(
        capabilities("mock_server: {tools: [{name: a}]}"),
        json!({"tools": changing})
    );
    assert_eq!(
        capabilities(
            "mock_server: {prompts: [{name: a}], capabilities: {prompts: {x: 1}, odd: {}}}"
        ),
        json!({"prompts": {"x": 1}, "odd": {}})
    );
    let ended = ask(
        &tree,
        &["mock", "--preset", "badjson"],
        &[request(1, "initialize", json!({}))],
    );
    assert_eq!(
        ended.messages()[0]["result"]["capabilities"],
        json!({"tools": {}})
    );
    assert_eq!(ended.status, Some(0));
}

const ARMS: &str = r#"
mock_server:
  page_size: 2
  seed: 7
  tools:
    - name: arms
      responses:
        - { match: { a: { b: 1 } }, times: 1, result: { content: [{ type: text, text: first }] } }
        - match: { s: { regex: "^x+$" } }
          error: { code: -32000, message: "boom ${args.s}", data: { s: "${args.s}" } }
        - { match: { t: { type: array } }, error: { message: bad } }
        - { default: true, result: { content: [{ type: text, text: default }] } }
    - name: typed
      response: { content: [{ type: text, text: "${args.o.l[1].z}/${args.none}" }], structuredContent: { n: "${args.n}", id: "${request.id}" } }
    - name: turns
      sequence: [{ content: [] }, { error: { code: 5, message: two } }, { result: { content: [], odd: 1 } }]
  resource_templates:
    - { uri_template: "t://{id}/x", text: "<${uri.id}>", complete: { id: ["12", "13", "2"] } }
  prompts:
    - { name: p, arguments: [{ name: who, required: true }, { name: opt }], text: "${args.who}${args.opt}" }
  methods:
    "custom/method": { response: { y: "${args.y}" } }
"#;

#[test]
fn first_matching_arm_answers() {
    let tree = Tree::new();
    tree.file("m.yaml", ARMS);
    let asked = [
        call(1, "arms", json!({"a": {"b": 1, "c": 2}})),
        call(2, "arms", json!({"a": {"b": 1}})),
        call(3, "arms", json!({"s": "xx"})),
        call(4, "arms", json!({"s": "xy"})),
        call(5, "arms", json!({"t": []})),
        call(6, "typed", json!({"n": 1.5, "o": {"l": [0, {"z": null}]}})),
        call(7, "turns", json!({})),
        call(8, "turns", json!({})),
        call(9, "turns", json!({})),
        call(10, "turns", json!({})),
        request(11, "custom/method", json!({"y": {"z": []}})),
        request(12, "resources/read", json!({"uri": "t://5/x"})),
        request(13, "resources/read", json!({"uri": "t://5/6/x"})),
        request(
            14,
            "prompts/get",
            json!({"name": "p", "arguments": {"who": "me"}}),
        ),
        request(15, "prompts/get", json!({"name": "p", "arguments": {}})),
        request(
            16,
            "completion/complete",
            json!({"ref": {"type": "ref/resource", "uri": "t://{id}/x"}, "argument": {"name": "id", "value": "1"}}),
        ),
        request(17, "tools/list", json!({})),
        request(18, "tools/list", json!({"cursor": "after-2"})),
        request(19, "tools/list", json!({"cursor": ""})),
    ];
    let replies = ask(&tree, &["mock", "--tools-from", "m.yaml"], &asked).messages();
    let outcome = |id: usize| {
        let reply = &replies[id - 1];
        reply.get("result").unwrap_or(&reply["error"]).clone()
    };
    assert_eq!(
        replies
            .iter()
            .map(|reply| reply["id"].as_i64().unwrap())
            .collect::<Vec<_>>(),
        (1..20).collect::<Vec<_>>()
    );
    assert_eq!(outcome(1), text("first"));
    assert_eq!(outcome(2), text("default"));
    assert_eq!(
        outcome(3),
        json!({"code": -32000, "message": "boom xx", "data": {"s": "xx"}})
    );
    assert_eq!(outcome(4), text("default"));
    assert_eq!(
        outcome(5),
        json!({"content": [{"type": "text", "text": "bad"}], "isError": true})
    );
    let typed = json!({"content": [{"type": "text", "text": "null/${args.none}"}], "structuredContent": {"n": 1.5, "id": 6}});
    assert_eq!(outcome(6), typed);
    assert_eq!(outcome(7), json!({"content": []}));
    assert_eq!(outcome(8), json!({"code": 5, "message": "two"}));
    assert_eq!(
        [outcome(9), outcome(10)],
        [
            json!({"content": [], "odd": 1}),
            json!({"content": [], "odd": 1})
        ]
    );
    assert_eq!(outcome(11), json!({"y": {"z": []}}));
    assert_eq!(
        outcome(12),
        json!({"contents": [{"uri": "t://5/x", "text": "<5>"}]})
    );
    assert_eq!(outcome(13)["code"], -32602);
    assert_eq!(outcome(14)["messages"][0]["content"]["text"], "me");
    assert_eq!(
        outcome(15)["message"],
        "`arguments` lacks `who`, which the prompt requires"
    );
    assert_eq!(
        outcome(16),
        json!({"completion": {"values": ["12", "13"], "total": 2, "hasMore": false}})
    );
    assert_eq!(
        (
            outcome(17)["tools"].as_array().unwrap().len(),
            outcome(17)["nextCursor"].clone()
        ),
        (2, json!("after-2"))
    );
    assert_eq!(
        (
            outcome(18)["tools"].as_array().unwrap().len(),
            outcome(18).get("nextCursor").cloned()
        ),
        (1, None)
    );
    assert_eq!(outcome(19)["code"], -32602);
}

#[test]
fn sequence_answers_in_order_of_arrival() {
    // Each of these calls waits in its own thread.
    let turns: Vec<Value> = (0..50).map(|turn| text(&turn.to_string())).collect();
    let tools = json!([
        {"name": "turns", "delay_ms": 1, "sequence": turns},
        {"name": "times", "delay_ms": 1, "responses": [
            {"times": 20, "result": text("early")}, {"match": {"x": {"type": "integer"}}, "times": 20, "result": text("later")},
            {"default": true, "result": text("last ${call.count}")}]},
        {"name": "recovers", "fault": "recover-after:25", "response": text("good")},
    ]);
    let tree = Tree::new();
    let mut mock = open(
        &tree,
        "2025-06-18",
        &json!({"mock_server": {"tools": tools}}).to_string(),
        &[],
    );
    let mut told = |tool: &str, ids: std::ops::Range<usize>| -> Vec<String> {
        for id in 0..50 {
            mock.send_as(
                &json!(format!("{tool} {id}")),
                "tools/call",
                json!({"name": tool, "arguments": {"x": id}}),
            );
        }
        ids.map(|id| mock.reply_to(&json!(format!("{tool} {id}"))).text())
            .collect()
    };
    assert_eq!(
        told("turns", 0..50),
        (0..50).map(|turn| turn.to_string()).collect::<Vec<_>>()
    );
    let early = std::iter::repeat_n("early".to_owned(), 20)
        .chain(std::iter::repeat_n("later".to_owned(), 20));
    assert_eq!(
        told("times", 0..50),
        early
            .chain((1..=10).map(|count| format!("last {count}")))
            .collect::<Vec<_>>()
    );
    assert_eq!(told("recovers", 25..50), vec!["good"; 25]);
}

#[test]
fn refused_call_consumes_no_sequence_item() {
    let manifest = r"
mock_server:
  tools:
    - name: a
      input_schema: { type: object, properties: { x: { type: integer } } }
      sequence: [{ content: [], n: 1 }, { content: [], n: 2 }]
    - name: b
      roots_list: true
      sequence: [{ content: [], n: 1 }, { content: [], n: 2 }]
";
    let tree = Tree::new();
    tree.file("m.yaml", manifest);
    let asks = |id: i64, more: Value| {
        let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {"roots": {}}});
        let mut params = json!({"name": "b", "_meta": meta});
        params
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        request(id, "tools/call", params)
    };
    let answered = json!({"inputResponses": {"roots": {"roots": []}}});
    let asked = [
        call(1, "a", json!({"x": "no"})),
        call(2, "a", json!({})),
        asks(3, json!({})),
        asks(4, answered.clone()),
        asks(5, json!({})),
        asks(6, answered),
    ];
    let replies = ask(&tree, &["mock", "--tools-from", "m.yaml"], &asked).messages();
    let told: Vec<Value> = replies
        .iter()
        .map(|reply| {
            reply["result"]
                .get("n")
                .or(reply["result"].get("resultType"))
                .cloned()
                .unwrap_or_default()
        })
        .collect();
    assert_eq!(
        told,
        [
            Value::Null,
            json!(1),
            json!("input_required"),
            json!(1),
            json!("input_required"),
            json!(2)
        ]
    );
}

const ASKING: &str = r#"
mock_server:
  tools:
    - name: ask
      elicitation: { message: "Who?", requestedSchema: { type: object, properties: { name: { type: string } } } }
      response: { content: [{ type: text, text: "hello ${elicitation.content.name}" }] }
"#;

#[test]
fn client_requests_follow_revision() {
    let tree = Tree::new();
    tree.file("mock.yaml", ASKING);
    let line = [BINARY, "mock", "--tools-from", "mock.yaml"];
    let mut mock = Server::start_program(&tree, &line, &[]).unchecked();
    let opening = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "it", "version": "0"}});
    mock.send_raw(&request(1, "initialize", opening).to_string());
    assert_eq!(mock.recv()["id"], 1);
    mock.send_raw(&call(2, "ask", json!({})).to_string());
    let asked = mock.recv();
    assert_eq!(
        (&asked["method"], &asked["params"]["message"]),
        (&json!("elicitation/create"), &json!("Who?"))
    );
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {"name": "Ada"}}});
    mock.send_raw(&answer.to_string());
    assert_eq!(mock.recv()["result"], text("hello Ada"));

    // The stateless revision: a result with input requests, then the request again.
    let meta = |capabilities: Value| json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": capabilities});
    let params = |more: Value| {
        let mut params =
            json!({"name": "ask", "arguments": {}, "_meta": meta(json!({"elicitation": {}}))});
        params
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        params
    };
    mock.send_raw(&request(3, "tools/call", params(json!({}))).to_string());
    let asked = mock.recv()["result"].clone();
    assert_eq!(
        (
            &asked["resultType"],
            &asked["inputRequests"]["elicitation"]["method"]
        ),
        (&json!("input_required"), &json!("elicitation/create"))
    );
    let answers = json!({"inputResponses": {"elicitation": {"action": "accept", "content": {"name": "Bob"}}}, "requestState": asked["requestState"]});
    mock.send_raw(&request(4, "tools/call", params(answers.clone())).to_string());
    assert_eq!(bare(&mock.recv()["result"]), text("hello Bob"));
    let mut forged = answers;
    forged["requestState"] = "forged".into();
    mock.send_raw(&request(5, "tools/call", params(forged)).to_string());
    assert_eq!(mock.recv()["result"]["resultType"], "input_required");
    let mut silent = params(json!({}));
    silent["_meta"] = meta(json!({}));
    mock.send_raw(&request(6, "tools/call", silent).to_string());
    assert_eq!(mock.recv()["result"]["isError"], true);
}

#[test]
fn notifications_precede_answer() {
    let manifest = r#"
mock_server:
  tools:
    - name: work
      progress: [{ progress: 0, total: 2 }, { progress: 2, total: 2 }]
      log: [{ level: info, data: "on ${args.x}" }]
  resources:
    - { uri: "w://1", text: one, updates: [{ after_ms: 0, text: two }] }
"#;
    let tree = Tree::new();
    let mut mock = open(&tree, "2025-06-18", manifest, &[]);
    mock.send_as(
        &json!("a"),
        "tools/call",
        json!({"name": "work", "arguments": {"x": 1}, "_meta": {"progressToken": "p"}}),
    );
    let seen: Vec<Value> = (0..4)
        .map(|_| mock.recv())
        .map(|message| message.get("params").unwrap_or(&message["result"]).clone())
        .collect();
    assert_eq!(
        seen[..2],
        [
            json!({"progress": 0, "total": 2, "progressToken": "p"}),
            json!({"progress": 2, "total": 2, "progressToken": "p"})
        ]
    );
    assert_eq!(
        seen[2..],
        [json!({"level": "info", "data": "on 1"}), text("mock work")]
    );
    mock.send_as(&json!("b"), "resources/subscribe", json!({"uri": "w://1"}));
    let mut two = [mock.recv(), mock.recv()];
    two.sort_by_key(|message| message.get("id").is_some());
    assert_eq!(
        (&two[0]["method"], &two[0]["params"]),
        (
            &json!("notifications/resources/updated"),
            &json!({"uri": "w://1"})
        )
    );
    assert_eq!(
        mock.request("resources/read", json!({"uri": "w://1"}))
            .result()["contents"][0]["text"],
        "two"
    );
}

#[test]
fn manifest_is_served_beside_builtin_tools() {
    let tree = Tree::new();
    tree.file("d/a", "hi\n");
    tree.file("m.yaml", WEATHER);
    let asked = [
        request(1, "tools/list", json!({})),
        call(2, "read_file", json!({"path": "a"})),
        call(3, "get_weather", json!({"city": "Rome"})),
        request(4, "prompts/list", json!({})),
        request(5, "initialize", json!({"protocolVersion": "2025-06-18"})),
    ];
    let replies = ask(
        &tree,
        &[
            "--mcp-server",
            "--allow",
            "d",
            "--tools",
            "files",
            "--mock",
            "m.yaml",
        ],
        &asked,
    )
    .messages();
    let names: Vec<&str> = replies[0]["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        (names[0], &names[names.len() - 2..]),
        ("read_file", &["get_weather", "bare"][..])
    );
    assert_eq!(replies[1]["result"]["content"][0]["text"], "hi\n");
    assert_eq!(replies[2]["result"], text("It is 72 F and sunny in Rome."));
    assert_eq!(replies[3]["result"]["prompts"][0]["name"], "bug_triage");
    let changing = json!({"listChanged": true});
    assert_eq!(
        replies[4]["result"]["capabilities"],
        json!({"tools": changing, "logging": {}, "resources": changing, "prompts": changing})
    );
    tree.file("clash.yaml", "mock_server: {tools: [{name: read_file}]}");
    let clash = ask(&tree, &["--mcp-server", "--mock", "clash.yaml"], &[]);
    assert_eq!(
        (clash.status, clash.stderr.contains("`read_file`")),
        (Some(2), true),
        "{}",
        clash.stderr
    );
}
