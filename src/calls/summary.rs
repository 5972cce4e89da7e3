//! Summary of a mock set: one line per kind of call, with count and duration.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

use replay_base::text::columns::columns;
use replay_base::text::count::duration;

use replay_record::matching::describe;
use replay_record::redact::{Leftover, left_over};
use replay_record::words::text;
use replay_record::{Content, Exchange, Protocol, Side, Wire};

/// One kind of call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallKind {
    pub protocol: &'static str,
    pub target: String,
    /// The request, without protocol and target.
    pub call: String,
    /// Status of the answer: 100 to 999 for HTTP, the error code for databases. Calls with another
    /// status are of another kind.
    pub status: Option<String>,
    pub times: usize,
    /// Total duration.
    pub took: Duration,
    /// Duration of the longest call.
    pub longest: Duration,
}

/// The kinds of call, in order of first appearance.
pub(super) fn lines(exchanges: &[Exchange]) -> Vec<CallKind> {
    let mut lines: Vec<CallKind> = Vec::new();
    let mut places: HashMap<(&str, String, String, Option<String>), usize> = HashMap::new();
    for exchange in exchanges {
        // The clock may have been set back in between.
        let took = exchange
            .answered_at
            .duration_since(exchange.sent_at)
            .unwrap_or_default();
        let (protocol, status) = (protocol_name(exchange), status(exchange));
        let (target, call) = (exchange.target.to_string(), call(exchange));
        let place = *places
            .entry((protocol, target.clone(), call.clone(), status.clone()))
            .or_insert(lines.len());
        match lines.get_mut(place) {
            Some(line) => {
                line.times += 1;
                line.took += took;
                line.longest = line.longest.max(took);
            }
            None => lines.push(CallKind {
                protocol,
                target,
                call,
                status,
                times: 1,
                took,
                longest: took,
            }),
        }
    }
    lines
}

/// Lists possible secrets left in these calls, one line each, as a warning before a commit. Empty
/// if there are none.
pub(crate) fn secret_warnings(exchanges: &[Exchange]) -> String {
    const MOST_LINES: usize = 50;
    let mut found: Vec<(String, Leftover)> = Vec::new();
    for exchange in exchanges {
        let new = left_over(exchange)
            .into_iter()
            .filter(|left| !found.iter().any(|(_, known)| known.value == left.value));
        let new: Vec<_> = new.map(|left| (call(exchange), left)).collect();
        found.extend(new);
        if found.len() > MOST_LINES {
            break;
        }
    }
    let mut text = String::new();
    for (call, Leftover { place, value }) in found.iter().take(MOST_LINES) {
        let _ = writeln!(text, "{place}\t{value}\t{call}");
    }
    let more = if found.len() > MOST_LINES {
        "more than these\n"
    } else {
        ""
    };
    let head = "\nThese values look like secrets and were not replaced; add their names or \
        patterns to `redact` at the top of the set's file:\n";
    if text.is_empty() {
        text
    } else {
        format!("{head}{text}{more}")
    }
}

/// Protocol name of a call; `HTTPS` is distinct from `HTTP`.
pub(super) fn protocol_name(exchange: &Exchange) -> &'static str {
    match &exchange.content {
        Content::Http(http) if http.request.scheme == "https" => "HTTPS",
        content => content.protocol().word(),
    }
}

/// HTTP status, or error code of a database: `ERR`, `42P01`, `1064`.
pub(super) fn status(exchange: &Exchange) -> Option<String> {
    match &exchange.content {
        Content::Http(http) | Content::Grpc(http) => http
            .response
            .as_ref()
            .map(|response| response.status.to_string()),
        Content::Wire(protocol, wire) => error_code(*protocol, wire),
        Content::Dns(_) => None,
    }
}

/// The request, for display beside protocol and target: `GET /orders`, `login: user app database
/// shop`, `prepare: SELECT 1`.
pub(super) fn call(exchange: &Exchange) -> String {
    let line = describe(exchange);
    let target = exchange.target.to_string();
    let mut call = request_text(exchange, line, &target);
    if exchange.abandoned() {
        call.push_str(" (left without an answer)");
    }
    call
}

fn request_text(exchange: &Exchange, line: String, target: &str) -> String {
    match &exchange.content {
        Content::Http(_) | Content::Grpc(_) => {
            let at = format!("://{target}");
            let Some((before, path)) = line.split_once(&at) else {
                return line;
            };
            let method = before.split(' ').next().unwrap_or_default();
            format!("{method} {path}")
        }
        Content::Dns(_) => line.strip_prefix("DNS ").unwrap_or(&line).to_owned(),
        Content::Wire(protocol, wire) => {
            let said = line.split_once(target).map_or(&*line, |(_, said)| said);
            let said = said.trim_start_matches([':', ' ']);
            let named = said
                .is_empty()
                .then(|| statement_name(*protocol, wire))
                .flatten();
            let said = named.as_deref().unwrap_or(said);
            match (
                wire.session && *protocol != Protocol::Generic,
                said.is_empty(),
            ) {
                (true, empty) => match (session_kind(*protocol, wire), empty) {
                    (Some(word), true) => word.to_owned(),
                    (Some(word), false) => format!("{word}: {said}"),
                    (None, true) => "login".to_owned(),
                    (None, false) => format!("login: {said}"),
                },
                (false, _) => said.to_owned(),
            }
        }
    }
}

