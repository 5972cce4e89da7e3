//! Answers that came after another request of the program.

use std::time::{Duration, Instant, UNIX_EPOCH};

use pretty_assertions::assert_eq;

use super::*;
use crate::call::{HttpVersion, Link, Message, Side, Wire};
use crate::matching::join_pieces;
use crate::protocol::script::Push;

/// Returns an HTTP/2 call with these times in milliseconds, and a field in its answer.
fn timed(path: &str, asked: u64, came: u64, field: (&str, &str)) -> Exchange {
    let mut call = answered(get(path), path);
    let response = http(&mut call).response.as_mut().unwrap();
    response.version = HttpVersion::Http2;
    response
        .headers
        .push((field.0.to_owned(), field.1.as_bytes().to_vec()));
    let [sent_at, answered_at] = [asked, came].map(|ms| UNIX_EPOCH + Duration::from_millis(ms));
    Exchange {
        sent_at,
        answered_at,
        ..call
    }
}

#[test]
fn unstreamed_http2_response_waits_for_next_request() {
    let patience = |first: Exchange, next: u64| {
        let book = Recordings::new(
            vec![first.clone(), timed("/next", next, next + 1, ("Date", "x"))],
            Noise::default(),
        );
        book.overtaken(&first)
            .map(|overtaken| overtaken.patience.as_millis())
    };
    let json = ("content-type", "application/json; charset=utf-8");
    let slow = |field| timed("/slow", 1000, 3000, field);
    for field in [
        json,
        ("Content-Length", "5"),
        ("content-type", "application/problem+json"),
    ] {
        assert_eq!(patience(slow(field), 2000), Some(3000), "{field:?}");
    }
    // Streamed responses, and responses that may be streamed.
    for field in [
        ("content-type", "text/event-stream"),
        ("content-type", "application/stream+json"),
        ("date", "x"),
    ] {
        assert_eq!(patience(slow(field), 2000), None, "{field:?}");
    }
    // At the same time, or afterwards.
    assert_eq!(
        [1050, 3000, 500].map(|next| patience(slow(json), next)),
        [None; 3]
    );
    let mut first = slow(json);
    http(&mut first).response.as_mut().unwrap().version = HttpVersion::Http11;
    assert_eq!(patience(first, 2000), None);
}

/// Returns a call in an unknown protocol with its times in milliseconds. Its last messages came
/// unasked, so long after the request.
fn turn(connection: u64, [asked, came]: [u64; 2], answers: &[&str], pushed: &[u64]) -> Exchange {
    let target = Target {
        host: "mq".to_owned(),
        port: 1,
    };
    let link = Link {
        target,
        tls: false,
        connection,
    };
    let asking = Wire::asking([format!("{connection} {asked}").into_bytes()]);
    let answers = answers.iter().map(|answer| Message {
        from: Side::Server,
        bytes: answer.as_bytes().to_vec(),
    });
    let wire = Wire {
        messages: asking.messages.into_iter().chain(answers).collect(),
        pushed: pushed.iter().map(|ms| Duration::from_millis(*ms)).collect(),
        ..Wire::default()
    };
    let [sent_at, answered_at] = [asked, came].map(|ms| UNIX_EPOCH + Duration::from_millis(ms));
    link.exchange(Content::Wire(Protocol::Generic, wire), sent_at, answered_at)
}

#[test]
fn push_follows_last_request_of_each_connection() {
    let subscription = turn(
        1,
        [0, 1],
        &["ok", "a", "b", "c", "d"],
        &[30, 450, 470, 5000],
    );
    let calls = [
        subscription.clone(),
        turn(2, [400, 401], &["sent"], &[]),
        turn(1, [460, 461], &["pong"], &[]),
    ];
    let book = Recordings::new(calls.to_vec(), Noise::default());
    let begun = Instant::now();
    let pushes = book.pushes(&subscription);
    let told = pushes.iter().map(|push| {
        let waits = push.latest.duration_since(begun);
        (
            String::from_utf8_lossy(&push.bytes).into_owned(),
            push.came.duration_since(UNIX_EPOCH).unwrap().as_millis(),
            push.after.clone(),
            push.delay.as_millis(),
            waits.as_millis() / 100,
        )
    });
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            // After its own request; not together with the answer.
            ("a".to_owned(), 30, vec![0], 50, 10),
            ("b".to_owned(), 450, vec![1, 0], 50, 23),
            ("c".to_owned(), 470, vec![2, 1], 10, 24),
            ("d".to_owned(), 5000, vec![2, 1], 1000, 160),
        ]
    );
}

