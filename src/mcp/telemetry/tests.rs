//! Spans that are sent to collectors of the tests' own.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread::spawn;
use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use replay_base::limits::{MAX_WAITING_SPANS, SPANS_PER_EXPORT};
use replay_network::http_client::HttpTarget;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, socket_with};
use serde_json::{Value, json};

use super::*;
use crate::protocol::TraceContext;

const LONG: Duration = Duration::from_mins(1);
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

/// One request: its head, and its body as JSON.
fn request(stream: &mut TcpStream) -> (String, Value) {
    stream.set_read_timeout(Some(LONG)).unwrap();
    let mut bytes = Vec::new();
    let mut piece = [0; 8 * 1024];
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .split("Content-Length: ")
                .nth(1)
                .unwrap()
                .split("\r\n")
                .next()
                .unwrap();
            if body.len() >= length.parse().unwrap() {
                return (head.to_owned(), serde_json::from_str(body).unwrap());
            }
        }
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0, "the request ends too early");
        bytes.extend_from_slice(&piece[..count]);
    }
}

/// A collector that answers these one after the other, and tells what came. Dropping the receiver
/// ends nothing.
fn collector(answers: Vec<&'static str>) -> (Settings, Receiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let settings = settings(listener.local_addr().unwrap().port());
    let (tell, told) = channel();
    spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = tell.send(request(&mut stream));
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    (settings, told)
}

fn settings(port: u16) -> Settings {
    Settings {
        target: HttpTarget::parse(&format!("http://127.0.0.1:{port}/v1/traces")).unwrap(),
        trust: None,
        proxy: None,
        headers: "X-Own: value\r\n".to_owned(),
        timeout: LONG,
        sampler: Sampler::default(),
        resource: vec![("service.name".into(), "test".to_owned())],
    }
}

fn spans(body: &Value) -> &Vec<Value> {
    body["resourceSpans"][0]["scopeSpans"][0]["spans"]
        .as_array()
        .unwrap()
}

#[test]
fn export_follows_otlp() {
    let (settings, told) = collector(vec![OK]);
    let port = settings.target.port;
    let tracer = Tracer::start(settings).unwrap();
    let context = TraceContext::parse(
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        Some("a=1"),
    )
    .unwrap();
    let mut span = tracer.begin(Some(&context)).unwrap();
    span.rename("tools/call x".to_owned());
    span.set("mcp.method.name", "tools/call");
    span.set("long", "x".repeat(1000));
    span.went(Some(Failure {
        kind: "tool_error".into(),
        message: "so".to_owned(),
    }));
    drop(span);
    let mut root = tracer.begin(None).unwrap();
    root.rename("ping".to_owned());
    root.went(None);
    drop(root);
    tracer.end();
    assert_eq!(tracer.counts(), (2, 0));
    let (head, mut body) = told.recv_timeout(LONG).unwrap();
    let length = head
        .split("Content-Length: ")
        .nth(1)
        .unwrap()
        .split("\r\n")
        .next()
        .unwrap();
    let expected = format!(
        "POST /v1/traces HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nContent-Length: {length}\r\n\
         Content-Type: application/json\r\nX-Own: value"
    );
    assert_eq!(head, expected);
    for index in 0..2 {
        let span = &mut body["resourceSpans"][0]["scopeSpans"][0]["spans"][index];
        let time = |name: &str| span[name].as_str().unwrap().parse::<u64>().unwrap();
        assert!(time("startTimeUnixNano") <= time("endTimeUnixNano"));
        let hexadecimal = |name: &str, length| {
            let text = span[name].as_str().unwrap();
            assert!(
                text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit()),
                "{name}: {text}"
            );
        };
        hexadecimal("spanId", 16);
        hexadecimal("traceId", 32);
        for name in ["startTimeUnixNano", "endTimeUnixNano", "spanId"] {
            span[name] = json!("");
        }
    }
    body["resourceSpans"][0]["scopeSpans"][0]["spans"][1]["traceId"] = json!("");
    let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let expected = json!({"resourceSpans": [{
        "resource": {"attributes": [text("service.name", "test")]},
        "scopeSpans": [{
            "scope": {"name": "replay", "version": env!("CARGO_PKG_VERSION")},
            "spans": [
                {
                    "traceId": "4bf92f3577b34da6a3ce929d0e0e4736",
                    "spanId": "",
                    "traceState": "a=1",
                    "parentSpanId": "00f067aa0ba902b7",
                    "flags": 0x301,
                    "name": "tools/call x",
                    "kind": 2,
                    "startTimeUnixNano": "",
                    "endTimeUnixNano": "",
                    "attributes": [
                        text("mcp.method.name", "tools/call"),
                        text("long", &"x".repeat(256)),
                        text("error.type", "tool_error"),
                    ],
                    "status": {"code": 2, "message": "so"},
                },
                {
                    "traceId": "",
                    "spanId": "",
                    "flags": 0x101,
                    "name": "ping",
                    "kind": 2,
                    "startTimeUnixNano": "",
                    "endTimeUnixNano": "",
                    "attributes": [],
                    "status": {},
                },
            ],
        }],
    }]});
    assert_eq!(body, expected);
}

