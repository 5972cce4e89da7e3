//! Differences between the revisions of the protocol.

use std::collections::BTreeSet;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{error_code, open_server, start_server};
use crate::harness::stateless_meta;
use crate::schema::{HANDSHAKE, NEWEST_HANDSHAKE, REVISIONS, STATELESS};

fn keys(value: &Value) -> BTreeSet<&str> {
    value
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, _)| key.as_str())
        .collect()
}

#[test]
fn initialize_agrees_on_every_handshake_revision() {
    for revision in HANDSHAKE {
        let (_tree, mut server) = start_server();
        let client = json!({"name": "it", "version": "0"});
        let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": client});
        let reply = server.request("initialize", params);
        let result = reply.result();
        assert_eq!(result["protocolVersion"], revision);
        assert_eq!(result["serverInfo"]["name"], "replay");
        let offered = keys(&result["capabilities"]);
        assert!(
            offered.contains("tools")
                && offered.is_subset(&BTreeSet::from(["logging", "resources", "tools"])),
            "{offered:?}"
        );
        // Offered capabilities are served, others are unknown methods.
        let level = server.request("logging/setLevel", json!({"level": "error"}));
        assert_eq!(
            level.failure().map(|failure| failure.code),
            (!offered.contains("logging")).then_some(Some(-32601))
        );
        let allowed: &[&str] = match revision {
            "2024-11-05" | "2025-03-26" => &["name", "version"],
            "2025-06-18" => &["name", "title", "version"],
            _ => &[
                "description",
                "icons",
                "name",
                "title",
                "version",
                "websiteUrl",
            ],
        };
        let given = keys(&result["serverInfo"]);
        assert!(
            given.is_subset(&allowed.iter().copied().collect()),
            "{revision}: {given:?}"
        );
        server.notify("notifications/initialized", json!({}));
        assert_eq!(server.settle(), Vec::<Value>::new());
    }
}

#[test]
fn initialize_with_unknown_version_gets_newest_handshake() {
    for asked in ["1999-01-01", "2099-01-01", STATELESS, "", "latest"] {
        let (_tree, mut server) = start_server();
        let client = json!({"name": "it", "version": "0"});
        let params = json!({"protocolVersion": asked, "capabilities": {}, "clientInfo": client});
        let reply = server.request("initialize", params);
        assert_eq!(
            reply.result()["protocolVersion"],
            NEWEST_HANDSHAKE,
            "asked for `{asked}`"
        );
    }
}

