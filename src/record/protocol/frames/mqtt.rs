//! MQTT 3.1.1 and 5 (docs.oasis-open.org/mqtt). The packets of a program have numbers of their own.

use std::ops::Range;

use super::{FrameFormat, FrameLength, OpenCall, payload, pieces, place, word};
use crate::call::Protocol;
use crate::protocol::database::Database;
use crate::protocol::dialogue::Fault;
use crate::protocol::heartbeat::{self, Heartbeats};
use crate::protocol::part_list::PartList;

pub(super) static DATABASE: Database =
    Database::in_frames(Protocol::Mqtt, "MQTT", 1883, parts, &FORMAT);

static FORMAT: FrameFormat = FrameFormat {
    is_opening: |client, _| heartbeat::is_mqtt(client),
    length: |_, bytes, _| length(bytes),
    answered,
    heartbeats: Heartbeats::Known(heartbeat::MQTT),
    renumber: |recorded, asked, answer| renumber(recorded, asked, answer),
    repeats: |packet| kind(packet) == CONNECT,
    secret: password,
    ..FrameFormat::PLAIN
};

const CONNECT: u8 = 1;
const PUBLISH: u8 = 3;
/// Names of packets by their type (2.2.1).
const NAMES: [&str; 16] = [
    "0",
    "CONNECT",
    "CONNACK",
    "PUBLISH",
    "PUBACK",
    "PUBREC",
    "PUBREL",
    "PUBCOMP",
    "SUBSCRIBE",
    "SUBACK",
    "UNSUBSCRIBE",
    "UNSUBACK",
    "PINGREQ",
    "PINGRESP",
    "DISCONNECT",
    "AUTH",
];
/// Types of answers, each with the type that it answers.
const ANSWERS: [(u8, u8); 7] = [
    (2, CONNECT),
    (4, PUBLISH),
    (5, PUBLISH),
    (6, 5),
    (7, 6),
    (9, 8),
    (11, 10),
];
/// Types with a packet number at the start of the variable header (2.3.1).
const NUMBERED: std::ops::RangeInclusive<u8> = 4..=11;

fn kind(packet: &[u8]) -> u8 {
    packet.first().map_or(0, |first| first >> 4)
}

/// Reads the remaining length (2.2.3), as [`variable`] does.
fn remaining(bytes: &[u8]) -> Result<Option<(usize, usize)>, Fault> {
    variable(bytes.get(1..).unwrap_or_default())
}

/// Reads a variable length: its own length and its value; `None` while it is incomplete.
fn variable(bytes: &[u8]) -> Result<Option<(usize, usize)>, Fault> {
    let mut value = 0;
    for (at, byte) in bytes.iter().take(4).enumerate() {
        value |= usize::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Ok(Some((at + 1, value)));
        }
    }
    if bytes.len() < 4 {
        Ok(None)
    } else {
        Err("a length of MQTT with more than four bytes")
    }
}

fn length(bytes: &[u8]) -> FrameLength {
    if kind(bytes) == 0 {
        return Err("a packet of MQTT of type 0");
    }
    Ok(remaining(bytes)?.map(|(length, value)| 1 + length + value))
}

/// Returns the packet without its fixed header.
fn body(packet: &[u8]) -> Option<&[u8]> {
    let (length, _) = remaining(packet).ok()??;
    packet.get(1 + length..)
}

/// Splits a text with its length from these bytes (1.5.3).
fn text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))
}

/// Returns the place of the password in CONNECT (3.1.3).
fn password(packet: &[u8]) -> Option<Range<usize>> {
    const HAS_WILL: u8 = 0x04;
    const HAS_USER: u8 = 0x80;
    const HAS_PASSWORD: u8 = 0x40;
    let (_, rest) = text(body(packet).filter(|_| kind(packet) == CONNECT)?)?;
    let ([level, flags, _, _], rest) = rest.split_first_chunk()?;
    let without_properties = |rest| match level {
        5 => {
            let (length, value) = variable(rest).ok()??;
            rest.get(length + value..)
        }
        _ => Some(rest),
    };
    let (_, mut rest) = text(without_properties(rest)?)?;
    if flags & HAS_WILL != 0 {
        let (_, message) = text(without_properties(rest)?)?;
        (_, rest) = text(message)?;
    }
    if flags & HAS_USER != 0 {
        (_, rest) = text(rest)?;
    }
    let (password, _) = text(rest).filter(|_| flags & HAS_PASSWORD != 0)?;
    Some(place(packet, password))
}

/// Returns the place of the packet number.
fn number_at(packet: &[u8]) -> Option<usize> {
    let start = packet.len() - body(packet)?.len();
    let has_quality = packet[0] & 6 != 0;
    match kind(packet) {
        PUBLISH if has_quality => Some(start + 2 + text(body(packet)?)?.0.len()),
        kind if NUMBERED.contains(&kind) => Some(start),
        _ => None,
    }
}

fn number(packet: &[u8]) -> Option<&[u8]> {
    let at = number_at(packet)?;
    packet.get(at..at + 2)
}

fn answered(calls: &[OpenCall], said: &[u8]) -> Option<usize> {
    let (_, asked) = ANSWERS.iter().find(|(answer, _)| *answer == kind(said))?;
    calls.iter().rposition(|call| {
        !call.is_answered
            && kind(&call.bytes) == *asked
            && (*asked == CONNECT || number(&call.bytes) == number(said))
    })
}

fn renumber(recorded: &[u8], asked: &[u8], answer: &mut [u8]) {
    if let (Some(recorded), Some(asked), Some(at)) =
        (number(recorded), number(asked), number_at(answer))
        && kind(answer) != PUBLISH
        && answer.get(at..at + 2) == Some(recorded)
    {
        answer[at..at + 2].copy_from_slice(asked);
    }
}

/// Takes a packet apart, without its number and the mark of a repetition.
fn parts(packet: &[u8], taken: &mut PartList) -> Option<()> {
    const REPEATED: u8 = 8;
    let (kind, body) = (kind(packet), body(packet)?);
    taken.text(NAMES[usize::from(kind)].as_bytes());
    taken.head(&[packet[0] & !(if kind == PUBLISH { REPEATED } else { 0 })]);
    if kind == PUBLISH {
        let (topic, _) = text(body)?;
        word("topic", topic, taken);
        let number = number(packet).map_or(0, <[u8]>::len);
        payload(body.get(2 + topic.len() + number..)?, taken);
    } else {
        let number = if NUMBERED.contains(&kind) { 2 } else { 0 };
        pieces(body.get(number..)?, taken);
    }
    Some(())
}
