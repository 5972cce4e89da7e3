//! Tests of faults before a real server that is reached by a URL.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::over_http::{Mock, tool_text};
use crate::tree::Tree;

#[test]
fn proxy_applies_faults_to_real_server() {
    let tree = Tree::new();
    let real = Mock::start(&tree, json!({}), &[]);
    tree.file(
        "faults.yaml",
        "mock_server: { auth: {}, faults: [{ fault: bad-gateway, times: 1 }] }",
    );
    tree.file(
        "expect.yaml",
        "expect:\n- { tool: read, times: 1 }\n- { method: http/token, times: 1 }\n\
         - { method: tools/list, match: {}, times: 1 }\n",
    );
    let target = format!("{}/mcp", real.origin);
    let mut proxy = Mock::run(
        &tree,
        &[
            "proxy",
            "--target",
            &target,
            "--faults-from",
            "faults.yaml",
            "--expect",
            "expect.yaml",
            "--http",
            "127.0.0.1:0",
        ],
    );
    assert_eq!(proxy.call("read", "").status, 401);
    let token = proxy.token("");
    assert_eq!(proxy.call("read", &token).status, 502);
    assert_eq!(tool_text(&proxy.call("read", &token)), "note");
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let bearer = format!("Bearer {token}");
    let listed = proxy
        .server
        .post_with(&list, &[("Authorization", bearer.as_str())]);
    assert_eq!(listed.status, 200);
    proxy.server.terminate();
    assert_eq!(
        proxy.server.wait().code(),
        Some(0),
        "{}",
        proxy.server.log()
    );
}

#[test]
fn proxy_of_url_records_answers_and_applies_fault_flags() {
    let tree = Tree::new();
    let real = Mock::start(&tree, json!({}), &[]);
    let target = format!("{}/mcp", real.origin);
    let mut proxy = Mock::run(
        &tree,
        &[
            "proxy",
            "--target",
            &target,
            "--fault",
            "read=bad-gateway",
            "--fault",
            "write=cut",
            "--fault-times",
            "1",
            "--output",
            "tape.jsonl",
            "--journal",
            "journal.jsonl",
        ],
    );
    let statuses = [(); 3].map(|()| proxy.call("read", "").status);
    assert_eq!(statuses, [502, 200, 200]);
    let call = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "write"}});
    let batch = json!([call(5), call(6)]);
    assert_eq!(proxy.server.post_with(&batch, &[]).status, 200);
    proxy.server.terminate();
    assert_eq!(
        proxy.server.wait().code(),
        Some(0),
        "{}",
        proxy.server.log()
    );
    let lines = |name: &str| -> Vec<Value> {
        let text = tree.read(name);
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let entry = |name: &str, text: &str| {
        let result = json!({"content": [{"type": "text", "text": text}]});
        json!({"method": "tools/call", "params": {"name": name}, "result": result})
    };
    let mut kept = lines("tape.jsonl");
    for line in &mut kept {
        line.as_object_mut().unwrap().remove("ms");
    }
    let (read, write) = (entry("read", "note"), entry("write", "kept"));
    assert_eq!(kept[1..], [&read, &read, &write, &write].map(Clone::clone));
    let ids: Vec<Value> = lines("journal.jsonl")
        .iter()
        .map(|line| {
            json!([
                line["number"],
                line["id"],
                line["result"] == write["result"]
            ])
        })
        .collect();
    assert_eq!(
        ids,
        [
            // The fault that the proxy applied.
            json!([1, null, false]),
            json!([2, 1, false]),
            json!([3, 1, false]),
            json!([4, 5, true]),
            json!([5, 6, true])
        ]
    );
}

#[test]
fn fault_flag_applies_to_requests_over_http() {
    let tree = Tree::new();
    let manifest = "mock_server: { tools: [] }";
    let mut mock = Mock::serve(
        &tree,
        manifest,
        &["--fault", "unauthorized", "--fault-times", "1"],
    );
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let statuses = [(); 2].map(|()| mock.server.post_with(&list, &[]).status);
    assert_eq!(statuses, [401, 200]);
    mock.server.terminate();
    mock.server.wait();
}

#[test]
fn message_that_front_cannot_read_reaches_no_tool() {
    let tree = Tree::new();
    let mock = Mock::start(
        &tree,
        json!({"auth": {"tool_scopes": {"write": ["write"]}}}),
        &[],
    );
    let token = format!("Bearer {}", mock.token(""));
    let headers = [
        ("Content-Type", "application/json"),
        ("Authorization", token.as_str()),
    ];
    let call = |more: &str| {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"write"}}{more}}}"#
        );
        mock.server
            .ask("POST", "/mcp", &headers, text.as_bytes())
            .status
    };
    assert_eq!([call(""), call(r#","y":1e999"#)], [403, 400]);
}
