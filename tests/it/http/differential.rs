//! Differential test of stdio and HTTP: equal input bytes must get equal output bytes. One process
//! serves both, so that only the transports can differ.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use super::client::{self, Client, Server};
use super::{call, request};
use crate::harness::{DEADLINE, stateless_meta};
use crate::schema::HANDSHAKE;
use crate::tree::Tree;

/// Number of randomly mutated messages for each handshake revision.
const MUTATED: usize = 160;
/// Number of mutated messages for the stateless revision. Only messages with matching HTTP headers
/// are compared.
const MUTATED_STATELESS: usize = 800;

/// One server with a client on each transport.
struct DualTransport {
    server: Server,
    http: Client,
    input: ChildStdin,
    lines: Receiver<Vec<u8>>,
    asked: u32,
}

impl DualTransport {
    fn start(tree: &Tree) -> Self {
        let allow = format!("{}:ro", tree.text("work"));
        let flags = [
            "--allow",
            &allow,
            "--tools",
            "files",
            "--stdio",
            "--rate-limit",
            "0",
        ];
        let mut command = client::command(tree, &flags);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = Server::spawn(command);
        let input = server.child().stdin.take().unwrap();
        let output = BufReader::new(server.child().stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            output
                .split(b'\n')
                .map_while(Result::ok)
                .try_for_each(|line| sender.send(line))
        });
        let http = server.connect();
        Self {
            server,
            http,
            input,
            lines,
            asked: 0,
        }
    }

    fn line(&self) -> Vec<u8> {
        self.lines.recv_timeout(DEADLINE).expect("a line in time")
    }

    /// Returns the reply line to these bytes. A following `ping` proves the absence of a reply if
    /// none is expected.
    fn over_stdin(&mut self, body: &[u8], is_answered: bool) -> Vec<u8> {
        self.asked += 1;
        let last = request(0, "ping", &json!({}))
            .to_string()
            .replace("\"id\":0", &format!("\"id\":\"last {}\"", self.asked));
        self.input
            .write_all(&[body, b"\n", last.as_bytes(), b"\n"].concat())
            .unwrap();
        let last = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":\"last {}\",\"result\":{{}}}}",
            self.asked
        )
        .into_bytes();
        let first = self.line();
        if !is_answered {
            assert_eq!(
                String::from_utf8_lossy(&first),
                String::from_utf8_lossy(&last),
                "{}",
                escape_body(body)
            );
            return Vec::new();
        }
        // The reply to a slow call arrives after the `ping` reply.
        let second = self.line();
        if first == last {
            return second;
        }
        assert_eq!(
            String::from_utf8_lossy(&second),
            String::from_utf8_lossy(&last),
            "{}",
            escape_body(body)
        );
        first
    }

    fn over_http(&mut self, body: &[u8], headers: &[(&str, &str)]) -> Vec<u8> {
        let headers = [&[("Content-Type", "application/json")], headers].concat();
        self.http.send("POST", "/mcp", &headers, body);
        let reply = self.http.response();
        if reply.header("connection") == Some("close") {
            self.http = self.server.connect();
        }
        assert_eq!(
            reply.status == 202,
            reply.body.is_empty(),
            "{}: {reply:?}",
            escape_body(body)
        );
        reply.body
    }

    #[track_caller]
    fn compare(&mut self, body: &[u8], headers: &[(&str, &str)]) {
        let over_http = self.over_http(body, headers);
        let over_stdin = self.over_stdin(body, !over_http.is_empty());
        assert_eq!(
            String::from_utf8_lossy(&over_http),
            String::from_utf8_lossy(&over_stdin),
            "left over HTTP with {headers:?}, right over stdin: {}",
            escape_body(body)
        );
    }
}

fn escape_body(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    text.chars().take(300).collect()
}

