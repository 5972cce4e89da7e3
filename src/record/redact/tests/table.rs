//! Sixty planted secrets and the expected results. The documentation claims exactly this table.

use crate::test_support::{client, record, server};
use pretty_assertions::assert_eq;

use super::*;

/// A secret without a known shape.
const SECRET: &str = "Zk3v9Qm2Xc7Bn4Lp8Rt1Wd6Y";
const PASSWORD: &str = "correct-Horse";
const UUID: &str = "0f8fad5b-d9cb-469f-a165-70867728950e";
/// Value of the environment variable `APP_TOKEN`.
const OF_ENVIRONMENT: &str = "of-the-environment-42x";
/// Split so that scanners do not report this file.
const GITHUB: &str = concat!("gh", "p_q1W2e3R4t5Y6u7I8o9P0a1S2d3F4g5H6j7K8");
const BCRYPT: &str = concat!(
    "$2",
    "b$12$q1W2e3R4t5Y6u7I8o9P0a1S2d3F4g5H6q1W2e3R4t5Y6u7I8o9P0a"
);

const DOCUMENTS: &str = include_str!("../../../../docs/calls.md");

/// Place, value, and `true` if redaction finds it. `{}` marks the value; `<<<` marks an answer.
const PLANTED: [(&str, &str, bool); 60] = [
    ("GET /a?access_token={}", SECRET, true),
    ("GET /a?api_key={}&page=2", SECRET, true),
    ("GET /a?key={}", SECRET, true),
    ("GET /a?X-Amz-Signature={}", SECRET, true),
    ("GET /sessions/{}", SECRET, false),
    ("GET /sessions/{}", GITHUB, true),
    ("field Authorization: Bearer {}", SECRET, true),
    ("field Authorization: Bearer {}", PASSWORD, true),
    (
        "field Authorization: Basic {}",
        "YWxpY2U6Y29ycmVjdC1Ib3JzZQ==",
        true,
    ),
    ("field X-Api-Key: {}", PASSWORD, true),
    ("field X-Auth-Token: {}", UUID, true),
    ("field X-Hub-Signature-256: sha256={}", SECRET, true),
    ("field X-Trace: {}", SECRET, false),
    ("field X-Trace: {}", OF_ENVIRONMENT, true),
    ("field Referer: https://a.example/b?token={}", SECRET, true),
    ("field Cookie: theme=dark; connect.sid={}", SECRET, true),
    ("field Cookie: auth={}; lang=de", "a1b2c3", true),
    ("field Cookie: visitor={}", SECRET, true),
    ("<<< field Set-Cookie: session={}; HttpOnly", SECRET, true),
    ("<<< field Location: /cb?code={}", SECRET, true),
    ("json {\"password\":\"{}\"}", PASSWORD, true),
    ("json {\"user\":{\"newPassword\":\"{}\"}}", "geheim", true),
    ("json {\"client_secret\":\"{}\"}", UUID, true),
    ("json {\"otp\":{}}", "482913", true),
    ("json {\"card\":{\"cvv\":\"{}\"}}", "314", true),
    ("json {\"apiKeys\":[\"{}\"]}", SECRET, true),
    ("json {\"api\":{\"key\":\"{}\"}}", SECRET, false),
    (
        "json {\"body\":\"{\\\"password\\\":\\\"{}\\\"}\"}",
        PASSWORD,
        true,
    ),
    (
        "json {\"name\":\"API_KEY\",\"value\":\"{}\"}",
        SECRET,
        false,
    ),
    ("json {\"note\":\"{}\"}", GITHUB, true),
    (
        "json {\"url\":\"postgres://app:{}@db/shop\"}",
        PASSWORD,
        true,
    ),
    (
        "json {\"query\":\"mutation { login(password: \\\"{}\\\") { id } }\"}",
        PASSWORD,
        false,
    ),
    ("json {\"variables\":{\"password\":\"{}\"}}", PASSWORD, true),
    ("<<< json {\"access_token\":\"{}\"}", SECRET, true),
    ("<<< json {\"key\":\"{}\"}", SECRET, false),
    ("form grant_type=password&password={}", PASSWORD, true),
    ("form client_secret={}&scope=a", SECRET, true),
    ("form payload=%7B%22token%22%3A%22{}%22%7D", SECRET, true),
    ("form note={}", SECRET, false),
    ("part password {}", PASSWORD, true),
    ("part note {}", GITHUB, true),
    ("text <Password>{}</Password>", PASSWORD, false),
    ("text DB_PASSWORD={}", PASSWORD, false),
    ("text DB_PASSWORD={}", OF_ENVIRONMENT, true),
    ("grpc {}", GITHUB, true),
    ("redis AUTH {}", PASSWORD, true),
    ("redis HELLO 3 AUTH app {}", PASSWORD, true),
    ("redis SET user:1:token {}", SECRET, false),
    ("redis SET k {}", OF_ENVIRONMENT, true),
    ("redis SET session:{} alice", GITHUB, true),
    ("mongo password {}", PASSWORD, true),
    ("mongo note {}", SECRET, false),
    ("<<< mongo api_key {}", SECRET, true),
    ("postgres login {}", PASSWORD, true),
    ("postgres ALTER USER a PASSWORD '{}'", PASSWORD, false),
    (
        "postgres INSERT INTO users (password_hash) VALUES ('{}')",
        BCRYPT,
        true,
    ),
    ("postgres SELECT * FROM t WHERE token = '{}'", GITHUB, true),
    ("mysql UPDATE t SET v = '{}'", OF_ENVIRONMENT, true),
    (
        "mysql INSERT INTO users (password) VALUES ('{}')",
        PASSWORD,
        false,
    ),
    ("<<< postgres a hash of a password: {}", BCRYPT, false),
];

