//! Access control and rate limits.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::client::{self, Server};
use super::{call, request, stage};
use crate::harness::{DEADLINE, ends_within};
use crate::tree::Tree;

#[test]
fn foreign_origin_and_host_are_refused() {
    let (_tree, server) = stage(&[
        "--allow-origin",
        "https://app.example",
        "--http-host",
        "box.example",
    ]);
    let ping = request(1, "ping", &json!({}));
    let address = server.address.to_string();
    let own_origin = format!("http://{address}");
    let port = server.address.port();
    let (named, evil) = (format!("localhost:{port}"), "evil.example".to_owned());
    for (headers, status) in [
        (vec![("Host", named.as_str())], 200),
        (vec![("Host", "[::1]:1")], 200),
        (vec![("Host", "box.example")], 200),
        (vec![("Host", evil.as_str())], 403),
        (vec![("Host", "127.0.0.1.evil.example")], 403),
        (vec![("Host", "")], 403),
        (vec![("Origin", own_origin.as_str())], 200),
        (vec![("Origin", "https://app.example")], 200),
        (vec![("Origin", "http://evil.example")], 403),
        (vec![("Origin", "http://localhost:3000")], 403),
        (vec![("Origin", "null")], 403),
        // A host name that resolves to this server is same-origin for a browser.
        (
            vec![("Host", evil.as_str()), ("Origin", "http://evil.example")],
            403,
        ),
    ] {
        let reply = server.post_with(&ping, &headers);
        assert_eq!(reply.status, status, "{headers:?}");
        let allowed = headers
            .contains(&("Origin", "https://app.example"))
            .then_some("https://app.example");
        assert_eq!(
            reply.header("access-control-allow-origin"),
            allowed,
            "{headers:?}"
        );
    }
    let preflight = |origin| server.ask("OPTIONS", "/mcp", &[("Origin", origin)], b"");
    let allowed = preflight("https://app.example");
    assert_eq!(
        (
            allowed.status,
            allowed.header("access-control-allow-methods")
        ),
        (204, Some("GET, POST, DELETE"))
    );
    assert_eq!(preflight("https://evil.example").status, 403);
    assert_eq!(server.ask("OPTIONS", "/mcp", &[], b"").status, 403);
    let missing =
        b"POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    let mut client = server.connect();
    client.stream.write_all(missing).unwrap();
    assert_eq!(client.response().status, 403);
}

#[test]
fn request_without_token_is_unauthorized() {
    let tree = Tree::new();
    tree.file("work/hello.txt", "hello\n");
    let allow = tree.text("work");
    let mut command = client::command(&tree, &["--allow", &allow, "--tools", "files"]);
    command.env("REPLAY_TOKEN", "correct horse battery");
    let server = Server::spawn(command);
    let ping = request(1, "ping", &json!({}));
    let asked = |value: &str| server.post_with(&ping, &[("Authorization", value)]);
    assert_eq!(
        asked("Bearer correct horse battery").json(),
        json!({"jsonrpc": "2.0", "id": 1, "result": {}})
    );
    assert_eq!(asked("bearer  correct horse battery").status, 200);
    let unknown = "the token is unknown or was revoked; ask the operator for a new one, or for a \
        reload (SIGHUP) if it is new";
    let malformed = "`Authorization` must be `Bearer TOKEN`, and occur once";
    for (wrong, text) in [
        ("Bearer correct horse batter", unknown),
        ("Bearer", malformed),
        ("Bearer ", malformed),
        ("Basic correct horse battery", malformed),
        ("correct horse battery", malformed),
    ] {
        let reply = asked(wrong);
        assert_eq!(reply.failure(), (401, -32600), "{wrong}");
        assert_eq!(reply.json()["error"]["message"], text, "{wrong}");
        let challenge = "Bearer realm=\"replay\", error=\"invalid_token\"";
        assert_eq!(reply.header("www-authenticate"), Some(challenge), "{wrong}");
    }
    for (method, path) in [
        ("POST", "/mcp"),
        ("GET", "/mcp"),
        ("GET", "/mcp/ws"),
        ("GET", "/metrics"),
        ("GET", "/docs"),
        ("GET", "/openapi.json"),
        ("GET", "/health/detailed"),
        ("GET", "/nothing"),
    ] {
        let reply = server.ask(method, path, &[], b"");
        assert_eq!(
            (reply.status, reply.header("www-authenticate")),
            (401, Some("Bearer realm=\"replay\"")),
            "{path}"
        );
    }
    let document = server
        .ask(
            "GET",
            "/openapi.json",
            &[("Authorization", "Bearer correct horse battery")],
            b"",
        )
        .json();
    assert_eq!(document["security"], json!([{"token": []}]));
    let health = server.ask("GET", "/health", &[("Host", "anything")], b"");
    assert_eq!(
        (health.status, health.text()),
        (200, "{\"status\":\"ok\"}".to_owned())
    );
    assert!(!server.log().contains("battery"));
    // The first failure of each address is logged immediately, further ones are batched.
    let mut elsewhere = server.connect_from([127, 0, 0, 2].into());
    assert_eq!(
        elsewhere
            .post(&ping, &[("Authorization", "Bearer guessed")])
            .status,
        401
    );
    let until = Instant::now() + DEADLINE;
    let said = |log: &str| -> Vec<String> {
        let lines = log
            .lines()
            .filter_map(|line| line.split_once("1 request with an unknown token from "));
        lines.map(|(_, rest)| rest.to_owned()).collect()
    };
    while said(&server.log()).len() < 2 {
        assert!(Instant::now() < until, "nothing is said");
        std::thread::yield_now();
    }
    assert_eq!(said(&server.log()), ["127.0.0.1", "127.0.0.2"]);
    assert!(!server.log().contains("guessed"));
}

