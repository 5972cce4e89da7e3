//! Division of turns into frames.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use pretty_assertions::assert_eq;

use super::*;
use crate::call::{Link, Message, Target, Wire};
use crate::matching::{Connection, Noise, Recordings};
use crate::protocol::wire::{PlayStep, WirePlayer as _};
use crate::protocol::words;

mod hostile;
mod learned;
mod limits;
mod lines;

/// Divides turns, none of which is lost.
pub(super) fn split(turns: Vec<Exchange>) -> Vec<Exchange> {
    let (calls, too_long) = super::split(turns);
    assert_eq!(too_long, [""; 0]);
    calls
}

/// A turn of a connection at a time in milliseconds: the bytes of the client, then the server's.
/// Those that came unasked have the time after the request.
pub(super) fn turn(
    connection: u64,
    at: u64,
    asked: &[u8],
    said: &[(&[u8], Option<u64>)],
) -> Exchange {
    let link = Link {
        target: Target::of_authority("host:1"),
        tls: false,
        connection,
    };
    let mut messages = Vec::new();
    messages.extend((!asked.is_empty()).then(|| message(Side::Client, asked)));
    messages.extend(said.iter().map(|(bytes, _)| message(Side::Server, bytes)));
    let pushed = said.iter().filter_map(|(_, waited)| *waited);
    let wire = Wire {
        messages,
        pushed: pushed.map(Duration::from_millis).collect(),
        ..Wire::default()
    };
    let at = UNIX_EPOCH + Duration::from_millis(at);
    let answered_at = at + Duration::from_millis(1);
    link.exchange(Content::Wire(Protocol::Generic, wire), at, answered_at)
}

fn message(from: Side, bytes: &[u8]) -> Message {
    let bytes = bytes.to_vec();
    Message { from, bytes }
}

