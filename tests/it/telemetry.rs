//! Spans of requests as a collector gets them, over stdio and over HTTP, from a server that has
//! sandboxed itself.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, channel};
use std::thread::spawn;

use pretty_assertions::assert_eq;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, socket_with};
use serde_json::{Value, json};

use crate::harness::{DEADLINE, Server as Stdio};
use crate::http::client::{Server, command};
use crate::tree::Tree;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// Collector that accepts all spans and reports each request: its head and its body.
struct Collector {
    address: SocketAddr,
    told: Receiver<(String, Value)>,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (tell, told) = channel();
        spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                let request = read(&mut stream);
                stream
                    .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
                    .unwrap();
                if tell.send(request).is_err() {
                    return;
                }
            }
        });
        Self { address, told }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the next request.
    fn next(&self) -> (String, Value) {
        self.told
            .recv_timeout(DEADLINE)
            .expect("spans come in time")
    }
}

fn read(stream: &mut TcpStream) -> (String, Value) {
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let mut bytes = Vec::new();
    let mut piece = [0; 8 * 1024];
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .split("Content-Length: ")
                .nth(1)
                .unwrap()
                .split("\r\n")
                .next()
                .unwrap();
            if body.len() >= length.parse().unwrap() {
                return (head.to_owned(), serde_json::from_str(body).unwrap());
            }
        }
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0, "the request ends too early");
        bytes.extend_from_slice(&piece[..count]);
    }
}

/// Checks the form of values that differ from run to run, and replaces them with a word.
fn normalise(mut body: Value) -> Value {
    let hexadecimal = |value: &mut Value, length: usize| {
        let text = value.as_str().unwrap();
        assert!(
            text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{text}"
        );
        if text != TRACE {
            *value = json!("ID");
        }
    };
    let resource = body["resourceSpans"][0]["resource"]["attributes"]
        .as_array_mut()
        .unwrap();
    let instance = resource
        .iter_mut()
        .find(|attribute| attribute["key"] == "service.instance.id")
        .unwrap();
    instance["value"]["stringValue"] = json!("INSTANCE");
    for span in body["resourceSpans"][0]["scopeSpans"][0]["spans"]
        .as_array_mut()
        .unwrap()
    {
        hexadecimal(&mut span["traceId"], 32);
        hexadecimal(&mut span["spanId"], 16);
        let time = |name: &str| span[name].as_str().unwrap().parse::<u64>().unwrap();
        assert!(time("startTimeUnixNano") <= time("endTimeUnixNano"));
        for name in ["startTimeUnixNano", "endTimeUnixNano"] {
            span[name] = json!("TIME");
        }
        for attribute in span["attributes"].as_array_mut().unwrap() {
            if attribute["key"] == "mcp.session.id" {
                attribute["value"]["stringValue"] = json!("SESSION");
            }
        }
    }
    body
}

fn attributes(pairs: &[(&str, &str)]) -> Value {
    pairs
        .iter()
        .map(|(key, value)| json!({"key": key, "value": {"stringValue": value}}))
        .collect()
}

/// Returns a whole export request.
fn export(service: &str, spans: &Value) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    json!({"resourceSpans": [{
        "resource": {"attributes": attributes(&[
            ("service.name", service), ("service.version", version), ("service.instance.id", "INSTANCE")])},
        "scopeSpans": [{"scope": {"name": "replay", "version": version}, "spans": spans}],
    }]})
}

fn span(name: &str, pairs: &[(&str, &str)]) -> Value {
    json!({"traceId": "ID", "spanId": "ID", "flags": 0x101, "name": name, "kind": 2, "startTimeUnixNano": "TIME",
        "endTimeUnixNano": "TIME", "attributes": attributes(pairs), "status": {}})
}

/// Returns a span in the trace of a client.
fn within(mut span: Value, state: Option<&str>) -> Value {
    span["traceId"] = json!(TRACE);
    span["parentSpanId"] = json!(PARENT);
    span["flags"] = json!(0x301);
    if let Some(state) = state {
        span["traceState"] = json!(state);
    }
    span
}

