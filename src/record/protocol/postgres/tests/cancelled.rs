//! Statements that are cancelled over another connection.

use pretty_assertions::assert_eq;

use super::*;
use crate::record::trial::{UNTIL_CANCELLED, at};
use crate::record::{Origin, PlayStep, player, recorder};

fn request(key: &[u8]) -> Vec<u8> {
    [&(8 + key.len() as u32).to_be_bytes()[..], &80_877_102_u32.to_be_bytes(), key].concat()
}

fn cancelled() -> Vec<u8> {
    message(b'E', &[b"SERROR\0VERROR\0C57014\0Mcanceling statement due to user request\0\0"])
}

/// Records a login and a conversation, in which a cancel request with this key passes before each answer that says so.
fn recorded_with(key: &[u8], conversation: &[Said]) -> Outcome {
    let origin = origin();
    let mut recorded = recorder(Protocol::Postgres, &origin).unwrap();
    let mut outcome = Outcome::default();
    for (second, (from, bytes)) in login().iter().chain(conversation).enumerate() {
        if *from == Side::Server && bytes.windows(6).any(|six| six == b"C57014") {
            let mut other = recorder(Protocol::Postgres, &Origin { connection: 4, ..origin.clone() }).unwrap();
            let mut passed = Outcome::default();
            passed.add(other.take(Side::Client, &request(key), at(second as u64)));
            passed.add(other.end(Side::Server, at(second as u64)));
            assert_eq!(passed, Outcome { to_server: request(key), ..Outcome::default() });
        }
        outcome.add(recorded.take(*from, bytes, at(second as u64)));
    }
    outcome.add(recorded.end(Side::Client, at(99)));
    outcome
}

fn marks(outcome: &Outcome) -> Vec<bool> {
    outcome.calls.iter().map(|call| call.cancelled).collect()
}

fn slow() -> [Said; 4] {
    [
        client(query("SELECT pg_sleep(9)")),
        server([columns(), cancelled(), ready(b'I')].concat()),
        client(query("SELECT 1")),
        server([columns(), row("1"), complete("SELECT 1"), ready(b'I')].concat()),
    ]
}

#[test]
fn only_what_was_asked_to_be_cancelled_and_was_is_marked() {
    // The login is the first.
    assert_eq!(marks(&recorded_with(KEY, &slow())), [false, true, false]);
    // Of another connection: the statement had a time limit of the server.
    assert_eq!(marks(&recorded_with(b"pid_othe", &slow())), [false, false, false]);
    // One request is of one statement.
    let again = [&slow()[..], &[client(query("SELECT 2")), server([cancelled(), ready(b'I')].concat())]].concat();
    assert_eq!(marks(&recorded_with(KEY, &again)), [false, true, false, true]);
}

/// The number and the key of the process that a played server told.
fn told(welcome: &[u8]) -> Vec<u8> {
    let mut at = 0;
    while welcome[at] != b'K' {
        at += super::super::message::length(&welcome[at..]).unwrap().unwrap();
    }
    welcome[at + 5..at + 13].to_vec()
}

#[test]
fn the_answer_waits_for_the_request_and_the_connection_goes_on() {
    let outcome = recorded_with(KEY, &slow());
    let book = book(&outcome.calls);
    let mut played = Played::of(Protocol::Postgres, &Origin { connection: 258, ..origin() }, &book);
    let welcome = played.ask(startup(&[("user", "u"), ("database", "d")]));
    // The number of the process is the recorded one, the key that of this connection.
    assert_eq!(told(&welcome), b"pid_\0\0\x01\x02");
    let answer = [&columns()[..], UNTIL_CANCELLED, &cancelled(), &ready(b'I')].concat();
    assert_eq!(played.ask(query("SELECT pg_sleep(9)")), answer);
    assert_eq!(played.ask(query("SELECT 1")), slow()[3].1);
    assert_eq!((book.report().missed, book.report().unused), (vec![], vec![]));
}

#[test]
fn parts_of_the_extended_protocol_are_answered_up_to_it() {
    let asked =
        [parse("", "SELECT pg_sleep($1)"), bind("", "", "9"), describe('P', ""), execute("", 0), only(b'S')].concat();
    let before = [only(b'1'), only(b'2'), columns()].concat();
    let after = [cancelled(), ready(b'I')].concat();
    let outcome = recorded_with(KEY, &[client(&asked), server([before.clone(), after.clone()].concat())]);
    assert_eq!(marks(&outcome).iter().filter(|mark| **mark).count(), 1);
    for pieces in [usize::MAX, 1] {
        let book = book(&outcome.calls);
        let mut played = Played::new(Protocol::Postgres, &book);
        played.ask(startup(&[("user", "u"), ("database", "d")]));
        let answered: Vec<u8> = asked.chunks(pieces.min(asked.len())).flat_map(|piece| played.ask(piece)).collect();
        let expected = [&before[..], UNTIL_CANCELLED, &after].concat();
        assert_eq!(answered.escape_ascii().to_string(), expected.escape_ascii().to_string());
        assert_eq!(book.report().missed, []);
    }
}

#[test]
fn requests_count_for_the_call_in_whose_time_they_came() {
    let twice = [slow().to_vec(), slow().to_vec()].concat();
    let outcome = recorded_with(KEY, &twice);
    let (book, origin) = (book(&outcome.calls), origin());
    let mut player = player(Protocol::Postgres, &origin, &book).unwrap();
    let mut seen = Vec::new();
    let mut ask = |bytes: Vec<u8>| {
        for step in player.take(&bytes) {
            if let PlayStep::UntilCancelled(call) = step {
                seen.push((call.key, call.seen, call.stayed.as_secs()));
            }
        }
    };
    let cancel = |key: &[u8]| {
        let mut other = Played::of(Protocol::Postgres, &Origin { connection: 4, ..origin.clone() }, &book);
        assert_eq!((other.ask(request(key)), other.closed), (vec![], true));
    };
    ask(startup(&[("user", "u"), ("database", "d")]));
    // Nothing was asked yet; a key of nobody.
    cancel(KEY);
    cancel(b"nobodys!");
    ask(query("SELECT 1"));
    ask(query("SELECT pg_sleep(9)"));
    cancel(KEY);
    ask(query("SELECT 1"));
    ask(query("SELECT pg_sleep(9)"));
    assert_eq!(seen, [(KEY.to_vec(), 1, 1), (KEY.to_vec(), 2, 1)]);
    assert_eq!((book.report().missed, book.report().unused), (vec![], vec![]));
}
