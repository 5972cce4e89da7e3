//! Clients that disconnect, or send more data, during a call. The call runs on its own thread, or
//! started on an I/O thread and turned out to be slow.

use std::fs::File;
use std::io::Write as _;
use std::net::Shutdown;
use std::time::Instant;

use bytes::Bytes;
use h2::client;
use http::Request;
use pretty_assertions::assert_eq;
use rustix::process::Pid;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use super::activity::follow;
use super::client::Server;
use super::websocket::{open_websocket, recv, send};
use super::{call, request, stage};
use crate::harness::{DEADLINE, ends_within};
use crate::tree::Tree;

/// Transport and position of a message.
#[derive(Clone, Copy, Debug)]
enum Delivery {
    First,
    Second,
    WebSocket,
}

const DELIVERIES: [Delivery; 3] = [Delivery::First, Delivery::Second, Delivery::WebSocket];

/// Sends a message, and disconnects when `is_time` returns.
fn leave(server: &Server, way: Delivery, message: &Value, is_time: impl FnOnce()) {
    match way {
        Delivery::First => {
            let mut client = server.connect();
            client.send_message(message, &[]);
            is_time();
        }
        Delivery::Second => {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(1)
                .enable_all()
                .build()
                .unwrap();
            let _connection = runtime.block_on(async {
                let stream = TcpStream::connect(server.address).await.unwrap();
                let (sender, connection) = client::handshake(stream).await.unwrap();
                let driven = tokio::spawn(connection);
                let mut sender = sender.ready().await.unwrap();
                let request = Request::post(format!("http://{}/mcp", server.address));
                let request = request
                    .header("content-type", "application/json")
                    .body(())
                    .unwrap();
                let (reply, mut body) = sender.send_request(request, false).unwrap();
                body.send_data(Bytes::from(message.to_string()), true)
                    .unwrap();
                (sender, reply, driven)
            });
            is_time();
        }
        Delivery::WebSocket => {
            let mut client = open_websocket(server);
            send(&mut client, 0x81, message.to_string().as_bytes());
            is_time();
        }
    }
}

/// Creates a sparse file of a terabyte. Returns a call that searches for its last line up to the
/// time limit of a page.
fn long(tree: &Tree) -> Value {
    File::create(tree.path("work/long.txt"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    call(
        1,
        "read_file",
        &json!({"path": "long.txt", "offset": -1, "limit": 1, "encoding": "utf-8"}),
    )
}

#[test]
fn command_ends_when_client_disconnects() {
    for way in DELIVERIES {
        let (tree, server) = stage(&[]);
        let line = "echo $$ > new; mv new pid; exec sleep 1000";
        let message = call(
            1,
            "execute_command",
            &json!({"command": line, "timeout": 600}),
        );
        leave(&server, way, &message, || {
            let until = Instant::now() + DEADLINE;
            while !tree.has("work/pid") {
                assert!(
                    Instant::now() < until,
                    "the command does not begin: {way:?}"
                );
                std::thread::yield_now();
            }
        });
        let pid = Pid::from_raw(tree.read("work/pid").trim().parse().unwrap()).unwrap();
        assert!(ends_within(pid, DEADLINE), "it runs on: {way:?}");
    }
}

#[test]
fn command_ends_on_disconnect_with_unread_bytes() {
    let second = call(
        2,
        "execute_command",
        &json!({"command": "echo ran > second"}),
    );
    let second = second.to_string();
    let second = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{second}",
        second.len()
    );
    for behind in ["\r\n", &*second] {
        let (tree, server) = stage(&[]);
        let line = "echo $$ > new; mv new pid; exec sleep 1000";
        let mut client = server.connect();
        client.send_message(
            &call(
                1,
                "execute_command",
                &json!({"command": line, "timeout": 600}),
            ),
            &[],
        );
        client.stream.write_all(behind.as_bytes()).unwrap();
        let until = Instant::now() + DEADLINE;
        while !tree.has("work/pid") {
            assert!(
                Instant::now() < until,
                "the command does not begin: {behind:?}"
            );
            std::thread::yield_now();
        }
        drop(client);
        let pid = Pid::from_raw(tree.read("work/pid").trim().parse().unwrap()).unwrap();
        assert!(ends_within(pid, DEADLINE), "it runs on: {behind:?}");
        // This reply proves that the server has noticed the disconnect.
        server.post(&request(3, "ping", &json!({})));
        assert!(!tree.has("work/second"), "the next one was begun");
    }
}

#[test]
fn half_closed_client_receives_quick_replies() {
    let (_tree, server) = stage(&[]);
    let mut client = server.connect();
    client.send_message(
        &call(1, "execute_command", &json!({"command": "echo done"})),
        &[],
    );
    client.stream.write_all(b"\r\n").unwrap();
    client.stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(
        client.response().json()["result"]["structuredContent"]["exitCode"],
        0
    );
}

#[test]
fn long_read_ends_when_client_disconnects() {
    for way in DELIVERIES {
        let (tree, server) = stage(&[]);
        let message = long(&tree);
        let mut events = follow(&server, "", None);
        leave(&server, way, &message, || {
            assert_eq!(events.named_event().2["state"], "running", "{way:?}");
        });
        let end = events.named_event().2;
        assert_eq!(
            [&end["state"], &end["outcome"]],
            ["done", "cancelled"],
            "{way:?}: {end}"
        );
    }
}

#[test]
fn websocket_is_read_during_long_read() {
    let (tree, server) = stage(&[]);
    let mut client = open_websocket(&server);
    send(&mut client, 0x81, long(&tree).to_string().as_bytes());
    send(&mut client, 0x89, b"are you there");
    assert_eq!(recv(&mut client), (0x8A, b"are you there".to_vec()));
    let second = call(2, "read_file", &json!({"path": "hello.txt"}));
    send(&mut client, 0x81, second.to_string().as_bytes());
    let reply: Value = serde_json::from_slice(&recv(&mut client).1).unwrap();
    assert_eq!(
        [&reply["id"], &reply["result"]["content"][0]["text"]],
        [&json!(2), &json!("hello\n")]
    );
    let cancel = json!({"requestId": 1});
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel});
    send(&mut client, 0x81, cancel.to_string().as_bytes());
    send(
        &mut client,
        0x81,
        request(3, "ping", &json!({})).to_string().as_bytes(),
    );
    assert_eq!(
        recv(&mut client),
        (0x81, br#"{"jsonrpc":"2.0","id":3,"result":{}}"#.to_vec())
    );
}