fn failed(mut span: Value, message: &str) -> Value {
    span["status"] = json!({"code": 2, "message": message});
    span
}

fn tree() -> Tree {
    let tree = Tree::new();
    tree.file("work/hello.txt", "hello\n").dir("outside");
    tree
}

#[test]
fn stdio_session_is_exported_at_its_end() {
    let tree = tree();
    let collector = Collector::start();
    let allow = format!("{}:rw", tree.text("work"));
    let url = collector.url();
    let args = [
        "--allow",
        &allow,
        "--sandbox",
        "off",
        "--otlp-endpoint",
        &url,
    ];
    let line = [&[env!("CARGO_BIN_EXE_replay"), "--mcp-server"][..], &args].concat();
    let variables = [
        ("OTEL_SERVICE_NAME", "mine"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20secret"),
    ];
    let mut server = Stdio::start_program(&tree, &line, &variables).opened("2025-11-25");
    let meta = json!({"traceparent": format!("00-{TRACE}-{PARENT}-01"), "tracestate": "a=1"});
    let params = json!({"name": "read_file", "arguments": {"path": "hello.txt"}, "_meta": meta});
    assert_eq!(server.request("tools/call", params).text(), "hello\n");
    assert_eq!(server.request("no/such", json!({})).code(), -32601);
    // The trace of a client is continued even if the client does not sample it.
    let meta = json!({"traceparent": format!("00-{TRACE}-{PARENT}-00")});
    server.request("ping", json!({"_meta": meta}));
    server.close_stdin();
    assert!(server.wait_exit().success());
    let (head, body) = collector.next();
    assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
    assert!(
        head.contains("\r\nContent-Type: application/json\r\n")
            && head.ends_with("\r\napi-key: a secret"),
        "{head}"
    );
    let version = ("mcp.protocol.version", "2025-11-25");
    let client = [
        ("mcp.client.name", "it"),
        ("mcp.client.version", "0"),
        ("network.transport", "pipe"),
    ];
    let of = |method, id| {
        vec![
            ("mcp.method.name", method),
            version,
            ("jsonrpc.request.id", id),
        ]
    };
    let tool = [
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "read_file"),
    ];
    let code = [
        ("rpc.response.status_code", "-32601"),
        ("error.type", "-32601"),
    ];
    let message =
        body["resourceSpans"][0]["scopeSpans"][0]["spans"][2]["status"]["message"].clone();
    let spans = json!([
        span(
            "initialize",
            &[&of("initialize", "1")[..], &client[2..]].concat()
        ),
        within(
            span(
                "tools/call read_file",
                &[&of("tools/call", "2")[..], &tool, &client].concat()
            ),
            Some("a=1")
        ),
        failed(
            span(
                "unknown method",
                &[&of("no/such", "3")[..], &client, &code].concat()
            ),
            message.as_str().unwrap()
        ),
    ]);
    assert!(message.as_str().unwrap().contains("no/such"), "{message}");
    assert_eq!(normalise(body), export("mine", &spans));
}

