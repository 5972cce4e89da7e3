//! Long and incomplete bodies.

use replay_base::budget::{Budget, Purpose};

use super::http1::http;
use super::*;
use crate::call::{BodyEnd, Http};

#[test]
fn replay_past_cut_off_answer_is_reset() {
    for head in [
        "HTTP/1.1 200 OK\r\nContent-Length: 100",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked",
        "HTTP/1.0 200 OK",
    ] {
        let sent = match head {
            head if head.contains("chunked") => format!("{head}\r\n\r\n5\r\nbegin\r\n"),
            head => format!("{head}\r\n\r\nbegin"),
        };
        let (said, whole) = (sent.clone(), sent.clone());
        let server = Server::start(move |mut stream| {
            until(&mut stream, b"\r\n\r\n");
            stream.write_all(said.as_bytes()).unwrap();
            // Wait until the program has left.
            let _ = stream.read(&mut [0]);
        });
        let to = server.address;
        let recording = setup(Mode::Record, to, b"");
        let mut stream = connect(recording.address);
        stream
            .write_all(b"GET /long?access_token=s3cr3t HTTP/1.1\r\nHost: h\r\n\r\n")
            .unwrap();
        until(&mut stream, b"begin");
        // Read everything, so that the connection is closed and not reset.
        if head.contains("chunked") {
            until(&mut stream, b"\r\n");
        }
        drop(stream);
        // The call is complete once the server has seen the close.
        drop(server);
        let recorded = recording.proxy.finish();
        let response = http(&recorded.exchanges[0]).response.clone().unwrap();
        assert_eq!(
            (text(&response.body).as_str(), recorded.notes),
            ("begin", vec![]),
            "{head}"
        );
        let replay = replay_of(recorded.exchanges);
        let playing = setup(
            Mode::Replay {
                replay,
                on_miss: OnMiss::Fail,
            },
            to,
            b"",
        );
        let mut stream = connect(playing.address);
        stream
            .write_all(b"GET /long?access_token=s3cr3t HTTP/1.1\r\nHost: h\r\n\r\n")
            .unwrap();
        let mut got = Vec::new();
        let end = stream.read_to_end(&mut got).map_err(|error| error.kind());
        assert_eq!(end, Err(io::ErrorKind::ConnectionReset), "{head}");
        assert_eq!(text(&got).replace("Connection: close\r\n", ""), whole);
        let notes: Vec<String> = playing
            .proxy
            .finish()
            .notes
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(
            notes[0].ends_with(
                "the recorded answer ends after 5 bytes, where the program stopped reading; now \
                 it reads further, so record again"
            ),
            "{notes:?}"
        );
        assert!(
            notes[0].starts_with(&format!("GET http://{to}/long")) && !notes[0].contains("s3cr3t"),
            "{notes:?}"
        );
    }
}

#[test]
fn long_bodies_pass_unchanged_in_both_directions() {
    const LENGTH: usize = 5_000_000;
    let body: Vec<u8> = (0..LENGTH).map(|at| (at % 251) as u8).collect();
    for kind in ["sized", "chunked", "until the end"] {
        let answer = match kind {
            "sized" => [
                format!("HTTP/1.1 200 OK\r\nContent-Length: {LENGTH}\r\nConnection: close\r\n\r\n")
                    .as_bytes(),
                &body,
            ]
            .concat(),
            "chunked" => [
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
                    .as_slice(),
                format!("{LENGTH:x}\r\n").as_bytes(),
                &body,
                b"\r\n0\r\nX-T: 1\r\n\r\n",
            ]
            .concat(),
            _ => [
                b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".as_slice(),
                &body,
            ]
            .concat(),
        };
        let sent = answer.clone();
        let server = Server::start(move |mut stream| {
            until(&mut stream, b"\r\n\r\n");
            let mut got = vec![0; LENGTH];
            stream.read_exact(&mut got).unwrap();
            assert!(
                got.iter()
                    .enumerate()
                    .all(|(at, byte)| *byte == (at % 241) as u8)
            );
            stream.write_all(&sent).unwrap();
        });
        let asked: Vec<u8> = (0..LENGTH).map(|at| (at % 241) as u8).collect();
        let question = [
            format!("PUT /long HTTP/1.1\r\nHost: h\r\nContent-Length: {LENGTH}\r\n\r\n").as_bytes(),
            &asked,
        ]
        .concat();
        let (got, recorded) = record_and_replay(server, b"", |setup| ask(setup.address, &question));
        assert!(got == answer, "{kind}: {} bytes", got.len());
        let Http { request, response } = http(&recorded.exchanges[0]).clone();
        let response = response.unwrap();
        assert!(request.body == asked && response.body == body, "{kind}");
        assert_eq!(response.body_end, BodyEnd::Complete, "{kind}");
    }
}

