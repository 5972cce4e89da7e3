use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pretty_assertions::assert_eq;
use replay_base::limits::MIN_BODY_APART_BYTES;

use super::document::VERSION;
use super::*;
use crate::call::{
    BodyEnd, Content, Dns, End, Exchange, Framing, Http, HttpRequest, HttpResponse, HttpVersion,
    Message, Protocol, Side, StatementMeta, Target, Wire,
};
use crate::matching::Recording;

const GOLDEN: [(&str, &str); 8] = [
    ("http", include_str!("../../../testdata/calls/http.yaml")),
    (
        "http_body_elsewhere",
        include_str!("../../../testdata/calls/http_body_elsewhere.yaml"),
    ),
    ("http2", include_str!("../../../testdata/calls/http2.yaml")),
    ("grpc", include_str!("../../../testdata/calls/grpc.yaml")),
    ("dns", include_str!("../../../testdata/calls/dns.yaml")),
    (
        "generic",
        include_str!("../../../testdata/calls/generic.yaml"),
    ),
    ("redis", include_str!("../../../testdata/calls/redis.yaml")),
    ("kafka", include_str!("../../../testdata/calls/kafka.yaml")),
];

fn no_body(_: &BodyRef) -> Result<Vec<u8>, String> {
    Err("it is lost".to_owned())
}

fn known_body(reference: &BodyRef) -> Result<Vec<u8>, String> {
    if reference.path == "bodies/mock-0.bin" {
        Ok(b"body".to_vec())
    } else {
        no_body(reference)
    }
}

/// Returns the text of a file, up to the document of this number.
fn golden(name: &str, count: usize) -> String {
    let (_, text) = GOLDEN.iter().find(|(known, _)| *known == name).unwrap();
    text.split("---\n")
        .take(count)
        .collect::<Vec<_>>()
        .join("---\n")
}

/// Returns a call of a file, with any separate body.
fn call(name: &str, index: usize) -> Recording {
    read(name, golden(name, index + 1).as_bytes(), &known_body)
        .unwrap()
        .recordings
        .remove(index)
}

/// Returns the error for a text that is not a file of calls.
fn refused(text: &str) -> String {
    read("f", text.as_bytes(), &no_body)
        .unwrap_err()
        .to_string()
}

fn messages(exchange: &Exchange) -> Vec<(Side, String)> {
    let Content::Wire(_, wire) = &exchange.content else {
        panic!("{exchange:?}")
    };
    wire.messages
        .iter()
        .map(|message| (message.from, message.bytes.escape_ascii().to_string()))
        .collect()
}

fn dialogue(client: &[&str], server: &[&str]) -> Vec<(Side, String)> {
    let client = client.iter().map(|text| (Side::Client, (*text).to_owned()));
    client
        .chain(server.iter().map(|text| (Side::Server, (*text).to_owned())))
        .collect()
}

fn fields(list: &[(&str, &str)]) -> Vec<(String, Vec<u8>)> {
    list.iter()
        .map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()))
        .collect()
}

#[test]
fn keploy_files_convert_without_loss() {
    for (name, _) in GOLDEN
        .iter()
        .filter(|(name, _)| *name != "http_body_elsewhere")
    {
        let calls = read(name, golden(name, 9).as_bytes(), &no_body).unwrap();
        assert_eq!(
            (calls.torn, calls.head, calls.recordings.is_empty()),
            (None, Head::default(), false),
            "{name}"
        );
        let written = write(
            name,
            &Head::default(),
            &calls.recordings,
            &mut BodyFiles::default(),
        )
        .unwrap();
        let again = read(name, &written, &no_body).unwrap();
        assert_eq!(
            again.recordings,
            calls.recordings,
            "{name}:\n{}",
            String::from_utf8_lossy(&written)
        );
    }
}

