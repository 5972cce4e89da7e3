//! Secrets in requests to databases.

use pretty_assertions::assert_eq;

use super::*;
use crate::call::{Message, Side};
use crate::redact::Secrets;

pub(super) fn postgres(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    [&[kind][..], &(body.len() as u32 + 4).to_be_bytes(), &body].concat()
}

pub(super) fn query(sql: &str) -> Vec<u8> {
    postgres(b'Q', &[sql.as_bytes(), b"\0"])
}

pub(super) fn mysql(command: u8, sql: &str) -> Vec<u8> {
    [
        &(sql.len() as u32 + 1).to_le_bytes()[..3],
        &[0, command],
        sql.as_bytes(),
    ]
    .concat()
}

pub(super) fn redis(words: &[&str]) -> Vec<u8> {
    let words: Vec<String> = words
        .iter()
        .map(|word| format!("${}\r\n{word}\r\n", word.len()))
        .collect();
    format!("*{}\r\n{}", words.len(), words.concat()).into_bytes()
}

/// `{NAME: "me", pwd: ..., n: 1, $db: "admin"}`
fn mongo(name: &str, password: &str) -> Vec<u8> {
    let text = |name: &str, value: &str| {
        [
            b"\x02",
            name.as_bytes(),
            b"\0",
            &(value.len() as u32 + 1).to_le_bytes(),
            value.as_bytes(),
            b"\0",
        ]
        .concat()
    };
    let elements = [
        text(name, "me"),
        text("pwd", password),
        b"\x10n\0\x01\0\0\0".to_vec(),
        text("$db", "admin"),
    ]
    .concat();
    let document = [
        &(elements.len() as u32 + 5).to_le_bytes()[..],
        &elements,
        b"\0",
    ]
    .concat();
    let head = [document.len() as u32 + 21, 7, 0, 2013, 0]
        .map(u32::to_le_bytes)
        .concat();
    [&head[..], &[0], &document].concat()
}

/// Returns a call with these requests and this answer.
pub(super) fn call(protocol: Protocol, said: Vec<Vec<u8>>, answer: &str) -> Exchange {
    let mut all = wire(protocol, b"", answer.as_bytes(), false);
    let Content::Wire(_, wire) = &mut all.content else {
        panic!()
    };
    wire.messages.splice(
        ..1,
        said.into_iter().map(|bytes| Message {
            from: Side::Client,
            bytes,
        }),
    );
    all
}

