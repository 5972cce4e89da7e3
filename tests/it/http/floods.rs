//! Denial-of-service attempts of clients.

use std::io::{Read as _, Write as _};

use pretty_assertions::assert_eq;
use serde_json::json;

use super::client::{Client, Server};
use super::tenants::{Pair, pair};
use super::{call, request, stage};

#[track_caller]
fn is_served(server: &Server) {
    let reply = server.post(&request(1, "ping", &json!({})));
    assert_eq!(reply.text(), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
}

#[test]
fn unfinished_heads_do_not_block_others() {
    let (_tree, server) = stage(&["--rate-limit", "0"]);
    let slow: Vec<Client> = (0..500)
        .map(|index| {
            let mut client = server.connect();
            let said: &[u8] = match index % 4 {
                0 => b"",
                1 => b"PRI * HT",
                2 => b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: ",
                _ => b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
            };
            client.stream.write_all(said).unwrap();
            client
        })
        .collect();
    is_served(&server);
    drop(slow);
    is_served(&server);
}

#[test]
fn oversized_head_is_refused() {
    let (_tree, server) = stage(&["--rate-limit", "0"]);
    let bombs = [
        format!(
            "GET /health HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n",
            "x".repeat(100_000)
        ),
        format!(
            "GET /health HTTP/1.1\r\nHost: localhost\r\n{}\r\n",
            "X: y\r\n".repeat(1000)
        ),
    ];
    for bomb in bombs {
        let mut client = server.connect();
        // The server may close the connection before the whole request is sent.
        let _ = client.stream.write_all(bomb.as_bytes());
        assert_eq!(client.head().status, 431);
    }
    is_served(&server);
}

#[test]
fn clients_without_reads_do_not_block_others() {
    // A timeout would disconnect these clients; here all responses are read in the end.
    let (tree, server) = stage(&[
        "--rate-limit",
        "0",
        "--client-timeout-secs",
        "600",
        "--memory-mib",
        "256",
        "--reply-tokens",
        "0",
    ]);
    tree.file("work/large.txt", "0123456789abcde\n".repeat(500_000));
    let read = call(1, "read_file", &json!({"path": "large.txt"}));
    let mut deaf: Vec<Client> = (0..40)
        .map(|_| {
            let mut client = server.connect().with_long_timeout();
            client.send_message(&read, &[]);
            client
        })
        .collect();
    is_served(&server);
    // Calls within the memory budget get complete replies; the others get an error.
    let mut whole = 0;
    for client in &mut deaf {
        let reply = client.response().json();
        match reply["result"]["content"][0]["text"].as_str() {
            Some(text) => {
                assert_eq!(text.len(), 8_000_000);
                whole += 1;
            }
            None => assert_eq!(reply["error"]["code"], -32603, "{reply}"),
        }
    }
    assert!(whole > 0);
    let memory = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let peak = memory
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").trim().parse().unwrap();
    // Memory budget of calls (256 MiB), retained memory of the allocator, and the server itself.
    assert!(peak < 700_000, "{peak} kB");
    is_served(&server);
}

#[test]
fn thousand_listeners_use_little_memory() {
    let (_tree, server) = stage(&["--rate-limit", "0"]);
    let initialize = request(1, "initialize", &json!({"protocolVersion": "2025-11-25"}));
    let mut listeners: Vec<Client> = (0..1000)
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
    is_served(&server);
    let health = server.ask("GET", "/health/detailed", &[], b"").json();
    assert_eq!(health["tenants"][0]["sessions"], 1000);
    // Fill the remaining session slots.
    for _ in 0..24 {
        assert_eq!(server.post(&initialize).status, 200);
    }
    let last = listeners.last_mut().unwrap();
    last.stream
        .set_read_timeout(Some(std::time::Duration::from_millis(1)))
        .unwrap();
    let mut byte = [0; 64];
    // The listener is still connected: only the initial comment is readable.
    loop {
        match last.stream.read(&mut byte) {
            Ok(count) => assert!(count > 0, "the server hung up"),
            Err(error) => break assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
        }
    }
}

#[test]
fn calls_above_queue_limit_are_refused() {
    let (tree, server) = stage(&["--rate-limit", "0", "--max-calls", "1"]);
    tree.fifo("work/go");
    let command =
        json!({"command": "read line < go; echo $line", "cwd": tree.text("work"), "timeout": 60});
    let mut waiting: Vec<Client> = Vec::new();
    for id in 0..257 {
        let mut client = server.connect();
        client.send_message(&call(id, "execute_command", &command), &[]);
        waiting.push(client);
    }
    // Polls until all slots are taken, which happens after the requests are parsed.
    let refused = loop {
        let health = server.ask("GET", "/health/detailed", &[], b"").json();
        if health["tenants"][0]["callsWaiting"] == 256 {
            break server.post(&call(900, "execute_command", &command));
        }
    };
    assert_eq!(
        (refused.status, refused.header("retry-after")),
        (503, Some("1"))
    );
    let message = "too many calls wait already (--max-calls); try again in 1 s";
    assert_eq!(
        refused.json()["error"],
        json!({"code": -32603, "message": message})
    );
    assert_eq!(server.ask("GET", "/health", &[], b"").status, 200);
}

#[test]
fn silent_connections_are_evicted_for_new_ones() {
    let (_tree, server) = stage(&["--rate-limit", "0", "--max-connections", "8"]);
    let ping = request(1, "ping", &json!({}));
    let mut known = server.connect();
    assert_eq!(known.post(&ping, &[]).status, 200);
    let mut silent: Vec<Client> = (0..50).map(|_| server.connect()).collect();
    is_served(&server);
    assert_eq!(server.ask("GET", "/health", &[], b"").status, 200);
    assert!(silent[0].is_hung_up());
    // A client with an earlier request keeps its connection.
    assert_eq!(known.post(&ping, &[]).status, 200);
}

#[test]
fn slow_client_survives_flood_from_other_address() {
    let (_tree, server) = stage(&["--rate-limit", "0", "--max-connections", "8"]);
    let mut slow = server.connect();
    let body = request(1, "ping", &json!({})).to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        server.address,
        body.len()
    );
    let (first, rest) = head.split_at(10);
    slow.stream.write_all(first.as_bytes()).unwrap();
    let mut flood: Vec<Client> = (0..60)
        .map(|_| server.connect_from([127, 0, 0, 2].into()))
        .collect();
    // The last seven connections occupy the free slots.
    assert!(flood[..53].iter_mut().all(Client::is_hung_up));
    slow.stream.write_all(rest.as_bytes()).unwrap();
    slow.stream.write_all(body.as_bytes()).unwrap();
    assert_eq!(
        slow.response().text(),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"
    );
}

