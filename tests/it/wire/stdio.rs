//! Lines on stdin that are invalid, early, late, long or many.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{error_code, open_server, stage, start_server};
use crate::harness::Server;
use crate::schema::{NEWEST_HANDSHAKE, REVISIONS};

#[test]
fn invalid_json_costs_only_its_line() {
    for revision in REVISIONS {
        let (_tree, mut server) = open_server(revision);
        for line in [
            &b"{\"jsonrpc\""[..],
            b"nonsense",
            b"{} {}",
            b"\xff\xfe",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}",
        ] {
            server.send_bytes([line, b"\n"].concat());
            assert_eq!(
                error_code(&server.recv()),
                -32700,
                "{revision}: {}",
                String::from_utf8_lossy(line)
            );
        }
        assert_eq!(server.settle(), Vec::<Value>::new());
    }
}

#[test]
fn deep_nesting_costs_only_its_line() {
    let (_tree, mut server) = open_server(NEWEST_HANDSHAKE);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    // Too deep for the harness to parse.
    server.expect_reply(&json!({"id": "deep", "method": "tools/call"}));
    let call = r#"{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":{"name":"read_file","arguments":{"path":"#;
    server.send_raw(&format!("{call}{deep}}}}}}}"));
    let reply = server.recv();
    let code = reply["error"]["code"].as_i64().unwrap();
    assert!([-32602, -32700, -32600].contains(&code), "{reply}");
    assert!(reply["id"].is_null() || reply["id"] == "deep", "{reply}");
    server.settle();
}

#[test]
fn empty_line_is_no_message() {
    let (_tree, mut server) = open_server(NEWEST_HANDSHAKE);
    server.send_bytes(b"\n\r\n  \n".to_vec());
    // Every reply must be a parse error. The harness checks its schema.
    for message in server.settle() {
        assert_eq!(error_code(&message), -32700);
    }
}

#[test]
fn line_ending_in_carriage_return_is_accepted() {
    let (_tree, mut server) = open_server(NEWEST_HANDSHAKE);
    server.send_raw("{\"jsonrpc\":\"2.0\",\"id\":\"crlf\",\"method\":\"ping\"}\r");
    assert_eq!(
        server.recv(),
        json!({"jsonrpc": "2.0", "id": "crlf", "result": {}})
    );
}

#[test]
fn invalid_request_is_refused_under_its_id() {
    let lines = [
        r#"{"jsonrpc":"2.0","id":"x"}"#,
        r#"{"id":"x","method":"ping"}"#,
        r#"{"jsonrpc":"1.0","id":"x","method":"ping"}"#,
        r#"{"jsonrpc":2,"id":"x","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":"x","method":7}"#,
        r#"{"jsonrpc":"2.0","id":"x","method":"ping","params":"text"}"#,
    ];
    for revision in REVISIONS {
        let (_tree, mut server) = open_server(revision);
        for line in lines {
            server.send_raw(line);
            let reply = server.recv();
            assert_eq!(
                (&reply["id"], &reply["error"]["code"]),
                (&json!("x"), &json!(-32600)),
                "{revision}: {line}"
            );
        }
    }
}

#[test]
fn id_neither_string_nor_integer_is_refused() {
    let (_tree, mut server) = open_server(NEWEST_HANDSHAKE);
    for id in ["1.5", "true", "{}", "[1]", "1e400"] {
        server.send_raw(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#
        ));
        let code = error_code(&server.recv());
        assert!(
            code == -32600 || (code == -32700 && id == "1e400"),
            "{id}: {code}"
        );
    }
    server.send_raw(r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#);
    assert_eq!(error_code(&server.recv()), -32600);
}

#[test]
fn scalar_is_no_request() {
    let (_tree, mut server) = open_server(NEWEST_HANDSHAKE);
    for line in ["7", "null", "\"ping\"", "true", "{}"] {
        server.send_raw(line);
        assert_eq!(error_code(&server.recv()), -32600, "{line}");
    }
}

