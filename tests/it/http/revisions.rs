//! MCP over HTTP, per protocol revision.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::sync::mpsc::channel;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::client::{Response, Server};
use super::{call, request, stage, stateless};
use crate::harness::{self, DEADLINE};
use crate::schema;

const BOTH: (&str, &str) = ("Accept", "application/json, text/event-stream");

fn borrowed(headers: &[(String, String)]) -> Vec<(&str, &str)> {
    headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect()
}

/// Opens a session, and returns its id.
fn open_session(server: &Server, revision: &str) -> String {
    let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "it", "version": "0"}});
    let reply = server.post_with(&request(1, "initialize", &params), &[BOTH]);
    assert_eq!(
        (reply.status, &reply.json()["result"]["protocolVersion"]),
        (200, &json!(revision))
    );
    let session = reply.header("mcp-session-id").unwrap().to_owned();
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let accepted = server.post_with(&ready, &[BOTH, ("Mcp-Session-Id", &session)]);
    assert_eq!((accepted.status, accepted.body), (202, Vec::new()));
    session
}

#[test]
fn plain_json_rpc_client_gets_json() {
    let (_tree, server) = stage(&[]);
    let read = call(1, "read_file", &json!({"path": "hello.txt"}));
    for accept in [None, Some("*/*"), Some("application/json"), Some(BOTH.1)] {
        let headers: Vec<_> = accept
            .map(|accept| ("Accept", accept))
            .into_iter()
            .collect();
        let reply = server.post_with(&read, &headers);
        assert_eq!(
            (reply.status, reply.header("content-type")),
            (200, Some("application/json")),
            "{accept:?}"
        );
        let result = json!({"content": [{"type": "text", "text": "hello\n"}]});
        assert_eq!(reply.json()["result"]["content"], result["content"]);
        assert_eq!(reply.header("mcp-session-id"), None);
    }
    let events = server.post_with(&read, &[("Accept", "text/event-stream")]);
    assert_eq!(
        (events.status, events.header("content-type")),
        (200, Some("text/event-stream"))
    );
    assert_eq!(
        events.events()[0]["result"]["content"][0]["text"],
        "hello\n"
    );
    assert_eq!(events.header("x-accel-buffering"), Some("no"));
}

#[test]
fn http_reply_equals_stdio_reply() {
    let (tree, server) = stage(&["--rate-limit", "0"]);
    let allow = format!("{}:rw", tree.text("work"));
    let mut stdio = harness::Server::start(&tree, &["--allow", &allow, "--sandbox", "off"]);
    let asked = [
        request(1, "tools/list", &json!({})),
        request(2, "tools/list", &json!({"cursor": "x"})),
        request(3, "ping", &json!({})),
        request(4, "no/such", &json!({})),
        request(5, "server/discover", &json!({})),
        call(6, "read_file", &json!({"path": "hello.txt"})),
        call(7, "read_file", &json!({"path": "missing.txt"})),
        call(8, "read_file", &json!({"path": "../outside/x"})),
        call(9, "read_file", &json!({"pth": "hello.txt"})),
        call(10, "no_such_tool", &json!({})),
        call(11, "list_allowed_directories", &json!({})),
        call(12, "grep_files", &json!({"pattern": "h.l", "path": "."})),
        call(
            13,
            "execute_command",
            &json!({"command": "echo out; exit 3"}),
        ),
        json!({"jsonrpc": "2.0", "id": 14, "method": "tools/call"}),
        json!({"jsonrpc": "1.0", "id": 15, "method": "ping"}),
        json!({"jsonrpc": "2.0", "id": 16, "method": "ping", "params": []}),
        json!({"jsonrpc": "2.0", "id": 17, "method": 5}),
    ];
    // The duration of a command differs in each run.
    let comparable = |mut reply: Value| {
        for part in ["structuredContent", "_meta"] {
            if let Some(members) = reply["result"][part].as_object_mut() {
                members.retain(|name, _| {
                    !name.to_lowercase().contains("ms") && !name.to_lowercase().contains("duration")
                });
            }
        }
        reply
    };
    for message in asked {
        let id = message["id"].clone();
        stdio.send_raw(&message.to_string());
        assert_eq!(
            comparable(server.post(&message).json()),
            comparable(stdio.reply_to(&id).0),
            "{message}"
        );
        if message["method"].is_string() && message["params"].is_object() {
            let (mut message, headers) = stateless(&message);
            message["id"] = json!(format!("s{id}"));
            stdio.send_raw(&message.to_string());
            let over_stdin = comparable(stdio.reply_to(&message["id"]).0);
            let reply = server.post_with(&message, &borrowed(&headers));
            assert_eq!(comparable(reply.json()), over_stdin, "{message}");
            let is_unknown = over_stdin["error"]["code"] == -32601;
            assert_eq!(
                reply.status,
                if is_unknown { 404 } else { 200 },
                "{message}"
            );
            schema::check_reply(
                "2026-07-28",
                message["method"].as_str().unwrap(),
                &reply.json(),
            )
            .unwrap();
        }
    }
}