#[test]
fn keploy_http_call_is_read() {
    let Recording {
        name,
        exchange,
        reusable,
        noise,
        named,
        worker: _,
    } = call("http", 0);
    assert_eq!((name.as_str(), reusable, named), ("mock-0", false, true));
    let noise = noise.unwrap();
    assert_eq!(
        (noise.fields, noise.values),
        (vec!["body.amount".to_owned()], vec!["^ch_".to_owned()])
    );
    let sent_at = UNIX_EPOCH + Duration::new(1_729_676_045, 123_456_789);
    let request_headers = [
        ("Accept", "application/json"),
        ("Content-Length", "19"),
        ("Content-Type", "application/json"),
        ("Host", "api.stripe.com"),
    ];
    let response_headers = [
        ("Content-Encoding", "gzip"),
        ("Content-Type", "application/json; charset=utf-8"),
        ("Set-Cookie", "a=1,b=2"),
    ];
    let expected = Exchange {
        target: Target {
            host: "api.stripe.com".to_owned(),
            port: 0,
        },
        tls: false,
        connection: 3,
        sent_at,
        answered_at: sent_at + Duration::from_millis(100),
        end: End::Answered,
        content: Content::Http(Box::new(Http {
            request: HttpRequest {
                version: HttpVersion::Http11,
                method: "POST".to_owned(),
                scheme: "http".to_owned(),
                authority: "api.stripe.com".to_owned(),
                path: "/v1/charges?expand=card".to_owned(),
                headers: fields(&request_headers),
                body: b"{\"amount\": 100}".to_vec(),
            },
            response: Some(HttpResponse {
                version: HttpVersion::Http11,
                status: 200,
                reason: "OK".to_owned(),
                headers: fields(&response_headers),
                body: b"{\n  \"id\": \"ch_1\",\n  \"on\": true\n}\n".to_vec(),
                ..HttpResponse::default()
            }),
        })),
    };
    assert_eq!(exchange, expected);

    let older = call("http", 1);
    let Content::Http(http) = &older.exchange.content else {
        panic!()
    };
    assert_eq!(
        (http.request.path.as_str(), http.request.version),
        ("/logo.png", HttpVersion::Http10)
    );
    assert_eq!(
        older.exchange.target,
        Target {
            host: "localhost".to_owned(),
            port: 8081
        }
    );
    assert_eq!(
        (older.reusable, older.noise.unwrap().values),
        (true, vec![r"^\d+$".to_owned()])
    );
    assert_eq!(http.response.as_ref().unwrap().body, b"\x89PNG\r\n\x1a\n");
}

#[test]
fn separate_body_errors_name_field() {
    let one = golden("http_body_elsewhere", 1);
    let Content::Http(http) = call("http_body_elsewhere", 0).exchange.content else {
        panic!()
    };
    assert_eq!(http.request.body, b"body");
    let told = |text: &str, bodies: BodyLoader<'_>| {
        read("f", text.as_bytes(), bodies).unwrap_err().to_string()
    };
    let place = "f:12: `spec.req.body_ref`: the body in `bodies/mock-0.bin`";
    assert_eq!(
        told(&one, &no_body),
        format!("{place} cannot be read: it is lost")
    );
    assert_eq!(
        told(&one, &|_| Ok(b"bod".to_vec())),
        format!("{place} has 3 bytes, and had 4")
    );
    assert_eq!(
        told(
            &one.replace("path: bodies/mock-0.bin", "path: ''"),
            &known_body
        ),
        "f:12: `spec.req.body_ref.path`: expected the path of a body of 4 bytes, got ``"
    );
    // A complete document without its body does not count as truncated.
    assert_eq!(
        told(&golden("http_body_elsewhere", 2), &known_body),
        "f:33: `spec.resp.body_skipped`: the body was too large and was not recorded"
    );
}

#[test]
fn keploy_http2_grpc_dns_are_read() {
    let http2 = call("http2", 0).exchange;
    assert_eq!(
        (http2.target.to_string(), http2.tls),
        ("users.example.com:8443".to_owned(), true)
    );
    let Content::Http(http) = &http2.content else {
        panic!()
    };
    assert_eq!(
        http.response.as_ref().unwrap().trailers,
        fields(&[("x-checksum", "abc")])
    );

    let grpc = call("grpc", 0).exchange;
    assert_eq!(grpc.target.to_string(), "localhost:50051");
    let Content::Grpc(http) = &grpc.content else {
        panic!()
    };
    assert_eq!(http.request.body, b"\0\0\0\0\x07\x0a\x05world");
    let response = http.response.as_ref().unwrap();
    assert_eq!(response.body, b"\0\0\0\0\x0d\x0a\x0bHello world");
    assert_eq!(
        response.trailers,
        fields(&[("grpc-message", ""), ("grpc-status", "0")])
    );

    let names: Vec<_> = (0..2)
        .map(|index| call("dns", index).exchange.content)
        .collect();
    let dns = |name: &str, kind: &str, code, answers: &[&str]| {
        let answers = answers.iter().map(|it| (*it).to_owned()).collect();
        Content::Dns(Dns {
            name: name.to_owned(),
            kind: kind.to_owned(),
            code,
            answers,
        })
    };
    assert_eq!(
        names,
        [
            dns("google.com", "A", 0, &["google.com.\t3600\tIN\tA\t1.2.3.4"]),
            dns("no.such", "AAAA", 3, &[])
        ]
    );
}

