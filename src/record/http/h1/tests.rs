use std::time::SystemTime;

use proptest::prelude::*;

use super::*;
use crate::call::{Content, Exchange, Http, HttpResponse, HttpVersion, Link, Side};

fn link() -> Link {
    Link {
        target: Target {
            host: "a.example".to_owned(),
            port: 80,
        },
        tls: false,
        connection: 1,
    }
}

/// Records these pieces and returns the exchanges.
fn recorded(pieces: &[(Side, &[u8])]) -> Vec<Exchange> {
    let mut tap = Tap::new(link());
    let mut done = Vec::new();
    for (from, bytes) in pieces {
        assert_eq!(
            tap.take(*from, bytes, SystemTime::UNIX_EPOCH, &mut done),
            None
        );
    }
    tap.end(
        ConnectionEnd {
            by: Side::Server,
            server_ended: true,
        },
        SystemTime::UNIX_EPOCH,
        &mut done,
    );
    done
}

const ASKED: &[u8] = b"POST /a HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n5;x\r\nhello\r\n1\r\n!\r\n0\r\n\r\n\
GET /b?c=d HTTP/1.1\r\nHost: a.example\r\n\r\n\r\nHEAD /c HTTP/1.1\r\n\r\nPUT /d HTTP/1.1\nContent-Length: 3\n\nabcGET /e HTTP/1.0\r\n\r\n";
const ANSWERED: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok\
HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nwhy\r\n0\r\nX-T: 1\r\nX-U: 2\r\n\r\n\
HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nHTTP/1.1 204 No Content\r\n\r\nHTTP/1.0 200 OK\r\n\r\nto the end";

#[test]
fn http1_recording_is_equal_at_any_split() {
    let whole = recorded(&[(Side::Client, ASKED), (Side::Server, ANSWERED)]);
    assert_eq!(whole.len(), 5);
    let bodies: Vec<_> = whole
        .iter()
        .map(|exchange| {
            let Content::Http(http) = &exchange.content else {
                panic!("{exchange:?}")
            };
            let Http { request, response } = http.as_ref();
            let response = response.as_ref().unwrap();
            (
                request.body.escape_ascii().to_string(),
                response.status,
                response.body.escape_ascii().to_string(),
            )
        })
        .collect();
    let expected = [
        ("hello!", 200, "ok"),
        ("", 404, "why"),
        ("", 200, ""),
        ("abc", 204, ""),
        ("", 200, "to the end"),
    ];
    assert_eq!(
        bodies,
        expected.map(|(asked, status, body)| (asked.to_owned(), status, body.to_owned()))
    );
    for cut in 0..ASKED.len() {
        let (a, b) = ASKED.split_at(cut);
        assert_eq!(
            recorded(&[
                (Side::Client, a),
                (Side::Client, b),
                (Side::Server, ANSWERED)
            ]),
            whole,
            "{cut}"
        );
    }
    for cut in 0..ANSWERED.len() {
        let (a, b) = ANSWERED.split_at(cut);
        assert_eq!(
            recorded(&[(Side::Client, ASKED), (Side::Server, a), (Side::Server, b)]),
            whole,
            "{cut}"
        );
    }
}

#[test]
fn conflicting_or_invalid_framing_is_malformed() {
    for head in [
        &b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"[..],
        b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n",
        b"NONSENSE\r\n\r\n",
    ] {
        let mut done = Vec::new();
        let lost = Tap::new(link()).take(Side::Client, head, SystemTime::UNIX_EPOCH, &mut done);
        assert_eq!(
            lost,
            Some((ProtocolChange::Lost, head.len())),
            "{}",
            head.escape_ascii()
        );
        let mut questions = RequestParser::new(link(), false);
        questions.waiting.extend_from_slice(head);
        let refused = std::iter::repeat_with(|| questions.next())
            .take(3)
            .find(Result::is_err);
        assert_eq!(refused, Some(Err(Malformed)));
    }
}