#[test]
fn several_secrets_in_statement_select_answer() {
    type Make<'a> = &'a dyn Fn(&str) -> Vec<Vec<u8>>;
    let ways: [(Protocol, Make<'_>); 7] = [
        (Protocol::Postgres, &|who| {
            vec![query(&format!(
                "SELECT dblink('postgres://u:{who}@h/d', 'SELECT 1')"
            ))]
        }),
        (Protocol::Postgres, &|who| {
            let text = format!("SELECT id FROM u WHERE token = 'ghp_{who:a<36}' AND n = $1");
            let (parse, name) = ([b"", text.as_bytes()], text.as_bytes());
            vec![
                postgres(b'P', &[&parse.join(&0), b"\0\0\0"]),
                postgres(b'B', &[b"\0", name, b"\0\0\0\0\x01\0\0\0\x01\x31\0\0"]),
                postgres(b'E', &[b"\0\0\0\0\0"]),
            ]
        }),
        (Protocol::MySql, &|who| {
            vec![mysql(3, &format!("SELECT 'http://u:{who}@h/'"))]
        }),
        (Protocol::Redis, &|who| vec![redis(&["AUTH", "me", who])]),
        (Protocol::Redis, &|who| {
            vec![format!("AUTH {who}\r\n").into_bytes()]
        }),
        (Protocol::Mongo, &|who| vec![mongo("createUser", who)]),
        (Protocol::Mongo, &|who| vec![mongo("updateUser", who)]),
    ];
    for (index, (protocol, way)) in ways.into_iter().enumerate() {
        let asked = |who: &str| call(protocol, way(who), "");
        let kept = |names: &[&str]| {
            let mut calls: Vec<_> = names
                .iter()
                .map(|who| call(protocol, way(who), who))
                .collect();
            Secrets::default().calls(&mut calls);
            let left = names
                .iter()
                .find(|who| calls.iter().any(|call| client_says(call, who)));
            assert_eq!(left, None, "{index}");
            let mut exact = Noise::default();
            exact.exactly(true);
            Recordings::new(calls, exact)
        };
        let book = kept(&["alice", "bob"]);
        assert!(book.find(&asked("somebody")).is_err(), "{index}");
        assert_eq!(ask(&book, &asked("bob")), Ok("bob".to_owned()), "{index}");
        assert_eq!(
            ask(&book, &asked("alice")),
            Ok("alice".to_owned()),
            "{index}"
        );
        // A single secret may differ in a replay.
        assert_eq!(
            ask(&kept(&["alice"]), &asked("somebody")),
            Ok("alice".to_owned()),
            "{index}"
        );
        // Kept secrets select the answer too.
        let calls = ["alice", "bob"].map(|who| call(protocol, way(who), who));
        assert_eq!(
            ask(
                &Recordings::new(calls.to_vec(), Noise::default()),
                &asked("bob")
            ),
            Ok("bob".to_owned()),
            "{index}"
        );
    }
}

fn client_says(call: &Exchange, text: &str) -> bool {
    let Content::Wire(_, wire) = &call.content else {
        panic!()
    };
    let mut said = wire
        .messages
        .iter()
        .filter(|message| message.from == Side::Client);
    said.any(|message| memchr::memmem::find(&message.bytes, text.as_bytes()).is_some())
}

#[test]
fn different_statement_with_same_secret_is_missed() {
    let calls = vec![call(
        Protocol::Postgres,
        vec![query("SELECT 1 FROM u WHERE password = 'a'")],
        "one",
    )];
    let book = Recordings::new(calls, Noise::default());
    for other in [
        "SELECT 2 FROM u WHERE password = 'a'",
        "SELECT 1 FROM u WHERE password = 'a' OR b = 'c'",
    ] {
        assert!(
            book.find(&call(Protocol::Postgres, vec![query(other)], ""))
                .is_err(),
            "{other}"
        );
    }
}

#[test]
fn unlike_counts_differing_database_calls() {
    let run = |words: &[&[&str]]| -> Vec<Exchange> {
        words
            .iter()
            .map(|words| call(Protocol::Redis, vec![redis(words)], ""))
            .collect()
    };
    let a = run(&[&["GET", "a"], &["GET", "a"], &["SET", "lock", "17"]]);
    let b = run(&[&["SET", "lock", "18"], &["GET", "a"]]);
    let none = Noise::default();
    assert_eq!(
        (
            none.unlike(&a, &b),
            none.unlike(&b, &a),
            none.unlike(&a, &a)
        ),
        (2, 1, 0)
    );
}

#[test]
fn miss_excerpt_starts_near_difference() {
    let bind = |text: &str, value: &str| {
        let length = (value.len() as u32).to_be_bytes();
        vec![postgres(
            b'B',
            &[
                b"\0",
                text.as_bytes(),
                b"\0\0\0\0\x01",
                &length,
                value.as_bytes(),
                b"\0\0",
            ],
        )]
    };
    let columns =
        "a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac";
    let insert = |end: &str| {
        vec![query(&format!(
            "INSERT INTO t ({columns}) VALUES ('{end}')"
        ))]
    };
    let token = "s3cr3t-1-abcdef0123456789";
    let stand_in = "redacted-965b42bec7d5b7f0";
    let hint = "`redacted...` and `edac7...` stand for secrets, which differ from the recorded \
        ones: record again with the secrets of this run, or with `--keep-secrets` if the program \
        parses them";
    let values = |name: &str| {
        format!(
            "only values differ. If the program was changed, record again. If they change in each \
             run, add `noise: {{req: [{name}]}}` below `name: mock-1`, or run `replay calls noise \
             SET OTHER --write`"
        )
    };
    let secret = |end: &str| vec![query(&format!("UPDATE u SET password = 'x', n = {end}"))];
    let long = "a".repeat(50);
    let told =
        |recorded: &str, asked: &str| format!("message 1: recorded `{recorded}`, asked `{asked}`");
    let cases = [
        (
            insert("one"),
            insert("three"),
            vec![
                told(
                    "...a, ab, ac) VALUES ('one')",
                    "...a, ab, ac) VALUES ('three')",
                ),
                values("literal.1"),
            ],
        ),
        (
            bind("SELECT $1", &long),
            bind("SELECT $1", "b"),
            vec![
                told(&format!("SELECT $1 {long}"), "SELECT $1 b"),
                values("param.1"),
            ],
        ),
        (
            secret("1"),
            secret("22"),
            vec![
                told(
                    "UPDATE u SET password = 'x', n = 1",
                    "UPDATE u SET password = 'x', n = 22",
                ),
                values("literal.2"),
            ],
        ),
        (
            vec![query("A\nB")],
            vec![query("A\n\nB")],
            vec![
                format!(
                    "message 1: recorded 4 bytes, asked 5; from byte 2 on {}",
                    r"recorded `A\nB\u{0}`, asked `A\n\nB\u{0}`"
                ),
                "this call was not recorded: record the program again".to_owned(),
            ],
        ),
        (
            vec![query(&format!("SELECT '{token}'"))],
            vec![query(&format!("SELECT '{stand_in}'"))],
            vec![
                told(
                    &format!("SELECT '{token}'"),
                    &format!("SELECT '{stand_in}'"),
                ),
                hint.to_owned(),
            ],
        ),
    ];
    for (recorded, asked, expected) in cases {
        let book = Recordings::new(
            vec![call(Protocol::Postgres, recorded, "")],
            Noise::default(),
        );
        let missed = book.find(&call(Protocol::Postgres, asked, "")).unwrap_err();
        assert_eq!(missed.closest.unwrap().differences, expected);
    }
}

#[test]
fn difference_of_binary_messages_is_shown_in_hex() {
    let publish = |payload: &[u8]| {
        let message = [&b"\x32\x20\0\x05topic"[..], payload].concat();
        wire(Protocol::Generic, &message, b"", false)
    };
    let shown = |recorded: Exchange, asked: Exchange| {
        let book = Recordings::new(vec![recorded], Noise::default());
        let missed = book.find(&asked).unwrap_err();
        missed.closest.unwrap().differences[0].clone()
    };
    let long: Vec<u8> = (0xc0..=0xff).collect();
    assert_eq!(
        [
            shown(publish(b"\xcb\x42\x78"), publish(b"\xcb\x42\x79")),
            shown(publish(b"a"), publish(&long)),
        ],
        [
            "bytes.9-11: recorded `0xcb4278`, asked `0xcb4279`",
            "message 1: recorded 10 bytes, asked 73; from byte 9 on recorded hex `61`, \
             asked hex `c0 c1 c2 c3 c4 c5 c6 c7 c8 c9 ca cb cc cd ce cf ...`",
        ]
    );
}

#[test]
fn closest_recording_has_same_statement() {
    let text = b"INSERT INTO orders (currency, quantity, rate) VALUES ($1, $2, $3) RETURNING id";
    let run = |value: &str| {
        let length = (value.len() as u32).to_be_bytes();
        let bound = [
            b"\0",
            &text[..],
            b"\0\0\0\0\x01",
            &length,
            value.as_bytes(),
            b"\0\0",
        ];
        vec![
            postgres(b'B', &bound),
            postgres(b'D', &[b"P\0"]),
            postgres(b'E', &[text, b"\0\0\0\0\0"]),
        ]
    };
    let prepared = vec![
        postgres(b'P', &[b"\0", text, b"\0\0\0"]),
        postgres(b'D', &[b"S", text, b"\0"]),
    ];
    let calls = [run(&"1.17".repeat(20)), prepared];
    let book = Recordings::new(
        calls
            .map(|said| call(Protocol::Postgres, said, ""))
            .to_vec(),
        Noise::default(),
    );
    for asked in ["2", "4"] {
        let missed = book
            .find(&call(Protocol::Postgres, run(asked), ""))
            .unwrap_err();
        assert_eq!(missed.closest.unwrap().name, "mock-1", "{asked}");
    }
}
