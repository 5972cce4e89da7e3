//! Conversations from the documentation of the `MongoDB` protocol.

use super::bson::{self, Element, kind};
use super::message::word;
use crate::call::{Protocol, Side};
use crate::test_support::{
    Outcome, Played, ScriptedMessage, book, client, record, record_left, server,
};

/// A value in a document.
#[derive(Clone)]
enum Value {
    Int(i32),
    Text(&'static str),
    Id(u8),
    Map(Vec<(&'static str, Value)>),
    List(Vec<Value>),
}
use Value::{Id, Int, List, Map, Text};

fn value(of: &Value) -> (u8, Vec<u8>) {
    match of {
        Int(number) => (kind::INT32, number.to_le_bytes().to_vec()),
        Text(text) => (kind::STRING, bson::string(text)),
        Id(byte) => (kind::OBJECT_ID, vec![*byte; 12]),
        Map(entries) => (kind::DOCUMENT, document(entries)),
        List(values) => {
            let names: Vec<_> = (0..values.len()).map(|index| index.to_string()).collect();
            let values: Vec<_> = values.iter().map(value).collect();
            let elements: Vec<_> = names
                .iter()
                .zip(&values)
                .map(|(name, (kind, value))| Element {
                    kind: *kind,
                    name: name.as_bytes(),
                    value,
                })
                .collect();
            (kind::ARRAY, bson::document(&elements))
        }
    }
}

fn document(entries: &[(&str, Value)]) -> Vec<u8> {
    let values: Vec<_> = entries.iter().map(|(_, of)| value(of)).collect();
    let elements: Vec<_> = entries
        .iter()
        .zip(&values)
        .map(|((name, _), (kind, value))| Element {
            kind: *kind,
            name: name.as_bytes(),
            value,
        })
        .collect();
    bson::document(&elements)
}

fn head(number: u32, responds_to: u32, operation: u32, body: &[u8]) -> Vec<u8> {
    [
        &[body.len() as u32 + 16, number, responds_to, operation]
            .map(u32::to_le_bytes)
            .concat()[..],
        body,
    ]
    .concat()
}

fn msg(number: u32, responds_to: u32, flags: u32, entries: &[(&str, Value)]) -> Vec<u8> {
    head(
        number,
        responds_to,
        2013,
        &[&flags.to_le_bytes()[..], &[0], &document(entries)].concat(),
    )
}

fn find(name: &'static str, session: i32) -> Vec<(&'static str, Value)> {
    vec![
        ("find", Text("c")),
        ("filter", Map(vec![("name", Text(name))])),
        ("lsid", Map(vec![("id", Int(session))])),
        ("$clusterTime", Int(session)),
        ("txnNumber", Int(session)),
        ("$db", Text("d")),
    ]
}

fn recorded(conversation: &[ScriptedMessage]) -> Outcome {
    let outcome = record(Protocol::Mongo, conversation);
    let asked: Vec<_> = conversation
        .iter()
        .filter(|(from, _)| *from == Side::Client)
        .flat_map(|(_, b)| b.clone())
        .collect();
    assert_eq!(outcome.to_server, asked);
    outcome
}

/// Splits bytes into messages: number, number of the request, and the rest after the header.
fn messages(mut bytes: &[u8]) -> Vec<(u32, u32, Vec<u8>)> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let (message, rest) = bytes.split_at(word(bytes, 0) as usize);
        found.push((word(message, 4), word(message, 8), message[12..].to_vec()));
        bytes = rest;
    }
    found
}

#[test]
fn mongo_call_matches_without_message_numbers() {
    let reply = [("n", Int(1)), ("ok", Int(1))];
    let conversation = [
        client(msg(70, 0, 0, &find("a", 1))),
        server(msg(900, 70, 0, &reply)),
    ];
    let outcome = recorded(&conversation);
    assert_eq!(outcome.to_client, conversation[1].1);
    let asked = msg(
        0,
        0,
        0,
        &[
            ("find", Text("c")),
            ("filter", Map(vec![("name", Text("a"))])),
            ("$db", Text("d")),
        ],
    );
    let answer = msg(900, 70, 0, &reply);
    assert_eq!(
        outcome.messages(),
        [(
            false,
            vec![
                (Side::Client, asked.escape_ascii().to_string()),
                (Side::Server, answer.escape_ascii().to_string())
            ]
        )]
    );
    let book = book(&outcome.calls);
    let mut played = Played::new(Protocol::Mongo, &book);
    let question = msg(5, 0, 0, &find("a", 2));
    let answer: Vec<_> = question
        .iter()
        .flat_map(|byte| played.ask([*byte]))
        .collect();
    assert_eq!(answer, msg(1, 5, 0, &reply));
    let answer = played.ask(msg(6, 0, 0, &find("b", 2)));
    let [(2, 6, body)] = &messages(&answer)[..] else {
        panic!("{}", answer.escape_ascii())
    };
    assert!(memchr::memmem::find(body, b"no recording answers this call").is_some());
    assert!(!played.closed);
    assert_eq!(book.report().missed.len(), 1);
}

#[test]
fn mongo_exhaust_replies_form_one_answer() {
    let (exhaust, more) = (1 << 16, 1 << 1);
    let batch = |n| [("batch", Int(n))];
    let conversation = [
        client(msg(
            1,
            0,
            exhaust,
            &[("getMore", Int(7)), ("$db", Text("d"))],
        )),
        server(
            [
                msg(10, 1, more, &batch(1)),
                msg(11, 10, more, &batch(2)),
                msg(12, 11, 0, &batch(3)),
            ]
            .concat(),
        ),
    ];
    let outcome = recorded(&conversation);
    assert_eq!(
        outcome
            .messages()
            .iter()
            .map(|(_, said)| said.len())
            .collect::<Vec<_>>(),
        [4]
    );
    let book = book(&outcome.calls);
    let answer = Played::new(Protocol::Mongo, &book).ask(msg(
        50,
        0,
        exhaust,
        &[("getMore", Int(7)), ("$db", Text("d"))],
    ));
    assert_eq!(
        answer,
        [
            msg(1, 50, more, &batch(1)),
            msg(2, 1, more, &batch(2)),
            msg(3, 2, 0, &batch(3))
        ]
        .concat()
    );
}

#[test]
fn mongo_hello_is_session_call_without_compression() {
    let hello = |number, client: &'static str| {
        msg(
            number,
            0,
            0,
            &[
                ("hello", Int(1)),
                ("client", Text(client)),
                ("$db", Text("admin")),
            ],
        )
    };
    let offers = || {
        [
            ("compression", List(vec![Text("zstd")])),
            ("topologyVersion", Int(1)),
            ("speculativeAuthenticate", Int(1)),
            ("ok", Int(1)),
        ]
    };
    let old = |number| {
        let body = [
            &[0; 4][..],
            b"admin.$cmd\0",
            &[0; 4],
            &[255; 4],
            &document(&[("isMaster", Int(1)), ("client", Int(2))]),
        ]
        .concat();
        head(number, 0, 2004, &body)
    };
    let reply = |number, to, entries: &[(&str, Value)]| {
        head(
            number,
            to,
            1,
            &[&[0; 16][..], &1_u32.to_le_bytes(), &document(entries)].concat(),
        )
    };
    let conversation = [
        client(hello(1, "x")),
        server(msg(10, 1, 0, &offers())),
        client(old(2)),
        server(reply(11, 2, &offers())),
    ];
    let outcome = recorded(&conversation);
    let without = [("speculativeAuthenticate", Int(1)), ("ok", Int(1))];
    assert_eq!(
        outcome.to_client,
        [msg(10, 1, 0, &without), reply(11, 2, &without)].concat()
    );
    assert!(outcome.messages().iter().all(|(session, _)| *session));
    let book = book(&outcome.calls);
    let mut played = Played::new(Protocol::Mongo, &book);
    for (number, client) in [(5, "y"), (6, "z")] {
        assert_eq!(
            played.ask(hello(number, client)),
            msg(number - 4, number, 0, &[("ok", Int(1))])
        );
    }
    assert_eq!(played.ask(old(7)), reply(3, 7, &[("ok", Int(1))]));
    assert_eq!(book.report().missed.len(), 0);
}

