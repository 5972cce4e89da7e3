//! Early error responses: each arrives, although the client is still sending the request.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::time::Instant;

use bytes::Bytes;
use h2::{Reason, client};
use http::Request;
use pretty_assertions::assert_eq;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::client::{Server, command};
use crate::harness::DEADLINE;
use crate::tree::Tree;

/// Posts a body in two pieces without a token; the second piece may be missing. Returns the status,
/// the body and the reason if the server reset the stream.
async fn post_in_pieces(
    server: &Server,
    pieces: [Option<usize>; 2],
) -> (u16, Vec<u8>, Option<Reason>) {
    let stream = TcpStream::connect(server.address).await.unwrap();
    let (sender, connection) = client::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    let mut sender = sender.ready().await.unwrap();
    let request = Request::post(format!("http://{}/mcp", server.address));
    let request = request
        .header("content-type", "application/json")
        .body(())
        .unwrap();
    let (answer, mut body) = sender.send_request(request, false).unwrap();
    let is_whole = pieces[1].is_some();
    for (index, length) in pieces.into_iter().flatten().enumerate() {
        body.send_data(Bytes::from(vec![b' '; length]), is_whole && index == 1)
            .unwrap();
    }
    let (head, mut reply) = answer.await.unwrap().into_parts();
    let mut bytes = Vec::new();
    while let Some(piece) = reply.data().await {
        let piece = piece.expect("nothing breaks it off");
        reply.flow_control().release_capacity(piece.len()).unwrap();
        bytes.extend(piece);
    }
    let reset = if is_whole {
        None
    } else {
        Some(
            std::future::poll_fn(|cx| body.poll_reset(cx))
                .await
                .unwrap(),
        )
    };
    (head.status.as_u16(), bytes, reset)
}

#[tokio::test]
async fn early_refusal_arrives_before_body_is_sent() {
    let tree = Tree::new();
    tree.dir("work");
    let mut command = command(&tree, &["--allow", &tree.text("work"), "--tools", "files"]);
    command.env("REPLAY_TOKEN", "correct-horse-battery");
    let server = Server::spawn(command);
    let text = "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"a token \
        is needed: send `Authorization: Bearer TOKEN`\"}}";
    let expected = |reset| (401, text.as_bytes().to_vec(), reset);
    let ask = |pieces| timeout(DEADLINE, post_in_pieces(&server, pieces));
    assert_eq!(ask([Some(1000), Some(9000)]).await.unwrap(), expected(None));
    // The second piece is never sent.
    assert_eq!(
        ask([Some(1000), None]).await.unwrap(),
        expected(Some(Reason::NO_ERROR))
    );
    assert_eq!(
        ask([None, None]).await.unwrap(),
        expected(Some(Reason::NO_ERROR))
    );
}

/// Chunk of a body.
static PIECE: [u8; 64 * 1024] = [b' '; 64 * 1024];
/// A valid token, and an invalid one.
const TOKENS: [&str; 2] = ["correct-horse-battery", "incorrect-horse"];

/// Posts a body of this length over HTTP/1.1, and reads the response only after sending all of it.
/// Returns the status of a complete response on a properly closed connection, or else the error.
fn post_whole_body(server: &Server, length: usize, headers: &str) -> Result<u16, String> {
    let mut stream = server.connect().stream;
    let host = server.address;
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n{headers}"
    );
    let wrong = |error: std::io::Error| format!("{:?}", error.kind());
    stream
        .write_all(format!("{head}Content-Length: {length}\r\n\r\n").as_bytes())
        .map_err(wrong)?;
    let mut left = length;
    while left > 0 {
        let count = left.min(PIECE.len());
        stream.write_all(&PIECE[..count]).map_err(wrong)?;
        left -= count;
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(wrong)?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or("no head")?;
    let head = head.to_ascii_lowercase();
    let is_whole = head.contains(&format!("\r\ncontent-length: {}", body.len()));
    if !is_whole || !head.contains("\r\nconnection: close") {
        return Err(answer);
    }
    Ok(head["http/1.1 ".len()..][..3].parse().unwrap())
}