fn answer(headers: &[(&str, &str)], body: &[u8], version: HttpVersion) -> HttpResponse {
    HttpResponse {
        version,
        status: 200,
        reason: "OK".to_owned(),
        headers: headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()))
            .collect(),
        body: body.to_vec(),
        ..HttpResponse::default()
    }
}

fn get_request(version: HttpVersion) -> HttpRequest {
    HttpRequest {
        version,
        method: "GET".to_owned(),
        scheme: "http".to_owned(),
        authority: String::new(),
        path: "/".to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
    }
}

#[test]
fn rendered_response_has_framing_for_its_body() {
    use HttpVersion::{Http2, Http10, Http11};
    for (headers, body, recorded, wanted, expected) in [
        // Edited by a person: the length matches the body.
        (
            &[("Content-Length", "3")][..],
            "longer",
            Http11,
            Http11,
            "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nlonger",
        ),
        (
            &[][..],
            "x",
            Http11,
            Http11,
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
        ),
        (
            &[("content-type", "a/b")][..],
            "x",
            Http2,
            Http11,
            "HTTP/1.1 200 OK\r\ncontent-type: a/b\r\nContent-Length: 1\r\n\r\nx",
        ),
        (
            &[("Transfer-Encoding", "chunked")][..],
            "x",
            Http11,
            Http10,
            "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nx",
        ),
        (
            &[("Connection", "close")][..],
            "x",
            Http11,
            Http11,
            "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nx",
        ),
        (
            &[("A\r\nB", "c\r\nd: e")][..],
            "",
            Http11,
            Http11,
            "HTTP/1.1 200 OK\r\nA  B: c  d: e\r\nContent-Length: 0\r\n\r\n",
        ),
    ] {
        let recorded = answer(headers, body.as_bytes(), recorded);
        assert_eq!(
            String::from_utf8(render(&get_request(wanted), &recorded).whole()).unwrap(),
            expected
        );
    }
}

#[test]
fn authority_is_parsed_to_host_and_port() {
    for (text, expected) in [
        ("A.Example.:81", Some(("a.example", 81))),
        ("user:pass@a.example", Some(("a.example", 443))),
        ("[::1]:8443", Some(("::1", 8443))),
        ("[::1]", Some(("::1", 443))),
        ("a.example:", Some(("a.example", 443))),
        ("a.example:70000", None),
        (":80", None),
    ] {
        let expected = expected.map(|(host, port)| Target {
            host: host.to_owned(),
            port,
        });
        assert_eq!(authority(text, 443), expected, "{text}");
    }
}

proptest! {
    /// Arbitrary input never panics and records no more bytes than it contains.
    #[test]
    fn arbitrary_bytes_do_not_panic(pieces in prop::collection::vec((any::<bool>(), prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        Just(ASKED.to_vec()), Just(ANSWERED.to_vec()),
        Just(b"HTTP/1.1 101 X\r\nUpgrade: websocket\r\n\r\n".to_vec()),
        Just(b"CONNECT a:1 HTTP/1.1\r\n\r\n".to_vec()),
    ]), 0..8)) {
        let mut tap = Tap::new(link());
        let mut questions = RequestParser::new(link(), true);
        let mut done = Vec::new();
        for (client, bytes) in &pieces {
            let from = if *client { Side::Client } else { Side::Server };
            if tap.take(from, bytes, SystemTime::UNIX_EPOCH, &mut done).is_some() {
                break;
            }
            questions.waiting.extend_from_slice(bytes);
            while let Ok(Some(_)) = questions.next() {}
        }
        tap.end(ConnectionEnd { by: Side::Client, server_ended: false }, SystemTime::UNIX_EPOCH, &mut done);
        let sent: usize = pieces.iter().map(|(_, bytes)| bytes.len()).sum();
        let kept: usize = done.iter().map(|exchange| match &exchange.content {
            Content::Http(http) => http.request.body.len() + http.response.as_ref().map_or(0, |response| response.body.len()),
            _ => 0,
        }).sum();
        prop_assert!(kept <= sent);
    }
}
