use replay_base::budget::Account;
use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc;

use super::*;
use crate::call::{BodyEnd, Content, Http, HttpVersion};

/// Starts a server that reads request heads and answers each by its first line.
fn server(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Server {
    Server::start(move |mut stream| {
        loop {
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") {
                if stream.read(&mut byte).unwrap_or(0) == 0 {
                    return;
                }
                head.push(byte[0]);
            }
            let answer = answer(text(&head).lines().next().unwrap());
            if stream.write_all(&answer).is_err()
                || !answer.starts_with(b"HTTP")
                || has_close(&answer)
            {
                return;
            }
        }
    })
}

fn has_close(answer: &[u8]) -> bool {
    memchr::memmem::find(answer, b"Connection: close").is_some()
}

pub(super) fn http(exchange: &Exchange) -> &Http {
    let Content::Http(http) = &exchange.content else {
        panic!("{exchange:?}")
    };
    http
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let count = AtomicU64::new(0);
    let server = server(move |_| {
        let at = count.fetch_add(1, Ordering::SeqCst);
        let close = if at == 2 { "Connection: close\r\n" } else { "" };
        format!("HTTP/1.1 200 Quite OK\r\nX-CaSe: {at}\r\n{close}Content-Length: 1\r\n\r\n{at}")
            .into_bytes()
    });
    let port = server.address.port();
    let (got, recorded) = record_and_replay(server, b"", |setup| {
        // All requests before the first answer.
        text(&ask(
            setup.address,
            &b"GET /n HTTP/1.1\r\nHost: a.example\r\n\r\n".repeat(3),
        ))
    });
    let one = |at: u64, close: &str| {
        format!("HTTP/1.1 200 Quite OK\r\nX-CaSe: {at}\r\n{close}Content-Length: 1\r\n\r\n{at}")
    };
    assert_eq!(
        got,
        [one(0, ""), one(1, ""), one(2, "Connection: close\r\n")].concat()
    );
    assert_eq!(recorded.exchanges.len(), 3);
    let first = &recorded.exchanges[0];
    assert_eq!(
        (first.target.to_string(), first.tls, first.connection),
        (format!("127.0.0.1:{port}"), false, 1)
    );
    let Http { request, response } = http(first).clone();
    assert_eq!(
        (
            request.method.as_str(),
            request.path.as_str(),
            request.scheme.as_str()
        ),
        ("GET", "/n", "http")
    );
    assert_eq!(
        (request.authority.as_str(), request.version),
        ("a.example", HttpVersion::Http11)
    );
    let response = response.unwrap();
    assert_eq!(
        (
            response.status,
            response.reason.as_str(),
            response.body.as_slice()
        ),
        (200, "Quite OK", &b"0"[..])
    );
    assert_eq!(response.headers[0], ("X-CaSe".to_owned(), b"0".to_vec()));
}

#[test]
fn chunked_body_with_trailers_is_replayed() {
    let server = server(|_| {
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3;a=b\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 5\r\n\r\n"
            .to_vec()
    });
    let to = server.address;
    let setup = setup(Mode::Record, to, b"");
    let request =
        b"POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n";
    // The server reads no bodies, so it answers before the request is complete; the recorded call
    // is the same.
    let live = ask(setup.address, request);
    let recorded = setup.proxy.finish();
    assert!(text(&live).ends_with("2\r\nde\r\n0\r\nX-Sum: 5\r\n\r\n"));
    let Http {
        request: asked,
        response,
    } = http(&recorded.exchanges[0]).clone();
    let response = response.unwrap();
    assert_eq!(
        (asked.body.as_slice(), response.body.as_slice()),
        (&b"body"[..], &b"abcde"[..])
    );
    assert_eq!(response.trailers, [("X-Sum".to_owned(), b"5".to_vec())]);
    drop(server);
    let (again, report) = run_replay(recorded.exchanges, to, |setup| {
        text(&ask(setup.address, request))
    });
    assert_eq!(
        again,
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nabcde\r\n0\r\nX-Sum: 5\r\n\r\n"
    );
    assert_eq!((report.replayed, report.missed), (1, vec![]));
}

