//! Protocols whose messages have boundaries: queues, caches, mail.
//!
//! Their connections are recorded in turns. At the end of a recording [`split`] divides the turns
//! into frames: each frame of the client becomes a call with the frames that answer it. The server
//! sent all other frames unasked.

mod amqp;
mod cut;
mod kafka;
mod learning;
mod line;
mod mail;
mod memcached;
mod mqtt;
mod nats;
mod player;
mod smtp;
mod stream;
#[cfg(test)]
mod tests;
mod websocket;

pub(crate) use cut::split;
pub(super) use player::FrameResponder;
pub(crate) use websocket::WebSocketPlayer;

use std::ops::Range;

use super::byte_parts::byte_parts;
use super::database::Database;
use super::frame_format::{FrameFormat, FrameLength, OpenCall, next_open};
use super::http;
use super::part_list::{PartList, Role};
use crate::call::{Content, Exchange, Message, Protocol, Side};

/// Protocols with frames, in the order in which they are tried.
pub(super) const ALL: [&Database; 7] = [
    &mqtt::DATABASE,
    &amqp::DATABASE,
    &nats::DATABASE,
    &websocket::DATABASE,
    &memcached::DATABASE,
    &smtp::DATABASE,
    &kafka::DATABASE,
];

/// Returns the frames of a protocol; `None` if it has none.
pub(crate) fn of(protocol: Protocol) -> Option<FrameFormat> {
    if let Protocol::Framed(framing) = protocol {
        return Some(FrameFormat::learned(framing));
    }
    let mut all = ALL.iter().copied();
    let known = all.find(|database| database.protocol == protocol)?;
    known.frames().copied()
}

/// Returns true if a connection has known frames, by its first bytes from the client and the
/// server.
pub(crate) fn has_frames(client: &[u8], server: &[u8]) -> bool {
    let mut formats = ALL.iter().filter_map(|database| database.frames());
    formats.any(|format| (format.is_opening)(client, server))
}

/// Returns the frames of a call, and its request.
fn request(exchange: &Exchange) -> Option<(FrameFormat, &[u8])> {
    let Content::Wire(protocol, wire) = &exchange.content else {
        return None;
    };
    of(*protocol).zip(wire.messages_by(Side::Client).next())
}

/// Returns the place of credentials in a message of the client.
pub(crate) fn credentials(protocol: Protocol, bytes: &[u8]) -> Option<Range<usize>> {
    (of(protocol)?.secret)(bytes)
}

/// Returns true if a call may repeat its last answer.
pub(crate) fn repeats(exchange: &Exchange) -> bool {
    request(exchange).is_some_and(|(format, asked)| (format.repeats)(asked))
}

/// Returns true if a call may change the answers to calls that repeat.
pub(crate) fn writes(exchange: &Exchange) -> bool {
    request(exchange).is_some_and(|(format, asked)| (format.writes)(asked))
}

/// Returns true if a repeated answer takes its recorded time, since programs ask in a loop.
pub(crate) fn polls(exchange: &Exchange) -> bool {
    request(exchange).is_some_and(|(format, asked)| format.is_in_order && (format.repeats)(asked))
}

/// Returns a call with an answer without news. `as_recorded` replaces values of this run by those of
/// the recording.
pub(crate) fn without_news<'a>(
    asked: &Exchange,
    as_recorded: impl Fn(&[u8]) -> Vec<u8>,
    mut recorded: impl Iterator<Item = &'a Exchange>,
) -> Option<Exchange> {
    let (format, question) = request(asked)?;
    let known = as_recorded(question);
    let (bytes, waited) = (format.without_news)(question, &known, &mut recorded)?;
    let mut answered = Exchange {
        connection: 0,
        ..asked.clone()
    };
    if let Content::Wire(_, wire) = &mut answered.content {
        let from = Side::Server;
        wire.messages.push(Message { from, bytes });
        wire.pushed.push(waited);
    }
    Some(answered)
}

/// Copies the number of a call into a message of its recorded answer.
pub(crate) fn renumber(recorded: &Exchange, asked: &[u8], answer: &mut Vec<u8>) {
    if let Some((format, recorded)) = request(recorded) {
        format.renumber(recorded, asked, answer);
    }
}

/// Adds texts, and the bytes between them, after a space.
fn pieces(bytes: &[u8], taken: &mut PartList) {
    taken.text(b" ");
    byte_parts(bytes, taken);
}

/// Adds the content of a message: the values of JSON, or texts and other bytes.
fn payload(bytes: &[u8], taken: &mut PartList) {
    match http::json(bytes) {
        Some(values) => taken.parts.extend(values),
        None if is_text(bytes) => word("text", bytes, taken),
        None => pieces(bytes, taken),
    }
}

/// Returns the place of a part that borrows from a frame.
fn place(frame: &[u8], part: &[u8]) -> Range<usize> {
    let start = part.as_ptr().addr() - frame.as_ptr().addr();
    start..start + part.len()
}

fn is_text(bytes: &[u8]) -> bool {
    let is_printable = |c: char| !c.is_control() || c.is_whitespace();
    str::from_utf8(bytes).is_ok_and(|text| text.chars().all(is_printable))
}

/// Adds a value after a space.
fn word(kind: &'static str, bytes: &[u8], taken: &mut PartList) {
    taken.text(b" ");
    taken.value_in_text(Role::Literal, kind, bytes);
}