/// Returns valid messages.
fn good() -> Vec<Value> {
    vec![
        request(1, "ping", &json!({})),
        request(2, "tools/list", &json!({})),
        request(3, "tools/list", &json!({"cursor": "x"})),
        request(4, "no/such", &json!({})),
        request(5, "server/discover", &json!({})),
        request(6, "resources/list", &json!({})),
        request(7, "logging/setLevel", &json!({"level": "emergency"})),
        request(8, "logging/setLevel", &json!({"level": "loud"})),
        request(9, "subscriptions/unknown", &json!({"a": [1, {"b": null}]})),
        call(10, "read_file", &json!({"path": "hello.txt"})),
        call(11, "read_file", &json!({"path": "missing.txt"})),
        call(12, "read_file", &json!({"path": "../outside/x"})),
        call(13, "read_file", &json!({"pth": "hello.txt"})),
        call(
            14,
            "read_file",
            &json!({"path": "hello.txt", "offset": 1, "limit": 1}),
        ),
        call(15, "no_such_tool", &json!({})),
        call(16, "list_allowed_directories", &json!({})),
        call(17, "list_directory", &json!({"path": "."})),
        call(18, "get_file_info", &json!({"path": "hello.txt"})),
        call(19, "glob_search", &json!({"pattern": "*.txt"})),
        call(
            20,
            "write_file",
            &json!({"path": "new.txt", "content": "x"}),
        ),
        // Served on the I/O thread like all quick calls, then moved to another thread.
        call(23, "read_file", &json!({"path": "large.txt"})),
        call(
            24,
            "read_file",
            &json!({"path": "large.txt", "offset": -2, "limit": 1}),
        ),
        call(
            25,
            "read_multiple_files",
            &json!({"paths": ["hello.txt", "large.txt"]}),
        ),
        json!({"jsonrpc": "2.0", "id": 21, "method": "tools/call"}),
        json!({"jsonrpc": "2.0", "id": 22, "method": "tools/call", "params": {"name": "read_file", "arguments": [1]}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}),
        json!({"jsonrpc": "2.0", "method": "no/such"}),
        json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
        json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "no"}}),
    ]
}

/// Returns a text longer than a shared I/O thread reads at once.
fn large() -> String {
    "a \"line\" of it\n".repeat(8000)
}

/// Returns a `read_file` call with this path.
fn read(path: &str) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"read_file\",\"arguments\":{{\"path\":{path}}}}}}}"
    )
}

/// Returns hand-written malformed texts.
fn hostile() -> Vec<Vec<u8>> {
    let ids = [
        "0",
        "-1",
        "-0",
        "1.0",
        "1.5",
        "1e3",
        "1e400",
        "9007199254740993",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551616",
        "-9223372036854775809",
        "123456789012345678901234567890",
        "\"\"",
        "\"a\"",
        "\"1\"",
        "\"\\u0000\"",
        "\"\\ud83d\\ude00\"",
        "\"\\ud800\"",
        "\"é😀\"",
        "null",
        "true",
        "[]",
        "[1]",
        "{}",
        "{\"id\":1}",
        "01",
        "+1",
        ".5",
        "NaN",
    ];
    let mut texts: Vec<String> = Vec::new();
    for id in ids {
        for rest in [
            "\"method\":\"ping\"",
            "\"method\":\"tools/call\",\"params\":{\"name\":\"read_file\",\"arguments\":{\"path\":\"hello.txt\"}}",
            "\"method\":\"no/such\"",
            "\"result\":{}",
        ] {
            texts.push(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{rest}}}"));
        }
    }
    for path in [
        "1",
        "null",
        "\"\\u0000\"",
        "\"\\ud800\"",
        "\"\\udc00\\ud800\"",
        "\"a\\nb\"",
        "\"\u{202e}txt\"",
        "\"é/ü\"",
        "[]",
        "{}",
        "1e999",
        "\"hello.txt\",\"path\":\"missing.txt\"",
        "\"hello.txt\",\"limit\":99999999999999999999",
        "\"hello.txt\",\"limit\":-1",
        "\"hello.txt\",\"limit\":1.5",
        "\"hello.txt\",\"limit\":\"1\"",
        "\"hello.txt\",\"\":1",
    ] {
        texts.push(read(path));
    }
    for depth in [10, 126, 127, 128, 129, 5000] {
        texts.push(format!("{}{}", "[".repeat(depth), "]".repeat(depth)));
        texts.push(read(&format!(
            "{}1{}",
            "[".repeat(depth),
            "]".repeat(depth)
        )));
        texts.push(read(&format!(
            "{}1{}",
            "{\"a\":".repeat(depth),
            "}".repeat(depth)
        )));
        let meta = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        texts.push(format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{{\"_meta\":{meta}}}}}"
        ));
    }
    texts
        .into_iter()
        .map(String::into_bytes)
        .chain(odd_messages())
        .collect()
}