#[test]
fn keploy_generic_redis_kafka_are_read() {
    let generic = call("generic", 0);
    assert_eq!(
        messages(&generic.exchange),
        dialogue(&["PING\\r\\n"], &["PONG\\r\\n\\x00\\xff"])
    );
    assert!(generic.reusable);
    let redis = call("redis", 0).exchange;
    assert_eq!(
        messages(&redis),
        dialogue(
            &["*2\\r\\n$3\\r\\nGET\\r\\n$1\\r\\na\\r\\n"],
            &["$2\\r\\n\\xff\\x00\\r\\n"]
        )
    );
    assert_eq!(
        messages(&call("kafka", 0).exchange),
        dialogue(&["\\x00\\x00\\x00\\x01"], &["\\x00\\x00\\x00\\x02"])
    );
}

#[test]
fn keploy_database_calls_are_refused_with_hint() {
    for kind in ["Postgres", "PostgresV2", "PostgresV3", "MySQL", "Mongo"] {
        let text = format!(
            "version: {VERSION}\nkind: {kind}\nname: mock-0\nspec:\n    metadata: {{type: mocks}}\n"
        );
        let error = read("f", text.as_bytes(), &no_body).unwrap_err();
        let told = format!(
            "f:5: `spec`: a call of kind `{kind}` as Keploy writes it cannot be answered again; HTTP, gRPC and Redis can"
        );
        assert_eq!(error.to_string(), told);
        assert_eq!(
            error.hint(),
            "record it again with `replay calls record -- COMMAND`"
        );
        // Nor is it skipped as a truncated document.
        assert_eq!(
            refused(&format!("{}---\n{text}", golden("redis", 1))),
            told.replace("f:5", "f:24")
        );
    }
}

#[test]
fn other_format_versions_are_refused_with_hint() {
    let ours = String::from_utf8(
        write("f", &Head::default(), &ours(), &mut BodyFiles::default()).unwrap(),
    )
    .unwrap();
    for (format, told) in [
        (
            "",
            "f:1: an earlier version wrote the file, in a format that is not supported any more",
        ),
        ("# replay: 2\n", "f:2: expected format 3 or 4, got `2`"),
    ] {
        let error = read(
            "f",
            ours.replacen("# replay: 4\n", format, 1).as_bytes(),
            &no_body,
        )
        .unwrap_err();
        let hint = "record it again with `replay calls record -- COMMAND`";
        assert_eq!(
            (error.to_string().as_str(), error.hint().as_str()),
            (told, hint)
        );
    }
}