#[test]
fn stateless_headers_must_match_body() {
    let (_tree, server) = stage(&["--rate-limit", "0"]);
    let (message, headers) = stateless(&call(1, "read_file", &json!({"path": "hello.txt"})));
    let with = |changed: &str, value: Option<&str>| {
        let mut headers: Vec<(&str, &str)> = borrowed(&headers);
        headers.retain(|(name, _)| *name != changed);
        headers.extend(value.map(|value| (changed, value)));
        server.post_with(&message, &headers)
    };
    assert_eq!(server.post_with(&message, &borrowed(&headers)).status, 200);
    assert_eq!(
        with("Mcp-Name", Some("=?base64?cmVhZF9maWxl?=")).status,
        200
    );
    for (name, value) in [
        ("MCP-Protocol-Version", None),
        ("MCP-Protocol-Version", Some("2025-11-25")),
        ("Mcp-Method", None),
        ("Mcp-Method", Some("tools/list")),
        ("Mcp-Name", None),
        ("Mcp-Name", Some("write_file")),
        ("Mcp-Name", Some("=?base64?d3JpdGVfZmlsZQ==?=")),
        ("Mcp-Name", Some("READ_FILE")),
    ] {
        let reply = with(name, value);
        assert_eq!(reply.failure(), (400, -32020), "{name}: {value:?}");
        assert_eq!(reply.json()["id"], 1);
    }
    let twice = [borrowed(&headers), vec![("Mcp-Name", "read_file")]].concat();
    assert_eq!(server.post_with(&message, &twice).failure(), (400, -32020));

    let mut unknown = message.clone();
    unknown["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    let mut named = borrowed(&headers);
    named[0].1 = "2099-01-01";
    let reply = server.post_with(&unknown, &named);
    assert_eq!(reply.failure(), (400, -32022));
    assert_eq!(
        reply.json()["error"]["data"],
        json!({"supported": ["2026-07-28"], "requested": "2099-01-01"})
    );

    let bare = call(1, "read_file", &json!({"path": "hello.txt"}));
    assert_eq!(
        server.post_with(&bare, &borrowed(&headers)).failure(),
        (400, -32602)
    );
    assert_eq!(
        server
            .post_with(&bare, &[("MCP-Protocol-Version", "1999-01-01")])
            .failure(),
        (400, -32022)
    );
    let mut incapable = message.clone();
    incapable["params"]["_meta"]
        .as_object_mut()
        .unwrap()
        .remove("io.modelcontextprotocol/clientCapabilities");
    assert_eq!(
        server.post_with(&incapable, &borrowed(&headers)).failure(),
        (400, -32602)
    );

    let version = ("MCP-Protocol-Version", "2026-07-28");
    for method in ["GET", "DELETE"] {
        let reply = server.ask(
            method,
            "/mcp",
            &[version, ("Accept", "text/event-stream")],
            b"",
        );
        assert_eq!(
            (reply.status, reply.header("allow")),
            (405, Some("POST")),
            "{method}"
        );
    }
    let (mut note, headers) = stateless(&request(
        1,
        "notifications/cancelled",
        &json!({"requestId": 7}),
    ));
    note.as_object_mut().unwrap().remove("id");
    let accepted = server.post_with(&note, &borrowed(&headers));
    assert_eq!((accepted.status, accepted.body), (202, Vec::new()));
}

#[test]
fn session_is_opened_used_and_deleted() {
    let (_tree, server) = stage(&["--rate-limit", "0"]);
    for revision in schema::HANDSHAKE {
        let session = open_session(&server, revision);
        assert!(
            session.len() == 32 && session.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{session}"
        );
        let own = [("Mcp-Session-Id", session.as_str()), BOTH];
        let list = server
            .post_with(&request(2, "tools/list", &json!({})), &own)
            .json();
        schema::check_reply(revision, "tools/list", &list).unwrap();
        assert_eq!(
            list["result"]["tools"][0].get("outputSchema").is_some(),
            false,
            "{revision}"
        );
        let answer = json!({"jsonrpc": "2.0", "id": 9, "result": {}});
        assert_eq!(server.post_with(&answer, &own).status, 202);
        assert_eq!(server.ask("DELETE", "/mcp", &own[..1], b"").status, 204);
        let gone = server.post_with(&request(3, "tools/list", &json!({})), &own);
        assert_eq!(
            (gone.failure(), gone.json()["id"].clone()),
            ((404, -32600), json!(3))
        );
        for method in ["GET", "DELETE"] {
            assert_eq!(
                server.ask(method, "/mcp", &own, b"").failure(),
                (404, -32600),
                "{method}"
            );
        }
    }
    for method in ["GET", "DELETE"] {
        assert_eq!(
            server
                .ask(method, "/mcp", &[("Accept", "text/event-stream")], b"")
                .status,
            405,
            "{method}"
        );
    }
    let session = open_session(&server, "2025-11-25");
    let reply = server.ask(
        "GET",
        "/mcp",
        &[("Mcp-Session-Id", &session), ("Accept", "application/json")],
        b"",
    );
    assert_eq!(reply.status, 406);
}

#[test]
fn notifications_before_reply_are_sent_as_events() {
    let (_tree, server) = stage(&[]);
    let session = open_session(&server, "2025-11-25");
    let own = [("Mcp-Session-Id", session.as_str()), BOTH];
    let level = request(2, "logging/setLevel", &json!({"level": "debug"}));
    assert_eq!(server.post_with(&level, &own).json()["result"], json!({}));
    let ping = request(3, "ping", &json!({}));
    let reply = server.post_with(&ping, &own);
    assert_eq!(
        (reply.status, reply.header("content-type")),
        (200, Some("text/event-stream"))
    );
    let told = json!({"jsonrpc": "2.0", "method": "notifications/message",
        "params": {"level": "debug", "logger": "replay", "data": "ping 3: answered"}});
    assert_eq!(
        reply.events(),
        [told, json!({"jsonrpc": "2.0", "id": 3, "result": {}})]
    );
    let plain = server.post_with(&ping, &[own[0]]);
    assert_eq!(
        plain.json(),
        json!({"jsonrpc": "2.0", "id": 3, "result": {}})
    );
}

#[test]
fn newest_listener_replaces_older_one() {
    let (_tree, server) = stage(&[]);
    let session = open_session(&server, "2025-06-18");
    let own = [
        ("Mcp-Session-Id", session.as_str()),
        ("Accept", "text/event-stream"),
    ];
    let mut first = server.connect();
    first.send("GET", "/mcp", &own, b"");
    assert_eq!(
        first.head().header("content-type"),
        Some("text/event-stream")
    );
    let mut second = server.connect();
    second.send("GET", "/mcp", &own, b"");
    assert_eq!(second.head().status, 200);
    assert_eq!(first.event(), None);
    assert_eq!(server.ask("DELETE", "/mcp", &own[..1], b"").status, 204);
    assert_eq!(second.event(), None);
}

#[test]
fn batches_are_accepted_in_one_revision() {
    let (_tree, server) = stage(&[]);
    let batch = json!([
        request(1, "ping", &json!({})),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        {"jsonrpc": "2.0", "id": 2},
        request(3, "initialize", &json!({})),
    ]);
    let codes = |reply: &Response| -> Vec<Value> {
        reply
            .json()
            .as_array()
            .unwrap()
            .iter()
            .map(|reply| json!([reply["id"], reply["error"]["code"]]))
            .collect()
    };
    let expected = [json!([1, null]), json!([2, -32600]), json!([3, -32600])];
    let reply = server.post(&batch);
    assert_eq!((reply.status, codes(&reply)), (200, expected.to_vec()));
    let session = open_session(&server, "2025-03-26");
    assert_eq!(
        codes(&server.post_with(&batch, &[("Mcp-Session-Id", &session)])),
        expected
    );
    let notes = json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]);
    let silent = server.post(&notes);
    assert_eq!((silent.status, silent.body), (202, Vec::new()));
    assert_eq!(server.post(&json!([])).failure(), (400, -32600));
    assert_eq!(
        server
            .post_with(&batch, &[("MCP-Protocol-Version", "2025-06-18")])
            .failure(),
        (400, -32600)
    );
    let newer = open_session(&server, "2025-11-25");
    assert_eq!(
        server
            .post_with(&batch, &[("Mcp-Session-Id", &newer)])
            .failure(),
        (400, -32600)
    );
}

