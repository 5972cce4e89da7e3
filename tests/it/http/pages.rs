//! Pages of the server: `OpenAPI`, tools page, metrics and health.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::client::{self, Server};
use super::{call, request, stage, stateless};
use crate::tree::Tree;

#[test]
fn openapi_has_schema_for_every_tool() {
    let (_tree, server) = stage(&[]);
    let reply = server.ask("GET", "/openapi.json", &[], b"");
    assert_eq!(
        (reply.status, reply.header("content-type")),
        (200, Some("application/json"))
    );
    let document = reply.json();
    let tools =
        server.post(&request(1, "tools/list", &json!({}))).json()["result"]["tools"].clone();
    let calls = &document["paths"]["/mcp"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        ["oneOf"];
    let names: Vec<Value> = tools
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].clone())
        .collect();
    let expected: Vec<Value> = names
        .iter()
        .map(|name| json!({"$ref": format!("#/components/schemas/{}", name.as_str().unwrap())}))
        .collect();
    assert_eq!(calls, &json!(expected));
    assert_eq!(document["security"], json!([{}]));
    for tool in tools.as_array().unwrap() {
        let schema = &document["components"]["schemas"][tool["name"].as_str().unwrap()];
        assert_eq!(
            schema["properties"]["params"]["properties"]["arguments"],
            tool["inputSchema"]
        );
        let validator = jsonschema::validator_for(schema).unwrap();
        assert!(!validator.is_valid(&request(1, "tools/call", &json!({"name": "other"}))));
    }
    let delete =
        jsonschema::validator_for(&document["components"]["schemas"]["delete_file"]).unwrap();
    assert!(delete.is_valid(&call(1, "delete_file", &json!({"path": "a"}))));
    assert!(!delete.is_valid(&call(1, "delete_file", &json!({}))));
}

#[test]
fn tools_page_loads_no_external_resources() {
    let (_tree, server) = stage(&[]);
    let reply = server.ask("GET", "/docs", &[], b"");
    let policy = reply.header("content-security-policy").unwrap();
    let rest = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    let (style, others) = policy
        .split_once("; ")
        .and_then(|(_, rest)| rest.split_once("; "))
        .unwrap();
    assert!(
        policy.starts_with("default-src 'none'; ") && style.starts_with("style-src 'sha256-"),
        "{policy}"
    );
    assert_eq!((reply.status, others), (200, rest));
    let page = reply.text();
    let tools =
        server.post(&request(1, "tools/list", &json!({}))).json()["result"]["tools"].clone();
    for tool in tools.as_array().unwrap() {
        let heading = format!(
            "<h2 id=\"{0}\"><code>{0}</code></h2>",
            tool["name"].as_str().unwrap()
        );
        assert!(page.contains(&heading), "{heading}");
    }
    for outside in [
        "http://", "https://", "//", "<script", "<img", "@import", "url(",
    ] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert_eq!(
        server.ask("POST", "/docs", &[], b"").header("allow"),
        Some("GET")
    );
    let mut client = server.connect();
    client.send("HEAD", "/docs", &[], b"");
    assert_eq!(client.head().status, 200);
}

#[test]
fn tools_page_asks_browser_for_token() {
    let tree = Tree::new();
    tree.dir("work");
    let mut command = client::command(&tree, &["--allow", &tree.text("work"), "--tools", "files"]);
    command.env("REPLAY_TOKEN", "correct-horse-battery");
    let server = Server::spawn(command);
    let goes = [("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")];
    let page = server.ask("GET", "/docs", &goes, b"");
    let policy = page.header("content-security-policy").unwrap();
    assert!(
        page.status == 200
            && policy.contains("; script-src 'sha256-")
            && !policy.contains("unsafe"),
        "{policy}"
    );
    let text = page.text();
    assert!(
        text.contains("A token is needed") && !text.contains("read_file"),
        "{text}"
    );
    let asks = |token: &str| server.ask("GET", "/docs", &[goes[0], ("Authorization", token)], b"");
    assert_eq!(asks("Bearer wrong").status, 401);
    let tools = asks("Bearer correct-horse-battery");
    assert_eq!(tools.status, 200);
    assert!(tools.text().contains("<h2 id=\"read_file\">"));
}

#[test]
fn metrics_count_calls_by_tool_and_outcome() {
    let (_tree, server) = stage(&["--rate-limit", "0"]);
    for arguments in [
        json!({"path": "hello.txt"}),
        json!({"path": "hello.txt"}),
        json!({"path": "/etc/hostname"}),
        json!({}),
    ] {
        server.post(&call(1, "read_file", &arguments));
    }
    // Tool errors are results, but are counted as errors.
    let (message, headers) = stateless(&call(1, "read_file", &json!({"path": "/etc/hostname"})));
    let headers: Vec<(&str, &str)> = headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    assert_eq!(
        server.post_with(&message, &headers).json()["result"]["isError"],
        true
    );
    server.post(&call(1, "made_up_1", &json!({})));
    server.post(&call(1, "made_up_2", &json!({})));
    server.post(&call(1, "execute_command", &json!({"command": "exit 3"})));
    let reply = server.ask("GET", "/metrics", &[], b"");
    assert_eq!(
        reply.header("content-type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    let text = reply.text();
    let calls: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("mcp_tool_calls_total"))
        .collect();
    let line = |tool: &str, outcome: &str, count: u32| {
        format!(
            "mcp_tool_calls_total{{tenant=\"anyone\",tool_name=\"{tool}\",outcome=\"{outcome}\"}} {count}"
        )
    };
    assert_eq!(
        calls,
        [
            line("execute_command", "failed", 1),
            line("read_file", "denied", 2),
            line("read_file", "invalid", 1),
            line("read_file", "ok", 2),
            line("unknown", "invalid", 2),
        ]
    );
    let count = "mcp_execution_seconds_count{tenant=\"anyone\",tool_name=\"read_file\"} 5";
    for line in [
        count,
        "mcp_denials_total{tenant=\"anyone\"} 2",
        "mcp_unauthorized_total 0",
    ] {
        assert!(
            text.lines().any(|known| known == line),
            "{line} is not in\n{text}"
        );
    }
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (_, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
}

#[test]
fn health_reports_server_state() {
    let (_tree, server) = stage(&[]);
    let initialize = request(1, "initialize", &json!({"protocolVersion": "2025-11-25"}));
    assert_eq!(server.post(&initialize).status, 200);
    let mut health = server.ask("GET", "/health/detailed", &[], b"").json();
    assert!(health["uptimeSeconds"].take().is_u64());
    let tenant = json!({"name": "anyone", "sessions": 1, "callsRunning": 0, "callsWaiting": 0, "commandsRunning": 0,
        "backgroundCommandsRunning": 0, "pythonSessions": []});
    let expected = json!({"status": "ok", "version": env!("CARGO_PKG_VERSION"), "uptimeSeconds": null, "tenants": [tenant]});
    assert_eq!(health, expected);
}
