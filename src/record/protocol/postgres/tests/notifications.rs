//! Notifications, with and without a question.

use pretty_assertions::assert_eq;

use super::*;

fn notification(payload: &str) -> Vec<u8> {
    message(
        b'A',
        &[&7_u32.to_be_bytes(), b"news\0", payload.as_bytes(), b"\0"],
    )
}

fn done(tag: &str) -> Vec<u8> {
    [complete(tag), ready(b'I')].concat()
}

fn listen() -> [Said; 2] {
    [client(query("LISTEN news")), server(done("LISTEN"))]
}

fn select(value: &str) -> [Said; 2] {
    [
        client(query("SELECT a FROM t")),
        server([columns(), row(value), complete("SELECT 1"), ready(b'I')].concat()),
    ]
}

/// A player that has logged in.
fn logged_in(outcome: &Outcome) -> (Arc<crate::record::matching::Book>, Played) {
    let book = book(&outcome.calls);
    let mut played = Played::new(Protocol::Postgres, &book);
    played.ask(startup(&[("user", "u"), ("database", "d")]));
    (book, played)
}

fn escaped(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

#[test]
fn that_of_an_own_notify_comes_in_its_place() {
    let own = [complete("NOTIFY"), notification("own"), ready(b'I')].concat();
    let conversation = [
        &listen()[..],
        &[client(query("NOTIFY news, 'own'")), server(own)],
        &select("1"),
    ]
    .concat();
    let (_, outcome) = recorded(&conversation);
    plays(&conversation, &outcome.calls);
}

#[test]
fn those_that_came_by_themselves_come_after_the_same_call() {
    let conversation = [
        &listen()[..],
        &[server(notification("a"))],
        &[server([notification("b"), notification("c")].concat())],
        &select("1"),
        &select("2"),
        &[server(notification("d"))],
    ]
    .concat();
    let (_, outcome) = recorded(&conversation);
    // The login, and what was asked.
    assert_eq!(outcome.calls.len(), 4);
    // Who does not wait is told before it is answered.
    let (_, mut played) = logged_in(&outcome);
    let came = [notification("a"), notification("b"), notification("c")].concat();
    assert_eq!(
        escaped(&played.ask(&listen()[0].1)),
        escaped(&listen()[1].1)
    );
    assert_eq!(
        escaped(&played.ask(&select("1")[0].1)),
        escaped(&[&came[..], &select("1")[1].1].concat())
    );
    assert_eq!(played.pause(), None);
    // Who waits is told once.
    let (book, mut played) = logged_in(&outcome);
    played.ask(&listen()[0].1);
    assert_eq!(
        played.pause().map(|bytes| escaped(&bytes)),
        Some(escaped(&came))
    );
    assert_eq!(played.pause(), None);
    assert_eq!(
        escaped(&played.ask(&select("1")[0].1)),
        escaped(&select("1")[1].1)
    );
    assert_eq!(played.pause(), None);
    assert_eq!(
        escaped(&played.ask(&select("2")[0].1)),
        escaped(&select("2")[1].1)
    );
    assert_eq!(played.pause(), Some(notification("d")));
    assert_eq!(
        (book.report().missed, book.report().unused),
        (vec![], vec![])
    );
}

#[test]
fn they_come_after_a_statement_of_the_extended_protocol() {
    let asked = [
        parse("", "LISTEN news"),
        bind("", "", "1"),
        execute("", 0),
        only(b'S'),
    ]
    .concat();
    let answer = [only(b'1'), only(b'2'), done("LISTEN")].concat();
    let (_, outcome) = recorded(&[client(&asked), server(&answer), server(notification("a"))]);
    let (book, mut played) = logged_in(&outcome);
    assert_eq!(escaped(&played.ask(&asked)), escaped(&answer));
    assert_eq!(played.pause(), Some(notification("a")));
    assert_eq!(
        (book.report().missed, book.report().unused),
        (vec![], vec![])
    );
}

#[test]
fn what_is_asked_once_more_is_answered_without_them() {
    let (_, outcome) = recorded(&[&listen()[..], &[server(notification("a"))]].concat());
    let (book, mut played) = logged_in(&outcome);
    let told: Vec<_> = (0..3)
        .map(|_| {
            assert_eq!(
                escaped(&played.ask(&listen()[0].1)),
                escaped(&listen()[1].1)
            );
            played.pause()
        })
        .collect();
    assert_eq!(told, [Some(notification("a")), None, None]);
    assert_eq!(book.report().missed, []);
}

#[test]
fn that_of_a_channel_that_a_function_listens_to_comes_after_its_call() {
    let hidden = [
        client(query("SELECT listens()")),
        server([columns(), row(""), done("SELECT 1")].concat()),
    ];
    // What is prepared meanwhile is no call that it comes after.
    let prepared = [
        client([parse("s", "SELECT 1"), only(b'S')].concat()),
        server([only(b'1'), ready(b'I')].concat()),
    ];
    let (_, outcome) = recorded(&[&hidden[..], &prepared, &[server(notification("a"))]].concat());
    let (book, mut played) = logged_in(&outcome);
    assert_eq!(escaped(&played.ask(&hidden[0].1)), escaped(&hidden[1].1));
    assert_eq!(played.pause(), Some(notification("a")));
    assert_eq!(
        escaped(&played.ask(&prepared[0].1)),
        escaped(&prepared[1].1)
    );
    assert_eq!(
        (outcome.lost, book.report().missed, book.report().unused),
        (vec![], vec![], vec![])
    );
}