/// Posts a body over HTTP/2, and fails if the stream is reset during the upload.
async fn post_whole_body_http2(
    server: &Server,
    length: usize,
    headers: &[(&'static str, &str)],
) -> Result<u16, String> {
    let stream = TcpStream::connect(server.address).await.unwrap();
    let (sender, connection) = client::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    let mut sender = sender.ready().await.unwrap();
    let request = Request::post(format!("http://{}/mcp", server.address))
        .header("content-type", "application/json");
    let request = headers.iter().fold(request, |request, (name, value)| {
        request.header(*name, *value)
    });
    let (answer, mut body) = sender
        .send_request(request.body(()).unwrap(), false)
        .unwrap();
    let mut left = length;
    while left > 0 {
        body.reserve_capacity(left.min(PIECE.len()));
        let room = std::future::poll_fn(|cx| body.poll_capacity(cx))
            .await
            .ok_or("broken off")?;
        let count = room.map_err(|error| error.to_string())?.min(left);
        left -= count;
        body.send_data(Bytes::from_static(&PIECE[..count]), left == 0)
            .map_err(|error| error.to_string())?;
    }
    let (head, mut reply) = answer
        .await
        .map_err(|error| error.to_string())?
        .into_parts();
    while let Some(piece) = reply.data().await {
        let piece = piece.map_err(|error| error.to_string())?;
        reply.flow_control().release_capacity(piece.len()).unwrap();
    }
    Ok(head.status.as_u16())
}

/// Starts a server with one token.
fn guarded() -> (Tree, Server) {
    let tree = Tree::new();
    tree.dir("work");
    let mut command = command(&tree, &["--allow", &tree.text("work"), "--tools", "files"]);
    command.env("REPLAY_TOKEN", TOKENS[0]);
    (tree, Server::spawn(command))
}

/// Returns the number of connections held by the server. In `/proc/net/tcp`, state 10 is `LISTEN`,
/// and sockets held only by the kernel have inode 0.
fn connection_count(server: &Server) -> usize {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let port = format!(":{:04X}", server.address.port());
    let is_held = |line: &&str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields[1].ends_with(&port) && fields[3] != "0A" && fields[9] != "0"
    };
    table.lines().skip(1).filter(is_held).count()
}

/// Counts the occurrences of each value.
fn count_occurrences<T: Ord>(all: impl IntoIterator<Item = T>) -> BTreeMap<T, usize> {
    all.into_iter().fold(BTreeMap::new(), |mut counts, one| {
        *counts.entry(one).or_default() += 1;
        counts
    })
}

#[test]
fn early_refusal_reaches_client_after_full_body() {
    let (_tree, server) = guarded();
    let [token, unknown] = TOKENS.map(|token| format!("Authorization: Bearer {token}\r\n"));
    let tries = |count, length, headers: &str| {
        count_occurrences((0..count).map(|_| post_whole_body(&server, length, headers)))
    };
    assert_eq!(tries(20, 300_000, ""), BTreeMap::from([(Ok(401), 20)]));
    assert_eq!(
        tries(20, 300_000, &unknown),
        BTreeMap::from([(Ok(401), 20)])
    );
    assert_eq!(
        tries(20, 300_000, "Origin: http://evil.example\r\n"),
        BTreeMap::from([(Ok(403), 20)])
    );
    assert_eq!(tries(4, 70 << 20, &token), BTreeMap::from([(Ok(413), 4)]));
    assert_eq!(
        tries(4, 70 << 20, &format!("{token}Accept: text/plain\r\n")),
        BTreeMap::from([(Ok(406), 4)])
    );
}

#[tokio::test]
async fn early_refusal_arrives_over_http2() {
    let (_tree, server) = guarded();
    let [token, unknown] = TOKENS.map(|token| format!("Bearer {token}"));
    let tries = async |count, length, headers: &[(&'static str, &str)]| {
        let mut all = Vec::new();
        for _ in 0..count {
            all.push(
                timeout(DEADLINE, post_whole_body_http2(&server, length, headers))
                    .await
                    .unwrap(),
            );
        }
        count_occurrences(all)
    };
    assert_eq!(
        tries(20, 300_000, &[]).await,
        BTreeMap::from([(Ok(401), 20)])
    );
    assert_eq!(
        tries(20, 300_000, &[("authorization", &unknown)]).await,
        BTreeMap::from([(Ok(401), 20)])
    );
    assert_eq!(
        tries(20, 300_000, &[("origin", "http://evil.example")]).await,
        BTreeMap::from([(Ok(403), 20)])
    );
    assert_eq!(
        tries(4, 70 << 20, &[("authorization", &token)]).await,
        BTreeMap::from([(Ok(413), 4)])
    );
}

#[test]
fn refused_body_is_read_only_to_limit() {
    let (_tree, server) = guarded();
    // Far more than the server reads without a token, and than the buffers on the way hold.
    let outcome = post_whole_body(&server, 1 << 30, "");
    assert!(
        matches!(&outcome, Err(error) if ["ConnectionReset", "BrokenPipe"].contains(&error.as_str())),
        "{outcome:?}"
    );
    // A client that keeps its end open and sends no more data.
    let mut silent = server.connect();
    silent
        .stream
        .write_all(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 300000\r\n\r\n")
        .unwrap();
    assert_eq!(silent.response().status, 401);
    assert!(silent.is_hung_up());
    let until = Instant::now() + DEADLINE;
    while connection_count(&server) > 0 {
        assert!(Instant::now() < until, "it is still there");
        std::thread::yield_now();
    }
}