#[test]
fn request_before_initialize_uses_newest_handshake() {
    let (tree, mut server) = start_server();
    assert_eq!(*server.request("ping", json!({})).result(), json!({}));
    assert_eq!(server.request("no/such", json!({})).code(), -32601);
    let list = server.request("tools/list", json!({}));
    assert_eq!(
        server
            .call("read_file", json!({"path": tree.text("work/hello.txt")}))
            .text(),
        "hello\n"
    );
    let (_tree, mut later) = open_server(NEWEST_HANDSHAKE);
    assert_eq!(
        list.result(),
        later.request("tools/list", json!({})).result()
    );
    assert_eq!(later.request("no/such", json!({})).code(), -32601);
}

#[test]
fn initialize_accepts_missing_or_odd_fields() {
    let whole = json!({"protocolVersion": "2025-06-18", "capabilities": {}});
    for (params, agreed) in [
        (json!({}), NEWEST_HANDSHAKE),
        (
            json!({"protocolVersion": null, "capabilities": {}}),
            NEWEST_HANDSHAKE,
        ),
        (
            json!({"protocolVersion": 20_250_618, "clientInfo": 7}),
            NEWEST_HANDSHAKE,
        ),
        (whole, "2025-06-18"),
    ] {
        let (_tree, mut server) = start_server();
        let reply = server.request("initialize", params.clone());
        assert_eq!(reply.result()["protocolVersion"], agreed, "{params}");
    }
    let (_tree, mut server) = start_server();
    server.send_raw(r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#);
    assert_eq!(server.recv()["result"]["protocolVersion"], NEWEST_HANDSHAKE);
}

#[test]
fn notifications_get_no_reply() {
    let (_tree, mut server) = start_server();
    for method in [
        "notifications/initialized",
        "no/such",
        "tools/list",
        "ping",
        "initialize",
        "notifications/roots/list_changed",
    ] {
        server.notify(method, json!({}));
    }
    server.notify("notifications/cancelled", json!({"requestId": 4711}));
    server.notify("notifications/cancelled", json!({}));
    server.send_raw(r#"{"jsonrpc":"2.0","id":9,"result":{}}"#);
    assert_eq!(server.settle(), Vec::<Value>::new());
}

#[test]
fn call_with_invalid_name_or_arguments_is_refused() {
    for revision in REVISIONS {
        let (_tree, mut server) = open_server(revision);
        for params in [
            json!({}),
            json!({"arguments": {}}),
            json!({"name": 7, "arguments": {}}),
            json!({"name": "list_allowed_directories", "arguments": []}),
            json!({"name": "list_allowed_directories", "arguments": "text"}),
        ] {
            assert_eq!(
                server.request("tools/call", params.clone()).code(),
                -32602,
                "{revision}: {params}"
            );
        }
        // A missing field is the same as an empty one.
        let reply = server.request("tools/call", json!({"name": "list_allowed_directories"}));
        assert_eq!(reply.failure(), None, "{revision}");
    }
}

#[test]
fn last_line_needs_no_newline() {
    let (_tree, mut server) = start_server();
    server.send_bytes(br#"{"jsonrpc":"2.0","id":"last","method":"ping"}"#.to_vec());
    server.close_stdin();
    assert_eq!(
        server.recv_to_end(),
        [json!({"jsonrpc": "2.0", "id": "last", "result": {}})]
    );
    assert_eq!(server.wait_exit().code(), Some(0));
}

#[test]
fn empty_input_ends_server_cleanly() {
    let (tree, allow) = stage();
    let mut server = Server::start(&tree, &["--allow", &allow, "--log-level", "warn"]);
    server.close_stdin();
    assert_eq!(server.recv_to_end(), Vec::<Value>::new());
    assert_eq!(server.wait_exit().code(), Some(0));
    assert_eq!(server.stderr(), "");
}

#[test]
fn line_over_cap_is_refused_and_next_served() {
    let (tree, allow) = stage();
    let mut server = Server::start(&tree, &["--allow", &allow, "--max-line-bytes", "100000"]);
    for bytes in [100_001, 150_000, 3_000_000] {
        server.send_bytes([vec![b'x'; bytes], b"\n".to_vec()].concat());
        let reply = server.recv();
        assert_eq!(error_code(&reply), -32600);
        assert!(
            reply["error"]["message"]
                .as_str()
                .unwrap()
                .contains("100000"),
            "{reply}"
        );
    }
    let fill = "x".repeat(99_000);
    server.send_raw(
        &json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"fill": fill}}).to_string(),
    );
    assert_eq!(
        server.recv(),
        json!({"jsonrpc": "2.0", "id": 1, "result": {}})
    );
}