/// Returns one call of each recorded kind, with data that the fields of the kinds cannot hold.
fn ours() -> Vec<Recording> {
    let at =
        |millis: u64| SystemTime::UNIX_EPOCH + Duration::from_millis(1_704_067_200_000 + millis);
    let exchange = |content| Exchange {
        target: Target {
            host: "db.internal".to_owned(),
            port: 5432,
        },
        tls: true,
        connection: 12,
        sent_at: at(1),
        answered_at: at(20),
        end: End::Answered,
        content,
    };
    let http = |version, trailers: &[(&str, &str)]| Http {
        request: HttpRequest {
            version,
            method: "POST".to_owned(),
            scheme: "https".to_owned(),
            authority: "h:1".to_owned(),
            path: "/a?b=1#: x".to_owned(),
            headers: vec![
                ("X-Two".to_owned(), b"1".to_vec()),
                ("host".to_owned(), b"h:1".to_vec()),
                ("X-Two".to_owned(), b"\xff2".to_vec()),
                ("yes".to_owned(), b"no".to_vec()),
            ],
            body: b"{\"a\":\r\n 1}".to_vec(),
        },
        response: Some(HttpResponse {
            version,
            status: 200,
            reason: if version == HttpVersion::Http11 {
                "OK: fine".to_owned()
            } else {
                String::new()
            },
            headers: fields(&[
                ("Set-Cookie", "a=1; Expires=Thu, 01 Jan 1970"),
                ("Set-Cookie", "b=2"),
            ]),
            body: vec![0xff; 200],
            trailers: fields(trailers),
            ..HttpResponse::default()
        }),
    };
    let wire = |protocol, parts: &[(Side, &[u8])], session| {
        let messages = parts
            .iter()
            .map(|(from, bytes)| Message {
                from: *from,
                bytes: bytes.to_vec(),
            })
            .collect();
        let meta = StatementMeta::default();
        let wire = Wire {
            messages,
            session,
            meta,
            ..Wire::default()
        };
        Content::Wire(protocol, wire)
    };
    let (client, server) = (Side::Client, Side::Server);
    let mut unanswered = http(HttpVersion::Http11, &[]);
    unanswered.response = None;
    let mut grpc = http(HttpVersion::Http2, &[("grpc-status", "0")]);
    grpc.request.body = b"\0\0\0\0\x02\x08\x01\x01\0\0\0\x01\xff".to_vec();
    if let Some(response) = &mut grpc.response {
        response.body = b"\0\0\0\0\x05\x0a\x03abc".to_vec();
    }
    let dns = Dns {
        name: "a.b".to_owned(),
        kind: "A".to_owned(),
        code: 3,
        answers: vec!["a.b.\t1\tIN\tA\t1.2.3.4".to_owned()],
    };
    let contents = vec![
        Content::Http(Box::new(http(HttpVersion::Http11, &[("X-T", "1")]))),
        Content::Http(Box::new(http(
            HttpVersion::Http2,
            &[("X-T", "1"), ("X-T", "2")],
        ))),
        Content::Http(Box::new(unanswered)),
        Content::Grpc(Box::new(grpc)),
        Content::Dns(dns),
        wire(
            Protocol::Generic,
            &[
                (server, b"hello\r\n"),
                (client, b"\xff\0"),
                (server, b""),
                (client, b"x: y\n"),
            ],
            false,
        ),
        wire(
            Protocol::Redis,
            &[(client, b"*1\r\n$4\r\nPING\r\n"), (server, b"+PONG\r\n")],
            true,
        ),
        wire(
            Protocol::Postgres,
            &[
                (client, b"Q\0\0\0\x0dSELECT 1\0"),
                (server, b"C\0\0\0\x05\0"),
                (server, b"Z\0\0\0\x05I"),
            ],
            false,
        ),
        wire(
            Protocol::Postgres,
            &[
                (client, b"\0\0\0\x08\x04\xd2\x16\x2f"),
                (server, b"N"),
                (client, b"p\0\0\0\x05\0"),
            ],
            true,
        ),
        wire(
            Protocol::MySql,
            &[
                (server, b"\x05\0\0\0\x0a8.0\0"),
                (client, b"\x01\0\0\x01\x01"),
                (server, b"\x07\0\0\x02\0\0\0\x02\0\0\0"),
            ],
            true,
        ),
        wire(
            Protocol::Mongo,
            &[
                (client, b"\x10\0\0\0\x01\0\0\0\0\0\0\0\xdd\x07\0\0"),
                (server, b"junk"),
            ],
            false,
        ),
    ];
    let mut recordings = Recording::number(contents.into_iter().map(exchange).collect());
    if let Content::Wire(_, wire) = &mut recordings[7].exchange.content {
        wire.meta = StatementMeta {
            types: vec![23, 4_294_967_295],
            results: vec![0, 1],
            bound: "57a679b279266a070570b51de40d67a7".to_owned(),
            rows_before: 50,
        };
    }
    for (recording, body_end) in recordings
        .iter_mut()
        .zip([BodyEnd::CutOff, BodyEnd::Truncated])
    {
        if let Content::Http(http) = &mut recording.exchange.content
            && let Some(response) = &mut http.response
        {
            (response.body_end, response.is_coded) = (body_end, true);
        }
    }
    // Names are always reusable.
    recordings[4].reusable = true;
    recordings[0].noise = Some(DeclaredNoise {
        fields: vec!["body.a".to_owned()],
        ..DeclaredNoise::default()
    });
    for (recording, name) in recordings
        .iter_mut()
        .filter(|it| matches!(it.exchange.content, Content::Wire(..)))
        .zip(1..)
    {
        let fields = vec![format!("arg.{name}"), "body.filter.at".to_owned()];
        recording.noise = Some(DeclaredNoise {
            fields,
            values: vec!["^[0-9a-f]{8}-".to_owned()],
        });
    }
    recordings
}