#[test]
fn request_with_conflicting_hosts_is_refused() {
    let (_tree, server) = stage(&[]);
    let here = server.address.to_string();
    let asked = |target: &str, host: &str| {
        let reply = server.ask(
            "GET",
            &format!("http://{target}/metrics"),
            &[("Host", host)],
            b"",
        );
        let message = (reply.status != 200).then(|| {
            reply.json()["error"]["message"]
                .as_str()
                .unwrap()
                .to_owned()
        });
        (reply.status, message)
    };
    assert_eq!(asked(&here, &here), (200, None));
    let two = "the request target and `Host` name different servers";
    assert_eq!(asked("evil.example", &here), (400, Some(two.to_owned())));
    assert_eq!(asked(&here, "localhost"), (400, Some(two.to_owned())));
    let stranger = "the name in `Host` is not allowed; the operator can allow it (--http-host)";
    assert_eq!(
        asked("evil.example", "evil.example"),
        (403, Some(stranger.to_owned()))
    );
}

#[test]
fn compressed_body_is_refused() {
    let (_tree, server) = stage(&[]);
    let ping = request(1, "ping", &json!({}));
    let reply = server.post_with(&ping, &[("Content-Encoding", "gzip")]);
    let message = "the body has `Content-Encoding: gzip`, which is not supported; send it without \
         compression";
    assert_eq!(
        (reply.failure(), reply.header("accept-encoding")),
        ((415, -32600), Some("identity"))
    );
    assert_eq!(reply.json()["error"]["message"], message);
    assert_eq!(
        server
            .post_with(&ping, &[("Content-Encoding", "identity")])
            .status,
        200
    );
}

#[test]
fn public_address_requires_token() {
    let tree = Tree::new();
    tree.file("open.jsonl", "{}")
        .file("bad.jsonl", "{\"name\":\"a\"}\n");
    std::fs::set_permissions(
        tree.path("open.jsonl"),
        std::os::unix::fs::PermissionsExt::from_mode(0o666),
    )
    .unwrap();
    let refused = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_replay"))
            .args(["--mcp-server", "--allow", "."])
            .args(args)
            .current_dir(tree.root())
            .env_clear()
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let open = "replay: --http 0.0.0.0:0: other machines can connect, so a token is needed: give \
        --token-file (see `replay token new`) or set REPLAY_TOKEN, or listen at 127.0.0.1\n";
    assert_eq!(
        refused(&["--http", "0.0.0.0:0"]),
        (Some(2), open.to_owned())
    );
    let local = ["--http", "127.0.0.1:0", "--token-file"];
    let (code, text) = refused(&[&local[..], &["open.jsonl"]].concat());
    assert_eq!(code, Some(2));
    assert!(
        text.contains("other users can change `open.jsonl` (mode 666)"),
        "{text}"
    );
    let (code, text) = refused(&[&local[..], &["bad.jsonl"]].concat());
    assert_eq!(code, Some(2));
    let expected = "replay: `bad.jsonl`: line 1: missing field `sha256`; `replay token new NAME` makes such lines\n";
    assert_eq!(text, expected);
    let (code, text) = refused(&[&local[..], &["none.jsonl"]].concat());
    assert_eq!(code, Some(2));
    let expected = "replay: `none.jsonl` cannot be read; `replay token new NAME --file none.jsonl` makes one: ";
    assert!(text.starts_with(expected), "{text}");
    let (code, text) = refused(&["--http", "box:8000"]);
    assert_eq!(code, Some(2));
    assert!(
        text.contains("it must be an address and a port, such as 127.0.0.1:8000 or [::1]:8000"),
        "{text}"
    );
}

