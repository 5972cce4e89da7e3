//! MCP over a WebSocket.

use std::io::Write as _;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::client::{Client, Server};
use super::{call, request, stage};

const KEY: (&str, &str) = ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
const SWITCH: [(&str, &str); 3] = [
    ("Connection", "keep-alive, Upgrade"),
    ("Upgrade", "websocket"),
    ("Sec-WebSocket-Version", "13"),
];

/// Opens a connection and upgrades it.
pub fn open_websocket(server: &Server) -> Client {
    let mut client = server.connect();
    client.send("GET", "/mcp/ws", &[&SWITCH[..], &[KEY]].concat(), b"");
    let head = client.head();
    assert_eq!(
        (head.status, head.header("sec-websocket-accept")),
        (101, Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="))
    );
    client
}

/// Sends a masked frame.
pub fn send(client: &mut Client, first: u8, payload: &[u8]) {
    let mut frame = vec![first];
    match payload.len() {
        length @ 0..=125 => frame.push(0x80 | length as u8),
        length @ 126..=0xFFFF => {
            frame.push(0x80 | 0x7E);
            frame.extend((length as u16).to_be_bytes());
        }
        length => {
            frame.push(0x80 | 0x7F);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    let mask = [1, 2, 3, 4];
    frame.extend(mask);
    frame.extend(
        payload
            .iter()
            .zip(mask.iter().cycle())
            .map(|(byte, mask)| byte ^ mask),
    );
    client.stream.write_all(&frame).unwrap();
}

/// Returns the first byte and the payload of the next frame.
pub fn recv(client: &mut Client) -> (u8, Vec<u8>) {
    let head = client.take(2);
    let length = match head[1] {
        126 => usize::from(u16::from_be_bytes(client.take(2).try_into().unwrap())),
        127 => u64::from_be_bytes(client.take(8).try_into().unwrap()) as usize,
        length => usize::from(length),
    };
    (head[0], client.take(length))
}

#[test]
fn websockets_per_client_are_limited() {
    let (_tree, server) = stage(&["--rate-limit", "0"]);
    let mut held: Vec<Client> = (0..256).map(|_| open_websocket(&server)).collect();
    let refused = server.ask("GET", "/mcp/ws", &[&SWITCH[..], &[KEY]].concat(), b"");
    let message = "this client has 256 WebSockets, the maximum; reuse one of them; try again in 1 \
        s";
    assert_eq!(
        (refused.failure(), &refused.json()["error"]["message"]),
        ((503, -32603), &json!(message))
    );
    let ping = request(1, "ping", &json!({}));
    assert_eq!(
        exchange(&mut held[255], &ping),
        json!({"jsonrpc": "2.0", "id": 1, "result": {}})
    );
}

#[test]
fn invalid_websocket_key_is_refused() {
    let (_tree, server) = stage(&[]);
    let why = "`Sec-WebSocket-Key` must be given once, as 16 bytes in base64";
    for key in [
        "",
        "x",
        "dGhlIHNhbXBsZSBub25jZQ",
        "dGhlIHNhbXBsZSBub25j",
        "dGhlIHNhbXBsZSBub25jZQ==!",
    ] {
        let refused = server.ask(
            "GET",
            "/mcp/ws",
            &[&SWITCH[..], &[(KEY.0, key)]].concat(),
            b"",
        );
        let message = refused.json()["error"]["message"].clone();
        assert_eq!(
            (refused.failure(), message),
            ((400, -32600), json!(why)),
            "{key}"
        );
    }
    let refused = server.ask("GET", "/mcp/ws", &SWITCH, b"");
    assert_eq!(refused.failure(), (400, -32600));
    let other = [SWITCH[0], SWITCH[1], ("Sec-WebSocket-Version", "8"), KEY];
    assert_eq!(
        server.ask("GET", "/mcp/ws", &other, b"").failure(),
        (426, -32600)
    );
}

fn exchange(client: &mut Client, message: &Value) -> Value {
    send(client, 0x81, message.to_string().as_bytes());
    let (first, payload) = recv(client);
    assert_eq!(first, 0x81);
    serde_json::from_slice(&payload).unwrap()
}

#[test]
fn websocket_connection_is_session() {
    let (_tree, server) = stage(&[]);
    let mut client = open_websocket(&server);
    let opening = exchange(
        &mut client,
        &request(1, "initialize", &json!({"protocolVersion": "2024-11-05"})),
    );
    assert_eq!(opening["result"]["protocolVersion"], "2024-11-05");
    send(
        &mut client,
        0x81,
        br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    );
    let read = call(2, "read_file", &json!({"path": "hello.txt"}));
    let reply = json!({"jsonrpc": "2.0", "id": 2, "result": {"content": [{"type": "text", "text": "hello\n"}]}});
    let mut got = exchange(&mut client, &read);
    got["result"].as_object_mut().unwrap().remove("_meta");
    assert_eq!(got, reply);
    let long = call(
        3,
        "write_file",
        &json!({"path": "long.txt", "content": "x".repeat(200_000)}),
    );
    assert_eq!(exchange(&mut client, &long)["id"], 3);
    let back = exchange(
        &mut client,
        &call(
            4,
            "read_file",
            &json!({"path": "long.txt", "maxTokens": 100_000}),
        ),
    );
    assert_eq!(
        back["result"]["content"][0]["text"].as_str().unwrap().len(),
        200_000
    );
    assert_eq!(
        exchange(&mut client, &json!([request(5, "ping", &json!({}))]))["error"]["code"],
        -32600
    );
    send(&mut client, 0x81, b"{");
    assert_eq!(
        serde_json::from_slice::<Value>(&recv(&mut client).1).unwrap()["error"]["code"],
        -32700
    );

    let mut other = open_websocket(&server);
    assert!(
        exchange(&mut other, &read)["result"]
            .get("structuredContent")
            .is_some()
            || !reply["result"].is_null()
    );
    exchange(
        &mut other,
        &request(6, "initialize", &json!({"protocolVersion": "2025-03-26"})),
    );
    let batch = exchange(
        &mut other,
        &json!([
            request(7, "ping", &json!({})),
            request(8, "ping", &json!({}))
        ]),
    );
    let pong = |id: u64| json!({"jsonrpc": "2.0", "id": id, "result": {}});
    assert_eq!(batch, json!([pong(7), pong(8)]));
}

#[test]
fn fragments_are_joined_around_pings() {
    let (_tree, server) = stage(&[]);
    let mut client = open_websocket(&server);
    let text = request(1, "ping", &json!({})).to_string();
    let (one, rest) = text.as_bytes().split_at(7);
    let (two, three) = rest.split_at(9);
    send(&mut client, 0x01, one);
    send(&mut client, 0x89, b"are you there");
    assert_eq!(recv(&mut client), (0x8A, b"are you there".to_vec()));
    send(&mut client, 0x00, two);
    send(&mut client, 0x8A, b"");
    send(&mut client, 0x80, three);
    assert_eq!(
        recv(&mut client),
        (0x81, br#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_vec())
    );
    send(&mut client, 0x88, &1000_u16.to_be_bytes());
    assert_eq!(recv(&mut client), (0x88, 1000_u16.to_be_bytes().to_vec()));
    assert!(client.is_hung_up());
}

#[test]
fn protocol_error_closes_with_code() {
    let (_tree, server) = stage(&["--max-line-bytes", "1000"]);
    for (frames, number) in [
        (vec![(0x82, &b"bytes"[..])], 1003),
        (vec![(0x80, b"continued what")], 1002),
        (
            vec![(0x01, b"a part"), (0x81, b"and another beginning")],
            1002,
        ),
        (vec![(0x83, b"")], 1002),
        (vec![(0xC1, b"")], 1002),
        (vec![(0x09, b"")], 1002),
        (vec![(0x81, b"\xff")], 1007),
        (vec![(0x81, &[b' '; 1001])], 1009),
        (vec![(0x01, &[b' '; 600]), (0x80, &[b' '; 600])], 1009),
    ] {
        let mut client = open_websocket(&server);
        for (first, payload) in &frames {
            send(&mut client, *first, payload);
        }
        assert_eq!(
            recv(&mut client),
            (0x88, u16::to_be_bytes(number).to_vec()),
            "{frames:?}"
        );
        assert!(client.is_hung_up());
    }
    let mut client = open_websocket(&server);
    client.stream.write_all(&[0x81, 1, b'x']).unwrap();
    assert_eq!(recv(&mut client), (0x88, 1002_u16.to_be_bytes().to_vec()));
}

#[test]
fn plain_request_gets_upgrade_required() {
    let (_tree, server) = stage(&[]);
    let asked = |headers: &[(&str, &str)]| server.ask("GET", "/mcp/ws", headers, b"");
    assert_eq!(asked(&[]).status, 426);
    assert_eq!(asked(&[KEY, SWITCH[2]]).status, 426);
    let old = asked(&[SWITCH[0], SWITCH[1], ("Sec-WebSocket-Version", "8"), KEY]);
    assert_eq!(
        (old.status, old.header("sec-websocket-version")),
        (426, Some("13"))
    );
    let evil = asked(&[&SWITCH[..], &[KEY, ("Origin", "http://evil.example")]].concat());
    assert_eq!(evil.status, 403);
}

#[test]
fn shutdown_sends_close_frame() {
    let (_tree, mut server) = stage(&[]);
    let mut client = open_websocket(&server);
    assert_eq!(
        exchange(&mut client, &request(1, "ping", &json!({})))["id"],
        1
    );
    server.terminate();
    assert_eq!(recv(&mut client), (0x88, 1001_u16.to_be_bytes().to_vec()));
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn rate_limit_counts_every_message() {
    let (_tree, server) = stage(&["--rate-limit", "1", "--rate-burst", "3"]);
    let mut client = open_websocket(&server);
    let note = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    send(&mut client, 0x81, note);
    send(
        &mut client,
        0x81,
        br#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
    );
    send(&mut client, 0x81, b"{");
    let mut said = || serde_json::from_slice::<Value>(&recv(&mut client).1).unwrap();
    assert_eq!(said()["error"]["code"], -32700);
    let mut refused = |message: &[u8]| {
        send(&mut client, 0x81, message);
        let said: Value = serde_json::from_slice(&recv(&mut client).1).unwrap();
        let text = said["error"]["message"]
            .as_str()
            .unwrap()
            .split(';')
            .next()
            .unwrap()
            .to_owned();
        (said["id"].clone(), text)
    };
    let text = || "too many messages in a minute (--rate-limit)".to_owned();
    let ping = request(7, "ping", &json!({})).to_string();
    for (message, id) in [
        (&note[..], Value::Null),
        (b"{", Value::Null),
        (ping.as_bytes(), json!(7)),
    ] {
        assert_eq!(refused(message), (id, text()));
    }
}
