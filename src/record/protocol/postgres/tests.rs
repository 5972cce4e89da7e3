//! Conversations from the chapter "Message Flow" of the `PostgreSQL` manual.

mod abandonment;
mod attacks;
mod metadata;
mod notifications;
mod pooling;
mod session;

use std::sync::Arc;

use super::message::{error, message, ready};
use crate::call::{Exchange, Protocol, Side};
use crate::test_support::{
    Outcome, Played, ScriptedMessage, book, client, record, record_in, record_left, replays, server,
};

fn startup(parameters: &[(&str, &str)]) -> Vec<u8> {
    let mut body = 196_608_u32.to_be_bytes().to_vec();
    for (name, value) in parameters {
        body.extend(format!("{name}\0{value}\0").into_bytes());
    }
    body.push(0);
    [&(body.len() as u32 + 4).to_be_bytes()[..], &body].concat()
}

/// Process id and key for cancel requests of the connection.
const KEY: &[u8; 8] = b"pid_\0\0\0\x03";

fn login() -> Vec<ScriptedMessage> {
    let challenge = message(b'R', &[&5_u32.to_be_bytes(), b"salt"]);
    vec![
        client(startup(&[("user", "u"), ("database", "d")])),
        server(challenge),
        client(message(b'p', &[b"md5secret\0"])),
        server(
            [
                message(b'R', &[&[0; 4]]),
                message(b'S', &[b"server_version\x0017.2\0"]),
            ]
            .concat(),
        ),
        server([message(b'K', &[KEY]), ready(b'I')].concat()),
    ]
}

fn query(text: &str) -> Vec<u8> {
    message(b'Q', &[text.as_bytes(), b"\0"])
}

fn parse(name: &str, text: &str) -> Vec<u8> {
    message(b'P', &[format!("{name}\0{text}\0\0\0").as_bytes()])
}

fn bind(portal: &str, statement: &str, value: &str) -> Vec<u8> {
    let names = format!("{portal}\0{statement}\0\0\0");
    let length = (value.len() as u32).to_be_bytes();
    message(
        b'B',
        &[
            names.as_bytes(),
            &[0, 1],
            &length,
            value.as_bytes(),
            &[0, 0],
        ],
    )
}

fn describe(kind: char, name: &str) -> Vec<u8> {
    message(b'D', &[format!("{kind}{name}\0").as_bytes()])
}

fn execute(portal: &str, rows: u32) -> Vec<u8> {
    message(b'E', &[portal.as_bytes(), b"\0", &rows.to_be_bytes()])
}

fn only(kind: u8) -> Vec<u8> {
    message(kind, &[])
}

fn row(value: &str) -> Vec<u8> {
    message(
        b'D',
        &[
            &[0, 1],
            &(value.len() as u32).to_be_bytes(),
            value.as_bytes(),
        ],
    )
}

fn complete(tag: &str) -> Vec<u8> {
    message(b'C', &[tag.as_bytes(), b"\0"])
}

fn columns() -> Vec<u8> {
    message(
        b'T',
        &[b"\0\x01a\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0"],
    )
}