/// Kind of a call that belongs to its connection, unless it is a login.
fn session_kind(protocol: Protocol, wire: &Wire) -> Option<&'static str> {
    let last = wire
        .messages
        .iter()
        .rfind(|message| message.from == Side::Client)?;
    match protocol {
        Protocol::Postgres => {
            let kinds = wire
                .messages
                .iter()
                .filter(|message| message.from == Side::Client);
            let kinds: Vec<u8> = kinds
                .filter_map(|message| message.bytes.first().copied())
                .collect();
            match kinds.last()? {
                b'\0' | b'p' => None,
                _ if kinds.iter().any(|kind| matches!(kind, b'P' | b'D')) => Some("prepare"),
                b'C' => Some("close"),
                _ => Some("session"),
            }
        }
        // Packet numbers of a login continue from the greeting (`MySQL` Source Code Documentation,
        // "MySQL Packets").
        Protocol::MySql => match last.bytes.get(3..5)? {
            [0, 0x16] => Some("prepare"),
            [0, _] => Some("session"),
            _ => None,
        },
        Protocol::Redis => {
            let said = text(protocol, &last.bytes);
            let name = said.split(' ').next().unwrap_or_default();
            let logs_in = ["HELLO", "AUTH"]
                .iter()
                .any(|word| name.eq_ignore_ascii_case(word));
            (!logs_in && !name.is_empty()).then_some("session")
        }
        _ => None,
    }
}

/// Name of the statement that a `PostgreSQL` session describes or closes (its manual, 54.7,
/// `Describe`, `Close`).
fn statement_name(protocol: Protocol, wire: &Wire) -> Option<String> {
    let mut said = wire
        .messages
        .iter()
        .rev()
        .filter(|message| message.from == Side::Client);
    let body = said.find_map(|message| match (protocol, &*message.bytes) {
        (
            Protocol::Postgres,
            [b'D' | b'C', _, _, _, _, b'S', name @ ..] | [b'P', _, _, _, _, name @ ..],
        ) => Some(name),
        _ => None,
    })?;
    let name = String::from_utf8_lossy(body.split(|byte| *byte == 0).next()?).into_owned();
    Some(if name.is_empty() {
        "the statement without a name".to_owned()
    } else {
        name
    })
}

/// Error code of an answer, if it is an error.
fn error_code(protocol: Protocol, wire: &Wire) -> Option<String> {
    let mut said = wire
        .messages
        .iter()
        .filter(|message| message.from == Side::Server)
        .map(|message| &*message.bytes);
    let code = |bytes: &[u8]| {
        Some(String::from_utf8_lossy(bytes).into_owned()).filter(|code| !code.is_empty())
    };
    match protocol {
        Protocol::Redis => said.find_map(|bytes| {
            let line = bytes.strip_prefix(b"-")?;
            code(
                line.split(u8::is_ascii_whitespace)
                    .next()
                    .unwrap_or_default(),
            )
        }),
        Protocol::Postgres => said.find_map(|bytes| {
            let fields = bytes.get(5..).filter(|_| bytes[0] == b'E')?;
            code(
                fields
                    .split(|byte| *byte == 0)
                    .find_map(|field| field.strip_prefix(b"C"))?,
            )
        }),
        Protocol::MySql => said.find_map(|bytes| match bytes.get(4..7)? {
            [0xff, low, high] => Some(u16::from_le_bytes([*low, *high]).to_string()),
            _ => None,
        }),
        _ => None,
    }
}