fn planted_call(place: &str, value: &str) -> Exchange {
    let (is_answer, place) = place
        .strip_prefix("<<< ")
        .map_or((false, place), |place| (true, place));
    let (kind, text) = place.split_once(' ').unwrap();
    let text = text.replace("{}", value);
    let http = |path: &str, field: (&str, &str), body: &str| {
        if is_answer {
            call("/", &[], "", &[field], body)
        } else {
            call(path, &[field], body, &[], "")
        }
    };
    let typed = |kind: &str| http("/", ("content-type", kind), &text);
    let from = if is_answer {
        Side::Server
    } else {
        Side::Client
    };
    let said = |protocol, bytes: &[u8]| wire(protocol, true, &[(from, bytes)]);
    match kind {
        "GET" => http(&text, ("accept", "*/*"), ""),
        "field" => http("/", text.split_once(": ").unwrap(), ""),
        "json" => typed("application/json"),
        "form" => typed("application/x-www-form-urlencoded"),
        "text" => typed("text/plain"),
        "grpc" => typed("application/grpc"),
        "part" => {
            let (name, value) = text.split_once(' ').unwrap();
            let part = format!(
                "--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n--b--\r\n"
            );
            http(
                "/",
                ("content-type", "multipart/form-data; boundary=b"),
                &part,
            )
        }
        "redis" => said(Protocol::Redis, &resp(&text.split(' ').collect::<Vec<_>>())),
        "mongo" => said(
            Protocol::Mongo,
            &op_msg(&bson(&[("find", "users"), text.split_once(' ').unwrap()])),
        ),
        "mysql" => said(Protocol::MySql, &com_query(&text)),
        _ => match text.strip_prefix("login ") {
            Some(password) => login(password),
            None => said(Protocol::Postgres, &query(&text)),
        },
    }
}

/// Records a `PostgreSQL` login.
fn login(password: &str) -> Exchange {
    let proof = [
        b"p",
        &(password.len() as u32 + 5).to_be_bytes()[..],
        password.as_bytes(),
        b"\0",
    ]
    .concat();
    let conversation = [
        client(b"\0\0\0\x10\0\x03\0\0user\0u\0\0"),
        server(b"R\0\0\0\x08\0\0\0\x03"),
        client(proof),
        server(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I"),
    ];
    record(Protocol::Postgres, &conversation).calls.remove(0)
}

#[test]
fn planted_secrets_are_found_as_in_table() {
    let environment = [("APP_TOKEN".to_owned(), OF_ENVIRONMENT.to_owned())];
    let rules = Secrets::new(environment.into_iter(), &[]).unwrap();
    let found = |(place, value, _): &(&'static str, &'static str, bool)| {
        let without = redacted(&rules, &planted_call(place, value));
        (*place, *value, !parts(&without).concat().contains(value))
    };
    assert_eq!(PLANTED.iter().map(found).collect::<Vec<_>>(), PLANTED);
}

/// Compares the table in the documentation with the results per kind of place.
#[test]
fn documentation_matches_planted_secrets_table() {
    let kinds = [
        ("URL, head, cookies", &["GET", "field"][..]),
        ("JSON", &["json"]),
        ("forms", &["form", "part"]),
        ("other bodies", &["text", "grpc"]),
        ("Redis, MongoDB", &["redis", "mongo"]),
        ("SQL", &["postgres", "mysql"]),
    ];
    let shown = |place: &str| {
        let (answer, place) = place
            .strip_prefix("<<< ")
            .map_or(("", place), |place| ("answer ", place));
        format!(
            "{answer}{}",
            place.split_once(' ').unwrap().1.replace("{}", "...")
        )
    };
    let row = |(name, kinds): &(&str, &[&str])| {
        let kind = |place: &str| {
            place
                .trim_start_matches("<<< ")
                .split(' ')
                .next()
                .map(|kind| kinds.contains(&kind))
        };
        let all: Vec<_> = PLANTED
            .iter()
            .filter(|(place, ..)| kind(place) == Some(true))
            .collect();
        let left = all.iter().filter(|(.., found)| !found);
        let left: Vec<String> = left
            .map(|(place, ..)| format!("`{}`", shown(place)))
            .collect();
        format!(
            "| {name} | {} of {} | {} |",
            all.len() - left.len(),
            all.len(),
            left.join("; ")
        )
    };
    let rows: Vec<String> = kinds.iter().map(row).collect();
    let expected = format!(
        "| planted in | found | left |\n|---|--:|---|\n{}\n",
        rows.join("\n")
    );
    assert!(
        DOCUMENTS.contains(&expected),
        "docs/calls.md has to say:\n{expected}"
    );
}