/// Returns messages with an unusual structure.
fn odd_messages() -> Vec<Vec<u8>> {
    let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
    let note = "{\"jsonrpc\":\"2.0\",\"method\":\"no/such\"}";
    let texts = [
        "[]".to_owned(),
        "[1]".to_owned(),
        "[[]]".to_owned(),
        format!("[{ping}]"),
        format!("[{ping},{ping}]"),
        format!("[{note}]"),
        format!("[{note},{ping},1,null,[{ping}],{{}}]"),
        format!("[{}]", vec![ping; 50].join(",")),
        format!("[{}]", vec![ping; 5000].join(",")),
        format!("[{ping}"),
        format!("[{},{}]", read("\"hello.txt\""), read("\"missing.txt\"")),
        format!("[{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{{}}}},{ping}]"),
        format!("  {ping}\t"),
        format!("{ping}\r"),
        format!("{ping} x"),
        format!("{ping}{ping}"),
        format!("\u{feff}{ping}"),
        format!("\0{ping}"),
        "{".to_owned(),
        "}".to_owned(),
        "{}".to_owned(),
        "null".to_owned(),
        "true".to_owned(),
        "\"ping\"".to_owned(),
        "0".to_owned(),
        "-".to_owned(),
        "{\"id\":1}".to_owned(),
        "{\"jsonrpc\":\"2.0\",\"id\":5}".to_owned(),
        "{\"jsonrpc\":\"1.0\",\"id\":5,\"method\":\"ping\"}".to_owned(),
        "{\"jsonrpc\":2.0,\"id\":5,\"method\":\"ping\"}".to_owned(),
        "{\"id\":5,\"method\":\"ping\"}".to_owned(),
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"p\\u0069ng\"}".to_owned(),
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"\"}".to_owned(),
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":5}".to_owned(),
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":null}".to_owned(),
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"id\":6,\"method\":\"ping\"}".to_owned(),
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\",\"method\":\"no\"}".to_owned(),
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\",\"params\":[]}".to_owned(),
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\",\"params\":\"x\"}".to_owned(),
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\",\"params\":null}".to_owned(),
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\",\"result\":{}}".to_owned(),
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\",\"x\":\"".to_owned() + &"y".repeat(100_000) + "\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":\"".to_owned() + &"i".repeat(10_000) + "\",\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"".to_owned() + &"m".repeat(10_000) + "\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":null}}".to_owned(),
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\",\"params\":{\"_meta\":5}}".to_owned(),
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\",\"params\":{\"_meta\":{\"progressToken\":[]}}}".to_owned(),
    ];
    let mut texts: Vec<Vec<u8>> = texts.into_iter().map(String::into_bytes).collect();
    texts.extend([
        b"\xff".to_vec(),
        b"\xc3".to_vec(),
        [b"\"", &b"\xed\xa0\x80"[..], b"\""].concat(),
    ]);
    texts.push([&ping.as_bytes()[..20], b"\xfe", &ping.as_bytes()[20..]].concat());
    texts
}

/// Returns deterministic mutations of the messages, with parts removed, inserted or moved.
fn mutated(messages: &[Value], count: usize) -> Vec<Vec<u8>> {
    const PARTS: [&str; 18] = [
        "\"",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "null",
        "1e309",
        "-",
        "\\u",
        "\\",
        "\u{0}",
        "é",
        "\"id\":",
        "\"method\":",
        "[[[[",
        " ",
    ];
    let texts: Vec<String> = messages.iter().map(Value::to_string).collect();
    let spot = any::<prop::sample::Index>;
    let change = (
        0..4_u8,
        spot(),
        spot(),
        prop::sample::select(PARTS.to_vec()),
    );
    let mutated = (
        prop::sample::select(texts),
        prop::collection::vec(change, 1..4),
    )
        .prop_map(|(text, changes)| {
            let mut bytes = text.into_bytes();
            for (kind, first, second, part) in changes {
                let (from, to) = (first.index(bytes.len() + 1), second.index(bytes.len() + 1));
                let (from, to) = (from.min(to), from.max(to));
                match kind {
                    0 => drop(bytes.splice(from..from, part.bytes())),
                    1 => drop(bytes.drain(from..to.min(from + 9))),
                    2 => bytes.truncate(to),
                    _ => {
                        let piece = bytes[from..to.min(from + 20)].to_vec();
                        bytes.splice(from..from, piece);
                    }
                }
            }
            bytes
        });
    let mut runner = TestRunner::deterministic();
    let drawn = (0..count).map(|_| mutated.new_tree(&mut runner).unwrap().current());
    // A blank line is ignored on stdin but is an invalid HTTP body.
    drawn
        .filter(|bytes| !bytes.trim_ascii().is_empty())
        .collect()
}

