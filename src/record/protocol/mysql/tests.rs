//! Conversations from the documentation of the `MySQL` protocol.

mod users;

use super::packet::{error, message};
use crate::call::{Exchange, Protocol, Side};
use crate::test_support::{
    Outcome, Played, ScriptedMessage, book, client, link, record, record_in, record_left, server,
};

const NO_EOF: u32 = super::handshake::NO_EOF;
/// Database, protocol 4.1, short auth response, named plugin, attributes.
const CAPABILITIES: u32 = 1 << 3 | 1 << 9 | 1 << 15 | 1 << 19 | 1 << 20;

fn greeting(capabilities: u32) -> Vec<u8> {
    let [a, b, c, d] = capabilities.to_le_bytes();
    let head: &[u8] = b"\n8.4.2\0\x09\0\0\0abcdefgh\0";
    message(
        0,
        &[
            head,
            &[a, b, 0xff, 2, 0, c, d, 21],
            &[0; 10],
            b"ijklmnopqrst\0",
            b"caching_sha2_password\0",
        ]
        .concat(),
    )
}

fn hello(capabilities: u32, sequence: u8) -> Vec<u8> {
    let fixed = [&capabilities.to_le_bytes()[..], &[0, 0, 0, 1, 45], &[0; 23]].concat();
    let rest: &[u8] = b"u\0\x06secretd\0caching_sha2_password\0\x0a\x04_pid\x0412345";
    message(sequence, &[&fixed, rest].concat())
}

fn ok(sequence: u8, status: u16) -> Vec<u8> {
    message(
        sequence,
        &[&[0, 0, 0][..], &status.to_le_bytes(), &[0, 0]].concat(),
    )
}

fn login(extra: u32) -> Vec<ScriptedMessage> {
    vec![
        server(greeting(u32::MAX)),
        client(hello(CAPABILITIES | extra, 1)),
        server(message(2, &[1, 4])),
        client(message(3, b"secret\0")),
        server(ok(4, 2)),
    ]
}

