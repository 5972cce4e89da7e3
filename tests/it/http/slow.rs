//! Slow clients, and very many of them.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Instant;

use pretty_assertions::assert_eq;
use rustix::net::sockopt::set_socket_recv_buffer_size;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

use super::client::{Client, Server};
use super::tenants::{Pair, pair};
use super::{call, request, stage};
use crate::harness::DEADLINE;

/// Flags for a client timeout of one second.
const IMPATIENT: [&str; 4] = ["--rate-limit", "0", "--client-timeout-secs", "1"];

#[track_caller]
fn is_served(server: &Server) {
    let reply = server.post(&request(1, "ping", &json!({})));
    assert_eq!(reply.text(), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
}

/// Returns the resident memory of the server in kB.
fn resident(server: &Server) -> u64 {
    let memory = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = memory
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").trim().parse().unwrap()
}

/// Returns the number of connections that the server has not closed. In `/proc/net/tcp`, state 1 is
/// `ESTABLISHED` and 8 is `CLOSE_WAIT`.
fn connections(server: &Server) -> usize {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let port = format!(":{:04X}", server.address.port());
    let is_open = |line: &&str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields[1].ends_with(&port) && matches!(fields[3], "01" | "08")
    };
    table.lines().skip(1).filter(is_open).count()
}

fn connect_and_send(server: &Server, said: &[u8]) -> Client {
    let mut client = server.connect();
    client.stream.write_all(said).unwrap();
    client
}

#[test]
fn client_without_reads_is_disconnected() {
    let (tree, server) = stage(&IMPATIENT);
    // Larger than all buffers between server and client.
    tree.file("work/large.txt", "0123456789abcde\n".repeat(600_000));
    let read = call(
        1,
        "read_file",
        &json!({"path": "large.txt", "limit": 600_000}),
    );
    let mut deaf: Vec<Client> = (0..3)
        .map(|_| {
            let mut client = server.connect().with_long_timeout();
            set_socket_recv_buffer_size(&client.stream, 64 * 1024).unwrap();
            client.send_message(&read, &[]);
            client
        })
        .collect();
    for client in &mut deaf {
        // The reply has started; the client reads no more of it.
        let length: u64 = client
            .head()
            .header("content-length")
            .unwrap()
            .parse()
            .unwrap();
        assert!(length > 9_600_000, "{length}");
    }
    let until = Instant::now() + 3 * DEADLINE;
    while connections(&server) > 0 {
        is_served(&server);
        assert!(Instant::now() < until, "they are still there");
    }
    for client in &mut deaf {
        let mut taken = 0;
        let mut piece = vec![0; 1 << 20];
        while let Ok(count @ 1..) = client.stream.read(&mut piece) {
            taken += count;
        }
        assert!(taken < 9_600_000, "the whole reply was sent");
    }
    is_served(&server);
}

#[test]
fn client_with_unfinished_request_is_disconnected() {
    let (_tree, server) = stage(&IMPATIENT);
    let post = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let heads = [
        String::new(),
        "PRI * HT".to_owned(),
        post.to_owned(),
        format!("{post}X: "),
    ];
    let mut slow: Vec<Client> = heads
        .iter()
        .map(|head| connect_and_send(&server, head.as_bytes()))
        .collect();
    let bodies = [
        format!("{post}Content-Length: 9\r\n\r\n{{"),
        format!("{post}Transfer-Encoding: chunked\r\n\r\n1\r\n{{\r\n"),
    ];
    let mut late: Vec<Client> = bodies
        .iter()
        .map(|body| connect_and_send(&server, body.as_bytes()))
        .collect();
    let mut idle = server.connect();
    assert_eq!(idle.ask("GET", "/health", &[], b"").status, 200);
    is_served(&server);
    for client in &mut late {
        let reply = client.response();
        let message = "no more of the body arrived for 1 s (--client-timeout-secs)";
        assert_eq!(
            (reply.status, &reply.json()["error"]["message"]),
            (408, &json!(message))
        );
        assert!(client.is_hung_up());
    }
    for client in slow.iter_mut().chain([&mut idle]) {
        assert!(client.is_hung_up());
    }
    is_served(&server);
}

