//! Calls of protocols other than HTTP: the bytes of each message in order, with their readable text
//! as a comment.
//!
//! Keploy's form of the kinds `Redis`, `Generic` and `Kafka` can only be read.

use std::str::FromStr;
use std::time::Duration;

use replay_base::limits::MAX_SHOWN_QUESTION_CHARS;

use super::bodies::is_large;
use super::metadata::{Metadata, Spec, key};
use super::node::{Members, Node, decode_base64};
use super::{BodyFiles, Fault, Problem};
use crate::call::{Content, Framing, Message, Protocol, Side, StatementMeta, Wire};
use crate::protocol::{registry, words};

/// Kind of unknown protocols.
const OTHER: &str = "Generic";
/// Keploy's kinds that contain the raw bytes.
const TURNS: [&str; 3] = ["Generic", "Redis", "Kafka"];

/// Keys of the sides in a message.
const SIDES: [(&str, Side); 2] = [("client", Side::Client), ("server", Side::Server)];

pub(super) fn kind(protocol: Protocol) -> &'static str {
    registry::of(protocol).map_or(OTHER, |known| known.kind)
}

pub(super) fn write(
    protocol: Protocol,
    wire: &Wire,
    metadata: &mut Metadata,
    apart: &mut BodyFiles,
) -> Members {
    for (name, text) in wire.meta.texts() {
        metadata.add(name, text);
    }
    if !wire.pushed.is_empty() {
        let delays = wire.pushed.iter().map(|delay| delay.as_nanos().to_string());
        metadata.add(key::PUSHED, delays.collect::<Vec<_>>().join(" "));
    }
    if let Protocol::Framed(framing) = protocol {
        let numbers = framing.0.map(|number| number.to_string());
        metadata.add(key::FRAMES, numbers.join(" "));
    }
    let mut parts = Members::default();
    if is_large(wire.messages.iter().map(|it| it.bytes.len()).sum()) {
        parts.put("messages_ref", apart.put(encode_frames(&wire.messages)));
    } else {
        parts.put(
            "messages",
            wire.messages
                .iter()
                .map(|it| message(protocol, it))
                .collect::<Vec<_>>(),
        );
    }
    parts
}

fn message(protocol: Protocol, message: &Message) -> Node {
    let bytes = Node::from(message.bytes.as_slice());
    let note = if bytes.is_base64() {
        readable(protocol, message)
    } else {
        String::new()
    };
    let mut side = Members::default();
    side.put(
        if message.from == Side::Client {
            SIDES[0].0
        } else {
            SIDES[1].0
        },
        bytes,
    );
    Node {
        note: note.chars().take(MAX_SHOWN_QUESTION_CHARS).collect(),
        ..side.into()
    }
}

/// Returns the readable part of a binary message.
fn readable(protocol: Protocol, message: &Message) -> String {
    match (message.from, protocol) {
        (Side::Client, _) | (_, Protocol::Mongo) => words::text(protocol, &message.bytes),
        (Side::Server, _) => words::text(Protocol::Generic, &message.bytes),
    }
}

pub(super) fn read(part: &Spec<'_>, kind: &str) -> Result<Content, Problem> {
    let protocol = match registry::of_kind(kind) {
        Some(known) => known,
        None if kind == OTHER => unknown(part)?,
        None => return Err(unsupported_kind(kind)),
    };
    let session = part.metadata.is_session();
    let here = part
        .node
        .find("messages", |messages| messages.items(read_message))?;
    let messages = match here.map_or_else(|| separate_messages(part), |here| Ok(Some(here)))? {
        Some(messages) => messages,
        None => in_turns(part, kind)?,
    };
    let meta = part.node.get("metadata", read_meta)?;
    let of_server = messages
        .iter()
        .rev()
        .take_while(|it| it.from == Side::Server)
        .count();
    let pushed = part.node.get("metadata", |metadata| {
        metadata.get(key::PUSHED, |node| pushed(node, of_server))
    })?;
    let wire = Wire {
        messages,
        session,
        meta,
        pushed,
    };
    Ok(Content::Wire(protocol, wire))
}

/// Reads the frames of an unknown protocol; without them it is in turns.
fn unknown(part: &Spec<'_>) -> Result<Protocol, Problem> {
    let framing = |node: &Node| {
        let framing = numbers(node)?.try_into().map(Framing).ok();
        let valid = framing.filter(|framing| framing.is_valid());
        valid.ok_or_else(|| node.expected("seven numbers such as `0 4 0 4 4 4 4`"))
    };
    let metadata = |metadata: &Node| metadata.find(key::FRAMES, framing);
    let framing = part.node.get("metadata", metadata)?;
    Ok(framing.map_or(Protocol::Generic, Protocol::Framed))
}

