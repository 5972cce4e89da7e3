//! NATS (docs.nats.io/reference/reference-protocols/nats-protocol): lines, some with a payload.

use super::player::FrameResponder;
use super::{FrameFormat, FrameLength, OpenCall, payload, word};
use crate::call::Protocol;
use crate::protocol::database::Database;
use crate::protocol::heartbeat::{self, Heartbeats};
use crate::protocol::part_list::PartList;

pub(super) static DATABASE: Database = Database {
    protocol: Protocol::Nats,
    kind: "NATS",
    port: 4222,
    parts,
    head: |_| 0,
    recorder: None,
    player: || Box::new(FrameResponder::new(&FORMAT)),
    frames: Some(&FORMAT),
};

static FORMAT: FrameFormat = FrameFormat {
    is_opening: |_, server| server.starts_with(b"INFO {"),
    length: |_, bytes, _| length(bytes),
    answered,
    heartbeats: Heartbeats::Known(heartbeat::NATS),
    renumber: |_, _, _| {},
    repeats: |frame| is(frame, b"CONNECT"),
};

/// Longest line, in bytes. A server limits those of clients to 4 KiB, and its own are longer.
const MAX_LINE_BYTES: usize = 1 << 20;

fn line(frame: &[u8]) -> Option<&[u8]> {
    memchr::memmem::find(frame, b"\r\n").map(|end| &frame[..end])
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| matches!(byte, b' ' | b'\t'))
        .filter(|word| !word.is_empty())
}

fn is(frame: &[u8], verb: &[u8]) -> bool {
    frame
        .get(..verb.len())
        .is_some_and(|first| first.eq_ignore_ascii_case(verb))
        && frame.get(verb.len()).is_none_or(u8::is_ascii_whitespace)
}

fn has_payload(frame: &[u8]) -> bool {
    [&b"PUB"[..], b"HPUB", b"MSG", b"HMSG"]
        .iter()
        .any(|verb| is(frame, verb))
}

fn length(bytes: &[u8]) -> FrameLength {
    let Some(line) = line(bytes) else {
        return if bytes.len() < MAX_LINE_BYTES {
            Ok(None)
        } else {
            Err("a line of NATS of more than 1 MiB")
        };
    };
    let mut length = line.len() + 2;
    if has_payload(bytes) {
        let size = words(line)
            .last()
            .and_then(|size| str::from_utf8(size).ok()?.parse::<usize>().ok());
        length += size
            .ok_or("a payload of NATS without its length")?
            .saturating_add(2);
    }
    Ok(Some(length))
}

/// Only confirmations are answers; messages come unasked.
fn answered(calls: &[OpenCall<'_>], said: &[u8]) -> Option<usize> {
    let is_answer = said.starts_with(b"+OK") || said.starts_with(b"-ERR");
    calls.iter().position(|call| is_answer && !call.is_answered)
}

fn parts(frame: &[u8], taken: &mut PartList) -> Option<()> {
    let line = line(frame)?;
    let mut words = words(line);
    taken.text(&words.next()?.to_ascii_uppercase());
    if is(frame, b"CONNECT") {
        // Options of the library.
        return Some(());
    }
    let mut arguments: Vec<_> = words.collect();
    if has_payload(frame) {
        arguments.pop();
    }
    for argument in arguments {
        word("word", argument, taken);
    }
    let content = frame.get(line.len() + 2..)?;
    if let Some(content) = content.strip_suffix(b"\r\n") {
        payload(content, taken);
    }
    Some(())
}
