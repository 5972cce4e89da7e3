//! Notifications, with and without a request before them.

use pretty_assertions::assert_eq;

use super::*;

fn notification(payload: &str) -> Vec<u8> {
    message(
        b'A',
        &[&7_u32.to_be_bytes(), b"news\0", payload.as_bytes(), b"\0"],
    )
}

fn completed(tag: &str) -> Vec<u8> {
    [complete(tag), ready(b'I')].concat()
}

fn listen() -> [ScriptedMessage; 2] {
    [client(query("LISTEN news")), server(completed("LISTEN"))]
}

fn select(value: &str) -> [ScriptedMessage; 2] {
    [
        client(query("SELECT a FROM t")),
        server([columns(), row(value), complete("SELECT 1"), ready(b'I')].concat()),
    ]
}

/// Returns a player that has logged in.
fn logged_in(outcome: &Outcome) -> (Arc<crate::matching::Recordings>, Played) {
    let book = book(&outcome.calls);
    let mut played = Played::new(Protocol::Postgres, &book);
    played.ask(startup(&[("user", "u"), ("database", "d")]));
    (book, played)
}

fn escaped(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

#[test]
fn own_notification_stays_in_answer() {
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
fn unrequested_notifications_follow_same_call() {
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
    // The login and the three requests.
    assert_eq!(outcome.calls.len(), 4);
    // A program that does not wait gets them before its next answer.
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
    // A program that waits gets them once.
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
fn notifications_follow_extended_protocol_statement() {
    let asked = [
        parse("", "LISTEN news"),
        bind("", "", "1"),
        execute("", 0),
        only(b'S'),
    ]
    .concat();
    let answer = [only(b'1'), only(b'2'), completed("LISTEN")].concat();
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
fn repeated_call_omits_notifications() {
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
fn notification_from_listening_function_follows_call() {
    let hidden = [
        client(query("SELECT listens()")),
        server([columns(), row(""), completed("SELECT 1")].concat()),
    ];
    // Notifications do not follow a preparation.
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