#[test]
fn single_client_cannot_take_all_connections() {
    let Pair {
        server, alice, bob, ..
    } = pair(&["--rate-limit", "0", "--max-connections", "4"]);
    let ping = request(1, "ping", &json!({}));
    let mut held: Vec<Client> = (0..3).map(|_| server.connect()).collect();
    for client in &mut held {
        assert_eq!(client.post(&ping, &[("Authorization", &bob)]).status, 200);
    }
    let mut more = server.connect();
    let refused = more.post(&ping, &[("Authorization", &bob)]);
    assert_eq!(
        (refused.failure(), refused.header("connection")),
        ((503, -32603), Some("close"))
    );
    let message = "this client has reached its maximum of connections (--max-connections); reuse \
        one of them; try again in 1 s";
    assert_eq!(refused.json()["error"]["message"], message);
    assert!(more.is_hung_up());
    assert_eq!(
        server
            .connect()
            .post(&ping, &[("Authorization", &alice)])
            .status,
        200
    );
    assert_eq!(held[0].post(&ping, &[("Authorization", &bob)]).status, 200);
}

#[test]
fn activity_has_separate_rate_limit() {
    let (_tree, server) = stage(&["--rate-burst", "1"]);
    assert_eq!(server.post(&request(1, "ping", &json!({}))).status, 200);
    let mut client = server.connect();
    let mut look = |path: &str| client.ask("GET", path, &[], b"").status;
    // The limit refills during the loop.
    let refused = (0..2000)
        .map(|turn| look(["/metrics", "/activity?limit=1"][turn % 2]))
        .position(|status| status == 429);
    assert!(refused.is_some_and(|served| served >= 600), "{refused:?}");
    assert_eq!(server.ask("GET", "/health", &[], b"").status, 200);
}
