//! AMQP 0-9-1 (rabbitmq.com/resources/specs/amqp0-9-1.pdf). A method that carries content is one
//! frame here together with its header and body.

use std::ops::Range;

use super::{FrameFormat, FrameLength, OpenCall, payload, pieces, place};
use crate::call::Protocol;
use crate::protocol::database::Database;
use crate::protocol::heartbeat::{self, Heartbeats};
use crate::protocol::part_list::PartList;

pub(super) static DATABASE: Database =
    Database::in_frames(Protocol::Amqp, "AMQP", 5672, parts, &FORMAT);

static FORMAT: FrameFormat = FrameFormat {
    is_opening: |client, _| client.starts_with(b"AMQP\0\0\x09\x01"),
    length: |_, bytes, _| length(bytes),
    answered,
    heartbeats: Heartbeats::Known(heartbeat::AMQP),
    repeats: |frame| {
        frame.starts_with(OPENING) || method(frame).is_some_and(|(class, _)| class == CONNECTION)
    },
    secret: password,
    ..FrameFormat::PLAIN
};

/// Start of the protocol header (4.2.2).
const OPENING: &[u8] = b"AMQP";
/// Type, channel and size before the payload, and the mark after it (4.2.3).
const HEAD_BYTES: usize = 7;
const END: u8 = 0xce;
const METHOD: u8 = 1;
const HEADER: u8 = 2;
const BODY: u8 = 3;

const CONNECTION: u16 = 10;
const PUBLISH: (u16, u16) = (60, 40);
/// Methods with content: publish, return, deliver, get-ok.
const WITH_CONTENT: [(u16, u16); 4] = [PUBLISH, (60, 50), (60, 60), (60, 71)];
/// Answers to published messages: return, ack, nack.
const OF_PUBLISH: [(u16, u16); 3] = [(60, 50), (60, 80), (60, 120)];
/// Methods that a server sends unasked: close, blocked, unblocked, cancel, deliver, and those of
/// flow control.
const UNASKED: [(u16, u16); 7] = [
    (10, 50),
    (10, 60),
    (10, 61),
    (20, 20),
    (20, 40),
    (60, 30),
    (60, 60),
];

/// Returns the length of one frame of the protocol; `None` while it is unknown.
fn frame_length(bytes: &[u8]) -> FrameLength {
    let Some((head, _)) = bytes.split_first_chunk::<HEAD_BYTES>() else {
        return Ok(None);
    };
    let size = u32::from_be_bytes([head[3], head[4], head[5], head[6]]);
    let length = size as usize + HEAD_BYTES + 1;
    if !matches!(head[0], METHOD..=BODY | 8) || bytes.get(length - 1).is_some_and(|end| *end != END)
    {
        return Err("bytes that are no frame of AMQP");
    }
    Ok(Some(length))
}

fn length(bytes: &[u8]) -> FrameLength {
    if bytes.starts_with(OPENING) || OPENING.starts_with(bytes) {
        return Ok(Some(8));
    }
    let Some(length) = frame_length(bytes)? else {
        return Ok(None);
    };
    let has_content = method(bytes).is_some_and(|method| WITH_CONTENT.contains(&method));
    if !has_content {
        return Ok(Some(length));
    }
    let (mut end, mut left) = (length, None);
    while left != Some(0) {
        let Some(rest) = bytes.get(end..) else {
            return Ok(None);
        };
        let Some(length) = frame_length(rest)? else {
            return Ok(None);
        };
        left = match (rest[0], left) {
            (HEADER, None) => match body_size(rest) {
                Some(size) => Some(size),
                None => return Ok(None),
            },
            (BODY, Some(left)) => Some(left.saturating_sub(length - HEAD_BYTES - 1)),
            // Frames of another channel came between.
            _ => return Ok(Some(end)),
        };
        end += length;
    }
    Ok(Some(end))
}

/// Returns the size of the content in a header frame (4.2.6.1).
fn body_size(header: &[u8]) -> Option<usize> {
    let size = header.get(HEAD_BYTES + 4..)?.first_chunk()?;
    usize::try_from(u64::from_be_bytes(*size)).ok()
}