fn our_file() -> Vec<u8> {
    write(
        "mocks.yaml",
        &Head::default(),
        &ours(),
        &mut BodyFiles::default(),
    )
    .unwrap()
}

#[test]
fn recordings_round_trip() {
    let calls = read("mocks.yaml", &our_file(), &no_body).unwrap();
    assert_eq!((calls.torn, calls.recordings), (None, ours()));
}

#[test]
fn format_3_body_notes_move_from_fields() {
    let expected = &ours()[..2];
    let mut earlier = expected.to_vec();
    for (recording, end) in earlier
        .iter_mut()
        .zip(["cut off by the client", "truncated"])
    {
        let Content::Http(http) = &mut recording.exchange.content else {
            panic!()
        };
        let response = http.response.as_mut().unwrap();
        (response.body_end, response.is_coded) = (BodyEnd::Complete, false);
        response.headers.extend(fields(&[
            ("X-Replay-Body", end),
            ("X-Replay-Body", "coded"),
        ]));
    }

    let file = write("f", &Head::default(), &earlier, &mut BodyFiles::default()).unwrap();
    let text = String::from_utf8(file).unwrap();
    let read_as = |format: &str| {
        let file = text.replacen("# replay: 4\n", format, 1);
        read("f", file.as_bytes(), &no_body).unwrap().recordings
    };
    assert_eq!(read_as("# replay: 3\n"), expected);
    assert_eq!(read_as("# replay: 4\n"), earlier);
}

#[test]
fn large_bodies_round_trip_through_separate_files() {
    let large = |byte: u8| vec![byte; MIN_BODY_APART_BYTES];
    let mut recordings = ours();
    for recording in &mut recordings {
        match &mut recording.exchange.content {
            Content::Http(http) | Content::Grpc(http) => {
                http.request.body = large(b'q');
                if let Some(response) = &mut http.response {
                    response.body = [large(b'a'), vec![0xff]].concat();
                }
            }
            Content::Dns(_) => {}
            Content::Wire(protocol, wire) => {
                let from = Side::Server;
                wire.messages.insert(
                    1,
                    Message {
                        from,
                        bytes: large(protocol.word().as_bytes()[0]),
                    },
                );
            }
        }
    }
    let mut apart = BodyFiles::default();
    let file = write("mocks.yaml", &Head::default(), &recordings, &mut apart).unwrap();
    assert!(file.len() < 32 * 1024, "{} bytes", file.len());
    // Two bodies that all HTTP calls share, and the messages of each other call.
    let files: std::collections::BTreeMap<String, Vec<u8>> = apart
        .files()
        .map(|(path, bytes)| (path.to_owned(), bytes.to_vec()))
        .collect();
    assert_eq!(files.len(), 2 + 6);
    assert_eq!(
        apart.bytes(),
        files.values().map(|bytes| bytes.len() as u64).sum::<u64>()
    );
    let there = |reference: &BodyRef| Ok(files[&reference.path].clone());
    assert_eq!(
        read("mocks.yaml", &file, &there).unwrap().recordings,
        recordings
    );

    let changed = |reference: &BodyRef| {
        let mut bytes = files[&reference.path].clone();
        bytes[0] ^= 1;
        Ok(bytes)
    };
    let told = |index: usize| {
        let one = write(
            "f",
            &Head::default(),
            &recordings[index..=index],
            &mut BodyFiles::default(),
        )
        .unwrap();
        let FileError::Broken { problem, .. } = read("f", &one, &changed).unwrap_err() else {
            panic!("{index}")
        };
        problem
    };
    let places = [0, 1, 3, 5].map(told);
    let expected = [
        "spec.req.body_ref",
        "spec.req.body_ref",
        "spec.grpcReq.body_ref",
        "spec.messages_ref",
    ];
    assert_eq!(
        places.each_ref().map(|problem| problem.path.as_str()),
        expected
    );
    let hash = &files.iter().find(|(_, bytes)| bytes[0] == b'q').unwrap().0;
    assert_eq!(
        places[0].message,
        format!("the body in `{hash}` was changed: its SHA-256 differs from its name")
    );
    // Smaller bodies stay in the file.
    let mut apart = BodyFiles::default();
    write("f", &Head::default(), &ours(), &mut apart).unwrap();
    assert_eq!(apart, BodyFiles::default());
}