#[test]
fn mongo_generated_insert_ids_are_ignored() {
    let insert = |id: u8, name: &'static str| {
        let command = document(&[("insert", Text("c")), ("$db", Text("d"))]);
        let documents = [
            b"documents\0".to_vec(),
            document(&[("_id", Id(id)), ("name", Text(name))]),
        ]
        .concat();
        let length = (documents.len() as u32 + 4).to_le_bytes();
        head(
            u32::from(id),
            0,
            2013,
            &[&[0; 5][..], &command, &[1], &length, &documents].concat(),
        )
    };
    let listed = |id: u8| {
        let documents = List(vec![Map(vec![("_id", Id(id))]), Map(vec![("_id", Int(4))])]);
        msg(
            u32::from(id),
            0,
            0,
            &[
                ("insert", Text("c")),
                ("documents", documents),
                ("$db", Text("d")),
            ],
        )
    };
    let done = [("ok", Int(1))];
    let conversation = [
        client(insert(1, "a")),
        server(msg(1, 1, 0, &done)),
        client(listed(2)),
        server(msg(2, 2, 0, &done)),
    ];
    let outcome = recorded(&conversation);
    let book = book(&outcome.calls);
    let mut played = Played::new(Protocol::Mongo, &book);
    assert_eq!(played.ask(listed(8)), msg(1, 8, 0, &done));
    assert_eq!(played.ask(insert(9, "a")), msg(2, 9, 0, &done));
    played.ask(insert(9, "b"));
    assert_eq!(book.report().missed.len(), 1);
}