#[test]
fn stdio_and_http_agree_in_handshake_revisions() {
    let tree = Tree::new();
    tree.file("work/hello.txt", "hello\n")
        .file("work/large.txt", large())
        .dir("outside");
    let bodies: Vec<Vec<u8>> = good()
        .iter()
        .map(|message| message.to_string().into_bytes())
        .chain(hostile())
        .chain(mutated(&good(), MUTATED))
        .collect();
    assert!(bodies.len() > 300, "{}", bodies.len());
    for revision in HANDSHAKE {
        let mut both = DualTransport::start(&tree);
        let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "it", "version": "0"}});
        let initialize = request(1, "initialize", &params);
        let reply = both.server.post(&initialize);
        assert_eq!(
            String::from_utf8(both.over_stdin(initialize.to_string().as_bytes(), true)).unwrap(),
            reply.text()
        );
        let session = ("Mcp-Session-Id", reply.header("mcp-session-id").unwrap());
        for (index, body) in bodies.iter().enumerate() {
            // With and without a session.
            let version = ("MCP-Protocol-Version", revision);
            let headers: &[(&str, &str)] = if index % 2 == 0 {
                &[version]
            } else {
                &[session, version]
            };
            both.compare(body, headers);
        }
    }
}

#[test]
fn stdio_and_http_agree_in_stateless_revision() {
    let tree = Tree::new();
    tree.file("work/hello.txt", "hello\n")
        .file("work/large.txt", large())
        .dir("outside");
    let mut messages = good();
    messages.retain(|message| message["method"].is_string());
    for message in &mut messages {
        message["params"]["_meta"] = stateless_meta();
    }
    for version in ["2025-11-25", "2024-11-05", "2099-01-01", "", "x"] {
        let mut message = request(1, "tools/list", &json!({}));
        message["params"]["_meta"] = stateless_meta();
        message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(version);
        messages.push(message);
    }
    for capabilities in [json!(null), json!(1), json!({"roots": {}})] {
        let mut message = call(1, "read_file", &json!({"path": "hello.txt"}));
        message["params"]["_meta"] = stateless_meta();
        message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
        messages.push(message);
    }
    let texts = messages
        .iter()
        .map(|message| message.to_string().into_bytes());
    let mut both = DualTransport::start(&tree);
    let mut compared = 0;
    for body in texts.chain(mutated(&messages, MUTATED_STATELESS)) {
        // If the headers cannot match the message, HTTP returns a different error.
        let Some(headers) = mirrored(&body) else {
            continue;
        };
        let headers: Vec<(&str, &str)> = headers
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        both.compare(&body, &headers);
        compared += 1;
    }
    assert!(compared > 100, "{compared}");
}

/// Returns the HTTP headers that match a stateless message, or `None` if there are none.
fn mirrored(body: &[u8]) -> Option<Vec<(&'static str, String)>> {
    let message: Value = serde_json::from_slice(body).ok()?;
    let version = message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str()?;
    let method = message["method"].as_str()?;
    let is_plain = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_graphic() || byte == b' ')
            && text.trim() == text
    };
    if !is_plain(version) || !is_plain(method) {
        return None;
    }
    let mut headers = vec![
        ("MCP-Protocol-Version", version.to_owned()),
        ("Mcp-Method", method.to_owned()),
    ];
    if let Some(name) = message["params"]["name"]
        .as_str()
        .filter(|_| method == "tools/call")
    {
        let name = if is_plain(name) {
            name.to_owned()
        } else {
            format!("=?base64?{}?=", STANDARD.encode(name))
        };
        headers.push(("Mcp-Name", name));
    }
    Some(headers)
}