#[test]
fn malformed_message_is_refused() {
    let (_tree, server) = stage(&["--max-line-bytes", "1000"]);
    let json_type = ("Content-Type", "application/json");
    let post = |headers: &[(&str, &str)], body: &[u8]| server.ask("POST", "/mcp", headers, body);
    assert_eq!(post(&[json_type], b"{").failure(), (400, -32700));
    assert_eq!(post(&[json_type], b"").failure(), (400, -32700));
    assert_eq!(post(&[json_type], b"\xff").failure(), (400, -32700));
    assert_eq!(
        post(&[("Content-Type", "text/plain")], b"{}").failure(),
        (415, -32600)
    );
    assert_eq!(post(&[], b"{}").failure(), (415, -32600));
    assert_eq!(
        post(&[json_type, ("Accept", "text/html")], b"{}").failure(),
        (406, -32600)
    );
    let long = post(&[json_type], &[b' '; 1001]);
    assert_eq!(long.failure(), (413, -32600));
    let message = "the message is longer than 1000 bytes (--max-line-bytes); split it";
    assert_eq!(
        long.json(),
        json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": message}})
    );
    assert_eq!(
        server.ask("PUT", "/mcp", &[], b"").header("allow"),
        Some("GET, POST, DELETE")
    );
    assert_eq!(server.ask("GET", "/nothing", &[], b"").status, 404);
}