#[test]
fn http_requests_are_exported_with_session() {
    let tree = tree();
    let collector = Collector::start();
    let allow = format!("{}:rw", tree.text("work"));
    let mut command = command(&tree, &["--allow", &allow, "--sandbox", "off"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url());
    let mut server = Server::spawn(command);
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "it", "version": "0"}});
    let opened =
        server.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}));
    let session = opened.header("mcp-session-id").unwrap();
    let read = |path: &str| {
        json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call",
            "params": {"name": "read_file", "arguments": {"path": path}}})
    };
    let parent = format!("00-{TRACE}-{PARENT}-01");
    let traced = [
        ("Mcp-Session-Id", session),
        ("traceparent", &parent),
        ("tracestate", "b=2"),
    ];
    assert_eq!(server.post_with(&read("hello.txt"), &traced).status, 200);
    let outside = tree.text("outside");
    let denied = server.post(&read(&outside)).json();
    let (mut message, mut headers) = crate::http::stateless(&read("hello.txt"));
    message["params"]["_meta"]["traceparent"] = json!(parent);
    headers.push((
        "traceparent".to_owned(),
        "00-11111111111111111111111111111111-2222222222222222-01".to_owned(),
    ));
    let headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    assert_eq!(server.post_with(&message, &headers).status, 200);
    assert!(
        server
            .ask("GET", "/metrics", &[], b"")
            .text()
            .contains("\nmcp_spans_dropped_total 0\n")
    );
    server.terminate();
    assert!(server.wait().success());
    let of = |method, revision, id| {
        vec![
            ("mcp.method.name", method),
            ("mcp.protocol.version", revision),
            ("jsonrpc.request.id", id),
        ]
    };
    let tool = [
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "read_file"),
    ];
    let way = [
        ("network.transport", "tcp"),
        ("network.protocol.name", "http"),
    ];
    let client = [("mcp.client.name", "it"), ("mcp.client.version", "0")];
    let code = [
        ("rpc.response.status_code", "-32001"),
        ("error.type", "-32001"),
    ];
    let name = "tools/call read_file";
    let call = |revision| of("tools/call", revision, "\"a\"");
    let spans = json!([
        span(
            "initialize",
            &[&of("initialize", "2025-11-25", "1")[..], &way].concat()
        ),
        within(
            span(
                name,
                &[
                    &call("2025-06-18")[..],
                    &tool,
                    &[("mcp.session.id", "SESSION")],
                    &client,
                    &way
                ]
                .concat()
            ),
            Some("b=2")
        ),
        failed(
            span(
                name,
                &[&call("2025-11-25")[..], &tool, &way, &code].concat()
            ),
            denied["error"]["message"].as_str().unwrap()
        ),
        within(
            span(
                name,
                &[&call("2026-07-28")[..], &tool, &client, &way].concat()
            ),
            None
        ),
    ]);
    assert_eq!(normalise(collector.next().1), export("replay", &spans));
}

#[test]
fn hanging_collector_delays_no_call() {
    let tree = tree();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let allow = format!("{}:rw", tree.text("work"));
    let args = [
        "--allow",
        &allow,
        "--sandbox",
        "off",
        "--otlp-endpoint",
        &url,
    ];
    let mut server = Stdio::start(&tree, &args).opened("2025-11-25");
    for _ in 0..600 {
        assert_eq!(
            server
                .call("read_file", json!({"path": "hello.txt"}))
                .text(),
            "hello\n"
        );
    }
    // The collector accepts the connection, and does not reply until the server has ended.
    let (_held, _) = listener.accept().unwrap();
    server.close_stdin();
    assert!(server.wait_exit().success());
}

/// Reserves a port that refuses connections: it is bound, but nothing listens there.
fn refusing_address() -> (OwnedFd, SocketAddr) {
    let socket = socket_with(
        AddressFamily::INET,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    bind(&socket, &"127.0.0.1:0".parse::<SocketAddr>().unwrap()).unwrap();
    let address = getsockname(&socket).unwrap().try_into().unwrap();
    (socket, address)
}

#[test]
fn collector_refusing_spans_is_warned_about_once() {
    let tree = tree();
    let (_held, address) = refusing_address();
    let url = format!("http://{address}");
    let allow = tree.text("work");
    let args = [
        "--allow",
        &allow,
        "--sandbox",
        "off",
        "--otlp-endpoint",
        &url,
    ];
    let mut server = Stdio::start(&tree, &args).opened("2025-11-25");
    server.request("ping", json!({}));
    server.close_stdin();
    assert!(server.wait_exit().success());
    let log = server.stderr();
    assert_eq!(
        log.matches("spans cannot be exported and are dropped")
            .count(),
        1,
        "{log}"
    );
}