#[test]
fn mongo_unacknowledged_write_gets_no_reply() {
    let write = |number| {
        msg(
            number,
            0,
            1 << 1,
            &[("insert", Text("c")), ("$db", Text("d"))],
        )
    };
    let outcome = recorded(&[client(write(1)), client(write(2))]);
    assert_eq!(
        outcome
            .messages()
            .iter()
            .map(|(_, said)| said.len())
            .collect::<Vec<_>>(),
        [1, 1]
    );
    let book = book(&outcome.calls);
    let mut played = Played::new(Protocol::Mongo, &book);
    assert_eq!(played.ask([write(3), write(4), write(5)].concat()), b"");
    assert_eq!(book.report().missed.len(), 1);
}

#[test]
fn mongo_authentication_replay_fails_with_reason() {
    let start = |mechanism: &'static str| {
        [
            ("saslStart", Int(1)),
            ("mechanism", Text(mechanism)),
            ("payload", Text("secret")),
            ("$db", Text("admin")),
        ]
    };
    let outcome = recorded(&[
        client(msg(1, 0, 0, &start("SCRAM-SHA-256"))),
        server(msg(2, 1, 0, &[("payload", Text("r=s=i="))])),
    ]);
    assert_eq!((outcome.calls.len(), outcome.lost.len()), (0, 0));
    let book = book(&[]);
    let mut played = Played::new(Protocol::Mongo, &book);
    let answer = played.ask(msg(3, 0, 0, &start("SCRAM-SHA-256")));
    assert!(memchr::memmem::find(&answer, b"authentication cannot be replayed").is_some());
    assert_eq!(book.report().missed.len(), 1);
}

#[test]
fn mongo_unsupported_stream_is_forwarded_as_lost() {
    let why = |outcome: Outcome| outcome.lost;
    assert_eq!(
        why(recorded(&[client(head(1, 0, 2012, &[0; 9]))])),
        [
            "the rest of a connection to `db.test:7`: a MongoDB message is compressed, which is not \
            supported"
        ]
    );
    assert_eq!(
        why(recorded(&[client([9, 0, 0, 0, 0])])),
        ["the rest of a connection to `db.test:7`: a MongoDB message is shorter than its header"]
    );
    assert_eq!(
        why(recorded(&[client(msg(1, 0, 1, &find("a", 1)))])),
        [
            "the rest of a connection to `db.test:7`: a MongoDB message has a checksum, which is not \
            supported"
        ]
    );
    let mut broken = msg(1, 0, 0, &find("a", 1));
    broken[21] = 200;
    assert_eq!(
        why(recorded(&[client(broken)])),
        ["the rest of a connection to `db.test:7`: a MongoDB document is malformed"]
    );
    assert_eq!(
        why(recorded(&[client(msg(1, 0, 0, &find("a", 1)))])),
        ["a call to `db.test:7`: the connection ended before its answer"]
    );
}

#[test]
fn mongo_abandoned_call_is_not_answered() {
    let asked = msg(7, 0, 0, &find("a", 1));
    let outcome = record_left(Protocol::Mongo, &[client(&asked)], Side::Client);
    assert_eq!(
        (
            outcome.calls.len(),
            outcome.lost.len(),
            outcome.calls[0].abandoned()
        ),
        (1, 0, true)
    );
    let book = book(&outcome.calls);
    let mut played = Played::new(Protocol::Mongo, &book);
    assert_eq!(
        (played.ask(asked), played.held, played.closed),
        (vec![], true, false)
    );
    assert_eq!(
        (book.report().missed, book.report().unused),
        (vec![], vec![])
    );
}