#[test]
fn last_line_over_cap_is_refused() {
    let (tree, allow) = stage();
    let mut server = Server::start(&tree, &["--allow", &allow, "--max-line-bytes", "1000"]);
    server.send_bytes(vec![b'x'; 5000]);
    server.close_stdin();
    let messages = server.recv_to_end();
    assert_eq!(
        messages.iter().map(error_code).collect::<Vec<_>>(),
        [-32600]
    );
    assert_eq!(server.wait_exit().code(), Some(0));
}

#[test]
fn megabytes_are_written_and_read() {
    let (tree, mut server) = open_server(NEWEST_HANDSHAKE);
    // Escaping more than doubles its size.
    let content = "\"\n\t\\x".repeat(600 * 1024);
    let path = tree.text("work/big.txt");
    server
        .call("write_file", json!({"path": path, "content": content}))
        .texts();
    assert!(
        tree.read("work/big.txt") == content,
        "what was written differs"
    );
    assert!(
        server
            .call("read_file", json!({"path": path, "maxTokens": 2_000_000}))
            .text()
            == content,
        "what was read differs"
    );
}

#[test]
fn hundred_thousand_requests_use_bounded_memory() {
    const COUNT: usize = 100_000;
    let (_tree, mut server) = start_server();
    let mut lines = Vec::new();
    for id in 0..COUNT {
        lines.extend_from_slice(
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n").as_bytes(),
        );
    }
    server.send_bytes(lines);
    let mut answered = vec![false; COUNT];
    for _ in 0..COUNT {
        let id = server.recv()["id"].as_u64().unwrap() as usize;
        assert!(!std::mem::replace(&mut answered[id], true), "{id} twice");
    }
    assert!(answered.iter().all(|answered| *answered));
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kilobytes < 200_000, "{kilobytes} kB");
}

#[test]
fn stderr_has_only_start_up_lines_by_default() {
    let (tree, allow) = stage();
    let mut server = Server::open(
        &tree,
        NEWEST_HANDSHAKE,
        &[
            "--allow",
            &allow,
            "--sandbox",
            "landlock",
            "--protect",
            &tree.text("work/own"),
        ],
    );
    server
        .call("read_file", json!({"path": tree.text("work/hello.txt")}))
        .text();
    server.call("read_file", json!({"path": "/etc/passwd"}));
    server.send_raw("nonsense");
    server.recv();
    server.close_stdin();
    server.recv_to_end();
    server.wait_exit();
    let stderr = server.stderr();
    let root = tree.text("work");
    // After the timestamp.
    let said: Vec<&str> = stderr
        .lines()
        .filter_map(|line| line.split_once("  INFO "))
        .map(|(_, said)| said)
        .collect();
    let own = said[1].rsplit_once(' ').unwrap().1;
    let expected = [
        format!(
            "replay {} serves {root} (read-write)",
            env!("CARGO_PKG_VERSION")
        ),
        format!(
            "commands are refused: no walls can be built (landlock failed; `replay sandbox explain` says why); walls around the \
             server: landlock {own}"
        ),
        "client `it 0` is answered as an unknown client".to_owned(),
    ];
    assert_eq!(
        (said, stderr.lines().count()),
        (expected.iter().map(String::as_str).collect(), 3)
    );
}