fn recorded(extra: u32, conversation: &[ScriptedMessage]) -> Outcome {
    let whole: Vec<_> = login(extra)
        .into_iter()
        .chain(conversation.iter().cloned())
        .collect();
    let outcome = record(Protocol::MySql, &whole);
    let all = |side| {
        whole
            .iter()
            .filter(|(from, _)| *from == side)
            .flat_map(|(_, b)| b.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(outcome.to_server, all(Side::Client));
    assert_eq!(outcome.to_client.len(), all(Side::Server).len());
    outcome
}

/// Returns a connection that has logged in.
fn connected(
    calls: &[Exchange],
    extra: u32,
) -> (std::sync::Arc<crate::matching::Recordings>, Played) {
    let book = book(calls);
    let mut played = Played::new(Protocol::MySql, &book);
    let first = played.open();
    assert_eq!(first[4..11], greeting(0)[4..11]);
    // Every password is accepted.
    assert_eq!(
        played.ask(hello(CAPABILITIES | extra, 1)),
        [message(2, &[1, 3]), ok(3, 2)].concat()
    );
    (book, played)
}

fn plays(extra: u32, conversation: &[ScriptedMessage], outcome: &Outcome) {
    for pieces in [usize::MAX, 1, 9] {
        let (book, mut played) = connected(&outcome.calls, extra);
        let of = |side| {
            conversation
                .iter()
                .filter(move |(from, _)| *from == side)
                .map(|(_, bytes)| bytes.clone())
        };
        let asked: Vec<_> = of(Side::Client).collect();
        let answered: Vec<_> = asked
            .iter()
            .flat_map(|bytes| bytes.chunks(pieces))
            .flat_map(|piece| played.ask(piece))
            .collect();
        let expected: Vec<_> = of(Side::Server).flatten().collect();
        assert_eq!(
            answered.escape_ascii().to_string(),
            expected.escape_ascii().to_string()
        );
        // The count includes the login.
        let report = book.report();
        assert_eq!(
            (report.missed.len(), report.replayed),
            (0, outcome.calls.len() as u64)
        );
    }
}

fn query(text: &str) -> Vec<u8> {
    message(0, &[&[3], text.as_bytes()].concat())
}

fn column(sequence: u8) -> Vec<u8> {
    message(
        sequence,
        b"\x03def\0\0\0\x01a\0\x0c\x3f\0\x01\0\0\0\x08\x81\0\0\0\0",
    )
}

fn eof(sequence: u8, status: u16) -> Vec<u8> {
    message(
        sequence,
        &[&[0xfe, 0, 0][..], &status.to_le_bytes()].concat(),
    )
}

fn last(sequence: u8, status: u16) -> Vec<u8> {
    message(
        sequence,
        &[&[0xfe, 0, 0][..], &status.to_le_bytes(), &[0, 0]].concat(),
    )
}

#[test]
fn mysql_results_replay_with_and_without_eof() {
    let old = [
        client(query("SELECT 1")),
        server(
            [
                message(1, &[1]),
                column(2),
                eof(3, 2),
                message(4, b"\x011"),
                message(5, &[0xfb]),
                eof(6, 2),
            ]
            .concat(),
        ),
        client(query("UPDATE t")),
        server(ok(1, 2)),
        client(query("CALL p")),
        server(
            [
                message(1, &[1]),
                column(2),
                eof(3, 10),
                message(4, b"\x011"),
                eof(5, 10),
                ok(6, 2),
            ]
            .concat(),
        ),
        client(query("nonsense")),
        server(error(1, "You have an error")),
        client(message(0, &[0x0e])),
        server(ok(1, 2)),
        client(message(0, &[1])),
    ];
    let outcome = recorded(0, &old);
    let shapes: Vec<_> = outcome
        .messages()
        .iter()
        .map(|(session, said)| (*session, said.len()))
        .collect();
    assert_eq!(
        shapes,
        [
            (true, 3),
            (false, 7),
            (false, 2),
            (false, 7),
            (false, 2),
            (true, 2)
        ]
    );
    plays(0, &old, &outcome);
    let new = [
        client(query("SELECT 1")),
        server(
            [
                message(1, &[1]),
                column(2),
                message(3, b"\x011"),
                last(4, 10),
                message(5, &[1]),
                column(6),
                last(7, 2),
            ]
            .concat(),
        ),
        client(query("/* mine */ SET NAMES utf8mb4")),
        server(ok(1, 2)),
    ];
    let outcome = recorded(NO_EOF, &new);
    let shapes: Vec<_> = outcome
        .messages()
        .iter()
        .map(|(session, said)| (*session, said.len()))
        .collect();
    assert_eq!(shapes, [(true, 3), (false, 8), (true, 2)]);
    plays(NO_EOF, &new, &outcome);
}

#[test]
fn mysql_login_omits_password_and_some_capabilities() {
    let outcome = recorded(0, &[]);
    let said = outcome.messages();
    assert_eq!(said.len(), 1);
    assert!(said[0].0);
    assert!(
        said[0]
            .1
            .iter()
            .all(|(_, text)| !text.contains("secret") && !text.contains("_pid"))
    );
    let offered = |greeting: &[u8]| {
        u32::from_le_bytes([greeting[24], greeting[25], greeting[29], greeting[30]])
    };
    assert_eq!(offered(&greeting(u32::MAX)), u32::MAX);
    assert_eq!(
        offered(&outcome.to_client),
        !(1 << 5 | 1 << 25 | 1 << 26 | 1 << 27)
    );
    let request = message(
        1,
        &[&(CAPABILITIES | 1 << 11).to_le_bytes()[..], &[0; 28]].concat(),
    );
    let conversation = [
        server(greeting(u32::MAX)),
        client([&request[..], b"\x16\x03\x01"].concat()),
        client(hello(CAPABILITIES | 1 << 11, 2)),
        server(ok(3, 2)),
    ];
    let outcome = record_in(Protocol::MySql, &conversation, usize::MAX);
    assert_eq!(outcome.encrypted, [b"\x16\x03\x01"]);
    assert_eq!(offered(&outcome.to_client) & 1 << 11, 1 << 11);
    let book = book(&outcome.calls);
    let mut played = Played::new(Protocol::MySql, &book);
    assert_eq!(offered(&played.open()) & 1 << 11, 1 << 11);
    assert_eq!(played.ask(request), b"");
    assert_eq!(played.encrypted, 1);
    assert_eq!(
        played.ask(hello(CAPABILITIES | 1 << 11, 2)),
        [message(3, &[1, 3]), ok(4, 2)].concat()
    );
}

fn prepared(id: u32, extra: u32) -> Vec<u8> {
    let head = [&[0][..], &id.to_le_bytes(), &[1, 0, 1, 0, 0, 0, 0]].concat();
    if extra & NO_EOF == 0 {
        [
            message(1, &head),
            column(2),
            eof(3, 2),
            column(4),
            eof(5, 2),
        ]
        .concat()
    } else {
        [message(1, &head), column(2), column(3)].concat()
    }
}

fn execute(id: u32, types: bool, value: u8) -> Vec<u8> {
    let head = [&[0x17][..], &id.to_le_bytes(), &[0, 1, 0, 0, 0, 0]].concat();
    let types: &[u8] = if types { &[1, 8, 0] } else { &[0] };
    message(0, &[&head, types, &[value, 0, 0, 0, 0, 0, 0, 0]].concat())
}

fn rows(value: u8) -> Vec<u8> {
    [
        message(1, &[1]),
        column(2),
        eof(3, 2),
        message(4, &[0, 0, value]),
        eof(5, 2),
    ]
    .concat()
}

#[test]
fn mysql_prepared_statement_matches_by_text() {
    let prepare = |text: &str| message(0, &[&[0x16], text.as_bytes()].concat());
    let close = |id: u32| message(0, &[&[0x19][..], &id.to_le_bytes()].concat());
    let conversation = [
        client(prepare("SELECT ?")),
        server(prepared(1, 0)),
        client(execute(1, true, 5)),
        server(rows(5)),
        client(execute(1, false, 6)),
        server(rows(6)),
        client([close(1), query("SELECT 1")].concat()),
        server(ok(1, 2)),
    ];
    let outcome = recorded(0, &conversation);
    plays(0, &conversation, &outcome);
    let said = outcome.messages();
    assert_eq!(said[2].1[0], said[1].1[0]);
    assert_eq!(said.len(), 5);

    // Another connection has other ids, and sends the types each time.
    let (book, mut played) = connected(&outcome.calls, 0);
    assert_eq!(played.ask(prepare("SELECT ?")), prepared(1, 0));
    assert_eq!(played.ask(prepare("SELECT ?")), prepared(2, 0));
    assert_eq!(played.ask(execute(2, true, 6)), rows(6));
    assert_eq!(played.ask(execute(1, true, 5)), rows(5));
    assert_eq!(book.report().missed.len(), 0);
    assert_eq!(played.ask(execute(1, true, 7))[4..7], [0xff, 0x51, 0x04]);
    assert_eq!(played.ask(execute(9, true, 5))[4..7], [0xff, 0x51, 0x04]);
    assert_eq!(book.report().missed.len(), 2);

    let outcome = recorded(
        NO_EOF,
        &[
            client(prepare("SELECT ?")),
            server(prepared(7, NO_EOF)),
            client(query("X")),
            server(ok(1, 2)),
        ],
    );
    assert_eq!(outcome.calls.len(), 3);
}

#[test]
fn mysql_long_data_belongs_to_execution() {
    let prepare = message(0, b"\x16INSERT ?");
    let long = |text: &[u8]| message(0, &[&[0x18, 1, 0, 0, 0, 0, 0][..], text].concat());
    let conversation = |text: &'static [u8]| {
        [
            client(&prepare),
            server(prepared(1, 0)),
            client([long(text), execute(1, true, 5)].concat()),
            server(ok(1, 2)),
        ]
    };
    let outcome = recorded(0, &conversation(b"one"));
    assert_eq!(outcome.messages()[2].1.len(), 4);
    plays(0, &conversation(b"one"), &outcome);
    let (book, mut played) = connected(&outcome.calls, 0);
    for (_, bytes) in conversation(b"two")
        .iter()
        .filter(|(from, _)| *from == Side::Client)
    {
        played.ask(bytes);
    }
    assert_eq!(book.report().missed.len(), 1);
}

#[test]
fn mysql_local_infile_is_not_recorded() {
    let outcome = recorded(
        0,
        &[
            client(query("LOAD DATA LOCAL INFILE 'f'")),
            server(message(1, b"\xfbf")),
        ],
    );
    let lost = "the rest of a connection to `db.test:7`: the server asks for a file of the client \
        (`LOAD DATA LOCAL`), which is not recorded";
    assert_eq!(
        (outcome.calls.len(), outcome.lost),
        (1, vec![lost.to_owned()])
    );
}

#[test]
fn mysql_change_user_omits_password() {
    let change = |secret: &str| {
        let parts = [
            b"\x11v\0",
            &[secret.len() as u8][..],
            secret.as_bytes(),
            b"d\0\x2d\0mysql_native_password\0",
        ];
        message(0, &parts.concat())
    };
    let conversation = [
        client(change("secret")),
        server(message(1, b"\xfemysql_native_password\0salt\0")),
        client(message(2, b"proof")),
        server(ok(3, 2)),
    ];
    let outcome = recorded(0, &conversation);
    assert!(
        outcome
            .messages()
            .iter()
            .flat_map(|(_, said)| said)
            .all(|(_, text)| !text.contains("secret"))
    );
    assert_eq!(outcome.messages()[1].1.len(), 2);
    let (_, mut played) = connected(&outcome.calls, 0);
    assert_eq!(played.ask(change("other")), ok(1, 2));
}

#[test]
fn mysql_without_recorded_greeting_refuses_connection() {
    let book = book(&[]);
    let mut played = Played::new(Protocol::MySql, &book);
    assert_eq!(
        (played.open()[3..7].to_vec(), played.closed),
        (vec![0, 0xff, 0x51, 0x04], true)
    );
    assert_eq!(book.report().missed.len(), 1);
}

#[test]
fn mysql_refusal_instead_of_greeting_is_replayed() {
    let refusal = message(0, b"\xff\x10\x04Too many connections");
    let outcome = record(Protocol::MySql, &[server(&refusal)]);
    let book = book(&outcome.calls);
    let mut played = Played::new(Protocol::MySql, &book);
    assert_eq!(played.open(), refusal);
    assert!(played.closed);
}

#[test]
fn mysql_unsupported_stream_is_forwarded_as_lost() {
    let outcome = recorded(
        0,
        &[
            client(message(0, b"\x12\x04\0\0\0")),
            server(message(1, b"\0event")),
        ],
    );
    assert_eq!(
        outcome.lost,
        [
            "the rest of a connection to `db.test:7`: the connection became a replication stream, \
             which is not recorded"
        ]
    );
    let outcome = recorded(0, &[client([0xff, 0xff, 0xff, 0])]);
    assert_eq!(
        outcome.lost,
        ["the rest of a connection to `db.test:7`: a MySQL message has 16 MiB or more"]
    );
    let outcome = recorded(
        0,
        &[
            client(query("SELECT 1")),
            server([message(1, &[1]), column(2)].concat()),
        ],
    );
    assert_eq!(
        outcome.lost,
        ["a call to `db.test:7`: the connection ended before its answer"]
    );
    let outcome = record(
        Protocol::MySql,
        &[server(b"\x04\0\0\0\x09abc"), client("x")],
    );
    assert_eq!(
        outcome.lost,
        [
            "the rest of a connection to `db.test:7`: the connection does not begin as MySQL \
             connections do"
        ]
    );
}

/// Returns a login to this database, or to none if empty.
fn login_to(database: &str) -> Vec<u8> {
    let with_database = if database.is_empty() { 0 } else { 1 << 3 };
    let capabilities = CAPABILITIES & !(1 << 3) | with_database;
    let fixed = [&capabilities.to_le_bytes()[..], &[0, 0, 0, 1, 45], &[0; 23]].concat();
    let database = if database.is_empty() {
        String::new()
    } else {
        format!("{database}\0")
    };
    message(
        1,
        &[
            &fixed,
            b"u\0\0".as_slice(),
            database.as_bytes(),
            b"caching_sha2_password\0\0",
        ]
        .concat(),
    )
}

fn in_database(database: &str, conversation: &[ScriptedMessage]) -> Outcome {
    let login = [
        server(greeting(u32::MAX)),
        client(login_to(database)),
        server(ok(2, 2)),
    ];
    record(Protocol::MySql, &[&login[..], conversation].concat())
}

/// Returns a result of one row.
fn value(value: u8) -> Vec<u8> {
    [
        message(1, &[1]),
        column(2),
        eof(3, 2),
        message(4, &[1, value]),
        eof(5, 2),
    ]
    .concat()
}

#[test]
fn mysql_call_is_answered_by_current_database() {
    let select = || client(query("SELECT v FROM t"));
    let init = |name: &str| client(message(0, &[&[2][..], name.as_bytes()].concat()));
    let mut calls = in_database(
        "a",
        &[select(), server(value(b'a')), init("b"), server(ok(1, 2))],
    )
    .calls;
    let using = [
        client(query("use `b`;")),
        server(ok(1, 2)),
        select(),
        server(value(b'b')),
        client(query("USE nothing")),
        server(error(1, "Unknown database")),
        select(),
        server(value(b'B')),
    ];
    calls.extend(in_database("a", &using).calls);
    calls.extend(in_database("", &[select(), server(error(1, "No database selected"))]).calls);
    let book = book(&calls);
    let ask = |database: &str, before: &[Vec<u8>]| {
        let mut played = Played::new(Protocol::MySql, &book);
        played.open();
        played.ask(login_to(database));
        for message in before {
            drop(played.ask(message));
        }
        played.ask(select().1)
    };
    assert_eq!(ask("a", &[query("use `b`;")]), value(b'b'));
    assert_eq!(ask("a", &[init("b").1, query("USE nothing")]), value(b'B'));
    assert_eq!(ask("", &[]), error(1, "No database selected"));
    assert_eq!(ask("a", &[]), value(b'a'));
    assert_eq!(ask("a", &[query("USE c")])[3..7], [1, 0xff, 0x51, 0x04]);
}

#[test]
fn mysql_session_variables_select_answer() {
    let select = || client(query("SELECT NOW()"));
    let zone = |zone: &str| client(query(&format!("SET time_zone = '{zone}'")));
    let conversation = [
        select(),
        server(value(b'a')),
        zone("+01:00"),
        server(ok(1, 2)),
        select(),
        server(value(b'b')),
        zone("nowhere"),
        server(error(1, "Unknown time zone")),
        select(),
        server(value(b'B')),
        client(message(0, &[0x1f])),
        server(ok(1, 2)),
        select(),
        server(value(b'A')),
    ];
    let outcome = in_database("d", &conversation);
    let book = book(&outcome.calls);
    let mut played = Played::new(Protocol::MySql, &book);
    played.open();
    played.ask(login_to("d"));
    // Pools repeat it.
    for _ in 0..3 {
        assert_eq!(played.ask(zone("+01:00").1), ok(1, 2));
    }
    assert_eq!(played.ask(select().1), value(b'b'));
    assert_eq!(played.ask(message(0, &[0x1f])), ok(1, 2));
    assert_eq!(played.ask(select().1), value(b'a'));
    assert_eq!(played.ask(zone("nowhere").1), error(1, "Unknown time zone"));
    assert_eq!(played.ask(select().1), value(b'A'));
    assert_eq!(book.report().missed_count, 0);
}

#[test]
fn mysql_session_state_distinguishes_calls() {
    type Way<'a> = (&'a [&'a str], &'a [&'a str], &'a str);
    let done = |made: u8| message(1, &[0, 1, made, 2, 0, 0, 0]);
    let ways: [Way; 6] = [
        (&["CALL pp('1')"], &["CALL pp('2')"], "SELECT @y"),
        (
            &["SELECT `shop`.`enter`(1)"],
            &["SELECT `shop`.`enter`(2)"],
            "SELECT v FROM t WHERE n = @y",
        ),
        (&["SET @who = 'a'"], &["SET @who = 'b'"], "SELECT @who"),
        (
            &["SET @n = 1"],
            &["SET @n = 1", "SET @n = @n + 1"],
            "SELECT v FROM t WHERE n = @n",
        ),
        (
            &["PREPARE p FROM 'SELECT 1'"],
            &["PREPARE p FROM 'SELECT 2'"],
            "EXECUTE p",
        ),
        (
            &["CREATE TEMPORARY TABLE v SELECT 1"],
            &["CREATE TEMPORARY TABLE v SELECT 2"],
            "SELECT * FROM `v`",
        ),
    ];
    for (a, b, asked) in ways {
        let said = |before: &[&str], number: u8| {
            let mut said: Vec<ScriptedMessage> = before
                .iter()
                .flat_map(|text| [client(query(text)), server(done(number))])
                .collect();
            said.extend([client(query(asked)), server(value(number))]);
            said
        };
        let calls = [
            recorded(0, &said(a, 5)).calls,
            recorded(0, &said(b, 6)).calls,
        ]
        .concat();
        for (before, number) in [(b, 6), (a, 5)] {
            let (book, mut played) = connected(&calls, 0);
            for text in before {
                drop(played.ask(query(text)));
            }
            let got = played.ask(query(asked));
            assert_eq!(
                got.escape_ascii().to_string(),
                value(number).escape_ascii().to_string(),
                "{asked}"
            );
            // Statements without session state match too.
            assert_eq!(book.report().missed_count, 0);
        }
    }
    let plain = [client(query("SELECT @a")), server(value(1))];
    for before in [
        "SELECT NOW(), COALESCE(VERSION(), 'x')",
        "DO SLEEP(0)",
        "SELECT own(v) FROM t",
    ] {
        let marked = [&[client(query(before)), server(ok(1, 2))][..], &plain].concat();
        let (_, mut played) = connected(&recorded(0, &marked).calls, 0);
        assert_eq!(played.ask(query("SELECT @a")), value(1), "{before}");
    }
    let plain = [client(query("SELECT 1")), server(value(1))];
    let marked = [&[client(query("SET @a = 1")), server(ok(1, 2))][..], &plain].concat();
    let (_, mut played) = connected(&recorded(0, &marked).calls, 0);
    assert_eq!(played.ask(query("SELECT 1")), value(1));
}

#[test]
fn mysql_abandoned_call_is_not_answered() {
    let asked = message(0, b"\x03SELECT SLEEP(9)");
    let whole: Vec<_> = login(0)
        .into_iter()
        .chain([client(asked.clone())])
        .collect();
    let outcome = record_left(Protocol::MySql, &whole, Side::Client);
    assert_eq!(
        (
            outcome.calls.len(),
            outcome.lost.len(),
            outcome.calls[1].abandoned()
        ),
        (2, 0, true)
    );
    let (book, mut played) = connected(&outcome.calls, 0);
    assert_eq!(
        (played.ask(asked), played.held, played.closed),
        (vec![], true, false)
    );
    assert_eq!(
        (book.report().missed, book.report().unused),
        (vec![], vec![])
    );
}

#[test]
fn mysql_second_statement_of_query_changes_state() {
    let ask = || client(message(0, b"\x03SELECT v FROM t"));
    let several = |text: &str| {
        [
            client(message(0, format!("\x03{text}").as_bytes())),
            server([ok(1, 10), ok(2, 2)].concat()),
        ]
    };
    for text in ["DO 1; USE other", "DO 1; SET time_zone = '+01:00'"] {
        let with = [&several(text)[..], &[ask(), server(error(1, "with"))]].concat();
        let without = [ask(), server(error(1, "without"))];
        let mut calls = recorded(0, &with).calls;
        calls.extend(recorded(0, &without).calls);
        let (book, mut played) = connected(&calls, 0);
        assert_eq!(played.ask(&ask().1), error(1, "without"), "{text}");
        assert_eq!(
            played.ask(&several(text)[0].1),
            several(text)[1].1,
            "{text}"
        );
        assert_eq!(played.ask(&ask().1), error(1, "with"), "{text}");
        assert_eq!(book.report().missed, vec![], "{text}");
    }
}