#[test]
fn flags_incompatible_with_http_are_refused() {
    let tree = Tree::new();
    tree.file("mock.yaml", "").dir("work");
    for (flag, value, shown) in [
        ("--mock", "mock.yaml", "--mock <MANIFEST>"),
        ("--record", "calls.jsonl", "--record <CASSETTE>"),
    ] {
        let output = client::command(&tree, &["--allow", "work", flag, value])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        let first =
            format!("error: the argument '--http <ADDRESS:PORT>' cannot be used with '{shown}'");
        assert_eq!(
            (output.status.code(), text.lines().next()),
            (Some(2), Some(first.as_str()))
        );
    }
}

#[test]
fn rate_limited_client_gets_retry_after() {
    let (_tree, server) = stage(&["--rate-limit", "1", "--rate-burst", "3"]);
    let ping = request(1, "ping", &json!({}));
    let mut client = server.connect();
    let statuses: Vec<u16> = (0..4).map(|_| client.post(&ping, &[]).status).collect();
    assert_eq!(statuses, [200, 200, 200, 429]);
    let reply = client.post(&ping, &[]);
    let wait: u64 = reply.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    let message = format!("too many messages in a minute (--rate-limit); try again in {wait} s");
    assert_eq!(
        reply.json(),
        json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": message}})
    );
    assert_eq!(client.ask("GET", "/health", &[], b"").status, 200);
}