/// Returns class and method of a method frame (4.2.4).
fn method(frame: &[u8]) -> Option<(u16, u16)> {
    let number = |at: usize| Some(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?));
    let is_method = frame.first() == Some(&METHOD);
    Some((number(HEAD_BYTES)?, number(HEAD_BYTES + 2)?)).filter(|_| is_method)
}

/// Splits a long text or a table from these bytes (4.2.5).
fn long(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(u32::from_be_bytes(*length) as usize)
}

/// Returns the place of the password in start-ok or secure-ok; of PLAIN (RFC 4616) after the user.
fn password(frame: &[u8]) -> Option<Range<usize>> {
    let mut rest = frame.get(HEAD_BYTES + 4..)?;
    match method(frame)? {
        (CONNECTION, 11) => {
            let (mechanism, after) = long(rest)?.1.split_first()?;
            rest = after.get(usize::from(*mechanism)..)?;
        }
        (CONNECTION, 21) => {}
        _ => return None,
    }
    let (response, _) = long(rest)?;
    let user = memchr::memrchr(0, response).map_or(0, |end| end + 1);
    Some(place(frame, &response[user..]))
}

fn channel(frame: &[u8]) -> Option<&[u8]> {
    frame.get(1..3)
}

/// A method is answered by one with the next number; messages are confirmed together.
fn answered(calls: &[OpenCall], said: &[u8]) -> Option<usize> {
    let (class, number) = method(said)?;
    if UNASKED.contains(&(class, number)) {
        return None;
    }
    calls.iter().rposition(|call| {
        let is_here = channel(&call.bytes) == channel(said);
        match method(&call.bytes) {
            None => call.bytes.starts_with(OPENING) && (class, number) == (CONNECTION, 10),
            Some(asked) if OF_PUBLISH.contains(&(class, number)) => is_here && asked == PUBLISH,
            // start-ok is answered by tune.
            Some((CONNECTION, 11 | 21)) => class == CONNECTION && matches!(number, 20 | 30),
            Some((of, asked)) => {
                let is_next = of == class && (1..=2).contains(&number.wrapping_sub(asked));
                is_here && is_next && !call.is_answered
            }
        }
    })
}

fn parts(frame: &[u8], taken: &mut PartList) -> Option<()> {
    if frame.starts_with(OPENING) {
        taken.text(OPENING);
        taken.head(frame);
        return Some(());
    }
    let Some((class, number)) = method(frame) else {
        taken.head(frame);
        return Some(());
    };
    taken.text(name(class, number).as_bytes());
    taken.head(channel(frame)?);
    // The client and its login, which the server's answers do not depend on.
    if class == CONNECTION {
        return Some(());
    }
    let mut rest = frame;
    while let Some(length) = frame_length(rest).ok()? {
        let content = rest.get(HEAD_BYTES..length - 1)?;
        match rest[0] {
            METHOD => pieces(content.get(4..)?, taken),
            // Class, weight and size of the body come before the properties.
            HEADER => pieces(content.get(12..)?, taken),
            _ => payload(content, taken),
        }
        rest = rest.get(length..)?;
    }
    Some(())
}

/// Returns the name of a method that a client sends (1.3).
fn name(class: u16, method: u16) -> String {
    let class = match class {
        10 => "connection",
        20 => "channel",
        40 => "exchange",
        50 => "queue",
        60 => "basic",
        85 => "confirm",
        90 => "tx",
        _ => return format!("{class}.{method}"),
    };
    let method = match (class, method) {
        (_, 10) if class == "basic" => "qos",
        ("basic", 20) => "consume",
        ("basic", 30) => "cancel",
        ("basic", 40) => "publish",
        ("basic", 70) => "get",
        ("basic", 80) => "ack",
        ("basic", 90) => "reject",
        ("basic", 110) => "recover",
        ("basic", 120) => "nack",
        ("exchange" | "queue", 10) => "declare",
        ("queue", 20) => "bind",
        ("queue", 30) => "purge",
        ("exchange", 20) | ("queue", 40) => "delete",
        ("queue", 50) => "unbind",
        ("channel", 10) => "open",
        ("channel", 40) => "close",
        (_, method) => return format!("{class}.{method}"),
    };
    format!("{class}.{method}")
}
