//! NATS (docs.nats.io/reference/reference-protocols/nats-protocol): lines, some with a payload.

use std::ops::Range;

use super::{FrameFormat, FrameLength, OpenCall, line, next_open, payload, place, word};
use crate::call::Protocol;
use crate::protocol::database::Database;
use crate::protocol::heartbeat::{self, Heartbeats};
use crate::protocol::part_list::PartList;

pub(super) static DATABASE: Database =
    Database::in_frames(Protocol::Nats, "NATS", 4222, parts, &FORMAT);

static FORMAT: FrameFormat = FrameFormat {
    is_opening: |_, server| server.starts_with(b"INFO {"),
    length: |_, bytes, _| length(bytes),
    answered,
    heartbeats: Heartbeats::Known(heartbeat::NATS),
    repeats: |frame| line::is(frame, b"CONNECT"),
    secret: password,
    ..FrameFormat::PLAIN
};

fn has_payload(frame: &[u8]) -> bool {
    [&b"PUB"[..], b"HPUB", b"MSG", b"HMSG"]
        .iter()
        .any(|verb| line::is(frame, verb))
}

fn length(bytes: &[u8]) -> FrameLength {
    let Some(line) = line::first(bytes)? else {
        return Ok(None);
    };
    let mut length = line.len() + 2;
    if has_payload(bytes) {
        let size = line::size(line::words(bytes).last())?;
        length = size.saturating_add(length + 2);
    }
    Ok(Some(length))
}

/// Returns the place of the password or the token in the options of CONNECT.
fn password(frame: &[u8]) -> Option<Range<usize>> {
    let options = line::of(frame).filter(|_| line::is(frame, b"CONNECT"))?;
    let text = |name: &&[u8]| {
        let at = memchr::memmem::find(options, name)? + name.len();
        let value = options[at..].trim_ascii_start().strip_prefix(b":")?;
        let value = value.trim_ascii_start().strip_prefix(b"\"")?;
        let is_end = |at: &usize| value[*at] == b'"' && !value[..*at].ends_with(b"\\");
        let end = (0..value.len()).find(is_end)?;
        (end > 0).then(|| place(frame, &value[..end]))
    };
    [&b"\"pass\""[..], b"\"auth_token\""].iter().find_map(text)
}

/// Only confirmations and errors are answers; messages come unasked. Without confirmations an error
/// belongs to the last call.
fn answered(calls: &[OpenCall], said: &[u8]) -> Option<usize> {
    let is_connect = |call: &&OpenCall| line::is(&call.bytes, b"CONNECT");
    let is_confirmed = || {
        calls
            .iter()
            .find(is_connect)
            .is_some_and(|it| it.is_answered)
    };
    let last = calls.len().checked_sub(1)?;
    if said.starts_with(b"+OK") || said.starts_with(b"-ERR") && is_confirmed() {
        Some(next_open(calls).min(last))
    } else {
        said.starts_with(b"-ERR").then_some(last)
    }
}

fn parts(frame: &[u8], taken: &mut PartList) -> Option<()> {
    let mut words = line::words(frame);
    taken.text(&words.next()?.to_ascii_uppercase());
    if line::is(frame, b"CONNECT") {
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
    let content = frame.get(line::of(frame)?.len() + 2..)?;
    if let Some(content) = content.strip_suffix(b"\r\n") {
        payload(content, taken);
    }
    Some(())
}