#[tokio::test]
async fn push_is_due_after_used_request_or_at_latest_time() {
    let subscription = turn(1, [0, 1], &["ok", "a"], &[450]);
    let publication = turn(2, [400, 401], &["sent"], &[]);
    let calls = vec![subscription.clone(), publication.clone()];
    let book = Recordings::new(calls, Noise::default());
    let is_due = async |push: &Push| {
        let due = tokio::time::timeout(Duration::ZERO, book.is_due(push));
        due.await.is_ok()
    };
    book.find(&turn(1, [0, 1], &[], &[])).unwrap();
    let push = book.pushes(&subscription).remove(0);
    let late = Push {
        source: None,
        latest: Instant::now(),
        ..push.clone()
    };
    assert_eq!((is_due(&push).await, is_due(&late).await), (false, true));
    let asked = turn(2, [400, 401], &[], &[]);
    let used = Instant::now();
    book.find(&asked).unwrap();
    assert!(!is_due(&push).await);
    book.is_due(&push).await;
    let waited = used.elapsed();
    assert!(
        (push.delay..push.delay + Duration::from_secs(1)).contains(&waited),
        "{waited:?}"
    );
}

#[test]
fn repeated_call_omits_pushes() {
    let subscription = turn(1, [0, 1], &["ok", "a"], &[450]);
    let mut recordings = Recording::number(vec![subscription.clone()]);
    recordings[0].reusable = true;
    let book = Recordings::of(recordings, Noise::default(), Secrets::default());
    let asked = turn(1, [0, 1], &[], &[]);
    let found = [(); 2].map(|()| (*book.find(&asked).unwrap()).clone());
    assert_eq!(found, [subscription, turn(1, [0, 1], &["ok"], &[])]);
}

#[test]
fn pieces_stay_apart_after_request_or_silence() {
    let joined = |others: &[u64], piece: Exchange| {
        let others = others.iter().map(|at| turn(9, [*at, *at], &[], &[]));
        let mut calls: Vec<_> = others.chain([piece]).collect();
        join_pieces(&mut calls);
        calls.pop().unwrap()
    };
    let pieces = || turn(1, [1000, 1001], &["a", "b", "c"], &[2, 3]);
    assert_eq!(joined(&[], pieces()), turn(1, [1000, 1003], &["abc"], &[]));
    // Another request came before, between or after the pieces.
    let at = |ms: u64| UNIX_EPOCH + Duration::from_micros(1000 * 1000 + ms);
    let between = |micros: u64| {
        let mut other = turn(9, [0, 0], &[], &[]);
        other.sent_at = at(micros);
        let mut calls = vec![other, pieces()];
        join_pieces(&mut calls);
        calls.pop().unwrap()
    };
    assert_eq!(between(500), turn(1, [1000, 1003], &["abc"], &[]));
    assert_eq!(between(1500), turn(1, [1000, 1001], &["a", "bc"], &[2]));
    assert_eq!(between(2500), turn(1, [1000, 1002], &["ab", "c"], &[3]));
    assert_eq!(between(3500), turn(1, [1000, 1003], &["abc"], &[]));
    // A silence of 100 ms.
    let slow = |ms| turn(1, [1000, 1001], &["a", "b"], &[ms]);
    assert_eq!(joined(&[], slow(100)), turn(1, [1000, 1100], &["ab"], &[]));
    assert_eq!(joined(&[], slow(101)), slow(101));
    // A late answer is unasked only after another request.
    let late = || turn(1, [1000, 1000], &["a"], &[300]);
    assert_eq!(joined(&[], late()), turn(1, [1000, 1300], &["a"], &[]));
    assert_eq!(joined(&[1200], late()), late());
    // The end of the connection follows what came before it.
    let closed = || turn(1, [1000, 1001], &["a", "b", ""], &[2, 900]);
    assert_eq!(
        joined(&[], closed()),
        turn(1, [1000, 1002], &["ab", ""], &[])
    );
    let apart = turn(1, [1000, 1001], &["a", "b", ""], &[200, 900]);
    assert_eq!(joined(&[], apart.clone()), apart);
}