#[test]
fn ten_thousand_connections_do_not_block_others() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            ..limit
        },
    )
    .unwrap();
    // Other tests in this process need file descriptors too.
    let most = limit
        .maximum
        .map_or(10_000, |maximum| (maximum / 2).min(10_000)) as usize;
    let asked = (most + 100).to_string();
    let (_tree, server) = stage(&["--rate-limit", "0", "--max-connections", &asked]);
    let before = resident(&server);
    let clients: Vec<TcpStream> = (0..most)
        .map(|_| TcpStream::connect(server.address).unwrap())
        .collect();
    is_served(&server);
    let each = (resident(&server).saturating_sub(before)) * 1024 / most as u64;
    assert!(
        each < 16 * 1024,
        "{each} bytes for each of {most} idle connections"
    );
    drop(clients);
    is_served(&server);
}

#[test]
fn connection_above_limit_waits() {
    let Pair {
        server, alice, bob, ..
    } = pair(&["--rate-limit", "0", "--max-connections", "2"]);
    let ping = request(1, "ping", &json!({}));
    let mut first = server.connect();
    assert_eq!(first.post(&ping, &[("Authorization", &alice)]).status, 200);
    let mut second = server.connect();
    assert_eq!(second.post(&ping, &[("Authorization", &bob)]).status, 200);
    let mut third = server.connect();
    third.send("GET", "/health", &[], b"");
    third.stream.set_nonblocking(true).unwrap();
    // Sent after the pending connection, and answered before it.
    assert_eq!(first.post(&ping, &[("Authorization", &alice)]).status, 200);
    assert_eq!(
        third.stream.read(&mut [0; 1]).unwrap_err().kind(),
        ErrorKind::WouldBlock
    );
    third.stream.set_nonblocking(false).unwrap();
    drop(first);
    assert_eq!(third.response().status, 200);
}

#[test]
fn thousand_silent_listeners_use_little_memory() {
    let (_tree, server) = stage(&["--rate-limit", "0"]);
    let initialize = request(1, "initialize", &json!({"protocolVersion": "2025-11-25"}));
    is_served(&server);
    let before = resident(&server);
    let listeners: Vec<Client> = (0..1000)
        .map(|_| {
            let mut client = server.connect();
            let session = client
                .post(&initialize, &[])
                .header("mcp-session-id")
                .unwrap()
                .to_owned();
            client.send(
                "GET",
                "/mcp",
                &[
                    ("Mcp-Session-Id", &session),
                    ("Accept", "text/event-stream"),
                ],
                b"",
            );
            assert_eq!(client.head().status, 200);
            client
        })
        .collect();
    let each = (resident(&server).saturating_sub(before)) * 1024 / 1000;
    assert!(
        each < 64 * 1024,
        "{each} bytes for each of 1000 silent listeners"
    );
    drop(listeners);
    is_served(&server);
}

#[test]
fn gigabyte_body_is_refused_without_buffering() {
    let (_tree, server) = stage(&["--rate-limit", "0"]);
    is_served(&server);
    let before = resident(&server);
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let mut claimed: Vec<Client> = (0..50)
        .map(|_| {
            connect_and_send(
                &server,
                format!("{head}Content-Length: 1073741824\r\n\r\n").as_bytes(),
            )
        })
        .collect();
    for client in &mut claimed {
        assert_eq!(client.head().status, 413);
    }
    let mut endless = connect_and_send(
        &server,
        format!("{head}Transfer-Encoding: chunked\r\n\r\n").as_bytes(),
    );
    let chunk = [
        b"100000\r\n".to_vec(),
        vec![b' '; 0x10_0000],
        b"\r\n".to_vec(),
    ]
    .concat();
    let sent = (0..1024)
        .take_while(|_| endless.stream.write_all(&chunk).is_ok())
        .count();
    // The limit is 64 MiB, the server discards 128 MiB more, and some bytes are in transit.
    assert!(sent < 224, "{sent} MiB were taken");
    is_served(&server);
    let after = resident(&server);
    assert!(
        after < before + 150_000,
        "{before} kB before, {after} kB after"
    );
}