#[test]
fn retryable_failure_is_retried() {
    let busy = "HTTP/1.1 503 x\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n";
    let partly = "HTTP/1.1 200 OK\r\n\r\n{\"partialSuccess\":{\"rejectedSpans\":\"1\",\"errorMessage\":\"no\"}}";
    let (settings, told) = collector(vec![busy, partly]);
    let tracer = Tracer::start(settings).unwrap();
    // So many that they are not waited for.
    for _ in 0..SPANS_PER_EXPORT {
        drop(tracer.begin(None));
    }
    let first = told.recv_timeout(LONG).unwrap();
    let second = told.recv_timeout(LONG).unwrap();
    assert_eq!(spans(&first.1).len(), SPANS_PER_EXPORT);
    assert_eq!(first, second);
    tracer.end();
    assert_eq!(tracer.counts(), (SPANS_PER_EXPORT as u64 - 1, 1));
}

#[test]
fn rejected_spans_are_dropped_and_counted() {
    let (settings, told) = collector(vec!["HTTP/1.1 400 x\r\nContent-Length: 0\r\n\r\n"]);
    let tracer = Tracer::start(settings).unwrap();
    drop(tracer.begin(None));
    tracer.end();
    assert_eq!(
        (told.recv_timeout(LONG).is_ok(), tracer.counts()),
        (true, (0, 1))
    );
    // Spans after the end are dropped.
    drop(tracer.begin(None));
    assert_eq!(tracer.counts(), (0, 2));
}

#[test]
fn absent_collector_blocks_no_request() {
    // Nobody else can have its port, and nobody listens there.
    let held = socket_with(
        AddressFamily::INET,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    bind(&held, &"127.0.0.1:0".parse::<SocketAddr>().unwrap()).unwrap();
    let address: SocketAddr = getsockname(&held).unwrap().try_into().unwrap();
    let tracer = Tracer::start(settings(address.port())).unwrap();
    drop(tracer.begin(None));
    tracer.end();
    assert_eq!(tracer.counts(), (0, 1));
}

#[test]
fn hanging_collector_only_loses_spans() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let tracer = Tracer::start(settings(listener.local_addr().unwrap().port())).unwrap();
    let total = 2 * MAX_WAITING_SPANS + SPANS_PER_EXPORT;
    for _ in 0..total {
        drop(tracer.begin(None));
    }
    let (_held, _) = listener.accept().unwrap();
    let (exported, dropped) = tracer.counts();
    assert!(
        exported == 0 && dropped >= (total - MAX_WAITING_SPANS - SPANS_PER_EXPORT) as u64,
        "{dropped}"
    );
    let begun = Instant::now();
    tracer.end();
    assert!(begun.elapsed() < LONG);
}

#[test]
fn unsampled_request_has_no_span() {
    let sampler = Sampler {
        follows_parent: true,
        ratio: 0.0,
    };
    let tracer = Tracer::start(Settings {
        sampler,
        ..settings(1)
    })
    .unwrap();
    assert!(tracer.begin(None).is_none());
    tracer.end();
    assert_eq!(tracer.counts(), (0, 0));
}
