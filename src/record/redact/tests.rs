use std::time::SystemTime;

use pretty_assertions::assert_eq;

use super::*;
use crate::record::exchange::{HttpRequest, HttpResponse, HttpVersion, Message, Protocol, Side, Target, Wire};

fn fields(list: &[(&str, &str)]) -> Vec<(String, Vec<u8>)> {
    list.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect()
}

fn said(protocol: Protocol, session: bool, bytes: &[u8]) -> Vec<u8> {
    let message = Message { from: Side::Client, bytes: bytes.to_vec() };
    let mut all = Wire { messages: vec![message], session };
    wire(protocol, &mut all);
    let once = all.clone();
    wire(protocol, &mut all);
    assert_eq!(all, once, "a second time changes something");
    all.messages[0].bytes.clone()
}

#[test]
fn http_keeps_what_is_no_secret() {
    let headers = [
        ("Host", "a"),
        ("authorization", "Bearer abc.def"),
        ("Proxy-Authorization", "opaque"),
        ("Cookie", "a=1; b=2=3"),
        ("X-API-Key", "k"),
        ("X-My-Auth-Token", "t"),
        ("X-Continuation-Token", "page"),
        ("Content-Type", "application/x-www-form-urlencoded; charset=utf-8"),
        ("Content-Length", "40"),
    ];
    let answer = [
        ("Set-Cookie", "sid=secret; Path=/; HttpOnly"),
        ("Location", "https://b/c?x=1&access_token=abc#f"),
        ("Date", "now"),
    ];
    let mut call = Exchange {
        target: Target { host: "a".to_owned(), port: 80 },
        tls: false,
        connection: 1,
        sent_at: SystemTime::UNIX_EPOCH,
        answered_at: SystemTime::UNIX_EPOCH,
        content: Content::Http(Box::new(Http {
            request: HttpRequest {
                version: HttpVersion::Http11,
                method: "POST".to_owned(),
                scheme: "http".to_owned(),
                authority: "a".to_owned(),
                path: "/t?q=1&Api_Key=abc&empty&access_token=".to_owned(),
                headers: fields(&headers),
                body: b"grant_type=client_credentials&client_secret=x".to_vec(),
            },
            response: Some(HttpResponse {
                version: HttpVersion::Http11,
                status: 302,
                reason: String::new(),
                headers: fields(&answer),
                body: b"access_token=stays".to_vec(),
                trailers: Vec::new(),
            }),
        })),
    };
    exchange(&mut call);
    let once = call.clone();
    exchange(&mut call);
    assert_eq!(call, once);
    let Content::Http(http) = call.content else { panic!() };
    assert_eq!(http.request.path, "/t?q=1&Api_Key=[redacted]&empty&access_token=[redacted]");
    assert_eq!(http.request.body, b"grant_type=client_credentials&client_secret=[redacted]");
    let expected = [
        ("Host", "a"),
        ("authorization", "Bearer [redacted ebb3]"),
        ("Proxy-Authorization", "[redacted 6d22]"),
        ("Cookie", "a=[redacted]; b=[redacted]"),
        ("X-API-Key", "[redacted 8254]"),
        ("X-My-Auth-Token", "[redacted e3b9]"),
        ("X-Continuation-Token", "page"),
        ("Content-Type", "application/x-www-form-urlencoded; charset=utf-8"),
        ("Content-Length", "54"),
    ];
    assert_eq!(http.request.headers, fields(&expected));
    let response = http.response.unwrap();
    let expected = [
        ("Set-Cookie", "sid=[redacted]; Path=/; HttpOnly"),
        ("Location", "https://b/c?x=1&access_token=[redacted]"),
        ("Date", "now"),
    ];
    assert_eq!(response.headers, fields(&expected));
    assert_eq!(response.body, b"access_token=stays");
}

#[test]
fn redis_commands_with_passwords() {
    let resp =
        |words: &[&str]| words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len())).collect::<Vec<_>>().concat();
    let command = |words: &[&str]| format!("*{}\r\n{}", words.len(), resp(words)).into_bytes();
    let cases = [
        (command(&["AUTH", "pw"]), command(&["AUTH", "[redacted]"])),
        (command(&["auth", "me", "pw"]), command(&["auth", "me", "[redacted]"])),
        (
            command(&["HELLO", "3", "AUTH", "me", "pw", "SETNAME", "x"]),
            command(&["HELLO", "3", "AUTH", "me", "[redacted]", "SETNAME", "x"]),
        ),
        (command(&["CONFIG", "SET", "requirepass", "pw"]), command(&["CONFIG", "SET", "requirepass", "[redacted]"])),
        (command(&["SET", "AUTH", "pw"]), command(&["SET", "AUTH", "pw"])),
        (b"AUTH pw\r\n".to_vec(), command(&["AUTH", "[redacted]"])),
        (
            [command(&["GET", "a"]), command(&["AUTH", "pw"])].concat(),
            [command(&["GET", "a"]), command(&["AUTH", "[redacted]"])].concat(),
        ),
        (b"*2\r\n$4\r\nAUTH".to_vec(), b"*2\r\n$4\r\nAUTH".to_vec()),
    ];
    for (asked, expected) in cases {
        assert_eq!(String::from_utf8_lossy(&said(Protocol::Redis, true, &asked)), String::from_utf8_lossy(&expected));
    }
}

#[test]
fn other_databases() {
    assert_eq!(said(Protocol::Postgres, true, b"p\0\0\0\x08abc\0"), b"p\0\0\0\x0f[redacted]\0");
    assert_eq!(said(Protocol::Postgres, false, b"Q\0\0\0\x05\0"), b"Q\0\0\0\x05\0");

    let head = [&(CLIENT_SECURE).to_le_bytes()[..], &[0; 28]].concat();
    let response = |secret: &[u8]| [b"\x30\0\0\x01", &head[..], b"root\0", &[3], secret, b"db\0"].concat();
    assert_eq!(said(Protocol::MySql, true, &response(b"abc")), response(&[0; 3]));
    assert_eq!(said(Protocol::MySql, false, b"\x05\0\0\x01abcde"), b"\x05\0\0\x01abcde");
    assert_eq!(said(Protocol::MySql, false, b"\x09\0\0\0\x11me\0\x02pwdb\0"), b"\x09\0\0\0\x11me\0\x02\0\0db\0");

    let sasl = |secret: &[u8]| {
        [&[0; 21][..], b"\x10saslStart\0\x01\0\0\0\x05payload\0", &[3, 0, 0, 0, 0], secret, b"\0"].concat()
    };
    assert_eq!(said(Protocol::Mongo, true, &sasl(b"abc")), sasl(&[0; 3]));
    let cut = sasl(b"abc");
    for end in 0..cut.len() {
        said(Protocol::Mongo, true, &cut[..end]);
        said(Protocol::MySql, true, &response(b"abc")[..end.min(response(b"abc").len())]);
    }
}

const CLIENT_SECURE: u32 = 0x8000;
