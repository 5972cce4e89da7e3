//! Choice among several answers, for transactions and for tests that run alone.

use std::time::Duration;

use pretty_assertions::assert_eq;

use super::databases::{query, redis};
use super::*;
use crate::call::{Link, Message, Side, Wire};

/// Returns a book of these calls in order: connection, request and answer.
fn recorded(protocol: Protocol, calls: &[(u64, Vec<u8>, &str)]) -> Arc<Recordings> {
    let exchange = |(order, (connection, said, answer)): (usize, &(u64, Vec<u8>, &str))| {
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(order as u64);
        let said = [
            (Side::Client, said.clone()),
            (Side::Server, answer.as_bytes().to_vec()),
        ];
        let messages = said
            .into_iter()
            .map(|(from, bytes)| Message { from, bytes })
            .collect();
        Exchange {
            sent_at: at,
            ..exchange(protocol, *connection, messages)
        }
    };
    Arc::new(Recordings::new(
        calls.iter().enumerate().map(exchange).collect(),
        Noise::default(),
    ))
}

fn exchange(protocol: Protocol, connection: u64, messages: Vec<Message>) -> Exchange {
    let link = Link {
        target: Target {
            host: "db".to_owned(),
            port: 1,
        },
        tls: false,
        connection,
    };
    let wire = Wire {
        messages,
        ..Wire::default()
    };
    link.exchange(
        Content::Wire(protocol, wire),
        SystemTime::UNIX_EPOCH,
        SystemTime::UNIX_EPOCH,
    )
}

/// Returns the answers to these requests, each on one of the connections.
fn answers(
    book: &Arc<Recordings>,
    protocol: Protocol,
    questions: &[(usize, Vec<u8>)],
) -> Vec<String> {
    let mut connections = [Connection::on(book), Connection::on(book)];
    let answer = |(connection, said): &(usize, Vec<u8>)| {
        let said = vec![Message {
            from: Side::Client,
            bytes: said.clone(),
        }];
        let begun = |_| {
            Some(vec![b"begun".to_vec()])
                .filter(|_| said[0].bytes.windows(5).any(|word| word == b"BEGIN"))
        };
        let found = connections[*connection]
            .ask(exchange(protocol, 9, said.clone()), &begun)
            .unwrap();
        let Content::Wire(_, wire) = &found.content else {
            panic!()
        };
        String::from_utf8(wire.messages.last().unwrap().bytes.clone()).unwrap()
    };
    questions.iter().map(answer).collect()
}

#[test]
fn transaction_answers_come_from_one_recorded_transaction() {
    let (begin, open, fetch) = (
        query("BEGIN"),
        query("DECLARE c CURSOR FOR SELECT * FROM a"),
        query("FETCH 1 FROM c"),
    );
    let of = |connection: u64, said: &Vec<u8>, answer| (connection, said.clone(), answer);
    let book = recorded(
        Protocol::Postgres,
        &[
            of(1, &begin, "begun"),
            of(1, &open, "open"),
            of(1, &fetch, "1"),
            of(1, &fetch, "2"),
            of(2, &begin, "begun"),
            of(2, &open, "open"),
            of(2, &fetch, "1"),
            of(2, &fetch, "2"),
        ],
    );
    let questions = [&begin, &open, &fetch, &fetch]
        .map(|said| [(0, said.clone()), (1, said.clone())])
        .concat();
    let expected = ["begun", "begun", "open", "open", "1", "1", "2", "2"];
    assert_eq!(answers(&book, Protocol::Postgres, &questions), expected);
}

#[test]
fn reads_answer_by_surrounding_writes() {
    let (set, get) = (
        |value: &str| redis(&["SET", "k", value]),
        redis(&["GET", "k"]),
    );
    let book = || {
        let calls = [
            (1, set("a"), "ok"),
            (1, get.clone(), "a"),
            (1, set("b"), "ok"),
            (1, get.clone(), "b"),
        ];
        recorded(Protocol::Redis, &calls)
    };
    let read = |questions: &[Vec<u8>]| {
        let questions: Vec<_> = questions.iter().map(|said| (0, said.clone())).collect();
        answers(&book(), Protocol::Redis, &questions)
    };
    assert_eq!(
        read(&[set("a"), get.clone(), get.clone(), set("b"), get.clone()]),
        ["ok", "a", "a", "ok", "b"]
    );
    assert_eq!(read(&[set("b"), get.clone()]), ["ok", "b"]);
    assert_eq!(
        read(&[get.clone(), set("b"), get.clone()]),
        ["a", "ok", "b"]
    );
}