/// Records a conversation after the login.
fn recorded(conversation: &[ScriptedMessage]) -> (Vec<ScriptedMessage>, Outcome) {
    let whole: Vec<_> = login()
        .into_iter()
        .chain(conversation.iter().cloned())
        .collect();
    let outcome = record(Protocol::Postgres, &whole);
    let all = |side| {
        whole
            .iter()
            .filter(|(from, _)| *from == side)
            .flat_map(|(_, b)| b.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(outcome.to_server, all(Side::Client));
    assert_eq!(outcome.to_client, all(Side::Server));
    (whole, outcome)
}

/// Returns the answers to a program that logs in without a password and sends the same.
fn expected(conversation: &[ScriptedMessage]) -> Vec<u8> {
    let after: Vec<_> = login()[3..].iter().chain(conversation).cloned().collect();
    after
        .into_iter()
        .filter(|(from, _)| *from == Side::Server)
        .flat_map(|(_, bytes)| bytes)
        .collect()
}

/// Plays the conversation, in pieces of different sizes.
fn plays(conversation: &[ScriptedMessage], calls: &[Exchange]) -> Arc<crate::matching::Recordings> {
    let asked: Vec<_> = std::iter::once(login()[0].1.clone())
        .chain(
            conversation
                .iter()
                .filter(|(from, _)| *from == Side::Client)
                .map(|(_, bytes)| bytes.clone()),
        )
        .collect();
    let mut last = None;
    for pieces in [usize::MAX, 1, 9] {
        let book = book(calls);
        let mut played = Played::new(Protocol::Postgres, &book);
        let answered: Vec<_> = asked
            .iter()
            .flat_map(|bytes| bytes.chunks(pieces))
            .flat_map(|piece| played.ask(piece))
            .collect();
        assert_eq!(
            answered.escape_ascii().to_string(),
            expected(conversation).escape_ascii().to_string()
        );
        // The count includes the login.
        let report = book.report();
        assert_eq!(
            (report.missed.len(), report.replayed),
            (0, calls.len() as u64)
        );
        last = Some(book);
    }
    last.unwrap()
}

/// Returns the sizes of the calls: messages of the client, without the state before them, and of
/// the server; `true` if they belong to the connection.
fn shapes(outcome: &Outcome) -> Vec<(usize, usize, bool)> {
    let count = |said: &[(Side, String)], side| {
        let count = said.iter().filter(|(from, _)| *from == side).count();
        let has_state = side == Side::Client && count > 1 && said[0].1.starts_with(r"\x00");
        count - usize::from(has_state)
    };
    outcome
        .messages()
        .iter()
        .map(|(session, said)| {
            (
                count(said, Side::Client),
                count(said, Side::Server),
                *session,
            )
        })
        .collect()
}

#[test]
fn postgres_simple_queries_are_recorded_without_password() {
    let conversation = [
        client(query("BEGIN")),
        server([complete("BEGIN"), ready(b'T')].concat()),
        client(query("SELECT a FROM t")),
        server(
            [
                columns(),
                row("1"),
                row("2"),
                complete("SELECT 2"),
                ready(b'T'),
            ]
            .concat(),
        ),
        client(query("SELECT nonsense")),
        server([error("ERROR", "column does not exist"), ready(b'E')].concat()),
        client(query("ROLLBACK")),
        server([complete("ROLLBACK"), ready(b'I')].concat()),
        client(query("SET a = 1")),
        server([complete("SET"), ready(b'I')].concat()),
        client(only(b'X')),
    ];
    let (_, outcome) = recorded(&conversation);
    assert_eq!(
        shapes(&outcome),
        [
            (1, 4, true),
            (1, 2, false),
            (1, 5, false),
            (1, 2, false),
            (1, 2, false),
            (1, 2, true)
        ]
    );
    let said = outcome.messages();
    assert!(
        said[0]
            .1
            .iter()
            .all(|(_, text)| !text.contains("secret") && !text.contains("salt"))
    );
    assert_eq!(
        said[2].1[0],
        (
            Side::Client,
            r"Q\x00\x00\x00\x14SELECT a FROM t\x00".to_owned()
        )
    );
    plays(&conversation, &outcome.calls);
}

#[test]
fn postgres_statements_match_by_text() {
    let run =
        |name: &str, value: &str| [bind("", name, value), execute("", 0), only(b'S')].concat();
    let ran = |value: &str| [only(b'2'), row(value), complete("SELECT 1"), ready(b'I')].concat();
    let conversation = [
        client([parse("s1", "SELECT $1"), describe('S', "s1"), only(b'S')].concat()),
        server(
            [
                only(b'1'),
                message(b't', &[&[0, 1, 0, 0, 0, 25]]),
                columns(),
                ready(b'I'),
            ]
            .concat(),
        ),
        client(run("s1", "x")),
        server(ran("x")),
        client(run("s1", "y")),
        server(ran("y")),
        client([message(b'C', &[b"Ss1\0"]), only(b'S')].concat()),
        server([only(b'3'), ready(b'I')].concat()),
    ];
    let (_, outcome) = recorded(&conversation);
    assert_eq!(
        shapes(&outcome)[1..],
        [(1, 1, true), (1, 2, true), (2, 4, false), (2, 4, false)]
    );
    assert!(outcome.messages()[3].1[0].1.contains(r"\x00SELECT $1\x00"));
    let book = plays(&conversation, &outcome.calls);
    assert_eq!(book.report().missed.len(), 0);

    // Other names, on two connections, in another order, and in one pipeline.
    let book = crate::test_support::book(&outcome.calls);
    let mut one = Played::new(Protocol::Postgres, &book);
    let mut two = Played::new(Protocol::Postgres, &book);
    for played in [&mut one, &mut two] {
        played.ask(startup(&[
            ("database", "d"),
            ("user", "u"),
            ("application_name", "other"),
        ]));
    }
    let prepared = |name: &str| [parse(name, "SELECT $1"), describe('S', name)].concat();
    let defined = [
        only(b'1'),
        message(b't', &[&[0, 1, 0, 0, 0, 25]]),
        columns(),
    ]
    .concat();
    assert_eq!(
        two.ask([prepared("b"), run("b", "y")].concat()),
        [defined.clone(), ran("y")].concat()
    );
    assert_eq!(
        one.ask([prepared("a"), run("a", "x")].concat()),
        [defined, ran("x")].concat()
    );
    assert_eq!(book.report().missed.len(), 0);
}

#[test]
fn postgres_full_extended_batch_replays() {
    let batch = |value: &str| {
        [
            parse("", "SELECT $1"),
            bind("", "", value),
            describe('P', ""),
            execute("", 0),
            only(b'S'),
        ]
        .concat()
    };
    let answer = |value: &str| {
        [
            only(b'1'),
            only(b'2'),
            columns(),
            row(value),
            complete("SELECT 1"),
            ready(b'I'),
        ]
        .concat()
    };
    let conversation = [
        client(batch("x")),
        server(answer("x")),
        client([batch("y"), batch("z")].concat()),
        server([answer("y"), answer("z")].concat()),
    ];
    let (_, outcome) = recorded(&conversation);
    plays(&conversation, &outcome.calls);
}

#[test]
fn postgres_flush_returns_pending_answers() {
    let conversation = [
        client([parse("p", "SELECT $1"), describe('S', "p"), only(b'H')].concat()),
        server(
            [
                only(b'1'),
                message(b't', &[&[0, 1, 0, 0, 0, 25]]),
                columns(),
            ]
            .concat(),
        ),
        client([bind("c", "p", "x"), only(b'H')].concat()),
        server(only(b'2')),
        client([execute("c", 1), only(b'H')].concat()),
        server([row("1"), only(b's')].concat()),
        client([execute("c", 1), only(b'S')].concat()),
        server([row("2"), complete("SELECT 1"), ready(b'I')].concat()),
    ];
    let (_, outcome) = recorded(&conversation);
    plays(&conversation, &outcome.calls);
}

#[test]
fn postgres_error_skips_messages_until_sync() {
    let run = |value: &str| [bind("", "s", value), execute("", 0)].concat();
    let fault = || error("ERROR", "invalid input syntax for type integer");
    let conversation = [
        client(
            [
                parse("s", "SELECT $1::int"),
                run("1"),
                run("bad"),
                run("3"),
                only(b'S'),
                query("SELECT 4"),
            ]
            .concat(),
        ),
        server(
            [
                only(b'1'),
                only(b'2'),
                row("1"),
                complete("SELECT 1"),
                fault(),
                ready(b'I'),
            ]
            .concat(),
        ),
        server([columns(), row("4"), complete("SELECT 1"), ready(b'I')].concat()),
        client(
            [
                parse("t", "SELEC"),
                describe('S', "t"),
                run("5"),
                only(b'S'),
            ]
            .concat(),
        ),
        server([error("ERROR", "syntax error"), ready(b'I')].concat()),
    ];
    let (_, outcome) = recorded(&conversation);
    assert_eq!(
        shapes(&outcome)[1..],
        [
            (1, 1, true),
            (2, 3, false),
            (2, 2, false),
            (1, 4, false),
            (1, 1, true)
        ]
    );
    plays(&conversation, &outcome.calls);
}

#[test]
fn postgres_described_statement_replays_its_error() {
    let asked = [
        parse("", "INSERT"),
        bind("", "", "x"),
        describe('P', ""),
        execute("", 0),
        only(b'S'),
    ]
    .concat();
    let fault = error("ERROR", "duplicate key value violates unique constraint");
    let conversation = [
        client(query("BEGIN")),
        server([complete("BEGIN"), ready(b'T')].concat()),
        client(asked),
        server([only(b'1'), only(b'2'), only(b'n'), fault, ready(b'E')].concat()),
    ];
    let (_, outcome) = recorded(&conversation);
    plays(&conversation, &outcome.calls);
}

#[test]
fn postgres_copy_in_and_out_replays() {
    let asks = || message(b'G', &[&[0, 0, 1, 0, 0]]);
    let data = |text: &str| message(b'd', &[text.as_bytes()]);
    let conversation = [
        client(query("COPY t FROM STDIN")),
        server(asks()),
        client([data("1\n2"), data("\n3\n"), only(b'c')].concat()),
        server([complete("COPY 3"), ready(b'I')].concat()),
        client(query("COPY t TO STDOUT")),
        server(
            [
                message(b'H', &[&[0, 0, 1, 0, 0]]),
                data("1\n"),
                data("2\n"),
                only(b'c'),
                complete("COPY 2"),
                ready(b'I'),
            ]
            .concat(),
        ),
        client(
            [
                parse("", "COPY t FROM STDIN"),
                message(b'B', &[&[0; 8]]),
                execute("", 0),
                only(b'S'),
            ]
            .concat(),
        ),
        server([only(b'1'), only(b'2'), asks()].concat()),
        client([data("4\n"), only(b'c'), only(b'S')].concat()),
        server([complete("COPY 1"), ready(b'I')].concat()),
    ];
    let (_, outcome) = recorded(&conversation);
    plays(&conversation, &outcome.calls);

    let book = book(&outcome.calls);
    let mut played = Played::new(Protocol::Postgres, &book);
    played.ask(&login()[0].1);
    assert_eq!(played.ask(query("COPY t FROM STDIN")), asks());
    // The same bytes, with other message boundaries.
    let other = [data("1"), data("\n2\n3\n"), only(b'c')].concat();
    assert_eq!(
        played.ask(other),
        [complete("COPY 3"), ready(b'I')].concat()
    );
    assert_eq!(book.report().missed.len(), 0);
}

#[test]
fn postgres_copy_data_before_request_replays() {
    let all = [message(b'd', &[b"1\n"]), only(b'c')].concat();
    let bound = [
        parse("", "COPY t FROM STDIN"),
        message(b'B', &[&[0; 8]]),
        execute("", 0),
    ]
    .concat();
    let asks = || message(b'G', &[&[0, 0, 1, 0, 0]]);
    let conversation = [
        client(
            [
                query("COPY t FROM STDIN"),
                all.clone(),
                query("SELECT a FROM t"),
            ]
            .concat(),
        ),
        server([asks(), complete("COPY 1"), ready(b'I')].concat()),
        server([columns(), row("1"), complete("SELECT 1"), ready(b'I')].concat()),
        client([bound, all, only(b'S')].concat()),
        server(
            [
                only(b'1'),
                only(b'2'),
                asks(),
                complete("COPY 1"),
                ready(b'I'),
            ]
            .concat(),
        ),
    ];
    let (_, outcome) = recorded(&conversation);
    assert_eq!(outcome.lost, [""; 0]);
    plays(&conversation, &outcome.calls);
}

#[test]
fn postgres_notices_belong_to_calls() {
    let notice = || message(b'N', &[b"SNOTICE\0Mhi\0\0"]);
    let notification = || message(b'A', &[b"\0\0\0\x01channel\0payload\0"]);
    let conversation = [
        client(query("LISTEN channel")),
        server([complete("LISTEN"), ready(b'I')].concat()),
        server(notification()),
        client(query("SELECT 1")),
        server(
            [
                notice(),
                columns(),
                row("1"),
                complete("SELECT 1"),
                ready(b'I'),
            ]
            .concat(),
        ),
    ];
    let (_, outcome) = recorded(&conversation);
    assert_eq!(shapes(&outcome)[1..], [(1, 3, true), (1, 5, false)]);
    plays(&conversation, &outcome.calls);
}

#[test]
fn postgres_tls_is_declined_or_relayed() {
    let ask = |code: u32| [8_u32.to_be_bytes(), code.to_be_bytes()].concat();
    let conversation: Vec<_> = [
        client(ask(80_877_104)),
        client(ask(80_877_103)),
        server("N"),
    ]
    .into_iter()
    .chain(login())
    .collect();
    let outcome = record(Protocol::Postgres, &conversation);
    assert!(outcome.to_client.starts_with(b"NNR"));
    let relayed = [ask(80_877_103), login()[0].1.clone()].concat();
    assert!(outcome.to_server.starts_with(&relayed));

    let conversation: Vec<_> = [client(ask(80_877_103)), server("S")]
        .into_iter()
        .chain(login())
        .collect();
    let outcome = record_in(Protocol::Postgres, &conversation, usize::MAX);
    assert_eq!(outcome.encrypted, [b""]);
    assert!(outcome.to_server.starts_with(&ask(80_877_103)));
    assert!(outcome.calls[0].tls);
    let book = book(&outcome.calls);
    let mut played = Played::new(Protocol::Postgres, &book);
    assert_eq!(played.ask(ask(80_877_103)), b"S");
    assert_eq!(played.encrypted, 1);
    assert_eq!(played.ask(&login()[0].1), expected(&[]));

    let conversation: Vec<_> = [client(ask(80_877_103)), server("N")]
        .into_iter()
        .chain(login())
        .collect();
    let outcome = record_in(Protocol::Postgres, &conversation, 1);
    assert_eq!((outcome.encrypted.len(), outcome.calls.len()), (0, 1));
}

#[test]
fn postgres_unknown_request_fails_without_disconnect() {
    let conversation = [
        client(query("BEGIN")),
        server([complete("BEGIN"), ready(b'T')].concat()),
        client(query("SELECT 1")),
        server([columns(), row("1"), complete("SELECT 1"), ready(b'T')].concat()),
    ];
    let (_, outcome) = recorded(&conversation);
    let book = book(&outcome.calls);
    let mut played = Played::new(Protocol::Postgres, &book);
    played.ask(&login()[0].1);
    let unknown = |bytes: &[u8]| {
        bytes.starts_with(b"E")
            && memchr::memmem::find(bytes, b"no recording answers this call").is_some()
    };
    let answer = played.ask(query("SELECT 2"));
    assert!(
        unknown(&answer) && answer.ends_with(&ready(b'I')),
        "{}",
        answer.escape_ascii()
    );
    let answer = played.ask(
        [
            parse("", "SELECT 3"),
            bind("", "", "x"),
            execute("", 0),
            only(b'S'),
        ]
        .concat(),
    );
    assert!(
        unknown(&answer) && answer.ends_with(&ready(b'I')),
        "{}",
        answer.escape_ascii()
    );
    assert_eq!(
        played.ask(query("BEGIN")),
        [complete("BEGIN"), ready(b'T')].concat()
    );
    assert!(played.ask(query("SELECT 2")).ends_with(&ready(b'E')));
    assert_eq!(
        played.ask(query("rollback;")),
        [complete("ROLLBACK"), ready(b'I')].concat()
    );
    // Recorded inside a transaction, requested outside.
    assert_eq!(
        played.ask(query("SELECT 1")),
        [columns(), row("1"), complete("SELECT 1"), ready(b'I')].concat()
    );
    assert_eq!(book.report().missed_count, 3);

    let mut other = Played::new(Protocol::Postgres, &book);
    assert!(
        other
            .ask(startup(&[("user", "u"), ("database", "nobody")]))
            .starts_with(b"E")
    );
    assert!(other.closed);
    let target = "db.test:7";
    let expected = format!(
        "no connection of user `u` to database `nobody` was recorded; recorded: `u@{target}/d`; \
         give the program the recorded address (its variable, such as DATABASE_URL) ({target})"
    );
    assert_eq!(
        book.report().missed.last().map(ToString::to_string),
        Some(expected)
    );
    let mut nameless = Played::new(Protocol::Postgres, &book);
    let answer = nameless.ask(startup(&[("user", "")]));
    assert!(
        answer
            .windows(25)
            .any(|part| part == b"of no user to no database"),
        "{}",
        answer.escape_ascii()
    );
}

#[test]
fn postgres_unsupported_stream_is_forwarded_as_lost() {
    let (_, outcome) = recorded(&[
        client(query("START_REPLICATION")),
        server(message(b'W', &[&[0, 0, 0]])),
    ]);
    assert_eq!(
        outcome.lost,
        [
            "the rest of a connection to `db.test:7`: the connection became a replication stream, \
             which is not recorded"
        ]
    );
    let (_, outcome) = recorded(&[client(b"Q\0\0\0\x03"), server(ready(b'I'))]);
    assert_eq!(
        outcome.lost,
        [
            "the rest of a connection to `db.test:7`: a PostgreSQL message has no type or is \
             shorter than its header"
        ]
    );
    let (_, outcome) = recorded(&[client(query("SELECT 1")), server(columns())]);
    assert_eq!(
        outcome.lost,
        ["a call to `db.test:7`: the connection ended before its answer"]
    );
    let cancel = [client(
        [16_u32, 80_877_102, 1, 2].map(u32::to_be_bytes).concat(),
    )];
    let outcome = record(Protocol::Postgres, &cancel);
    assert_eq!((outcome.calls.len(), outcome.lost.len()), (0, 0));
    replays(Protocol::Postgres, &cancel, &outcome);
}

fn in_database(database: &str, conversation: &[ScriptedMessage]) -> Vec<Exchange> {
    let mut whole = login();
    whole[0] = client(startup(&[("user", "u"), ("database", database)]));
    record(Protocol::Postgres, &[&whole, conversation].concat()).calls
}

fn value(value: &str) -> Vec<u8> {
    [columns(), row(value), complete("SELECT 1"), ready(b'I')].concat()
}

fn completed(tag: &str) -> Vec<u8> {
    [complete(tag), ready(b'I')].concat()
}

#[test]
fn postgres_database_and_settings_select_answer() {
    let select = || query("SELECT v FROM t");
    let extended = |text: &str| {
        [
            parse("", text),
            bind("", "", "x"),
            execute("", 0),
            only(b'S'),
        ]
        .concat()
    };
    let mut calls = in_database("a", &[client(select()), server(value("a"))]);
    let settings = [
        client(select()),
        server(value("b")),
        // One pipeline.
        client(
            [
                query("SET search_path TO one"),
                select(),
                query("set search_path=two;"),
                select(),
            ]
            .concat(),
        ),
        server(
            [
                completed("SET"),
                value("one"),
                completed("SET"),
                value("two"),
            ]
            .concat(),
        ),
        client(extended("SET ROLE r")),
        server([only(b'1'), only(b'2'), complete("SET"), ready(b'I')].concat()),
        client(select()),
        server(value("role")),
        client(query("SET ROLE nobody")),
        server([error("ERROR", "no such role"), ready(b'I')].concat()),
        client(query("SET SESSION AUTHORIZATION v")),
        server(completed("SET")),
        client(select()),
        server(value("authorization")),
    ];
    calls.extend(in_database("b", &settings));
    let book = book(&calls);
    let ask = |database: &str, before: &[Vec<u8>]| {
        let mut played = Played::new(Protocol::Postgres, &book);
        played.ask(startup(&[("user", "u"), ("database", database)]));
        for message in before {
            drop(played.ask(message));
        }
        let answer = played.ask(select());
        if answer.starts_with(b"E") {
            Vec::new()
        } else {
            answer
        }
    };
    let one = query("SET search_path TO one");
    let two = query("set search_path=two;");
    let role = extended("SET ROLE r");
    let authorization = query("SET SESSION AUTHORIZATION v");
    let all = [one, two, role, query("SET ROLE nobody")];
    // A failed setting changes nothing.
    assert_eq!(ask("b", &all), value("role"));
    assert_eq!(
        ask("b", &[&all[..3], &[authorization]].concat()),
        value("authorization")
    );
    assert_eq!(ask("b", &all[..2]), value("two"));
    assert_eq!(ask("b", &all[..1]), value("one"));
    assert_eq!(ask("b", &[query("SET search_path TO three")]), b"");
    assert_eq!(ask("b", &[]), value("b"));
    assert_eq!(ask("a", &[]), value("a"));
    assert_eq!(ask("b", &[]), value("b"));
}

#[test]
fn postgres_rollback_and_transaction_end_reset_settings() {
    let select = || query("SELECT v FROM t");
    let inside = |tag: &str| [complete(tag), ready(b'T')].concat();
    let given = |value: &str| [columns(), row(value), complete("SELECT 1"), ready(b'T')].concat();
    let steps = |text: &str, answer: Vec<u8>| [client(query(text)), server(answer)];
    let got = |answer: Vec<u8>| [client(select()), server(answer)];
    let conversation = [
        steps("BEGIN", inside("BEGIN")),
        steps("SET LOCAL search_path TO one", inside("SET")),
        got(given("one")),
        steps("SAVEPOINT s", inside("SAVEPOINT")),
        steps("SET search_path TO two", inside("SET")),
        got(given("two")),
        steps("ROLLBACK TO SAVEPOINT s", inside("ROLLBACK")),
        got(given("one again")),
        steps("COMMIT", completed("COMMIT")),
        got(value("none")),
        steps(
            "BEGIN; SET search_path TO 'a;b'",
            [complete("BEGIN"), inside("SET")].concat(),
        ),
        got(given("a;b")),
        steps("/* end */ rollback", completed("ROLLBACK")),
        got(value("none again")),
        steps("BEGIN", inside("BEGIN")),
        steps("SET search_path TO three", inside("SET")),
        steps("COMMIT", completed("COMMIT")),
        got(value("three")),
        // A failed transaction of its own.
        steps(
            "SET search_path TO four; SELECT 1/0",
            [complete("SET"), error("ERROR", "zero"), ready(b'I')].concat(),
        ),
        got(value("three again")),
    ]
    .concat();
    let (_, outcome) = recorded(&conversation);
    plays(&conversation, &outcome.calls);
}

#[test]
fn postgres_refused_login_is_replayed_in_turn() {
    let refusal = || error("FATAL", "password authentication failed for user \"u\"");
    let refused = [&login()[..3], &[server(refusal())]].concat();
    let calls = |conversations: &[&[ScriptedMessage]]| -> Vec<Exchange> {
        conversations
            .iter()
            .flat_map(|one| record(Protocol::Postgres, one).calls)
            .collect()
    };
    let connect = |book: &Arc<crate::matching::Recordings>| {
        let mut played = Played::new(Protocol::Postgres, book);
        (played.ask(&login()[0].1), played.closed)
    };
    let welcomed = [login()[3].1.clone(), login()[4].1.clone()].concat();
    let again = book(&calls(&[&refused]));
    assert_eq!(
        [connect(&again), connect(&again)],
        [(refusal(), true), (refusal(), true)]
    );
    let then_let_in = book(&calls(&[&refused, &login()]));
    let expected = [
        (refusal(), true),
        (welcomed.clone(), false),
        (welcomed, false),
    ];
    assert_eq!([(); 3].map(|()| connect(&then_let_in)), expected);
    assert_eq!(then_let_in.report().missed_count, 0);
}