#[test]
fn written_file_layout_matches_snapshot() {
    let file = String::from_utf8(our_file()).unwrap();
    // The first line has the program's version.
    insta::assert_snapshot!("ours", file.split_once('\n').unwrap().1);
}

#[test]
fn truncated_file_is_detected_at_any_length() {
    // One call per encoding of bytes, since parsing all calls for each length would be slow.
    let all: Vec<Recording> = ours().into_iter().skip(3).step_by(2).take(4).collect();
    let whole = write("f", &Head::default(), &all, &mut BodyFiles::default()).unwrap();
    for end in 0..whole.len() {
        match read("f", &whole[..end], &no_body) {
            Ok(calls) => {
                let count = calls.recordings.len();
                assert_eq!(calls.recordings, all[..count], "cut at {end}");
                // Either the cut is reported, or it is between two documents.
                let text = &whole[..end];
                let between = whole[end..].starts_with(b"---\n")
                    || whole[end..].starts_with(b"\n---\n")
                    || whole[end..].starts_with(b"\n")
                    || text.ends_with(b"\n-")
                    || text.ends_with(b"\n--")
                    || text.ends_with(b"\n---")
                    || text.ends_with(b"\n---\n");
                assert!(
                    calls.torn.is_some() || count == 0 && end < 60 || between || count == all.len(),
                    "cut at {end}"
                );
            }
            Err(FileError::Broken {
                problem, whole: 0, ..
            }) => assert!(problem.line > 0, "cut at {end}"),
            Err(other) => panic!("cut at {end}: {other}"),
        }
    }
}