#[test]
fn rate_limit_counts_every_message() {
    let note = r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#;
    let notes = format!("[{note}, {note}]");
    for (message, statuses) in [
        (note, [202, 202, 429]),
        (
            r#"{"jsonrpc": "2.0", "id": 1, "result": {}}"#,
            [202, 202, 429],
        ),
        ("{", [400, 400, 429]),
        (r#"{"id": 1}"#, [400, 400, 429]),
        ("[]", [400, 400, 429]),
        (&notes, [202, 429, 429]),
    ] {
        let (_tree, server) = stage(&["--rate-limit", "1", "--rate-burst", "2"]);
        let mut client = server.connect();
        let json = [("Content-Type", "application/json")];
        let got = [0; 3].map(|_| client.ask("POST", "/mcp", &json, message.as_bytes()).status);
        assert_eq!(got, statuses, "{message}");
    }
}

#[test]
fn shutdown_waits_for_running_calls() {
    let (tree, mut server) = stage(&[]);
    tree.fifo("work/go").fifo("work/began");
    let command =
        json!({"command": "echo > began; read line < go; echo $line", "cwd": tree.text("work")});
    let mut client = server.connect();
    client.send_message(&call(1, "execute_command", &command), &[]);
    std::fs::read(tree.path("work/began")).unwrap();
    let mut idle = server.connect();
    assert_eq!(idle.ask("GET", "/health", &[], b"").status, 200);
    server.terminate();
    assert!(idle.is_hung_up());
    std::fs::write(tree.path("work/go"), "done\n").unwrap();
    let reply = client.response().json();
    assert_eq!(
        reply["result"]["content"][0]["text"],
        "done\n[exit code: 0]"
    );
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn full_stderr_pipe_does_not_block_server() {
    let tree = Tree::new();
    tree.dir("work");
    let flags = [
        "--allow",
        &tree.text("work"),
        "--tools",
        "files",
        "--log-level",
        "debug",
    ];
    let mut command = client::command(&tree, &flags);
    let mut child = command.spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("serving at http://") {
        line.clear();
        assert!(log.read_line(&mut line).unwrap() > 0);
    }
    let address = line
        .split("http://")
        .nth(1)
        .unwrap()
        .split('/')
        .next()
        .unwrap()
        .to_owned();
    drop(log);
    let mut stream = TcpStream::connect(&address).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let ping = request(1, "ping", &json!({})).to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}",
        ping.len()
    );
    stream
        .write_all(format!("{head}\r\n\r\n{ping}").as_bytes())
        .unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    assert!(
        reply.ends_with("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"),
        "{reply}"
    );
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::TERM).unwrap();
    assert!(ends_within(pid, DEADLINE), "it does not end");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn stdio_is_served_beside_http() {
    let tree = Tree::new();
    tree.file("work/hello.txt", "hello\n");
    let mut command = client::command(
        &tree,
        &["--allow", &tree.text("work"), "--tools", "files", "--stdio"],
    );
    command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped());
    let mut server = Server::spawn(command);
    let ping = request(1, "ping", &json!({}));
    let mut stdin = server.child().stdin.take().unwrap();
    let mut stdout = BufReader::new(server.child().stdout.take().unwrap());
    writeln!(stdin, "{ping}").unwrap();
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    assert_eq!(server.post(&ping).text(), line.trim_end());
    // End of stdin does not stop the HTTP server.
    drop(stdin);
    assert_eq!(server.post(&ping).status, 200);
    server.terminate();
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn certificate_disables_plain_http() {
    let tree = Tree::new();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    tree.file("cert.pem", made.cert.pem())
        .file("key.pem", made.signing_key.serialize_pem())
        .dir("work");
    let (cert, key) = (tree.text("cert.pem"), tree.text("key.pem"));
    for file in [&cert, &key] {
        std::fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o600))
            .unwrap();
    }
    let tls = [
        "--allow",
        "work",
        "--tools",
        "files",
        "--tls-cert",
        &cert,
        "--tls-key",
        &key,
    ];
    let server = Server::start(&tree, &tls);
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    for (offer, agreed) in [
        (&b"h2"[..], Some(&b"h2"[..])),
        (b"http/1.1", Some(b"http/1.1")),
        (b"", None),
    ] {
        let mut config = config.clone();
        config.alpn_protocols = [offer.to_vec()]
            .into_iter()
            .filter(|offer| !offer.is_empty())
            .collect();
        let name = ServerName::try_from("localhost").unwrap();
        let connection = ClientConnection::new(Arc::new(config), name).unwrap();
        let socket = TcpStream::connect(server.address).unwrap();
        socket.set_read_timeout(Some(DEADLINE)).unwrap();
        let mut stream = StreamOwned::new(connection, socket);
        let is_second = agreed == Some(b"h2");
        let said: &[u8] = if is_second {
            // HTTP/2 connection preface with an empty SETTINGS frame.
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"
        } else {
            b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        };
        stream.write_all(said).unwrap();
        let mut answer = [0; 9];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(stream.conn.alpn_protocol(), agreed);
        // A SETTINGS frame (type 4), or an HTTP/1.1 status line.
        if is_second {
            assert_eq!(answer[3], 4);
        } else {
            assert_eq!(&answer, b"HTTP/1.1 ");
        }
    }
    let mut plain = server.connect();
    plain.send("GET", "/health", &[], b"");
    assert!(plain.is_hung_up());
    let broken = [&tls[..4], &["--tls-cert", &key, "--tls-key", &key]].concat();
    let output = client::command(&tree, &broken).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    let expected = format!(
        "replay: `{key}` and `{key}`: the certificate cannot be read: it has no `BEGIN \
         CERTIFICATE`\n"
    );
    assert_eq!((output.status.code(), text), (Some(2), expected));
    let broken = [&tls[..4], &["--tls-cert", &cert, "--tls-key", &cert]].concat();
    let output = client::command(&tree, &broken).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    let expected = format!(
        "replay: `{cert}` and `{cert}`: the key cannot be read: it has no `BEGIN PRIVATE KEY`\n"
    );
    assert_eq!((output.status.code(), text), (Some(2), expected));
}