#[test]
fn bodiless_responses_end_with_their_head() {
    let server = server(|line| match line.split(' ').next().unwrap() {
        "HEAD" => b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n".to_vec(),
        "PUT" => b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
        "GET" => b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n".to_vec(),
        _ => b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nlast".to_vec(),
    });
    let (got, recorded) = record_and_replay(server, b"", |setup| {
        text(&ask(
            setup.address,
            b"HEAD / HTTP/1.1\r\n\r\nPUT / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\nPOST / HTTP/1.1\r\n\r\n",
        ))
    });
    assert_eq!(
        got,
        "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n\
         HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n\
         HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nlast"
    );
    assert_eq!(recorded.exchanges.len(), 4);
}

#[test]
fn compressed_body_is_recorded_decoded() {
    let headers = vec![("content-encoding".to_owned(), b"gzip".to_vec())];
    let plain = b"hello hello hello hello hello".repeat(50);
    let packed = crate::http::coding::encoded(&headers, &plain).unwrap();
    let sent = [
        format!(
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
            packed.len()
        )
        .as_bytes(),
        &packed,
    ]
    .concat();
    let server = server(move |_| sent.clone());
    let unpacked = plain.clone();
    let (_, recorded) = record_and_replay(server, b"", move |setup| {
        let mut stream = connect(setup.address);
        stream
            .write_all(b"GET /z HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n")
            .unwrap();
        let head = text(&until(&mut stream, b"\r\n\r\n"));
        let length: usize = head
            .split("Content-Length: ")
            .nth(1)
            .unwrap()
            .lines()
            .next()
            .unwrap()
            .parse()
            .unwrap();
        let mut body = vec![0; length];
        stream.read_exact(&mut body).unwrap();
        assert!(head.contains("Content-Encoding: gzip"), "{head}");
        let body = crate::http::coding::decoded(
            &[("content-encoding".to_owned(), b"gzip".to_vec())],
            &body,
        )
        .unwrap();
        assert_eq!(body, unpacked);
        body
    });
    assert_eq!(
        http(&recorded.exchanges[0]).response.as_ref().unwrap().body,
        plain
    );
}

