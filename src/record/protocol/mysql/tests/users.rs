//! Sets that were recorded by several users.

use std::sync::Arc;

use pretty_assertions::assert_eq;

use super::*;

/// Returns the login of this user without a password, in the database `shop`.
fn of(user: &str) -> Vec<u8> {
    let fixed = [
        &(CAPABILITIES | 1 << 3).to_le_bytes()[..],
        &[0, 0, 0, 1, 45],
        &[0; 23],
    ]
    .concat();
    message(
        1,
        &[
            &fixed,
            user.as_bytes(),
            b"\0\0shop\0caching_sha2_password\0\0",
        ]
        .concat(),
    )
}

fn change_to(user: &str) -> Vec<u8> {
    message(
        0,
        &[
            b"\x11",
            user.as_bytes(),
            b"\0\0shop\0\x2d\0caching_sha2_password\0\0",
        ]
        .concat(),
    )
}

/// Records the conversation of a user on a connection.
fn asks(connection: u64, user: &str, conversation: &[ScriptedMessage]) -> Vec<Exchange> {
    let login = [
        server(greeting(u32::MAX)),
        client(of(user)),
        server(ok(2, 2)),
    ];
    let mut calls = record(Protocol::MySql, &[&login[..], conversation].concat()).calls;
    for call in &mut calls {
        call.connection = connection;
    }
    calls
}

const ORDERS: &str = "SELECT n FROM orders";

fn orders(answer: u8) -> [ScriptedMessage; 2] {
    [client(query(ORDERS)), server(value(answer))]
}

/// Returns the answers to one request from each of these users; `None` is an error.
fn answers(
    book: &Arc<crate::matching::Recordings>,
    users: &[&str],
    asked: &[u8],
) -> Vec<Option<Vec<u8>>> {
    let answer = |user: &&str| {
        let mut played = Played::new(Protocol::MySql, book);
        played.open();
        played.ask(of(user));
        Some(played.ask(asked)).filter(|answer| answer.get(4) != Some(&0xff))
    };
    users.iter().map(answer).collect()
}

#[test]
fn answers_differ_by_user() {
    let calls = [asks(1, "clerk", &orders(1)), asks(2, "boss", &orders(2))].concat();
    let in_turn = answers(&book(&calls), &["boss", "clerk", "boss"], &query(ORDERS));
    assert_eq!(in_turn, [Some(value(2)), Some(value(1)), Some(value(2))]);
    // An error for one user does not affect another.
    let denied = message(1, b"\xff\x76\x04#42000denied");
    let calls = [
        asks(1, "clerk", &[client(query(ORDERS)), server(&denied)]),
        asks(2, "boss", &orders(2)),
    ]
    .concat();
    assert_eq!(
        answers(&book(&calls), &["boss", "clerk"], &query(ORDERS)),
        [Some(value(2)), None]
    );
    // Requests independent of the user are answered for both.
    let ping = message(0, b"\x0e");
    let calls = [
        asks(1, "clerk", &[client(&ping), server(ok(1, 2))]),
        asks(2, "boss", &orders(2)),
    ]
    .concat();
    assert_eq!(
        answers(&book(&calls), &["boss", "clerk"], &ping),
        [Some(ok(1, 2)), Some(ok(1, 2))]
    );
}

#[test]
fn single_recorded_user_is_answered() {
    let one = asks(1, "clerk", &orders(1));
    assert_eq!(
        book(&one).sessions(&link().target, Protocol::MySql).len(),
        1
    );
    assert_eq!(
        answers(&book(&one), &["clerk"], &query(ORDERS)),
        [Some(value(1))]
    );
}

#[test]
fn change_user_switches_answers_to_new_user() {
    let both = [
        &orders(1)[..],
        &[client(change_to("boss")), server(ok(1, 2))],
        &orders(2),
    ]
    .concat();
    let calls = asks(1, "clerk", &both);
    for said in [1, 2] {
        let book = book(&calls);
        let mut played = Played::new(Protocol::MySql, &book);
        played.open();
        played.ask(of("clerk"));
        if said == 2 {
            assert_eq!(played.ask(change_to("boss")), ok(1, 2));
        }
        assert_eq!(played.ask(query(ORDERS)), value(said));
        assert_eq!(book.report().missed, []);
    }
}
