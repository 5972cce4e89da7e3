//! Messages that are too long, and those without an end.

use pretty_assertions::assert_eq;

use super::*;
use crate::protocol::dialogue::MAX_WIRE_MESSAGE_BYTES;
use crate::protocol::registry;
use crate::protocol::responder::{Prompter, ResponderPlayer};

/// Returns a packet of MQTT with a content of so many bytes, which has no number.
fn publish(length: usize) -> Vec<u8> {
    let size = length + 3;
    let digits = [size, size >> 7, size >> 14, size >> 21].map(|digit| digit as u8 | 0x80);
    let head = [0x30, digits[0], digits[1], digits[2], digits[3] & 0x7f];
    [&head, &b"\0\x01t"[..], &vec![b'x'; length]].concat()
}

#[test]
fn message_that_is_too_long_is_told_and_not_kept() {
    const HEAD: usize = 8;
    let longest = publish(MAX_WIRE_MESSAGE_BYTES - HEAD);
    let too_long = publish(MAX_WIRE_MESSAGE_BYTES - HEAD + 1);
    let (calls, told) = super::super::split(vec![
        turn(1, 0, MQTT_CONNECT, &[(b"\x20\x02\0\0", None)]),
        turn(1, 5, &longest, &[]),
        turn(1, 9, &too_long, &[]),
    ]);
    let lengths = calls.iter().map(|call| {
        let Content::Wire(_, wire) = &call.content else {
            panic!("not of the wire");
        };
        wire.messages_by(Side::Client).map(<[u8]>::len).sum()
    });
    assert_eq!(
        lengths.collect::<Vec<usize>>(),
        [MQTT_CONNECT.len(), MAX_WIRE_MESSAGE_BYTES]
    );
    let expected = "a message of 67108865 bytes to `host:1`: at most 64 MiB are recorded";
    assert_eq!(told, [expected]);
}

/// Returns the report of a player that a program sends these bytes and leaves.
fn missed(bytes: &[u8]) -> Vec<String> {
    let calls = split(vec![turn(1, 0, MQTT_CONNECT, &[(b"\x20\x02\0\0", None)])]);
    let link = Link {
        target: Target::of_authority("host:1"),
        tls: false,
        connection: 9,
    };
    let book = Arc::new(Recordings::new(calls, Noise::default()));
    let prompter = Prompter::new(link, Protocol::Mqtt, Connection::on(&book));
    let responder = registry::responder(Protocol::Mqtt).expect("a known protocol");
    let mut player = ResponderPlayer::new(responder, prompter);
    player.take(bytes);
    player.finish();
    let told = book.report().missed.into_iter();
    told.map(|miss| miss.to_string()).collect()
}

#[test]
fn miss_without_possible_recording_does_not_advise_recording() {
    let advice = "which no recording can answer: change what the program sends there (host:1)";
    for (bytes, expected) in [
        (MQTT_CONNECT.to_vec(), vec![]),
        (
            MQTT_CONNECT[..4].to_vec(),
            vec![format!("a message without its end, {advice}")],
        ),
        (
            publish(MAX_WIRE_MESSAGE_BYTES)[..99].to_vec(),
            vec![format!("a message is longer than 64 MiB, {advice}")],
        ),
        (
            b"\0\0".to_vec(),
            vec![format!("a packet of MQTT of type 0, {advice}")],
        ),
    ] {
        assert_eq!(missed(&bytes), expected);
    }
}
