//! Tests of faults over HTTP, and of what else a mock serves there.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::over_http::{Mock, tool_text};
use crate::tree::Tree;

#[test]
fn request_with_fault_gets_it_the_given_times() {
    let cases = [
        ("unauthorized", 401),
        ("token-echo", 401),
        ("rate-limited:1", 429),
        ("bad-gateway", 502),
        ("redirect", 307),
        ("insufficient-scope", 403),
        ("version-refused", 400),
        ("header-mismatch", 400),
    ];
    for (fault, status) in cases {
        let tree = Tree::new();
        let rule = json!({"fault": fault, "after": 1, "times": 1, "tool": "read"});
        let mock = Mock::start(&tree, json!({"auth": {}, "faults": [rule]}), &[]);
        let token = mock.token("");
        let statuses = ["read", "write", "read", "read"].map(|tool| mock.call(tool, &token).status);
        assert_eq!(statuses, [200, 200, status, 200], "{fault}");
    }
}

#[test]
fn forgotten_session_stays_forgotten() {
    let tree = Tree::new();
    let args = ["--journal", "journal.jsonl"];
    let faults = json!({"faults": [{"fault": "forget-session", "times": 1}]});
    let mut mock = Mock::start(&tree, faults, &args);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let ask = |session: &str| {
        let headers = [("Mcp-Session-Id", session)];
        let count = usize::from(!session.is_empty());
        mock.server.post_with(&list, &headers[..count]).status
    };
    // A request without a session has none to forget.
    let statuses = ["", "one", "one", "two", "one"].map(ask);
    assert_eq!(statuses, [200, 404, 404, 200, 404]);
    mock.server.terminate();
    mock.server.wait();
    let journal = tree.read("journal.jsonl");
    let mut lines = journal
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let event = lines.find(|line| line["method"] == "http/fault").unwrap();
    let shown = json!({"fault": "forget-session", "method": "tools/list", "tool": null});
    assert_eq!(event["params"], shown);
}

#[test]
fn page_of_this_machine_may_ask_and_read() {
    let tree = Tree::new();
    let mock = Mock::start(&tree, json!({}), &[]);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let from = |origin: &str| mock.server.post_with(&list, &[("Origin", origin)]);
    let answer = from("http://localhost:6274");
    let shared = answer.header("access-control-allow-origin");
    assert_eq!((answer.status, shared), (200, Some("*")));
    assert_eq!(from("http://page.example").status, 403);
    let asked = mock.server.ask("OPTIONS", "/mcp", &[], &[]);
    let names = asked.header("access-control-allow-headers");
    assert_eq!((asked.status, names), (204, Some("*, Authorization")));
}

#[test]
fn cut_answer_is_not_complete() {
    for fault in ["cut", "gone"] {
        let tree = Tree::new();
        let mock = Mock::start(&tree, json!({"faults": [{"fault": fault}]}), &[]);
        let mut client = mock.server.connect();
        let call =
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "read"}});
        client.send_message(&call, &[("Accept", "application/json")]);
        if fault == "cut" {
            assert_eq!(client.head().status, 200);
        }
        assert!(client.is_hung_up(), "{fault}");
    }
}

#[test]
fn cut_stream_is_resumed_once() {
    let tree = Tree::new();
    let rule = json!({"fault": "cut-resumable", "times": 1});
    let mock = Mock::start(&tree, json!({"faults": [rule]}), &[]);
    let cut = mock.call("read", "");
    assert_eq!(cut.text(), "id: event-1\nretry: 50\ndata: \n\n");
    let resume = || {
        let headers = [
            ("Accept", "text/event-stream"),
            ("Last-Event-ID", "event-1"),
        ];
        mock.server.ask("GET", "/mcp", &headers, &[])
    };
    let rest = resume().events();
    assert_eq!(rest[0]["result"]["content"][0]["text"], "note");
    assert_eq!(resume().status, 405);
}

#[test]
fn duplicate_event_has_the_same_id() {
    let tree = Tree::new();
    let mock = Mock::start(
        &tree,
        json!({"faults": [{"fault": "duplicate-event"}]}),
        &[],
    );
    let text = mock.call("read", "").text();
    let events: Vec<&str> = text.split_terminator("\n\n").collect();
    assert_eq!(events.len(), 2);
    assert_eq!(events[0], events[1]);
    assert!(events[0].starts_with("id: event-1\ndata: {"), "{text}");
}

#[test]
fn handshake_with_fault_differs() {
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"}}});
    let tree = Tree::new();
    let mock = Mock::start(
        &tree,
        json!({"faults": [{"fault": "unknown-revision"}]}),
        &[],
    );
    let answer = mock.server.post(&initialize).json();
    assert_eq!(answer["result"]["protocolVersion"], "2099-01-01");
    let mock = Mock::start(&tree, json!({"faults": [{"fault": "odd-session"}]}), &[]);
    let opened = mock.server.post(&initialize);
    let session = opened.header("mcp-session-id").unwrap();
    assert!(
        session.starts_with("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"),
        "{session}"
    );
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "prompts/list"});
    let used = mock.server.post_with(&list, &[("Mcp-Session-Id", session)]);
    assert_eq!(used.status, 200);
}

#[test]
fn early_retry_after_429_is_noted() {
    let tree = Tree::new();
    tree.file(
        "expect.yaml",
        "expect:\n- { method: http/retry, match: { early: true }, times: 1 }\n",
    );
    let rule = json!({"fault": "rate-limited:600", "times": 1});
    let mut mock = Mock::start(
        &tree,
        json!({"faults": [rule]}),
        &["--expect", "expect.yaml"],
    );
    let limited = mock.call("read", "");
    assert_eq!(
        (limited.status, limited.header("retry-after")),
        (429, Some("600"))
    );
    assert_eq!(tool_text(&mock.call("read", "")), "note");
    mock.server.terminate();
    assert_eq!(mock.server.wait().code(), Some(0));
}

#[test]
fn server_card_follows_from_manifest() {
    let tree = Tree::new();
    let members = json!({"version": "2", "title": "Notes", "card": {"websiteUrl": "http://x"}});
    let mock = Mock::start(&tree, members, &[]);
    let card = mock.get("/.well-known/mcp.json").json();
    let expected = json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
        "name": "local.mock/notes",
        "version": "2",
        "description": "A mock of an MCP server",
        "remotes": [{
            "type": "streamable-http",
            "url": format!("{}/mcp", mock.origin),
            "supportedProtocolVersions":
                ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
        }],
        "title": "Notes",
        "websiteUrl": "http://x",
    });
    assert_eq!(card, expected);
    assert_eq!(
        mock.get("/.well-known/mcp/server-card.json").json(),
        expected
    );
}

#[test]
fn name_of_another_machine_is_refused() {
    let tree = Tree::new();
    let mock = Mock::start(&tree, json!({"auth": {}}), &[]);
    let path = "/.well-known/oauth-authorization-server";
    let headers = [("Host", "mock.example")];
    assert_eq!(mock.server.ask("GET", path, &headers, &[]).status, 403);
}