/// Formats the kinds of call as a table for a terminal.
pub(crate) fn table(exchanges: &[Exchange]) -> String {
    const HEAD: [&str; 7] = [
        "protocol", "target", "status", "times", "mean", "longest", "call",
    ];
    let mut rows = vec![HEAD.map(str::to_owned)];
    for line in lines(exchanges) {
        rows.push([
            line.protocol.to_owned(),
            line.target,
            line.status.unwrap_or_default(),
            line.times.to_string(),
            duration(line.took / u32::try_from(line.times).unwrap_or(u32::MAX)),
            duration(line.longest),
            line.call,
        ]);
    }
    columns(&rows, &(2..6))
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use pretty_assertions::assert_eq;

    use super::*;
    use replay_record::{Dns, Http, HttpRequest, HttpResponse, HttpVersion, Message, Target};

    fn exchange(name: &str, at_ms: u64, took_ms: u64) -> Exchange {
        let sent_at = UNIX_EPOCH + Duration::from_millis(at_ms);
        Exchange {
            target: Target {
                host: "192.0.2.1".to_owned(),
                port: 53,
            },
            tls: false,
            connection: 1,
            sent_at,
            answered_at: sent_at + Duration::from_millis(took_ms),
            end: replay_record::End::Answered,
            content: Content::Dns(Dns {
                name: name.to_owned(),
                kind: "A".to_owned(),
                code: 0,
                answers: Vec::new(),
            }),
        }
    }

    #[test]
    fn calls_of_same_kind_share_line() {
        let text = table(&[
            exchange("a.test", 0, 4),
            exchange("b.test", 10, 1),
            exchange("a.test", 20, 2),
        ]);
        assert_eq!(
            text,
            "protocol  target        status  times    mean  longest  call\n\
             DNS       192.0.2.1:53              2  3.0 ms   4.0 ms  A a.test\n\
             DNS       192.0.2.1:53              1  1.0 ms   1.0 ms  A b.test\n"
        );
    }

    #[test]
    fn line_shows_status_and_target_once() {
        let of = |content: Content| Exchange {
            content,
            ..exchange("a", 0, 1)
        };
        let get = |status: u16| {
            let request = HttpRequest {
                version: HttpVersion::Http11,
                method: "GET".to_owned(),
                scheme: "https".to_owned(),
                authority: "a".to_owned(),
                path: "/b?c=d".to_owned(),
                headers: Vec::new(),
                body: Vec::new(),
            };
            let response = HttpResponse {
                version: request.version,
                status,
                ..HttpResponse::default()
            };
            of(Content::Http(Box::new(Http {
                request,
                response: Some(response),
            })))
        };
        let wire = |protocol, said: &[&[u8]], session| {
            let wire = Wire {
                session,
                ..Wire::asking(said.iter().map(|bytes| bytes.to_vec()))
            };
            of(Content::Wire(protocol, wire))
        };
        let login: [&[u8]; 2] = [b"\0\0\0\x20\0\x03\0\0user\0app\0\0", b"p\0\0\0\x08abc\0"];
        let all = [
            get(200),
            get(500),
            wire(Protocol::Postgres, &[b"P\0\0\0\x10\0SELECT 1\0\0\0"], true),
            wire(Protocol::Postgres, &[b"C\0\0\0\x07Sa\0"], true),
            wire(Protocol::Postgres, &[b"D\0\0\0\x08Ss1\0"], true),
            wire(Protocol::Redis, &[b"info\r\n"], true),
            wire(Protocol::Redis, &[b"HELLO 3\r\n"], true),
            wire(Protocol::Postgres, &[b"Q\0\0\0\x0aSET a\0"], true),
            wire(Protocol::MySql, &[b"\x09\0\0\0\x16SELECT 1"], true),
            wire(Protocol::MySql, &[b"\x01\0\0\0\x0e"], true),
            wire(Protocol::Redis, &[b"INCR a\r\n"], false),
            wire(Protocol::Postgres, &login, true),
            wire(Protocol::Mongo, &[], true),
        ];
        let seen = lines(&all)
            .into_iter()
            .map(|line| (line.protocol, line.status, line.call))
            .collect::<Vec<_>>();
        let expected = [
            ("HTTPS", Some("200"), "GET /b?c=d"),
            ("HTTPS", Some("500"), "GET /b?c=d"),
            ("Postgres", None, "prepare: SELECT 1"),
            ("Postgres", None, "close: a"),
            ("Postgres", None, "prepare: s1"),
            ("Redis", None, "session: info"),
            ("Redis", None, "login: HELLO 3"),
            ("Postgres", None, "session: SET a"),
            ("MySQL", None, "prepare: SELECT 1"),
            ("MySQL", None, "session"),
            ("Redis", None, "INCR a"),
            ("Postgres", None, "login: user app"),
            ("MongoDB", None, "login"),
        ];
        assert_eq!(
            seen,
            expected.map(|(protocol, status, call)| (
                protocol,
                status.map(str::to_owned),
                call.to_owned()
            ))
        );
    }

    #[test]
    fn database_errors_have_status() {
        let of = |protocol, answers: &[&[u8]]| {
            let message = |bytes: &&[u8]| Message {
                from: Side::Server,
                bytes: bytes.to_vec(),
            };
            let wire = Wire {
                messages: answers.iter().map(message).collect(),
                ..Wire::default()
            };
            status(&Exchange {
                content: Content::Wire(protocol, wire),
                ..exchange("a", 0, 1)
            })
        };
        let error: &[u8] = b"E\0\0\0\x2aSERROR\0VERROR\0C42P01\0Mno such table\0\0";
        assert_eq!(
            of(Protocol::Postgres, &[b"2\0\0\0\x04", error]).as_deref(),
            Some("42P01")
        );
        assert_eq!(of(Protocol::Postgres, &[b"C\0\0\0\x0dSELECT 1\0"]), None);
        assert_eq!(
            of(Protocol::MySql, &[b"\x09\0\0\x01\xff\x28\x04#42000"]).as_deref(),
            Some("1064")
        );
        assert_eq!(
            of(Protocol::MySql, &[b"\x07\0\0\x01\0\0\0\x02\0\0\0"]),
            None
        );
        assert_eq!(
            of(Protocol::Redis, &[b"-WRONGTYPE Operation\r\n"]).as_deref(),
            Some("WRONGTYPE")
        );
        assert_eq!(of(Protocol::Redis, &[b"+OK\r\n"]), None);
    }
}