fn read_meta(metadata: &Node) -> Result<StatementMeta, Problem> {
    Ok(StatementMeta {
        types: metadata.get(StatementMeta::TYPES, numbers)?,
        results: metadata.get(StatementMeta::RESULTS, numbers)?,
        bound: metadata.get(StatementMeta::BOUND, Node::text)?,
        rows_before: metadata.get(StatementMeta::ROWS_BEFORE, Node::number)?,
    })
}

/// Reads the delays of at most so many last messages.
fn pushed(node: &Node, most: usize) -> Result<Vec<Duration>, Problem> {
    let delays: Vec<u64> = numbers(node)?;
    if delays.len() > most {
        return Err(node.expected(&format!(
            "at most {most} numbers, for the server's last messages"
        )));
    }
    Ok(delays.into_iter().map(Duration::from_nanos).collect())
}

fn numbers<T: FromStr>(node: &Node) -> Result<Vec<T>, Problem> {
    let text = node.text()?;
    let numbers: Result<_, _> = text.split_whitespace().map(str::parse).collect();
    numbers.map_err(|_| node.expected("numbers such as `23 25`"))
}

fn read_message(message: &Node) -> Result<Message, Problem> {
    match message.members()? {
        [(side, bytes)] if let Some((_, from)) = SIDES.iter().find(|(word, _)| word == side) => {
            let bytes = bytes
                .bytes()
                .map_err(|problem| problem.inside(side, bytes.line))?;
            Ok(Message { from: *from, bytes })
        }
        _ => Err(Problem::new(
            message.line,
            "expected `client` or `server`, and its message".to_owned(),
        )),
    }
}

fn separate_messages(part: &Spec<'_>) -> Result<Option<Vec<Message>>, Problem> {
    part.node.find("messages_ref", |reference| {
        let bytes = reference.load_body(part.bodies)?.unwrap_or_default();
        let expected = "expected messages with their side and their length before them";
        decode_frames(&bytes).ok_or_else(|| Problem::new(0, expected.to_owned()))
    })
}

/// Reads the messages of a call in Keploy's form, which groups them by side.
fn in_turns(part: &Spec<'_>, kind: &str) -> Result<Vec<Message>, Problem> {
    if !TURNS.contains(&kind) {
        return Err(unsupported_kind(kind));
    }
    let turns = |side: &str, from: Side| {
        part.node
            .get(&format!("{}{side}", kind.to_ascii_lowercase()), |turns| {
                turns.items(|turn| read_turn(turn).map(|bytes| Message { from, bytes }))
            })
    };
    Ok([
        turns("requests", Side::Client)?,
        turns("responses", Side::Server)?,
    ]
    .concat())
}

fn read_turn(turn: &Node) -> Result<Vec<u8>, Problem> {
    let payload = |payload: &Node| {
        let is_binary = payload.get("type", Node::text)? == "binary";
        // `!!binary` values are decoded already.
        payload.get("data", |data| {
            let bytes = data.bytes()?;
            if is_binary && bytes.is_ascii() {
                decode_base64(&String::from_utf8_lossy(&bytes))
            } else {
                Ok(bytes)
            }
        })
    };
    turn.get("message", |message| message.items(payload))
        .map(|payloads| payloads.concat())
}

/// Returns the problem of a call without the bytes needed for a replay.
fn unsupported_kind(kind: &str) -> Problem {
    let can = "as Keploy writes it cannot be answered again; HTTP, gRPC and Redis can";
    Problem::of(
        Fault::Form,
        format!("a call of kind `{}` {can}", kind.escape_debug()),
    )
}

/// Encodes each message with the letter of its side and its length (8 bytes, big-endian).
fn encode_frames(messages: &[Message]) -> Vec<u8> {
    let mut out = Vec::new();
    for message in messages {
        out.push(if message.from == Side::Client {
            b'c'
        } else {
            b's'
        });
        out.extend_from_slice(&(message.bytes.len() as u64).to_be_bytes());
        out.extend_from_slice(&message.bytes);
    }
    out
}

fn decode_frames(mut bytes: &[u8]) -> Option<Vec<Message>> {
    let mut messages = Vec::new();
    while let Some((side, rest)) = bytes.split_first() {
        let from = match side {
            b'c' => Side::Client,
            b's' => Side::Server,
            _ => return None,
        };
        let (length, rest) = rest.split_first_chunk()?;
        let (message, rest) =
            rest.split_at_checked(usize::try_from(u64::from_be_bytes(*length)).ok()?)?;
        messages.push(Message {
            from,
            bytes: message.to_vec(),
        });
        bytes = rest;
    }
    Some(messages)
}