/// A divided call: protocol, request, answers, and unasked messages with their delays in
/// milliseconds.
pub(super) type DividedCall = (&'static str, String, Vec<String>, Vec<(u128, String)>);

pub(super) fn told(calls: Vec<Exchange>) -> Vec<DividedCall> {
    let tell = |call: Exchange| {
        let Content::Wire(protocol, mut wire) = call.content else {
            panic!("not of the wire");
        };
        let shown = |bytes: &[u8]| bytes.escape_ascii().to_string();
        let pushes = wire.take_pushes().into_iter();
        let pushes = pushes.map(|(message, waited)| (waited.as_millis(), shown(&message.bytes)));
        let pushes = pushes.collect();
        let asked = words::client_text(protocol, &wire);
        let said = wire.messages_by(Side::Server).map(shown).collect();
        (protocol.word(), asked, said, pushes)
    };
    calls.into_iter().map(tell).collect()
}

/// A divided call without unasked messages.
pub(super) fn answered(protocol: &'static str, asked: &str, said: &[&str]) -> DividedCall {
    let said = said.iter().map(|said| (*said).to_owned()).collect();
    (protocol, asked.to_owned(), said, Vec::new())
}

const MQTT_CONNECT: &[u8] = b"\x10\x0d\0\x04MQTT\x04\x02\0\x3c\0\x01a";

#[test]
fn packets_of_one_turn_have_answers_of_their_number() {
    let asked = [
        b"\x30\x04\0\x01tx" as &[u8],
        b"\x32\x06\0\x01t\0\x01x",
        b"\x82\x06\0\x02\0\x01t\0",
        b"\xc0\0",
    ];
    let said = [
        b"\x90\x03\0\x02\0" as &[u8],
        b"\x40\x02\0\x01",
        b"\xd0\0",
        b"\x30\x04\0\x01tx",
    ];
    let calls = split(vec![
        turn(1, 0, MQTT_CONNECT, &[(b"\x20\x02\0\0", None)]),
        turn(1, 5, &asked.concat(), &[(&said.concat(), None)]),
    ]);
    let mut expected = vec![
        answered("MQTT", "CONNECT MQTT", &[" \\x02\\x00\\x00"]),
        answered("MQTT", "PUBLISH t x", &[]),
        answered("MQTT", "PUBLISH t x", &["@\\x02\\x00\\x01"]),
        answered("MQTT", "SUBSCRIBE", &["\\x90\\x03\\x00\\x02\\x00"]),
    ];
    expected[3].3 = vec![(0, "0\\x04\\x00\\x01tx".to_owned())];
    assert_eq!(told(calls), expected);
}

#[test]
fn frame_in_pieces_is_one_call() {
    let calls = split(vec![
        turn(1, 0, MQTT_CONNECT, &[(b"\x20\x02", None)]),
        turn(1, 5, b"\x32\x06\0\x01t", &[(b"\0\0", None)]),
        turn(1, 9, b"\0\x01x", &[(b"\x40\x02\0\x01", None)]),
    ]);
    let expected = vec![
        answered("MQTT", "CONNECT MQTT", &[" \\x02\\x00\\x00"]),
        answered("MQTT", "PUBLISH t x", &["@\\x02\\x00\\x01"]),
    ];
    assert_eq!(told(calls), expected);
}

#[test]
fn connection_that_is_no_frames_keeps_all_turns_of_its_target() {
    let turns = vec![
        turn(1, 0, MQTT_CONNECT, &[(b"\x20\x02\0\0", None)]),
        turn(2, 5, b"GET", &[(b"ok", None)]),
    ];
    assert_eq!(split(turns.clone()), turns);
}

#[test]
fn published_content_is_one_call_with_confirmation() {
    let opening = b"AMQP\0\0\x09\x01";
    let publish = b"\x01\0\x01\0\0\0\x0a\0\x3c\0\x28\0\0\0\x01q\0\xce";
    let header = b"\x02\0\x01\0\0\0\x0e\0\x3c\0\0\0\0\0\0\0\0\0\x02\0\0\xce";
    let body = b"\x03\0\x01\0\0\0\x02hi\xce";
    let ack = b"\x01\0\x01\0\0\0\x0d\0\x3c\0\x50\0\0\0\0\0\0\0\x01\0\xce";
    let start = b"\x01\0\0\0\0\0\x04\0\x0a\0\x0a\xce";
    let content = [&publish[..], header, body].concat();
    let twice = [&content[..], &content].concat();
    let acks = [&ack[..], b"\x08\0\0\0\0\0\0\xce"].concat();
    let calls = split(vec![
        turn(1, 0, opening, &[(start, None)]),
        turn(1, 5, &twice, &[(&acks, None)]),
    ]);
    let expected = vec![
        answered("AMQP", "AMQP", &[&start.escape_ascii().to_string()]),
        answered("AMQP", "basic.publish hi", &[]),
        answered(
            "AMQP",
            "basic.publish hi",
            &[&ack.escape_ascii().to_string()],
        ),
    ];
    assert_eq!(told(calls), expected);
}

#[test]
fn messages_of_nats_come_unasked_after_last_call() {
    let calls = split(vec![
        turn(1, 0, b"", &[(b"INFO {\"a\":1}\r\n", None)]),
        turn(1, 5, b"CONNECT {}\r\nPING\r\n", &[(b"PONG\r\n", None)]),
        turn(
            1,
            9,
            b"SUB in 1\r\nPUB out 5\r\na\r\nb\n\r\n",
            &[(b"MSG in 1 2\r\nhi\r\n", Some(300))],
        ),
    ]);
    let mut expected = vec![
        answered("NATS", "", &["INFO {\\\"a\\\":1}\\r\\n"]),
        answered("NATS", "CONNECT", &[]),
        answered("NATS", "SUB in 1", &[]),
        answered("NATS", "PUB out a b", &[]),
    ];
    expected[3].3 = vec![(299, "MSG in 1 2\\r\\nhi\\r\\n".to_owned())];
    assert_eq!(told(calls), expected);
}

#[test]
fn answer_has_number_of_its_request() {
    let format = of(Protocol::Mqtt).expect("has frames");
    let mut answer = b"\x40\x02\0\x01".to_vec();
    (format.renumber)(
        b"\x32\x06\0\x01t\0\x01x",
        b"\x32\x06\0\x01t\0\x09x",
        &mut answer,
    );
    assert_eq!(answer, b"\x40\x02\0\x09");
}

#[test]
fn websocket_messages_are_json_and_control_frames_no_calls() {
    let asked = [
        b"\x81\x89\0\0\0\0{\"id\": 1}" as &[u8],
        b"\x89\x81\0\0\0\0p",
        b"\x88\x82\0\0\0\0\x03\xe8",
    ];
    let said = [b"\x8a\x01p" as &[u8], b"\x81\x02{}", b"\x88\x02\x03\xe8"];
    let calls = split(vec![turn(1, 5, &asked.concat(), &[(&said.concat(), None)])]);
    let mut expected = vec![answered("WebSocket", "text 1", &[])];
    expected[0].3 = vec![(1, "\\x81\\x02{}".to_owned())];
    assert_eq!(told(calls), expected);
}

#[test]
fn websocket_player_removes_masks() {
    let calls = split(vec![turn(
        1,
        5,
        b"\x81\x82\0\0\0\0hi",
        &[(b"\x81\x02ok", None)],
    )]);
    let link = Link {
        target: calls[0].target.clone(),
        tls: false,
        connection: 1,
    };
    let book = Arc::new(Recordings::new(calls, Noise::default()));
    let mut player = WebSocketPlayer::new(&link, Connection::on(&book));
    assert_eq!(
        player.take(b"\x89\x81\x01\x01\x01\x01q"),
        [PlayStep::Send(b"\x8a\x01p".to_vec())]
    );
    assert_eq!(player.take(b"\x81\x82\x01\x01\x01\x01ih"), []);
    let missed = book.report().missed_count;
    assert_eq!(
        (missed, player.take_push().map(|push| push.bytes)),
        (0, Some(b"\x81\x02ok".to_vec()))
    );
}

#[test]
fn answer_after_unasked_message_belongs_to_its_call() {
    let subscribe = b"\x82\x06\0\x02\0\x01t\0";
    let said = [b"\x30\x04\0\x01tx" as &[u8], b"\x90\x03\0\x02\0"].concat();
    let calls = split(vec![
        turn(1, 0, MQTT_CONNECT, &[(b"\x20\x02\0\0", None)]),
        turn(1, 5, subscribe, &[(&said, None)]),
    ]);
    let mut expected = answered("MQTT", "SUBSCRIBE", &["\\x90\\x03\\x00\\x02\\x00"]);
    expected.3 = vec![(1, "0\\x04\\x00\\x01tx".to_owned())];
    assert_eq!(told(calls)[1..], [expected]);
}

#[test]
fn error_of_nats_without_confirmations_answers_last_call() {
    let calls = split(vec![
        turn(1, 0, b"", &[(b"INFO {\"a\":1}\r\n", None)]),
        turn(1, 5, b"CONNECT {}\r\nPING\r\n", &[(b"PONG\r\n", None)]),
        turn(1, 9, b"PUB a 1\r\nx\r\n", &[(b"-ERR 'no'\r\n", None)]),
    ]);
    let expected = vec![
        answered("NATS", "", &["INFO {\\\"a\\\":1}\\r\\n"]),
        answered("NATS", "CONNECT", &[]),
        answered("NATS", "PUB a x", &["-ERR \\'no\\'\\r\\n"]),
    ];
    assert_eq!(told(calls), expected);
}

#[test]
fn confirmations_of_nats_come_in_order() {
    let asked = b"CONNECT {}\r\nPUB a 1\r\nx\r\nPUB b 1\r\nx\r\n";
    let said = b"+OK\r\n-ERR 'no'\r\n+OK\r\n";
    let calls = split(vec![
        turn(1, 0, b"", &[(b"INFO {\"a\":1}\r\n", None)]),
        turn(1, 5, asked, &[(said, None)]),
    ]);
    let expected = [
        answered("NATS", "CONNECT", &["+OK\\r\\n"]),
        answered("NATS", "PUB a x", &["-ERR \\'no\\'\\r\\n"]),
        answered("NATS", "PUB b x", &["+OK\\r\\n"]),
    ];
    assert_eq!(told(calls)[1..], expected);
}