#[test]
fn expect_100_continue_is_replayed() {
    let server = Server::start(|mut stream| {
        until(&mut stream, b"\r\n\r\n");
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").unwrap();
        let mut body = [0; 5];
        stream.read_exact(&mut body).unwrap();
        stream
            .write_all(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            .unwrap();
    });
    let (got, recorded) = record_and_replay(server, b"", |setup| {
        let mut stream = connect(setup.address);
        stream
            .write_all(
                b"PUT /e HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n",
            )
            .unwrap();
        let mut got = until(&mut stream, b"\r\n\r\n");
        stream.write_all(b"hello").unwrap();
        stream.read_to_end(&mut got).unwrap();
        text(&got)
    });
    assert!(
        got.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\n"),
        "{got}"
    );
    assert_eq!(http(&recorded.exchanges[0]).request.body, b"hello");
}

#[test]
fn event_stream_passes_unbuffered_until_client_leaves() {
    let (go, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let server = Server::start(move |mut stream| {
        until(&mut stream, b"\r\n\r\n");
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            .unwrap();
        stream.write_all(b"9\r\ndata: 1\n\n\r\n").unwrap();
        // Sent only after the program has read the first event.
        wait.lock().unwrap().recv_timeout(PATIENCE).unwrap();
        stream.write_all(b"9\r\ndata: 2\n\n\r\n").unwrap();
        // The stream has no end of its own.
        let _ = stream.read(&mut [0]);
    });
    let go = Mutex::new(go);
    let ((), recorded) = record_and_replay(server, b"", move |setup| {
        let mut stream = connect(setup.address);
        stream
            .write_all(b"GET /events HTTP/1.1\r\nHost: h\r\n\r\n")
            .unwrap();
        until(&mut stream, b"data: 1\n\n");
        let _ = go.lock().unwrap().send(());
        until(&mut stream, b"data: 2\n\n");
    });
    let response = http(&recorded.exchanges[0]).response.clone().unwrap();
    assert_eq!(text(&response.body), "data: 1\n\ndata: 2\n\n");
    assert_eq!(response.body_end, BodyEnd::CutOff);
}

#[test]
fn response_field_named_like_note_is_replayed() {
    let answer = b"HTTP/1.1 200 OK\r\nX-Replay-Body: truncated\r\n\
        Connection: close\r\nContent-Length: 2\r\n\r\nok";
    let server = Server::start(move |mut stream| {
        until(&mut stream, b"\r\n\r\n");
        stream.write_all(answer).unwrap();
    });
    let (got, recorded) = record_and_replay(server, b"", |setup| {
        ask(setup.address, b"GET /t HTTP/1.1\r\nHost: h\r\n\r\n")
    });
    assert_eq!(text(&got), text(answer));
    let response = http(&recorded.exchanges[0]).response.as_ref().unwrap();
    assert_eq!(response.body_end, BodyEnd::Complete);
}

#[test]
fn truncated_response_is_replayed_truncated() {
    for cut in [
        &b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"[..],
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nonly this\r\n",
    ] {
        let server = Server::start(move |mut stream| {
            until(&mut stream, b"\r\n\r\n");
            stream.write_all(cut).unwrap();
        });
        let (got, recorded) = record_and_replay(server, b"", |setup| {
            ask(setup.address, b"GET /t HTTP/1.1\r\nHost: h\r\n\r\n")
        });
        assert_eq!(got, cut);
        assert_eq!(
            http(&recorded.exchanges[0]).response.as_ref().unwrap().body,
            b"only this"
        );
    }
    let silent = Server::start(|mut stream| {
        until(&mut stream, b"\r\n\r\n");
    });
    let (got, recorded) = record_and_replay(silent, b"", |setup| {
        ask(setup.address, b"GET /t HTTP/1.1\r\nHost: h\r\n\r\n")
    });
    assert_eq!(
        (got, http(&recorded.exchanges[0]).response.clone()),
        (Vec::new(), None)
    );
}

#[test]
fn close_delimited_response_is_replayed() {
    let server = server(|_| b"HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nto the end".to_vec());
    let (got, _) = record_and_replay(server, b"", |setup| {
        text(&ask(setup.address, b"GET / HTTP/1.0\r\n\r\n"))
    });
    assert_eq!(
        got,
        "HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nto the end"
    );
}

#[test]
fn long_head_and_bytewise_request_are_parsed() {
    let value = "v".repeat(200_000);
    let long = value.clone();
    let server = server(move |_| {
        format!(
            "HTTP/1.1 200 OK\r\nX-Long: {long}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
        .into_bytes()
    });
    let (got, _) = record_and_replay(server, b"", |setup| {
        let mut stream = connect(setup.address);
        stream.set_nodelay(true).unwrap();
        for byte in format!("GET /slow HTTP/1.1\r\nX-Long: {}\r\n\r\n", "w".repeat(300)).bytes() {
            stream.write_all(&[byte]).unwrap();
        }
        let mut got = Vec::new();
        stream.read_to_end(&mut got).unwrap();
        text(&got)
    });
    assert!(got.contains(&value));
}

#[test]
fn half_closed_client_receives_response() {
    let server = Server::start(|mut stream| {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        let answer = format!(
            "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{} bytes",
            all.len()
        );
        stream.write_all(answer.as_bytes()).unwrap();
    });
    let (got, _) = record_and_replay(server, b"", |setup| {
        let mut stream = connect(setup.address);
        stream.write_all(b"GET /half HTTP/1.1\r\n\r\n").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut got = Vec::new();
        stream.read_to_end(&mut got).unwrap();
        text(&got)
    });
    assert!(got.ends_with("22 bytes"), "{got}");
}

#[test]
fn websocket_replay_ignores_frame_masks() {
    fn frame(payload: &[u8], mask: u8) -> Vec<u8> {
        let mut frame = vec![0x81, 0x80 | payload.len() as u8, mask, mask, mask, mask];
        frame.extend(payload.iter().map(|byte| byte ^ mask));
        frame
    }
    let server = Server::start(|mut stream| {
        let head = text(&until(&mut stream, b"\r\n\r\n"));
        assert!(!head.contains("permessage-deflate"), "{head}");
        let key = head
            .split("Sec-WebSocket-Key: ")
            .nth(1)
            .unwrap()
            .lines()
            .next()
            .unwrap();
        let accept = websocket_accept(key);
        stream
            .write_all(
                format!(
                    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n\x01"
                )
                .trim_end_matches('\x01')
                .as_bytes(),
            )
            .unwrap();
        let mut got = [0; 9];
        while stream.read_exact(&mut got).is_ok() {
            let plain: Vec<u8> = got[6..].iter().map(|byte| byte ^ got[2]).collect();
            stream
                .write_all(&[&[0x81, 4], plain.as_slice(), b"!"].concat())
                .unwrap();
        }
    });
    let run = AtomicU64::new(1);
    let (got, recorded) = record_and_replay(server, b"", move |setup| {
        let run = run.fetch_add(1, Ordering::SeqCst);
        let key = format!("key of run {run}");
        let mut stream = connect(setup.address);
        let head = format!(
            "GET /ws HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Extensions: permessage-deflate\r\nSec-WebSocket-Key: {key}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let head = text(&until(&mut stream, b"\r\n\r\n"));
        assert!(
            head.contains(&format!(
                "Sec-WebSocket-Accept: {}\r\n",
                websocket_accept(&key)
            )),
            "{head}"
        );
        let mut said = Vec::new();
        for payload in [b"abc", b"xyz"] {
            stream.write_all(&frame(payload, 40 + run as u8)).unwrap();
            let mut answer = [0; 6];
            stream.read_exact(&mut answer).unwrap();
            said.push(text(&answer[2..]));
        }
        said
    });
    assert_eq!(got, ["abc!", "xyz!"]);
    assert_eq!(recorded.exchanges.len(), 3);
}

fn websocket_accept(key: &str) -> String {
    crate::http::websocket::accept(key.as_bytes())
}

#[test]
fn tunnel_and_absolute_form_set_target() {
    // An explicit proxy: it answers CONNECT, then acts as the server.
    let server = server(|line| match line.split(' ').next().unwrap() {
        "CONNECT" => b"HTTP/1.1 200 Connection established\r\n\r\n".to_vec(),
        _ => b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\ninside".to_vec(),
    });
    let (got, recorded) = record_and_replay(server, b"", |setup| {
        let mut stream = connect(setup.address);
        stream
            .write_all(b"CONNECT api.example:80 HTTP/1.1\r\nHost: api.example:80\r\n\r\n")
            .unwrap();
        let mut got = until(&mut stream, b"\r\n\r\n");
        stream
            .write_all(b"GET /in HTTP/1.1\r\nHost: api.example\r\n\r\n")
            .unwrap();
        stream.read_to_end(&mut got).unwrap();
        let direct = ask(
            setup.address,
            b"GET http://other.example:81/p?q HTTP/1.1\r\nHost: other.example:81\r\n\r\n",
        );
        (text(&got), text(&direct))
    });
    assert!(
        got.0
            .starts_with("HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK"),
        "{}",
        got.0
    );
    let seen: Vec<_> = recorded
        .exchanges
        .iter()
        .map(|exchange| {
            let request = &http(exchange).request;
            (
                exchange.target.to_string(),
                request.method.clone(),
                request.path.clone(),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (
                "api.example:80".to_owned(),
                "GET".to_owned(),
                "/in".to_owned()
            ),
            (
                "other.example:81".to_owned(),
                "GET".to_owned(),
                "/p?q".to_owned()
            ),
        ]
    );
}

#[test]
fn unrecorded_call_gets_502_on_open_connection() {
    let server = server(|line| {
        let line = line.to_owned();
        format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{line}",
            line.len()
        )
        .into_bytes()
    });
    let to = server.address;
    let setup = setup(Mode::Record, to, b"");
    let mut stream = connect(setup.address);
    stream
        .write_all(b"GET /known HTTP/1.1\r\nHost: h\r\n\r\n")
        .unwrap();
    until(&mut stream, b"/known HTTP/1.1");
    drop(stream);
    let recorded = setup.proxy.finish();
    drop(server);
    let ((), report) = run_replay(recorded.exchanges, to, |setup| {
        let mut stream = connect(setup.address);
        stream
            .write_all(
                b"GET /unknown HTTP/1.1\r\nHost: h\r\n\r\nGET /known HTTP/1.1\r\nHost: h\r\n\r\n",
            )
            .unwrap();
        // Both answers may arrive together.
        let answers = text(&until(&mut stream, b"/known HTTP/1.1"));
        let (missed, known) = answers.split_at(answers.find("HTTP/1.1 200 OK").unwrap());
        assert!(
            missed.starts_with("HTTP/1.1 502 Bad Gateway\r\nContent-Type: application/json\r\n"),
            "{missed}"
        );
        assert!(
            missed.contains("no recording answers this call") && missed.contains("/unknown"),
            "{missed}"
        );
        assert!(
            missed.ends_with("}\n") && known.ends_with("/known HTTP/1.1"),
            "{answers}"
        );
    });
    assert_eq!(
        (report.replayed, report.missed.len(), report.unused.len()),
        (1, 1, 0)
    );
}

#[test]
fn missed_call_is_forwarded_by_policy() {
    let server = server(|line| {
        let line = line.to_owned();
        format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{line}",
            line.len()
        )
        .into_bytes()
    });
    let to = server.address;
    let recording = setup(Mode::Record, to, b"");
    let mut stream = connect(recording.address);
    stream
        .write_all(b"GET /known HTTP/1.1\r\nHost: h\r\n\r\n")
        .unwrap();
    until(&mut stream, b"/known HTTP/1.1");
    drop(stream);
    let recorded = recording.proxy.finish();
    for (on_miss, kept, passed) in [(OnMiss::Record, 1, 0), (OnMiss::Passthrough, 0, 1)] {
        let replay = replay_of(recorded.exchanges.clone());
        let beyond = setup(
            Mode::Replay {
                replay: Arc::clone(&replay),
                on_miss,
            },
            to,
            b"",
        );
        let mut stream = connect(beyond.address);
        stream
            .write_all(b"GET /known HTTP/1.1\r\nHost: h\r\n\r\n")
            .unwrap();
        until(&mut stream, b"/known HTTP/1.1");
        stream
            .write_all(b"GET /new HTTP/1.1\r\nHost: h\r\n\r\n")
            .unwrap();
        until(&mut stream, b"/new HTTP/1.1");
        drop(stream);
        let more = beyond.proxy.finish();
        assert_eq!(
            (more.exchanges.len(), more.counts.passed),
            (kept, passed),
            "{on_miss:?}"
        );
        let report = replay.book.report();
        assert_eq!((report.replayed, report.missed.len()), (1, 1));
    }
}

#[test]
fn five_hundred_concurrent_connections_are_recorded() {
    let server = server(|line| {
        let line = line.to_owned();
        format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{line}",
            line.len()
        )
        .into_bytes()
    });
    let ((), recorded) = record_and_replay(server, b"", |setup| {
        let to = setup.address;
        let mut streams: Vec<_> = (0..500).map(|_| connect(to)).collect();
        for (at, stream) in streams.iter_mut().enumerate() {
            write!(stream, "GET /{at} HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
        }
        for (at, stream) in streams.iter_mut().enumerate() {
            let mut got = Vec::new();
            stream.read_to_end(&mut got).unwrap();
            assert!(text(&got).ends_with(&format!("\r\n\r\nGET /{at} HTTP/1.1")));
        }
    });
    assert_eq!(
        (recorded.exchanges.len(), recorded.counts.connections),
        (500, 500)
    );
}

#[test]
fn refused_connection_is_replayed_as_refused() {
    // Bound without listening, so nobody else gets the port.
    let unused = socket_with(
        AddressFamily::INET,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    rustix::net::bind(
        &unused,
        &"127.0.0.1:0".parse::<std::net::SocketAddrV4>().unwrap(),
    )
    .unwrap();
    let to: SocketAddr = std::net::TcpListener::from(unused.try_clone().unwrap())
        .local_addr()
        .unwrap();
    let reset = |setup: &Setup| {
        let mut stream = connect(setup.address);
        let said = stream
            .write_all(b"GET / HTTP/1.1\r\n\r\n")
            .and_then(|()| stream.read(&mut [0]));
        said.map_err(|error| error.kind())
    };
    let recording = setup(Mode::Record, to, b"");
    assert_eq!(reset(&recording), Err(io::ErrorKind::ConnectionReset));
    let recorded = recording.proxy.finish();
    assert_eq!((recorded.counts.refused, recorded.exchanges.len()), (1, 1));
    let (got, report) = run_replay(recorded.exchanges, to, |setup| (reset(setup), reset(setup)));
    assert_eq!(
        got,
        (
            Err(io::ErrorKind::ConnectionReset),
            Err(io::ErrorKind::ConnectionReset)
        )
    );
    assert_eq!(report.missed, vec![]);
}

#[test]
fn explicit_http_proxy_records_and_replays() {
    let server = server(|line| {
        let line = line.to_owned();
        format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{line}",
            line.len()
        )
        .into_bytes()
    });
    let to = server.address;
    let run = |mode: Mode| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let sockets = Sockets {
            forward: vec![listener],
            ..Sockets::default()
        };
        let authority = Arc::new(Authority::new().unwrap());
        let proxy = start(
            sockets,
            Arc::new(Net::default()),
            mode,
            authority,
            b"",
            Account::default(),
        );
        let mut stream = connect(address);
        write!(
            stream,
            "GET http://{to}/direct HTTP/1.1\r\nHost: {to}\r\n\r\n"
        )
        .unwrap();
        let mut got = until(&mut stream, b"GET /direct HTTP/1.1");
        write!(stream, "CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n").unwrap();
        got.extend(until(&mut stream, b"established\r\n\r\n"));
        write!(stream, "GET /inside HTTP/1.1\r\nHost: {to}\r\n\r\n").unwrap();
        got.extend(until(&mut stream, b"GET /inside HTTP/1.1"));
        drop(stream);
        (text(&got), proxy.finish())
    };
    let (live, recorded) = run(Mode::Record);
    let seen: Vec<_> = recorded
        .exchanges
        .iter()
        .map(|call| (call.target.to_string(), http(call).request.path.clone()))
        .collect();
    assert_eq!(
        seen,
        [
            (to.to_string(), "/direct".to_owned()),
            (to.to_string(), "/inside".to_owned())
        ]
    );
    drop(server);
    let replay = replay_of(recorded.exchanges);
    let (again, _) = run(Mode::Replay {
        replay: Arc::clone(&replay),
        on_miss: OnMiss::Fail,
    });
    assert_eq!(again, live);
    assert_eq!(
        (replay.book.report().missed, replay.book.report().unused),
        (vec![], vec![])
    );
}