#[test]
fn broken_document_error_names_line_and_field() {
    let good = "version: api.keploy.io/v1beta1\nkind: DNS\nname: mock-1\nspec:\n    request:\n        name: a.\n    response: {}\n";
    let cases = [
        (
            good.replace("v1beta1", "v2"),
            "f:1: `version`: expected `api.keploy.io/v1beta1`, got `api.keploy.io/v2`",
        ),
        (
            good.replace("kind: DNS\n", ""),
            "f:1: the document lacks `kind`",
        ),
        (
            good.replace("        name: a.\n", "        nam: a.\n"),
            "f:6: `spec.request`: missing field `name`",
        ),
        (
            good.replace("response: {}", "response: {answers: 3}"),
            "f:7: `spec.response.answers`: expected a list, got `3`",
        ),
        (
            good.replace("response: {}", "response: {}\n    resTimestampMock: x"),
            "f:8: `spec.resTimestampMock`: expected a time such as 2026-01-31T12:00:00.5Z, got `x`",
        ),
        (
            "hello\n".to_owned(),
            "f:1: a recorded call is a mapping with `version`, `kind` and `spec`",
        ),
        (
            "- 1\n".to_owned(),
            "f:1: a recorded call is a mapping with `version`, `kind` and `spec`",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(refused(&text), expected);
    }
    let bytes = [good.as_bytes(), b"# \xff\n"].concat();
    assert_eq!(
        read("f", &bytes, &no_body).unwrap_err().to_string(),
        "f:8: bytes that are not UTF-8, which YAML is written in"
    );

    let broken = good.replace("DNS", "[");
    let middle = format!("{good}---\n{broken}---\n{good}");
    let error = read("f", middle.as_bytes(), &no_body).unwrap_err();
    let FileError::Broken { problem, whole, .. } = &error else {
        panic!("{error}")
    };
    assert!(problem.line > 8 && problem.line < 17, "{error}");
    assert_eq!(
        (*whole, error.hint().as_str()),
        (
            1,
            "correct that document or remove it; the 1 before it are valid"
        )
    );

    let last = read("f", format!("{good}---\n{broken}").as_bytes(), &no_body).unwrap();
    assert_eq!(
        (
            last.recordings.len(),
            last.lines.as_slice(),
            last.torn.is_some()
        ),
        (1, &[1][..], true)
    );
    let empty = write("f", &Head::default(), &[], &mut BodyFiles::default()).unwrap();
    for nothing in [&b""[..], b"# Generated by Keploy (1)\n", &empty] {
        assert_eq!(read("f", nothing, &no_body).unwrap(), CallsFile::default());
    }
}

#[test]
fn file_header_holds_redactions_and_noise() {
    let text =
        "redact:\n    - ACME-4711\n    - '/ref-[0-9]+/'\nnoise:\n    value:\n        - '^x'\n---\n";
    let file = format!("# Generated by another\n{text}{}", golden("redis", 1));
    let calls = read("f", file.as_bytes(), &no_body).unwrap();
    let texts = |list: &[&str]| list.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let head = Head {
        command: Some(CommandMark::of("true")),
        redact: texts(&["ACME-4711", "/ref-[0-9]+/"]),
        noise: DeclaredNoise {
            values: texts(&["^x"]),
            ..DeclaredNoise::default()
        },
    };
    assert_eq!(
        calls.head,
        Head {
            command: None,
            ..head.clone()
        }
    );
    let written = write("f", &head, &calls.recordings, &mut BodyFiles::default()).unwrap();
    assert!(
        String::from_utf8_lossy(&written).contains(text),
        "{}",
        written.escape_ascii()
    );
    let again = read("f", &written, &no_body).unwrap();
    assert_eq!((again.head, again.recordings), (head, calls.recordings));

    let unknown = text.replace("redact:", "redacted:");
    assert_eq!(
        refused(&unknown),
        "f:2: expected `redact`, `noise`, or a recorded call, got `redacted`"
    );
    assert_eq!(
        refused("noise:\n    request: [a]\n"),
        "f:2: `noise`: expected `req` or `value`, got `request`"
    );
    assert_eq!(
        refused("redact: a\n"),
        "f:1: `redact`: expected a list, got `a`"
    );
    let behind = format!("{}---\n{text}", golden("redis", 1));
    assert_eq!(
        refused(&format!("{behind}{behind}")),
        "f:19: settings for all calls must come before the first call"
    );
}

#[test]
fn with_noise_changes_only_noise_lines() {
    let noise = |field: &str| DeclaredNoise {
        fields: vec![field.to_owned()],
        ..DeclaredNoise::default()
    };
    let with = |text: &str, noise: &[Option<DeclaredNoise>]| {
        with_noise("f", text.as_bytes(), noise).map(|bytes| String::from_utf8(bytes).unwrap())
    };
    let theirs = golden("http", 9);
    let list = theirs.replace(
        "noise:\n    - ^\\d+$\n",
        "noise:\n    req:\n        - query.t\n",
    );
    assert_eq!(
        with(&theirs, &[None, Some(noise("query.t"))]).unwrap(),
        list
    );
    let map = "noise:\n    req:\n        - body.amount\n    value:\n        - ^ch_\n";
    let put = "noise:\n    req:\n        - query.t\n";
    assert_eq!(
        with(&theirs, &[Some(noise("query.t"))]).unwrap(),
        theirs.replace(map, put)
    );
    // The header, the comment and the last key keep their places.
    let ours = format!(
        "redact: [a]\n---\n# By hand\n{}connectionId: '1'\n",
        golden("redis", 1)
    );
    let expected = ours.replace(
        "connectionId",
        "noise:\n    req:\n        - arg.2\nconnectionId",
    );
    assert_eq!(with(&ours, &[Some(noise("arg.2"))]).unwrap(), expected);
    let braces = "{version: api.keploy.io/v1beta1, kind: DNS, name: a, spec: {}}\n";
    assert_eq!(with(braces, &[None]).unwrap(), braces);
    assert!(with(braces, &[Some(noise("arg.2"))]).is_err());
}

#[test]
fn read_refuses_file_above_size_limit() {
    let bytes = vec![b'\n'; usize::try_from(MAX_CALLS_FILE_BYTES).unwrap() + 1];
    let error = read("f", &bytes, &no_body).unwrap_err();
    assert_eq!(
        error.to_string(),
        "f: 268435457 bytes; a file of calls may have at most 268435456"
    );
}

/// Returns a call whose last messages came unasked after these delays.
fn pushing(protocol: Protocol, said: &[(Side, &[u8])], pushed: &[Duration]) -> Recording {
    let messages = said.iter().map(|(from, bytes)| Message {
        from: *from,
        bytes: bytes.to_vec(),
    });
    let mut recording = ours().remove(0);
    recording.noise = None;
    recording.exchange.content = Content::Wire(
        protocol,
        Wire {
            messages: messages.collect(),
            pushed: pushed.to_vec(),
            ..Wire::default()
        },
    );
    recording.exchange.end = End::Answered;
    recording
}

#[test]
fn frames_of_unknown_protocol_round_trip() {
    let framing = Framing([4, 4, 1, 8, 2, 6, 6]);
    let said: [(Side, &[u8]); 2] = [(Side::Client, b"ask\n"), (Side::Server, b"ok\n")];
    let recordings = [pushing(Protocol::Framed(framing), &said, &[])];
    let file = write(
        "f",
        &Head::default(),
        &recordings,
        &mut BodyFiles::default(),
    )
    .unwrap();
    assert_eq!(read("f", &file, &no_body).unwrap().recordings, recordings);

    let text = String::from_utf8(file).unwrap();
    let protocol = |text: &str| {
        let read = read("f", text.as_bytes(), &no_body);
        read.map(|file| file.recordings[0].exchange.content.protocol())
    };
    let lines = text.split_inclusive('\n');
    let without: String = lines.filter(|line| !line.contains("frames:")).collect();
    assert_eq!(protocol(&without), Ok(Protocol::Generic));
    for broken in ["4 4 1 8 2 6", "4 3 1 8 2 6 6", "4 4 1 8 3 6 6"] {
        let error = protocol(&text.replace("4 4 1 8 2 6 6", broken)).unwrap_err();
        let expected = format!(
            "f:12: `spec.metadata.frames`: expected seven numbers such as `0 4 0 4 4 4 4`, got \
             `{broken}`"
        );
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn unasked_messages_keep_their_delays() {
    let said: [(Side, &[u8]); 4] = [
        (Side::Client, b"sub\n"),
        (Side::Server, b"ok\n"),
        (Side::Server, b"a\n"),
        (Side::Server, b""),
    ];
    let delays = [Duration::from_nanos(1), Duration::new(5, 999_999_999)];
    let recording = pushing(Protocol::Generic, &said, &delays);
    let mut large = recording.clone();
    let Content::Wire(_, wire) = &mut large.exchange.content else {
        panic!()
    };
    wire.messages[2].bytes = vec![b'x'; MIN_BODY_APART_BYTES];
    let (recordings, mut apart) = ([recording, large], BodyFiles::default());
    let file = write("f", &Head::default(), &recordings, &mut apart).unwrap();
    let body = |reference: &BodyRef| {
        let file = apart.files().find(|(path, _)| *path == reference.path);
        Ok(file.unwrap().1.to_vec())
    };
    assert_eq!(read("f", &file, &body).unwrap().recordings, recordings);

    let text = String::from_utf8(file).unwrap();
    let broken = text.replacen("1 5999999999", "1 2 3 4", 1);
    assert_eq!(
        read("f", broken.as_bytes(), &body).unwrap_err().to_string(),
        "f:12: `spec.metadata.pushedAfterNs`: expected at most 3 numbers, for the server's last \
         messages, got `1 2 3 4`"
    );
}

#[test]
fn notifications_of_earlier_sets_are_unasked() {
    let ready = b"Z\0\0\0\x05I";
    let notification = b"A\0\0\0\x10\0\0\0\x07news\0hi\0";
    let said: [(Side, &[u8]); 5] = [
        (Side::Client, b"Q\0\0\0\x10LISTEN news\0"),
        (Side::Server, b"C\0\0\0\x0bLISTEN\0"),
        (Side::Server, ready),
        (Side::Server, notification),
        (Side::Server, notification),
    ];
    let earlier = pushing(Protocol::Postgres, &said, &[]);
    let Exchange {
        sent_at,
        answered_at,
        ..
    } = earlier.exchange;
    let answered = answered_at.duration_since(sent_at).unwrap();
    let file = write("f", &Head::default(), &[earlier], &mut BodyFiles::default()).unwrap();
    assert_eq!(
        read("f", &file, &no_body).unwrap().recordings,
        [pushing(Protocol::Postgres, &said, &[answered; 2])]
    );
}