#[test]
fn discover_returns_required_fields_of_stateless_revision() {
    let (_tree, mut server) = open_server(STATELESS);
    let reply = server.request("server/discover", json!({}));
    let result = reply.result();
    let supported: Vec<&str> = result["supportedVersions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|version| version.as_str().unwrap())
        .collect();
    assert!(supported.contains(&STATELESS), "{supported:?}");
    assert!(
        supported.iter().all(|version| REVISIONS.contains(version)),
        "{supported:?}"
    );
    assert_eq!(
        keys(&result["capabilities"]),
        BTreeSet::from(["resources", "tools"])
    );
    assert_eq!(
        result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "replay"
    );
    assert_eq!(
        (result.get("serverInfo"), result.get("protocolVersion")),
        (None, None)
    );
}

#[test]
fn stateless_request_of_unknown_version_gets_known_ones() {
    let (_tree, mut server) = start_server();
    for asked in ["2099-01-01", "", "2025-11"] {
        let mut meta = stateless_meta();
        meta["io.modelcontextprotocol/protocolVersion"] = json!(asked);
        let reply = server.request("tools/list", json!({"_meta": meta}));
        assert_eq!(reply.code(), -32022);
        assert_eq!(reply.0["error"]["data"]["requested"], asked);
        let supported = reply.0["error"]["data"]["supported"].as_array().unwrap();
        assert!(supported.contains(&json!(STATELESS)), "{supported:?}");
    }
}

#[test]
fn stateless_request_without_required_fields_is_refused() {
    let (_tree, mut server) = start_server();
    let mut meta = stateless_meta();
    meta.as_object_mut()
        .unwrap()
        .remove("io.modelcontextprotocol/clientCapabilities");
    assert_eq!(
        server.request("tools/list", json!({"_meta": meta})).code(),
        -32602
    );
    assert_eq!(server.request("server/discover", json!({})).code(), -32602);
    assert_eq!(
        server
            .request("server/discover", json!({"_meta": {}}))
            .code(),
        -32602
    );
    // The client's name is recommended, and no server may require it.
    let mut meta = stateless_meta();
    meta.as_object_mut()
        .unwrap()
        .remove("io.modelcontextprotocol/clientInfo");
    server
        .request("tools/list", json!({"_meta": meta}))
        .result();
}

#[test]
fn removed_methods_are_unknown_in_stateless_revision() {
    let (_tree, mut server) = open_server(STATELESS);
    let removed = [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "tasks/get",
    ];
    for method in removed {
        assert_eq!(server.request(method, json!({})).code(), -32601, "{method}");
    }
    assert_eq!(
        server
            .request("subscriptions/listen", json!({"notifications": {}}))
            .code(),
        -32601
    );
}

#[test]
fn stateless_requests_share_process_with_session() {
    let (tree, mut server) = open_server("2024-11-05");
    let read = json!({"name": "read_file", "arguments": {"path": tree.text("work/hello.txt")}});
    for _ in 0..2 {
        let old = server.request("tools/call", read.clone());
        assert_eq!(old.text(), "hello\n");
        assert_eq!(old.result().get("resultType"), None);
        let mut params = read.clone();
        params["_meta"] = stateless_meta();
        let new = server.request("tools/call", params);
        assert_eq!(
            (new.text().as_str(), &new.result()["resultType"]),
            ("hello\n", &json!("complete"))
        );
    }
    let mut meta = stateless_meta();
    assert_eq!(
        server.request("ping", json!({"_meta": meta.take()})).code(),
        -32601
    );
    assert_eq!(*server.request("ping", json!({})).result(), json!({}));
}

#[test]
fn batch_is_refused_except_on_2025_03_26() {
    let line = r#"[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","id":"b","method":"no/such"}]"#;
    for revision in REVISIONS
        .into_iter()
        .filter(|revision| *revision != "2025-03-26")
    {
        let (_tree, mut server) = open_server(revision);
        server.send_raw(line);
        assert_eq!(error_code(&server.recv()), -32600, "{revision}");
    }
}

#[test]
fn batch_is_served_on_2025_03_26() {
    let (_tree, mut server) = open_server("2025-03-26");
    server.send_raw(
        r#"[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},
            {"jsonrpc":"2.0","id":"b","method":"no/such"},{"jsonrpc":"2.0","id":"c"},7]"#
            .replace('\n', "")
            .as_str(),
    );
    // JSON-RPC 2.0, 6: one array with a reply to each that is no notification, in any order.
    let reply = server.recv();
    let mut found: Vec<(Value, Option<i64>)> = reply
        .as_array()
        .unwrap_or_else(|| panic!("no array: {reply}"))
        .iter()
        .map(|one| (one["id"].clone(), one["error"]["code"].as_i64()))
        .collect();
    found.sort_by_key(|(id, _)| id.to_string());
    let expected = [
        (json!("a"), None),
        (json!("b"), Some(-32601)),
        (json!("c"), Some(-32600)),
        (Value::Null, Some(-32600)),
    ];
    assert_eq!(found, expected);

    server.send_raw("[]");
    assert_eq!(error_code(&server.recv()), -32600);
    server.send_raw(r#"[{"jsonrpc":"2.0","method":"notifications/initialized"}]"#);
    assert_eq!(server.settle(), Vec::<Value>::new());
}

/// The replies of a batch are held until all are complete, so their total size is limited.
#[test]
fn oversized_batch_is_answered_in_part() {
    let (tree, mut server) = open_server("2025-03-26");
    tree.file("work/large", "x".repeat(10 * 1024 * 1024));
    let read = |id: u32| {
        let call = json!({"name": "read_file", "arguments": {"path": tree.text("work/large"), "maxTokens": 4_000_000}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call})
    };
    server.send_raw(&Value::Array((0..9).map(read).collect()).to_string());
    let reply = server.recv();
    let codes: Vec<Option<i64>> = reply
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["error"]["code"].as_i64())
        .collect();
    assert_eq!(codes, [[None; 7].as_slice(), &[Some(-32600); 2]].concat());
}