/// Returns a command that holds a FIFO open, and a receiver that reports its start and its end.
fn blocking_command(tree: &crate::tree::Tree) -> (Value, std::sync::mpsc::Receiver<()>) {
    tree.fifo("work/alive");
    let path = tree.path("work/alive");
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let mut alive = File::open(path).unwrap();
        tell.send(()).unwrap();
        let _ = alive.read_to_end(&mut Vec::new());
        let _ = tell.send(());
    });
    (
        json!({"command": "exec sleep 600 > alive", "cwd": tree.text("work"), "timeout": 60}),
        told,
    )
}

#[test]
fn stateless_call_ends_when_client_disconnects() {
    let (tree, server) = stage(&[]);
    let (arguments, told) = blocking_command(&tree);
    let (message, headers) = stateless(&call(1, "execute_command", &arguments));
    let mut client = server.connect();
    client.send_message(&message, &borrowed(&headers));
    told.recv_timeout(DEADLINE).expect("it begins");
    drop(client);
    told.recv_timeout(DEADLINE).expect("it ends");
}

#[test]
fn session_call_survives_disconnect_until_cancelled() {
    let (tree, server) = stage(&[]);
    let session = open_session(&server, "2025-11-25");
    let own = [("Mcp-Session-Id", session.as_str()), BOTH];
    tree.fifo("work/go").fifo("work/done");
    let mut client = server.connect();
    let command = json!({"command": "read line < go; echo $line > done", "cwd": tree.text("work")});
    client.send_message(&call(2, "execute_command", &command), &own);
    let mut go = File::options()
        .write(true)
        .open(tree.path("work/go"))
        .unwrap();
    drop(client);
    // This reply arrives after the server has noticed the disconnect.
    assert_eq!(
        server
            .post_with(&request(3, "ping", &json!({})), &own)
            .status,
        200
    );
    go.write_all(b"on\n").unwrap();
    drop(go);
    let (tell, told) = channel();
    let done = tree.path("work/done");
    std::thread::spawn(move || tell.send(std::fs::read_to_string(done).unwrap()));
    assert_eq!(told.recv_timeout(DEADLINE).unwrap(), "on\n");

    let (arguments, told) = blocking_command(&tree);
    let mut client = server.connect();
    client.send_message(&call(4, "execute_command", &arguments), &own);
    told.recv_timeout(DEADLINE).expect("it begins");
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 4}});
    assert_eq!(server.post_with(&cancel, &own).status, 202);
    told.recv_timeout(DEADLINE).expect("it ends");
    let silence = client.response();
    assert_eq!((silence.status, silence.body), (202, Vec::new()));
}
