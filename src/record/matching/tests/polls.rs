//! Calls of Kafka that programs repeat in a loop.

use std::time::{Duration, UNIX_EPOCH};

use pretty_assertions::assert_eq;

use super::super::history::ConnectionState;
use super::*;
use crate::call::{Link, Message, Side, Wire};

const FETCH: u16 = 1;
const PRODUCE: u16 = 0;
/// A request without answer.
const ASKED: [u64; 2] = [0, 0];

/// Returns a call of Kafka with the times of request and answer, in milliseconds. A late answer is
/// one that the server sent unasked.
fn call(connection: u64, key: u16, [asked, came]: [u64; 2], said: &str) -> Exchange {
    let target = Target::of_authority("mq:9092");
    let link = Link {
        target,
        tls: false,
        connection,
    };
    let head = [key.to_be_bytes(), [0, 0]].concat();
    let mut wire = Wire::asking([[&[0, 0, 0, 10][..], &head, &[0, 0, 0, 1, 0, 0]].concat()]);
    wire.messages.extend((!said.is_empty()).then(|| Message {
        from: Side::Server,
        bytes: [&[0, 0, 0, 8, 0, 0, 0, 1][..], said.as_bytes()].concat(),
    }));
    if came >= asked + 100 {
        wire.pushed.push(Duration::from_millis(came - asked));
    }
    let [sent_at, came] = [asked, came].map(|ms| UNIX_EPOCH + Duration::from_millis(ms));
    let answered_at = if wire.pushed.is_empty() {
        came
    } else {
        sent_at
    };
    link.exchange(Content::Wire(Protocol::Kafka, wire), sent_at, answered_at)
}

/// Asks on a connection that the recorded connection 1 answers, and returns the answer.
fn poll(book: &Recordings, key: u16) -> (String, Arc<Exchange>) {
    let before = ConnectionState {
        peer: Some(1),
        ..ConnectionState::default()
    };
    let found = book.find_in(&call(7, key, ASKED, ""), &before, || None);
    let (found, _) = found.expect("is recorded");
    let Content::Wire(_, wire) = &found.content else {
        panic!("not of the wire");
    };
    let said = wire.messages_by(Side::Server).next().unwrap_or_default();
    let said = String::from_utf8_lossy(said.get(8..).unwrap_or_default()).into_owned();
    (said, found)
}

#[test]
fn poll_before_unserved_write_repeats_last_answer() {
    let polls = |before: usize, after: usize| {
        let calls = [
            call(1, FETCH, [0, 300], "none 1"),
            call(1, FETCH, [310, 610], "none 2"),
            // It was waiting when the records came.
            call(1, FETCH, [620, 690], "records"),
            call(2, PRODUCE, [650, 651], "ok"),
            call(2, PRODUCE, [660, 661], "ok"),
        ];
        let book = Recordings::new(calls.to_vec(), Noise::default());
        let mut told: Vec<_> = (0..before).map(|_| poll(&book, FETCH).0).collect();
        poll(&book, PRODUCE);
        told.push(poll(&book, FETCH).0);
        poll(&book, PRODUCE);
        told.extend((0..after).map(|_| poll(&book, FETCH).0));
        told
    };
    assert_eq!(
        polls(3, 1),
        ["none 1", "none 2", "none 2", "none 2", "records"]
    );
    // Fewer polls than recorded: the records are not late.
    assert_eq!(polls(0, 1), ["none 1", "records"]);
}

#[test]
fn repeated_answer_takes_its_recorded_time() {
    let delays = |came: u64| {
        let calls = [
            call(1, FETCH, [0, came], "none"),
            call(2, PRODUCE, [came - 20, came - 19], "ok"),
        ];
        let book = Recordings::new(calls.to_vec(), Noise::default());
        [(); 2].map(|()| {
            let found = poll(&book, FETCH).1;
            let now = Instant::now();
            let pushes = book.pushes(&found).into_iter();
            let told = pushes.map(|push| {
                let latest = push.latest.duration_since(now).as_millis() / 100;
                (push.delay.as_millis(), push.after, latest)
            });
            told.collect::<Vec<_>>()
        })
    };
    assert_eq!(
        delays(300),
        [vec![(20, vec![1, 0], 19)], vec![(300, Vec::new(), 3)]]
    );
    assert_eq!(
        delays(50),
        [vec![(20, vec![1, 0], 11)], vec![(50, Vec::new(), 0)]]
    );
}

#[test]
fn unanswered_poll_is_not_served() {
    let told = |said: &[&str]| {
        let calls = said.iter().zip(0..);
        let calls = calls.map(|(said, at)| call(1, FETCH, [at, at], said));
        let book = Recordings::new(calls.collect(), Noise::default());
        [(); 2].map(|()| poll(&book, FETCH).0)
    };
    assert_eq!(told(&["", "none", ""]), ["none", "none"]);
    assert_eq!(told(&[""]), ["", ""]);
}

#[test]
fn late_answer_has_number_of_its_call() {
    let calls = vec![call(1, FETCH, [0, 300], "none")];
    let book = Recordings::new(calls, Noise::default());
    let (_, found) = poll(&book, FETCH);
    let mut push = book.pushes(&found).remove(0);
    let asked = [&[0, 0, 0, 10, 0, 1, 0, 0][..], &[0, 0, 9, 9, 0, 0]].concat();
    push.asked = Some(asked.into());
    assert_eq!(book.renewed(push), b"\0\0\0\x08\0\0\x09\x09none");
}