#[test]
fn initialize_in_batch_is_refused() {
    let (_tree, mut server) = open_server("2025-03-26");
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "i", "version": "0"}});
    server.send_raw(
        &json!([{"jsonrpc": "2.0", "id": 77, "method": "initialize", "params": params}])
            .to_string(),
    );
    let reply = server.recv();
    let one = reply.get(0).unwrap_or(&reply);
    assert_eq!(
        (&one["id"], &one["error"]["code"]),
        (&json!(77), &json!(-32600))
    );
}

#[test]
fn request_ids_are_returned_unchanged() {
    for revision in REVISIONS {
        let (_tree, mut server) = open_server(revision);
        for id in [
            json!(0),
            json!(-1),
            json!(9_007_199_254_740_993_i64),
            json!(""),
            json!("7"),
            json!("ü\n\""),
        ] {
            server.send_as(&id, "tools/list", json!({}));
            let reply = server.recv();
            assert_eq!(reply["id"], id, "{revision}");
        }
    }
}

#[test]
fn tool_list_is_stable() {
    for revision in REVISIONS {
        let (_tree, mut server) = open_server(revision);
        let first = server.request("tools/list", json!({}));
        let second = server.request("tools/list", json!({}));
        assert_eq!(first.result(), second.result());
        let (_tree, mut other) = open_server(revision);
        assert_eq!(
            first.result(),
            other.request("tools/list", json!({})).result(),
            "{revision}"
        );

        let tools = first.result()["tools"].as_array().unwrap();
        let names: Vec<&str> = tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        assert_eq!(
            names.len(),
            names.iter().collect::<BTreeSet<_>>().len(),
            "a name twice: {names:?}"
        );
        assert!(
            names.contains(&"read_file") && names.contains(&"execute_command"),
            "{names:?}"
        );
        for tool in tools {
            let name = tool["name"].as_str().unwrap();
            assert!(
                !tool["description"].as_str().unwrap_or_default().is_empty(),
                "{name}"
            );
            assert_eq!(
                tool.get("annotations").is_some(),
                revision >= "2025-03-26",
                "{name} on {revision}"
            );
        }
    }
}

#[test]
fn structured_content_matches_declared_schema() {
    for revision in ["2025-06-18", "2025-11-25", STATELESS] {
        let (tree, mut server) = open_server(revision);
        let list = server.request("tools/list", json!({}));
        let calls = [
            (
                "get_file_info",
                json!({"path": tree.text("work/hello.txt")}),
            ),
            ("list_directory", json!({"path": tree.text("work")})),
            ("directory_tree", json!({"path": tree.text("work")})),
            ("list_allowed_directories", json!({})),
            (
                "grep_files",
                json!({"regex": "hello", "directory": tree.text("work")}),
            ),
            ("read_file", json!({"path": tree.text("work/hello.txt")})),
            ("execute_command", json!({"command": "echo hi"})),
            ("execute_command", json!({"command": "echo no >&2; exit 3"})),
        ];
        for (name, arguments) in calls {
            let tools = list.result()["tools"].as_array().unwrap();
            let tool = tools
                .iter()
                .find(|tool| tool["name"] == name)
                .unwrap_or_else(|| panic!("no {name}"));
            let reply = server.call(name, arguments);
            let structured = reply.result().get("structuredContent");
            match (tool.get("outputSchema"), structured) {
                (Some(schema), Some(structured)) => {
                    let faults: Vec<_> = jsonschema::validator_for(schema)
                        .unwrap()
                        .iter_errors(structured)
                        .map(|error| error.to_string())
                        .collect();
                    assert_eq!(faults, Vec::<String>::new(), "{name}: {structured}");
                }
                // "Servers MUST provide structured results that conform to this schema."
                (Some(_), None) => {
                    panic!("{name} declares an output schema and gave no structured content")
                }
                (None, _) => {}
            }
        }
    }
}

#[test]
fn ping_returns_empty_object() {
    for revision in HANDSHAKE {
        let (_tree, mut server) = open_server(revision);
        assert_eq!(
            *server.request("ping", json!({})).result(),
            json!({}),
            "{revision}"
        );
    }
}

#[test]
fn unknown_cursor_is_refused() {
    for revision in REVISIONS {
        let (_tree, mut server) = open_server(revision);
        assert_eq!(
            server
                .request("tools/list", json!({"cursor": "no-such-page"}))
                .code(),
            -32602,
            "{revision}"
        );
    }
}