#[test]
fn pipelined_request_passes_during_long_answer() {
    const LENGTH: usize = 2_000_000;
    let server = Server::start(|mut stream| {
        until(&mut stream, b"\r\n\r\n");
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {LENGTH}\r\n\r\n");
        stream
            .write_all(&[head.as_bytes(), &vec![b'a'; LENGTH / 2]].concat())
            .unwrap();
        // Send the rest after the next request.
        until(&mut stream, b"\r\n\r\n");
        stream.write_all(&vec![b'b'; LENGTH / 2]).unwrap();
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
            .unwrap();
    });
    let (got, recorded) = record_and_replay(server, b"", |setup| {
        let mut stream = connect(setup.address);
        stream
            .write_all(b"GET /1 HTTP/1.1\r\nHost: h\r\n\r\n")
            .unwrap();
        until(&mut stream, b"\r\n\r\n");
        stream.read_exact(&mut vec![0; LENGTH / 2]).unwrap();
        stream
            .write_all(b"GET /2 HTTP/1.1\r\nHost: h\r\n\r\n")
            .unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        rest
    });
    assert!(got.starts_with(b"bbbb") && got.ends_with(b"\r\n\r\nok"));
    assert_eq!(recorded.exchanges.len(), 2);
}

#[test]
fn too_long_body_passes_with_note() {
    const LENGTH: usize = replay_base::limits::MAX_RECORDED_BODY_BYTES + 1_000_000;
    let server = Server::start(|mut stream| {
        until(&mut stream, b"\r\n\r\n");
        stream
            .write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {LENGTH}\r\n\r\n").as_bytes())
            .unwrap();
        let piece = vec![b'x'; 1 << 20];
        let mut left = LENGTH;
        while left > 0 {
            let next = left.min(piece.len());
            stream.write_all(&piece[..next]).unwrap();
            left -= next;
        }
    });
    let to = server.address;
    let setup = setup(Mode::Record, to, b"");
    let mut stream = connect(setup.address);
    stream
        .write_all(b"GET /huge HTTP/1.1\r\nHost: h\r\n\r\n")
        .unwrap();
    until(&mut stream, b"\r\n\r\n");
    assert_eq!(
        io::copy(&mut stream, &mut io::sink()).unwrap(),
        LENGTH as u64
    );
    let recorded = setup.proxy.finish();
    assert_eq!((recorded.exchanges.len(), recorded.counts.dropped), (0, 1));
    let call = format!("GET http://{to}/huge");
    assert_eq!(
        recorded.notes,
        [Note::Lost {
            what: format!(
                "{call}: a body is longer than 128 MiB, or than --memory-mib leaves room for"
            )
        }]
    );
}

#[test]
fn traffic_above_memory_limit_passes_unrecorded() {
    const TOTAL: usize = 8 << 20;
    const LENGTH: usize = 24 << 20;
    for kind in ["sized", "until the end", "other"] {
        let server = Server::start(move |mut stream| {
            until(&mut stream, b"\r\n\r\n");
            let head = match kind {
                "sized" => format!(
                    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {LENGTH}\r\n\r\n"
                ),
                "until the end" => "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".to_owned(),
                _ => String::new(),
            };
            stream
                .write_all(&[head.as_bytes(), &vec![b'a'; LENGTH]].concat())
                .unwrap();
        });
        let account = Budget::new(TOTAL).account();
        let recording = setup_within(Mode::Record, server.address, b"", account.clone());
        let question = if kind == "other" {
            "what\r\n\r\n"
        } else {
            "GET /long HTTP/1.1\r\nHost: h\r\n\r\n"
        };
        let got = ask(recording.address, question.as_bytes());
        assert!(
            got.ends_with(b"aa") && got.len() >= LENGTH,
            "{kind}: {} bytes",
            got.len()
        );
        let recorded = recording.proxy.finish();
        assert_eq!(
            (recorded.exchanges.len(), recorded.counts.dropped),
            (0, 1),
            "{kind}: {:?}",
            recorded.notes
        );
        let notes: Vec<String> = recorded.notes.iter().map(ToString::to_string).collect();
        assert!(
            notes.iter().any(|note| note.contains("--memory-mib")),
            "{kind}: {notes:?}"
        );
        drop(recorded);
        assert_eq!(
            account
                .try_take(TOTAL, Purpose::Small)
                .map(|share| share.bytes()),
            Ok(TOTAL),
            "{kind}"
        );
    }
}

#[test]
fn ended_connections_release_memory() {
    let server = Server::start(|mut stream| {
        until(&mut stream, b"\r\n\r\n");
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
            .unwrap();
    });
    // Memory for four connections and the recorded calls.
    let account =
        Budget::new(4 * replay_base::limits::RECORDED_CONNECTION_BYTES + (2 << 20)).account();
    let recording = setup_within(Mode::Record, server.address, b"", account);
    for _ in 0..100 {
        assert!(ask(recording.address, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n").ends_with(b"ok"));
    }
    let recorded = recording.proxy.finish();
    assert_eq!((recorded.exchanges.len(), recorded.notes), (100, vec![]));
}