#[test]
fn methods_of_absent_capabilities_are_unknown() {
    let methods = [
        "resources/templates/list",
        "prompts/list",
        "prompts/get",
        "completion/complete",
        "resources/subscribe",
        "no/such/method",
    ];
    for revision in REVISIONS {
        let (_tree, mut server) = open_server(revision);
        for method in methods {
            assert_eq!(
                server.request(method, json!({})).code(),
                -32601,
                "{method} on {revision}"
            );
        }
    }
}

#[test]
fn unknown_tool_is_invalid_parameter() {
    for revision in REVISIONS {
        let (_tree, mut server) = open_server(revision);
        assert_eq!(
            server.call("no_such_tool", json!({})).code(),
            -32602,
            "{revision}"
        );
    }
}

/// Tool failures: an error code on handshake revisions, an error result on the stateless one.
#[test]
fn tool_failures_have_form_of_revision() {
    for revision in REVISIONS {
        let (tree, mut server) = open_server(revision);
        tree.file("work/bin/x", "x")
            .file("outside/secret", "TOPSECRET");
        let cases = [
            (
                "read_file",
                json!({"path": tree.text("work/missing")}),
                -32002,
            ),
            (
                "read_file",
                json!({"path": tree.text("outside/secret")}),
                -32001,
            ),
            ("read_file", json!({}), -32602),
            ("read_file", json!({"path": 7}), -32602),
            (
                "read_file",
                json!({"path": tree.text("work/hello.txt"), "pahts": 1}),
                -32602,
            ),
            (
                "edit_file",
                json!({"path": tree.text("work/hello.txt"), "edits": [{"oldText": "zzz", "newText": ""}]}),
                -32603,
            ),
            (
                "grep_files",
                json!({"regex": "(", "directory": tree.text("work")}),
                -32603,
            ),
        ];
        for (tool, arguments, code) in cases {
            let reply = server.call(tool, arguments.clone());
            let failure = reply
                .failure()
                .unwrap_or_else(|| panic!("{tool} {arguments} worked on {revision}"));
            let expected = (revision != STATELESS).then_some(code);
            assert_eq!(
                failure.code, expected,
                "{tool} {arguments} on {revision}: {}",
                reply.0
            );
            assert!(!failure.message.is_empty());
        }
    }
}

#[test]
fn wrong_argument_is_named() {
    for revision in REVISIONS {
        let (tree, mut server) = open_server(revision);
        let path = tree.text("work/hello.txt");
        let edits = json!([{"oldText": "hello", "newText": "x"}, {"oldText": 7, "newText": "x"}]);
        let cases = [
            (
                "edit_file",
                json!({"path": path, "edits": edits}),
                "edits[1].oldText",
            ),
            ("read_file", json!({}), "path"),
            ("read_file", json!({"path": path, "pahts": 1}), "pahts"),
            (
                "grep_files",
                json!({"regex": "x", "directory": path, "contextLines": "many"}),
                "contextLines",
            ),
        ];
        for (tool, arguments, name) in cases {
            let failure = server.call(tool, arguments).failure().unwrap();
            assert!(
                failure.message.contains(name),
                "{revision}: `{name}` is missing in: {}",
                failure.message
            );
        }
    }
}

#[test]
fn task_request_is_served_as_call() {
    let (tree, mut server) = open_server("2025-11-25");
    let arguments = json!({"path": tree.text("work/hello.txt")});
    let params = json!({"name": "read_file", "arguments": arguments, "task": {"ttl": 1000}});
    assert_eq!(server.request("tools/call", params).text(), "hello\n");
}

#[test]
fn tool_failures_become_results_by_flag() {
    for revision in REVISIONS {
        let (tree, allow) = super::stage();
        let args = ["--allow", allow.as_str(), "--errors", "results"];
        let mut server = crate::harness::Server::open(&tree, revision, &args);
        let failure = server
            .call("read_file", json!({"path": tree.text("outside/secret")}))
            .failure()
            .unwrap();
        assert_eq!(failure.code, None, "{revision}");
        assert_eq!(
            server.call("no_such_tool", json!({})).code(),
            -32602,
            "{revision}"
        );
    }
}
